package transcript

import (
	"encoding/json"
	"slices"

	"github.com/burin-dev/burin/llm"
)

// Roles of messages that [Context] makes from entries.
const (
	CustomSummary = "compactionSummary"
	CustomBranch  = "branchSummary"
)

// Context is what a branch means for the model: the messages to send, and the state from its
// entries.
type Context struct {
	Messages []llm.Message
	// IDs has the entry of each message.
	IDs []string

	Models      map[string]string // provider/id by role; "default" even if only an answer names it
	Thinking    llm.Level         // "" if no entry says
	ServiceTier string
	Mode        string // "" if no entry says
	ModeData    json.RawMessage
	Rules       []string // names of injected rules
	MCPTools    []string // the last selection; nil if there was none
	Compaction  *Entry   // the last readable one on the branch; nil if there is none
	// Unread counts entries that are too damaged to read.
	Unread int
	// Lost has what is missing from blobs; the messages have notes in its place.
	Lost []Lost
}

// Context reconstructs what the model should know at the entry with that id: from the last
// readable compaction on, its summary, what it kept, and what was said since. Pruned outputs
// are in their short form. For "" the context is empty.
func (l *Log) Context(id string) (*Context, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, err := l.tree.find(id)
	if err != nil {
		return nil, err
	}
	b := contextBuilder{log: l, path: l.tree.path(i), c: &Context{Models: map[string]string{}}, short: shortForms{}}
	b.state()
	b.messages()
	return b.c, nil
}

type contextBuilder struct {
	log   *Log
	path  []int32
	c     *Context
	from  int // index in path of the first message to send
	short shortForms
}

// read decodes an entry of the path; nil if it is too damaged.
func (b *contextBuilder) read(i int32) *Entry {
	e, err := b.log.read(i)
	if err != nil {
		b.c.Unread++
		return nil
	}
	return e
}

// state walks the branch and reads the entries that are not messages.
func (b *contextBuilder) state() {
	l, c := b.log, b.c
	var compactions []int // indices in path
	for at, i := range b.path {
		n := &l.tree.nodes[i]
		switch l.tree.names[n.typ] {
		case TypeCompaction:
			compactions = append(compactions, at)
			continue
		case TypeModel, TypeThinking, TypeServiceTier, TypeMode, TypeTTSR, TypeMCPTools:
		case TypeCustom:
			if n.kind != kindPrune {
				continue
			}
		default:
			continue
		}
		if e := b.read(i); e != nil {
			b.take(e)
		}
	}
	for _, at := range slices.Backward(compactions) {
		if c.Compaction = b.read(b.path[at]); c.Compaction == nil {
			continue // what it replaced is included in the one before it
		}
		b.from = at + 1
		if kept, ok := l.tree.byID[c.Compaction.FirstKeptID]; ok {
			if k := slices.Index(b.path[:at], kept); k >= 0 {
				b.from = k
			}
		}
		return
	}
}

// take applies an entry to the state.
func (b *contextBuilder) take(e *Entry) {
	c := b.c
	switch e.Type {
	case TypeModel:
		role := e.Role
		if role == "" {
			role = "default"
		}
		c.Models[role] = e.Model
	case TypeThinking:
		c.Thinking = llm.Level(e.ThinkingLevel)
	case TypeServiceTier:
		c.ServiceTier = ""
		if e.ServiceTier != nil {
			c.ServiceTier = *e.ServiceTier
		}
	case TypeMode:
		c.Mode, c.ModeData = e.Mode, e.Data
	case TypeTTSR:
		for _, r := range e.InjectedRules {
			if !slices.Contains(c.Rules, r) {
				c.Rules = append(c.Rules, r)
			}
		}
	case TypeMCPTools:
		c.MCPTools = append([]string{}, e.SelectedTools...)
	case TypeCustom:
		b.short.add(e)
	}
}

// messages reads what the model gets.
func (b *contextBuilder) messages() {
	if e := b.c.Compaction; e != nil {
		content := []llm.Block{llm.Text{Text: summaryWords(e.Summary)}}
		if b.log.o.Pictures != nil {
			content = append(content, b.log.o.Pictures(e)...)
		}
		b.add(e.ID, llm.Message{Role: llm.RoleCustom, CustomType: CustomSummary, Display: true, Time: e.Time(), Content: content})
	}
	path := b.spoken()
	b.c.Messages = slices.Grow(b.c.Messages, len(path))
	b.c.IDs = slices.Grow(b.c.IDs, len(path))
	records := ahead{log: b.log, path: path}
	for at, i := range path {
		if b.short[b.log.tree.nodes[i].id] == nil && b.plain(&records, at) {
			continue
		}
		e, err := b.log.readShort(i, b.short)
		if err != nil {
			b.c.Unread++
			continue
		}
		if m, ok := messageOf(e); ok {
			b.add(e.ID, b.short.of(e.ID, m))
			b.lose(e.Lost)
		}
	}
	if _, ok := b.c.Models["default"]; !ok {
		for i := range slices.Backward(b.c.Messages) {
			if m := &b.c.Messages[i]; m.Role == llm.RoleAssistant && m.Provider != "" {
				b.c.Models["default"] = m.Provider + "/" + m.Model
				break
			}
		}
	}
}

