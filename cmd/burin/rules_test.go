package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// rulesModels are a model of each wire format, as people name it.
var rulesModels = map[string][]string{
	"anthropic-messages":      {"x/y", ""},
	"openai-completions":      {"x/y", "/v1"},
	"openai-responses":        {"x/y", "/v1"},
	"google-generative-ai":    {"x/y", ""},
	"bedrock-converse-stream": {"amazon-bedrock/amazon.nova-pro-v1:0", ""},
}

// A stream rule stops an answer with the token that breaks it, on every wire format: the
// server sends nothing after that token until the client goes away.
func TestStreamRuleStopsWithTheToken(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	text := []llm.Event{{Type: llm.EventStart}, {Type: llm.EventTextStart}}
	for _, token := range []string{"I ", "will ", "use ", "for", "bid", "den()"} {
		text = append(text, llm.Event{Type: llm.EventTextDelta, Delta: token})
	}
	call := []llm.Event{{Type: llm.EventStart}, {Type: llm.EventToolCallStart, Block: llm.ToolCall{ID: "c1", Name: "write"}}}
	for _, token := range []string{`{"path":`, `"a.ts"`, `,"content":"x\n`, `\tforbid`, `den()`} {
		call = append(call, llm.Event{Type: llm.EventToolCallDelta, Delta: token})
	}
	for format, server := range formats {
		for name, events := range map[string][]llm.Event{"text": text, "call": call} {
			t.Run(format+"/"+name, func(t *testing.T) {
				stall := len(events)
				more := events
				for range 1000 {
					more = append(more[:len(more):len(more)], llm.Event{Type: events[2].Type, Delta: " more"})
				}
				if name == "call" && format == "google-generative-ai" { // it sends calls whole
					whole := llm.ToolCall{ID: "c1", Name: "write", Arguments: `{"path":"a.ts","content":"x\n\tforbidden()"}`}
					more = append(slices.Clone(events[:2]), llm.Event{Type: llm.EventToolCallEnd, Block: whole})
					stall = 4 // start, block, arguments, end
				}
				srv, err := llmtest.Serve(server, llmtest.Script{Turns: []llmtest.Turn{
					{Events: more, Fault: llmtest.Fault{StallAfterEvents: stall}},
					{Parts: []llmtest.Part{{Text: "I use what is allowed."}}, Events: llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1})},
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer srv.Close()
				m := rulesModels[format]
				args := []string{"-p", "go", "--model", m[0], "--base-url", srv.URL + m[1], "--approval", "full", "--mode", "json"}
				if !strings.HasPrefix(format, "bedrock") {
					args = append(args, "--api", format)
				}
				cmd := command(t, args...)
				cmd.Env = append(cmd.Env, "AWS_BEDROCK_SKIP_AUTH=1", "AWS_REGION=us-east-1")
				rule := filepath.Join(cmd.Dir, ".burin", "rules", "no-forbidden.md")
				if err := os.MkdirAll(filepath.Dir(rule), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(rule, []byte("---\ncondition: forbidden\\(\n---\nUse allowed().\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v\n%s%s", err, out.Bytes(), errs.Bytes())
				}
				requests := srv.Requests()
				if len(requests) != 2 {
					t.Fatalf("%d requests\n%s", len(requests), errs.Bytes())
				}
				last := requests[1].Messages[len(requests[1].Messages)-1].Text()
				if !strings.Contains(last, `<rule name="no-forbidden">`) || !strings.Contains(last, "Use allowed().") || strings.Contains(last, "I will use") {
					t.Errorf("the model reads %q", last)
				}
				if n, ok := srv.Sent(0); !ok || n == 0 {
					t.Errorf("sent %d bytes, %v", n, ok)
				} else {
					t.Logf("stopped after %d bytes", n)
				}
				if !strings.Contains(out.String(), `"type":"ttsr_triggered"`) || !strings.Contains(out.String(), `"rules":[{"name":"no-forbidden","path":`+quoted(rule)+`}],"stopped":true`) {
					t.Errorf("events: %s", out.Bytes())
				}
			})
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
