// Package scan looks through the entries of a session in the background, for panes
// that search in what was said.
//
// A [Run] reads one entry after the other in a goroutine of its own and tells now and
// then what it has found. It ends with its last entry, or soon after [Run.Stop].
// Nothing is kept of what it reads.
package scan

import (
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

const (
	slice = 64                    // entries between looks at whether to go on
	pause = 60 * time.Millisecond // between words about how far it is
)

// Options of a run.
type Options struct {
	Log session.Transcript
	// Len is how many entries are looked at, and ID the id of one of them. ID is
	// called in the goroutine.
	Len int
	ID  func(i int) string
	// Match is called in the goroutine.
	Match func(*transcript.Entry) bool
	// From is the first one that is looked at; it goes on with those before it, and
	// then from the last one down to it.
	From int
	// Tell hands over what was found since it was called last, and of how many entries
	// that is; all of them at the end. It is called in the goroutine.
	Tell func(r *Run, found []int, done int)
	Now  func() time.Time
}

// Run is a search.
type Run struct{ stopped atomic.Bool }

// Start begins a search.
func Start(o Options) *Run {
	r := &Run{}
	go r.walk(o)
	return r
}

// Stop ends the search. What it had to tell may still be told once. A nil run may be
// stopped.
func (r *Run) Stop() {
	if r != nil {
		r.stopped.Store(true)
	}
}

func (r *Run) walk(o Options) {
	told := o.Now()
	var found []int
	first := true // nothing was found yet
	for k := range o.Len {
		if k%slice == 0 && r.stopped.Load() {
			return
		}
		i := (o.From - k + o.Len) % o.Len
		if e, err := o.Log.Entry(o.ID(i)); err == nil && o.Match(e) {
			found = append(found, i)
		}
		if k%slice != slice-1 || k == o.Len-1 {
			continue
		}
		if now := o.Now(); now.Sub(told) >= pause || first && len(found) > 0 {
			first = first && len(found) == 0
			o.Tell(r, found, k+1)
			found, told = nil, now
		}
	}
	o.Tell(r, found, o.Len)
}

// Fold makes text comparable whatever the case of its letters.
func Fold(s string) string { return strings.Map(unicode.ToLower, s) }

// Pieces gives the texts of an entry that a person sees, until yield is false.
func Pieces(e *transcript.Entry, yield func(string) bool) {
	var content []llm.Block
	switch {
	case e.Message != nil:
		content = e.Message.Content
		if e.Message.Error != nil && !yield(e.Message.Error.Error()) {
			return
		}
	case e.Type == transcript.TypeCustomMessage:
		if e.Display {
			content, _ = e.Words() // what cannot be read is not shown either
		}
	default:
		yield(e.Summary)
	}
	for _, b := range content {
		more := true
		switch b := b.(type) {
		case llm.Text:
			more = yield(b.Text)
		case llm.Thinking:
			more = yield(b.Text)
		case llm.ToolCall:
			more = yield(b.Name) && yield(b.Arguments)
		}
		if !more {
			return
		}
	}
}

// Contains reports whether a folded word stands in one of the texts of an entry.
func Contains(e *transcript.Entry, word string) bool {
	found := false
	Pieces(e, func(text string) bool {
		found = strings.Contains(Fold(text), word)
		return !found
	})
	return found
}
