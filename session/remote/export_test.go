package remote

// Requests are the requests of the protocol, with the rights that each needs.
func Requests() map[string]Rights {
	all := map[string]Rights{"follow": Watch}
	for name, m := range methods {
		all[name] = m.needs
	}
	return all
}
