package question

import (
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/tool/permit"
)

// ApprovalOptions say what is asked.
type ApprovalOptions struct {
	Request  permit.Request
	Decision permit.Decision
	From     string // the sub-agent that wants to run it; "": the session itself
	// Preview gives more rows about the call, such as a diff, none wider than width.
	// It is asked once for each width. May be nil.
	Preview func(width int) []string
	// Try names calls of the past that rules would have allowed together and that were
	// questions without them. It is called in a goroutine when the fine print of an offer is
	// opened for the first time, and may take a while. May be nil.
	Try func(rules []permit.Rule) []string
	// OnTyped gets what is typed before keys count: it is meant for the prompt. May be
	// nil.
	OnTyped func(key.Event)
	// OnAnswer is told the answer, once; [ErrStopped] for Esc.
	OnAnswer func(permit.Answer, error)
}

// kind is what a choice does.
type kind uint8

const (
	once kind = iota
	grant
	refuse
	explain // refuse, with a note to the model
)

// option is one choice of an approval.
type option struct {
	kind   kind
	offer  permit.Offer
	scopes []permit.Scope
	scope  int // index in scopes
	tried  bool
	past   []string // earlier calls it would have allowed
}

// seen is a choice as it was on the screen.
type seen struct {
	option, scope int
	fine          bool
}

// Approval asks whether a call may run.
type Approval struct {
	env     *pane.Env
	o       ApprovalOptions
	guard   guard
	options []option
	at      int
	fine    bool // the fine print is open
	seen    seen // as it was drawn last
	sure    bool // the digit that is held names a choice that was seen
	noting  bool
	note    *editor.Editor
	sent    bool // the note is the answer
	waiting int
	scroll  place
	done    bool

	body       []string // as drawn for bodyWidth and bodyStyles
	bodyWidth  int
	bodyStyles *theme.Styles
}

var _ pane.Timed = (*Approval)(nil)

// NewApproval makes the pane of one question. What is dangerous begins at No,
// everything else at Yes.
func NewApproval(env *pane.Env, o ApprovalOptions) *Approval {
	a := &Approval{env: env, o: o, seen: seen{option: -1}}
	a.note = editor.New(editor.Options{Keys: env.Keys, Placeholder: "what to do instead"})
	a.options = append(a.options, option{kind: once})
	for _, offer := range o.Decision.Offers {
		var scopes []permit.Scope
		for _, s := range offer.Scopes {
			switch s {
			case permit.Session, permit.Project, permit.User: // for this call only is what Yes is
				scopes = append(scopes, s)
			}
		}
		if len(scopes) > 0 {
			a.options = append(a.options, option{kind: grant, offer: offer, scopes: scopes})
		}
	}
	a.options = append(a.options, option{kind: refuse}, option{kind: explain})
	if o.Decision.Dangerous != "" {
		a.at = len(a.options) - 2
	}
	return a
}

// SetWaiting says how many questions wait behind this one.
func (a *Approval) SetWaiting(n int) { a.waiting = n }

// Draw is [pane.Pane]'s.
func (a *Approval) Draw(width, height int) ([]string, screen.Cursor) {
	a.guard.drawn(a.env.Now())
	s := newSheet(a.env, width)
	a.drawTitle(s)
	s.body = a.about(s)
	a.drawChoices(s)
	a.drawFine(s)
	s.keys(a.hints()...)
	a.seen = a.shown()
	return s.arrange(height, &a.scroll)
}

// shown is the choice that is selected, as it is drawn.
func (a *Approval) shown() seen { return seen{a.at, a.options[a.at].scope, a.fine} }

// hints are what keys do.
func (a *Approval) hints() []string {
	if a.noting {
		return []string{a.key(key.SelectConfirm), "send", a.key(key.SelectCancel), "back"}
	}
	pairs := []string{"y", "yes", "n", "no", a.key(key.SelectCancel), "stop"}
	if a.fine {
		pairs = append(pairs, "?", "less")
	} else {
		pairs = append(pairs, "?", "details")
	}
	switch o := &a.options[a.at]; {
	case len(o.scopes) > 1:
		pairs = append(pairs, "Left, Right", "where")
	case len(a.options) > 3:
		pairs = append(pairs, "a", "allow more")
	}
	return append(pairs, "Tab", "no, with a note")
}

func (a *Approval) key(action key.Action) string { return keyText(a.env, action) }

// keyText is the key that does an action, for people.
func keyText(env *pane.Env, action key.Action) string {
	if keys := env.Keys.Keys(action); len(keys) > 0 {
		return keys[0].Text()
	}
	return "no key"
}

// Handle is [pane.Pane]'s.
func (a *Approval) Handle(ev key.Event) {
	if a.done {
		return
	}
	now := a.env.Now()
	switch ev := ev.(type) {
	case key.Paste:
		switch {
		case a.noting:
			a.note.Handle(ev)
		case !a.guard.ready(now):
			astray(ev, a.o.OnTyped)
		default:
			a.explain(a.guard.letter("", false, now))
			a.note.Handle(ev)
		}
	case key.Click:
		if a.guard.ready(now) {
			a.click(a.scroll.choice(ev.Y))
		}
	case key.Press:
		act := action(a.env, ev.Key)
		switch {
		case act == key.SelectCancel && a.noting:
			a.noting = false
		case act == key.SelectCancel:
			a.finish(permit.Answer{}, ErrStopped)
		case !a.guard.ready(now):
			astray(ev, a.o.OnTyped)
		case a.noting:
			a.write(ev, act)
		default:
			a.press(ev, act)
		}
	}
}

