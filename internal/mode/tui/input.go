package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/notify"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// twice is the time in which a key counts as pressed twice.
const twice = 500 * time.Millisecond

// onKey does what an event of the terminal means.
func (a *app) onKey(ev key.Event) {
	switch ev := ev.(type) {
	case key.Press:
		a.dirty, a.urgent = true, true
		a.hint.clear()
		a.onPress(ev)
	case key.Paste:
		a.dirty, a.urgent = true, true
		a.onPaste(ev)
	case key.Resize:
		a.onResize()
	case key.Focus:
		a.focus = notify.Unfocused
		if ev.In {
			a.focus = notify.Focused
		}
	case key.Reply:
		a.onReply(ev)
	}
}

func (a *app) onPress(p key.Press) {
	action, _ := a.env.Keys.Lookup(key.App, p.Key)
	if action == key.Suspend {
		a.suspend()
		return
	}
	if top := a.top(); top != nil {
		if action == key.OpenTranscript && a.asking() && a.due().IsZero() {
			a.readBehind()
			return
		}
		top.Handle(p)
		return
	}
	if a.onSubmitKey(p) || a.editor.Handle(p) {
		a.changed()
		return
	}
	a.do(action)
}

// onSubmitKey sends the prompt, if the key does.
func (a *app) onSubmitKey(p key.Press) bool {
	if action, _ := a.env.Keys.Lookup(key.Editor, p.Key); action != key.Submit {
		return false
	}
	if popup, open := a.editor.Popup(); open && !a.written(popup) && a.editor.Accept() {
		// A command that needs no more is sent at once, as everybody expects.
		if !a.completeCommand() {
			return true
		}
	}
	a.submit(steerNow)
	return true
}

// written reports whether what is proposed stands in the prompt already: a name that was
// written out is sent as it is, not completed to a longer one. A command alone is, if it
// needs nothing more.
func (a *app) written(popup editor.Popup) bool {
	if text := strings.TrimSpace(a.editor.Text()); strings.HasPrefix(text, "/") && !strings.ContainsAny(text, " \n") {
		return popup.Selected == 0 && a.completeCommand()
	}
	return a.editor.Written()
}

func (a *app) onPaste(p key.Paste) {
	if top := a.top(); top != nil {
		top.Handle(p)
		return
	}
	a.changed()
	if a.pasteFiles(p.Text) {
		return
	}
	a.editor.Handle(p)
}

// do does an action of the program.
func (a *app) do(action key.Action) {
	switch action {
	case key.Interrupt:
		a.onEscape()
	case key.Clear:
		a.onClear()
	case key.Exit:
		if a.editor.Empty() {
			a.quit = true
		}
	case key.FollowUp:
		a.submit(afterWork)
	case key.Dequeue:
		a.unqueue()
	case key.ExpandTools:
		a.change(func(l *look) { l.Expanded = !l.Expanded })
		a.flash("outputs and thinking to come are shown " + either(a.talk.look.Expanded, "whole", "in a few lines"))
	case key.ToggleThinking:
		a.change(func(l *look) { l.HideThinking = !l.HideThinking })
		a.flash("thinking to come is " + either(a.talk.look.HideThinking, "hidden", "shown"))
	case key.CycleThinking:
		a.cycleThinking()
	case key.CycleModel:
		a.cycleModel(1)
	case key.CycleModelBack:
		a.cycleModel(-1)
	case key.TogglePlan:
		a.togglePlan()
	case key.ExternalEditor:
		a.editOutside()
	case key.CopyLine:
		a.copy(a.editor.Line(), "the line")
	case key.CopyPrompt:
		a.copy(a.editor.Text(), "the prompt")
	case key.PasteImage:
		a.pasteImage()
	default:
		if name, ok := commandOf(action); ok {
			a.act(name)
		}
	}
}

func either(yes bool, this, that string) string {
	if yes {
		return this
	}
	return that
}

