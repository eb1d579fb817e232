package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Limits of what is found of one entry, in bytes. The rest is left out.
const (
	maxText   = 32 << 10
	maxResult = 4 << 10
	maxArgs   = 1 << 10
	maxFirst  = 200 // characters of Info.First
)

// record is what is looked at of a line.
type record struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Version   int             `json:"version"` // only looked at for its type
	Timestamp string          `json:"timestamp"`
	CWD       string          `json:"cwd"`
	Title     string          `json:"title"`
	Name      string          `json:"name"`
	Summary   string          `json:"summary"`
	Parent    string          `json:"parentSession"`
	Custom    string          `json:"customType"`
	Content   json.RawMessage `json:"content"`
	Message   *message        `json:"message"`

	wrong bool // some field is of another type
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Command string          `json:"command"` // of roles that only other programs write, as the next two
	Output  string          `json:"output"`
	Summary string          `json:"summary"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// parse reads a line. A field of another type than expected is left empty: what other
// programs write is shown as far as it can be.
func parse(line []byte) (r record, ok bool) {
	err := json.Unmarshal(line, &r)
	var wrong *json.UnmarshalTypeError
	r.wrong = errors.As(err, &wrong)
	return r, (err == nil || r.wrong) && r.Type != ""
}

// spoken reports whether the record is one without which there is no session.
func (r *record) spoken() bool {
	return r.Type == transcript.TypeMessage || r.Type == transcript.TypeCustomMessage ||
		r.Type == transcript.TypeCustom && r.Custom == transcript.CustomQueue // of an owner in the background, or a message that waits
}

// prompt is what the user said; "" if nobody did.
func (r *record) prompt() string {
	if r.Message == nil || r.Message.Role != string(llm.RoleUser) {
		return ""
	}
	return textOf(r.Message.Content, false)
}

// words are the text of the entry that can be searched for, and who said it.
func (r *record) words() (role, text string) {
	switch r.Type {
	case transcript.TypeMessage:
		if r.Message == nil {
			return "", ""
		}
		m := r.Message
		text = textOf(m.Content, true)
		for _, more := range []string{m.Command, m.Output, m.Summary} {
			if more != "" {
				text += "\n" + prose.Head(more, maxResult)
			}
		}
		if m.Role == string(llm.RoleToolResult) {
			return m.Role, prose.Head(text, maxResult)
		}
		return m.Role, prose.Head(text, maxText)
	case transcript.TypeCustomMessage:
		if r.Custom == "context" {
			return "", "" // the same in every session
		}
		return string(llm.RoleCustom), prose.Head(textOf(r.Content, true), maxText)
	case transcript.TypeCompaction, transcript.TypeBranchSummary:
		return "summary", prose.Head(r.Summary, maxText)
	case transcript.TypeInfo:
		return "title", prose.Head(r.Name, maxText)
	}
	return "", ""
}

// textOf is the text of a message's content: a string, or a list of blocks. Thinking
// is left out.
func textOf(content json.RawMessage, calls bool) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []block
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(content, &blocks); err != nil && !errors.As(err, &wrong) {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Type == "text" && b.Text != "":
			parts = append(parts, b.Text)
		case b.Type == "toolCall" && calls:
			parts = append(parts, b.Name+" "+prose.Head(string(b.Arguments), maxArgs))
		}
	}
	return strings.Join(parts, "\n")
}

func timeOf(stamp string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

// whole completes truncated JSON: it closes what is open and makes a missing value
// null.
func whole(text []byte) []byte {
	type level struct {
		end   byte
		value bool // what comes next, or is under way, is a member's value
	}
	var open []level
	out := bytes.Clone(bytes.TrimRight(text, " \t\r\n"))
	at := 0
	for at < len(out) {
		c := out[at]
		switch c {
		case '"':
			end, escape := closing(out, at+1)
			if end < 0 {
				if escape >= 0 {
					out = out[:escape]
				}
				out = append(out, '"')
				if n := len(open); n > 0 && open[n-1].end == '}' && !open[n-1].value {
					out = append(out, ":null"...)
				}
				at = len(out)
				continue
			}
			at = end + 1
			if n := len(open); at == len(out) && n > 0 && open[n-1].end == '}' && !open[n-1].value {
				out = append(out, ":null"...)
				at = len(out)
			}
			continue
		case '{':
			open = append(open, level{end: '}'})
		case '[':
			open = append(open, level{end: ']'})
		case '}', ']':
			if len(open) == 0 {
				return out
			}
			open = open[:len(open)-1]
		case ':', ',':
			if n := len(open); n > 0 {
				open[n-1].value = c == ':'
			}
			if at == len(out)-1 {
				if c == ':' {
					out = append(out, "null"...)
				} else {
					out = out[:at]
				}
				at = len(out)
				continue
			}
		case ' ', '\t', '\r', '\n':
		default: // a number, true, false or null
			from := at
			for at < len(out) && !strings.ContainsRune(",:]}[{\" \t\r\n", rune(out[at])) {
				at++
			}
			if at == len(out) {
				out = append(out[:from], "null"...)
				at = len(out)
			}
			continue
		}
		at++
	}
	for n := len(open) - 1; n >= 0; n-- {
		out = append(out, open[n].end)
	}
	return out
}

// closing finds the quote that ends a string which begins at from; -1 if there is
// none, and then where an escape begins that is cut, or -1.
func closing(text []byte, from int) (end, escape int) {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i, -1
		case '\\':
			n := 2
			if i+1 < len(text) && text[i+1] == 'u' {
				n = 6
			}
			if i+n > len(text) {
				return -1, i
			}
			i += n - 1
		}
	}
	return -1, -1
}
