package tui

import (
	"fmt"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/crew"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// talk is the part of the conversation that is not in the scrollback yet, made of the
// session's events. It knows no screen.
type talk struct {
	blocks []block
	look   look

	answer *answer           // that is being written
	calls  map[string]*call  // that have no result yet, by id
	labels map[string]string // of tools, by name
	last   kind              // of the block before the first of blocks
	begun  bool              // a line was given out: gaps make sense
	opened bool              // lines of the first block were given out

	entries map[string]bool // that were replayed; see again
	ended   map[string]bool // calls of the last answer that was, by id, with results that were, too

	failure  *failure // of the last answer, which may be tried again
	forgiven bool     // it was taken away for that, and no answer came since

	lines  []string        // memory of settle
	images func(llm.Image) // shows a picture that came; nil shows none
}

// answer is a message of the model that is being written.
type answer struct {
	parts map[int]block // by index of the content
	lost  bool          // pieces are missing: the rest comes with the whole message
}

func newTalk() *talk { return &talk{calls: map[string]*call{}} }

func (t *talk) add(b block) { t.blocks = append(t.blocks, b) }

// say adds what does not change.
func (t *talk) say(k kind, render func(v card.View) []string) {
	t.add(&fixed{k: k, render: render})
}

func (t *talk) notice(l card.Level, text string) {
	t.say(told, func(v card.View) []string { return card.Notice(l, text, v) })
}

// change changes how blocks are shown.
func (t *talk) change(f func(*look)) {
	f(&t.look)
	t.look.version++
}

// sink takes what goes into the scrollback.
type sink interface {
	Commit(lines []string) error
	CommitPicture(sequence string, rows int) error
}

// settle gives away what can go into the scrollback, with the gaps between blocks.
func (t *talk) settle(to sink) error {
	t.lines = t.lines[:0]
	for len(t.blocks) > 0 {
		b := t.blocks[0]
		lines, final := b.rows(t.look)
		if final > 0 {
			if !t.opened && t.begun && gapBetween(t.last, b.kind()) {
				t.lines = append(t.lines, "")
			}
			t.lines = append(t.lines, lines[:final]...)
			t.begun, t.opened, t.last = true, true, b.kind()
			b.drop()
		}
		if !b.done() {
			break
		}
		if p, ok := b.(*shownPicture); ok && p.picture.Sequence != "" {
			if err := to.Commit(t.lines); err != nil {
				return err
			}
			t.lines = t.lines[:0]
			if err := to.CommitPicture(p.picture.Guarded(), p.picture.Rows); err != nil {
				return err
			}
		}
		t.blocks[0] = nil
		t.blocks, t.opened = t.blocks[1:], false
	}
	return to.Commit(t.lines)
}

// rows appends the lines that may still change.
func (t *talk) rows(dst []string) []string {
	last, begun := t.last, t.begun
	for i, b := range t.blocks {
		lines, _ := b.rows(t.look)
		if len(lines) == 0 {
			continue
		}
		if begun && (i > 0 || !t.opened) && gapBetween(last, b.kind()) {
			dst = append(dst, "")
		}
		dst = append(dst, lines...)
		last, begun = b.kind(), true
	}
	return dst
}

// gapBetween reports whether an empty line stands between two kinds of blocks. Calls
// stand close together.
func gapBetween(a, b kind) bool { return a != did || b != did }

// event takes what happened in the session into the conversation.
func (t *talk) event(e *session.Event) {
	switch e.Type {
	case agent.MessageStart:
		t.confirm()
		if e.Message.Role == llm.RoleAssistant {
			t.answer = &answer{parts: map[int]block{}}
		}
	case agent.MessageUpdate:
		t.update(&e.Stream)
	case agent.MessageEnd:
		t.messageEnd(e.Message)
	case agent.ToolStart:
		c := t.callOf(e.Call.ID, e.Call.Name)
		c.update(func(k *card.Call) { k.Args, k.Label = e.Call.Arguments, e.Label })
	case agent.ToolUpdate:
		c := t.callOf(e.Call.ID, e.Call.Name)
		c.update(func(k *card.Call) { k.Content, k.Details = e.Result.Content, e.Result.Details })
	case agent.ToolEnd:
		c := t.callOf(e.Call.ID, e.Call.Name)
		c.update(func(k *card.Call) { k.Args, k.Label = e.Call.Arguments, e.Label })
		c.result(e.Result.IsError, e.Result.Content, e.Result.Details)
		delete(t.calls, e.Call.ID)
		t.show(e.Result.Content)
	case agent.AgentEnd:
		t.cut()
	}
}

// again reports whether an event is about what was replayed: events are read from before that.
func (t *talk) again(e *session.Event) bool {
	switch e.Type {
	case agent.MessageEnd:
		if t.entries[e.EntryID] {
			t.closeAnswer() // its start may have come
			return true
		}
		if e.Message.Role == llm.RoleAssistant {
			clear(t.ended) // its calls may have the same ids
		}
	case agent.ToolStart, agent.ToolUpdate, agent.ToolEnd:
		return t.ended[e.Call.ID]
	}
	return false
}

func (t *talk) show(content []llm.Block) {
	if t.images == nil {
		return
	}
	for _, b := range content {
		if img, ok := b.(llm.Image); ok {
			t.images(img)
		}
	}
}

// lose notes that events were lost.
func (t *talk) lose() {
	if t.answer != nil {
		t.answer.lost = true
	}
}

// update takes a piece of an answer.
func (t *talk) update(e *llm.Event) {
	a := t.answer
	if a == nil || a.lost {
		return
	}
	switch e.Type {
	case llm.EventTextStart, llm.EventTextDelta:
		text(t, e.Index).write(e.Index, e.Delta)
	case llm.EventTextEnd:
		text(t, e.Index).end(e.Index)
	case llm.EventOpaque:
		a.endText()
	case llm.EventThinkingStart, llm.EventThinkingDelta:
		thinking(t, e.Index).text.WriteString(e.Delta)
	case llm.EventThinkingEnd:
		thinking(t, e.Index).closed = true
	case llm.EventToolCallStart:
		if c, ok := e.Block.(llm.ToolCall); ok {
			a.endText()
			a.parts[e.Index] = t.callOf(c.ID, c.Name)
		}
	case llm.EventToolCallDelta:
		if c, ok := a.parts[e.Index].(*call); ok {
			c.write(e.Delta)
		}
	}
}

// text is the block of a text. Texts that follow each other share one: vendors split a
// paragraph where they cite.
func text(t *talk, index int) *answerText {
	b, ok := t.answer.parts[index].(*answerText)
	if ok {
		return b
	}
	if b, ok = t.answer.parts[index-1].(*answerText); !ok || !b.mayGoOn() {
		t.answer.endText()
		b = newAnswerText(t.look)
		t.add(b)
	}
	t.answer.parts[index] = b
	return b
}

// endText ends the texts so far: something else follows.
func (a *answer) endText() {
	for _, b := range a.parts {
		if b, ok := b.(*answerText); ok && !b.closed {
			b.close()
		}
	}
}

func thinking(t *talk, index int) *thought {
	b, ok := t.answer.parts[index].(*thought)
	if !ok {
		t.answer.endText()
		b = &thought{}
		t.answer.parts[index] = b
		t.add(b)
	}
	return b
}

// callOf is the block of a call that has no result yet.
func (t *talk) callOf(id, name string) *call {
	c := t.calls[id]
	if c == nil {
		c = &call{id: id, card: card.Call{Name: name, Label: t.labels[name]}}
		t.calls[id] = c
		t.add(c)
	}
	return c
}

// shorten makes one line of the calls that a question shows whole, and shows the others as
// ever. A nil function shortens none.
func (t *talk) shorten(which func(c *call) bool) {
	for _, c := range t.calls {
		c.brief = which != nil && which(c)
	}
}

// messageEnd takes a message that is whole.
func (t *talk) messageEnd(m *llm.Message) {
	switch m.Role {
	case llm.RoleUser:
		content := m.Content
		t.say(said, func(v card.View) []string { return card.User(content, v) })
		t.show(m.Content)
	case llm.RoleAssistant:
		t.answerEnd(m)
	case llm.RoleToolResult:
		if c := t.calls[m.ToolCallID]; c != nil { // its end was lost, or it never ran
			c.result(m.IsError, m.Content, m.Details)
			delete(t.calls, m.ToolCallID)
		}
	case llm.RoleCustom:
		switch {
		case isAgentResult(m):
			c := card.AgentResults(m.Details)
			t.say(did, func(v card.View) []string { return card.Tool(c, v) })
		case m.CustomType == host.CustomReview:
			text := m.Text()
			t.say(said, func(v card.View) []string {
				return markdown.Render(text, v.Width, markdown.Options{Styles: v.Styles, Links: v.Links})
			})
		case m.Display:
			words := m.Text()
			t.notice(card.Info, words)
		}
	}
}

// isAgentResult reports whether a message has the results of agents in the background.
func isAgentResult(m *llm.Message) bool {
	return m.Role == llm.RoleCustom && m.CustomType == crew.CustomResult && len(m.Details) > 0
}

// showAgents takes what the agents of a call do now.
func (t *talk) showAgents(callID string, agents []session.Agent) {
	if c := t.calls[callID]; c != nil {
		c.update(func(k *card.Call) { k.Agents = agents })
	}
}

// tick takes the time for calls that show how long something runs; zero: nothing moves, and a
// time that is shown would be wrong soon.
func (t *talk) tick(now time.Time) {
	now = now.Truncate(time.Second)
	for _, c := range t.calls {
		if len(c.card.Agents) > 0 && !c.card.Now.Equal(now) {
			c.update(func(k *card.Call) { k.Now = now })
		}
	}
}

// answerEnd completes what was shown of an answer by what is in the whole one.
func (t *talk) answerEnd(m *llm.Message) {
	t.forgiven = false
	if t.answer == nil {
		t.answer = &answer{parts: map[int]block{}}
	}
	for i, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			s := text(t, i)
			if !s.closed && !s.ended[i] {
				s.write(i, b.Text[min(s.got[i], len(b.Text)):])
				s.end(i)
			}
		case llm.Thinking:
			s := thinking(t, i)
			if !s.closed {
				s.text.Reset()
				s.text.WriteString(b.Text)
				s.closed = true
			}
		case llm.ToolCall:
			t.callOf(b.ID, b.Name).update(func(c *card.Call) { c.Args = []byte(b.Arguments) })
		}
	}
	t.closeAnswer()
	if len(m.Sources()) > 0 {
		t.say(did, func(v card.View) []string { return card.Sources(m, v) })
	}
	switch {
	case m.StopReason == llm.StopAborted:
		t.stopped("Stopped.")
	case m.Error != nil:
		b := newFailure(m)
		t.add(b)
		t.confirm()
		t.failure = b
		t.stopped("not run: the answer failed")
	case m.StopReason == llm.StopLength:
		t.notice(card.Warning, "The answer was cut at the model's output limit: ask it to continue.")
	}
}

