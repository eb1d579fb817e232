// Package demo shows the program at work without a key or a network: a scripted
// model finds and fixes a bug in a small Go repository. Only the model is
// scripted, and it says so; the wire format, the loop, the tools, the permission
// rules, the sandbox and the session file are those of every day.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

//go:embed repo
var repository embed.FS

// Options of the demo.
type Options struct {
	Out      io.Writer
	Color    bool
	StateDir string // where the session is left
	Home     string
	Pace     time.Duration // between two events of the model; 0 is that of a fast one
}

const (
	question = "A test fails here. Find out why, and fix it."
	answer   = "`Median` sorted its argument in place, so callers found their amounts in another order;\n" +
		"`TestMedianKeepsOrder` caught it. It now sorts a copy (`median.go:12`). All tests pass.\n\n" +
		"(I am a script, not a model. The calls, the edit and the test run were real.)\n"
)

// script is the model's part. What it calls is real, so a call that went wrong
// makes the script end early, with an honest error.
func script(pace time.Duration) llmtest.Script {
	turns := []llmtest.Turn{
		{Parts: []llmtest.Part{
			{Text: "I'll run the tests first."},
			{Call: "bash", Args: `{"command":"go test ./..."}`},
		}},
		{Check: said("TestMedianKeepsOrder"), Parts: []llmtest.Part{
			{Text: "The order of the slice changes. I'll look at who touches it."},
			{Call: "grep", Args: `{"pattern":"func Median|slices\\."}`},
			{Call: "read", Args: `{"path":"median.go"}`},
		}},
		{Check: said("slices.Sort(amounts)"), Parts: []llmtest.Part{
			{Text: "`slices.Sort` sorts the caller's slice. It has to sort a copy."},
			{Call: "edit", Args: `{"path":"median.go","edits":[{"old":"\tslices.Sort(amounts)\n","new":"\tamounts = slices.Clone(amounts)\n\tslices.Sort(amounts)\n"}]}`},
		}},
		{Check: said("Edited median.go"), Parts: []llmtest.Part{
			{Call: "bash", Args: `{"command":"go test ./..."}`},
		}},
		{Check: said("ok"), Parts: []llmtest.Part{{Text: answer}}},
	}
	for i := range turns {
		turns[i].Pace = pace
	}
	return llmtest.Script{Turns: turns}
}

// said checks that the results since the last answer hold the words.
func said(words string) func(*llm.Request) error {
	return func(r *llm.Request) error {
		for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != llm.RoleAssistant; i-- {
			if strings.Contains(r.Messages[i].Text(), words) {
				return nil
			}
		}
		return fmt.Errorf("expected a result with %q", words)
	}
}

// Stage is the demo's repository, and the scripted model beside it, for another face.
type Stage struct {
	Dir      string // of the repository
	URL      string // of the model, which speaks Chat Completions
	Question string // that the script answers
	srv      *llmtest.Server
}

// Close ends the model. The repository stays, to be looked at.
func (s *Stage) Close() { s.srv.Close() }

// SetUp makes the repository and starts the model.
func SetUp(ctx context.Context, pace time.Duration) (*Stage, error) {
	for _, name := range []string{"go", "git"} {
		if _, err := installed.Find(name); err != nil {
			return nil, fmt.Errorf("the demo works on a small Go repository and needs %s: install it, or see burin help", name)
		}
	}
	if pace == 0 {
		pace = 8 * time.Millisecond
	}
	dir, err := makeRepository(ctx)
	if err != nil {
		return nil, fmt.Errorf("create the demo repository: %w", err)
	}
	srv, err := llmtest.Serve(openai.CompletionsServer{}, script(pace))
	if err != nil {
		return nil, fmt.Errorf("start the scripted model: %w", err)
	}
	return &Stage{Dir: dir, URL: srv.URL, Question: question, srv: srv}, nil
}

// Run plays the demo.
func Run(ctx context.Context, o Options) error {
	stage, err := SetUp(ctx, o.Pace)
	if err != nil {
		return err
	}
	defer stage.Close()
	dir, srv := stage.Dir, stage.srv
	fmt.Fprintf(o.Out, "This is a demo: the model is a script on this machine. No key is used and nothing\n"+
		"leaves it. Everything else is real: the tools, the files, the rules.\n\n"+
		"  folder      %s\n  permission  auto-edit, and bash(go test:*) is allowed\n\n> %s\n\n", dir, question)

	printer := print.New(print.Options{Mode: print.Text, Out: o.Out, Steps: o.Out, Color: o.Color})
	ground, err := bench.Open(bench.Options{
		Dir: dir, Allow: []string{"bash(go test:*)"}, StateDir: o.StateDir, UserHome: o.Home,
		Warn: func(line string) { fmt.Fprintf(o.Out, "Note: %s\n", line) },
	})
	if err != nil {
		return err
	}
	s, err := ground.Start(ctx, bench.Session{
		Client:   openai.NewCompletions(openai.CompletionsOptions{Endpoint: wire.Endpoint{BaseURL: srv.URL}}),
		Model:    &llm.Model{ID: "scripted", Provider: "demo", API: llm.APICompletions, ContextWindow: 128_000},
		Approval: "auto-edit", EditEngine: "replace", Emit: printer.Event, Closed: ground.Close,
		Warn: func(line string) { fmt.Fprintf(o.Out, "Note: %s\n", line) },
	})
	if err != nil {
		return errors.Join(err, ground.Close())
	}
	_, err = printer.Run(ctx, s.Handle("demo", false), llm.UserText(question))
	path, kept := s.Path()
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if serr := srv.Err(); serr != nil && ctx.Err() == nil {
		err = fmt.Errorf("the demo went off its script: %w", serr)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "\nWhat was changed:  git -C %s diff\n", dir)
	if kept {
		base := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		fmt.Fprintf(o.Out, "The session:       burin sessions show %s\n", base[strings.LastIndexByte(base, '_')+1:])
	}
	fmt.Fprint(o.Out, "With a real model: export ANTHROPIC_API_KEY=...   (or OPENAI_API_KEY, GEMINI_API_KEY, ...; burin models)\n"+
		"                   burin -p \"fix the failing test\"\n")
	return nil
}

// makeRepository writes the repository to a new temporary folder, with a first
// commit. The folder is left to be looked at.
func makeRepository(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "burin-demo-")
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	files, err := fs.Sub(repository, "repo")
	if err != nil {
		return "", err
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		data, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(e.Name(), ".txt")), data, 0o644); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "."},
		{"-c", "user.name=burin demo", "-c", "user.email=demo@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--no-verify", "-m", "A ledger with a bug"},
	} {
		cmd, err := installed.Command(ctx, nil, "git", args...)
		if err != nil {
			return "", err
		}
		cmd.Dir = dir
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "GIT_") })
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.Join(fmt.Errorf("git %s: %w", args[0], err), errors.New(strings.TrimSpace(string(out))))
		}
	}
	return dir, nil
}
