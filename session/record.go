package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// record writes a session down: the transcript, the events, and lines for the user.
type record struct {
	log      *transcript.Log
	hub      *hub
	redactor redactor
	tell     func(string) // tells the user
	lost     func()       // nothing more is written, as another process has taken the session over

	writing sync.Mutex // held while the transcript changes

	mu      sync.Mutex
	failing bool // writing the transcript fails, and the user was told

	answer string // entry of the last answer; only the loop's goroutine uses it
}

// append adds to the transcript. A full disk doesn't end the conversation: the entry is
// written with the next one, and the user is told once.
func (r *record) append(e transcript.Entry) (id string) {
	id, _ = r.keep(e)
	return id
}

// keep is append for what has to be kept: the error is that of the store.
func (r *record) keep(e transcript.Entry) (id string, err error) {
	r.writing.Lock()
	id, err = r.log.Append(e)
	r.writing.Unlock()
	r.written(err)
	return id, err
}

// message adds a message of the loop. An answer that continues after a provider's pause goes
// right after its first part, and what came in between, such as a command of the user's, goes
// after both, because providers require that.
func (r *record) message(m *llm.Message, goesOn bool) (id string) {
	e := transcript.Entry{Type: transcript.TypeMessage, Message: m}
	if !goesOn {
		return r.append(e)
	}
	r.writing.Lock()
	since, err := r.log.Beyond(r.log.Leaf(), r.answer)
	if err != nil || !slices.ContainsFunc(since, speaks) || r.log.Move(r.answer) != nil {
		since = nil
	}
	id, err = r.log.Append(e)
	for _, e := range since {
		_, again := r.log.Append(e)
		err = errors.Join(err, again)
	}
	r.writing.Unlock()
	r.written(err)
	return id
}

// note adds a message that the loop doesn't have.
func (r *record) note(m llm.Message) (id string) {
	id = r.append(transcript.Entry{Type: transcript.TypeMessage, Message: &m})
	r.emit(Event{Event: agent.Event{Type: agent.MessageEnd, Message: &m}, EntryID: id})
	return id
}

// speaks reports whether the model reads an entry.
func speaks(e transcript.Entry) bool {
	return e.Type == transcript.TypeMessage || e.Type == transcript.TypeCustomMessage
}

// branchOff makes an answer the end of its own branch: everything after it, and what was set
// since, follows the entry before it.
func (r *record) branchOff(answer string) (id, parent string, ok bool) {
	r.writing.Lock()
	defer r.writing.Unlock()
	failed, err := r.log.Entry(answer)
	if err != nil || failed.ParentID == nil {
		return "", "", false
	}
	since, err := r.log.Beyond(r.log.Leaf(), failed.ID)
	if err != nil || r.log.Move(*failed.ParentID) != nil {
		return "", "", false
	}
	for _, e := range since {
		_, _ = r.log.Append(e) // reported when the next entry is written
	}
	return failed.ID, *failed.ParentID, true
}

// back moves to an entry, if nothing was added since the leaf was at another.
func (r *record) back(to, leaf string) bool {
	r.writing.Lock()
	defer r.writing.Unlock()
	return r.log.Leaf() == leaf && r.log.Move(to) == nil
}

// written handles the result of writing to the transcript.
func (r *record) written(err error) {
	r.mu.Lock()
	told := r.failing
	r.failing = err != nil
	r.mu.Unlock()
	if errors.Is(err, transcript.ErrTakenOver) || errors.Is(err, transcript.ErrUnkept) { // what follows is not part of it, and nobody may take it for that
		r.hub.mute(err)
		r.lost()
	}
	if err != nil && !told {
		r.warn(fmt.Sprintf("the session cannot be saved right now: %v", err))
	}
}

// sync flushes the transcript to disk, at the end of each prompt.
func (r *record) sync() {
	err := r.log.Sync()
	switch {
	case errors.Is(err, transcript.ErrGone):
		r.warn("while the session was open " + err.Error())
	case err != nil:
		r.written(err)
	}
}

// emit emits an event.
func (r *record) emit(e Event) { r.hub.emit(e) }

// warn tells the user something, also as an event.
func (r *record) warn(text string) {
	text = r.redactor.hide(text)
	r.tell(text)
	r.emit(Event{Event: agent.Event{Type: Warning}, Text: text})
}

// triggered records that rules have reached the model because of what it wrote.
func (r *record) triggered(rules []Rule, stopped bool) {
	if len(rules) == 0 {
		return
	}
	e := transcript.Entry{Type: transcript.TypeTTSR}
	for _, rule := range rules {
		e.InjectedRules = append(e.InjectedRules, rule.Name)
	}
	r.append(e)
	r.emit(Event{Event: agent.Event{Type: RulesTriggered}, Data: &Triggered{Rules: rules, Stopped: stopped}})
}

// Who has named a session.
const (
	titleUser = "user"
	titleAuto = "auto"
)

// setTitle names the session.
func (r *record) setTitle(title, by string) {
	title = strings.Join(strings.Fields(r.redactor.hide(title)), " ")
	if title == "" || title == r.log.Title() && (by == titleAuto || r.named()) {
		return
	}
	r.append(transcript.Entry{Type: transcript.TypeInfo, Name: title, TitleSource: by})
	r.emit(Event{Event: agent.Event{Type: TitleChanged}, Text: title})
}

// named reports whether the user has named the session.
func (r *record) named() bool {
	for _, n := range slices.Backward(r.log.Nodes()) {
		if n.Type != transcript.TypeInfo {
			continue
		}
		e, err := r.log.Entry(n.ID)
		return err == nil && e.TitleSource == titleUser
	}
	return false
}

// setLabel names an entry in the tree; "" removes the name.
func (r *record) setLabel(id, label string) error {
	if _, err := r.log.Entry(id); err != nil {
		return err
	}
	label = strings.Join(strings.Fields(r.redactor.hide(label)), " ")
	r.append(transcript.Entry{Type: transcript.TypeLabel, TargetID: id, Label: label})
	r.emit(Event{Event: agent.Event{Type: LabelChanged}, EntryID: id, Text: label})
	return nil
}