// stopped ends calls of an answer that failed: none of them ran.
func (t *talk) stopped(why string) {
	if len(t.calls) == 0 && why == "Stopped." {
		t.notice(card.Warning, why)
	}
	for id, c := range t.calls {
		c.result(true, []llm.Block{llm.Text{Text: why}}, nil)
		delete(t.calls, id)
	}
}

// confirm says that nothing more is known of a failure: it was the end, or the same is
// being tried again.
func (t *talk) confirm() {
	if t.failure != nil {
		t.failure.held = false
		t.failure = nil
	}
}

// forgive takes a failure away after which the same is tried again: who tries says why.
// Where a piece of the answer stands already, a word stays between it and the next attempt.
func (t *talk) forgive() {
	f := t.failure
	switch {
	case f == nil:
		return
	case f.partial:
		f.again = true // held until it is tried again indeed
	default:
		f.gone = true
		t.confirm()
	}
	t.forgiven = true
}

// gaveUp says that nothing is tried again where that was stopped between two attempts:
// else nothing would stand where the answer was to.
func (t *talk) gaveUp() {
	if t.forgiven {
		if t.failure != nil {
			t.failure.stopped = true
			t.confirm()
		}
		t.notice(card.Warning, "Stopped.")
	}
	t.forgiven = false
}

// closeAnswer ends the answer that is being written, also one that was cut.
func (t *talk) closeAnswer() {
	if t.answer == nil {
		return
	}
	for _, b := range t.answer.parts {
		switch b := b.(type) {
		case *answerText:
			if !b.closed {
				b.close()
			}
		case *thought:
			b.closed = true
		}
	}
	t.answer = nil
}

// abandon ends what is open for good.
func (t *talk) abandon() {
	t.cut()
	t.confirm()
}

// cut ends what is open when a run has ended, for whatever reason.
func (t *talk) cut() {
	t.closeAnswer()
	for id, c := range t.calls {
		c.result(true, []llm.Block{llm.Text{Text: "did not end"}}, nil)
		delete(t.calls, id)
	}
}

// elapsed is a span of time for people: 4 s, 1 min 20 s, 2 h 5 min.
func elapsed(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
}
