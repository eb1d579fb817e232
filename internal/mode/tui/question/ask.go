package question

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// QuestionsOptions say what the model wants to know.
type QuestionsOptions struct {
	Questions []session.Choice
	// Title is the heading; "" is that of a question of the model's.
	Title string
	From  string // the sub-agent that asks; "": the session itself
	// Body draws what the only question is about, in place of its text; nil: its text says it.
	Body func(width int) []string
	// Own is the label of one's own words; "" is one for an answer.
	Own string
	// OnEdit lets the person change what Body draws in their own editor; nil: nothing can be
	// changed.
	OnEdit func()
	Until  time.Time // when the recommended options are taken; zero: never
	// OnTyped gets what is typed before keys count: it is meant for the prompt. May be
	// nil.
	OnTyped func(key.Event)
	// OnDone is told the replies, one to each question, or [ErrDismissed]; once.
	OnDone func([]session.Chosen, error)
}

// Questions puts the model's questions. Of several, each has a page, and a last page
// shows all answers before they are sent; a question may stay without one.
type Questions struct {
	env    *pane.Env
	o      QuestionsOptions
	guard  guard
	sheets []page
	at     int // page; len(sheets) is the review
	review int // what is selected there: a question, or len(sheets) for sending
	scroll place
	done   bool
	sent   bool
	// clicked is what the last click selected, if nothing came since; -1: nothing. Only a
	// second click on it answers, whatever was selected to begin with.
	clicked int
}

// page is one question and what was answered so far.
type page struct {
	q      session.Choice
	at     int   // option; len(q.Options) is one's own words
	chosen []int // in the order in which they were chosen
	words  *editor.Editor
}

var _ pane.Timed = (*Questions)(nil)

// NewQuestions makes the pane. Each question begins at the option the model would
// choose.
func NewQuestions(env *pane.Env, o QuestionsOptions) *Questions {
	p := &Questions{env: env, o: o, clicked: -1}
	for _, q := range o.Questions {
		one := page{q: q, words: editor.New(editor.Options{Keys: env.Keys, Placeholder: cmp.Or(strings.ToLower(o.Own), "write your own answer")})}
		if q.Recommended > 0 && q.Recommended < len(q.Options) {
			one.at = q.Recommended
		}
		p.sheets = append(p.sheets, one)
	}
	p.review = len(p.sheets)
	return p
}

// Draw is [pane.Pane]'s.
func (p *Questions) Draw(width, height int) ([]string, screen.Cursor) {
	p.guard.drawn(p.env.Now())
	s := newSheet(p.env, width)
	if p.at == len(p.sheets) {
		p.drawReview(s)
	} else {
		p.drawPage(s, &p.sheets[p.at])
	}
	return s.arrange(height, &p.scroll)
}

// maxQuestion is how many bytes of a question or an option are shown.
const maxQuestion = 16 << 10

func (p *Questions) drawPage(s *sheet, at *page) {
	more := ""
	if len(p.sheets) > 1 {
		more = fmt.Sprintf("%d of %d", p.at+1, len(p.sheets))
	}
	s.heading(cmp.Or(p.o.Title, "A question for you"), asker(s, p.o.From, more), theme.Accent)
	var text []styled.Line
	for line := range strings.SplitSeq(strings.TrimSpace(prose.Clean(prose.Clip(at.q.Text, maxQuestion), 4)), "\n") {
		text = s.text(text, styled.Line{{Text: line, Look: theme.Look{Fg: theme.Text, Mod: theme.Bold}}})
	}
	s.body = s.render(nil, text)
	if p.o.Body != nil {
		s.body = p.o.Body(s.width)
	}
	for i, o := range at.q.Options {
		note := ""
		if i == at.q.Recommended {
			note = "(recommended)"
		}
		s.choice(min(i+1, 10)%10, at.mark(s.sign, i), prose.Inline(prose.Clip(o, 1000)), note, i == at.at)
	}
	if n := len(at.q.Options); at.at == n {
		s.writing(min(n+1, 10)%10, cmp.Or(p.o.Own, "Your answer")+":", at.words)
	} else {
		label := cmp.Or(p.o.Own, "Your own answer")
		if !at.words.Empty() {
			label += ": " + prose.Inline(prose.Clip(at.words.Text(), 200))
		}
		s.choice(min(n+1, 10)%10, "", label, "", false)
	}
	if !p.o.Until.IsZero() {
		what := "the first option"
		if at.q.Recommended >= 0 {
			what = "the recommended option"
		}
		s.below = s.text(s.below, styled.Of("Without an answer by "+p.o.Until.Format("15:04:05")+", "+what+" is taken.", theme.Muted))
	}
	pairs := []string{keyText(p.env, key.SelectConfirm), "answer", keyText(p.env, key.SelectCancel), "don't answer"}
	if at.q.Multi {
		pairs = append([]string{"Space", "choose"}, pairs...)
	}
	if len(p.sheets) > 1 {
		pairs = append(pairs, "Left, Right", "other questions")
	}
	pairs = append(pairs, "Tab", strings.ToLower(cmp.Or(p.o.Own, "your own answer")))
	if p.o.OnEdit != nil {
		pairs = append(pairs, p.editKey(), "edit")
	}
	s.keys(pairs...)
}

