package host_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/crew/task"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/session"
)

func TestMain(m *testing.M) {
	bench.Main() // commands have guards, which are this program again
	// The first command of a session reads the start-up files there: those of whoever runs the
	// tests may take seconds.
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("HOME", home); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

// said is a request of a session or of an agent.
type said struct {
	who  string // "" is the session itself
	last string // the text of the last message
	turn int    // answers so far
	*llm.Request
}

var whose = regexp.MustCompile(`You are (\S+), a sub-agent`)

// brain answers requests by what they say. It may be called for several at a time.
type brain struct {
	t      testing.TB
	answer func(said) []llm.Event
	// forgets says that no request is kept, so that the memory of a test is that of sessions.
	forgets bool

	mu    sync.Mutex
	heard []said
}

// turns are the script of a model with that brain.
func (b *brain) reply(r *llm.Request) []llm.Event {
	s := said{Request: r}
	if found := whose.FindStringSubmatch(r.System); found != nil {
		s.who = found[1]
	}
	for _, m := range r.Messages {
		if m.Role == llm.RoleAssistant {
			s.turn++
		}
	}
	s.last = r.Messages[len(r.Messages)-1].Text()
	if !b.forgets {
		b.mu.Lock()
		b.heard = append(b.heard, s)
		b.mu.Unlock()
	}
	events := b.answer(s)
	if events == nil {
		events = llmtest.Say("nothing to say")
	}
	return append(events, llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1000, Output: 100})...)
}

// requests are those of an agent, or of the session.
func (b *brain) requests(who string) (all []said) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.heard {
		if s.who == who {
			all = append(all, s)
		}
	}
	return all
}

// office is a session that agents work for.
type office struct {
	*session.Session
	*brain
	host   *host.Host
	dir    string
	handle session.Handle
	end    func()
}

type officeOptions struct {
	settings string
	change   func(*host.Session)
	home     string // "": a new one
	forgets  bool   // the model keeps no requests
}

