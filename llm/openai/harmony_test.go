package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// Leaks put together from the grammar: junk, marker, body, perhaps again.
var harmonyLeaks = []struct {
	name, text string
	clean      string // what stands before the leak
}{
	{"channel and body", "x := 1\nanalysis to=functions.edit code above", "x := 1\n"},
	{"channel touched by another script", "y()ไทยcommentary to=functions.read code {}", "y()"},
	{"assistant", "foo);\nassistant to=functions.eval code print(1)", "foo);\n"},
	{"user", "foo);\nuser to=functions.eval code print(1)", "foo);\n"},
	{"brackets", `end);】【"】【analysis to=functions.edit` + "\n code above", `end);】【"`},
	{"closing brace", "{ a: 1 } to=functions.grep code and then", "{ a: 1 } "},
	{"glitch token", "return nil\nJapgolly to=functions.edit", "return nil\n"},
	{"glitch with suffix", "return nil Jsii_commentary to=functions.edit code", "return nil "},
	{"odd word and body", "git diff changedFiles to=functions.search code", "git diff "},
	{"RTLU", "a = b RTLU to=functions.yield code 天天中彩票", "a = b "},
	{"Chinese before, body after", "a = b 大发时时彩 to=functions.edit code 天天", "a = b "},
	{"Cyrillic", "a = b Ақәа to=functions.edit code", "a = b "},
	{"Georgian, no body", "a = bანალიზი analysis to=functions.edit", "a = b"},
	{"Armenian", "x վարկ commentary to=functions.read", "x "},
	{"Arabic", "x تحليل to=functions.read code", "x "},
	{"Telugu", "x తెలుగు to=functions.report_tool_issue code", "x "},
	{"Kannada after", "assistant to=functions.edit ಕನ್ನಡ", ""},
	{"Malayalam after", "assistant to=functions.edit മലയാളം", ""},
	{"content type", "x\ncommentary to=functions.edit json {\"path\":\"a\"}", "x\n"},
	{"cascade", "ok\nto=functions.eval code\ncode_output\nCell 1:\nto=functions.eval code", "ok\n"},
	{"two weak ones", "ok\nto=functions.eval code x to=functions.edit code y", "ok\n"},
}

func TestDetectLeak(t *testing.T) {
	for _, c := range harmonyLeaks {
		t.Run(c.name, func(t *testing.T) {
			at, found := openai.DetectLeak(c.text)
			if !found {
				t.Fatalf("not found in %q", c.text)
			}
			if got := c.text[:at]; got != c.clean {
				t.Errorf("clean part %q, want %q", got, c.clean)
			}
		})
		for _, ascii := range []bool{false, true} {
			args := harmonyArgs(t, c.text, ascii)
			if at, found := openai.DetectLeak(args); !found {
				t.Errorf("%s: not found in arguments %s", c.name, args)
			} else if !strings.HasPrefix(args, args[:at]) || at < len(`{"text":"`) {
				t.Errorf("%s: the leak in %s begins at %d, in its frame", c.name, args, at)
			}
		}
	}
}

// harmonyArgs puts text into the arguments of a call.
func harmonyArgs(t *testing.T, text string, ascii bool) string {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	if !ascii {
		return string(raw)
	}
	var out strings.Builder
	for _, r := range string(raw) {
		if r < 0x80 {
			out.WriteRune(r)
		} else {
			out.WriteString(harmonyEscape(r))
		}
	}
	return out.String()
}

