package question

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// ApprovalOptions say what is asked.
type ApprovalOptions struct {
	Request  burin.Request
	Decision burin.Decision
	// Preview gives more rows about the call, such as a diff, none wider than width.
	// It is asked once for each width. May be nil.
	Preview func(width int) []string
	// Try names calls of the past that a rule would have allowed. It is called in a
	// goroutine when an offer is looked at for the first time, and may take a while.
	// May be nil.
	Try func(rule burin.Rule) []string
	// OnAnswer is told the answer, once; [ErrStopped] for Esc.
	OnAnswer func(burin.Answer, error)
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
	offer  burin.Offer
	scopes []burin.Scope
	scope  int // index in scopes
	tried  bool
	past   []string // earlier calls it would have allowed
}

// Approval asks whether a call may run.
type Approval struct {
	env     *pane.Env
	o       ApprovalOptions
	guard   guard
	options []option
	at      int
	seen    [2]int // choice and scope as they were drawn last
	noting  bool
	note    *editor.Editor
	waiting int
	scroll  int
	done    bool

	body       []string // as drawn for bodyWidth and bodyStyles
	bodyWidth  int
	bodyStyles *theme.Styles
}

var _ pane.Pane = (*Approval)(nil)

// NewApproval makes the pane of one question. What is dangerous begins at No,
// everything else at Yes.
func NewApproval(env *pane.Env, o ApprovalOptions) *Approval {
	a := &Approval{env: env, o: o, seen: [2]int{-1, -1}}
	a.note = editor.New(editor.Options{Keys: env.Keys, Placeholder: "what to do instead"})
	a.options = append(a.options, option{kind: once})
	for _, offer := range o.Decision.Offers {
		var scopes []burin.Scope
		for _, s := range offer.Scopes {
			if _, ok := scopeWords[s]; ok { // for this call only is what Yes is
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
	a.drawMeaning(s)
	if a.noting {
		s.keys(a.key(key.SelectConfirm), "send", a.key(key.SelectCancel), "back")
	} else {
		pairs := []string{"y", "yes", "n", "no", a.key(key.SelectCancel), "stop"}
		if len(a.options) > 3 {
			pairs = append(pairs, "a", "always")
		}
		s.keys(append(pairs, "Tab", "no, with a note")...)
	}
	a.seen = [2]int{a.at, a.options[a.at].scope}
	return s.arrange(height, &a.scroll)
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
	switch ev := ev.(type) {
	case key.Paste:
		if a.noting {
			a.note.Handle(ev)
		}
	case key.Press:
		act := action(a.env, ev.Key)
		switch {
		case act == key.SelectCancel && a.noting:
			a.noting = false
		case act == key.SelectCancel:
			a.finish(burin.Answer{}, ErrStopped)
		case !a.guard.ready(a.env.Now()):
		case a.noting:
			a.write(ev, act)
		default:
			a.press(ev, act)
		}
	}
}

// press is a key while a choice is looked for.
func (a *Approval) press(p key.Press, act key.Action) {
	switch {
	case act == key.SelectUp:
		a.choose(step(a.at, -1, len(a.options)))
	case act == key.SelectDown:
		a.choose(step(a.at, 1, len(a.options)))
	case act == key.SelectPageUp:
		a.scroll -= minBody
	case act == key.SelectPageDown:
		a.scroll += minBody
	case act == key.SelectConfirm:
		a.confirm()
	case p.Key == "left" || p.Key == "right":
		o := &a.options[a.at]
		if by := 1; len(o.scopes) > 1 {
			if p.Key == "left" {
				by = -1
			}
			o.scope = step(o.scope, by, len(o.scopes))
		}
	case p.Key == "tab":
		a.choose(len(a.options) - 1)
		a.noting = true
	default:
		a.letter(p)
	}
}

// letter is a key with a meaning of its own.
func (a *Approval) letter(p key.Press) {
	switch n := digit(p); {
	case n > len(a.options):
	case n > 0:
		a.choose(n - 1)
		a.confirm() // a grant is only shown by the first press
	default:
		switch strings.ToLower(p.Text) {
		case "y":
			a.finish(burin.Answer{Allow: true}, nil)
		case "n":
			a.finish(burin.Answer{}, nil)
		case "a":
			a.nextGrant()
		}
	}
}

// nextGrant moves to the next offer, from the last to the first.
func (a *Approval) nextGrant() {
	for n := range a.options {
		if i := step(a.at, n+1, len(a.options)); a.options[i].kind == grant {
			a.choose(i)
			return
		}
	}
}

// write is a key while the note is written.
func (a *Approval) write(p key.Press, act key.Action) {
	switch {
	case act == key.SelectConfirm:
		a.finish(burin.Answer{Note: strings.TrimSpace(a.note.Text())}, nil)
	case leaves(a.note, act):
		a.noting = false
		a.press(p, act)
	default:
		a.note.Handle(p)
	}
}

func (a *Approval) choose(i int) {
	a.at = i
	o := &a.options[i]
	if o.kind != grant || o.tried || a.o.Try == nil {
		return
	}
	o.tried = true
	rules := slices.Clone(o.offer.Rules)
	go func() {
		var past []string
		for _, r := range rules {
			for _, c := range a.o.Try(r) {
				if !slices.Contains(past, c) && len(past) < maxPast {
					past = append(past, c)
				}
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
		a.finish(burin.Answer{Allow: true}, nil)
	case refuse:
		a.finish(burin.Answer{}, nil)
	case explain:
		a.noting = true
	case grant:
		if a.seen != [2]int{a.at, o.scope} {
			return // nobody has seen yet what it means
		}
		a.finish(burin.Answer{Allow: true, Grant: o.offer.In(o.scopes[o.scope])}, nil)
	}
}

func (a *Approval) finish(answer burin.Answer, err error) {
	a.done = true
	a.o.OnAnswer(answer, err)
}