// opened opens a session with agents.
func opened(t testing.TB, o officeOptions, answer func(said) []llm.Event) *office {
	t.Helper()
	b := &brain{t: t, answer: answer, forgets: o.forgets}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{{Reply: b.reply}}}, openai.ResponsesServer{})
		defer once.Close()
		once.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	home := cmp.Or(o.home, t.TempDir())
	dir := filepath.Join(home, "project")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "burin"), 0o755); err != nil {
		t.Fatal(err)
	}
	models := "providers:\n  box:\n    baseUrl: " + srv.URL + "/v1\n    api: openai-responses\n    auth: none\n" +
		"    models: [{id: m, contextWindow: 200000, maxTokens: 8000, cost: {input: 1, output: 1}}]\n"
	for name, text := range map[string]string{"models.yml": models, "config.yml": "modelRoles: {default: box/m}\n" + o.settings} {
		if err := os.WriteFile(filepath.Join(home, "burin", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	place := filepath.Join(home, "burin")
	h, err := host.New(host.Options{
		Paths: config.Paths{Config: place, Data: place, Cache: place, State: place}, Dir: dir, Getenv: func(string) string { return "" },
		Warn: func(s string) { t.Log(s) },
	})
	if err != nil {
		t.Fatal(err)
	}
	so := host.Session{Session: bench.Session{Approval: "full"}, Ground: bench.Options{Environ: []string{}, UserHome: home}}
	if o.change != nil {
		o.change(&so)
	}
	s, err := h.Open(t.Context(), so)
	if err != nil {
		t.Fatal(err)
	}
	of := &office{Session: s, brain: b, host: h, dir: dir, handle: s.Face("test", false)}
	of.end = sync.OnceFunc(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(of.end)
	return of
}

// prompt has the session answer.
func (o *office) prompt(text string) agent.Outcome {
	o.t.Helper()
	return o.Prompt(o.t.Context(), llm.UserText(text))
}

// tasks calls the tool task.
func tasks(kind string, background bool, assignments ...string) []llm.Event {
	return taskCall(kind, background, false, assignments)
}

func taskCall(kind string, background, isolated bool, assignments []string) []llm.Event {
	var list []map[string]any
	for _, a := range assignments {
		id, text, _ := strings.Cut(a, ": ")
		list = append(list, map[string]any{"id": id, "assignment": text})
		if isolated {
			list[len(list)-1]["isolated"] = true
		}
	}
	args, _ := json.Marshal(map[string]any{"agent": kind, "tasks": list, "background": background}) // nothing in it can fail
	return llmtest.Call("call-"+kind, "task", string(args))
}

func (o *office) agents() []session.Agent {
	o.t.Helper()
	all, err := o.handle.Agents().List(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return all
}

// results are the details of the last result of task.
func (o *office) results(out agent.Outcome) []task.Report {
	o.t.Helper()
	for i := range out.Messages {
		m := out.Messages[len(out.Messages)-1-i]
		if m.ToolName == "task" || m.CustomType == "agent_result" {
			var d task.Details
			if err := json.Unmarshal(m.Details, &d); err != nil {
				o.t.Fatal(err)
			}
			return d.Agents
		}
	}
	o.t.Fatal("no result of task")
	return nil
}

// Agents of one call work at the same time, each with a conversation and a file of its own; their
// results come in the order of the call, and their cost is the session's.
func TestAgentsWorkTogether(t *testing.T) {
	var gate sync.WaitGroup
	gate.Add(3)
	o := opened(t, officeOptions{}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			gate.Done()
			gate.Wait() // none ends before all have begun
			return llmtest.Say("result of " + s.who)
		case s.turn == 0:
			return tasks("task", false, "one: do one", "two: do two", "three: do three")
		}
		return llmtest.Say("all done")
	})
	out := o.prompt("go")
	if out.Err != nil || final(out) != "all done" {
		t.Fatalf("%q, %v", final(out), out.Err)
	}
	got := o.results(out)
	for i, id := range []string{"one", "two", "three"} {
		if r := got[i]; r.ID != id || r.State != "done" || r.Output != "result of "+id || r.Requests != 1 {
			t.Errorf("report %d: %+v", i, r)
		}
	}
	stats := o.Facts().Stats
	if stats.Requests != 5 || stats.Cost != 5*llm.Dollars(0.0011) {
		t.Errorf("the session has cost %v for %d requests", stats.Cost, stats.Requests)
	}
	for _, a := range o.agents() {
		if a.State != session.AgentIdle || a.Cost != llm.Dollars(0.0011) || a.Path == "" {
			t.Errorf("%+v", a)
		}
		if _, err := os.Stat(a.Path); err != nil {
			t.Error(err)
		}
	}
	// The prefix of the session's requests is what it was.
	all := o.requests("")
	if all[0].System != all[1].System {
		t.Error("the system prompt changed")
	}
}

// What an agent asks is asked at the session's desk, with its name, and a grant holds for all.
func TestAgentsAskThePerson(t *testing.T) {
	desk := session.NewDesk(session.DeskOptions{})
	desk.Attend()
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Approval, s.Desk = "ask", desk }}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			return llmtest.Call("w", "write", `{"path":"`+s.who+`.txt","content":"hello"}`)
		case s.who != "":
			return llmtest.Say("written")
		case s.turn == 0:
			return tasks("task", false, "writer: write it")
		}
		return llmtest.Say("end")
	})
	go func() {
		for e := range o.Events(context.Background()) {
			if q, ok := e.Data.(*session.Question); ok {
				if q.From != "writer" {
					t.Errorf("the question is from %q", q.From)
				}
				if _, err := os.Stat(filepath.Join(o.dir, "writer.txt")); err == nil {
					t.Error("it was written before anybody had agreed")
				}
				_ = desk.Answer(q.ID, session.Allow(), "test")
			}
		}
	}()
	out := o.prompt("go")
	if r := o.results(out)[0]; r.State != "done" {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "writer.txt")); err != nil {
		t.Fatal(err)
	}
	// The undo of the session's turn covers what its agent wrote.
	turns, err := o.handle.Changes().Turns(t.Context())
	if err != nil || len(turns) != 1 {
		t.Fatalf("%+v, %v", turns, err)
	}
	if _, err := o.handle.Changes().Undo(t.Context(), turns[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.dir, "writer.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the undo it is there: %v", err)
	}
}

