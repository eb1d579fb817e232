package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/customize/prompt"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/external"
	"github.com/burin-dev/burin/internal/platform/autorun"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/code"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/internal/tools/server"
	shelltools "github.com/burin-dev/burin/internal/tools/shell"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// Session says what is one session's own.
type Session struct {
	Client    llm.Client // required, with Model, unless External is set
	Model     *llm.Model
	External  *External // another agent that answers in place of a model; nil: none
	Thinking  llm.Thought
	MaxTokens int
	Cache     llm.CacheHint
	Output    json.RawMessage // JSON schema, of an object, of a result to hand over; nil is free text

	System string // replaces burin's own words
	Append string // added to the system prompt
	// Parts are added to the system prompt below the instructions, such as the list of skills.
	Parts []session.Part
	// URLs reads addresses by scheme for the tools that read files: "skill" for skill://name.
	URLs map[string]func(ctx context.Context, url string) (string, error)
	// Trees are the files behind such addresses, for the tools that list and search.
	Trees map[string]Tree
	// Mounts are further folders behind addresses, beside that of local://, whose files all
	// tools read and write. They are not in the undo journal.
	Mounts []Mount

	Approval string // plan, ask, auto-edit or full; empty is ask
	// Desk is where questions wait for people; nil: what would be a question is refused
	// while nobody is there to answer it.
	Desk    *session.Desk
	Refused func(error) // is told of each call that was not allowed; a *permit.Refused

	Tools   []string // names of the tools to offer; empty is all
	NoTools bool     // offer none
	Without []string // names of tools not to offer, unless Tools names them; a person may add them
	// Advisor says whether a second model reads what is done, and AdvisorBudget what that may cost.
	Advisor       session.AdvisorMode
	AdvisorBudget llm.USD
	NoGoals       bool // refuse goals
	// CheckGoal verifies goals, as [session.Options] says; nil believes the model.
	CheckGoal func(ctx context.Context, g session.Goal, said string) ([]session.Criterion, error)
	// MaxTimeout is how many seconds a command may run at most; 0 is an hour.
	MaxTimeout int
	// NoBackground offers no background jobs, MaxJobs is how many may run at a time; 0 is 100.
	NoBackground bool
	MaxJobs      int
	// AutoBackground is how long a command runs before it becomes a job; 0: it never does.
	AutoBackground time.Duration
	Tooling        Tooling // what the tools do and show
	// LargeImages keeps the size of pictures where the provider takes it. NoImages sends none to Model;
	// those that Models opens must be [Blind].
	LargeImages, NoImages bool
	// ExtraTools are offered besides those that Tools and NoTools choose; one with the name
	// of a tool of burin's takes its place.
	ExtraTools []*tool.Tool
	EditEngine string // replace, patch, hashline or whole; empty follows Model
	// EditVariants are engines of models, by a part of the model's id; the longest part wins, and
	// EditEngine over all.
	EditVariants map[string]string

	// Documents are the open documents of the face, such as an editor, with what is not saved
	// yet; nil: there are none. They win over the disk for the tools that read and change files.
	Documents workspace.Buffers

	NoSession bool // keep no session file
	// Log opens what the session is kept in, in place of a file; nil: see NoSession and Resume.
	Log func(transcript.Options) (*transcript.Log, error)
	// Attached gives what takes the place of an image or document of a message that has only an
	// address, or that block itself. An error refuses the message. nil: it is as it is.
	Attached func(ctx context.Context, b llm.Block, address string) (llm.Block, error)
	// SessionDir is where new sessions are kept; empty: sessions/ of StateDir.
	SessionDir string
	Resume     string // the file of a session to go on with
	Parent     string // of a new one: the session that it comes from, by id or by path
	File       string // of a new one, in place of one in SessionDir
	KeepPlan   bool   // a session that was left in plan mode goes on in it, whatever Approval says
	// Seal encrypts a new session. Keys gives the keys of encrypted ones; nil: they
	// are refused.
	Seal bool
	Keys place.Keys

	// Models finds other models: larger ones, fallbacks, small ones for small tasks.
	Models    session.Opener
	Roles     map[string]string   // selectors of the models of roles; see session.Options
	KeepModel bool                // Model was named by the person
	Unusable  string              // why Model can't be asked; "": it can
	Fallbacks map[string][]string // selectors of models to go on with when one keeps failing, by provider/id or role
	Titles    bool                // a model names sessions; else their first words do
	// TitleSystem replaces the words that ask for a title.
	TitleSystem string
	Retry       session.Retry
	Compaction  compact.Settings // the zero value is compact.Defaults
	// AnswerTime is how long the model's own questions wait before their recommended options
	// are taken; 0: for as long as it takes.
	AnswerTime time.Duration
	Reminders  int           // of open todos, for one prompt; 0 is one, negative is none
	NoPromote  bool          // stay with Model when the conversation outgrows it
	Meter      session.Meter // limits beyond this session; nil: none

	// Crew has the sub-agents of the session, and CrewTools what its model does with them, which
	// are chosen like burin's own; nil: it has none.
	Crew      session.Crew
	CrewTools []*tool.Tool
	// Workers are sub-agents in the background, which are jobs like commands; nil: there are none.
	Workers func() []Worker
	// Servers are MCP servers whose tools the model has, as Serving says.
	Servers []*mcp.Link
	Serving Serving
	// Language says which language servers it may use.
	Language Language
	// Lend is given what the session lends to its sub-agents, before it begins; nil: nothing.
	Lend func(*Lent)
	// Under is what the session lends that this one works for, and Lender the same of its money;
	// nil: it works for none.
	Under  *Lent
	Lender *session.Lender
	// News is asked before each prompt for what the model should know; nil: there is nothing.
	News func() []llm.Message
	// AgentFile finds the session file of an agent, for history://; nil: there are none.
	AgentFile func(id string) (path string, ok bool)

	// Chains are where hooks, rules and extensions take part in the conversation.
	Chains session.Chains
	// Programs is given what runs programs beside the conversation, before it begins; nil:
	// nobody is. Where no command can run it is not called.
	Programs func(run func(context.Context, Program) (Ended, error))
	// Hooks run programs at certain moments; nil: there are none.
	Hooks Hooks
	// Guidance has the rules for the model.
	Guidance Guidance
	// Sources say where instruction files are besides those of the workspace and of ConfigDir.
	Sources source.Options

	// Steering and FollowUp say how many messages that wait are given to the model at once
	// (one-at-a-time, all), Interrupt whether steering stops what runs (immediate, wait).
	Steering, FollowUp agent.QueueMode
	Interrupt          agent.InterruptMode

	// WebSearch is who searches the web: "model" leaves it to models that can, "" and "auto"
	// to burin.
	WebSearch string

	MaxTurns int     // requests per prompt
	MaxCost  llm.USD // of the session
	// Expand puts what a person's text stands for in its place; see session.Options.
	Expand func(ctx context.Context, text string) (string, error)
	// Mentioned gives what a person's texts name; see session.Options.
	Mentioned func(ctx context.Context, texts []string) (blocks []llm.Block, problems []string)
	// Turn says what is different for it; see session.Options.
	Turn func(ctx context.Context, text string) (*session.Turn, error)
	// Brief gives what the model should know with it; see session.Options.
	Brief  func(ctx context.Context, text string) (string, error)
	Emit   func(session.Event)
	Warn   func(string) // what a person should know, a line each
	Closed func() error // is called when the session has been closed, last
}

