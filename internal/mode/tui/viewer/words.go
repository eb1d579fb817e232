package viewer

import (
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/viewer/scan"
)

// text is what is copied of an item: what was said; of an answer without words, its
// calls and their results.
func (v *Viewer) text(i int) string {
	var said, done []string
	for _, member := range v.branch.members(i) {
		e, err := v.o.Log.Entry(member.id)
		if err != nil {
			continue
		}
		if e.Message == nil {
			scan.Pieces(e, func(s string) bool { said = append(said, s); return true })
			continue
		}
		if member.kind != result {
			said = append(said, e.Message.Text())
		} else {
			done = append(done, e.Message.Text())
		}
		for _, c := range e.Message.ToolCalls() {
			done = append(done, c.Name+" "+c.Arguments)
		}
	}
	if words := strings.TrimSpace(strings.Join(said, "\n")); words != "" {
		return words
	}
	return strings.TrimSpace(strings.Join(done, "\n"))
}

// code is the last fenced block in a text, the one people ask for most.
func code(text string) (string, bool) {
	var block, found []string
	fence, ok := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimLeft(line, " ")
		switch {
		case fence == "" && (strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~")):
			fence, block = bare[:3], nil
		case fence != "" && strings.HasPrefix(bare, fence):
			fence, found, ok = "", block, true
		case fence != "":
			block = append(block, line)
		}
	}
	return strings.Join(found, "\n"), ok
}
