// Package shell holds the tools that run commands: bash, and job_list, job_poll,
// job_write and job_kill for commands in the background.
//
// A command that may change files runs under the watch of the workspace, so that
// what it changed can be undone.
package shell

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/tool"
)

//go:embed bash.md
var bashDescription string

// aboutBackground is the line of bashDescription about jobs.
const aboutBackground = "- Servers, watchers and long builds: `background`, then job_poll.\n"

// Options of the tools.
type Options struct {
	Workspace *workspace.Workspace
	Shells    *shell.Shells
	Cache     *search.Cache // told when commands may have changed files; nil is none
	Autorun   Autorun       // nil is none
	// MaxTimeout is how many seconds a command may run at most; 0 is an hour.
	MaxTimeout int
	// AutoBackground is how long a command runs in the foreground before it goes on as a job; 0 is
	// until its end.
	AutoBackground time.Duration
	// KeepTail runs a head or tail at the end of a command as it stands there.
	KeepTail bool
	// NoBackground leaves out jobs, and the tools for them.
	NoBackground bool
	// Workers are the jobs that aren't commands; nil: there are none.
	Workers func() []Worker
	// Screens show the terminal of a command in the foreground; nil: nobody can. Jobs may have
	// one without: job_write talks to them.
	Screens Screens
	// Addresses are the files behind addresses that commands may name; nil: there are none.
	Addresses Addresses
}

// Screens show terminals to people.
type Screens interface {
	// CanShow reports whether somebody is there who would see one now.
	CanShow() bool
	// Show shows the terminal of a call's command, and returns what takes all that is written
	// to it.
	Show(call, command string, t *shell.Terminal) io.WriteCloser
}

// Autorun is told of each command that may change files. It says in words what the
// command changed of the files from which other programs run something; "" is nothing.
type Autorun interface {
	Before()
	After() string
}

// New makes the tools. There are none for a workspace without a directory.
func New(o Options) []*tool.Tool {
	if o.Workspace.Dir() == "" {
		return nil
	}
	s := &commands{Options: o}
	if o.NoBackground {
		s.AutoBackground = 0
		return []*tool.Tool{s.bash()}
	}
	return []*tool.Tool{s.bash(), s.jobList(), s.jobPoll(), s.jobWrite(), s.jobKill()}
}

type commands struct {
	Options
	noticed atomic.Bool // that not everything can be undone
	judged  judgments
}

type bashArgs struct {
	Command    string            `json:"command"`
	CWD        string            `json:"cwd,omitempty" jsonschema:"folder to run in; else where the last command ended"`
	Timeout    int               `json:"timeout,omitempty" jsonschema:"seconds; default 300, most 3600"`
	Env        map[string]string `json:"env,omitempty" jsonschema:"variables for this command"`
	Background bool              `json:"background,omitempty" jsonschema:"return at once with a job id"`
	TTY        bool              `json:"tty,omitempty" jsonschema:"give it a terminal that the user sees and types into; in the background, one for job_write"`

	cut      tail   // what was taken off the command as the model wrote it
	dir      string // what an address in CWD stands for
	expanded bool   // paths stand in it where the model wrote addresses
}

// bashDetails are for faces.
type bashDetails struct {
	Command    string       `json:"command,omitempty"` // as it ran, if paths stand in it for addresses
	ExitCode   *int         `json:"exitCode,omitempty"`
	WallTimeMS int64        `json:"wallTimeMs"`
	TimedOut   bool         `json:"timedOut,omitempty"`
	Cancelled  bool         `json:"cancelled,omitempty"`
	Timeout    float64      `json:"timeoutSeconds"`
	Requested  int          `json:"requestedTimeoutSeconds,omitempty"` // if it was above the limit
	Dir        string       `json:"cwd,omitempty"`
	Changed    []string     `json:"changed,omitempty"` // files the command changed
	Job        string       `json:"jobId,omitempty"`
	Output     *tool.Output `json:"output,omitempty"`
}

// adjust leaves out what is switched off, and refuses an empty command before anybody is asked
// whether it may run.
func (s *commands) adjust(schema *tool.Schema) {
	if s.NoBackground {
		delete(schema.Properties, "background")
	}
	one := 1
	line := tool.Property(schema, "command")
	line.MinLength, line.Pattern = &one, `\S`
}

