package tui

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/llm"
)

// letter is a prompt as the person wrote it, on its way to the session and until its turn
// is over. The files that it names are read beside the loop, so that a slow disk holds up
// nobody who types; until the session has it, the face can take it back.
type letter struct {
	id       string // by which the session knows it
	text     string
	pictures []llm.Block // out of the clipboard; pictures that are files are named in text
	at       when
	sent     time.Time

	owner  atomic.Int32       // who has it: onItsWay until one of the others takes it
	halt   context.CancelFunc // of what the session does before it has taken it in
	passed chan struct{}      // closed when the session has it, or will never have it
	told   chan struct{}      // closed when the loop was told what became of it
	back   bool               // it is wanted back, and was the session's already
}

// The owners of a letter.
const (
	onItsWay int32 = iota
	atSession
	atFace
)

// take takes the letter for one side. It is false where the other side has it.
func (l *letter) take(side int32) bool { return l.owner.CompareAndSwap(onItsWay, side) }

// enclosed is what goes with words that wait.
type enclosed struct {
	pictures []llm.Block
	wish     *Wish // the words stand for it; nil: they are a prompt or a command
}

// typed are the words of a message: without the files that go with it, which they name.
func typed(m *llm.Message) string {
	for _, b := range m.Content {
		if t, ok := b.(llm.Text); ok {
			return t.Text
		}
	}
	return ""
}
