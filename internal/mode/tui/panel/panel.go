// Package panel draws what stands between the conversation and the prompt: messages
// that wait, background jobs, sub-agents, the list of tasks, a retry that is coming,
// the line that says the model works. And two kinds of reports to scroll in: any
// lines ([Report]), and what fills the model's context ([Context]).
//
// Blocks are pure functions: of what is to be shown and a [View], to rows no wider
// than the view; no rows where there is nothing to say. They are drawn for every
// frame, so each shows a few rows whatever there is and counts the rest, and costs
// what it shows. None has a timer: times are as of the call, and spinners show the
// picture of the index they are given.
//
// What models and programs wrote is made harmless here.
package panel

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// View is how blocks are shown.
type View struct {
	Width  int
	Styles *theme.Styles
}

// Limits of blocks, in rows and bytes.
const (
	maxQueue  = 5
	maxJobs   = 4
	maxAgents = 5
	openTasks = 5
	maxText   = 1000 // bytes of one row's text that are looked at
)

// painter collects the rows of one block.
type painter struct {
	View
	sign theme.Symbols
	rows []string
	buf  []byte
}

func newPainter(v View, rows int) *painter {
	v.Width = max(v.Width, 1)
	return &painter{View: v, sign: v.Styles.Symbols(), rows: make([]string, 0, rows)}
}

func (p *painter) add(l styled.Line) {
	p.buf = styled.Append(p.buf[:0], p.Styles, styled.Truncate(l, p.Width, p.sign.Ellipsis))
	p.rows = append(p.rows, string(p.buf))
}

// title is the first row of a block.
func (p *painter) title(words, more string) {
	l := styled.Line{{Text: words, Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}}
	if more != "" {
		l = append(l, styled.Span{Text: " " + more, Look: theme.Look{Fg: theme.Muted}})
	}
	p.add(l)
}

func (p *painter) more(n int, word string) {
	if n > 0 {
		p.add(styled.Of(fmt.Sprintf("  %s %s", p.sign.Ellipsis, prose.Count(n, "more "+word)), theme.Muted))
	}
}

// facts joins what is known by dots.
func (p *painter) facts(l styled.Line, fg theme.Token, facts ...string) styled.Line {
	for _, f := range facts {
		if f != "" {
			l = append(l, styled.Span{Text: " " + p.sign.Dot + " " + f, Look: theme.Look{Fg: fg}})
		}
	}
	return l
}

// brief is foreign text for one row.
func brief(text string) string {
	return prose.Inline(strings.TrimSpace(prose.Head(text, maxText))) // no row shows as much
}

// lastLine is the last line with something on it of what a program wrote.
func lastLine(text string) string {
	if len(text) > maxText {
		text = text[len(text)-maxText:]
	}
	text = strings.TrimRight(styled.Output(text, 4), " \n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Elapsed is a time for reading: "4s", "2m 05s", "3h 12m".
func Elapsed(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	switch {
	case s < 60:
		return strconv.Itoa(s) + "s"
	case s < 3600:
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh %02dm", s/3600, s/60%60)
}

// Spinner is picture frame of a spinner, one cell wide. Any frame will do; they come
// round.
func Spinner(s theme.Symbols, frame int) string {
	if s.Ellipsis == "..." { // signs are those of ASCII
		return ascii[uint(frame)%uint(len(ascii))]
	}
	return braille[uint(frame)%uint(len(braille))]
}

var (
	braille = [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	ascii   = [...]string{"|", "/", "-", "\\"}
)
