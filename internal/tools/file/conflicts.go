package file

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// conflicts lists the unresolved merge conflicts of a text.
func conflicts(name, text string) *tool.Result {
	var b strings.Builder
	n, start := 0, 0
	ours := ""
	for i, line := range splitLines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "<<<<<<< "):
			start, ours = i+1, line[8:]
		case strings.HasPrefix(line, ">>>>>>> ") && start > 0:
			n++
			fmt.Fprintf(&b, "%d. lines %d-%d: %s against %s\n", n, start, i+1, ours, line[8:])
			start = 0
		}
	}
	if n == 0 {
		b.WriteString(name + " has no merge conflicts")
	} else {
		fmt.Fprintf(&b, "[%s. Read the lines, then edit them to what they should be, without the marks.]", prose.Count(n, "conflict"))
	}
	return tool.Text(b.String()).WithDetails(readDetails{Path: name, Kind: "conflicts"})
}
