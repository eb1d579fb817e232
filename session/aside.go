package session

import (
	"context"
	"errors"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// asideWords precede a question outside the conversation.
const asideWords = "A short question of the user's beside the work; it is not part of the task. Answer it from what you know, without tools. Question:\n\n"

// Aside answers a question outside the conversation, even while a prompt runs. The model knows
// everything that was said and can call nothing; neither it nor the transcript keeps the
// question or the answer. The request starts like those of the conversation, so most of it is
// in the provider's cache; it costs money like any other. delta, if not nil, gets pieces of
// the answer as they come, one at a time. The answer ends with ctx. Aside retries after a
// temporary failure only while nothing was shown.
func (s *Session) Aside(ctx context.Context, question string, delta func(string)) (answer string, err error) {
	question = strings.TrimSpace(s.redactor.hide(question))
	if question == "" {
		return "", errors.New("there is no question")
	}
	ctx, end, err := s.stage.beside(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	r, client := s.modelState.now()
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
			return nil // what was shown can't be taken back
		}
		return final
	})
	if err == nil {
		err = final
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return answer, s.redactor.err(err)
}
