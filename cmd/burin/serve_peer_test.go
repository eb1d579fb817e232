package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// side is a server that is measured.
type side struct {
	cmd     *exec.Cmd
	url     string
	list    string // what lists something, which is its first answer
	session string // what makes a session
	id      *regexp.Regexp
	piece   string // that a line with tokens has
	settled string // that a line has when an answer is whole
	stream  func(ids []string) string
	submit  func(id string) (path, body string)
}

var stampWords = regexp.MustCompile(`(?:<|\\u003c)(\d{19})`)

// burin serve and opencode serve do the same: answers of a scripted model in many sessions, which one client follows. It
// needs the program of the package opencode-ai, and says figures, for docs/peers.md.
func TestBudgetPeer(t *testing.T) {
	program := os.Getenv("BURIN_OPENCODE")
	if program == "" || runtime.GOOS != "linux" {
		t.Skip("compares burin serve with another program: set BURIN_OPENCODE to the program of opencode, and BURIN_BUDGETS=1")
	}
	sides := map[string]func(t *testing.T, model string) *side{
		"burin":    func(t *testing.T, model string) *side { return burinSide(t, release(t), model) },
		"opencode": func(t *testing.T, model string) *side { return openCodeSide(t, program, model) },
	}
	for _, sessions := range []int{20, 100} {
		for _, name := range []string{"burin", "opencode"} {
			t.Run(fmt.Sprint(name, " ", sessions), func(t *testing.T) {
				var sent atomic.Int64
				sides[name](t, stamps(t, &sent).URL).measure(t, sessions)
			})
		}
	}
}

func burinSide(t *testing.T, bin, model string) *side {
	first := command(t)
	work := filepath.Join(first.Dir, "project")
	writeFile(t, filepath.Join(work, "a.txt"), []byte("a\n"), 0o644)
	writeFile(t, filepath.Join(first.Dir, "burin", "models.yml"), []byte("providers:\n  box:\n    baseUrl: "+model+"/v1\n    api: openai-completions\n    auth: none\n    models: [{id: m, contextWindow: 200000, maxTokens: 8000, cost: {input: 1, output: 1}}]\n"), 0o600)
	writeFile(t, filepath.Join(first.Dir, "burin", "config.yml"), []byte("modelRoles: {default: box/m}\n"), 0o600)
	at := peerPort(t)
	cmd := in(first, bin, work, "serve", "--addr", at)
	cmd.Env = append(cmd.Env, tokenVariable+"="+testToken)
	return &side{
		cmd: cmd, url: "http://" + at, list: "/v1/projects", piece: `"type":"text_delta"`, settled: `"type":"agent_settled"`,
		session: "/v1/chats", id: regexp.MustCompile(`"id":"([^"]+)"`),
		stream: func(ids []string) string { return "/v1/events?session=" + strings.Join(ids, "&session=") },
		submit: func(id string) (path, body string) {
			return "/v1/sessions/" + id + "/submit", `{"message":{"role":"user","content":"go"}}`
		},
	}
}

func openCodeSide(t *testing.T, bin, model string) *side {
	home := t.TempDir()
	config := filepath.Join(home, "opencode.json")
	writeFile(t, config, []byte(`{"autoupdate":false,"share":"disabled","model":"box/m","small_model":"box/m","agent":{"title":{"disable":true}},
		"provider":{"box":{"npm":"@ai-sdk/openai-compatible","name":"box","options":{"baseURL":"`+model+`/v1","apiKey":"k"},"models":{"m":{"name":"m","limit":{"context":200000,"output":8000}}}}}}`), 0o600)
	work := filepath.Join(home, "work")
	writeFile(t, filepath.Join(work, "a.txt"), []byte("a\n"), 0o644)
	at := peerPort(t)
	cmd := exec.Command(bin, "serve", "--port", at[strings.LastIndexByte(at, ':')+1:])
	cmd.Dir = work
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OPENCODE_CONFIG=" + config, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	}
	return &side{
		cmd: cmd, url: "http://" + at, list: "/session", piece: `"type":"message.part.delta"`, settled: `"type":"session.idle"`,
		session: "/session", id: regexp.MustCompile(`"id":"([^"]+)"`),
		stream: func([]string) string { return "/event" },
		submit: func(id string) (path, body string) {
			return "/session/" + id + "/prompt_async", `{"model":{"providerID":"box","modelID":"m"},"parts":[{"type":"text","text":"go"}]}`
		},
	}
}

func peerPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ask asks, and gives the answer; "" is that it didn't succeed.
func (s *side) ask(c *http.Client, verb, path, body string) string {
	r, err := http.NewRequest(verb, s.url+path, strings.NewReader(body))
	if err != nil {
		return ""
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.Do(r)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		return ""
	}
	return string(data) + " "
}

// measure says figures of a side with so many sessions.
func (s *side) measure(t *testing.T, sessions int) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.cmd.Process.Kill(), s.cmd.Wait() })
	first := &http.Client{Timeout: 2 * time.Second} // opencode never answers what it was asked while it starts
	for s.ask(first, "GET", s.list, "") == "" {
		if time.Since(began) > time.Minute {
			t.Fatal("it doesn't start")
		}
		<-time.After(2 * time.Millisecond)
	}
	started := time.Since(began)
	<-time.After(5 * time.Second)
	pid := s.cmd.Process.Pid
	idle, _ := procMemory(pid, "VmRSS:")
	before := cpuTime(t, pid)
	<-time.After(5 * time.Second)
	idleCPU := cpuTime(t, pid) - before
	ids := make([]string, sessions)
	for i := range ids {
		found := s.id.FindStringSubmatch(s.ask(client, "POST", s.session, "{}"))
		if found == nil {
			t.Fatal("no session")
		}
		ids[i] = found[1]
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+s.stream(ids), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	answer, err := client.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	defer answer.Body.Close()
	var all sync.WaitGroup
	var delays []time.Duration
	before = cpuTime(t, pid)
	mine := cpuTime(t, os.Getpid())
	began = time.Now()
	all.Go(func() {
		late := time.AfterFunc(5*time.Minute, func() { answer.Body.Close() })
		defer late.Stop()
		in := bufio.NewReaderSize(answer.Body, 1<<20)
		for settled := 0; settled < sessions; {
			line, err := in.ReadBytes('\n')
			now := time.Now().UnixNano()
			if err != nil {
				t.Errorf("%d of %d are settled: %v", settled, sessions, err)
				return
			}
			if bytes.Contains(line, []byte(s.settled)) {
				settled++
			}
			if bytes.Contains(line, []byte(s.piece)) {
				for _, stamp := range stampWords.FindAllSubmatch(line, -1) {
					if n, err := strconv.ParseInt(string(stamp[1]), 10, 64); err == nil {
						delays = append(delays, time.Duration(now-n))
					}
				}
			}
		}
	})
	for _, id := range ids {
		all.Go(func() {
			path, body := s.submit(id)
			if s.ask(client, "POST", path, body) == "" {
				t.Errorf("%s was refused", path)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	most, _ := procMemory(pid, "VmHWM:")
	slices.Sort(delays)
	if len(delays) == 0 {
		t.Fatal("no tokens came")
	}
	p := func(part float64) time.Duration {
		return delays[int(float64(len(delays)-1)*part)].Round(100 * time.Microsecond)
	}
	t.Logf("first answer after %d ms; idle %.0f MB, %v of CPU in 5 s; %d sessions in %.1f s (10 of them the model): %d tokens, delay p50 %v, p99 %v, most %v; %.1f s of CPU, %.0f MB at most; the generator %.1f s of CPU",
		started.Milliseconds(), float64(idle)/(1<<20), idleCPU, sessions, took.Seconds(), len(delays), p(0.5), p(0.99), p(1), (cpuTime(t, pid) - before).Seconds(), float64(most)/(1<<20), (cpuTime(t, os.Getpid()) - mine).Seconds())
}