// editKey is the key that opens the person's own editor.
func (p *Questions) editKey() string {
	if keys := p.env.Keys.Keys(key.ExternalEditor); len(keys) > 0 {
		return keys[0].Text()
	}
	return ""
}

// mark says whether an option is chosen.
func (g *page) mark(sign theme.Symbols, i int) string {
	on := slices.Contains(g.chosen, i)
	switch {
	case g.q.Multi && on:
		return sign.TaskDone
	case g.q.Multi:
		return sign.TaskOpen
	case on:
		return sign.Done
	}
	return sign.Running
}

func (p *Questions) drawReview(s *sheet) {
	s.heading("Your answers", "", theme.Accent)
	for i := range p.sheets {
		g := &p.sheets[i]
		r := g.reply()
		answer := strings.Join(r.Selected, ", ")
		if answer != "" && r.Custom != "" {
			answer += ", and: "
		}
		answer += r.Custom
		if answer == "" {
			answer = "(no answer)"
		}
		note := s.sign.Arrow + " " + prose.Inline(prose.Clip(answer, 4000))
		s.choice(min(i+1, 10)%10, "", prose.Inline(prose.Clip(g.q.Text, 200)), note, p.review == i)
	}
	s.choice(0, "", "Send", "", p.review == len(p.sheets))
	s.keys(keyText(p.env, key.SelectConfirm), "send, or change", keyText(p.env, key.SelectCancel), "don't answer", "Left", "back")
}

// reply is what was answered.
func (g *page) reply() session.Chosen {
	r := session.Chosen{Custom: strings.TrimSpace(g.words.Text())}
	for _, i := range g.chosen {
		r.Selected = append(r.Selected, g.q.Options[i])
	}
	return r
}

// Handle is [pane.Pane]'s.
func (p *Questions) Handle(ev key.Event) {
	if click, ok := ev.(key.Click); ok {
		p.click(p.scroll.choice(click.Y))
		return
	}
	press, ok := ev.(key.Press)
	if p.done || !ok && !typing(ev) {
		return
	}
	now := p.env.Now()
	p.clicked = -1
	if !p.guard.ready(now) {
		astray(ev, p.o.OnTyped)
		return
	}
	if !ok {
		p.paste(ev)
		return
	}
	act := action(p.env, press.Key)
	if app, _ := p.env.Keys.Lookup(key.App, press.Key); app == key.ExternalEditor && p.o.OnEdit != nil {
		p.o.OnEdit()
		return
	}
	switch {
	case act == key.SelectCancel:
		p.finish(nil, ErrDismissed)
	case p.at == len(p.sheets):
		p.onReview(press, act)
	case p.sheets[p.at].writing() && p.write(press, act):
		p.guard.last = now
	default:
		p.onPage(press, act)
	}
}

// click selects a choice, and chooses or takes back one of several. The second click on the
// same one answers as Enter does.
func (p *Questions) click(to int) {
	now := p.env.Now()
	if p.done || !p.guard.ready(now) || to < 0 {
		return
	}
	again := p.clicked == to
	p.guard.held, p.clicked = "", to
	if p.at == len(p.sheets) {
		if p.review = to; again && p.guard.calm(now) {
			p.confirmReview()
		}
		return
	}
	g := &p.sheets[p.at]
	own := len(g.q.Options)
	switch g.at = to; {
	case g.q.Multi && to < own:
		g.toggle(to)
	case again && p.guard.calm(now):
		p.answer(g)
	}
}

// paste writes what is pasted as one's own words.
func (p *Questions) paste(ev key.Event) {
	if p.at == len(p.sheets) {
		return
	}
	p.say(&p.sheets[p.at], p.guard.letter("", false, p.env.Now()))
	p.sheets[p.at].words.Handle(ev)
}

// Due is [pane.Timed]'s.
func (p *Questions) Due() time.Time { return p.guard.due() }

// Tick is [pane.Timed]'s: a digit that stood alone answers. Of several choices it has
// chosen one already.
func (p *Questions) Tick() {
	if p.done || p.guard.alone(p.env.Now()) == "" || p.at == len(p.sheets) {
		return
	}
	if g := &p.sheets[p.at]; !g.q.Multi {
		p.answer(g)
	}
}

// Unsent are words that were written and not sent, for the prompt.
func (p *Questions) Unsent() string {
	if p.sent {
		return ""
	}
	var all []string
	for i := range p.sheets {
		if words := strings.TrimSpace(p.sheets[i].words.Text()); words != "" {
			all = append(all, words)
		}
	}
	return strings.Join(all, "\n")
}

// writing reports whether keys are words.
func (g *page) writing() bool { return g.at == len(g.q.Options) }

