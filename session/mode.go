package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// customMode is the custom type of the message that tells the model of a mode.
const customMode = "mode"

// Mode is the mode of permission: plan, ask, auto-edit or full. It is "" where the
// session has none.
func (s *Session) Mode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// SetMode changes the mode of permission, also while a prompt runs: it holds from the
// next call on, and for calls that wait for an answer. What runs goes on as it began.
// The model reads of it with the next request; the system prompt stays as it is, so
// that the vendor's cache of it holds.
func (s *Session) SetMode(mode string) error {
	if s.o.SetMode == nil {
		return errors.New("this session has no modes")
	}
	s.moding.Lock()
	defer s.moding.Unlock()
	s.mu.Lock()
	same, closed := mode == s.mode, s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case same:
		return nil
	}
	words, err := s.o.SetMode(mode)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.mode, s.modeWords = mode, words
	s.mu.Unlock()
	s.append(transcript.Entry{Type: transcript.TypeMode, Mode: mode})
	s.hub.emit(Event{Event: agent.Event{Type: ModeChanged}, Text: mode})
	return nil
}

// modeNotice is what the model is to be told of the mode before the next request:
// nothing, if the newest notice of the conversation, or else the system prompt, tells
// of this one. Several changes in a row are one notice, or none.
func (s *Session) modeNotice(messages []llm.Message) (notice llm.Message, ok bool) {
	s.mu.Lock()
	mode, words := s.mode, s.modeWords
	s.mu.Unlock()
	if mode == "" || toldMode(messages, s.o.Mode) == mode {
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
		Role: llm.RoleCustom, CustomType: customMode, Time: s.o.Now(), Details: details,
		Content: []llm.Block{llm.Text{Text: fmt.Sprintf("<mode>\n%s\n</mode>", s.hide(words))}},
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