// Serving says how the tools of MCP servers are sent.
type Serving struct {
	Search int      // with more tools than that, the model searches them; negative is never
	Always []string // servers whose tools are sent all the same
	Sample bool     // servers may have the session's model answer, if a person allows it
}

// Tooling sets tools. The zero value is their defaults.
type Tooling struct {
	ExactEdits            bool // edits must name what is in the file, to the letter
	EditGenerated         bool // generated files may be edited
	ReadLines             int  // most lines of a reading that names no range; 0 is 2000
	GrepBefore, GrepAfter int  // lines around matches where the model does not say
	KeepTail              bool // a head or tail at the end of a command runs
	// OutputHead and OutputTail are how many bytes of the beginning and the end of a command's output
	// the model reads, OutputColumns those of a line; 0 is the default, negative is none, and no limit.
	OutputHead, OutputTail, OutputColumns int
}

// Worker is a job that isn't a command.
type Worker = shelltools.Worker

// Tree is the files behind the addresses of a scheme.
type Tree = file.Tree

// Mount is a folder behind addresses.
type Mount = workspace.Mount

// Start puts a session on the bench. Close ends it, and leaves the bench to others.
func (b *Bench) Start(ctx context.Context, o Session) (*session.Session, error) {
	if o.External == nil && (o.Client == nil || o.Model == nil) {
		return nil, errors.New("a session needs a model and a client for it")
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Approval == "" {
		o.Approval = string(permission.Ask)
	}
	if o.Desk == nil {
		o.Desk = session.NewDesk(session.DeskOptions{})
	}
	s := &seat{Bench: b, Session: o}
	live, err := s.build(ctx)
	if err != nil {
		if s.log != nil {
			err = errors.Join(err, s.log.Close())
		}
		return nil, errors.Join(err, s.close())
	}
	return live, nil
}

// seat puts a session together; what it opened is closed in reverse order.
type seat struct {
	*Bench
	Session
	ws        *workspace.Workspace
	log       *transcript.Log
	path      string         // of the session file; empty if there is none
	sealed    bool           // it is encrypted
	kept      tool.Artifacts // nil: whole outputs are not kept
	todo      plan.State     // under mu
	planner   session.Planner
	rewinder  session.Rewinder
	sampler   session.Sampler
	handsOver bool   // the model has the tool that hands over a plan
	afterPlan string // the mode that follows plan mode, if the session starts in it
	policy    *permission.Policy
	autorun   *autorun.Watch
	engine    edit.Engine
	files     *file.Kit
	code      *code.Kit     // nil: there are no language servers
	servers   *server.Kit   // nil: there are no MCP servers
	shells    *shell.Shells // nil: commands cannot run
	guest     *guest        // nil: a model answers
	box       boxed
	paths     *paths            // behind addresses in commands; nil: there are none
	mounts    []workspace.Mount // the folders behind addresses, those of a session for its agents too
	journaled bool              // what turns change can be undone
	borrowed  bool              // workspace and rules are those of the session that this one works for
	spare     []*tool.Tool      // that are not offered
	parts     []session.Part    // of the system prompt
	// instructions are the instruction files in the system prompt.
	instructions []prompt.File
	onJobs       func()     // told of jobs; nil: nobody listens yet; under mu
	mu           sync.Mutex // of todo, of onJobs and of calls of Refused
	closers      []func() error
}

func (b *seat) onClose(f func() error) { b.closers = append(b.closers, f) }

func (b *seat) close() error {
	var all error
	for _, f := range slices.Backward(b.closers) {
		all = errors.Join(all, f())
	}
	b.closers = nil
	return all
}

// end closes what a session had.
func (b *seat) end() error {
	err := b.close()
	if b.Closed != nil {
		err = errors.Join(err, b.Closed())
	}
	return err
}

// Blind is m without images in what it accepts.
func Blind(m *llm.Model) *llm.Model {
	blind := *m
	blind.Input = slices.DeleteFunc(slices.Clone(m.Input), func(in llm.Modality) bool { return in == llm.ModalityImage })
	return &blind
}

func (b *seat) build(ctx context.Context) (*session.Session, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	if b.External != nil {
		return (&guest{seat: b}).build(ctx)
	}
	if b.NoImages {
		b.Model = Blind(b.Model)
	}
	facts := b.startFacts(ctx) // git runs while the rest is put together
	tools, shellName, confined, err := b.tools()
	if err != nil {
		return nil, err
	}
	beginHooks(b)
	moment := facts()
	system, err := b.system(tools, shellName, confined, moment)
	if err != nil {
		return nil, err
	}
	news := newGuide(b, moment.repository)
	note := prompt.Note(prompt.Moment{Now: b.Now(), Git: moment.String()})
	o := options(ctx, b, system, tools)
	o.Preface = []llm.Message{{Role: llm.RoleCustom, CustomType: "context", Content: []llm.Block{llm.Text{Text: note}}, Time: b.Now()}}
	o.News = news
	if also := b.News; also != nil {
		o.News = func() (all []llm.Message) {
			if news != nil {
				all = news()
			}
			return append(all, also()...)
		}
	}
	live, err := session.New(o)
	if err == nil && b.servers != nil {
		b.onClose(joinServers(b, live))
	}
	return live, err
}

// options are those of a session.
func options(ctx context.Context, b *seat, system string, tools []*tool.Tool) session.Options {
	ours := session.Options{
		Client: b.Client,
		Request: llm.Request{
			Model: b.Model, System: system, Thinking: b.Thinking, MaxTokens: b.MaxTokens,
			Cache: b.Cache,
		},
		Tools: tools, MoreTools: b.spare, Parts: b.parts,
		Log: b.log, Path: b.path, Sealed: b.sealed,
		Mode: b.Approval, AfterPlan: b.afterPlan, Planner: &b.planner, Rewinder: &b.rewinder, Sampler: &b.sampler,
		Ground: ground{b}, Tasks: tasks{b}, Models: b.Models, Crew: b.Crew, Lender: b.Lender,
		Permissions: &liveRules{b.policy, b.log}, Changes: b.changes(), Chains: b.Chains,
		Secrets: b.vault, Meter: b.Meter, Roles: b.Roles, KeepModel: b.KeepModel, Unusable: b.Unusable, Fallbacks: b.Fallbacks, Titles: b.Titles, TitleSystem: b.TitleSystem, Reminders: b.Reminders, Advisor: b.Advisor, AdvisorBudget: b.AdvisorBudget,
		NoGoals: b.NoGoals, CheckGoal: b.CheckGoal,
		Retry: b.Retry, Compaction: b.Compaction, NoPromote: b.NoPromote,
		BeforeRequest: beforeRequest(b.WebSearch, b.policy),
		Desk:          b.Desk, Expand: b.Expand, Mentioned: b.Mentioned, Turn: b.Turn, Brief: b.Brief, Summariser: b.summariser(),
		MaxTurns: b.MaxTurns, MaxCost: b.MaxCost,
		Steering: b.Steering, FollowUp: b.FollowUp, Interrupt: b.Interrupt,
		Emit: b.emit(ctx), Warn: b.Session.Warn, Close: b.end, Now: b.Now,
	}
	if b.shells != nil {
		ours.Jobs = jobs{b}
	}
	if speaks(b) {
		ours.Languages = languages{b}
	}
	return ours
}

// emit passes events on. When the model begins its first answer, the journal looks
// at the workspace: nobody waits for it then, and the first command has less to do.
func (b *seat) emit(ctx context.Context) func(session.Event) {
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
		if b.guest != nil && e.Type == agent.AgentEnd {
			b.guest.agent.Interrupt() // nobody reads on
		}
		if b.Emit != nil {
			b.Emit(e)
		}
	}
}