// Where nobody can be asked, an agent's call is refused like the session's own.
func TestAgentsAreNotAllowedMore(t *testing.T) {
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Approval = "ask" }}, func(s said) []llm.Event {
		switch {
		case s.who != "" && s.turn == 0:
			return llmtest.Call("w", "write", `{"path":"a.txt","content":"hello"}`)
		case s.who != "":
			return llmtest.Say("it said: " + s.last)
		case s.turn == 0:
			return tasks("task", false, "writer: write it")
		}
		return llmtest.Say("end")
	})
	o.prompt("go")
	if _, err := os.Stat(filepath.Join(o.dir, "a.txt")); err == nil {
		t.Error("it was written")
	}
	names := o.requests("writer")[0].Tools
	for _, tool := range names {
		if tool.Name == "todo" || tool.Name == "exit_plan" {
			t.Errorf("the agent has %s", tool.Name)
		}
	}
}

// The ceiling of a session holds for all that work for it: at most what was under way when it was
// reached is spent beyond it.
func TestAgentsUnderOneCeiling(t *testing.T) {
	const agents = 32
	var mu sync.Mutex
	flying, most := 0, 0
	o := opened(t, officeOptions{change: func(s *host.Session) { s.MaxCost = llm.Dollars(0.05) }}, func(s said) []llm.Event {
		mu.Lock()
		flying++
		most = max(most, flying)
		mu.Unlock()
		defer func() {
			mu.Lock()
			flying--
			mu.Unlock()
		}()
		switch {
		case s.who != "":
			return llmtest.Call(fmt.Sprint("c", s.turn), "ls", `{}`) // for ever
		case s.turn == 0:
			var list []string
			for i := range agents {
				list = append(list, fmt.Sprintf("a%d: look", i))
			}
			return tasks("task", false, list...)
		}
		return llmtest.Say("end")
	})
	out := o.prompt("go")
	if !errors.Is(out.Err, session.ErrBudget) {
		t.Errorf("%v", out.Err)
	}
	spent := o.Facts().Stats.Cost
	if over := spent - llm.Dollars(0.05); over < 0 || over > llm.USD(agents)*llm.Dollars(0.0011) {
		t.Errorf("%v were spent of $0.05", spent)
	}
	for _, a := range o.agents() {
		if !strings.Contains(a.Error, "cost limit") {
			t.Errorf("%s: %q", a.ID, a.Error)
		}
	}
}

// In the background a call returns at once. A face that goes with the turn waits for the results;
// one that stays is woken.
func TestAgentsInTheBackground(t *testing.T) {
	for _, wakes := range []bool{false, true} {
		t.Run(fmt.Sprintf("wakes %v", wakes), func(t *testing.T) {
			release := make(chan struct{})
			o := opened(t, officeOptions{change: func(s *host.Session) { s.Wakes = wakes }}, func(s said) []llm.Event {
				switch {
				case s.who != "":
					<-release
					return llmtest.Say("the late result")
				case s.turn == 0:
					return tasks("task", true, "slow: take long")
				case strings.Contains(s.last, "works in the background"):
					if !wakes {
						close(release)
					}
					return llmtest.Say("meanwhile")
				}
				return llmtest.Say("I read: " + s.last)
			})
			out := o.prompt("go")
			if wakes {
				if final(out) != "meanwhile" {
					t.Fatalf("%q", final(out))
				}
				feed := o.handle.Events(session.Cursor{})
				close(release)
				for {
					e, err := feed.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if e.Type == agent.AgentEnd {
						out = *e.Outcome
						break
					}
				}
			}
			if !strings.Contains(final(out), "the late result") {
				t.Errorf("%q", final(out))
			}
		})
	}
}