// click selects a choice and does no more: a click that was meant for something else must not
// let a call run.
func (a *Approval) click(to int) {
	if to < 0 || a.noting && to == a.at {
		return
	}
	a.guard.held, a.noting = "", false
	a.choose(to)
}

// press is a key while a choice is looked for.
func (a *Approval) press(p key.Press, act key.Action) {
	if act == key.SelectConfirm {
		if a.guard.calm(a.env.Now()) {
			a.confirm()
		}
		return
	}
	if p.Text != "" && act == "" {
		a.letter(p)
		return
	}
	a.guard.held = "" // the person looks on
	switch {
	case a.scroll.wheel(p.Key):
	case act == key.SelectUp:
		a.choose(step(a.at, -1, len(a.options)))
	case act == key.SelectDown:
		a.choose(step(a.at, 1, len(a.options)))
	case act == key.SelectPageUp:
		a.scroll.turn(-1)
	case act == key.SelectPageDown:
		a.scroll.turn(1)
	case p.Key == "left" || p.Key == "right":
		o := &a.options[a.at]
		if by := 1; len(o.scopes) > 1 {
			if p.Key == "left" {
				by = -1
			}
			o.scope = step(o.scope, by, len(o.scopes))
		}
	case p.Key == "tab":
		a.explain("")
	}
}

// letter is a key that types something. What it stands for is marked at once, and done
// when it is known to stand alone. A question mark opens and closes the fine print.
func (a *Approval) letter(p key.Press) {
	now, first := a.env.Now(), a.guard.held == ""
	to, means := a.meant(p)
	switch {
	case first && to >= 0 && a.options[to].kind == explain:
		a.explain("") // what follows is the note
		return
	case first && p.Text == "?":
		a.fine = !a.fine
		a.guard.last = now // Enter behind it may be the end of a message
		a.try()
		return
	case first && p.Key == "space":
		return // no message begins with a space
	}
	if words := a.guard.letter(p.Text, means, now); words != "" {
		a.explain(words)
		return
	}
	if to >= 0 {
		o := &a.options[to]
		a.sure = o.kind != grant || digit(p) > 0 && a.seen == seen{to, o.scope, a.fine}
		a.choose(to)
	}
}

// meant is the choice that a letter stands for, -1 for none, and whether the letter means
// anything.
func (a *Approval) meant(p key.Press) (to int, means bool) {
	if n := digit(p); n > 0 && n <= len(a.options) {
		return n - 1, true
	}
	switch strings.ToLower(p.Text) {
	case "y":
		return 0, true
	case "n":
		return len(a.options) - 2, true
	case "a":
		to = a.nextGrant()
		return to, to >= 0
	}
	return -1, false
}

// Due is [pane.Timed]'s.
func (a *Approval) Due() time.Time { return a.guard.due() }

// Tick is [pane.Timed]'s: a letter that stood alone answers. That of a grant only shows
// what it means, until its digit comes again.
func (a *Approval) Tick() {
	if !a.done && a.guard.alone(a.env.Now()) != "" && a.sure {
		a.confirm()
	}
}

// explain opens the note, and writes words in it.
func (a *Approval) explain(words string) {
	a.choose(len(a.options) - 1)
	a.noting = true
	if words != "" {
		add(a.note, words)
	}
}

// Unsent are the words of a note that were not sent, for the prompt.
func (a *Approval) Unsent() string {
	if a.sent {
		return ""
	}
	return strings.TrimSpace(a.note.Text())
}

// nextGrant is the next offer, after the last the first; -1 where there is none.
func (a *Approval) nextGrant() int {
	for n := range a.options {
		if i := step(a.at, n+1, len(a.options)); a.options[i].kind == grant {
			return i
		}
	}
	return -1
}

// write is a key while the note is written.
func (a *Approval) write(p key.Press, act key.Action) {
	if p.Text != "" {
		a.guard.last = a.env.Now()
	}
	switch {
	case act == key.SelectConfirm:
		a.sent = true
		a.finish(permit.Answer{Note: strings.TrimSpace(a.note.Text())}, nil)
	case leaves(a.note, act):
		a.noting = false
		a.press(p, act)
	default:
		a.note.Handle(p)
	}
}

func (a *Approval) choose(i int) {
	a.at = i
	a.try()
}

// try looks for earlier calls that the selected offer would have allowed, once its fine
// print is open.
func (a *Approval) try() {
	o := &a.options[a.at]
	if !a.fine || o.kind != grant || o.tried || a.o.Try == nil {
		return
	}
	o.tried = true
	rules := slices.Clone(o.offer.Rules)
	go func() {
		var past []string
		for _, c := range a.o.Try(rules) {
			if !slices.Contains(past, c) && len(past) < maxPast {
				past = append(past, c)
			}
		}
		a.env.Post(func() { o.past = past })
	}()
}

// maxPast is how many earlier calls are counted; "50 or more" is said of more.
const maxPast = 50

// confirm answers with what is selected.
func (a *Approval) confirm() {
	switch o := a.options[a.at]; o.kind {
	case once:
		a.finish(permit.Answer{Allow: true}, nil)
	case refuse:
		a.finish(permit.Answer{}, nil)
	case explain:
		a.explain("")
	case grant:
		if a.seen != a.shown() {
			return // nobody has seen it yet
		}
		if len(o.offer.Rules) > 1 && !a.fine { // one line may not name all of them
			a.fine = true
			a.try()
			return
		}
		a.finish(permit.Answer{Allow: true, Grant: o.offer.In(o.scopes[o.scope])}, nil)
	}
}

func (a *Approval) finish(answer permit.Answer, err error) {
	a.done = true
	a.guard.held = ""
	a.o.OnAnswer(answer, err)
}
