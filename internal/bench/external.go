package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/external"
	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript/place"
)

// External is another agent that answers in place of a model.
type External struct {
	Name    string   // for people; no spaces or slashes
	Command []string // its program and arguments; a program without a slash is looked for in PATH
	// Env are variables that it gets, as NAME=value. With a NAME alone it gets burin's own, which
	// keys of model providers need.
	Env     []string
	Version string // of burin
	// Instructions are told with its first prompt.
	Instructions string
	// Tools are names of burin's tools that its calls may be; nil is any. What it does without
	// asking is canceled.
	Tools []string
}

// may reports why an agent may not make a call, whatever rules say; nil if it may. A call of a kind
// that burin doesn't know may be anything a command can be.
func (e *External) may(tool string) error {
	same := map[string][]string{
		"agent": {"bash"}, "write": {"write", "edit"}, "edit": {"write", "edit"}, "read": {"read", "grep", "find", "ls"}, "grep": {"read", "grep", "find", "ls"},
	}[tool]
	if e.Tools == nil || tool == "todo" || slices.ContainsFunc(append(same, tool), func(name string) bool { return slices.Contains(e.Tools, name) }) {
		return nil
	}
	return fmt.Errorf("%s has no tool %s here", e.Name, tool)
}

// guest is an external agent in a session.
type guest struct {
	seat   *seat
	agent  *external.Agent
	handle session.Handle // nil: the session is not open yet

	mu     sync.Mutex
	titled string // the title that the agent gave last
}

// build puts a session of an external agent together. The agent has its own instructions and
// tools.
func (g *guest) build(ctx context.Context) (*session.Session, error) {
	g.seat.guest = g
	if err := g.invite(); err != nil {
		return nil, err
	}
	tools, err := g.tools()
	if err != nil {
		return nil, err
	}
	beginHooks(g.seat)
	o := options(ctx, g.seat, "", tools)
	o.BeforeRequest, o.Window = nil, g.agent.Window
	s, err := session.New(o)
	if err == nil {
		g.open(s)
	}
	return s, err
}

// invite puts an external agent in the model's place.
func (g *guest) invite() error {
	b := g.seat
	if b.dir == "" {
		return errors.New("an external agent needs a folder to work in")
	}
	if _, err := g.find(context.Background()); err != nil {
		return err
	}
	past, spent := g.past()
	g.agent = external.New(external.Options{
		Name: b.External.Name, Program: g.program, Kill: process.Kill,
		Dir: b.dir, AddDirs: b.AddDirs, Ground: g, Version: b.External.Version,
		Past: past, Most: b.MaxCost, Spent: spent, Warn: b.Session.Warn, Titled: g.title, NoImages: b.NoImages,
		Left: b.Lender.Left, Instructions: b.External.Instructions,
	})
	b.onClose(g.agent.Close)
	b.Client, b.Model, b.KeepModel = g.agent, external.Model(b.External.Name), true
	// The agent keeps its own context, and a request that is made twice is work done twice.
	b.Titles, b.Fallbacks, b.Reminders, b.Models = false, nil, -1, nil
	b.Compaction = compact.Defaults()
	b.Compaction.Enabled = false
	return nil
}

// past is where the agent left the session that is resumed, and what the session
// has cost.
func (g *guest) past() (past external.Past, spent llm.USD) {
	b := g.seat
	var last *llm.Message
	if path, err := b.log.Context(b.log.Leaf()); err == nil {
		for i := range path.Messages {
			if path.Messages[i].Role == llm.RoleAssistant {
				last = &path.Messages[i]
			}
		}
	}
	var newest *llm.Message // of the agent's session, in all branches
	cost := map[string]llm.USD{}
	for e, err := range b.log.All() {
		if err != nil || e.Message == nil || e.Message.Role != llm.RoleAssistant {
			continue
		}
		m := e.Message
		if m.Usage != nil && m.Usage.Cost != nil {
			spent += m.Usage.Cost.Total
			cost[m.ResponseID] += m.Usage.Cost.Total
		}
		if last != nil && m.ResponseID == last.ResponseID {
			newest = m
		}
	}
	if last == nil || last.Provider != external.Provider || last.Model != b.External.Name || last.ResponseID == "" || !newest.Time.Equal(last.Time) {
		return past, spent // it is another's, or another branch
	}
	return external.Past{Session: last.ResponseID, Last: last.Time, Cost: cost[last.ResponseID]}, spent
}