// open opens what everything else stands on.
func (b *seat) open() (err error) {
	if err := b.openLog(); err != nil {
		return err
	}
	if b.Under != nil {
		return borrow(b)
	}
	b.restoreMode()
	b.mounts = mounts(b)
	wo := workspace.Options{ReadOnly: b.Approval == string(permission.Plan), Session: b.log.ID(), Own: b.ownFiles(), Buffers: b.Documents, Mounts: b.mounts}
	for _, d := range b.AddDirs {
		wo.Extra = append(wo.Extra, workspace.Extra{Dir: d, Writable: true})
	}
	if len(wo.Extra) > 0 && b.StateDir != "" && !wo.ReadOnly {
		b.Warn("what is changed in folders that were added cannot be undone: " + strings.Join(b.AddDirs, ", "))
	}
	if b.StateDir != "" && !b.own { // a journal of a whole home, with itself in it, helps nobody
		wo.StateDir = filepath.Join(b.StateDir, "undo")
		b.journaled = b.dir != ""
	}
	if b.dir == "" {
		b.ws = workspace.New(b.Files)
		b.ws.SetReadOnly(wo.ReadOnly)
	} else if b.ws, err = workspace.Open(b.dir, wo); err != nil {
		return err
	}
	b.onClose(b.ws.Close)
	if err := b.openPolicy(); err != nil {
		return err
	}
	lend(b)
	return nil
}

