// Package burin lets Go programs use burin: live sessions in which a language model works with
// a workspace, tools, and rules.
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
// Each section below has a runnable example in the folder examples.
//
// # What New finds
//
// Set in [Options] what you want to be different, and leave out the rest: New finds the user's
// settings, a model and its key, the instruction files of the folder, and the user's rules and
// grants, and keeps the session where burin --resume opens it. With Alone it finds nothing:
// you must provide a model and a client, and nothing is read or kept.
//
// Programs that start sessions must call [Main] first thing in main: the commands that a model
// runs have guards, which are the program itself, started again.
//
// # Prompts and answers
//
// [session.Session.Prompt] sends a message and returns when the model has nothing more to do.
// The outcome has the text of its last answer, the tokens used, and the reason why it ended.
// Submit and Wait do the same in two steps, for messages that come while the model works: it
// reads them as soon as it can or, with When, later. Abort stops what is running.
//
// # Events
//
// What happens meanwhile comes as events, each once and in order:
//
//	go func() {
//		for e := range s.Events(ctx) {
//			if e.Type == agent.MessageEnd && e.Message.Role == llm.RoleAssistant {
//				fmt.Println(e.Message.Text())
//			}
//		}
//	}()
//
// agent.MessageUpdate has the pieces of an answer while it is being written; a slow reader
// doesn't get them once the answer is complete. It delays nobody, and learns what it missed.
// docs/events.md lists all events.
//
// # Tools
//
// [tool.Func] makes a tool from a Go function whose argument is a struct; [tool.New] offers
// more control. Options.ExtraTools adds tools to burin's own; Options.Tools and NoTools choose
// among those. Permission judges calls by what a tool may do (tool.Reads, tool.Network, …).
//
// # Permission and questions
//
// If nobody can be asked, calls that need an answer are refused. Options.Ask is a function
// that gets the questions about calls (it returns [session.Allow] or [session.Refuse]) and
// those of the model. Options.Approval and Allow say what runs without asking.
//
// # Models and providers
//
// Options.Select names a model as burin --model does. Options.Model and Client are for a model
// of your own with any [llm.Client], such as those of llm/anthropic, llm/openai, llm/google
// and llm/bedrock at another address, or your own implementation.
//
// # Limits
//
// MaxCost ends a session that has spent that much, MaxTurns a prompt that takes that many
// requests. MaxCost covers everything that the session asks a model, including summaries.
//
// # Continuing sessions
//
// A session is in a file from the first answer on. [Sessions] lists these files,
// Options.Resume and Continue continue one, [Fork] copies one, and Navigate goes back to an
// earlier point of a session. NoSession keeps nothing.
//
// # More
//
// Sessions share nothing except what is on disk: a process may have as many as it likes, in
// folders or in file systems of its own (Options.Files). [session.Session.Handle] is what
// burin's own faces use. It offers the rest: the queue, the tree, models and modes, rules,
// undo, jobs, todos.
//
// The root, session, agent, transcript, tool and llm with the packages below them are for
// programs like yours; testdata/api.txt lists their API, so that changes to it are noticed.
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

// Files is a file system to work in. Names are as in io/fs; those in additional folders are
// absolute. Errors are *fs.PathError.
type Files interface {
	fs.ReadDirFS
	fs.ReadFileFS
	fs.StatFS
	Lstat(name string) (fs.FileInfo, error)
	ReadLink(name string) (string, error)
	// WriteFile replaces the file atomically, or not at all. It creates missing folders.
	WriteFile(name string, data []byte, perm fs.FileMode) error
	// Replace is WriteFile for a file whose content is before, or with a nil before for one
	// that does not exist. Otherwise it fails with a *StaleError.
	Replace(name string, before, after []byte, perm fs.FileMode) error
	MkdirAll(name string, perm fs.FileMode) error
	Remove(name string) error
	RemoveAll(name string) error
	Rename(from, to string) error
	Chmod(name string, mode fs.FileMode) error
}

// StaleError reports a change that is based on outdated content of a file.
type StaleError = workspace.StaleError

// NewMemory returns an empty file system in memory.
func NewMemory() Files { return workspace.NewMemory() }

// NewOverlay returns a file system that shows the files of base and keeps changes to itself.
func NewOverlay(base fs.FS) Files { return workspace.NewOverlay(base) }