// onEscape stops what runs; twice, while nothing does, it opens the tree.
func (a *app) onEscape() {
	now := a.env.Now()
	if a.stop() {
		a.lastEsc = time.Time{}
		return
	}
	if now.Sub(a.lastEsc) < twice && a.editor.Empty() {
		a.lastEsc = time.Time{}
		if a.show.doubleEscape != "none" {
			a.act(a.show.doubleEscape)
		}
		return
	}
	a.lastEsc = now
}

// onClear empties the prompt, takes its pictures away, or stops what runs; twice, it ends
// the program. While what is open is being closed for that, twice once more does not wait.
func (a *app) onClear() {
	now := a.env.Now()
	again := now.Sub(a.lastStop) < twice
	a.lastStop = now
	switch {
	case a.ending && again:
		a.quit, a.atOnce = true, true
	case a.ending:
		a.flash(a.keyFor(key.Clear) + " again leaves without waiting")
	case again:
		a.quit = true
	case !a.editor.Empty():
		_ = a.editor.SetText("") // nothing is never too long
	case len(a.attached) > 0:
		a.attached = nil
		a.flash("no picture goes with the next prompt")
	case a.stop():
	default:
		a.flash(a.keyFor(key.Clear) + " again quits")
	}
}

// change changes how blocks are shown.
func (a *app) change(f func(*look)) {
	f(&a.talk.look)
	a.talk.look.version++
}

// flash shows a hint for a moment, in place of nothing.
func (a *app) flash(text string) {
	a.hint = hint{text: text, until: a.env.Now().Add(hintTime)}
	a.dirty, a.urgent = true, true
}

// say shows a notice for the person alone, in the conversation.
func (a *app) say(l card.Level, text string) { a.notice(l, text) }

// hintTime is how long a hint stays.
const hintTime = 3 * time.Second

// hint is a word for a moment.
type hint struct {
	text  string
	until time.Time
}

func (h *hint) clear() { *h = hint{} }

// left is how long the hint stays; 0: there is none.
func (h *hint) left(now time.Time) time.Duration {
	if h.text == "" {
		return 0
	}
	return max(h.until.Sub(now), time.Millisecond)
}

func (h *hint) expire(now time.Time) {
	if h.text != "" && !now.Before(h.until) {
		h.clear()
	}
}

// onReply takes what the terminal says of itself.
func (a *app) onReply(r key.Reply) {
	switch r.Kind {
	case key.ReplyColor:
		if len(r.Values) == 4 && r.Values[0] == 11 {
			a.background(theme.RGB(uint32(r.Values[1]<<16 | r.Values[2]<<8 | r.Values[3])))
		}
	case key.ReplyScheme:
		if len(r.Values) == 1 {
			a.lightOrDark(r.Values[0] == 2)
		}
	case key.ReplyCell:
		a.show.cell(r.Values)
	}
	if a.term.Reply(r) {
		a.show.attributes = r.Values
		a.terminalKnown()
	}
}

func (a *app) onResize() {
	w, h := a.term.Size()
	a.screen.Resize(w, h)
	a.resized = a.env.Now()
	a.dirty, a.urgent = true, true
}

// cycleThinking goes to the next level that the model knows.
func (a *app) cycleThinking() {
	levels := a.thinkingLevels()
	if a.session == nil || len(levels) < 2 {
		a.flash("this model has one way to think")
		return
	}
	i := slices.Index(levels, a.facts.status.Thinking)
	a.session.SetThinking(levels[(i+1)%len(levels)])
}

// cycleModel goes to the model of the next role.
func (a *app) cycleModel(step int) {
	refs := a.cycle()
	if a.session == nil || len(refs) < 2 {
		a.flash("there is one model to go round; " + a.keyFor(key.SelectModel) + " has all")
		return
	}
	i := slices.Index(refs, a.facts.status.Model)
	a.useModel(refs[(i+step+len(refs))%len(refs)])
}

// useModel changes the model of the session.
func (a *app) useModel(selector string) {
	s := a.session
	a.ahead("changing the model", func(ctx context.Context) (func(), error) {
		return nil, s.SetModel(ctx, selector)
	})
}