// spoken returns the entries of the path that may have something for the model.
func (b *contextBuilder) spoken() []int32 {
	out := make([]int32, 0, len(b.path)-b.from)
	for _, i := range b.path[b.from:] {
		switch b.log.tree.names[b.log.tree.nodes[i].typ] {
		case TypeMessage, TypeCustomMessage, TypeBranchSummary:
			out = append(out, i)
		}
	}
	return out
}

// plain adds a message with the fast decoder, without its entry, and reports whether it could.
func (b *contextBuilder) plain(records *ahead, at int) bool {
	var m llm.Message
	if _, ok := records.message(at, &m); !ok {
		return false
	}
	if m.CustomType != CustomExcluded {
		b.add(b.log.tree.nodes[records.path[at]].id, m)
		b.lose(records.lost)
	}
	return true
}

func (b *contextBuilder) add(id string, m llm.Message) {
	b.c.Messages = append(b.c.Messages, m)
	b.c.IDs = append(b.c.IDs, id)
}

// lose records what is lost of the entry that was added, except what a prune has removed.
func (b *contextBuilder) lose(lost []Lost) {
	for _, p := range lost {
		pruned := func(s Short) bool { return s.Block == nil || *s.Block == p.Block }
		if !slices.ContainsFunc(b.short[p.EntryID], pruned) {
			b.c.Lost = append(b.c.Lost, p)
		}
	}
}

// messageOf returns the message that an entry adds for the model.
func messageOf(e *Entry) (llm.Message, bool) {
	switch e.Type {
	case TypeMessage:
		if e.Message == nil || e.Message.CustomType == CustomExcluded {
			return llm.Message{}, false
		}
		return *e.Message, true
	case TypeCustomMessage:
		words, err := e.Words()
		if err != nil || len(words) == 0 {
			return llm.Message{}, false
		}
		return llm.Message{Role: llm.RoleCustom, CustomType: e.CustomType, Display: e.Display, Content: words, Details: e.Details, Time: e.Time()}, true
	case TypeBranchSummary:
		return llm.Message{
			Role: llm.RoleCustom, CustomType: CustomBranch, Display: true, Time: e.Time(),
			Content: []llm.Block{llm.Text{Text: branchWords(e.Summary)}},
		}, true
	}
	return llm.Message{}, false
}

// shortForms has what prunes on a branch put in place of messages, by entry.
type shortForms map[string][]Short

// add applies a prune.
func (s shortForms) add(e *Entry) {
	var p Prune
	if json.Unmarshal(e.Data, &p) != nil {
		return
	}
	for _, short := range p.Entries {
		s[short.EntryID] = append(s[short.EntryID], short)
	}
}

// of returns m after the prunes. The last one for a block wins.
func (s shortForms) of(id string, m llm.Message) llm.Message {
	for _, short := range s[id] {
		switch {
		case short.Block == nil:
			m.Content = []llm.Block{llm.Text{Text: short.Text}}
		case *short.Block >= 0 && *short.Block < len(m.Content):
			m.Content = slices.Clone(m.Content)
			m.Content[*short.Block] = llm.Text{Text: short.Text}
		}
	}
	return m
}

// whole returns what replaces the whole message; ok is false if nothing does.
func (s shortForms) whole(id string) (text string, ok bool) {
	for _, short := range s[id] {
		if short.Block == nil {
			text, ok = short.Text, true
		}
	}
	return text, ok
}

// readShort reads an entry; of a result that was pruned completely it reads only what it is
// the result of.
func (l *Log) readShort(i int32, short shortForms) (*Entry, error) {
	n := &l.tree.nodes[i]
	text, ok := short.whole(n.id)
	if !ok || n.kind != kindToolResult {
		return l.read(i)
	}
	stub, ok := l.stubs[i]
	if !ok {
		full, err := l.read(i)
		if err != nil {
			return nil, err
		}
		m := *full.Message
		m.Content, m.Details = nil, nil
		c := *full
		c.Message, c.Raw = &m, nil
		stub = &c
		l.stubs[i] = stub
	}
	e, m := *stub, *stub.Message
	m.Content = []llm.Block{llm.Text{Text: text}}
	e.Message = &m
	return &e, nil
}
