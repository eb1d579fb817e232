package vfs

// Cached is how many trees are in memory, and how many nodes they have.
func (s *Store) Cached() (trees, nodes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.projects {
		trees++
		nodes += p.size()
	}
	return trees, nodes
}

// RoundTrip seals nothing: it is what a record of a node becomes.
func RoundTrip(b []byte) ([]byte, bool) {
	var n node
	if err := n.read(b); err != nil {
		return nil, false
	}
	return n.record(), true
}

// ReadFacts reads what is sealed of a version.
func ReadFacts(b []byte) (v Version, err error) {
	err = v.readFacts(b)
	return v, err
}