// find finds the agent's program. Its command is the person's own: only what is looked for by
// name must not be something that a command could have put there.
func (g *guest) find(ctx context.Context) (*exec.Cmd, error) {
	c := g.seat.External.Command
	name := c[0]
	if strings.ContainsRune(name, '/') || filepath.IsAbs(name) {
		abs, err := filepath.Abs(name)
		if err == nil {
			_, err = os.Stat(abs)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("start the agent: %s does not exist", name)
		}
		if err != nil {
			return nil, fmt.Errorf("start the agent: %w", err)
		}
		return installed.Own(ctx, abs, c[1:]...), nil
	}
	cmd, err := installed.Command(ctx, g.seat.Writable, name, c[1:]...)
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("start the agent: %s is not in PATH", name)
	}
	if err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	return cmd, nil
}

// program prepares the agent's process: under a guard, in the workspace, without the keys of
// burin's own models. Rules that refuse files hold it where the system can do that.
func (g *guest) program(ctx context.Context) (*exec.Cmd, error) {
	b := g.seat
	found, err := g.find(ctx)
	if err != nil {
		return nil, err
	}
	o := process.Options{Dir: b.dir, Env: slices.DeleteFunc(found.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return shell.Credential(name) || name == "BURIN_SESSION_PASSPHRASE" || name == place.PasswordVariable || strings.HasPrefix(name, "BURIN_SERVER_")
	})}
	for _, v := range b.External.Env {
		if !strings.Contains(v, "=") {
			value, ok := os.LookupEnv(v)
			if !ok {
				continue
			}
			v += "=" + value
		}
		o.Env = append(o.Env, v)
	}
	if walls := b.policy.Walls(); len(walls) > 0 {
		key, err := json.Marshal(walls)
		if err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		box, started, err := b.boxes.box("agent"+string(key), func() (*sandbox.Sandbox, error) {
			return sandbox.Start(sandbox.Policy{Mode: sandbox.Full, Workspace: b.dir, Walls: walls})
		})
		if err != nil {
			return nil, err
		}
		if missing := strings.TrimSpace(box.Missing()); started && missing != "" {
			b.Warn(missing)
		}
		o.Sandbox = box.Encoded()
		o.Env = append(o.Env, box.Env()...)
	}
	return process.Command(o, found.Path, found.Args[1:]...)
}

// tools are those of an agent's calls. burin's own shells are there for what it has burin run.
func (g *guest) tools() ([]*tool.Tool, error) {
	b := g.seat
	b.kept = b.artifacts()
	if _, _, _, err := b.shellTools(); err != nil {
		return nil, err
	}
	b.todo = b.restoreTodos()
	return g.agent.Tools(), nil
}

// open says which session it is.
func (g *guest) open(s *session.Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handle = s.Face(g.seat.External.Name, false)
}

// title names the session as the agent does, unless a person has named it.
func (g *guest) title(title string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.seat.log.Title(); g.handle == nil || now != "" && now != g.titled {
		return
	}
	if g.handle.Conversation().SetTitle(context.Background(), title) == nil {
		g.titled = g.seat.log.Title()
	}
}

var _ external.Ground = (*guest)(nil)

// Judge implements [external.Ground]. Hooks see these calls as they see those of the loop; they
// can't change them, as the agent makes them.
func (g *guest) Judge(ctx context.Context, t *tool.Tool, c tool.Call) error {
	for _, link := range g.seat.Chains.Calls {
		if link.Before == nil {
			continue
		}
		own := c
		own.Arguments = slices.Clone(c.Arguments)
		r, err := link.Before(ctx, t, &own)
		switch {
		case err != nil:
			return err
		case r != nil && r.IsError && len(r.Content) == 1:
			if t, ok := r.Content[0].(llm.Text); ok {
				return errors.New(t.Text)
			}
			fallthrough
		case r != nil:
			return fmt.Errorf("%s answers in place of this call", link.Name)
		case string(own.Arguments) != string(c.Arguments):
			return fmt.Errorf("%s has changed this call, and an agent makes its calls as they are", link.Name)
		}
	}
	return ground{g.seat}.Authorize(ctx, t, c)
}

