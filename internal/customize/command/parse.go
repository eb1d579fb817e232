package command

import (
	"errors"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/customize/front"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/prose"
)

// document is what a file says.
type document struct {
	name, description, hint, model, thinking string
	tools, allow                             []string
	body                                     string
}

// maxDescription is how many characters of a first line stand for a description, and
// maxLine how many of anything else that a file says of itself are kept.
const (
	maxDescription = 60
	maxLine        = 300
)

// parse reads a file. Of Markdown it leaves out what it does not understand, because the heads
// of other programs' files are written for other readers. An error comes with its line.
func parse(text string, k kind) (d document, l int, err error) {
	if k == toml {
		var file struct{ Prompt, Description string }
		if l, err := source.DecodeTOML(text, &file); err != nil {
			return d, l, err
		}
		if strings.TrimSpace(file.Prompt) == "" {
			return d, 1, errors.New("it has no prompt")
		}
		d.body, d.description = strings.TrimPrefix(file.Prompt, "\n"), line(file.Description)
	} else {
		head, body := front.Split(text)
		d.body = body
		for _, e := range front.Entries(head) {
			d.set(e)
		}
	}
	if d.description == "" {
		d.description = firstLine(d.body)
	}
	return d, 0, nil
}

func (d *document) set(e front.Entry) {
	switch e.Key {
	case "name":
		d.name = line(e.Text())
	case "description":
		d.description = line(e.Text())
	case "argument-hint", "argument_hint", "argumentHint":
		// "[file] [line]" is a hint here and no list.
		if d.hint = line(e.Raw); len(e.Items) > 0 && e.Raw == "" {
			d.hint = line(strings.Join(e.Items, " "))
		}
	case "model":
		d.model = line(e.Text())
	case "thinking", "effort", "reasoning_effort":
		d.thinking = line(e.Text())
	case "tools":
		d.tools = e.List()
	case "allowed-tools", "allowed_tools", "allowedTools":
		d.allow = e.List()
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
