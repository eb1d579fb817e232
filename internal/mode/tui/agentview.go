package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/mode/tui/viewer"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

const (
	// maxViewed is how many blocks of an agent's conversation are kept; the reader has all.
	maxViewed = 200
	// maxSteer is how many rows the line to an agent has at most.
	maxSteer = 5
)

// agentView is the conversation of a sub-agent as it goes on, and a line to talk to it.
type agentView struct {
	of     *subagents
	id     string
	s      *opened // nil: it is being opened
	talk   *talk
	editor *editor.Editor
	up     int    // rows between the last one and the last that is shown
	page   int    // rows of the conversation that were drawn last
	early  string // was sent before the session was open
	note   string // is said until the next key
	gone   bool
	rows   []string // memory of Draw
}

var (
	_ pane.Full  = (*agentView)(nil)
	_ pane.Timed = (*agentView)(nil)
)

func newAgentView(ag *subagents, id string) *agentView {
	v := &agentView{of: ag, id: id, talk: newTalk(), note: "Opening the agent's session"}
	v.editor = editor.New(editor.Options{
		Keys: ag.env.Keys, Placeholder: "Tell " + agentPath(id) + " something", Styles: ag.show.editorStyles(),
		OnSubmit: v.send, OnProblem: func(err error) { v.note = err.Error() },
	})
	_ = v.editor.SetText(ag.drafts[id]) // it was there before
	delete(ag.drafts, id)
	return v
}

// Fullscreen is [pane.Full]'s.
func (v *agentView) Fullscreen() {}

// begin shows a session that was opened.
func (v *agentView) begin(h session.Handle, b beginning) {
	if v.gone {
		go func() { _ = h.Close() }() // it is only left
		return
	}
	ctx, cancel := context.WithCancel(v.of.ctx)
	v.s, v.note = &opened{Handle: h, stop: cancel, ctx: v.of.ctx}, ""
	v.talk.labels = v.of.talk.labels
	if left := h.Transcript().Len() - len(b.past); left > 0 && len(b.past) == maxReplayed {
		v.note = fmt.Sprintf("%s before this; %s shows all", prose.Count(left, "entry"), v.of.keyFor(key.OpenTranscript))
	}
	v.talk.replay(h.Transcript(), b)
	go v.of.inbox.follow(ctx, v.s, b.feed)
	v.send(v.early)
}

// failed says that an agent's session could not be opened.
func (v *agentView) failed(err error) {
	if !v.gone && v.of.ctx.Err() == nil {
		v.note = prose.Line(err.Error())
	}
	if v.s == nil && v.early != "" {
		_ = v.editor.Return(v.early) // it was there before
		v.early = ""
	}
}

// event takes what the agent's session says.
func (v *agentView) event(e *sessionEvent) {
	switch {
	case e.over:
		v.talk.abandon()
		v.note = "The agent's session was closed."
		return
	case e.Type == session.EventsLost:
		v.talk.lose()
		return
	case v.talk.again(&e.Event):
		return
	}
	switch v.talk.event(&e.Event); e.Type {
	case session.RetryStart:
		v.talk.forgive()
	case session.RetryEnd:
		if !e.Data.(*session.RetryInfo).Success {
			v.talk.gaveUp()
		}
	case session.AgentSettled:
		v.talk.confirm()
	case session.AgentChanged:
		v.talk.showAgents(e.Data.(*session.Agent).CallID, v.of.facts.agents.of(e.Data.(*session.Agent).CallID))
	}
	for len(v.talk.blocks) > maxViewed && v.talk.blocks[0].done() {
		v.talk.blocks = slices.Delete(v.talk.blocks, 0, 1)
	}
}

// working reports whether the agent works.
func (v *agentView) working() bool { return v.s != nil && v.s.Facts().Working }

// Due is [pane.Timed]'s: the time of an agent that works is shown in seconds.
func (v *agentView) Due() time.Time {
	if a, ok := v.of.facts.agents.get(v.id); !ok || a.State != session.AgentRunning || !a.Ended.IsZero() {
		return time.Time{}
	}
	return v.of.env.Now().Truncate(time.Second).Add(time.Second)
}

// Tick is [pane.Timed]'s.
func (v *agentView) Tick() {}

// Draw is [pane.Pane]'s.
func (v *agentView) Draw(width, height int) ([]string, screen.Cursor) {
	v.talk.look = v.of.talk.look
	v.talk.look.Width = max(width, 1)
	line, y, x := v.editor.View(max(width-3, 3), max(1, min(maxSteer, height/3)))
	v.page = max(height-len(line)-3, 0)
	all := v.talk.rows(v.rows[:0])
	v.rows = all
	v.up = max(0, min(v.up, len(all)-v.page))
	rows := make([]string, 0, height)
	if height > 2 {
		rows = append(rows, v.heading(width))
	}
	end := len(all) - v.up
	rows = append(rows, all[max(0, end-v.page):end]...)
	for len(rows) < height-len(line)-2 {
		rows = append(rows, "")
	}
	if height > len(line)+1 {
		rows = append(rows, v.of.cut(styled.Of(v.keys(), theme.Dim), width))
	}
	cursor := screen.Cursor{X: x + 2, Y: y + len(rows)}
	for i, t := range line {
		mark := "  "
		if i == 0 {
			mark = v.of.line(styled.Of("> ", theme.Accent))
		}
		rows = append(rows, mark+t)
	}
	return rows[:min(len(rows), height)], cursor
}

