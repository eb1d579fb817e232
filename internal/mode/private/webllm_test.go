package private

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// A provider of models in the browser has the browser among its origins, and where the weights are.
func TestWebLLMOrigins(t *testing.T) {
	for at, want := range map[string]string{
		"":                                "https://huggingface.co https://webllm.invalid",
		"https://Weights.example/a/b/":    "https://weights.example https://webllm.invalid",
		"http://localhost:8000":           "http://localhost:8000 https://webllm.invalid", // the server refuses http elsewhere
		"https://w.example/?a=b":          "",
		"https://w.example/#a":            "",
		"https://me:secret@w.example/":    "",
		"/weights":                        "",
		"https://w.example; script-src *": "",
	} {
		p := Provider{ID: "webllm", API: APIWebLLM, URL: at}
		got, err := p.origins()
		if (err == nil) != (want != "") || strings.Join(got, " ") != want {
			t.Errorf("%q has the origins %q, %v, want %q", at, got, err, want)
		}
	}
}

// They are free, and known to be so.
func TestWebLLMPrice(t *testing.T) {
	all := providers{{ID: "webllm", API: APIWebLLM, Models: []llm.Model{{ID: "m", ContextWindow: 4096}}}}
	for _, id := range []string{"m", "other"} {
		o, err := all.Open(t.Context(), "webllm/"+id)
		if err != nil {
			t.Fatal(err)
		}
		cost := o.Model.Price.Cost(llm.Usage{Input: 1000, Output: 1000, CacheRead: 1000, CacheWrite: 1000})
		if cost.Total != 0 || cost.Unknown || cost.Unreliable || !o.Model.Price.Known() {
			t.Errorf("%s costs %+v", id, cost)
		}
		if _, ok := o.Client.(textOnly); !ok || o.Model.API != llm.APICompletions || (id == "m") != (o.Model.ContextWindow == 4096) {
			t.Errorf("%s is %+v, asked by %T", id, o.Model, o.Client)
		}
	}
}

// They get text: no pictures, no tools, and no calls of the models before them.
func TestWebLLMTextOnly(t *testing.T) {
	var asked struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools   json.RawMessage
		Weights string
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer s.Close()
	picture := llm.Image{MIME: "image/png", Data: []byte("png")}
	call := llm.ToolCall{ID: "1", Name: "calc", Arguments: `{"code":"1+1"}`}
	request := &llm.Request{
		Model: &llm.Model{ID: "m", Provider: "webllm", API: llm.APICompletions, Input: []llm.Modality{llm.ModalityText, llm.ModalityImage}},
		Tools: []llm.Tool{{Name: "calc"}}, ToolChoice: llm.ToolChoice{Mode: llm.ToolAny},
		Messages: []llm.Message{
			llm.UserText("count"),
			{Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: "I count."}, call}},
			{Role: llm.RoleToolResult, ToolCallID: "1", ToolName: "calc", Content: []llm.Block{llm.Text{Text: "two"}}},
			{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "and these?"}, picture, picture}},
		},
	}
	before := len(request.Messages[3].Content)
	e := wire.Endpoint{BaseURL: s.URL, Transform: wire.Transform{ExtraBody: map[string]any{"weights": "https://w.example"}}}
	stream := textOnly{openai.NewCompletions(openai.CompletionsOptions{Endpoint: e})}.Stream(context.Background(), request)
	for _, ok := stream.Next(); ok; _, ok = stream.Next() {
	}
	_ = stream.Close()
	var said []string
	for _, m := range asked.Messages {
		said = append(said, m.Role+" "+string(m.Content))
	}
	text := strings.Join(said, "\n")
	if !strings.Contains(text, "[Note: 2 image(s) were attached but this local model doesn't support vision]") || !strings.Contains(text, "two") ||
		strings.Contains(text, "image_url") || slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "tool ") }) || len(asked.Tools) > 0 || asked.Weights != "https://w.example" {
		t.Errorf("the model got the tools %s, the weights %q and\n%s", asked.Tools, asked.Weights, text)
	}
	if len(request.Messages[3].Content) != before || len(request.Tools) != 1 {
		t.Error("the request of the loop was changed")
	}
}