func (s *commands) bash() *tool.Tool {
	description := bashDescription
	if s.NoBackground {
		description = strings.Replace(description, aboutBackground, "", 1)
	}
	return tool.New(tool.Definition[bashArgs]{
		Name: "bash", Label: "Run", Description: description, Effects: tool.Reads | tool.Writes | tool.Executes | tool.Network,
		Adjust: s.adjust,
		Access: func(a bashArgs) []tool.Access {
			a, err := s.judged.judge(s.Addresses, a)
			if err != nil { // the call fails with the reason, whatever comes, and nobody is asked about it
				return []tool.Access{{Kind: tool.AccessRead, Target: "."}}
			}
			a = s.mended(a)
			return []tool.Access{{Kind: tool.AccessExecute, Target: withEnv(a), Dir: s.accessDir(a)}}
		},
		Together: func(a bashArgs) bool {
			a, err := expanded(s.Addresses, a)
			return err == nil && !a.TTY && len(a.Env) == 0 && permission.ReadOnly(a.Command) && !needsOrder(a.Command)
		},
		Run: func(ctx context.Context, call tool.Call, a bashArgs) (*tool.Result, error) {
			written := a
			a, err := s.judged.take(s.Addresses, a)
			if err != nil {
				return nil, err
			}
			if s.Addresses != nil {
				_, _ = expanded(s.Addresses.Running(), written) // for the folders; what runs was judged
			}
			return s.runBash(ctx, call, s.mended(a))
		},
	})
}

// mended is the call as it runs, which is also what permission judges. The output
// of jobs and terminals is not shown at their end, so their commands stay.
func (s *commands) mended(a bashArgs) bashArgs {
	if a.Background || a.TTY || s.KeepTail {
		return a
	}
	if rest, lines, ok := shell.StripTail(a.Command); ok {
		a.cut = tail{text: strings.TrimSpace(strings.TrimPrefix(a.Command, rest)), lines: lines}
		a.Command = rest
	}
	return a
}

// withEnv is the command as permission sees it: variables may change what a
// command does as much as its arguments.
func withEnv(a bashArgs) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		value, err := syntax.Quote(a.Env[name], syntax.LangBash)
		if err != nil { // it has a NUL in it, and will not run
			value = "''"
		}
		fmt.Fprintf(&b, "export %s=%s\n", name, value)
	}
	return b.String() + a.Command
}

