// Package burin makes live sessions: a language model with a workspace, tools to
// act on it, and the rules it has to keep. Provide what you want to override,
// leave out what burin shall find by itself.
//
//	s, err := burin.New(ctx, burin.Options{Dir: ".", Client: client, Model: model})
//	defer s.Close()
//	outcome := s.Prompt(ctx, llm.UserText("fix the failing test"))
//
// Programs that start sessions call [Main] first thing in main: the guards of
// commands are the program itself, started again.
package burin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/customize/prompt"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// What people are asked, and what they answer.
type (
	// Approver is asked whether a call may run.
	Approver = permission.Asker
	// Request is a call that wants to run.
	Request = permission.Request
	// Decision says why it is a question.
	Decision = permission.Decision
	// Offer is a grant that a person can choose.
	Offer = permission.Offer
	// Answer is what a person says.
	Answer = permission.Answer
	// Rule allows, refuses or asks about calls of a tool by argument.
	Rule = permission.Rule
	// Scope is how long a grant holds.
	Scope = permission.Scope
	// Refused is the error of a call that was not allowed.
	Refused = permission.Refused
	// Questioner puts the model's own questions to a person.
	Questioner = plan.Asker
	// Question is one of them.
	Question = plan.Question
	// Reply is the answer to it.
	Reply = plan.Reply
)

// How long a grant holds.
const (
	ScopeSession = permission.Session // as long as the process runs
	ScopeProject = permission.Project // in this project, until it is revoked
	ScopeUser    = permission.User    // everywhere, until it is revoked
)

// ErrDismissed is what a Questioner returns when the person does not want to answer.
var ErrDismissed = plan.ErrDismissed

// Options of a session.
type Options struct {
	Dir     string   // the workspace; empty is the working directory
	AddDirs []string // more folders that tools may use; they are writable

	Client    llm.Client // required
	Model     *llm.Model // required
	Thinking  llm.Thought
	MaxTokens int
	Cache     llm.CacheHint
	Output    json.RawMessage // JSON schema, of an object, of a result to hand over; nil is free text

	System  string // replaces burin's own words
	Append  string // added to the system prompt
	NoFiles bool   // leave out AGENTS.md and its like

	Approval       string   // plan, ask, auto-edit or full; empty is ask
	Allow          []string // rules such as bash(go test:*)
	Deny           []string
	PermissionFile string      // where lasting grants are kept; empty: nowhere
	Approver       Approver    // nil: what would be a question is refused
	Questioner     Questioner  // nil: the model cannot ask
	Refused        func(error) // is told of each call that was not allowed; a *[Refused]

	Sandbox  string   // read-only, workspace-write or full; empty follows Approval
	Hosts    []string // that confined commands may reach
	Writable []string // more folders that confined commands may write
	Secrets  []string // more paths that they must not read

	Tools      []string          // names of the tools to offer; empty is all
	NoTools    bool              // offer none
	EditEngine string            // replace, patch, hashline or whole; empty follows Model
	Shell      string            // path of the shell, or "builtin"; empty finds one
	HTTP       http.RoundTripper // for fetch and web_search; nil is the default
	SearXNG    string            // address of a SearXNG server for web_search

	StateDir  string // burin's data folder; empty: no undo, no session file
	ConfigDir string // burin's configuration folder; its AGENTS.md is the user's own
	NoSession bool   // keep no session file
	// SessionDir is where new sessions are kept; empty: sessions/ of StateDir.
	SessionDir string
	Resume     string // the file of a session to go on with
	KeepPlan   bool   // a session that was left in plan mode goes on in it, whatever Approval says
	// Seal encrypts a new session. Keys gives the keys of encrypted ones; nil: they
	// are refused.
	Seal     bool
	Keys     place.Keys
	UserHome string // for instruction files and secret paths; empty: none

	// Secret values are hidden from models, files and events, those that look like
	// secrets and those of Environ ("NAME=value") whose names do, and SecretEntries.
	NoSecrets     bool // hide nothing
	Environ       []string
	SecretEntries []secret.Entry

	// Open finds other models: larger ones, fallbacks, small ones for small tasks.
	Open       func(ctx context.Context, selector string) (*llm.Model, llm.Client, error)
	Fallbacks  []string // selectors of models to go on with when Model keeps failing
	TitleModel string   // selector of a model that names sessions; empty: their first words
	Retry      session.Retry
	Compaction compact.Settings // the zero value is compact.Defaults
	NoPromote  bool             // stay with Model when the conversation outgrows it
	Meter      session.Meter    // limits beyond this session; nil: none

	// Steering and FollowUp say how many messages that wait are given to the model at once
	// (one-at-a-time, all), Interrupt whether steering stops what runs (immediate, wait).
	Steering, FollowUp agent.QueueMode
	Interrupt          agent.InterruptMode

	MaxTurns int     // requests per prompt
	MaxCost  llm.USD // of the session
	// Expand puts what a person's text stands for in its place; see session.Options.
	Expand func(ctx context.Context, text string) (string, error)
	Emit   func(session.Event)
	Warn   func(string) // what a person should know, a line each
	Now    func() time.Time
}

