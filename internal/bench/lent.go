package bench

import (
	"errors"
	"path/filepath"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/transcript"
)

// Lent is what a session lends to its sub-agents: the workspace with its undo journal, the
// rules, and the files behind its addresses. It stays valid as long as the session.
type Lent struct{ seat *seat }

// Folder is where the files of the session's agents go, beside its own; "" if nothing is kept, or
// nothing in the clear.
func (l *Lent) Folder() string {
	if l.seat.path == "" || l.seat.sealed {
		return ""
	}
	return folderOf(l.seat)
}

// Last looks back through the session's transcript, see [transcript.Log.Last].
func (l *Lent) Last(pick func(transcript.Node) bool, match func(*transcript.Entry) bool) *transcript.Entry {
	return l.seat.log.Last(l.seat.log.Leaf(), pick, match)
}

// Hide puts placeholders in the place of secrets. Calls of tools hold the values themselves.
func (l *Lent) Hide(text string) string {
	if l.seat.vault == nil {
		return text
	}
	return l.seat.vault.Hide(text)
}

// borrow opens what a sub-agent stands on. In the folder of its session it has the session's
// own workspace and rules, so that an undo covers both and a change of the rules or of the mode holds for both. In a
// folder of its own it has copies, and no journal.
func borrow(b *seat) (err error) {
	from := b.Under.seat
	b.mounts = from.mounts
	if b.dir == from.dir {
		b.ws, b.policy, b.journaled, b.borrowed = from.ws.Fork(), from.policy, from.journaled, true
		if b.dir == "" && b.Bench != from.Bench { // files of its own, such as a part of the session's
			b.ws = workspace.New(b.Files)
			b.ws.SetReadOnly(b.Approval == string(permission.Plan))
		}
		lend(b)
		return nil
	}
	if b.dir == "" || from.dir == "" {
		return errors.New("an isolated agent needs a folder")
	}
	wo := workspace.Options{ReadOnly: b.Approval == string(permission.Plan), Session: b.log.ID(), Own: from.ownFiles(), Mounts: b.mounts}
	if b.ws, err = workspace.Open(b.dir, wo); err != nil {
		return err
	}
	b.onClose(b.ws.Close)
	var own []string
	if dir := b.Under.Folder(); dir != "" && notLinked(dir) == nil {
		own = []string{filepath.Clean(dir)}
	}
	b.policy, err = permission.Open(permission.Options{
		Mode: from.policy.Mode(), Project: b.dir, Rules: from.policy.Rules(), Now: b.Now, Extra: own, Scratch: []string{Scratch},
		Home: b.UserHome, Shell: b.Shell, Private: b.private,
	})
	if err != nil {
		return err
	}
	lend(b)
	return nil
}

// lend gives the session's agents what they stand on.
func lend(b *seat) {
	if b.Lend != nil {
		b.Lend(&Lent{b})
	}
}
