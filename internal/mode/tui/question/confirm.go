package question

import (
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// ConfirmOptions say what is asked.
type ConfirmOptions struct {
	Title, Text string
	From        string // the sub-agent that asks; "": the session itself
	Yes, No     string // words of the answers; "Yes" and "No" where empty
	Danger      bool   // Yes cannot be undone
	// OnTyped gets what is typed and is no answer: it is meant for the prompt. May be
	// nil.
	OnTyped func(key.Event)
	// OnDone is told the answer, once. Esc is no.
	OnDone func(yes bool)
}

// Confirm asks for yes or no, and begins at no.
type Confirm struct {
	env    *pane.Env
	o      ConfirmOptions
	guard  guard
	yes    bool
	scroll place
	done   bool
}

var _ pane.Timed = (*Confirm)(nil)

// NewConfirm makes the pane.
func NewConfirm(env *pane.Env, o ConfirmOptions) *Confirm {
	if o.Yes == "" {
		o.Yes = "Yes"
	}
	if o.No == "" {
		o.No = "No"
	}
	return &Confirm{env: env, o: o}
}

// Draw is [pane.Pane]'s.
func (c *Confirm) Draw(width, height int) ([]string, screen.Cursor) {
	c.guard.drawn(c.env.Now())
	s := newSheet(c.env, width)
	fg := theme.Accent
	if c.o.Danger {
		fg = theme.Error
	}
	s.heading(prose.Inline(prose.Clip(c.o.Title, 400)), asker(s, c.o.From, ""), fg)
	s.body = s.render(nil, s.paragraphs(c.o.Text))
	s.choice(0, "", prose.Inline(c.o.Yes), "(y)", c.yes)
	s.choice(0, "", prose.Inline(c.o.No), "(n)", !c.yes)
	return s.arrange(height, &c.scroll)
}

// paragraphs wraps a text of several lines.
func (s *sheet) paragraphs(text string) []styled.Line {
	text = strings.TrimSpace(prose.Clean(prose.Clip(text, maxQuestion), 4))
	if text == "" {
		return nil
	}
	var lines []styled.Line
	for line := range strings.SplitSeq(text, "\n") {
		lines = s.text(lines, styled.Of(line, theme.Text))
	}
	return lines
}

// Handle is [pane.Pane]'s.
func (c *Confirm) Handle(ev key.Event) {
	now := c.env.Now()
	if click, ok := ev.(key.Click); ok {
		c.click(click, now)
		return
	}
	p, ok := ev.(key.Press)
	if c.done || !ok && !typing(ev) {
		return
	}
	if !c.guard.ready(now) || !ok {
		astray(ev, c.o.OnTyped)
		return
	}
	act := action(c.env, p.Key)
	if act == key.SelectConfirm {
		if c.guard.calm(now) {
			c.finish(c.yes)
		}
		return
	}
	if p.Text != "" && act == "" {
		c.letter(p.Text)
		return
	}
	c.guard.held = ""
	switch {
	case c.scroll.wheel(p.Key):
	case act == key.SelectUp, act == key.SelectDown, p.Key == "left", p.Key == "right", p.Key == "tab":
		c.yes = !c.yes
	case act == key.SelectPageUp:
		c.scroll.turn(-1)
	case act == key.SelectPageDown:
		c.scroll.turn(1)
	case act == key.SelectCancel:
		c.finish(false)
	}
}

// click selects an answer and does no more: Enter answers.
func (c *Confirm) click(at key.Click, now time.Time) {
	if to := c.scroll.choice(at.Y); !c.done && c.guard.ready(now) && to >= 0 {
		c.guard.held, c.yes = "", to == 0
	}
}

// letter marks what a letter stands for; other text, and what follows a letter, is for
// the prompt.
func (c *Confirm) letter(text string) {
	now := c.env.Now()
	yes := strings.EqualFold(text, "y")
	if words := c.guard.letter(text, yes || strings.EqualFold(text, "n"), now); words != "" {
		c.guard.disarm(now)
		c.yes = false
		astray(key.Paste{Text: words}, c.o.OnTyped)
		return
	}
	c.yes = yes
}

// Due is [pane.Timed]'s.
func (c *Confirm) Due() time.Time { return c.guard.due() }

// Tick is [pane.Timed]'s.
func (c *Confirm) Tick() {
	if !c.done && c.guard.alone(c.env.Now()) != "" {
		c.finish(c.yes)
	}
}

func (c *Confirm) finish(yes bool) {
	c.done = true
	c.guard.held = ""
	c.o.OnDone(yes)
}
