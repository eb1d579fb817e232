package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// testRandomAnswers makes answers of any shape: what the server half encodes,
// the client decodes to the same.
func (s answerChecks) testRandomAnswers(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(rt *rapid.T) {
		sent := llm.Message{StopReason: llm.StopEnd, Content: randomContent(rt)}
		srv := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{{Events: llmtest.Message(sent)}}}, s.Server)
		defer srv.Close()
		c := s.open(memoryURL, &http.Client{Transport: handlerTransport{srv}})
		var events []llm.Event
		for ev := range llm.Events(c.Stream(ctx, s.ask())) {
			events = append(events, ev)
		}
		if err := checkOrder(events); err != nil {
			rt.Fatalf("order of events: %v\n%s", err, list(events))
		}
		got := events[len(events)-1].Message
		if got.Error != nil {
			rt.Fatalf("%v; server: %v", got.Error, srv.Err())
		}
		if diff := cmp.Diff(joined(sent.Content), joined(got.Content)); diff != "" {
			rt.Fatalf("content (-want +got):\n%s", diff)
		}
	})
}

// joined describes content as far as the borders between blocks of the same
// kind are the format's to choose.
func joined(blocks []llm.Block) []string {
	var out []string
	for _, v := range visible(blocks) {
		kind, text, _ := strings.Cut(v, " ")
		if n := len(out); n > 0 && kind != "call" && strings.HasPrefix(out[n-1], kind+" ") {
			out[n-1] += text
			continue
		}
		out = append(out, v)
	}
	return out
}

func randomContent(rt *rapid.T) []llm.Block {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("ab \n\t\"\\{}[]:,<>&é漢🦊\u200d\u2028\uFFFD\x00")), 1, 12, -1)
	var out []llm.Block
	for i := range rapid.IntRange(0, 5).Draw(rt, "blocks") {
		switch rapid.SampledFrom([]string{"text", "text", "call", "thinking"}).Draw(rt, "kind") {
		case "call":
			out = append(out, llm.ToolCall{
				ID: fmt.Sprintf("call_%d", i), Name: rapid.SampledFrom([]string{"read", "write_file-2"}).Draw(rt, "name"),
				Arguments: rapid.SampledFrom([]string{"", "{}", `{"a":1}`, `{"a":"\u00e9🦊\n","b":[{},null,1.5]}`, "{ \"spaced\" : [ 1 , 2 ] }"}).Draw(rt, "arguments"),
			})
		case "thinking":
			out = append(out, llm.Thinking{Text: text.Draw(rt, "thinking"), Signature: "c2lnbmF0dXJl"})
		default:
			out = append(out, llm.Text{Text: text.Draw(rt, "text")})
		}
	}
	return out
}
