package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/bench"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/hook"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/host/mention"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// repository is the folder at or above dir that holds .git; dir if there is none. A folder above
// counts if it belongs to the user, as it does for git: everybody may put a .git into /tmp, with
// instructions for those who work below.
func (h *Host) repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if git, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if folder, err := os.Lstat(at); at == dir || err == nil && ours(git) && ours(folder) {
				return at
			}
			h.stranger.Do(func() {
				h.o.Warn(fmt.Sprintf("%s is a repository of another user: burin reads nothing there, and takes %s for the project", at, dir))
			})
			return dir
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

	mu   sync.Mutex
	run  func(context.Context, bench.Program) (bench.Ended, error) // nil: the session runs no commands
	text string                                                    // expanded last
	used files.Command                                             // as it was read for text
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
	expanded, used, err := e.host.FileCommands().Expand(ctx, text, e.line)
	if used == nil && err == nil {
		err = skillErr
	}
	if used != nil {
		e.mu.Lock()
		e.text, e.used = text, *used
		e.mu.Unlock()
	}
	return expanded, err
}

// turn is what the head of a command that a text calls wants for its turn, with the files that
// its author attaches. Of a repository's command, only what narrows counts before the person
// trusts it.
func (e *expander) turn(ctx context.Context, text string) (*session.Turn, error) {
	if len(text) == 0 || text[0] != '/' {
		return nil, nil
	}
	c, ok := e.called(text)
	if !ok {
		return nil, nil
	}
	t := &session.Turn{}
	for _, name := range c.Tools {
		t.Tools = append(t.Tools, hook.OwnTool(name))
	}
	for _, f := range mention.Find(strings.Join(c.Attached(text), "\n"), e.host.o.Dir) {
		if f.Dir {
			continue // the model looks into folders by itself
		}
		real, err := filepath.EvalSymlinks(f.Path)
		if err != nil {
			e.host.o.Warn(fmt.Sprintf("@%s of the command is not attached: %v", f.Name, err))
			continue
		}
		t.Files = append(t.Files, session.TurnFile{
			Name: f.Name, Paths: slices.Compact([]string{f.Path, real}),
			Read: func() (llm.Block, error) { return Attach(real, f.Name) },
		})
	}
	if c.Repository() != "" && wants(&c) != "" {
		if err := mayRun(ctx, e.host, e.desk, &c); err != nil {
			e.host.o.Warn(fmt.Sprintf("/%s: %s is not used: %v", c.Name, wants(&c), err))
			return t, nil
		}
	}
	if c.Model != "" && !strings.EqualFold(c.Model, "inherit") && !e.unset(c.Model) {
		t.Model = c.Model
	}
	if c.Thinking != "" {
		level, err := llm.ParseLevel(c.Thinking)
		if err != nil {
			return nil, fmt.Errorf("%s: thinking: %w", c.Path, err)
		}
		t.Thinking = level
	}
	t.Allow = rulesOf(c.Allow)
	return t, nil
}

// called is the command that a text calls, as it was read for the prompt: the file may have
// changed since.
func (e *expander) called(text string) (files.Command, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, ok := e.host.FileCommands().Called(text)
	if ok && c.Path == e.used.Path && strings.HasPrefix(text, e.text) { // more texts may follow the call
		c = e.used
	}
	return c, ok
}

// unset reports whether a model is that of a role that isn't set: the session's own model then
// has it.
func (e *expander) unset(selector string) bool {
	models, err := e.host.Models()
	return err == nil && models.Catalog.Resolver.Unset(selector)
}

// wants is what the head of a command changes that may cost more or run more, in words; "" if
// nothing.
func wants(c *files.Command) string {
	var all []string
	for _, x := range []struct{ key, value string }{{"model", c.Model}, {"thinking", c.Thinking}, {"allowed-tools", strings.Join(rulesOf(c.Allow), ", ")}} {
		if x.value != "" {
			all = append(all, x.key+": "+x.value)
		}
	}
	return strings.Join(all, "; ")
}

// rulesOf are the rules that allow what a command of another program lets run without a
// question. What only looks needs none.
func rulesOf(allow []string) (rules []string) {
	for _, a := range allow {
		name, inside, some := strings.Cut(a, "(")
		tool := hook.OwnTool(strings.TrimSpace(name))
		switch tool {
		case "read", "grep", "find", "ls":
			continue
		}
		if !some {
			rules = append(rules, tool)
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(inside), ")"), ",") {
			rules = append(rules, tool+"("+strings.TrimSpace(part)+")")
		}
	}
	return rules
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

// wantedBy is what a command of a repository would run; nil: nothing. What its head allows is
// trusted for its prompt, so another prompt is a new question.
func wantedBy(c *files.Command) (*Wanted, error) {
	lines, err := c.Lines()
	prompt := ""
	if head := wants(c); head != "" && err == nil {
		lines = append(lines, head)
		prompt, err = c.Body()
	}
	if err != nil || len(lines) == 0 {
		return nil, err
	}
	name, err := filepath.Rel(c.Repository(), c.Path)
	if err != nil {
		return nil, err
	}
	what := "/" + c.Name + ": " + strings.Join(lines, "\n/"+c.Name+": ")
	return &Wanted{
		Item:  trust.Item{Name: filepath.ToSlash(name), What: what, Sum: trust.Sum([]byte(what + "\x00" + prompt))},
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
		return fmt.Errorf("you have refused what it uses: burin trust --allow %s changes that", w.Name)
	case trust.Unknown, trust.Changed:
	}
	if desk == nil || !desk.CanAsk() {
		return fmt.Errorf("it uses what you have not trusted: burin trust shows it, and burin trust --allow %s trusts it", w.Name)
	}
	state, err := askOf(ctx, desk, "This command uses, each time you call it:", []Wanted{*w})
	if err != nil {
		return err
	}
	if state != trust.Unknown {
		if err := h.Decide(state, []Wanted{*w}); err != nil {
			return err
		}
	}
	if state != trust.Trusted {
		return errors.New("what it uses is not trusted")
	}
	return nil
}
