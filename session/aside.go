package session

import (
	"context"
	"errors"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// asideWords go before a question beside the conversation.
const asideWords = "A short question of the user's beside the work; it is not part of the task. Answer it from what you know, without tools. Question:\n\n"

// Aside answers a question beside the conversation, also while a prompt runs: the
// model knows all that was said, may call nothing, and neither it nor the transcript
// keeps the question or the answer. The request begins like those of the conversation,
// so the vendor has most of it in its cache; it is paid for like any other. Pieces of the
// answer are given to delta as they come, one at a time; nil is nobody. Ctx ends it.
// It is repeated after a passing failure only as long as nothing was shown.
func (s *Session) Aside(ctx context.Context, question string, delta func(string)) (answer string, err error) {
	question = strings.TrimSpace(s.hide(question))
	if question == "" {
		return "", errors.New("there is no question")
	}
	ctx, end, err := s.beside(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	s.mu.Lock()
	r, client := s.request, s.client
	s.mu.Unlock()
	r.Tools, r.ToolChoice = s.definitions(), llm.ToolChoice{Mode: llm.ToolNone}
	r.Messages = append(s.agent.Messages(), llm.Message{
		Role: llm.RoleCustom, CustomType: "aside", Time: s.o.Now(), Content: []llm.Block{llm.Text{Text: asideWords + question}},
	})
	shown := false
	var final error
	err = s.o.Retry.repeat(ctx, s.o.Now, func() error {
		answer, final = s.listen(ctx, client, &r, func(text string) {
			shown = true
			if delta != nil {
				delta(text)
			}
		})
		if shown {
			return nil // what was shown is not taken back
		}
		return final
	})
	if err == nil {
		err = final
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return answer, s.hideError(err)
}

// listen sends a request beside the conversation and passes its text on as it comes.
func (s *Session) listen(ctx context.Context, client llm.Client, r *llm.Request, delta func(string)) (string, error) {
	held, err := s.reserve(ctx, r, ForAside)
	if err != nil {
		return "", err
	}
	stream := s.count(client.Stream(ctx, r), r, held)
	var last *llm.Message
	for e := range llm.Events(stream) {
		switch {
		case e.Type.Terminal():
			last = e.Message
		case e.Type == llm.EventTextDelta:
			delta(e.Delta)
		}
	}
	switch {
	case last == nil:
		return "", errors.New("the stream ended without a last event")
	case last.Error != nil:
		return last.Text(), last.Error
	}
	return last.Text(), nil
}
