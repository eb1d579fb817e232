package session_test

import (
	"testing"

	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
)

func TestHandle(t *testing.T) {
	handletest.Run(t, func(_ *testing.T, s *session.Session, name string, answers bool) session.Handle {
		return s.Handle(name, answers)
	})
}
