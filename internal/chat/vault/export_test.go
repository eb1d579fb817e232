package vault

import "time"

// Used is when somebody's keys were used last.
func Used(v *Vault, person string) time.Time {
	h, err := v.of(person)
	if err != nil {
		return time.Time{}
	}
	defer h.mu.Unlock()
	return h.used
}
