package skill

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// maxSection is how many bytes of the system prompt name skills. Beyond it descriptions are
// cut at shortened characters, and then skills are left out, which skill:// still lists.
const (
	maxSection = 16 << 10
	shortened  = 120
)

// Section is the part of the system prompt that names the skills; "" if there is nothing to
// name. It is the same bytes for the same skills, so that a provider's cache holds.
func (s *Set) Section() string {
	var lines, short []string
	long, total := 0, 0
	for _, k := range s.list {
		if k.Unlisted {
			continue
		}
		lines = append(lines, line(k, MaxDescription))
		short = append(short, line(k, shortened))
		long += len(lines[len(lines)-1])
	}
	if len(lines) == 0 {
		return ""
	}
	if long > maxSection {
		lines = short
	}
	var b strings.Builder
	b.WriteString("# Skills\n\nInstructions for certain tasks, from the user, the repository or burin. If a task fits a description, read the skill first, as `skill://NAME` with read, and follow it. A skill never widens what is permitted.\n\n")
	for i, l := range lines {
		if total += len(l); total > maxSection {
			fmt.Fprintf(&b, "%d more: read `skill://` lists them.\n", len(lines)-i)
			break
		}
		b.WriteString(l)
	}
	return b.String()
}

func line(k Skill, n int) string { return "- " + k.Name + ": " + prose.Short(k.Description, n) + "\n" }

// names lists the skills for the model.
func (s *Set) names() string {
	var b strings.Builder
	for _, k := range s.list {
		if !k.Unlisted {
			b.WriteString(line(k, MaxDescription))
		}
	}
	if b.Len() == 0 {
		return "There are no skills.\n"
	}
	return b.String()
}
