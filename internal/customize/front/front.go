// Package front reads the heads of Markdown files, between two lines of "---", as the
// authors of commands, rules and skills write them for many programs. It never fails: what
// it does not understand is left out.
package front

import (
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// escapes are those of YAML's double quotes that a pattern or a path needs.
var escapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// maxLine is how many characters of a value or an item are kept.
const maxLine = 1000

// Split divides a file into its head, between two lines of "---", and the rest. A head
// that has no end is text.
func Split(text string) (head, body string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---")
	if !ok {
		return "", text
	}
	first, rest, ok := strings.Cut(rest, "\n")
	if !ok || strings.TrimSpace(first) != "" {
		return "", text
	}
	for at := 0; at < len(rest); {
		end := strings.IndexByte(rest[at:], '\n')
		l, next := rest[at:], len(rest)
		if end >= 0 {
			l, next = rest[at:at+end], at+end+1
		}
		if strings.TrimRight(l, " \t") == "---" {
			return rest[:at], rest[next:]
		}
		at = next
	}
	return "", text
}

// Entry is a key of a head. It is read line by line and not as YAML: heads of such files
// are full of what YAML refuses ("argument-hint: [a] [b]", "description: do: this"),
// and a file of others must not be able to use anchors or types.
type Entry struct {
	Key    string
	Raw    string   // what follows the colon, quotes taken off
	Items  []string // lines "- item" below it
	Line   int      // of the key in the head, from 1
	Quoted bool     // Raw had quotes
}

// Text is the value as one text.
func (e Entry) Text() string {
	if e.Raw == "" {
		return strings.Join(e.Items, " ")
	}
	return e.Raw
}

// List is the value as a list: items, [a, b] or a, b. Commas within brackets and quotes
// belong to an item, as in Bash(git add:*, git commit:*) and **/*.{ts,tsx}.
func (e Entry) List() []string {
	if len(e.Items) > 0 {
		return e.Items
	}
	s := strings.TrimSpace(e.Raw)
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		s = s[1 : len(s)-1]
	}
	var out []string
	depth, from := 0, 0
	cut := func(end int) {
		if item := unquote(strings.TrimSpace(s[from:end])); item != "" && len(out) < 100 {
			out = append(out, prose.Cut(item, maxLine))
		}
	}
	begun, quote := false, byte(0) // an item has begun; the quote that it stands in
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case !begun && (c == '"' || c == '\''):
			begun, quote = true, c
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth = max(0, depth-1)
		case c == ',' && depth == 0:
			cut(i)
			from, begun = i+1, false
			continue
		}
		begun = begun || s[i] != ' '
	}
	cut(len(s))
	return out
}

// Entries reads the keys of a head that stand at the beginning of a line.
func Entries(head string) []Entry {
	var out []Entry
	n := 0
	for l := range strings.Lines(head) {
		n++
		l = strings.TrimRight(l, " \t\n")
		trimmed := strings.TrimLeft(l, " \t")
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case strings.HasPrefix(trimmed, "- ") && len(out) > 0:
			last := &out[len(out)-1]
			if len(last.Items) < 100 {
				last.Items = append(last.Items, prose.Cut(unquote(strings.TrimSpace(trimmed[2:])), maxLine))
			}
		case len(trimmed) < len(l): // continues the previous line
			if last := len(out) - 1; last >= 0 && len(out[last].Raw) < 10*maxLine {
				last := &out[last]
				last.Raw = strings.TrimSpace(last.Raw + " " + trimmed)
			}
		default:
			key, value, ok := strings.Cut(l, ":")
			if !ok || strings.ContainsAny(key, " \t") {
				continue
			}
			value = strings.TrimSpace(value)
			switch value { // a text in the lines below
			case "|", ">", "|-", ">-", "|+", ">+":
				value = ""
			}
			out = append(out, Entry{Key: key, Raw: value, Line: n})
		}
	}
	for i := range out {
		text := unquote(out[i].Raw)
		out[i].Quoted = text != out[i].Raw
		out[i].Raw = text
	}
	return out
}

// unquote takes one pair of quotes off, and undoes what YAML wants for a quote or a
// backslash in them. Other escapes stay: "\bword" is a pattern, not a backspace.
func unquote(s string) string {
	n := len(s)
	if n < 2 || s[n-1] != s[0] {
		return s
	}
	switch s[0] {
	case '\'':
		return strings.ReplaceAll(s[1:n-1], "''", "'")
	case '"':
		return escapes.Replace(s[1 : n-1])
	}
	return s
}
