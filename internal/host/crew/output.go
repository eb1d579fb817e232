package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Read gives what is behind agent://ID: the whole result of an agent. Of a typed result,
// agent://ID/field/0 and agent://ID?q=field.0 are a part.
func (f *family) Read(_ context.Context, address string) (string, error) {
	rest := strings.TrimPrefix(address, "agent://")
	rest, query, _ := strings.Cut(rest, "?")
	id, path, _ := strings.Cut(strings.Trim(rest, "/"), "/")
	if id == "" {
		return f.list(), nil
	}
	var parts []string
	if path != "" {
		parts = strings.Split(path, "/")
	}
	if query != "" {
		values, err := url.ParseQuery(query)
		switch q := values.Get("q"); {
		case err != nil || q == "":
			return "", fmt.Errorf("%s: want ?q= and the field, such as ?q=findings.0.file", address)
		case path != "":
			return "", fmt.Errorf("%s: give either a path or ?q=, not both", address)
		default:
			parts = strings.FieldsFunc(q, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
		}
	}
	f.mu.Lock()
	m := f.byID[strings.ToLower(id)]
	f.mu.Unlock()
	if m == nil {
		return "", fmt.Errorf("%s: no such agent; agent:// lists them", address)
	}
	text, err := m.wholeOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w", address, err)
	}
	if len(parts) == 0 {
		return text, nil
	}
	part, err := fieldOf([]byte(text), parts)
	if err != nil {
		return "", fmt.Errorf("%s: %w", address, err)
	}
	return part, nil
}

func (m *member) wholeOutput() (string, error) {
	if m.file != "" {
		raw, err := smallfile.Read(m.outputFile(), 2*maxOutput)
		if err == nil {
			return string(raw), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.output == "" && m.crew.o.Keep != nil { // of an earlier owner of the session
		if l, err := view(context.Background(), m); err == nil {
			defer l.Close() //nolint:errcheck // it is only read
			if e := lastWords(l); e != nil {
				return e.Message.Text(), nil
			}
		}
	}
	if m.output == "" {
		return "", fmt.Errorf("it has no result (%s); history://%s is what it did", m.agent.State, m.id)
	}
	return m.output, nil
}

// lastWords is the last answer with a text; nil: there is none.
func lastWords(l *transcript.Log) *transcript.Entry {
	return l.Last(l.Leaf(), func(n transcript.Node) bool { return n.Role == llm.RoleAssistant }, func(e *transcript.Entry) bool { return e.Message != nil && e.Message.Text() != "" })
}

// list names the agents of a session.
func (f *family) list() string {
	f.mu.Lock()
	members := append([]*member(nil), f.members...)
	f.mu.Unlock()
	var b strings.Builder
	for _, m := range members {
		a := m.row()
		fmt.Fprintf(&b, "agent://%s  %s  %s  %s\n", a.ID, a.Agent, a.State, a.Description)
	}
	if b.Len() == 0 {
		return "No agents have been started.\n"
	}
	return b.String()
}

// fieldOf is a part of JSON.
func fieldOf(raw json.RawMessage, parts []string) (string, error) {
	if !json.Valid(raw) {
		return "", errors.New("the result is text, which has no fields")
	}
	for i, part := range parts {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case json.Unmarshal(raw, &object) == nil && object != nil:
			next, ok := object[part]
			if !ok {
				return "", fmt.Errorf("there is no field %q", strings.Join(parts[:i+1], "/"))
			}
			raw = next
		case json.Unmarshal(raw, &list) == nil && list != nil:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(list) {
				return "", fmt.Errorf("%q is not the number of an element: there are %d", part, len(list))
			}
			raw = list[n]
		default:
			return "", fmt.Errorf("%q has no fields", strings.Join(parts[:i], "/"))
		}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	return string(raw), nil
}
