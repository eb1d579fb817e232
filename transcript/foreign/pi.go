package foreign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// pi copies a session of the pi family. Its records stay as they are, but for
// those of version 1, which get ids and parents, and for a role that version 3
// renamed.
func pi(ctx context.Context, path string) (*Session, error) {
	t := newTree(Pi, path, "")
	var header *transcript.Header
	title := "" // of the line before the header
	last := ""
	names := []string{""} // ids of the records of version 1 by number; the header is the first
	err := t.lines(ctx, path, func(_ int, text []byte) error {
		if header == nil {
			h, err := piHeader(text, &title)
			header = h
			return err
		}
		var e transcript.Entry
		mistyped, err := decode(text, &e)
		if err != nil {
			return err
		}
		if mistyped {
			t.lose(1, "fields of an unexpected kind", "they stay in the record")
		}
		e.Raw = bytes.Clone(text)
		if e.Type == "" {
			return errors.New("an entry without a type")
		}
		if t.ids[e.ID] {
			return errors.New("an entry of the same id is there already")
		}
		lost := e.ParentID != nil && !t.ids[*e.ParentID]
		if lost {
			t.lose(1, "places in the tree", "the entry before is gone; the one before that in the file stands for it")
		}
		if e.ID == "" || lost {
			if err := piPlace(t, &e, last, names); err != nil {
				return err
			}
		}
		t.ids[e.ID] = true
		if e.Message != nil && e.Message.Role == "hookMessage" {
			e.Message.Role = llm.RoleCustom
			e.Raw = bytes.Replace(e.Raw, []byte(`"hookMessage"`), []byte(`"custom"`), 1)
		}
		names = append(names, e.ID)
		last = e.ID
		t.s.Entries = append(t.s.Entries, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if header == nil {
		return nil, fmt.Errorf("import %s: it has no header", prose.Plain(path, maxPath))
	}
	if header.Title == "" {
		header.Title = title
	}
	t.s.Header = *header
	t.s.Report.Title = prose.Plain(header.Title, maxTitle)
	piReport(t)
	return &t.s, nil
}

// piHeader reads the header, which may follow a line with the title; that gives nil, and
// the title.
func piHeader(text []byte, title *string) (*transcript.Header, error) {
	var h transcript.Header
	if _, err := decode(text, &h); err != nil {
		return nil, err
	}
	if h.Type != "session" || h.ID == "" {
		if h.Type == "title" {
			*title = h.Title
			return nil, nil
		}
		return nil, errors.New("not a header")
	}
	h.Version = transcript.Version
	return &h, nil
}

// piPlace gives an entry the one before it as its parent, and one of version 1 an
// id.
func piPlace(t *tree, e *transcript.Entry, last string, names []string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Raw, &fields); err != nil {
		return err
	}
	if e.ID == "" {
		e.ID = t.freshID(len(t.s.Entries))
	}
	e.ParentID = nil
	if last != "" {
		e.ParentID = &last
	}
	var old struct {
		Kept *int `json:"firstKeptEntryIndex"`
	}
	if _, err := decode(e.Raw, &old); err == nil && old.Kept != nil && *old.Kept > 0 && *old.Kept < len(names) {
		e.FirstKeptID = names[*old.Kept]
		delete(fields, "firstKeptEntryIndex")
	}
	for key, v := range map[string]any{"id": e.ID, "parentId": e.ParentID, "firstKeptEntryId": e.FirstKeptID} {
		if v == "" {
			continue
		}
		raw, err := encode(v)
		if err != nil {
			return err
		}
		fields[key] = raw
	}
	raw, err := encode(fields)
	e.Raw = raw
	return err
}

// piReport counts what is there. Nothing is lost, so nothing is listed but lines
// that could not be read.
func piReport(t *tree) {
	at := make(map[string]int, len(t.s.Entries))
	for i := range t.s.Entries {
		at[t.s.Entries[i].ID] = i
	}
	leaf := make([]bool, len(t.s.Entries))
	for i := range t.s.Entries {
		leaf[i] = true
		e := &t.s.Entries[i]
		if e.ParentID != nil {
			if p, ok := at[*e.ParentID]; ok {
				leaf[p] = false
			}
		}
		if e.Message != nil {
			t.s.Report.count(e.Message)
		}
	}
	for i, is := range leaf {
		if is && i < len(leaf)-1 {
			t.s.Report.Branches++
		}
	}
}

// count adds a message.
func (r *Report) count(m *llm.Message) {
	r.Messages++
	for _, b := range m.Content {
		switch b.(type) {
		case llm.ToolCall:
			r.ToolCalls++
		case llm.Image:
			r.Images++
		}
	}
}
