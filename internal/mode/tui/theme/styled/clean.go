package styled

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/prose"
)

// Output makes the output of a program harmless: its sequences go, and of a line
// that was written over with carriage returns the last version stays. What is
// left is as [prose.Clean] gives it.
func Output(s string, tab int) string {
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = ansi.Strip(s)
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		lines := strings.Split(s, "\n")
		for i, line := range lines {
			line = strings.TrimRight(line, "\r")
			lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
		}
		s = strings.Join(lines, "\n")
	}
	return prose.Clean(s, tab)
}