// Who closes a session is told which agents end with it; those that are done are not among them.
func TestAgentsThatEndWithTheSession(t *testing.T) {
	stall := make(chan struct{})
	defer close(stall)
	var mu sync.Mutex
	var warned []string
	o := opened(t, officeOptions{change: func(s *host.Session) {
		s.Wakes = true
		s.Warn = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			warned = append(warned, line)
		}
	}}, func(s said) []llm.Event {
		switch {
		case s.who == "slow":
			<-stall
		case s.who != "":
			return llmtest.Say("done")
		case s.turn == 0:
			return tasks("task", false, "quick: be quick")
		case s.turn == 1:
			return tasks("task", true, "slow: take long")
		}
		return llmtest.Say("meanwhile")
	})
	o.prompt("go")
	o.end()
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(warned, "stopped with the session: agent slow (take long)") {
		t.Errorf("%q", warned)
	}
}

// A session that was killed says what its agents had done, and their cost is still there.
func TestAgentsOfAResumedSession(t *testing.T) {
	home := t.TempDir()
	stall := make(chan struct{})
	first := opened(t, officeOptions{home: home}, func(s said) []llm.Event {
		switch {
		case s.who == "slow" && s.turn == 0:
			return append(llmtest.Say("I look first."), llmtest.Call("l", "ls", `{}`)...)
		case s.who == "slow":
			<-stall
		case s.who != "":
			return llmtest.Say(s.who + " is done")
		case s.turn == 0:
			return tasks("task", true, "slow: take long", "quick: be quick")
		}
		<-stall // so that the result of quick waits to be read
		return llmtest.Say("end")
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { first.Prompt(ctx, llm.UserText("go")); close(done) }()
	quick := func() bool {
		all := first.agents()
		return len(all) == 2 && all[1].State == session.AgentIdle
	}
	for len(first.requests("slow")) < 2 || !quick() {
		select {
		case <-t.Context().Done():
			t.Fatal("the agent did not get there")
		case <-time.After(time.Millisecond):
		}
	}
	path := first.Facts().Path
	spent := first.Facts().Stats
	cancel()
	first.end()
	close(stall)
	<-done
	second := opened(t, officeOptions{home: home, change: func(s *host.Session) { s.Resume = path }}, func(s said) []llm.Event {
		return llmtest.Say("so it is")
	})
	if now := second.Facts().Stats; now.Cost != spent.Cost || now.Requests < spent.Requests {
		t.Errorf("cost %v of %d requests, before %v of %d", now.Cost, now.Requests, spent.Cost, spent.Requests)
	}
	second.prompt("what now?")
	text := fmt.Sprint(second.requests("")[0].Messages)
	for _, want := range []string{"slow (task): take long; it had made", "I look first.", "quick (task): be quick; it had made 1 request", "you have not read its result: agent://quick"} {
		if !strings.Contains(text, want) {
			t.Errorf("the model does not read %q in %s", want, text)
		}
	}
	// It can be asked to go on.
	h, err := second.handle.Agents().Open(t.Context(), "slow", "test", false)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := h.Conversation().Submit(t.Context(), session.Input{Message: llm.UserText("go on")})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.Conversation().Wait(t.Context(), r.ID); err != nil || final(out) != "so it is" {
		t.Errorf("%q, %v", final(out), err)
	}
	if all := second.requests("slow"); len(all) != 1 || !strings.Contains(fmt.Sprint(all[0].Messages), "I look first.") {
		t.Error("it does not know what it did")
	}
	h.Close()
	second.end()
	third := opened(t, officeOptions{home: home, change: func(s *host.Session) { s.Resume = path }}, func(s said) []llm.Event { return nil })
	third.prompt("and now?")
	if text := fmt.Sprint(third.requests("")[0].Messages); strings.Count(text, "agent://quick") != 1 {
		t.Errorf("what was read is told again: %s", text)
	}
}

// final is what the model said last.
func final(out agent.Outcome) string {
	for i := range out.Messages {
		if m := out.Messages[len(out.Messages)-1-i]; m.Role == llm.RoleAssistant {
			return m.Text()
		}
	}
	return ""
}

// A secret that the model passes on reaches neither the agent nor what is kept of it.
func TestAgentsReadNoSecrets(t *testing.T) {
	const secret = "hunter2-and-more-of-it-4711"
	var placeholder string
	o := opened(t, officeOptions{change: func(s *host.Session) { s.Ground.Environ = []string{"MY_API_KEY=" + secret} }}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			return llmtest.Say("I read " + s.last)
		case s.turn == 0:
			placeholder = s.last
			return tasks("task", false, "one: use "+placeholder)
		}
		return nil
	})
	o.prompt(secret)
	if placeholder == secret || placeholder == "" {
		t.Fatalf("the model reads %q", placeholder)
	}
	for _, s := range o.requests("one") {
		if strings.Contains(fmt.Sprint(s.Request), secret) || !strings.Contains(s.last, placeholder) {
			t.Errorf("the agent reads %q", s.last)
		}
	}
	found := 0
	err := filepath.WalkDir(filepath.Join(filepath.Dir(o.dir), "burin"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s holds the secret", path)
		}
		if strings.Contains(string(text), placeholder) {
			found++
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d files with the placeholder, %v", found, err)
	}
}

// What an agent has handed over is behind agent://, whole or a field of it, and what it did behind
// history://.
func TestAgentAddresses(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "burin/agents/finder.md"), "---\nname: finder\ndescription: d\noutput: {properties: {findings: {elements: {properties: {file: {type: string}}}}}}\n---\nFind.\n")
	whole := `{"findings":[{"file":"a.go"},{"file":"b.go"}]}`
	addresses := [][2]string{
		{"agent://", "agent://one  finder  idle"},
		{"agent://one", whole},
		{"agent://one/findings/1/file", "b.go"},
		{"agent://one?q=findings.1.file", "b.go"},
		{"agent://one?q=findings[0].file", "a.go"},
		{"agent://one/findings?q=0", "give either a path or ?q=, not both"},
		{"agent://one/nothing", `there is no field "nothing"`},
		{"agent://one:1-1", "1|" + whole},
		{"agent://nobody", "no such agent; agent:// lists them"},
		{"history://one", "find it"},
	}
	o := opened(t, officeOptions{home: home}, func(s said) []llm.Event {
		switch {
		case s.who != "":
			return llmtest.Call("result-1", "result", whole)
		case s.turn == 0:
			return tasks("finder", false, "one: find it")
		case s.turn <= len(addresses):
			return llmtest.Call(fmt.Sprint("read-", s.turn), "read", `{"path":"`+addresses[s.turn-1][0]+`"}`)
		case s.turn == len(addresses)+1:
			return llmtest.Call("grep-1", "grep", `{"path":"agent://one","pattern":"b[.]go"}`)
		}
		return nil
	})
	if out := o.prompt("go"); out.Err != nil {
		t.Fatal(out.Err)
	}
	all := o.requests("")
	for i, a := range addresses {
		if got := all[i+2].last; !strings.Contains(got, a[1]) {
			t.Errorf("%s: %q, want %q", a[0], got, a[1])
		}
	}
	if got := all[len(addresses)+2].last; !strings.Contains(got, whole) {
		t.Errorf("a search finds %q", got)
	}
}

// Agents know what the session's project remembers. Their own sessions are not read for it: they
// aren't listed.
func TestAgentsShareMemory(t *testing.T) {
	o := opened(t, officeOptions{settings: "memory: {backend: local}\n"}, func(s said) []llm.Event {
		if s.who == "" && s.turn == 0 {
			return tasks("task", false, "one: do one")
		}
		return nil
	})
	m, err := o.host.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Add("The quince is ripe.", false); err != nil {
		t.Fatal(err)
	}
	if out := o.prompt("go"); out.Err != nil {
		t.Fatal(out.Err)
	}
	if all := o.requests("one"); len(all) == 0 || !strings.Contains(all[0].System, "The quince is ripe.") {
		t.Error("the agent does not know what is remembered")
	}
	a, err := o.host.Archive(nil)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := a.List(t.Context(), "", 10); err != nil || len(list) != 1 {
		t.Errorf("listed: %+v, %v", list, err)
	}
}
