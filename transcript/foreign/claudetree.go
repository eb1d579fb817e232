package foreign

import (
	"errors"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// build makes the session of the records.
func (r *ccReader) build() *Session {
	t := r.t
	t.head(r.title(), r.cwd, r.started)
	order, cut := parentsFirst(len(r.records), r.parent)
	t.lose(cut, "circles in the tree", "a message was its own ancestor; they were cut")
	r.place = slices.Repeat([]int{root}, len(r.records))
	heads := slices.Clone(r.place) // of side conversations: the first entry
	ends := map[int]int{}          // first entry of a side conversation -> its last
	names := map[int]string{}
	for _, i := range order {
		rec := r.records[i]
		p := r.parent(i)
		at := root
		if p != root {
			at = r.place[p]
			heads[i] = heads[p]
		}
		if rec.line.Subtype == "compact_boundary" {
			r.boundary = rec.line.CompactMetadata
		}
		before := len(t.s.Entries)
		r.place[i] = r.add(rec, at)
		if !rec.line.Sidechain || len(t.s.Entries) == before {
			continue
		}
		if heads[i] == root {
			heads[i] = before
			names[before] = rec.line.Agent
		}
		ends[heads[i]] = r.place[i]
	}
	active := root
	if i, ok := r.at[r.last]; ok {
		active = r.place[i]
	}
	for first := range len(t.s.Entries) {
		end, ok := ends[first]
		if !ok {
			continue
		}
		t.label(first, end, strings.TrimSpace("sub-agent "+names[first]))
		t.lose(1, "conversations of sub-agents", "they are branches of their own, each with a label")
	}
	t.lose(r.marks, "notes of the program", "they were not part of the conversation")
	return t.finish(active)
}

// parent is the record that the record i hangs on.
func (r *ccReader) parent(i int) int {
	l := &r.records[i].line
	for _, id := range []string{l.Logical, l.Parent} {
		if p, ok := r.at[id]; ok && id != "" && p != i && r.records[p].line.Sidechain == l.Sidechain {
			return p
		}
	}
	if l.CompactSummary { // older files begin again with it
		return i - 1
	}
	return root
}

// title is the name that the user gave, else one that was made.
func (r *ccReader) title() string {
	switch {
	case r.custom != "":
		return r.custom
	case r.ai != "":
		return r.ai
	}
	title := ""
	for _, s := range r.summaries {
		if _, ok := r.at[s.Leaf]; ok { // older files also name other sessions
			title = s.Summary
		}
	}
	return title
}

// add writes a record behind at and gives its last entry.
func (r *ccReader) add(rec *ccRecord, at int) int {
	t, l := r.t, &rec.line
	switch {
	case rec.role == "":
		return at
	case l.CompactSummary:
		return r.compaction(rec, at)
	case rec.role == llm.RoleAssistant:
		at = r.spoken(rec, at)
	case len(rec.blocks) == 0:
	case l.Meta && !r.commanded(l.Parent):
		t.injected(1)
	default:
		at = t.message(at, l.Time, llm.Message{Role: llm.RoleUser, Content: rec.blocks})
	}
	for _, res := range rec.results {
		at = t.message(at, res.time, res.message)
	}
	return at
}

// commanded reports whether the line id is a slash command: what follows it is the
// prompt that the user meant, although the program wrote it out.
func (r *ccReader) commanded(id string) bool {
	i, ok := r.at[id]
	if !ok {
		return false
	}
	text := (&llm.Message{Content: r.records[i].blocks}).Text()
	return strings.HasPrefix(text, "<command-name>") || strings.HasPrefix(text, "<command-message>")
}

// spoken writes an answer.
func (r *ccReader) spoken(rec *ccRecord, at int) int {
	l := &rec.line
	m := llm.Message{
		Role: llm.RoleAssistant, Model: l.Message.Model, ResponseID: l.Message.ID,
		Usage: l.Message.Usage.usage(), StopReason: anthropicStop(l.Message.Stop), Content: rec.blocks,
	}
	switch {
	case l.APIError || l.Message.Model == "<synthetic>":
		// The program wrote it in the place of an answer.
		m.Model, m.ResponseID, m.Usage, m.Content = "", "", nil, nil
		m.StopReason, m.Error = llm.StopError, &llm.Error{Message: prose.Plain((&llm.Message{Content: rec.blocks}).Text(), maxTitle)}
	case strings.HasPrefix(m.Model, "claude-"):
		m.API, m.Provider = llm.APIAnthropic, "anthropic"
	}
	if len(m.Content) == 0 && m.Error == nil {
		return at
	}
	return r.t.message(at, l.Time, m)
}

// compaction writes the summary that stands for all before it.
func (r *ccReader) compaction(rec *ccRecord, at int) int {
	e := transcript.Entry{
		Type: transcript.TypeCompaction, Summary: (&llm.Message{Content: rec.blocks}).Text(), TokensBefore: r.boundary.Tokens,
	}
	if i, ok := r.at[r.boundary.Segment.Head]; ok && r.place[i] != root {
		e.FirstKeptID = r.t.s.Entries[r.place[i]].ID
	}
	r.boundary = ccCompaction{}
	if e.Summary == "" {
		r.t.unreadable("the summary "+rec.line.UUID, errors.New("it is empty"))
		return at
	}
	return r.t.add(at, rec.line.Time, e)
}
