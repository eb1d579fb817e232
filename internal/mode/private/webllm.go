package private

import (
	"context"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/llm"
)

// APIWebLLM is that of models that run in the browser itself (WebLLM). Their provider has no key; its
// URL is where their weights are.
const APIWebLLM llm.API = "webllm"

const (
	// inBrowser stands for the browser itself among the origins of a project: the worker answers what is
	// asked there, and lets nothing of it leave. The server gives the worker what it needs for that.
	inBrowser = "https://webllm.invalid"
	// weightsHome is where weights are if no other place is named.
	weightsHome = "https://huggingface.co"
)

// free is the price of a model of one's own.
func free() llm.Price {
	none := llm.PerMillion(0)
	return llm.Price{Input: none, Output: none, CacheRead: none, CacheWrite: none, CacheWriteLong: none, WebSearch: none}
}

// textOnly asks a client for no more than text, of text.
type textOnly struct{ llm.Client }

// Stream implements [llm.Client].
func (c textOnly) Stream(ctx context.Context, r *llm.Request) llm.Stream {
	plain := *r
	plain.Tools, plain.ToolChoice, plain.Output = nil, llm.ToolChoice{}, nil
	plain.Messages = slices.Clone(r.Messages)
	for i := range plain.Messages {
		m := &plain.Messages[i]
		var images int
		content := make([]llm.Block, 0, len(m.Content))
		for _, b := range m.Content {
			switch b.(type) {
			case llm.Image:
				images++
			case llm.ToolCall: // of another model; without the calls, the results become text
			default:
				content = append(content, b)
			}
		}
		if images > 0 {
			content = append(content, llm.Text{Text: fmt.Sprintf("[Note: %d image(s) were attached but this local model doesn't support vision]", images)})
		}
		m.Content = content
	}
	return c.Client.Stream(ctx, &plain)
}
