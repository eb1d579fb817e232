package session

import (
	"cmp"
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

// customMode is the custom type of the message that tells the model about an approval mode.
const customMode = "mode"

// Approval modes that the session itself knows. In plan mode the model may only read.
const (
	modePlan     = "plan"
	modeAsk      = "ask"
	modeAutoEdit = "auto-edit"
)

// modes is the approval mode: plan, ask, auto-edit or full; "" if the session has none.
type modes struct {
	ground     Ground
	rec        *record
	modelState *modelState
	tools      *ToolSet
	life       context.Context
	first      string // as the system prompt describes it
	shut       func() bool
	now        func() time.Time

	changing sync.Mutex // held while the mode changes

	mu    sync.Mutex
	mode  string
	after string // the mode that follows plan mode
	words string // for the model; "" if the system prompt has them
}

func (x *modes) current() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mode
}

// before returns the mode that plan mode came after.
func (x *modes) before() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return cmp.Or(x.after, modeAsk)
}

// set changes the approval mode, even while a prompt runs. It applies from the next call on,
// and to calls that wait for an answer; running calls are not affected. The model reads about
// it with the next request. The system prompt stays the same, so that the provider's cache of
// it stays valid.
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
	if mode == modePlan {
		x.after = x.mode
	}
	x.mode, x.words = mode, words
	x.mu.Unlock()
	x.rec.append(transcript.Entry{Type: transcript.TypeMode, Mode: mode})
	x.rec.emit(Event{Event: agent.Event{Type: ModeChanged}, Text: mode})
	if mode == modePlan {
		if err := x.tools.include(PlanTool); err != nil {
			x.rec.warn("the model has no tool to hand over a plan: " + err.Error())
		}
	}
	x.modelState.planning(x.life, mode == modePlan, x.now())
	return nil
}

// notice returns what the model must be told about the mode before the next request. It is
// nothing if the newest notice, or else the system prompt, describes this mode. Several
// changes in a row make one notice, or none.
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
		Content: []llm.Block{llm.Text{Text: fmt.Sprintf("<mode>\n%s\n</mode>", x.rec.redactor.hide(words))}},
	}, true
}

type modeDetails struct {
	Mode string `json:"mode"`
}

// toldMode returns the mode that the model knows about.
func toldMode(messages []llm.Message, first string) string {
	for i := range slices.Backward(messages) {
		var d modeDetails
		if m := &messages[i]; m.CustomType == customMode && json.Unmarshal(m.Details, &d) == nil {
			return d.Mode
		}
	}
	return first
}