func (s *commands) accessDir(a bashArgs) string {
	switch name, err := s.Workspace.Resolve(a.CWD); {
	case a.CWD == "":
		return ""
	case a.dir != "":
		return a.dir
	case err == nil:
		return name
	}
	return a.CWD
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Most seconds that calls may ask for.
const (
	maxTimeout = int(shell.MaxTimeout / time.Second)
	maxWait    = 600
)

// limited says that an argument was above its limit; "" if it was not.
func limited(name string, asked, most int) string {
	if asked <= most {
		return ""
	}
	return fmt.Sprintf("[%s limited to %d seconds, the maximum.]", name, most)
}

// most is how many seconds a command may run at most.
func (s *commands) most() int {
	if s.MaxTimeout > 0 {
		return min(s.MaxTimeout, maxTimeout)
	}
	return maxTimeout
}

// command checks the arguments.
func (s *commands) command(a bashArgs) (shell.Command, error) {
	if strings.TrimSpace(a.Command) == "" {
		return shell.Command{}, errors.New("command is empty")
	}
	if a.Background && s.NoBackground {
		return shell.Command{}, errors.New("background jobs are off: run the command without background")
	}
	if a.TTY && !a.Background && (s.Screens == nil || !s.Screens.CanShow()) {
		return shell.Command{}, errors.New("no one can see a terminal in this run: leave out tty" + s.orJob(", or run it in the background and use job_write"))
	}
	if why := fillsScreen(a.Command); why != "" && !a.Background && !a.TTY {
		return shell.Command{}, errors.New(why)
	}
	for name := range a.Env {
		if !envName.MatchString(name) {
			return shell.Command{}, fmt.Errorf("env: %q is not the name of a variable", name)
		}
	}
	if a.Timeout < 0 {
		return shell.Command{}, fmt.Errorf("timeout is %d: want 1 to %d seconds", a.Timeout, s.most())
	}
	if a.Timeout == 0 && !a.Background && s.most() < int(shell.DefaultTimeout/time.Second) {
		a.Timeout = s.most()
	}
	c := shell.Command{Line: a.Command, Env: a.Env, Timeout: time.Duration(min(a.Timeout, s.most())) * time.Second, TTY: a.TTY}
	if a.CWD == "" {
		return c, nil
	}
	if c.Dir = a.dir; c.Dir == "" {
		name, err := s.Workspace.Resolve(a.CWD)
		if err != nil {
			return c, err
		}
		c.Dir = filepath.FromSlash(s.Workspace.Real(name))
	}
	info, err := os.Stat(c.Dir)
	switch {
	case err != nil:
		return c, fmt.Errorf("cwd %s does not exist", a.CWD)
	case !info.IsDir():
		return c, fmt.Errorf("cwd %s is not a folder", a.CWD)
	}
	return c, nil
}

func (s *commands) runBash(ctx context.Context, call tool.Call, a bashArgs) (*tool.Result, error) {
	c, err := s.command(a)
	if err != nil {
		return nil, err
	}
	if a.Background {
		return s.start(ctx, c, a.Timeout)
	}
	if a.TTY {
		c.Show = func(t *shell.Terminal) io.WriteCloser { return s.Screens.Show(call.ID, a.Command, t) }
	}
	var shown strings.Builder
	update := func(chunk string) {
		// A face shows the end; it need not have all.
		if shown.Len()+len(chunk) > 8<<10 {
			rest := shown.String()
			shown.Reset()
			shown.WriteString(strings.ToValidUTF8(rest[max(0, len(rest)-4<<10):], "")) // it may begin inside a character
		}
		shown.WriteString(chunk)
		call.Update(*tool.Text(shown.String()))
	}
	var out *shell.Outcome
	var changed []string
	var lost error // why undo doesn't cover what the command does as a job
	c.Detach = s.AutoBackground
	watched, end := make(chan struct{}), noEnd
	c.Ended = func() { // as a job
		<-watched
		_, _ = end(context.Background())
		s.invalidate()
	}
	run := func() (err error) {
		if out, err = s.Shells.Run(ctx, c, update); out != nil && out.Job != nil {
			end, lost = s.watchJob(ctx)
		}
		close(watched)
		return err
	}
	if len(a.Env) == 0 && permission.ReadOnly(a.Command) {
		err = run()
	} else {
		s.before()
		changed, err = s.Workspace.Watch(ctx, run)
		s.invalidate()
	}
	planted := s.after()
	if err != nil && out == nil {
		return nil, err
	}
	r := s.report(c, a, out, changed)
	if planted != "" {
		r.Content = append(r.Content, tool.Text("["+planted+"]").Content...)
	}
	if notice := s.Workspace.UndoNotice(); notice != "" && s.noticed.CompareAndSwap(false, true) {
		r.Content = append(r.Content, tool.Text("["+notice+"]").Content...)
	}
	if err = errors.Join(err, lost); err != nil { // the command ran, the journal could not follow
		r.Content = append(r.Content, tool.Text(fmt.Sprintf("[This command cannot be undone: %v.]", err)).Content...)
	}
	return r, nil
}

// before notes what is there before a command. While jobs run, nobody can tell whose a
// change is: it counts as theirs.
func (s *commands) before() {
	if s.Autorun != nil && !slices.ContainsFunc(s.Shells.Jobs(), func(j *shell.Job) bool { return j.Outcome() == nil }) {
		s.Autorun.Before()
	}
}

func (s *commands) after() string {
	if s.Autorun == nil {
		return ""
	}
	return s.Autorun.After()
}

func (s *commands) invalidate() {
	if s.Cache != nil {
		s.Cache.Invalidate(s.Workspace.Dir())
	}
}

// report puts an outcome in words.
func (s *commands) report(c shell.Command, a bashArgs, out *shell.Outcome, changed []string) *tool.Result {
	var b strings.Builder
	if out.Job != nil {
		a.cut = tail{} // the end is still to come
	}
	text, notice := a.cut.apply(out)
	b.WriteString(text)
	if strings.TrimSpace(text) == "" {
		b.Reset()
		b.WriteString("(no output)")
	}
	line := func(format string, args ...any) {
		if !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, format, args...)
	}
	if notice != "" {
		line("%s", notice)
	}
	failed := true
	switch {
	case out.Job != nil:
		failed = false
		line("[Still running after %s: it is job %s now. See its output with job_poll, end it with job_kill.]", out.Elapsed.Round(100*time.Millisecond), out.Job.ID())
	case out.TimedOut:
		line("[Stopped after %s, its time limit. For long work set timeout%s.]", out.Timeout, s.orJob(", or run it in the background"))
	case out.Cancelled:
		line("[Cancelled.]")
	case out.ExitCode < 0:
		line("[It ended without an exit status.]")
	case out.ExitCode > 0:
		line("[Exit code %d.]", out.ExitCode)
	default:
		failed = false
	}
	if l := limited("timeout", a.Timeout, s.most()); l != "" {
		line("%s", l)
	}
	if out.Denied != "" {
		line("[%s]", out.Denied)
	}
	if out.Note != "" {
		line("[%s]", out.Note)
	}
	if out.Dir != "" && c.Dir == "" && out.Dir != s.Workspace.Dir() {
		line("[In %s now.]", s.shortDir(out.Dir))
	}
	d := bashDetails{
		WallTimeMS: out.Elapsed.Milliseconds(), TimedOut: out.TimedOut, Cancelled: out.Cancelled,
		Timeout: out.Timeout.Seconds(), Dir: out.Dir, Changed: changed, Output: &out.Output,
	}
	if a.expanded {
		d.Command = a.Command
	}
	if a.Timeout > s.most() {
		d.Requested = a.Timeout
	}
	if out.ExitCode >= 0 {
		d.ExitCode = &out.ExitCode
	}
	if out.Job != nil {
		d.Job = out.Job.ID()
	}
	r := tool.Text(b.String())
	r.IsError = failed
	return r.WithDetails(d)
}

// orJob is advice to use a job, where there are jobs.
func (s *commands) orJob(advice string) string {
	if s.NoBackground {
		return ""
	}
	return advice
}

func (s *commands) shortDir(dir string) string {
	if rel, err := filepath.Rel(s.Workspace.Dir(), dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}
