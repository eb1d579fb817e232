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
	question = strings.TrimSpace(s.veil.hide(question))
	if question == "" {
		return "", errors.New("there is no question")
	}
	ctx, end, err := s.stage.beside(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	r, client := s.mind.now()
	r.Tools, r.ToolChoice = s.tools.definitions(), llm.ToolChoice{Mode: llm.ToolNone}
	r.Messages = append(s.agent.Messages(), llm.Message{
		Role: llm.RoleCustom, CustomType: "aside", Time: s.o.Now(), Content: []llm.Block{llm.Text{Text: asideWords + question}},
	})
	shown := false
	var final error
	err = s.o.Retry.repeat(ctx, s.o.Now, false, func() error {
		answer, final = s.money.listen(ctx, client, &r, func(text string) {
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
	return answer, s.veil.err(err)
}
