package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

func TestMain(m *testing.M) {
	burin.Main() // commands have guards, which are this program again
	goleak.VerifyTestMain(m)
}

func say(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }

func call(name, args string) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Call: name, Args: args}}}
}

// user gives the process a home folder with settings that lead to a scripted model, and an
// empty folder to work in.
func user(t *testing.T, turns []llmtest.Turn) *llmtest.Server {
	t.Helper()
	srv, err := llmtest.Serve(openai.CompletionsServer{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	home := t.TempDir()
	models := "providers:\n  local:\n    baseUrl: %s\n    api: openai-completions\n    apiKeyEnv: LOCAL_KEY\n    models:\n      - id: m\n        cost: {input: 1, output: 2}\n"
	for name, text := range map[string]string{
		"config.yml": "modelRoles: {default: local/m}\n",
		"models.yml": fmt.Sprintf(models, srv.URL),
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"HOME": home, "BURIN_HOME": home, "BURIN_NO_KEYRING": "1", "LOCAL_KEY": "sk-local-1"} {
		t.Setenv(name, value)
	}
	t.Chdir(t.TempDir())
	return srv
}

// Each example does what it says: what it writes, and what the model was asked.
func TestExamples(t *testing.T) {
	tests := map[string]struct {
		turns    []llmtest.Turn
		writes   string
		received []string // in the last request
	}{
		"hello":  {[]llmtest.Turn{say("Hello.")}, "Hello.\n", []string{"Say hello."}},
		"stream": {[]llmtest.Turn{call("ls", "{}"), say("Nothing at all.")}, "[ls]\nNothing at all.\n", []string{"What is in this folder?"}},
		"tools": {
			[]llmtest.Turn{call("order_state", `{"number":16}`), call("order_state", `{"number":17}`), say("A pigeon has it.")},
			"A pigeon has it.\n",
			[]string{"the order's number", "there is no order 16", `{\"shipped\":true,\"carrier\":\"pigeon\"}`},
		},
		"permission": {
			[]llmtest.Turn{call("bash", `{"command":"mkdir photos"}`), call("bash", `{"command":"rm -rf nothing"}`), say("There is a folder.")},
			"may it run? mkdir photos\nmay it run? rm -rf nothing\nThere is a folder.\n",
			[]string{"mkdir photos", "only folders are made here"},
		},
		"result": {
			[]llmtest.Turn{say("I see."), call("result", `{"version":"2"}`), call("result", `{"version":"2","breaking":true,"changes":["-x is gone","-y"]}`)},
			"version 2, breaking: true, 2 changes\n",
			[]string{`breaking`},
		},
		"budget": {
			[]llmtest.Turn{call("ls", "{}"), call("ls", `{"path":"."}`)},
			"it ended with \"max_turns\" after 2 requests and ", nil,
		},
		"steer": {
			[]llmtest.Turn{call("bash", `{"command":"sleep 60"}`), say("Only Go files, then.")},
			"Only Go files, then.\n",
			[]string{"The build is red.", "Look around.", "Only look at Go files."},
		},
		"memory":   {nil, "greeting.txt: good morning\n", nil},
		"provider": {nil, "You said: Pieces of eight!\n", nil},
		"parallel": {nil, "You said: red\nYou said: green\nYou said: blue\n", nil},
		"branch":   {nil, "instead of \"two\"\nYou said: three\nthe model has read: one\nthe model has read: three\n", nil},
	}
	for _, e := range examples() {
		t.Run(e.name, func(t *testing.T) {
			tt, ok := tests[e.name]
			if !ok {
				t.Fatal("this example has no test")
			}
			srv := user(t, tt.turns)
			var out bytes.Buffer
			if err := e.run(t.Context(), &out); err != nil {
				t.Fatal(err)
			}
			if err := srv.Err(); err != nil {
				t.Error(err)
			}
			if got := out.String(); got != tt.writes && (!strings.HasSuffix(tt.writes, " ") || !strings.HasPrefix(got, tt.writes)) {
				t.Errorf("it writes %q, want %q", got, tt.writes)
			}
			asked := srv.Raw()
			if len(asked) != len(tt.turns) {
				t.Fatalf("the model was asked %d times, want %d", len(asked), len(tt.turns))
			}
			for _, want := range tt.received {
				if body := string(asked[len(asked)-1].Body); !strings.Contains(body, want) {
					t.Errorf("the last request lacks %q: %s", want, body)
				}
			}
		})
	}
}
