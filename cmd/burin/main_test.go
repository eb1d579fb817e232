package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"image"
	_ "image/jpeg" // sizes of pictures
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/external/agenttest"
	"github.com/burin-dev/burin/internal/mode/tui"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/lsp/lsptest"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

func TestMain(m *testing.M) {
	burin.Main() // commands have guards, which are this program again
	tui.Main()   // so do terminals
	mcptest.Main()
	lsptest.Main()
	// Most tests wait for other processes: more of them than cores at a time.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"burin": main, "agent": agenttest.Main, "mcp-suite-client": suiteClient})
}

// typeScriptClient is the client for JavaScript. It is there once it was built.
const typeScriptClient = "../../clients/typescript"

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("testdata/script"))
}

// scripts are those of a folder.
func scripts(dir string) testscript.Params {
	// Or the demo would compile the standard library for its tests.
	cache, _ := exec.Command("go", "env", "GOCACHE").Output() // without Go, the demo says so
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name == "cases" {
				return pacetest.Cases(false, true), nil
			}
			if name != "client" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, err := os.Stat(filepath.Join(typeScriptClient, "dist", "index.js"))
			if err == nil {
				_, err = exec.LookPath("node")
			}
			return err == nil, nil
		},
		Setup: func(env *testscript.Env) error {
			client, err := filepath.Abs(typeScriptClient)
			if err != nil {
				return err
			}
			env.Setenv("CLIENT", client)
			agent, err := exec.LookPath("agent")
			if err != nil {
				return err
			}
			env.Setenv("AGENT", agent)
			env.Setenv("HIGH", pacetest.Long("900", "9000", "9000")) // the height of a large picture
			env.Setenv("LESS", pacetest.Long("156", "1568", "1568")) // and of what fits of it
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("BURIN_HOME", env.WorkDir+"/home")
			// Neither a keyring nor a server of the machine may decide a test.
			env.Setenv("BURIN_NO_KEYRING", "1")
			env.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			env.Setenv("GORACE", noPause)
			env.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			for _, name := range []string{"OLLAMA_HOST", "LLAMA_CPP_BASE_URL", "LM_STUDIO_BASE_URL"} {
				env.Setenv(name, "http://127.0.0.1:1")
			}
			env.Values["servers"] = map[string]*llmtest.Server{}
			env.Values["vendors"] = vendors{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model":    startModel,
			"page":     startPage,
			"serve":    serveFile,
			"asked":    asked,
			"requests": requests,
			"count":    count,
			"fails":    fails,
			"expand":   expand,
			"draw":     drawImage,
			"pictured": pictured,
			"keep":     keep,
			"limits":   serveLimits,
			"told":     toldLimits,
		},
	}
}

// noPause keeps the race detector from waiting a second at each successful exit.
const noPause = "atexit_sleep_ms=0"

var formats = map[string]wire.Server{
	"anthropic-messages":      anthropic.Server{},
	"openai-completions":      openai.CompletionsServer{},
	"openai-responses":        openai.ResponsesServer{},
	"google-generative-ai":    google.Server{},
	"bedrock-converse-stream": bedrock.Server{},
}

// startModel serves a scripted model: model NAME FORMAT TURN... sets $NAME to
// its URL. A turn is text, "says:file", "think:text", "cite:text|text", "call:name[:arguments]", "error:status[:code[:message]]",
// "later:seconds" (a rate limit that says when it ends), "used:tokens:text" (as the vendor
// counts the prompt), "cut:bytes", "stall" or "stallhead".
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
		used := llm.Usage{Input: 100, Output: 20}
		var cited []llm.Event
		switch kind {
		case "says":
			turn.Parts[0].Text = ts.ReadFile(rest)
		case "think":
			turn.Parts = []llmtest.Part{{Thinking: rest}, {Text: "thought about it"}}
		case "call":
			name, args, ok := strings.Cut(rest, ":")
			if !ok {
				args = `{"path":"a.go"}`
			}
			turn.Parts = []llmtest.Part{{Text: "calling"}, {Call: name, Args: args}}
		case "error":
			code, name, _ := strings.Cut(rest, ":")
			name, message, _ := strings.Cut(name, ":")
			status, err := strconv.Atoi(code)
			ts.Check(err)
			e := wire.Sort(status, name, cmp.Or(message, "the script says no"))
			turn = llmtest.Turn{Fault: llmtest.Fault{Error: e}}
		case "later":
			n, err := strconv.Atoi(rest)
			ts.Check(err)
			e := wire.Sort(429, "rate_limit_error", "come back later")
			e.RetryAfter = time.Duration(n) * time.Second
			turn = llmtest.Turn{Fault: llmtest.Fault{Error: e}}
		case "used":
			count, text, _ := strings.Cut(rest, ":")
			n, err := strconv.Atoi(count)
			ts.Check(err)
			used.Input = n
			turn.Parts[0].Text = text
		case "cite": // two texts, each with its source: a paragraph that was split for that
			turn.Parts = nil
			for i, piece := range strings.Split(rest, "|") {
				whole := llm.Text{Text: piece, Citations: []llm.Citation{{URL: fmt.Sprintf("https://news.example/%d", i), Title: fmt.Sprintf("Page %d", i)}}}
				cited = append(cited, llm.Event{Type: llm.EventTextStart, Index: i, Block: llm.Text{}},
					llm.Event{Type: llm.EventTextDelta, Index: i, Delta: piece}, llm.Event{Type: llm.EventTextEnd, Index: i, Block: whole})
			}
		case "cut":
			n, err := strconv.Atoi(rest)
			ts.Check(err)
			turn = llmtest.Turn{Parts: []llmtest.Part{{Text: strings.Repeat("many words ", 100)}}, Fault: llmtest.Fault{CutAfterBytes: n}}
		case "stallhead":
			turn = llmtest.Turn{Fault: llmtest.Fault{StallHead: true}}
		case "stall":
			turn = llmtest.Turn{Parts: []llmtest.Part{{Text: "only the beginning of it"}}, Fault: llmtest.Fault{StallAfterEvents: 4}}
		}
		turn.Events = llmtest.Stop(llm.StopEnd, used)
		if kind == "call" {
			turn.Events = llmtest.Stop(llm.StopToolUse, used)
		}
		if cited != nil {
			turn.Events = append(cited, llmtest.Stop(llm.StopEnd, llm.Usage{Input: 100, Output: 20, WebSearches: 1})...)
		}
		script.Turns = append(script.Turns, turn)
	}
	srv, err := llmtest.Serve(format, script)
	ts.Check(err)
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
	ts.Value("servers").(map[string]*llmtest.Server)[args[0]] = srv
}

