package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

var updateSetups = flag.Bool("update", false, "rewrite golden files")

// setups is the home and the project of somebody who has used eleven programs.
type setups struct {
	t             *testing.T
	home, project string
}

func newSetups(t *testing.T) *setups {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the hooks are lines of sh")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &setups{t, filepath.Join(dir, "home"), filepath.Join(dir, "project")}
	for _, name := range []string{"home", "project"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("testdata", "setups", name))); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(s.project, ".git", "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
	return s
}

// burin runs burin in the project.
func (s *setups) burin(args ...string) (stdout, stderr string, err error) {
	s.t.Helper()
	cmd := command(s.t, args...)
	cmd.Dir = s.project
	for i, v := range cmd.Env {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "HOME":
			cmd.Env[i] = "HOME=" + s.home
		case "BURIN_HOME":
			cmd.Env[i] = "BURIN_HOME=" + filepath.Join(s.home, ".burin")
		}
	}
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=sk-ant-0123456789")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// doctor is what burin doctor says about the setups.
func (s *setups) doctor(args ...string) string {
	s.t.Helper()
	out, errs, err := s.burin(append([]string{"doctor"}, args...)...)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, errs)
	}
	return strings.ReplaceAll(strings.ReplaceAll(out, s.project, "PROJECT"), s.home, "HOME")
}

func (s *setups) golden(name, got string) {
	s.t.Helper()
	file := filepath.Join("testdata", "setups", name)
	if *updateSetups {
		writeFile(s.t, file, []byte(got), 0o644)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// What burin takes from eleven programs, from which file, and why not the rest, is told as a text
// and as data. Looking runs nothing.
func TestSetupsDoctor(t *testing.T) {
	t.Parallel()
	s := newSetups(t)
	all := s.doctor()
	at := strings.Index(all, "\nok       agents-md ")
	if at < 0 {
		t.Fatal(all)
	}
	// Lines are folded by the length of the folder's name.
	folded := regexp.MustCompile(`\n {19,}`)
	s.golden("doctor.txt", folded.ReplaceAllString(all[at+1:], " "))

	var report struct {
		Sources json.RawMessage `json:"sources"`
	}
	if err := json.Unmarshal([]byte(s.doctor("--json")), &report); err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, report.Sources, "", " "); err != nil {
		t.Fatal(err)
	}
	s.golden("doctor.json", indented.String()+"\n")
	if ran, _ := filepath.Glob(filepath.Join(s.project, "hooks-*")); ran != nil {
		t.Errorf("looking ran %q", ran)
	}
}

// ask runs a prompt with the answers of a model and gives the last request of each.
func (s *setups) ask(prompt string, turns ...llmtest.Turn) []llm.Request {
	s.t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		s.t.Fatal(err)
	}
	defer srv.Close()
	_, errs, err := s.burin("-p", prompt, "--model", "anthropic/m", "--base-url", srv.URL, "--approval", "full")
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", prompt, err, errs)
	}
	var all []llm.Request
	for _, r := range srv.Requests() {
		all = append(all, *r)
	}
	return all
}

// Everything that was found works: it is in the requests, and hooks run once they are trusted.
func TestSetupsWork(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := newSetups(t)
	done := llmtest.Turn{Parts: []llmtest.Part{{Text: "done"}}, Events: llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1})}
	call := func(name, args string) llmtest.Turn {
		return llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
			return llmtest.Message(llm.Message{StopReason: llm.StopToolUse, Content: []llm.Block{llm.ToolCall{ID: "c", Name: name, Arguments: args}}})
		}}
	}
	if _, errs, err := s.burin("trust", "--allow"); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}

	for _, file := range []string{"api/x.go", "web/x.tsx", "web/x.css", "x.py", "x_test.go"} {
		writeFile(t, filepath.Join(s.project, filepath.FromSlash(file)), []byte("x\n"), 0o644)
	}
	requests := s.ask("hello", call("bash", `{"command":"echo ran"}`), call("read", `{"path":"api/x.go"}`), call("read", `{"path":"web/x.tsx"}`),
		call("read", `{"path":"web/x.css"}`), call("read", `{"path":"x.py"}`), call("read", `{"path":"x_test.go"}`), done)
	system := requests[0].System
	for _, want := range []string{
		"Build with make.", "The server is in api/", "My sandbox is", "I prefer small commits.", // AGENTS.md, Claude Code
		"use pnpm", "two spaces", "comments are sentences", "wrap errors", "the house style", // Cursor, Windsurf, Copilot, opencode, VS Code
		"Error messages name what to do.", "No new dependencies.", "Names are whole words.", "never force a push",
		"run the tests before you finish", "I use a dark theme", // rules that always apply
		"backend/sql: How queries are written",     // Cursor, by description
		"release-notes", "migrations", "profiling", // skills
	} {
		if !strings.Contains(system, want) {
			t.Errorf("the system prompt lacks %q", want)
		}
	}
	for _, hidden := range []string{"think before you edit", "style guide is", "answer in English", "be brief", "switched off", "Only when somebody asks", "say when you guess"} {
		if strings.Contains(system, hidden) {
			t.Errorf("the system prompt has %q, which another file hides", hidden)
		}
	}
	var text strings.Builder
	for _, m := range requests[len(requests)-1].Messages {
		text.WriteString(m.Text() + "\n")
	}
	for _, want := range []string{
		"The ticket is T-17.",                                       // a hook of the start
		"Every handler has a timeout.", "Components are functions.", // rules with files: Claude Code, Cursor
		"no important", "types everywhere", "Tests are tables.", "without scripts", // VS Code, Copilot, Windsurf, Cline
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the conversation lacks %q\n%s", want, text.String())
		}
	}
	for _, program := range []string{"claude", "codex", "gemini", "cursor"} {
		if log, err := os.ReadFile(filepath.Join(s.project, "hooks-"+program+".log")); err != nil || !bytes.Contains(log, []byte("echo ran")) {
			t.Errorf("the hook of %s did not see the call: %s, %v", program, log, err)
		}
	}

	for prompt, want := range map[string]string{
		"/review the parser": "Review the parser for mistakes.", "/git:state": "guides", "/standup": "Say what was done", // Claude Code
		"/explain main.go": "Explain main.go to a newcomer.", "/fix": "Find the failing test", // Codex, Cursor
		"/test:unit Parse": "Write a unit test for Parse.", "/outline it": "Outline it without doing it.", // Gemini
		"/release v2": "1. Tag v2.", "/ship": "Cline: ship the branch.", // Windsurf, Cline
		"/changelog": "since the last tag", "/tidy": "VS Code: tidy", // Copilot, VS Code
		"/lint web": "run the linter on web", "/hunt web": "hunt the bug in web", "/why now": "pi: why now?", // opencode, the pi family
		"/skill:release-notes": "newest first", "/skill:migrations": "Number them", "/skill:profiling": "Measure first.",
	} {
		requests := s.ask(prompt, done)
		if last := requests[0].Messages[len(requests[0].Messages)-1].Text(); !strings.Contains(last, want) {
			t.Errorf("%s sends %q, not %q", prompt, last, want)
		}
	}

	// A rule of oh-my-pi watches what the model writes.
	requests = s.ask("write it", call("write", `{"path":"n.txt","content":"TODO later"}`), done)
	last := requests[len(requests)-1].Messages
	if !strings.Contains(last[len(last)-1].Text(), "Leave no TODO behind.") {
		t.Error("the rule about TODO did not come")
	}
}