func (b *seat) openPolicy() (err error) {
	var own []string
	if dir := folderOf(b); b.path != "" && !b.sealed && notLinked(dir) == nil {
		own = []string{dir}
	}
	b.policy, err = b.Bench.policy(permission.Mode(b.Approval), own...)
	return err
}

// policy opens the rules that hold in a mode. Own are further folders of the session's.
func (b *Bench) policy(mode permission.Mode, own ...string) (*permission.Policy, error) {
	var rules []permission.Rule
	for _, list := range []struct {
		rules   []string
		verdict permission.Verdict
		flag    string
	}{{b.Allow, permission.Allow, "--allow"}, {b.Deny, permission.Deny, "--deny"}} {
		for _, text := range list.rules {
			r, err := permission.ParseRule(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", list.flag, err)
			}
			if r.Verdict != permission.Allow && r.Verdict != list.verdict {
				return nil, fmt.Errorf("%s: %s does not say %s", list.flag, text, list.verdict)
			}
			r.Verdict, r.Scope, r.Source = list.verdict, permission.Session, list.flag
			rules = append(rules, r)
		}
	}
	return permission.Open(permission.Options{
		Mode: mode, Project: b.dir, File: b.PermissionFile, Rules: rules, Now: b.Now,
		Extra: slices.Concat(b.AddDirs, own), Scratch: []string{Scratch}, Home: b.UserHome, Shell: b.Shell, Private: b.private, Lasts: b.GrantsLast,
	})
}

