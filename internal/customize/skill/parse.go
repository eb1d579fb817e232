package skill

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/customize/front"
	"github.com/burin-dev/burin/internal/prose"
)

// fault is what breaks the format and can still be used.
type fault struct {
	line int
	text string
}

// document is what a file says.
type document struct {
	name, description, license string
	unlisted, uncallable       bool
	faults                     []fault
	refusal                    string // why it cannot be used; "" is that it can
}

// parse reads the beginning of a SKILL.md in a folder of that name.
func parse(text, folder string) document {
	d := document{}
	head, body := front.Split(text)
	named, described := 1, 1 // lines
	for _, e := range front.Entries(head) {
		switch e.Key {
		case "name":
			d.name, named = strings.TrimSpace(e.Text()), e.Line+1
		case "description":
			d.description, described = strings.TrimSpace(e.Raw+" "+strings.Join(e.Items, " ")), e.Line+1
		case "license":
			d.license = prose.Short(e.Text(), 100)
		case "compatibility":
			if n := utf8.RuneCountInString(e.Text()); n > maxCompatible {
				d.fault(e.Line+1, "compatibility has %d characters; the format allows %d", n, maxCompatible)
			}
		case "disable-model-invocation":
			d.unlisted = truth(e.Raw)
		case "user-invocable":
			d.uncallable = strings.EqualFold(e.Raw, "false")
		}
	}
	d.chooseName(folder, named)
	d.describe(body, described)
	return d
}

func truth(s string) bool { return strings.EqualFold(s, "true") }

func (d *document) fault(line int, format string, args ...any) {
	d.faults = append(d.faults, fault{line, fmt.Sprintf(format, args...)})
}

// chooseName takes the name of the head, or the folder's where that is missing or cannot be
// used.
func (d *document) chooseName(folder string, line int) {
	written := d.name
	switch {
	case written == "":
		d.name = folder
		d.fault(line, "no name; write name: %s", prose.Short(folder, MaxName))
	case !usable(written):
		d.name = folder
		d.fault(line, "%q cannot be a skill's name; using the folder's, %s", prose.Short(written, MaxName), prose.Short(folder, MaxName))
	case written != folder:
		d.fault(line, "the name %s differs from the folder, %s; rename one of them", written, prose.Short(folder, MaxName))
	}
	switch {
	case !usable(d.name):
		d.name, d.faults = "", nil
		d.refusal = fmt.Sprintf("%q cannot be a skill's name; use lower-case letters, digits and hyphens, at most %d", prose.Short(folder, MaxName), MaxName)
	case !strict(d.name):
		d.fault(line, "the format allows lower-case letters, digits and single hyphens in a name; rename %s", d.name)
	}
}

// usable reports whether a name can be written after "/skill:" and in an address.
func usable(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= MaxName && strings.Trim(name, "-_.") != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	})
}

// strict reports whether a usable name is one of the format.
func strict(name string) bool {
	return !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") && !strings.Contains(name, "--") &&
		!strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' })
}

// describe makes the description one line. Without one the first line of the text stands
// for it, as in Claude Code.
func (d *document) describe(body string, line int) {
	if d.description == "" {
		for l := range strings.Lines(body) {
			if l = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(l), "#-*> ")); l != "" {
				d.description = l
				break
			}
		}
		if d.description == "" && d.refusal == "" {
			d.refusal = "it has neither a description nor text; write what it does and when to use it"
			return
		}
		d.fault(line, "no description; write what the skill does and when to use it, in one to %d characters", MaxDescription)
	}
	if n := utf8.RuneCountInString(d.description); n > MaxDescription {
		d.fault(line, "the description has %d characters; it is cut at %d", n, MaxDescription)
	}
	d.description = prose.Plain(d.description, MaxDescription)
}
