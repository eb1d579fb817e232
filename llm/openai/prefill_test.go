package openai

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// An answer that is begun for a model is the last message; Mistral wants it marked.
func TestCompletionsPrefill(t *testing.T) {
	for address, mark := range map[string]bool{"https://api.mistral.ai/v1": true, "http://localhost:8080/v1": false} {
		c := NewCompletions(CompletionsOptions{Endpoint: wire.Endpoint{BaseURL: address}})
		req := &llm.Request{Model: &llm.Model{ID: "m", API: llm.APICompletions}, Messages: []llm.Message{llm.UserText("A poem")}, Prefill: "Roses are "}
		body, err := c.dialect(req.Model).encode(req)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"role":"assistant","content":"Roses are"}`
		if mark {
			want = `{"role":"assistant","content":"Roses are","prefix":true}`
		}
		if !strings.Contains(string(body), want+"]") {
			t.Errorf("%s gets %s", address, body)
		}
	}
}