// write gives a key to the line that is written; false if it means something else. In
// an empty line left and right go to other questions.
func (p *Questions) write(ev key.Press, act key.Action) bool {
	g := &p.sheets[p.at]
	if act == key.SelectConfirm || ev.Key == "tab" || leaves(g.words, act) || g.words.Empty() && (ev.Key == "left" || ev.Key == "right") {
		return false
	}
	if !g.words.Handle(ev) {
		return false
	}
	if !g.q.Multi && !g.words.Empty() {
		g.chosen = nil // one answer only: words instead of the option
	}
	return true
}

func (p *Questions) onPage(ev key.Press, act key.Action) {
	g := &p.sheets[p.at]
	n := len(g.q.Options) + 1
	switch {
	case act == key.SelectConfirm:
		if g.writing() || p.guard.calm(p.env.Now()) {
			p.answer(g)
		}
		return
	case ev.Text != "" && act == "" && !g.writing() && (ev.Key != "space" || p.guard.held != ""):
		p.letter(g, ev)
		return
	}
	p.guard.held = ""
	switch {
	case p.scroll.wheel(ev.Key):
	case act == key.SelectUp:
		g.at = step(g.at, -1, n)
	case act == key.SelectDown:
		g.at = step(g.at, 1, n)
	case act == key.SelectPageUp:
		p.scroll.turn(-1)
	case act == key.SelectPageDown:
		p.scroll.turn(1)
	case ev.Key == "left":
		p.turn(-1)
	case ev.Key == "right":
		p.turn(1)
	case ev.Key == "tab":
		g.at = n - 1
	case ev.Key == "space" && !g.writing():
		g.toggle(g.at)
	}
}

// letter is a key that types something while an option is looked for.
func (p *Questions) letter(g *page, ev key.Press) {
	d, own := digit(ev), len(g.q.Options)+1
	if p.guard.held == "" && d == own {
		g.at = own - 1 // what follows are the words
		return
	}
	option := d > 0 && d < own
	if g.q.Multi && option { // several digits choose several
		p.guard.held += ev.Text
		p.guard.last = p.env.Now()
		g.at = d - 1
		g.toggle(g.at)
		return
	}
	held := p.guard.held
	words := p.guard.letter(ev.Text, option, p.env.Now())
	if words == "" {
		g.at = d - 1
		return
	}
	if g.q.Multi {
		for _, r := range held { // they were the beginning of words
			g.toggle(int(r - '1'))
		}
	}
	p.say(g, words)
}

// say writes words as one's own.
func (p *Questions) say(g *page, words string) {
	g.at = len(g.q.Options)
	if words == "" {
		return
	}
	add(g.words, words)
	if !g.q.Multi {
		g.chosen = nil // one answer only: words instead of the option
	}
}

// toggle chooses an option, or takes the choice back.
func (g *page) toggle(i int) {
	if on := slices.Index(g.chosen, i); on >= 0 {
		g.chosen = slices.Delete(g.chosen, on, on+1)
		return
	}
	if !g.q.Multi {
		g.chosen = nil
		g.words.SetText("") //nolint:errcheck // an empty text has room
	}
	g.chosen = append(g.chosen, i)
}

// answer is Enter: of one choice what is selected, of several what is chosen, or what
// is selected where nothing is.
func (p *Questions) answer(g *page) {
	if g.writing() {
		if g.words.Empty() && len(g.chosen) == 0 {
			return // nothing was said
		}
	} else if !slices.Contains(g.chosen, g.at) && (!g.q.Multi || len(g.chosen) == 0) {
		g.toggle(g.at)
	}
	if len(p.sheets) == 1 {
		p.send()
		return
	}
	p.turn(1)
}

// turn goes to another page; it stops at both ends.
func (p *Questions) turn(by int) {
	last := len(p.sheets)
	if last == 1 {
		last = 0 // a single question has no review
	}
	p.at = min(max(0, p.at+by), last)
	p.scroll, p.review, p.clicked = place{}, len(p.sheets), -1
}

func (p *Questions) onReview(ev key.Press, act key.Action) {
	switch {
	case act == key.SelectUp:
		p.review = step(p.review, -1, len(p.sheets)+1)
	case act == key.SelectDown:
		p.review = step(p.review, 1, len(p.sheets)+1)
	case act == key.SelectConfirm && !p.guard.calm(p.env.Now()):
	case act == key.SelectConfirm:
		p.confirmReview()
	case ev.Key == "left":
		p.turn(-1)
	default:
		if d := digit(ev); d > 0 && d <= len(p.sheets) {
			p.at, p.scroll = d-1, place{}
		}
	}
}

// confirmReview sends the answers, or goes back to the selected one.
func (p *Questions) confirmReview() {
	if p.review == len(p.sheets) {
		p.send()
		return
	}
	p.at, p.scroll = p.review, place{}
	p.review = len(p.sheets)
}

func (p *Questions) send() {
	replies := make([]session.Chosen, len(p.sheets))
	for i := range p.sheets {
		replies[i] = p.sheets[i].reply()
	}
	p.sent = true
	p.finish(replies, nil)
}

func (p *Questions) finish(replies []session.Chosen, err error) {
	p.done = true
	p.guard.held = ""
	p.o.OnDone(replies, err)
}
