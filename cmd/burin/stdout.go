package main

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
)

// standardOutput passes on what is written and remembers the first failure, so that no
// command has to look whether its last words arrived.
type standardOutput struct {
	to io.Writer

	mu     sync.Mutex
	failed error
}

func (s *standardOutput) Write(b []byte) (int, error) {
	n, err := s.to.Write(b)
	if err != nil {
		s.mu.Lock()
		if s.failed == nil {
			s.failed = err
		}
		s.mu.Unlock()
	}
	return n, err
}

// err is the first failure; unread says that it was a reader who had seen enough.
func (s *standardOutput) err() (failed error, unread bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed, errors.Is(s.failed, syscall.EPIPE)
}

// fileOf is the file that w writes to; nil if it is none.
func fileOf(w io.Writer) *os.File {
	if s, ok := w.(*standardOutput); ok {
		w = s.to
	}
	f, _ := w.(*os.File)
	return f
}