// startPage serves a web page where a model is expected: page NAME STATUS sets
// $NAME to its URL.
func startPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: page NAME STATUS")
	}
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<!doctype html>\n<html><head><title>Log in to the network</title></head>\n<body><h1>Welcome</h1></body></html>\n")
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}

// serveFile serves a file: serve NAME FILE sets $NAME to the address of its folder.
func serveFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serve NAME FILE")
	}
	text := ts.ReadFile(args[1])
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}

func modelServer(ts *testscript.TestScript, name string) *llmtest.Server {
	srv := ts.Value("servers").(map[string]*llmtest.Server)[name]
	if srv == nil {
		ts.Fatalf("there is no model %s", name)
	}
	return srv
}

// asked checks what a scripted model was asked: asked NAME N TEXT looks at the
// path, headers and body of request N, counted from 1.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: asked NAME N TEXT")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	raw := modelServer(ts, args[0]).Raw()
	if n > len(raw) {
		ts.Fatalf("%s was asked %d times", args[0], len(raw))
	}
	var head strings.Builder
	ts.Check(raw[n-1].Header.Write(&head))
	all := fmt.Sprintf("%s %s\n%s\n%s", raw[n-1].Method, raw[n-1].URL, strings.ReplaceAll(head.String(), "\r\n", "\n"), raw[n-1].Body)
	if strings.Contains(all, args[2]) == neg {
		ts.Fatalf("request %d holds %q: %v\n%s", n, args[2], !neg, all)
	}
}

// requests checks how often a scripted model was asked: requests NAME N.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: requests NAME N")
	}
	if n := len(modelServer(ts, args[0]).Raw()); strconv.Itoa(n) != args[1] {
		ts.Fatalf("%s was asked %d times, want %s", args[0], n, args[1])
	}
}

// count checks how often a text stands in a request: count NAME N TIMES TEXT.
func count(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: count NAME N TIMES TEXT")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	raw := modelServer(ts, args[0]).Raw()
	if n > len(raw) {
		ts.Fatalf("%s was asked %d times", args[0], len(raw))
	}
	if got := strings.Count(string(raw[n-1].Body), args[3]); strconv.Itoa(got) != args[2] {
		ts.Fatalf("request %d holds %q %d times, want %s\n%s", n, args[3], got, args[2], raw[n-1].Body)
	}
}

// fails runs burin and checks how it fails: fails CODE ARG... wants that exit
// code and exactly one line on standard error, which says that it is burin's.
func fails(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fails CODE ARG...")
	}
	var exit *exec.ExitError
	if err := ts.Exec("burin", args[1:]...); !errors.As(err, &exit) {
		ts.Fatalf("burin did not fail: %v", err)
	}
	if code := strconv.Itoa(exit.ExitCode()); code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
	said := ts.ReadFile("stderr")
	if !strings.HasPrefix(said, "burin: ") || strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, "\n") {
		ts.Fatalf("standard error is not one line of burin's: %q", said)
	}
}

// keep remembers what the last command said: keep NAME sets $NAME to its line.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keep NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// expand writes a file with the script's variables filled in: expand FROM TO.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: expand FROM TO")
	}
	to := ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o700))
	ts.Check(os.WriteFile(to, []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o600))
}

// drawImage writes a PNG: draw FILE WIDTH HEIGHT.
func drawImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: draw FILE WIDTH HEIGHT")
	}
	width, err := strconv.Atoi(args[1])
	ts.Check(err)
	height, err := strconv.Atoi(args[2])
	ts.Check(err)
	row := bytes.Repeat([]byte{200, 30, 90, 255}, width)
	var out bytes.Buffer
	// Without a stride all rows are the same.
	ts.Check((&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, &image.RGBA{Pix: row, Rect: image.Rect(0, 0, width, height)}))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o600))
}

// pictured checks the images that a scripted model was sent: pictured NAME N SIZE... wants
// those of request N, counted from 1, to have these sizes, as in 1568x1568.
func pictured(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: pictured NAME N SIZE...")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	sent := modelServer(ts, args[0]).Requests()
	if n > len(sent) {
		ts.Fatalf("%s was asked %d times", args[0], len(sent))
	}
	var sizes []string
	for _, m := range sent[n-1].Messages {
		for _, b := range m.Content {
			if img, ok := b.(llm.Image); ok {
				c, format, err := image.DecodeConfig(bytes.NewReader(img.Data))
				ts.Check(err)
				if img.MIME != "image/"+format {
					ts.Fatalf("an image of type %s is called %s", format, img.MIME)
				}
				sizes = append(sizes, fmt.Sprintf("%dx%d", c.Width, c.Height))
			}
		}
	}
	if !slices.Equal(sizes, args[2:]) {
		ts.Fatalf("request %d of %s has images of %v, want %v", n, args[0], sizes, args[2:])
	}
}

func writeFile(t *testing.T, path string, content []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
}