// Options configure a session. The zero value works in the current folder as the program burin
// does: with the user's settings, the resulting model and key, and a session file that burin
// --resume opens.
type Options struct {
	Dir     string   // the workspace; empty is the working directory
	AddDirs []string // additional folders that tools may read and write
	// Files is a workspace instead of Dir: [NewMemory], [NewOverlay], or any other. It has no
	// shell and no undo.
	Files Files

	// Alone reads none of the user's settings and keeps nothing in burin's folders. What isn't
	// set has the program's defaults, and Client and Model are required.
	Alone bool

	// Select chooses the model: provider/id, id, part of a name or role, with :level to say
	// how hard to think. Empty is the session's model, else that of the settings.
	Select string
	// Model and Client are the model and its client; nil finds them.
	Model     *llm.Model
	Client    llm.Client
	Thinking  llm.Thought
	MaxTokens int
	Cache     llm.CacheHint
	Output    json.RawMessage // JSON schema, of an object, for a result to hand over; nil is free text

	System  string // replaces burin's system prompt
	Append  string // added to the system prompt
	NoFiles bool   // leave out AGENTS.md and similar files
	// NoSkills leaves out the skills of the project, the user and burin. With Alone there are
	// none.
	NoSkills bool

	Approval       string   // plan, ask, auto-edit or full; empty is ask
	Allow          []string // rules such as bash(go test:*), in addition to those of the settings
	Deny           []string
	PermissionFile string // where lasting grants are kept
	// Ask answers questions, possibly several at a time. Its ctx ends when a question is
	// settled otherwise. An error, or a Reply that is Dismissed, is no answer: the call
	// doesn't run. If Ask is nil, calls that need an answer are refused while nobody attends
	// the Desk.
	Ask     func(ctx context.Context, q session.Question) (session.Reply, error)
	Desk    *session.Desk // where questions wait; nil makes one
	Refused func(error)   // called for each call that was not allowed, with a *permit.Refused

	Sandbox  string   // read-only, workspace-write or full; empty follows Approval
	Hosts    []string // hosts that confined commands may reach
	Writable []string // additional folders that confined commands may write
	Secrets  []string // additional paths that confined commands must not read

	Tools   []string // names of the tools to offer; empty is all
	NoTools bool     // offer no tools
	// ExtraTools are offered in addition to those that Tools and NoTools select; one with the
	// name of a burin tool replaces it. Tools can also come and go during the session: see
	// session.ToolSet.
	ExtraTools []*tool.Tool
	EditEngine string            // replace, patch, hashline or whole; empty follows Model
	Shell      string            // path of the shell, or "builtin"; empty finds one
	UserShell  string            // of a person's own commands, zsh and fish too; empty is Shell, or else $SHELL
	HTTP       http.RoundTripper // for fetch and web_search; nil is the default
	SearXNG    string            // address of a SearXNG server for web_search

	StateDir  string // burin's data folder; with Alone, empty means no undo and no session file
	ConfigDir string // burin's configuration folder; its AGENTS.md has the user's own instructions
	NoSession bool   // keep no session file
	// SessionDir is where new sessions are kept; empty follows the settings.
	SessionDir string
	Resume     string // the file of a session to continue, or a name as [place.Parse] reads it
	Continue   bool   // continue the newest session of the folder, if there is one
	KeepPlan   bool   // a session that was left in plan mode stays in it, whatever Approval says
	// Seal encrypts a new session. Keys returns the keys of encrypted sessions; nil refuses
	// them.
	Seal     bool
	Keys     place.Keys
	UserHome string // for instruction files and secret paths; with Alone, empty means none

	// Secret values are hidden from models, files and events: those with a known form, those
	// in Environ ("NAME=value") whose names suggest it, and SecretEntries.
	NoSecrets     bool // hide nothing
	Environ       []string
	SecretEntries []secret.Entry

	// Models finds other models: larger ones, fallbacks, and small ones for small tasks.
	Models session.Opener
	// Roles are the selectors of models for tasks: smol for titles and summaries, plan for
	// plan mode, vision for images that Model can't see. A missing role is Model.
	Roles      map[string]string
	Fallbacks  map[string][]string // selectors of models that take over when one keeps failing, by provider/id or role
	Titles     bool                // a model names sessions; otherwise their first words do
	Retry      session.Retry
	Compaction compact.Settings // the zero value is compact.Defaults, or follows the settings
	Reminders  int              // reminders of open todos per prompt; 0 follows the settings, else one; negative is none
	NoPromote  bool             // stay with Model when the conversation outgrows it
	Meter      session.Meter    // limits beyond this session; nil follows the settings

	// Chains let hooks, rules and extensions take part in the conversation.
	Chains session.Chains

	// Steering and FollowUp say how many queued messages the model gets at once
	// (one-at-a-time, all), Interrupt whether steering stops running calls (immediate, wait).
	Steering, FollowUp agent.QueueMode
	Interrupt          agent.InterruptMode

	MaxTurns int     // requests per prompt
	MaxCost  llm.USD // of the session
	// Expand replaces templates and the like in user messages; see session.Options.
	Expand func(ctx context.Context, text string) (string, error)
	Emit   func(session.Event)
	Warn   func(string) // called with what the user should know, one line each
	Now    func() time.Time
}

// Main runs the guard of a command, or the built-in shell, if this process was started as one.
// In that case it does not return.
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

// answer passes questions to ask until the session ends.
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
			_ = h.Questions().Answer(ctx, q.ID, r) // it may be settled already
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
		case *session.Lost: // it may have missed a question
			asked, _ := h.Questions().Open(context.Background()) // it can't fail in this process
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
	s, err := h.Open(ctx, host.Session{Session: so, Ground: o.ground(), Choice: host.Choice{Model: o.Select}, NoSkills: o.NoSkills})
	if err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return s, nil
}

// Sessions lists the stored sessions, newest first: those of the folder dir, or all if it is
// "". It uses StateDir, ConfigDir and Keys of o.
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

// Fork copies a session, named by its file or id, with all its branches, and returns the file
// of the copy for [Options.Resume]. It uses Dir, StateDir, ConfigDir and Keys of o.
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

// host returns the host for these options.
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

// alone starts a session with what the options provide.
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

// ground returns the options of the workspace.
func (o *Options) ground() bench.Options {
	return bench.Options{
		Dir: o.Dir, AddDirs: o.AddDirs, Files: o.Files, Allow: o.Allow, Deny: o.Deny, PermissionFile: o.PermissionFile,
		Sandbox: o.Sandbox, Hosts: o.Hosts, Writable: o.Writable, Secrets: o.Secrets,
		Shell: o.Shell, UserShell: o.UserShell, HTTP: o.HTTP, SearXNG: bench.SearXNG{URL: o.SearXNG},
		StateDir: o.StateDir, ConfigDir: o.ConfigDir, UserHome: o.UserHome, NoFiles: o.NoFiles,
		NoSecrets: o.NoSecrets, Environ: o.Environ, SecretEntries: o.SecretEntries, Warn: o.Warn, Now: o.Now,
	}
}

// session returns the options of the session itself.
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