// Authorize implements [session.Ground].
func (g ground) Authorize(ctx context.Context, t *tool.Tool, c tool.Call) error {
	b := g.seat
	if b.guest != nil && external.Watched(c.Arguments) {
		return nil // it runs already
	}
	if b.guest != nil {
		if err := b.External.may(t.Name); err != nil {
			return err
		}
	}
	access, err := t.Accesses(c.Arguments)
	if err != nil {
		return err
	}
	err = authorize(ctx, b, permission.Request{Tool: t.Name, Effects: t.Effects, Access: access, Call: c.ID})
	if err == nil && t.Effects.Has(tool.Executes) {
		err = b.followRules()
	}
	// Without an id it is a file of a command, and no call of the model's.
	if refused := (*permission.Refused)(nil); b.Session.Refused != nil && c.ID != "" && errors.As(err, &refused) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Session.Refused(refused)
	}
	return err
}

// system writes the system prompt.
func (b *seat) system(tools []*tool.Tool, shellName, confined string, m moment) (string, error) {
	facts := prompt.Facts{
		Dir: b.dir, Platform: runtime.GOOS + "/" + runtime.GOARCH, Shell: shellName,
		Extra: b.AddDirs, Mode: b.Approval, Sandbox: confined, HandsOver: b.handsOver,
	}
	overview, err := b.ws.Overview(40)
	if err != nil {
		return "", err
	}
	facts.Overview = overview
	o := prompt.Options{System: b.System, Append: b.Append}
	if !b.NoFiles && b.dir != "" {
		found := prompt.Discover(sourcesOf(b, m.repository))
		b.instructions, o.Files = found.Files, found.Files
		for _, f := range o.Files {
			b.parts = append(b.parts, session.Part{Name: f.Name, Text: f.Text})
		}
		for _, w := range found.Warnings {
			b.Warn(w)
		}
	}
	b.Session.Parts = append(b.Session.Parts[:len(b.Session.Parts):len(b.Session.Parts)], ruleParts(b)...)
	for _, p := range b.Session.Parts {
		b.parts = append(b.parts, p)
		o.Sections = append(o.Sections, p.Text)
	}
	return prompt.System(facts, o), nil
}