func harmonyEscape(r rune) string {
	const hex = "0123456789abcdef"
	return `\u` + string([]byte{hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
}

func TestDetectLeakBenign(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                 "",
		"code":                  "for (const f of changedFiles) { to(functions.map) }",
		"marker alone":          "grep for to=functions.edit in the logs",
		"marker at the start":   "to=functions.x",
		"a pattern to search":   `{"pattern":"to=functions.edit","path":"."}`,
		"a pattern with \\w":    `{"pattern":"to=functions\\.\\w+"}`,
		"prose":                 "The header routes the call: to=functions.edit means the edit tool, to=functions.read the other one.",
		"prose about channels":  "The assistant writes to=functions.edit when it wants to edit.",
		"a channel, no more":    "It says commentary to=functions.get_weather in the header.",
		"quoted in Markdown":    "A leak looks like `analysis to=functions.edit code` in the arguments.",
		"quoted in code":        `want := "assistant to=functions.edit code"`,
		"the real format":       "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\":\"Tokyo\"}<|call|>",
		"the format, role form": "<|start|>assistant to=functions.get_weather<|channel|>commentary<|message|>{}",
		"a template":            "render('<|channel|>commentary to=functions.' + name)",
		"Chinese prose":         "路由标记 to=functions.edit 表示调用编辑工具。",
		"Russian prose":         "Метка to=functions.edit означает инструмент.",
		"a keyword argument":    "dispatch(src, to=functions.handler) # code",
		"a keyword, user first": "send(user, to=functions.notify)",
		"code nearby":           "to=functions.edit\nis the code of the router",
		"codec is not code":     "user to=functions.codec codec",
		"an identifier":         "my_user to=functions.edit codes",
		"no name":               "analysis to=functions. code",
	} {
		t.Run(name, func(t *testing.T) {
			if at, found := openai.DetectLeak(text); found {
				t.Errorf("found at %d, in %q", at, text[at:])
			}
			if args := harmonyArgs(t, text, false); !strings.HasPrefix(text, "{") {
				if at, found := openai.DetectLeak(args); found {
					t.Errorf("found at %d, in arguments %s", at, args)
				}
			}
		})
	}
}

func FuzzDetectLeak(f *testing.F) {
	for _, c := range harmonyLeaks {
		f.Add(c.text)
	}
	f.Add(`\n\u0e04 to=functions.a\u0e04\u0e04`)
	f.Fuzz(func(t *testing.T, s string) {
		at, found := openai.DetectLeak(s)
		if at < 0 || at > len(s) || !found && at != 0 {
			t.Fatalf("DetectLeak = %d, %v for %d bytes", at, found, len(s))
		}
		if found && !strings.Contains(s[at:], "to=functions.") {
			t.Fatalf("no marker in %q", s[at:])
		}
	})
}

func BenchmarkDetectLeak(b *testing.B) {
	clean := `{"path":"main.go","content":"` + strings.Repeat(`func f(user User) { return functions.to(user) }\n`, 400) + `"}`
	for name, text := range map[string]string{
		"small": `{"path":"go.mod"}`, "20KB": clean, "20KB leak at the end": clean + " analysis to=functions.edit code",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				openai.DetectLeak(text)
			}
		})
	}
}

// A GPT-5 model's call that holds leaked control text must not run, in either
// format; another model may write the same words.
func TestLeakedCallsAreSpoiled(t *testing.T) {
	const args = `{"path":"a.go","text":"x }} analysis to=functions.edit code 天天中彩票 {\"path\":\"b.go\"}"}`
	if _, found := openai.DetectLeak(args); !found {
		t.Fatal("the arguments of this test are not seen as a leak")
	}
	formats := map[llm.API]wire.Server{llm.APICompletions: openai.CompletionsServer{}, llm.APIResponses: openai.ResponsesServer{}}
	for api, server := range formats {
		for id, want := range map[string]llm.Defect{"gpt-5.4": llm.DefectCorrupt, "qwen3": ""} {
			srv, err := llmtest.Serve(server, llmtest.Script{Turns: []llmtest.Turn{{Events: llmtest.Call("call_1", "edit", args)}}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			e := wire.Endpoint{BaseURL: srv.URL}
			var c llm.Client = openai.NewCompletions(openai.CompletionsOptions{Endpoint: e})
			if api == llm.APIResponses {
				c = openai.NewResponses(openai.ResponsesOptions{Endpoint: e})
			}
			m, err := llm.Collect(c.Stream(t.Context(), &llm.Request{
				Model: &llm.Model{ID: id, Provider: "p", API: api}, Messages: []llm.Message{llm.UserText("go")},
			}))
			if err != nil {
				t.Fatal(err)
			}
			calls := m.ToolCalls()
			if len(calls) != 1 || calls[0].Defect != want {
				t.Errorf("%s, %s: calls %+v, want defect %q", api, id, calls, want)
			}
		}
	}
}
