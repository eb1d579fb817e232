package tui

import (
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

// greeter says what burin is, when it is known how the terminal shows it.
type greeter struct {
	*base
	show    *appearance
	display *display
	version string
}

// greeting is what stands first in the scrollback.
func (g *greeter) greeting(v card.View) []string {
	name := styled.Line{
		{Text: "burin", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}},
		{Text: " " + g.version, Look: theme.Look{Fg: theme.Dim}},
	}
	where := styled.Of(g.homePath(g.dir), theme.Muted)
	end := v.Styles.Symbols().Ellipsis
	return []string{
		styled.Render(v.Styles, styled.Truncate(name, v.Width, end)),
		styled.Render(v.Styles, styled.Truncate(where, v.Width, end)),
	}
}

// known is called when the terminal has said what it can, or has had its time.
func (g *greeter) known() {
	if g.display.ready {
		return
	}
	g.display.ready = true
	if g.show.quiet {
		return
	}
	g.talk.say(told, g.greeting)
	// The greeting stands above what was said meanwhile.
	last := len(g.talk.blocks) - 1
	greeting := g.talk.blocks[last]
	copy(g.talk.blocks[1:], g.talk.blocks[:last])
	g.talk.blocks[0] = greeting
	g.redraw()
}
