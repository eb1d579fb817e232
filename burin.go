// Package burin is burin for Go programs: live sessions in which a language model works with
// a workspace, tools to act on it, and rules it has to keep.
//
//	func main() {
//		burin.Main()
//		ctx := context.Background()
//		s, err := burin.New(ctx, burin.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer s.Close()
//		out := s.Prompt(ctx, llm.UserText("Why does the test fail?"))
//		fmt.Println(out.Text(), out.Err)
//	}
//
// Each part below has an example that runs, in the folder examples.
//
// # What New finds
//
// Set in [Options] what you want to be different, and leave the rest out: New finds the user's
// settings, a model and the key for it, the instruction files of the folder, the rules and
// grants of the user, and keeps the session where burin --resume opens it. With Alone it finds
// nothing: then a model and a client are yours to give, and nothing is read or kept.
//
// Programs that start sessions call [Main] first thing in main: commands that a model runs
// have guards, which are the program itself, started again.
//
// # Prompts and answers
//
// [session.Session.Prompt] sends a message and returns when the model has nothing more to do;
// the outcome has the text of its last answer, what it cost in tokens, and why it ended.
// Submit and Wait do the same in two steps, for messages that come while the model works: they
// are read as soon as the model can, or, with When, later. Abort stops what is under way.
//
// # Events
//
// What happens meanwhile comes as events, each once and in order:
//
//	go func() {
//		for e := range s.Events(ctx) {
//			if e.Type == agent.MessageUpdate {
//				fmt.Print(e.Stream.Delta)
//			}
//		}
//	}()
//
// docs/events.md lists them all. A reader that is too slow holds up nobody: it is told what it
// missed.
//
// # Tools
//
// [tool.Func] makes a tool of a Go function whose argument is a struct; [tool.New] gives more
// say. Options.ExtraTools offers them beside burin's own, and Tools and NoTools choose among
// those. What a tool may do (tool.Reads, tool.Network, …) is what permission judges.
//
// # Permission and questions
//
// Without somebody to ask, a call that would be a question is refused. Options.Ask is a
// function that is asked: about calls ([session.Allow], [session.Refuse]), and what the model
// wants to know. Options.Approval and Allow say what runs without a question.
//
// # Models and providers
//
// Options.Select names a model as burin --model does. Options.Model and Client are for a model
// of your own: any [llm.Client] will do, such as those of llm/anthropic, llm/openai,
// llm/google and llm/bedrock at another address, or one that you write.
//
// # Limits
//
// MaxCost ends a session that has spent so much, MaxTurns a prompt that takes so many
// requests. Both hold for everything that the session asks of a model, summaries included.
//
// # Sessions that go on
//
// What is said is kept in a file from the first answer on. [Sessions] lists these files,
// Options.Resume and Continue go on with one, [Fork] copies one, and Navigate goes back in a
// session and on another way. NoSession keeps nothing.
//
// # More
//
// Sessions share nothing but what is shared on the disk: a process may have as many as it
// likes, in folders or in file systems of its own (Options.Files). [session.Session.Handle]
// is what burin's own faces use, and gives the rest: the queue, the tree, models and modes,
// rules, undo, jobs, the list of work.
//
// The root, session, agent, transcript, tool and llm with the packages below them are for
// programs like yours; testdata/api.txt lists what they have, so that changes of it are seen.
package burin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"path/filepath"
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
	"github.com/burin-dev/burin/transcript/index"
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
	// Ask answers questions, several at a time where several are open. Its ctx ends when
	// the question is settled otherwise. An error, or a Reply that is Dismissed, is no answer: the
	// call doesn't run. Nil: what would be a question is refused while nobody attends the Desk.
	Ask     func(ctx context.Context, q session.Question) (session.Reply, error)
	Desk    *session.Desk // where questions wait; nil: one is made
	Refused func(error)   // is told of each call that was not allowed; a *permit.Refused

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
	UserShell  string            // of a person's own commands, zsh and fish too; empty is Shell, or else $SHELL
	HTTP       http.RoundTripper // for fetch and web_search; nil is the default
	SearXNG    string            // address of a SearXNG server for web_search

	StateDir  string // burin's data folder; with Alone empty: no undo, no session file
	ConfigDir string // burin's configuration folder; its AGENTS.md is the user's own
	NoSession bool   // keep no session file
	// SessionDir is where new sessions are kept; empty: as the settings say.
	SessionDir string
	Resume     string // the file of a session to go on with
	Continue   bool   // go on with the newest session of the folder, if there is one
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
	if o.Ask != nil {
		if o.Desk == nil {
			o.Desk = session.NewDesk(session.DeskOptions{})
		}
		o.Desk.Attend() // until the session ends
	}
	s, err := open(ctx, o)
	if err == nil && o.Ask != nil {
		go answer(s.Handle("program", false), s.Events(context.Background()), o.Ask)
	}
	return s, err
}

