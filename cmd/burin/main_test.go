package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"burin": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("BURIN_HOME", env.WorkDir+"/home")
			// A keyring of the machine must not decide a test.
			env.Setenv("BURIN_NO_KEYRING", "1")
			env.Values["servers"] = map[string]*llmtest.Server{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model": startModel,
			"asked": asked,
		},
	})
}

var formats = map[string]wire.Server{
	"anthropic-messages":      anthropic.Server{},
	"openai-completions":      openai.CompletionsServer{},
	"openai-responses":        openai.ResponsesServer{},
	"google-generative-ai":    google.Server{},
	"bedrock-converse-stream": bedrock.Server{},
}

// startModel serves a scripted model: model NAME FORMAT TURN... sets $NAME to
// its URL. A turn is text, "think:text", "call:name", "error:status[:code]",
// "cut:bytes" or "stall".
func startModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: model NAME FORMAT TURN...")
	}
	format, ok := formats[args[1]]
	if !ok {
		ts.Fatalf("unknown format %s", args[1])
	}
	var script llmtest.Script
	for _, a := range args[2:] {
		kind, rest, _ := strings.Cut(a, ":")
		turn := llmtest.Turn{Parts: []llmtest.Part{{Text: a}}}
		switch kind {
		case "think":
			turn.Parts = []llmtest.Part{{Thinking: rest}, {Text: "thought about it"}}
		case "call":
			turn.Parts = []llmtest.Part{{Text: "calling"}, {Call: rest, Args: `{"path":"a.go"}`}}
		case "error":
			code, name, _ := strings.Cut(rest, ":")
			status, err := strconv.Atoi(code)
			ts.Check(err)
			e := wire.Sort(status, name, "the script says no")
			turn = llmtest.Turn{Fault: llmtest.Fault{Error: e}}
		case "cut":
			n, err := strconv.Atoi(rest)
			ts.Check(err)
			turn = llmtest.Turn{Parts: []llmtest.Part{{Text: strings.Repeat("many words ", 100)}}, Fault: llmtest.Fault{CutAfterBytes: n}}
		case "stall":
			turn = llmtest.Turn{Parts: []llmtest.Part{{Text: "only the beginning of it"}}, Fault: llmtest.Fault{StallAfterEvents: 4}}
		}
		turn.Events = llmtest.Stop(llm.StopEnd, llm.Usage{Input: 100, Output: 20})
		if kind == "call" {
			turn.Events = llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 100, Output: 20})
		}
		script.Turns = append(script.Turns, turn)
	}
	srv, err := llmtest.Serve(format, script)
	ts.Check(err)
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
	ts.Value("servers").(map[string]*llmtest.Server)[args[0]] = srv
}

// asked checks what a scripted model was asked: asked NAME N PATTERN looks at
// the raw body and headers of request N, counted from 1.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: asked NAME N TEXT")
	}
	srv := ts.Value("servers").(map[string]*llmtest.Server)[args[0]]
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	raw := srv.Raw()
	if n > len(raw) {
		ts.Fatalf("%s was asked %d times", args[0], len(raw))
	}
	all := fmt.Sprintf("%s %s\n%v\n%s", raw[n-1].Method, raw[n-1].URL, raw[n-1].Header, raw[n-1].Body)
	if strings.Contains(all, args[2]) == neg {
		ts.Fatalf("request %d holds %q: %v\n%s", n, args[2], !neg, all)
	}
}