// heading says who it is and how far it is.
func (v *agentView) heading(width int) string {
	l := styled.Line{{Text: agentPath(v.id), Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}}
	if a, ok := v.of.facts.agents.get(v.id); ok {
		words := v.of.dot() + a.Agent + v.of.dot() + v.of.state(&a, v.of.env.Now()) + v.of.dot() + v.of.figures(&a)
		l = append(l, styled.Span{Text: prose.Inline(words), Look: theme.Look{Fg: theme.Muted}})
	}
	return v.of.cut(l, width)
}

// keys say what keys do, or what there is to say.
func (v *agentView) keys() string {
	if v.note != "" {
		return v.note
	}
	words := []string{"enter sends", "esc goes back", v.of.keyFor(key.OpenTranscript) + " searches"}
	if v.working() {
		words = []string{"enter steers", "esc interrupts", v.of.keyFor(key.AgentHub) + " goes back", v.of.keyFor(key.OpenTranscript) + " searches"}
	}
	if v.up > 0 {
		words = append([]string{prose.Count(v.up, "row") + " below"}, words...)
	}
	return strings.Join(words, v.of.dot())
}

// Handle is [pane.Pane]'s.
func (v *agentView) Handle(ev key.Event) {
	p, ok := ev.(key.Press)
	if !ok {
		v.editor.Handle(ev)
		return
	}
	if v.s != nil {
		v.note = ""
	}
	if v.scroll(p.Key) || v.editor.Handle(p) {
		return
	}
	action, _ := v.of.env.Keys.Lookup(key.App, p.Key)
	switch action {
	case key.Interrupt:
		if !v.working() {
			v.leave()
			return
		}
		s := v.s
		go func() { // it may wait for a call to end
			ctx, cancel := s.brief()
			defer cancel()
			if err := s.Conversation().Abort(ctx); err != nil {
				v.of.inbox.post(func() { v.failed(err) })
			}
		}()
	case key.Clear:
		if v.editor.Empty() {
			v.leave()
			return
		}
		_ = v.editor.SetText("") // an empty one fits
	case key.AgentHub:
		v.leave()
	case key.ExpandTools:
		v.of.talk.change(func(l *look) { l.Expanded = !l.Expanded })
	case key.OpenTranscript:
		v.read()
	}
}

// scroll moves in the conversation.
func (v *agentView) scroll(k key.Key) bool {
	action, _ := v.of.env.Keys.Lookup(key.Select, k)
	empty := v.editor.Empty()
	switch {
	case action == key.SelectPageUp:
		v.up += max(v.page-1, 1)
	case action == key.SelectPageDown:
		v.up -= max(v.page-1, 1)
	case k == "wheelup", action == key.SelectUp && empty:
		v.up++
	case k == "wheeldown", action == key.SelectDown && empty:
		v.up--
	case k == "end" && empty:
		v.up = 0
	default:
		return false
	}
	v.up = max(v.up, 0)
	return true
}

// send tells the agent something: it hears it while it works, and is woken by it otherwise.
func (v *agentView) send(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	s := v.s
	if s == nil {
		v.early = strings.TrimSpace(v.early + "\n" + text)
		return
	}
	v.up = 0
	go func() {
		_, err := s.Conversation().Submit(s.ctx, session.Input{Message: llm.UserText(text)})
		if err == nil {
			return
		}
		v.of.inbox.post(func() {
			if errors.Is(err, session.ErrClosed) {
				err = errors.New("the agent's session was closed")
			}
			v.failed(fmt.Errorf("not sent: %w", err))
			if v.editor.Return(text) != nil || v.gone {
				v.of.sayError(fmt.Errorf("not sent to agent %s: %q: %w", v.id, text, err))
			}
		})
	}()
}

// read shows all of the agent's conversation, to search in.
func (v *agentView) read() {
	if v.s == nil {
		return
	}
	var r *viewer.Viewer
	r = viewer.New(v.of.env, viewer.Options{
		Log: v.s.Transcript(), Labels: v.talk.labels, Busy: v.working, OnCopy: func(text string) { v.of.desktop.copy(text, "it") },
		OnClose: func() { r.Close(); v.of.panes.remove(r) },
	})
	v.of.panes.push(r)
}

// leave goes back; the agent goes on.
func (v *agentView) leave() {
	v.gone = true
	v.of.panes.remove(v)
	v.of.view = nil
	if text := strings.TrimSpace(v.early + "\n" + v.editor.Text()); text != "" {
		v.of.drafts[v.id] = text
	}
	if v.s != nil {
		v.s.stop()
		s := v.s
		go func() { _ = s.Close() }() // it is only left
	}
}

// typed takes what was typed to an agent while a question appeared in front of it.
func (ag *subagents) typed(ev key.Event) bool {
	if ag.view == nil {
		return false
	}
	ag.view.editor.Handle(ev)
	ag.flash("typed to agent " + agentPath(ag.view.id) + ": " + ag.view.editor.Line())
	return true
}

// takes reports whether an event is of the agent that is shown, and shows it.
func (ag *subagents) takes(e *sessionEvent) bool {
	if ag.view == nil || ag.view.s == nil || e.of != ag.view.s {
		return false
	}
	if e.Type != agent.MessageUpdate || ag.panes.top() == ag.view {
		ag.dirty = true
	}
	ag.view.event(e)
	return true
}
