package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// Kinds of what [Session.Shake] takes out.
const (
	ShakeBulk   = "bulk"   // whole results of tools, and large blocks of text; they go to an artifact
	ShakeImages = "images" // pictures; they stay in the transcript
)

// Shake makes the conversation smaller without a model, and says how many tokens that
// gave; 0 is that there was nothing to gain. A person who asks for it wants room:
// nothing that is new is spared. The kind is one of the Shake constants; "" is
// ShakeBulk.
func (s *Session) Shake(ctx context.Context, kind string) (freed int, err error) {
	var rule func([]transcript.Entry) *transcript.Prune
	switch {
	case kind == ShakeImages:
		rule = withoutImages
	case kind != "" && kind != ShakeBulk:
		return 0, fmt.Errorf("there is no %q to take out: want %s or %s", kind, ShakeBulk, ShakeImages)
	case s.o.Artifact == nil:
		return 0, errors.New("nothing can be taken out: this session is not kept, so there is no place for it")
	default:
		rule = func(path []transcript.Entry) *transcript.Prune {
			o := s.pruneOptions(true)
			o.Protect, o.MinSavings = -1, -1
			p, failed := compact.Shake(path, o, s.o.Artifact)
			err = failed
			return p
		}
	}
	_, end, busy := s.wake(ctx)
	if busy != nil {
		return 0, busy
	}
	defer end()
	s.refresh()
	if kind == ShakeImages && !slices.ContainsFunc(s.agent.Messages(), hasImage) {
		return 0, nil
	}
	before := s.size()
	s.prune("shake", rule)
	return max(0, before-s.size()), err
}

// withoutImages takes all pictures out of what the model gets.
func withoutImages(path []transcript.Entry) *transcript.Prune {
	p := &transcript.Prune{Reason: compact.ReasonShake}
	for _, e := range path {
		if e.Message == nil {
			continue
		}
		for i, b := range e.Message.Content {
			if _, ok := b.(llm.Image); ok {
				p.Entries = append(p.Entries, transcript.Short{EntryID: e.ID, Text: "[a picture was here]", Block: &i})
			}
		}
	}
	return p
}

func hasImage(m llm.Message) bool {
	return slices.ContainsFunc(m.Content, func(b llm.Block) bool { _, ok := b.(llm.Image); return ok })
}

// size is how large the next request is, estimated like any other: what the vendor
// counted tells nothing of a conversation that has changed.
func (s *Session) size() int {
	messages := s.agent.Messages()
	n := 0
	for i := range messages {
		n += compact.Tokens(&messages[i])
	}
	return n
}
