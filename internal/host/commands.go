package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/bench"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// repository is the folder at or above dir that holds .git; dir if there is none.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// lineTime is how long a shell line of a command may take, and lineOutput how many bytes of
// its output are put into the prompt.
const (
	lineTime   = time.Minute
	lineOutput = 30 << 10
)

// expander makes prompts of texts that call a skill, or begin with the name of a command that is
// a file.
type expander struct {
	host *Host
	desk *session.Desk

	mu  sync.Mutex
	run func(context.Context, bench.Program) (bench.Ended, error) // nil: the session runs no commands
}

// begin is given what runs programs.
func (e *expander) begin(run func(context.Context, bench.Program) (bench.Ended, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.run = run
}

func (e *expander) expand(ctx context.Context, text string) (string, error) {
	if len(text) == 0 || text[0] != '/' {
		return text, nil
	}
	prompt, called, skillErr := e.host.Skills().Expand(text)
	if called && !errors.As(skillErr, new(*skill.UnknownError)) {
		return prompt, skillErr
	}
	expanded, used, err := e.host.commands().Expand(ctx, text, e.line)
	if used == nil && err == nil {
		err = skillErr
	}
	return expanded, err
}

// line runs a shell line of a command. Those of a repository need the person's trust.
func (e *expander) line(ctx context.Context, c *files.Command, line string) (string, error) {
	e.mu.Lock()
	run := e.run
	e.mu.Unlock()
	if run == nil {
		return "", errors.New("its shell lines cannot run in this session")
	}
	if c.Repository() != "" {
		if err := mayRun(ctx, e.host, e.desk, c); err != nil {
			return "", err
		}
	}
	ended, err := run(ctx, bench.Program{Line: line, Timeout: lineTime})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", err
	case ended.TimedOut:
		return "", fmt.Errorf("%q takes longer than %v", prose.Short(line, 80), lineTime)
	}
	out := strings.TrimRight(ended.Stdout, "\n")
	if errors := strings.TrimRight(ended.Stderr, "\n"); errors != "" {
		out = strings.TrimLeft(out+"\n"+errors, "\n")
	}
	if len(out) > lineOutput {
		out = prose.Head(out, lineOutput) + "\n[cut: there is more]"
	}
	if ended.ExitCode != 0 {
		out = strings.TrimLeft(fmt.Sprintf("%s\n[exit code %d]", out, ended.ExitCode), "\n")
	}
	return out, nil
}

// wantedBy is what a command of a repository would run; nil: nothing.
func wantedBy(c *files.Command) (*Wanted, error) {
	lines, err := c.Lines()
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	name, err := filepath.Rel(c.Repository(), c.Path)
	if err != nil {
		return nil, err
	}
	what := "/" + c.Name + ": " + strings.Join(lines, "\n/"+c.Name+": ")
	return &Wanted{
		Item:  trust.Item{Name: filepath.ToSlash(name), What: what, Sum: trust.Sum([]byte(what))},
		Owner: c.Source, Path: c.Path, Project: c.Repository(),
	}, nil
}

// mayRun decides whether the shell lines of a command run: as the person has said, or says
// now.
func mayRun(ctx context.Context, h *Host, desk *session.Desk, c *files.Command) error {
	w, err := wantedBy(c)
	if err != nil || w == nil {
		return err
	}
	states, err := trustList(h).States(w.Project, []trust.Item{w.Item})
	if err != nil {
		return err
	}
	switch w.State = states[0]; w.State {
	case trust.Trusted:
		return nil
	case trust.Refused:
		return fmt.Errorf("you have refused what it runs: burin trust --allow %s changes that", w.Name)
	case trust.Unknown, trust.Changed:
	}
	if desk == nil || !desk.CanAsk() {
		return fmt.Errorf("it runs commands, which you have not trusted: burin trust shows them, and burin trust --allow %s trusts them", w.Name)
	}
	state, err := askOf(ctx, desk, "This command runs, each time you call it:", []Wanted{*w})
	if err != nil {
		return err
	}
	if state != trust.Unknown {
		if err := h.Decide(state, []Wanted{*w}); err != nil {
			return err
		}
	}
	if state != trust.Trusted {
		return errors.New("what it runs is not trusted")
	}
	return nil
}
