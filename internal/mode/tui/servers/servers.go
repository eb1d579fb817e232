// Package servers is the pane of MCP servers: which there are and how they are, the tools, log
// and standard error of one, and the keys that switch, reconnect and log in.
//
// A [Panel] is a [list.List] of servers, and in its place that of one server. It knows what a
// [Desk] tells it, asks that in goroutines which end with [pane.Env].Post, and asks again after
// each change, and each moment while a server is being connected. Names, descriptions and logs
// are data of servers: lists make them harmless when they are drawn.
package servers

import (
	"context"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// Desk knows the servers and changes them. Its methods take their time.
type Desk interface {
	Find() (all []host.ServerView, warnings []string, err error)
	// Do switches a server or one of its tools, or connects to it, and says what that means; see
	// [host.ServerDesk].
	Do(ctx context.Context, what, id, tool string) (said string, err error)
}

// Options of a panel.
type Options struct {
	Desk Desk
	// Open is the name of a server to show at once; "" is none.
	Open string
	// Remote says that the session is another process's, whose connections nobody here knows.
	Remote bool
	// OnLogin logs in to a server. The panel is done then.
	OnLogin func(id, name string)
	OnClose func()
}

const (
	again = 300 * time.Millisecond // until a server that is being connected is looked at again
	most  = 2 * time.Minute        // of looking again without a key
)

// Panel is the pane.
type Panel struct {
	env  *pane.Env
	o    Options
	ctx  context.Context // ends with the pane
	end  context.CancelFunc
	all  []host.ServerView
	list *list.List
	one  *list.List // of the server that is shown; nil: none is
	open string     // its ID
	view int        // what of it is shown

	note   string // what came of the last key
	failed bool   // the note is about something that went wrong
	work   int    // how much is under way
	asking bool
	due    time.Time
	until  time.Time // looks again until then
}

var (
	_ pane.Timed   = (*Panel)(nil)
	_ pane.Hovered = (*Panel)(nil)
)

// New makes the pane and begins to look for servers.
func New(env *pane.Env, o Options) *Panel {
	p := &Panel{env: env, o: o, until: env.Now().Add(most)}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.list = list.New(env, list.Options{
		Title: "MCP servers", Toggle: true, Empty: "Looking for MCP servers.", NoMatch: "No MCP server matches. Esc clears the search.",
		Hint:    "Enter view, Space on/off, Ctrl+R reconnect, Ctrl+L log in",
		Preview: p.about, OnChoose: p.show, OnToggle: func(id string, on bool) { p.do(switching(on), id, "") }, OnCancel: p.close, OnKey: p.press,
	})
	p.find()
	return p
}

func (p *Panel) close() {
	p.end()
	p.o.OnClose()
}

// find asks how the servers are now.
func (p *Panel) find() {
	if p.asking {
		return
	}
	p.asking, p.due = true, time.Time{}
	go func() {
		all, warnings, err := p.o.Desk.Find()
		p.env.Post(func() {
			if p.asking = false; p.ctx.Err() == nil {
				p.found(all, warnings, err)
			}
		})
	}()
}

// do has something done to a server or a tool, and says what came of it.
func (p *Panel) do(what, id, tool string) {
	p.work++
	p.due = p.env.Now().Add(again)
	if what == host.Reconnect {
		p.say("Connecting", false)
	}
	go func() {
		said, err := p.o.Desk.Do(p.ctx, what, id, tool)
		p.env.Post(func() {
			p.work--
			if p.ctx.Err() != nil {
				return
			}
			if err != nil {
				said = strings.TrimPrefix(said+"; "+prose.Line(err.Error()), "; ")
			}
			p.say(said, err != nil)
			p.find()
		})
	}()
}

// switching is what a box that is checked or not means.
func switching(on bool) string {
	if on {
		return host.SwitchOn
	}
	return host.SwitchOff
}

func (p *Panel) found(all []host.ServerView, warnings []string, err error) {
	switch {
	case err != nil:
		p.say(err.Error(), true)
		return
	case len(warnings) > 0 && p.note == "":
		p.say(strings.Join(warnings, "; "), true)
	}
	p.all = all
	p.list.SetEmpty("No MCP servers. In a shell, burin mcp add NAME -- COMMAND adds one, and burin mcp import copies those of other programs.")
	items := make([]list.Item, len(all))
	moving := p.work > 0
	for i := range all {
		v := &all[i]
		moving = moving || v.Moving
		it := &items[i]
		it.ID, it.Label, it.On, it.Dim = v.ID, v.Name, v.On, !v.On
		it.Detail = v.Summary() + " " + p.env.Styles.Symbols().Dot + " " + v.Where
		if p.o.Open == v.Name && (v.On || p.open == "") {
			p.open, p.view = v.ID, 0
		}
	}
	if p.o.Open != "" && p.open == "" {
		p.say("No MCP server "+p.o.Open+".", true)
	}
	p.o.Open = ""
	p.list.SetItems(items)
	if p.open != "" {
		if p.one == nil {
			p.list.SetSelected(p.open)
		}
		p.showOne()
	}
	if moving && p.env.Now().Before(p.until) {
		p.due = p.env.Now().Add(again)
	}
}

// get is the server with that ID; nil: it is not there any more.
func (p *Panel) get(id string) *host.ServerView {
	for i := range p.all {
		if p.all[i].ID == id {
			return &p.all[i]
		}
	}
	return nil
}

// say says something below the list until the next key.
func (p *Panel) say(text string, failed bool) { p.note, p.failed = text, failed }

// press is a key that means nothing to the list.
func (p *Panel) press(k key.Press, id string) bool {
	if p.one != nil {
		id = p.open
	}
	v := p.get(id)
	switch {
	case k.Key != "ctrl+r" && k.Key != "ctrl+l":
		return false
	case v == nil:
	case !v.On:
		p.say(v.Name+" is "+v.State+": nothing connects to it.", true)
	case k.Key == "ctrl+r":
		p.do(host.Reconnect, id, "")
	case v.Type == "stdio":
		p.say(v.Name+" is a program: it needs no login here.", true)
	default:
		p.end()
		p.o.OnLogin(id, v.Name)
	}
	return true
}

// Due is [pane.Timed]'s: it looks again while a server is being connected.
func (p *Panel) Due() time.Time { return p.due }

// Tick is [pane.Timed]'s.
func (p *Panel) Tick() { p.find() }

// top is the list that has the keys.
func (p *Panel) top() *list.List {
	if p.one != nil {
		return p.one
	}
	return p.list
}

// maxNote is how many rows the note takes.
const maxNote = 3

// Draw is [pane.Pane]'s.
func (p *Panel) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(1, width), max(1, height)
	text, look := p.note, theme.Look{Fg: theme.Warning}
	switch {
	case text == "" && p.o.Remote:
		text, look.Fg = "This session is another process's: its connections are not shown, and what is switched holds for later sessions.", theme.Muted
	case p.failed:
		look.Fg = theme.Error
	}
	var note []string
	if text != "" {
		note = p.render(styled.Wrap(nil, styled.Line{{Text: prose.Inline(text), Look: look}}, width, nil, nil), min(maxNote, height/4))
	}
	rows, cursor := p.top().Draw(width, height-len(note))
	return append(rows, note...), cursor
}

// Hover is [pane.Hovered]'s.
func (p *Panel) Hover(h key.Hover) bool { return p.top().Hover(h) }

// Handle is [pane.Pane]'s.
func (p *Panel) Handle(ev key.Event) {
	if p.ctx.Err() != nil {
		return
	}
	if _, pressed := ev.(key.Press); pressed {
		p.until = p.env.Now().Add(most)
		p.say("", false)
	}
	p.top().Handle(ev)
}
