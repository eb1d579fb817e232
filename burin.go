// Package burin makes live sessions: a language model with a workspace, tools to
// act on it, and the rules it has to keep. Provide what you want to override,
// leave out what burin shall find by itself.
//
//	s, err := burin.New(ctx, burin.Options{})
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
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript/place"
)

// Files are a file system to work in. Names are as in io/fs; additional folders have
// absolute ones. Errors are *fs.PathError.
type Files interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS
	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
	// WriteFile replaces the file at once, or not at all, and makes missing folders.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	// Replace is WriteFile for a file that holds before, or with a nil before does not
	// exist; else it is a *StaleError.
	Replace(name string, before, after []byte, perm fs.FileMode) error
	MkdirAll(name string, perm fs.FileMode) error
	Remove(name string) error
	RemoveAll(name string) error
	Rename(from, to string) error
	Chmod(name string, mode fs.FileMode) error
}

// StaleError is a change that is based on what a file does not hold any more.
type StaleError = workspace.StaleError

// NewMemory is an empty file system in memory.
func NewMemory() Files { return workspace.NewMemory() }

// NewOverlay shows the files of another one, and keeps what is changed to itself.
func NewOverlay(base fs.FS) Files { return workspace.NewOverlay(base) }

// Options of a session. The zero value works in the current folder as the program burin
// does there: with the user's settings, the model and the key that they lead to, and a
// session file that burin --resume opens.
type Options struct {
	Dir     string   // the workspace; empty is the working directory
	AddDirs []string // more folders that tools may use; they are writable
	// Files are a workspace in place of Dir: [NewMemory], [NewOverlay], or any other. There
	// is no shell in it, and no undo.
	Files Files

	// Alone takes nothing from the user's settings and keeps nothing in burin's folders:
	// what isn't set has the program's defaults, and Client and Model are required.
	Alone bool

	// Select chooses the model: provider/id, id, part of a name or role, with :level to say
	// how hard to think; empty is the session's, else that of the settings.
	Select string
	// Model and Client are what is asked; nil: they are found.
	Model     *llm.Model
	Client    llm.Client
	Thinking  llm.Thought
	MaxTokens int
	Cache     llm.CacheHint
	Output    json.RawMessage // JSON schema, of an object, of a result to hand over; nil is free text

	System  string // replaces burin's own words
	Append  string // added to the system prompt
	NoFiles bool   // leave out AGENTS.md and its like

	Approval       string   // plan, ask, auto-edit or full; empty is ask
	Allow          []string // rules such as bash(go test:*), beside those of the settings
	Deny           []string
	PermissionFile string // where lasting grants are kept
	// Desk is where questions wait for people; nil: what would be a question is refused
	// while nobody is there to answer it.
	Desk    *session.Desk
	Refused func(error) // is told of each call that was not allowed; a *permit.Refused

	Sandbox  string   // read-only, workspace-write or full; empty follows Approval
	Hosts    []string // that confined commands may reach
	Writable []string // more folders that confined commands may write
	Secrets  []string // more paths that they must not read

	Tools   []string // names of the tools to offer; empty is all
	NoTools bool     // offer none
	// ExtraTools are offered besides those that Tools and NoTools choose; one with the name
	// of a tool of burin's takes its place. More come and go while the session lives: see
	// session.ToolSet.
	ExtraTools []*tool.Tool
	EditEngine string            // replace, patch, hashline or whole; empty follows Model
	Shell      string            // path of the shell, or "builtin"; empty finds one
	HTTP       http.RoundTripper // for fetch and web_search; nil is the default
	SearXNG    string            // address of a SearXNG server for web_search

	StateDir  string // burin's data folder; with Alone empty: no undo, no session file
	ConfigDir string // burin's configuration folder; its AGENTS.md is the user's own
	NoSession bool   // keep no session file
	// SessionDir is where new sessions are kept; empty: as the settings say.
	SessionDir string
	Resume     string // the file of a session to go on with
	KeepPlan   bool   // a session that was left in plan mode goes on in it, whatever Approval says
	// Seal encrypts a new session. Keys gives the keys of encrypted ones; nil: they
	// are refused.
	Seal     bool
	Keys     place.Keys
	UserHome string // for instruction files and secret paths; with Alone empty: none

	// Secret values are hidden from models, files and events, those that look like
	// secrets and those of Environ ("NAME=value") whose names do, and SecretEntries.
	NoSecrets     bool // hide nothing
	Environ       []string
	SecretEntries []secret.Entry

	// Models finds other models: larger ones, fallbacks, small ones for small tasks.
	Models session.Opener
	// Roles are the selectors of models for tasks: smol for titles and summaries, plan for plan
	// mode, vision for pictures that Model can't see. A role that is not set is Model's.
	Roles      map[string]string
	Fallbacks  map[string][]string // selectors of models to go on with when one keeps failing, by provider/id or role
	Titles     bool                // a model names sessions; else their first words do
	Retry      session.Retry
	Compaction compact.Settings // the zero value is compact.Defaults, or as the settings say
	Reminders  int              // of open todos, for one prompt; 0 is as the settings say, else one; negative is none
	NoPromote  bool             // stay with Model when the conversation outgrows it
	Meter      session.Meter    // limits beyond this session; nil: those of the settings

	// Chains are where hooks, rules and extensions take part in the conversation.
	Chains session.Chains

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
func Main() { bench.Main() }

// New opens the workspace and starts a session in it. Close ends both.
func New(ctx context.Context, o Options) (*session.Session, error) {
	if o.Alone {
		return alone(ctx, o)
	}
	paths, err := config.FindPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	if o.StateDir != "" {
		paths.Data = o.StateDir
	}
	if o.ConfigDir != "" {
		paths.Config = o.ConfigDir
	}
	ho := host.Options{Paths: paths, Warn: o.Warn}
	if o.Keys != nil {
		ho.Keys = func(context.Context) place.Keys { return o.Keys }
	}
	h, err := host.New(ho)
	if err != nil {
		return nil, err
	}
	so := o.session()
	so.Closed = func() error { return h.Close(context.Background()) }
	s, err := h.Open(ctx, host.Session{Session: so, Ground: o.ground(), Choice: host.Choice{Model: o.Select}})
	if err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return s, nil
}

// alone starts a session of what is given.
func alone(ctx context.Context, o Options) (*session.Session, error) {
	b, err := bench.Open(o.ground())
	if err != nil {
		return nil, err
	}
	so := o.session()
	so.Closed = b.Close
	s, err := b.Start(ctx, so)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return s, nil
}

// ground is what the session stands on.
func (o *Options) ground() bench.Options {
	return bench.Options{
		Dir: o.Dir, AddDirs: o.AddDirs, Files: o.Files, Allow: o.Allow, Deny: o.Deny, PermissionFile: o.PermissionFile,
		Sandbox: o.Sandbox, Hosts: o.Hosts, Writable: o.Writable, Secrets: o.Secrets,
		Shell: o.Shell, HTTP: o.HTTP, SearXNG: o.SearXNG,
		StateDir: o.StateDir, ConfigDir: o.ConfigDir, UserHome: o.UserHome, NoFiles: o.NoFiles,
		NoSecrets: o.NoSecrets, Environ: o.Environ, SecretEntries: o.SecretEntries, Warn: o.Warn, Now: o.Now,
	}
}

// session is what is the session's own.
func (o *Options) session() bench.Session {
	return bench.Session{
		Client: o.Client, Model: o.Model, Thinking: o.Thinking, MaxTokens: o.MaxTokens, Cache: o.Cache, Output: o.Output,
		System: o.System, Append: o.Append, Approval: o.Approval, Desk: o.Desk, Refused: o.Refused,
		Tools: o.Tools, NoTools: o.NoTools, ExtraTools: o.ExtraTools, EditEngine: o.EditEngine,
		NoSession: o.NoSession, SessionDir: o.SessionDir, Resume: o.Resume, KeepPlan: o.KeepPlan, Seal: o.Seal, Keys: o.Keys,
		Models: o.Models, Roles: o.Roles, Fallbacks: o.Fallbacks, Titles: o.Titles, Reminders: o.Reminders, Retry: o.Retry, Compaction: o.Compaction,
		NoPromote: o.NoPromote, Meter: o.Meter, Chains: o.Chains, Steering: o.Steering, FollowUp: o.FollowUp, Interrupt: o.Interrupt,
		MaxTurns: o.MaxTurns, MaxCost: o.MaxCost, Expand: o.Expand, Emit: o.Emit, Warn: o.Warn,
	}
}
