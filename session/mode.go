package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// customMode is the custom type of the message that tells the model of a mode.
const customMode = "mode"

// modePlan is the mode in which the model only looks.
const modePlan = "plan"

// modes is the mode of permission: plan, ask, auto-edit or full; "" where the session has
// none.
type modes struct {
	ground Ground
	rec    *record
	mind   *mind
	life   context.Context
	first  string // as the system prompt tells of it
	shut   func() bool
	now    func() time.Time

	changing sync.Mutex // held while the mode changes

	mu    sync.Mutex
	mode  string
	words string // for the model; "": the system prompt has them
}

func (x *modes) current() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mode
}

// set changes the mode of permission, also while a prompt runs: it holds from the next
// call on, and for calls that wait for an answer. What runs goes on as it began. The model
// reads of it with the next request; the system prompt stays as it is, so that the
// vendor's cache of it holds.
func (x *modes) set(mode string) error {
	x.changing.Lock()
	defer x.changing.Unlock()
	switch {
	case x.shut():
		return ErrClosed
	case mode == x.current():
		return nil
	}
	words, err := x.ground.SetMode(mode)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return errors.New("this session has no modes")
	case err != nil:
		return err
	}
	x.mu.Lock()
	x.mode, x.words = mode, words
	x.mu.Unlock()
	x.rec.append(transcript.Entry{Type: transcript.TypeMode, Mode: mode})
	x.rec.emit(Event{Event: agent.Event{Type: ModeChanged}, Text: mode})
	x.mind.planning(x.life, mode == modePlan, x.now())
	return nil
}

// notice is what the model is to be told of the mode before the next request: nothing, if
// the newest notice of the conversation, or else the system prompt, tells of this one.
// Several changes in a row are one notice, or none.
func (x *modes) notice(messages []llm.Message) (notice llm.Message, ok bool) {
	x.mu.Lock()
	mode, words := x.mode, x.words
	x.mu.Unlock()
	if mode == "" || toldMode(messages, x.first) == mode {
		return notice, false
	}
	if words == "" {
		words = "The permission mode is " + mode + " now."
	}
	details, err := json.Marshal(modeDetails{mode})
	if err != nil {
		return notice, false
	}
	return llm.Message{
		Role: llm.RoleCustom, CustomType: customMode, Time: x.now(), Details: details,
		Content: []llm.Block{llm.Text{Text: fmt.Sprintf("<mode>\n%s\n</mode>", x.rec.veil.hide(words))}},
	}, true
}

type modeDetails struct {
	Mode string `json:"mode"`
}

// toldMode is the mode that the model believes to be in.
func toldMode(messages []llm.Message, first string) string {
	for i := range slices.Backward(messages) {
		var d modeDetails
		if m := &messages[i]; m.CustomType == customMode && json.Unmarshal(m.Details, &d) == nil {
			return d.Mode
		}
	}
	return first
}
