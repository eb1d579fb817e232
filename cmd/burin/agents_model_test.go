package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

// request is what a session or one of its agents asks a [crewModel].
type request struct {
	*llm.Request
	who     string // the agent; "" is the session itself
	turn    int    // that it has had, as the conversation says
	arrived time.Time
}

// summary reports whether a compaction asks for a summary.
func (r request) summary() bool { return len(r.Tools) == 0 }

// text is all that the conversation says.
func (r request) text() string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

// last is the text of the newest message.
func (r request) last() string { return r.Messages[len(r.Messages)-1].Text() }

// crewModel is a scripted model that answers a session and its agents by what they ask: requests
// of agents arrive in any order. It keeps none.
type crewModel struct {
	*httptest.Server
	mu     sync.Mutex
	flying int
	most   int // requests at a time
}

var whoseRequest = regexp.MustCompile(`You are (\S+), a sub-agent`)

// serveCrew serves one. answer is called by several requests at a time; over, if it isn't nil, when
// an answer has ended, with whether all of it was sent.
func serveCrew(t *testing.T, answer func(request) llmtest.Turn, over func(r request, said llmtest.Turn, whole bool)) *crewModel {
	t.Helper()
	format, m := openai.ResponsesServer{}, &crewModel{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived := time.Now()
		m.count(1)
		defer m.count(-1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		decoded, _, err := format.DecodeRequest(r, body)
		if err != nil {
			t.Error(err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		asked := request{Request: decoded, arrived: arrived}
		if found := whoseRequest.FindStringSubmatch(decoded.System); found != nil {
			asked.who = found[1]
		}
		for _, message := range decoded.Messages {
			if message.Role == llm.RoleAssistant {
				asked.turn++
			}
		}
		said, whole := answer(asked), false
		if over != nil {
			defer func() { over(asked, said, whole) }()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		once := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{said}}, format)
		defer once.Close()
		once.ServeHTTP(w, r)
		whole = true
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *crewModel) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flying += n
	m.most = max(m.most, m.flying)
}

// answers is an answer of one text.
func answers(text string) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}, Events: llmtest.Stop(llm.StopEnd, agentUsage)}
}

// calling is an answer that calls tools, each "name arguments".
func calling(text string, all ...string) llmtest.Turn {
	turn := llmtest.Turn{Parts: []llmtest.Part{{Text: text}}, Events: llmtest.Stop(llm.StopToolUse, agentUsage)}
	for i, call := range all {
		name, args, _ := strings.Cut(call, " ")
		turn.Parts = append(turn.Parts, llmtest.Part{Call: name, ID: fmt.Sprintf("call_%d_%d", time.Now().UnixNano(), i), Args: args})
	}
	return turn
}

// agentUsage is what an answer uses.
var agentUsage = llm.Usage{Input: 1000, Output: 100}

// used is an answer that says how large the prompt was.
func used(tokens int, turn llmtest.Turn) llmtest.Turn {
	turn.Events = llmtest.Stop(llm.StopToolUse, llm.Usage{Input: tokens, Output: 100})
	return turn
}

// cost is what an answer costs; a refusal costs nothing.
func cost(turn llmtest.Turn) (sum llm.USD) {
	for _, e := range turn.Events {
		if m := e.Message; m != nil && m.Usage != nil {
			sum += llm.Dollars(float64(m.Usage.Input+m.Usage.Output) / 1e6)
		}
	}
	return sum
}

// crewHome prepares a folder with settings in which the model serves sessions.
func crewHome(t *testing.T, url, config string) (first *exec.Cmd, work string) {
	t.Helper()
	first = command(t)
	models := "providers:\n  box:\n    baseUrl: " + url + "/v1\n    api: openai-responses\n    auth: none\n" +
		"    models: [{id: m, contextWindow: 200000, maxTokens: 8000, cost: {input: 1, output: 1}}]\n"
	work = filepath.Join(first.Dir, "project")
	writeFile(t, filepath.Join(first.Dir, "burin", "models.yml"), []byte(models), 0o600)
	writeFile(t, filepath.Join(first.Dir, "burin", "config.yml"), []byte("modelRoles: {default: box/m}\napproval: full\n"+config), 0o600)
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	return first, work
}

// in is burin in the home of another command.
func in(first *exec.Cmd, bin, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(bin)
	cmd.Args, cmd.Env, cmd.Dir = append([]string{"burin"}, args...), first.Env, dir
	return cmd
}

// startAgents is a call of task with n agents that are named a1, a2 and so on.
func startAgents(n int, more string) string {
	var tasks []string
	for i := range n {
		tasks = append(tasks, fmt.Sprintf(`{"id":"a%d","description":"work number %d","assignment":"Do the work number %d."%s}`, i+1, i+1, i+1, more))
	}
	return `task {"agent":"task","tasks":[` + strings.Join(tasks, ",") + `]}`
}