// Main runs the guard of a command, or the built-in shell, if this process was
// started as one, and then does not return.
func Main() {
	process.Main()
	shell.Main()
}

// New opens the workspace and starts a session in it. Close ends both.
func New(ctx context.Context, o Options) (*session.Session, error) {
	if o.Client == nil || o.Model == nil {
		return nil, errors.New("a session needs a model and a client for it")
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Approval == "" {
		o.Approval = string(permission.Ask)
	}
	b := &builder{Options: o}
	s, err := b.build(ctx)
	if err != nil {
		if b.log != nil {
			err = errors.Join(err, b.log.Close())
		}
		b.close()
		return nil, err
	}
	return s, nil
}

// builder puts a session together; what it opened is closed in reverse order.
type builder struct {
	Options
	dir       string
	ws        *workspace.Workspace
	log       *transcript.Log
	path      string // of the session file; empty if there is none
	sealed    bool   // it is encrypted
	vault     *secret.Vault
	kept      tool.Artifacts // nil: whole outputs are not kept
	todo      plan.State     // under mu
	policy    *permission.Policy
	engine    edit.Engine
	shells    *shell.Shells
	cache     *search.Cache // of which files there are
	boxes     boxes
	journaled bool           // what turns change can be undone
	spare     []*tool.Tool   // that are not offered
	parts     []session.Part // of the system prompt
	onJobs    func()         // told of jobs; nil: nobody listens yet; under mu
	mu        sync.Mutex     // of todo, of onJobs and of calls of Refused
	closers   []func() error
}

func (b *builder) onClose(f func() error) { b.closers = append(b.closers, f) }

func (b *builder) close() error {
	var all error
	for _, f := range slices.Backward(b.closers) {
		all = errors.Join(all, f())
	}
	b.closers = nil
	return all
}

func (b *builder) build(ctx context.Context) (*session.Session, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	facts := b.startFacts(ctx) // git runs while the rest is put together
	tools, shellName, confined, err := b.tools()
	if err != nil {
		return nil, err
	}
	moment := facts()
	system, err := b.system(tools, shellName, confined, moment)
	if err != nil {
		return nil, err
	}
	note := prompt.Note(prompt.Moment{Now: b.Now(), Git: moment.String()})
	ours := session.Options{
		Client: b.Client,
		Request: llm.Request{
			Model: b.Model, System: system, Thinking: b.Thinking, MaxTokens: b.MaxTokens,
			Cache: b.Cache,
		},
		Tools: tools, MoreTools: b.spare, Parts: b.parts,
		Preface: []llm.Message{{Role: llm.RoleCustom, CustomType: "context", Content: []llm.Block{llm.Text{Text: note}}, Time: b.Now()}},
		Log:     b.log, Path: b.path,
		Mode:      b.Approval,
		SetMode:   b.setMode,
		Authorize: b.authorize,
		BeginTurn: b.beginTurn,
		Secrets:   b.vault, Meter: b.Meter, Open: b.Open, Fallbacks: b.Fallbacks, TitleModel: b.TitleModel,
		Retry: b.Retry, Compaction: b.Compaction, NoPromote: b.NoPromote,
		Todos:    func() []compact.Todo { return openTasks(b.todos()) },
		TodoList: func() []session.TodoPhase { return phasesOf(b.todos()) }, SetTodoList: b.editTodos,
		Unfinished: func() string { return b.todos().Unfinished() },
		Command:    b.command, Jobs: b.jobs, KillJob: b.killJob, JobOutput: b.jobOutput, WatchJobs: b.watchJobs,
		Permissions: &liveRules{b.policy, b.log}, Changes: b.changes(), Expand: b.Expand,
		Summariser: b.summariser(), Artifact: b.keepText(b.kept),
		MaxTurns: b.MaxTurns, MaxCost: b.MaxCost,
		Steering: b.Steering, FollowUp: b.FollowUp, Interrupt: b.Interrupt,
		Emit: b.emit(ctx), Warn: b.Warn, Close: b.close, Now: b.Now,
	}
	return session.New(ours)
}

// beginTurn opens a turn of the undo journal. The journal is not encrypted: of a session
// that is, nothing of what was said stands in it.
func (b *builder) beginTurn(id, label string) error {
	if b.sealed {
		label = "(of an encrypted session)"
	}
	return b.ws.BeginTurn(id, label)
}

// emit passes events on. When the model begins its first answer, the journal looks
// at the workspace: nobody waits for it then, and the first command has less to do.
func (b *builder) emit(ctx context.Context) func(session.Event) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var looking sync.WaitGroup
	b.onClose(func() error {
		stop()
		looking.Wait()
		return nil
	})
	looked := b.Approval == string(permission.Plan) // it may not stay so; then the first command looks
	return func(e session.Event) {
		if !looked && e.Type == agent.MessageStart && e.Message.Role == llm.RoleAssistant {
			looked = true
			looking.Go(func() { _ = b.ws.Prepare(ctx) }) // the first command finds out what is wrong
		}
		if b.Emit != nil {
			b.Emit(e)
		}
	}
}

