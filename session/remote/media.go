package remote

import (
	"slices"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Address is where the bytes of a piece of a message are, by the id of its entry and its number.
type Address func(entry string, n int) string

// Entries gives what the method entries gave, with addresses in place of the bytes of pictures and files.
func (at Address) Entries(is any) any {
	all, ok := is.(entriesJSON)
	if !ok {
		return is
	}
	for i, e := range all.Entries {
		if m, changed := at.message(e.Entry.Message, e.Entry.ID); changed {
			entry := *e.Entry
			entry.Message = m
			all.Entries[i].Entry = &entry
		}
	}
	return all
}

// Event gives an event without the bytes of pictures and files in its messages. Those of a message that is
// complete have their addresses.
func (at Address) Event(e session.Event) session.Event {
	switch e.Type {
	case agent.MessageStart, agent.MessageEnd, agent.TurnEnd, agent.AgentEnd:
	default:
		return e
	}
	entry := ""
	if e.Type == agent.MessageEnd {
		entry = e.EntryID
	}
	e.Message, _ = at.message(e.Message, entry)
	e.ToolResults, e.Messages = at.messages(e.ToolResults), at.messages(e.Messages)
	return e
}

func (at Address) messages(all []llm.Message) []llm.Message {
	cloned := false
	for i := range all {
		if m, changed := at.message(&all[i], ""); changed {
			if !cloned {
				all, cloned = slices.Clone(all), true
			}
			all[i] = *m
		}
	}
	return all
}

// message gives a message without bytes; it is a copy if there are any. Without an entry there are no
// addresses.
func (at Address) message(m *llm.Message, entry string) (lean *llm.Message, changed bool) {
	if m == nil {
		return nil, false
	}
	address := func(n int) string {
		if entry == "" {
			return ""
		}
		return at(entry, n)
	}
	content := m.Content
	for n, b := range m.Content {
		switch is := b.(type) {
		case llm.Image:
			if len(is.Data) == 0 {
				continue
			}
			is.Data, is.URL = nil, address(n)
			b = is
		case llm.Document:
			if len(is.Data) == 0 {
				continue
			}
			is.Data, is.URL = nil, address(n)
			b = is
		default:
			continue
		}
		if !changed { // the transcript keeps its own
			content, changed = slices.Clone(m.Content), true
		}
		content[n] = b
	}
	if !changed {
		return m, false
	}
	copied := *m
	copied.Content = content
	return &copied, true
}
