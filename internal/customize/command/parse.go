package command

import (
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/prose"
)

// document is what a file says.
type document struct {
	name, description, hint, model string
	tools                          []string
	body                           string
}

// maxDescription is how many characters of a first line stand for a description, and
// maxLine how many of anything else that a file says of itself are kept.
const (
	maxDescription = 60
	maxLine        = 300
)

// parse reads a file. It never fails: what it does not understand is left out, because
// the heads of other programs' files are written for other readers.
func parse(text string, k kind) document {
	var d document
	if k == toml {
		values := tomlStrings(text)
		d.body, d.description = values["prompt"], line(values["description"])
	} else {
		head, body := split(text)
		d.body = body
		for _, e := range entries(head) {
			d.set(e)
		}
	}
	if d.description == "" {
		d.description = firstLine(d.body)
	}
	return d
}

func (d *document) set(e entry) {
	switch e.key {
	case "name":
		d.name = line(e.text())
	case "description":
		d.description = line(e.text())
	case "argument-hint", "argument_hint", "argumentHint":
		// "[file] [line]" is a hint here and no list.
		if d.hint = line(e.raw); len(e.items) > 0 && e.raw == "" {
			d.hint = line(strings.Join(e.items, " "))
		}
	case "model":
		d.model = line(e.text())
	case "allowed-tools", "allowed_tools", "allowedTools", "tools":
		d.tools = e.list()
	}
}

// line makes one short line of a text.
func line(s string) string { return prose.Short(s, maxLine) }

// firstLine is the first line of a text that says something.
func firstLine(body string) string {
	for l := range strings.Lines(body) {
		l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "#-"))
		if l != "" {
			if short := prose.Cut(l, maxDescription); short != l {
				return strings.TrimRightFunc(strings.TrimSuffix(short, "…"), unicode.IsSpace) + "..."
			}
			return l
		}
	}
	return ""
}

// split divides a file into its head, between two lines of "---", and the rest. A head
// that has no end is text.
func split(text string) (head, body string) {
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

// entry is a key of a head. It is read line by line and not as YAML: heads of commands
// are full of what YAML refuses ("argument-hint: [a] [b]", "description: do: this"),
// and a file of others must not be able to use anchors or types.
type entry struct {
	key   string
	raw   string   // what follows the colon, quotes taken off
	items []string // lines "- item" below it
}

// text is the value as one text.
func (e entry) text() string {
	if e.raw == "" {
		return strings.Join(e.items, " ")
	}
	return e.raw
}

// list is the value as a list: items, [a, b] or a, b. Commas within round brackets
// belong to an item, as in Bash(git add:*, git commit:*).
func (e entry) list() []string {
	if len(e.items) > 0 {
		return e.items
	}
	s := strings.TrimSpace(e.raw)
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
	for i := range len(s) {
		switch {
		case s[i] == '(':
			depth++
		case s[i] == ')':
			depth = max(0, depth-1)
		case s[i] == ',' && depth == 0:
			cut(i)
			from = i + 1
		}
	}
	cut(len(s))
	return out
}

// entries reads the keys of a head that stand at the beginning of a line.
func entries(head string) []entry {
	var out []entry
	for l := range strings.Lines(head) {
		l = strings.TrimRight(l, " \t\n")
		trimmed := strings.TrimLeft(l, " \t")
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case strings.HasPrefix(trimmed, "- ") && len(out) > 0:
			last := &out[len(out)-1]
			if len(last.items) < 100 {
				last.items = append(last.items, prose.Cut(unquote(strings.TrimSpace(trimmed[2:])), maxLine))
			}
		case len(trimmed) < len(l): // goes on with the line before
			if last := len(out) - 1; last >= 0 && len(out[last].raw) < 10*maxLine {
				last := &out[last]
				last.raw = strings.TrimSpace(last.raw + " " + trimmed)
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
			out = append(out, entry{key: key, raw: value})
		}
	}
	for i := range out {
		out[i].raw = unquote(out[i].raw)
	}
	return out
}

// unquote takes one pair of quotes off.
func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}