// Refuses implements [external.Ground].
func (g *guest) Refuses(t *tool.Tool, c tool.Call) error {
	if err := g.seat.External.may(t.Name); err != nil {
		return err
	}
	access, err := t.Accesses(c.Arguments)
	if err != nil {
		return err
	}
	r := permission.Request{Tool: t.Name, Effects: t.Effects, Access: access, Call: c.ID}
	if d := g.seat.policy.Decide(r); d.Verdict == permission.Deny {
		return &permission.Refused{Request: r, Decision: d}
	}
	return nil
}

// Name implements [external.Ground].
func (g *guest) Name(path string) string {
	if name, err := g.seat.ws.Resolve(path); err == nil {
		return name
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.seat.dir, path)
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// Reach implements [external.Ground].
func (g *guest) Reach(name string) error {
	_, err := g.seat.ws.Resolve(name)
	return err
}

// ReadText implements [external.Ground]. Secrets are hidden as in what a model reads.
func (g *guest) ReadText(ctx context.Context, name string) (string, error) {
	f, err := g.seat.ws.For(ctx).Read(name)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(f.Data) {
		return "", fmt.Errorf("%s is not text", name)
	}
	text := string(f.Data)
	if v := g.seat.vault; v != nil {
		v.Learn(text)
		text = v.Hide(text)
	}
	return text, nil
}

// written are the details of a file that was written, as faces know them.
type written struct {
	Paths   []string `json:"paths"`
	Diff    string   `json:"diff,omitempty"`
	Added   int      `json:"added"`
	Removed int      `json:"removed"`
	Created bool     `json:"created,omitempty"`
}

// WriteText implements [external.Ground].
func (g *guest) WriteText(ctx context.Context, name, text string) (*tool.Result, error) {
	b := g.seat
	if b.vault != nil {
		text = b.vault.Restore(text)
	}
	w := b.ws.For(ctx)
	before, err := w.Files().ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		before = nil
	case err != nil:
		return nil, err
	case before == nil:
		before = []byte{}
	}
	if err := w.Commit(ctx, []workspace.Change{{Path: name, Before: before, After: []byte(text)}}); err != nil {
		return nil, err
	}
	b.cache.Invalidate(b.dir)
	diff, added, removed := edit.Diff(name, before, []byte(text))
	words := fmt.Sprintf("Wrote %s: %s", name, prose.Count(strings.Count(text, "\n"), "line"))
	return tool.Text(words).WithDetails(written{[]string{name}, diff, added, removed, before == nil}), nil
}

// Start implements [external.Ground]: commands run in burin's own shells, with their sandbox,
// guard and undo.
func (g *guest) Start(ctx context.Context, c external.Command) (external.Terminal, error) {
	b := g.seat
	sc := shell.Command{Line: c.Line, Env: c.Env}
	if c.Dir != "" {
		name, err := b.ws.Resolve(c.Dir)
		if err != nil {
			return nil, err
		}
		sc.Dir = filepath.FromSlash(b.ws.Real(name))
	}
	if err := b.followRules(); err != nil {
		return nil, err
	}
	end := g.Watch(ctx)
	sc.Ended = end
	j, err := b.shells.Start(sc)
	if err != nil {
		end()
		return nil, err
	}
	return terminal{j}, nil
}

// terminal is a command that the agent has burin run.
type terminal struct{ *shell.Job }

// Output implements [external.Terminal].
func (t terminal) Output() (string, bool) {
	o := t.Job.Output()
	return o.Text, o.Truncated
}

// ExitCode implements [external.Terminal].
func (t terminal) ExitCode() int {
	if o := t.Outcome(); o != nil {
		return o.ExitCode
	}
	return -1
}

// Plan implements [external.Ground]. The agent's plan is the list of work.
func (g *guest) Plan(tasks []todo.Task) *tool.Result {
	state := plan.State{Phases: []todo.Phase{}}
	if len(tasks) > 0 {
		state.Phases = append(state.Phases, todo.Phase{Name: "Plan", Tasks: slices.Clone(tasks)})
	}
	g.seat.setTodos(state)
	return tool.Text(state.String()).WithDetails(state)
}

// Watch implements [external.Ground].
func (g *guest) Watch(ctx context.Context) (end func()) {
	b := g.seat
	done, err := b.ws.WatchJob(ctx)
	if err != nil {
		if ctx.Err() == nil {
			b.Session.Warn("what the agent changes now cannot be undone: " + err.Error())
		}
		return func() {}
	}
	return func() {
		_, _ = done(context.Background()) // where the journal cannot follow there is nobody to tell any more
		b.cache.Invalidate(b.dir)
	}
}
