package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
)

// brain is a model that does what the last message tells it to.
type brain struct {
	srv *llmtest.Server

	mu     sync.Mutex
	gates  chan chan struct{} // answers that wait
	script []string           // answers that come before all others
	failed map[string]int     // how often a request failed
	over   chan struct{}      // closed at the end
}

func newBrain(t testing.TB) *brain {
	t.Helper()
	b := &brain{gates: make(chan chan struct{}, 100), failed: map[string]int{}, over: make(chan struct{})}
	turns := slices.Repeat([]llmtest.Turn{{Reply: b.reply}}, 1000)
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	b.srv = srv
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(b.over) })
	return b
}

// hold waits until free is called.
func (b *brain) hold() {
	gate := make(chan struct{})
	b.gates <- gate
	select {
	case <-gate:
	case <-b.over:
	}
}

// free lets the answer go on that waits, or that is about to.
func (b *brain) free() { close(<-b.gates) }

// reply does what the last message says: "say WORDS", "call TOOL PATH", "run COMMAND", "ask"
// (the model's own question), "plan" (hands one over), "fail", "fail once", "hold" (never ends), "gate …"
// (begins, and goes on when it is freed).
func (b *brain) reply(r *llm.Request) []llm.Event {
	if events, ok := b.scripted(); ok {
		return events
	}
	used := llm.Usage{Input: 100, Output: 20}
	last := r.Messages[len(r.Messages)-1]
	text := strings.TrimSpace(last.Text())
	for _, block := range last.Content { // what was not answered stands before it
		if t, ok := block.(llm.Text); ok && !strings.HasPrefix(t.Text, "<") {
			text = strings.TrimSpace(t.Text)
		}
	}
	done := func(events []llm.Event, why llm.StopReason) []llm.Event {
		return append(events, llmtest.Stop(why, used)...)
	}
	if last.Role == llm.RoleToolResult {
		return done(llmtest.Say("Done: "+text), llm.StopEnd)
	}
	if rest, ok := strings.CutPrefix(text, "gate "); ok {
		text = rest
		b.hold()
	}
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "say":
		return done(llmtest.Say(rest), llm.StopEnd)
	case "hold":
		<-b.over
	case "call":
		tool, path, _ := strings.Cut(rest, " ")
		return done(llmtest.Call("call_"+tool, tool, fmt.Sprintf(`{"path":%q}`, path)), llm.StopToolUse)
	case "run":
		return done(llmtest.Call("call_bash", "bash", fmt.Sprintf(`{"command":%q}`, rest)), llm.StopToolUse)
	case "ask":
		return done(llmtest.Call("call_ask", "ask", `{"questions":[{"id":"color","question":"Which color?","options":[{"label":"red"},{"label":"blue"}],"recommended":1}]}`), llm.StopToolUse)
	case "plan":
		return done(llmtest.Call("call_plan", "exit_plan", `{"title":"all_of-it","plan":"1. Run touch made."}`), llm.StopToolUse)
	case "result":
		return done(llmtest.Call(fmt.Sprintf("call_result_%d", len(r.Messages)), "result", rest), llm.StopToolUse)
	case "fail":
		b.mu.Lock()
		b.failed[text]++
		n := b.failed[text]
		b.mu.Unlock()
		if rest == "once" && n > 1 {
			return done(llmtest.Say("recovered"), llm.StopEnd)
		}
		e := wire.Sort(529, "overloaded_error", "overloaded")
		return llmtest.Fail(e)
	case "Greet":
		return done(llmtest.Say("Hello "+rest), llm.StopEnd)
	}
	return done(llmtest.Say("SUMMARY of what was said"), llm.StopEnd)
}

// machine is a home with a configuration for the model.
func machine(t testing.TB, b *brain, config string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(self)
	cmd.Args, cmd.Dir = []string{"burin"}, filepath.Join(home, "work")
	cmd.Env = []string{
		"HOME=" + home, "BURIN_HOME=" + filepath.Join(home, "burin"), "BURIN_NO_KEYRING=1", "PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + home, "GORACE=" + noPause, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "BOX_KEY=k",
	}
	for name, text := range map[string]string{
		"burin/config.yml": config,
		"burin/models.yml": fmt.Sprintf(`providers:
  box:
    baseUrl: %s
    api: anthropic-messages
    apiKeyEnv: BOX_KEY
    models:
      - {id: one, name: One, contextWindow: 200000, maxTokens: 8000, input: [text, image], cost: {input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75}}
      - {id: two, contextWindow: 200000, maxTokens: 8000, reasoning: true, cost: {input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25}}
`, b.srv.URL),
		"work/go.mod":                   "module example\n",
		"work/.burin/commands/greet.md": "---\ndescription: Greets somebody\n---\nGreet $1\n",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cmd
}

const rpcConfig = `modelRoles: {default: box/one}
retry: {baseDelayMs: 800, maxRetries: 3}
compaction: {keepRecentTokens: 200}
`

// The pi family's own client runs every one of its methods.
func TestPiClient(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	npm := npmFolder(t)
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	controls := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/free" {
			b.free()
			return
		}
		_, _ = io.WriteString(w, b.sent())
	}))
	t.Cleanup(controls.Close)
	script, err := filepath.Abs("testdata/rpc")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "BURIN_NPM="+npm, "BURIN_BIN="+cmd.Path, "BURIN_CLI="+filepath.Join(script, "cli.js"),
		"BURIN_FREE="+controls.URL+"/free", "BURIN_ASKED="+controls.URL+"/asked")
	node := exec.Command("node", filepath.Join(script, "client.mjs"))
	node.Env, node.Dir = cmd.Env, cmd.Dir
	out, err := node.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
