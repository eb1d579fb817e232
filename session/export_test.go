package session

// Recounted is the size of the next request, with every message looked at anew.
func (s *Session) Recounted() int {
	messages := s.agent.Messages()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens(messages)
}

// Fingerprinted reports whether the messages of the last request are known by what
// they say, as far as the conversation has only grown since.
func (s *Session) Fingerprinted() bool {
	messages, replaced := s.agent.Grown()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked.replaced != replaced {
		return true
	}
	for i, h := range s.asked.messages {
		if i >= len(messages) || h != s.messageHash(&messages[i]) {
			return false
		}
	}
	return true
}
