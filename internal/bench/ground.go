package bench

import "github.com/burin-dev/burin/session"

// ground is what a session stands on.
type ground struct{ seat *seat }

var _ session.Ground = ground{}

// BeginTurn implements [session.Ground]. The journal is not encrypted: of a session that
// is, nothing of what was said stands in it.
func (g ground) BeginTurn(id, label string) error {
	b := g.seat
	if b.sealed {
		label = "(of an encrypted session)"
	}
	return b.ws.BeginTurn(id, label)
}
