package session

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// refused continues without images and documents that a provider does not accept. They are
// part of every later request, so the session could not continue otherwise. What was added
// since the last good answer goes first, because everything before it was accepted; then the
// rest. If the provider doesn't say what is wrong, only the new ones are left out, once.
func (m *mender) refused(failed *llm.Error) bool {
	if !slices.ContainsFunc(m.loop.Messages(), hasMedia) {
		return false
	}
	// The older ones contribute to the total size as much as the newest.
	tooMuch := failed.Status == http.StatusRequestEntityTooLarge
	if !tooMuch && !failed.Media && m.guessed {
		return false
	}
	old, fresh := media(false), media(true)
	rules := []func([]transcript.Entry) *transcript.Prune{fresh, old}
	switch {
	case tooMuch:
		rules = []func([]transcript.Entry) *transcript.Prune{old, fresh}
	case !failed.Media:
		rules, m.guessed = rules[:1], true
	}
	undo := m.dropFailed()
	for _, rule := range rules {
		n := 0
		if m.compactor.prune("refused", func(path []transcript.Entry) *transcript.Prune {
			p := rule(path)
			n = len(p.Entries)
			return p
		}) {
			m.rec.warn(fmt.Sprintf("%v: %s of the conversation left out; trying again", failed, prose.Count(n, "attachment")))
			m.money.again()
			return true
		}
	}
	undo()
	return false
}

// media is the rule that removes images and documents from what the model gets: those after
// the last good answer, or those before it. They stay in the transcript.
func media(fresh bool) func([]transcript.Entry) *transcript.Prune {
	return func(all []transcript.Entry) *transcript.Prune {
		path, answered := all, 0
		for i, e := range all {
			if e.Message != nil && e.Message.Role == llm.RoleAssistant && e.Message.Error == nil {
				answered = i
			}
		}
		if fresh {
			path = path[answered:]
		} else {
			path = path[:answered]
		}
		return without(all, path, compact.ReasonRefused, func(b llm.Block) (string, bool) {
			d, ok := b.(llm.Document)
			switch {
			case ok && d.Text != "":
				return fmt.Sprintf("<document name=%q>\n%s\n</document>", d.Name, d.Text), true
			case ok:
				return fmt.Sprintf("[A document was here: %s. The provider refused it.]", d.Name), true
			}
			return "[An image was here. The provider refused it.]", isMedia(b)
		})
	}
}

// without removes blocks from a part of a conversation. instead returns the text that the
// model reads in place of a block; earlier removals in all stay.
func without(all, part []transcript.Entry, reason string, instead func(llm.Block) (string, bool)) *transcript.Prune {
	type place struct {
		id    string
		block int
	}
	gone := map[place]bool{}
	for _, e := range all {
		var before transcript.Prune
		if e.CustomType != transcript.CustomPrune || json.Unmarshal(e.Data, &before) != nil {
			continue
		}
		for _, s := range before.Entries {
			if s.Block != nil {
				gone[place{s.EntryID, *s.Block}] = true
			}
		}
	}
	p := &transcript.Prune{Reason: reason}
	for _, e := range part {
		if e.Message == nil {
			continue
		}
		for i, b := range e.Message.Content {
			if text, ok := instead(b); ok && !gone[place{e.ID, i}] {
				p.Entries = append(p.Entries, transcript.Short{EntryID: e.ID, Text: text, Block: &i})
			}
		}
	}
	return p
}

// isMedia reports whether a block is an image or a document.
func isMedia(b llm.Block) bool {
	switch b.(type) {
	case llm.Image, llm.Document:
		return true
	}
	return false
}

func hasMedia(m llm.Message) bool { return slices.ContainsFunc(m.Content, isMedia) }