// answer has questions answered until the session ends.
func answer(h session.Handle, events iter.Seq[session.Event], ask func(context.Context, session.Question) (session.Reply, error)) {
	open := map[string]context.CancelFunc{}
	begin := func(q session.Question) {
		if open[q.ID] != nil {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		open[q.ID] = cancel
		go func() {
			r, err := ask(ctx, q)
			if err != nil {
				r = session.Reply{Dismissed: true}
			}
			_ = h.Questions().Answer(ctx, q.ID, r) // it may be settled
		}()
	}
	for e := range events {
		switch d := e.Data.(type) {
		case *session.Question:
			begin(*d)
		case *session.Settled:
			if cancel := open[d.ID]; cancel != nil {
				cancel()
				delete(open, d.ID)
			}
		case *session.Lost: // a question may have been among them
			asked, _ := h.Questions().Open(context.Background()) // in this process it is no error
			for _, q := range asked {
				begin(q)
			}
		}
	}
	for _, cancel := range open {
		cancel()
	}
}

func open(ctx context.Context, o Options) (*session.Session, error) {
	if o.Alone {
		return alone(ctx, o)
	}
	h, err := o.host()
	if err != nil {
		return nil, err
	}
	if o.Continue && o.Resume == "" {
		known, err := list(ctx, h, h.Dir(), 1)
		if err != nil {
			return nil, errors.Join(err, h.Close(ctx))
		}
		if len(known) > 0 {
			o.Resume = known[0].Path
		}
	}
	so := o.session()
	so.Closed = func() error { return h.Close(context.Background()) }
	s, err := h.Open(ctx, host.Session{Session: so, Ground: o.ground(), Choice: host.Choice{Model: o.Select}})
	if err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return s, nil
}

// Sessions lists the sessions that are kept, newest first: those of the folder dir, or all
// where it is "". Of o count StateDir, ConfigDir and Keys.
func Sessions(ctx context.Context, dir string, o Options) ([]index.Info, error) {
	h, err := o.host()
	if err != nil {
		return nil, err
	}
	if dir != "" {
		if dir, err = filepath.Abs(dir); err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return nil, err
		}
	}
	known, err := list(ctx, h, dir, 0)
	return known, errors.Join(err, h.Close(ctx))
}

// Fork copies a session with all its branches, named by its file or its id, and gives the
// copy's file, for [Options.Resume]. Of o count Dir, StateDir, ConfigDir and Keys.
func Fork(ctx context.Context, which string, o Options) (file string, err error) {
	h, err := o.host()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	sessions, err := h.Archive(nil)
	if err != nil {
		return "", err
	}
	made, err := sessions.Fork(ctx, which, h.Dir())
	return made.File, err
}

func list(ctx context.Context, h *host.Host, dir string, limit int) ([]index.Info, error) {
	sessions, err := h.Archive(nil)
	if err != nil {
		return nil, err
	}
	return sessions.List(ctx, dir, limit)
}

// host is what is around the session.
func (o *Options) host() (*host.Host, error) {
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
	if o.Dir != "" {
		if ho.Dir, err = filepath.Abs(o.Dir); err == nil {
			ho.Dir, err = filepath.EvalSymlinks(ho.Dir)
		}
		if err != nil {
			return nil, fmt.Errorf("open the workspace: %w", err)
		}
	}
	if o.Keys != nil {
		ho.Keys = func(context.Context) place.Keys { return o.Keys }
	}
	return host.New(ho)
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
		Shell: o.Shell, UserShell: o.UserShell, HTTP: o.HTTP, SearXNG: o.SearXNG,
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