// open opens what everything else stands on.
func (b *builder) open() error {
	dir, err := filepath.Abs(b.Dir)
	if err != nil {
		return fmt.Errorf("find the workspace: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	b.dir = dir
	if err := b.openVault(); err != nil {
		return err
	}
	if err := b.openLog(); err != nil {
		return err
	}
	b.restoreMode()
	wo := workspace.Options{ReadOnly: b.Approval == string(permission.Plan), Session: b.log.ID(), Own: b.ownFiles()}
	for _, d := range b.AddDirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			return fmt.Errorf("add folder %s: %w", d, err)
		}
		wo.Extra = append(wo.Extra, workspace.Extra{Dir: abs, Writable: true})
	}
	if len(wo.Extra) > 0 && b.StateDir != "" && !wo.ReadOnly {
		b.Warn("what is changed in folders that were added cannot be undone: " + strings.Join(b.AddDirs, ", "))
	}
	if b.holdsOwnFiles() {
		// Someone works in the home folder. Tools could write the grants there, so
		// none are read; and a journal of a whole home, with itself in it, helps nobody.
		b.PermissionFile = ""
	} else if b.StateDir != "" {
		wo.StateDir = filepath.Join(b.StateDir, "undo")
		b.journaled = true
	}
	if b.ws, err = workspace.Open(dir, wo); err != nil {
		return err
	}
	b.onClose(b.ws.Close)
	return b.openPolicy()
}

// holdsOwnFiles reports whether burin's own files lie in the workspace.
func (b *builder) holdsOwnFiles() bool {
	for _, p := range []string{b.StateDir, b.ConfigDir, b.PermissionFile} {
		if p == "" {
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return true
		}
		// The folder may not exist yet: what is above it does.
		for at := abs; ; at = filepath.Dir(at) {
			if real, err := filepath.EvalSymlinks(at); err == nil {
				rest, _ := filepath.Rel(at, abs)
				abs = filepath.Join(real, rest)
				break
			}
			if at == filepath.Dir(at) {
				break
			}
		}
		if rel, err := filepath.Rel(b.dir, abs); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func (b *builder) openPolicy() error {
	var rules []permission.Rule
	for _, list := range []struct {
		rules   []string
		verdict permission.Verdict
		flag    string
	}{{b.Allow, permission.Allow, "--allow"}, {b.Deny, permission.Deny, "--deny"}} {
		for _, text := range list.rules {
			r, err := permission.ParseRule(text)
			if err != nil {
				return fmt.Errorf("%s: %w", list.flag, err)
			}
			if r.Verdict != permission.Allow && r.Verdict != list.verdict {
				return fmt.Errorf("%s: %s does not say %s", list.flag, text, list.verdict)
			}
			r.Verdict, r.Scope, r.Source = list.verdict, permission.Session, list.flag
			rules = append(rules, r)
		}
	}
	var err error
	b.policy, err = permission.Open(permission.Options{
		Mode: permission.Mode(b.Approval), Project: b.dir, File: b.PermissionFile, Rules: rules, Now: b.Now,
		Extra: b.AddDirs, Home: b.UserHome, Shell: b.Shell,
	})
	return err
}

func (b *builder) authorize(ctx context.Context, t *tool.Tool, c tool.Call) error {
	access, err := t.Accesses(c.Arguments)
	if err != nil {
		return err
	}
	err = b.policy.Authorize(ctx, permission.Request{Tool: t.Name, Effects: t.Effects, Access: access, Call: c.ID}, b.Approver)
	if refused := (*Refused)(nil); b.Refused != nil && errors.As(err, &refused) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Refused(refused)
	}
	return err
}

// system writes the system prompt.
func (b *builder) system(tools []*tool.Tool, shellName, confined string, m moment) (string, error) {
	facts := prompt.Facts{
		Dir: b.dir, Platform: runtime.GOOS + "/" + runtime.GOARCH, Shell: shellName,
		Extra: b.AddDirs, Mode: b.Approval, Sandbox: confined,
	}
	overview, err := b.ws.Overview(40)
	if err != nil {
		return "", err
	}
	facts.Overview = overview
	o := prompt.Options{System: b.System, Append: b.Append}
	if !b.NoFiles {
		var user []string
		if b.ConfigDir != "" {
			user = append(user, b.ConfigDir)
		}
		var warnings []string
		o.Files, warnings = prompt.Discover(b.dir, m.repository, user)
		for _, f := range o.Files {
			b.parts = append(b.parts, session.Part{Name: f.Name, Text: f.Text})
		}
		for _, w := range warnings {
			b.Warn(w)
		}
	}
	return prompt.System(facts, o), nil
}

// Dir is the folder of temporary files that commands may write to.
func tempDir() string {
	if dir, err := filepath.EvalSymlinks(os.TempDir()); err == nil {
		return dir
	}
	return os.TempDir()
}
