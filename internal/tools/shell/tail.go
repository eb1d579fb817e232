package shell

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/platform/shell"
)

// tail is a "| tail" that was taken off the end of a command, so that the exit
// code is that of the program. The zero value is none.
type tail struct {
	text  string // as written
	lines int    // that it would have left
}

// apply gives the text that is shown of a command, and the notice below it. Of one
// that went well the lines that were asked for are shown; of one that failed all
// there is, because the reason seldom stands in the last lines.
func (t tail) apply(out *shell.Outcome) (text, notice string) {
	text, notice = out.Output.Text, out.Output.Notice()
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	switch {
	case t.lines == 0 || len(lines) <= t.lines:
		return text, notice
	case out.ExitCode != 0:
		if notice != "" {
			notice = "\n" + notice
		}
		return text, fmt.Sprintf("[`%s` was left out, because the command failed.]%s", t.text, notice)
	}
	whole := ""
	if id := out.Output.Artifact; id != "" {
		whole = "; artifact://" + id + " has all"
	}
	last := strings.Join(lines[len(lines)-t.lines:], "") + "\n"
	return last, fmt.Sprintf("[The last %d of %d lines, as `%s` asks%s. Leave it out: long output is cut anyway.]", t.lines, out.Output.Lines, t.text, whole)
}
