package tui

import (
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/notify"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// input does what keys mean.
type input struct {
	*base
	exit     *exit
	show     *appearance
	display  *display
	panes    *panes
	composer *composer
	desktop  *desktop
	outbox   *outbox
	asks     *questions
	reader   *reader
	brake    *brake
	work     *work
	commands *commands
	models   *models
	plan     *planMode
	greeter  *greeter
	pointer  *pointer
	prompt   *prompt
	follower *follower

	lastEsc  time.Time
	lastStop time.Time
	offered  bool // the last key was answered with what it does a second time
}

// twice is the time in which a key counts as pressed twice.
const twice = 500 * time.Millisecond

// onKey does what an event of the terminal means.
func (ip *input) onKey(ev key.Event) {
	switch ev := ev.(type) {
	case key.Press:
		if ip.pointer.mistaken(ev.Key) {
			return
		}
		ip.redraw()
		ip.hint.clear()
		ip.pointer.leave()
		ip.onPress(ev)
	case key.Paste:
		ip.redraw()
		ip.onPaste(ev)
	case key.Click:
		ip.pointer.click(ev)
	case key.Hover:
		ip.pointer.hover(ev)
	case key.Resize:
		ip.display.resize()
	case key.Focus:
		ip.display.focus = notify.Unfocused
		if ev.In {
			ip.display.focus = notify.Focused
			ip.follower.focused()
		}
	case key.Reply:
		ip.onReply(ev)
	}
}

func (ip *input) onPress(p key.Press) {
	action, _ := ip.env.Keys.Lookup(key.App, p.Key)
	if action != key.Clear { // twice is in a row
		ip.lastStop, ip.offered = time.Time{}, false
	}
	if action == key.Suspend {
		ip.display.suspend()
		return
	}
	if top := ip.panes.top(); top != nil {
		if action == key.OpenTranscript && ip.asks.asking() && ip.panes.due().IsZero() {
			ip.reader.behind()
			return
		}
		top.Handle(p)
		return
	}
	if ip.prompt.wheel(p.Key) {
		return
	}
	if ip.onSubmitKey(p) || ip.composer.editor.Handle(p) {
		ip.composer.unsent.changed()
		ip.onNewLine(p)
		return
	}
	ip.do(action)
}

// onNewLine names the keys that send a follow-up to who may have expected the pi family's.
func (ip *input) onNewLine(p key.Press) {
	if action, _ := ip.env.Keys.Lookup(key.Editor, p.Key); action != key.NewLine || p.Key != "alt+enter" || !ip.work.on {
		return
	}
	var keys []string
	for _, k := range ip.env.Keys.Keys(key.FollowUp) {
		keys = append(keys, k.Text())
	}
	if len(keys) > 0 {
		ip.flash("a new line; " + strings.Join(keys, " or ") + " sends when the work is done")
	}
}

// onSubmitKey sends the prompt, if the key does.
func (ip *input) onSubmitKey(p key.Press) bool {
	if action, _ := ip.env.Keys.Lookup(key.Editor, p.Key); action != key.Submit {
		return false
	}
	if popup, open := ip.composer.editor.Popup(); open && !ip.written(popup) && ip.commands.means(popup) && ip.composer.editor.Accept() {
		// A command that needs no more is sent at once, as everybody expects.
		if !ip.commands.complete() {
			return true
		}
	}
	ip.submit(steerNow)
	return true
}

// written reports whether what is proposed stands in the prompt already: a name that was
// written out is sent as it is, not completed to a longer one. A command alone is, if it
// needs nothing more.
func (ip *input) written(popup editor.Popup) bool {
	if text := strings.TrimSpace(ip.composer.editor.Text()); strings.HasPrefix(text, "/") && !strings.ContainsAny(text, " \n") {
		return popup.Selected == 0 && ip.commands.complete()
	}
	return ip.composer.editor.Written()
}

func (ip *input) onPaste(p key.Paste) {
	if top := ip.panes.top(); top != nil {
		top.Handle(p)
		return
	}
	ip.composer.unsent.changed()
	if ip.composer.pasteFiles(p.Text) {
		return
	}
	ip.composer.editor.Handle(p)
}

// do does an action of the program.
func (ip *input) do(action key.Action) {
	switch action {
	case key.Interrupt:
		ip.onEscape()
	case key.Clear:
		ip.onClear()
	case key.Exit:
		if ip.composer.editor.Empty() {
			ip.exit.quit = true
		}
	case key.FollowUp:
		ip.submit(afterWork)
	case key.Dequeue:
		ip.outbox.unqueue(false)
	case key.ExpandTools:
		ip.talk.change(func(l *look) { l.Expanded = !l.Expanded })
		ip.flash("new outputs and thinking are shown " + either(ip.talk.look.Expanded, "whole", "in a few lines"))
	case key.ToggleThinking:
		ip.talk.change(func(l *look) { l.HideThinking = !l.HideThinking })
		ip.flash("new thinking is " + either(ip.talk.look.HideThinking, "hidden", "shown"))
	case key.CycleThinking:
		ip.models.cycleThinking()
	case key.CycleModel:
		ip.models.cycleModel(1)
	case key.CycleModelBack:
		ip.models.cycleModel(-1)
	case key.TogglePlan:
		ip.plan.toggle()
	case key.CycleMode:
		ip.plan.cycle()
	case key.ExternalEditor:
		ip.composer.editOutside()
	case key.CopyLine:
		ip.desktop.copy(ip.composer.editor.Line(), "the line")
	case key.CopyPrompt:
		ip.desktop.copy(ip.composer.editor.Text(), "the prompt")
	case key.PasteImage:
		ip.composer.pasteImage()
	default:
		if name, ok := commandOf(action); ok {
			ip.commands.act(name)
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
func (ip *input) onEscape() {
	now := ip.env.Now()
	if ip.brake.stop() {
		ip.lastEsc = time.Time{}
		return
	}
	if now.Sub(ip.lastEsc) < twice && ip.composer.editor.Empty() {
		ip.lastEsc = time.Time{}
		if ip.show.doubleEscape != "none" {
			ip.commands.act(ip.show.doubleEscape)
		}
		return
	}
	ip.lastEsc = now
}

// onClear empties the prompt, takes its pictures away, or stops what runs; twice, it ends
// the program. While what is open is being closed for that, twice once more does not wait.
// As long as a hint says that it ends the program, it does.
func (ip *input) onClear() {
	now := ip.env.Now()
	since := now.Sub(ip.lastStop)
	again := since < twice || ip.offered && since < hintTime
	ip.lastStop, ip.offered = now, false
	switch {
	case ip.exit.ending && again:
		ip.exit.quit, ip.exit.atOnce = true, true
	case ip.exit.ending:
		ip.flash(ip.keyFor(key.Clear) + " again quits without waiting")
		ip.offered = true
	case again:
		ip.exit.quit = true
	case !ip.composer.editor.Empty():
		_ = ip.composer.editor.SetText("") // nothing is never too long
	case len(ip.composer.attached) > 0:
		ip.composer.attached = nil
		ip.flash("attached pictures removed")
	case ip.brake.stop():
	default:
		ip.flash(ip.keyFor(key.Clear) + " again quits")
		ip.offered = true
	}
}

const (
	// hintTime is how long a hint stays at least.
	hintTime = 3 * time.Second
	// letterTime is how long a letter of a long hint takes to read.
	letterTime = 60 * time.Millisecond
)

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
func (ip *input) onReply(r key.Reply) {
	switch r.Kind {
	case key.ReplyCursor:
		ip.pointer.cursor(r)
	case key.ReplyColor:
		if len(r.Values) == 4 && r.Values[0] == 11 {
			ip.show.background(theme.RGB(uint32(r.Values[1]<<16 | r.Values[2]<<8 | r.Values[3])))
		}
	case key.ReplyScheme:
		if len(r.Values) == 1 {
			ip.show.lightOrDark(r.Values[0] == 2)
		}
	case key.ReplyCell:
		ip.show.cell(r.Values)
	}
	if ip.display.term.Reply(r) {
		ip.show.attributes = r.Values
		ip.greeter.known()
	}
}

// submit takes what the person has written.
func (ip *input) submit(at when) {
	text, ok := ip.composer.editor.Submit()
	if !ok {
		return
	}
	ip.redraw()
	ip.composer.addHistory(text)
	ip.outbox.send(text, at)
}
