package shell

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/tool"
)

// What the model reads about the tools.
var (
	//go:embed job_list.md
	jobListDescription string
	//go:embed job_poll.md
	jobPollDescription string
	//go:embed job_write.md
	jobWriteDescription string
	//go:embed job_kill.md
	jobKillDescription string
)

// start runs a command in the background. What it changes from now on is not
// watched: nobody can tell its changes from those of others.
// timeout is the time limit that the call asked for, in seconds.
func (s *commands) start(ctx context.Context, c shell.Command, timeout int) (*tool.Result, error) {
	notice := ""
	s.before()
	end, err := s.watchJob(ctx)
	if err != nil {
		notice = fmt.Sprintf(" Files it changes are not covered by undo: %v.", err)
	}
	c.Ended = func() {
		// The job has ended, whatever the call that started it has come to. Where the
		// journal cannot follow there is nobody to tell any more.
		_, _ = end(context.Background())
		s.invalidate()
	}
	j, err := s.Shells.Start(c)
	if err != nil {
		_, _ = end(context.WithoutCancel(ctx))
		return nil, err
	}
	words := fmt.Sprintf("Started job %s. See its output with job_poll, end it with job_kill.%s", j.ID(), notice)
	d := bashDetails{Job: j.ID(), Timeout: c.Timeout.Seconds()}
	if l := limited("timeout", timeout, s.most()); l != "" {
		words += "\n" + l
		d.Requested = timeout
	}
	return tool.Text(words).WithDetails(d), nil
}

// noEnd is the end of a watch that did not begin.
func noEnd(context.Context) ([]string, error) { return nil, nil }

// watchJob watches what a job changes until end is called, which is never nil.
func (s *commands) watchJob(ctx context.Context) (end func(context.Context) ([]string, error), err error) {
	if end, err = s.Workspace.WatchJob(ctx); err != nil {
		return noEnd, err
	}
	return end, nil
}

type none struct{}

func (s *commands) jobList() *tool.Tool {
	return tool.New(tool.Definition[none]{
		Name: "job_list", Label: "Jobs", Description: s.aboutJobs(jobListDescription), Strict: true,
		Access: func(none) []tool.Access { return nil },
		Run:    func(context.Context, tool.Call, none) (*tool.Result, error) { return tool.Text(s.list()), nil },
	})
}

func state(j *shell.Job) string {
	out := j.Outcome()
	if out == nil {
		return "running for " + time.Since(j.Started()).Round(time.Second).String()
	}
	return ended(out)
}

func ended(out *shell.Outcome) string {
	switch {
	case out.TimedOut:
		return "stopped at its time limit"
	case out.Cancelled:
		return "killed"
	case out.ExitCode < 0:
		return "ended without an exit status"
	}
	return fmt.Sprintf("ended with exit code %d", out.ExitCode)
}

// job finds a command in the background, or says which jobs there are.
func (s *commands) job(id string) (*shell.Job, error) {
	if j, ok := s.Shells.Job(id); ok {
		return j, nil
	}
	var ids []string
	for _, j := range s.Shells.Jobs() {
		ids = append(ids, j.ID())
	}
	for _, w := range s.workers() {
		ids = append(ids, w.ID())
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no job %q; no jobs exist", id)
	}
	return nil, fmt.Errorf("no job %q; jobs: %s", id, strings.Join(ids, ", "))
}

type pollArgs struct {
	Job  string `json:"job" jsonschema:"its id, or several with commas between them"`
	Wait int    `json:"wait,omitempty" jsonschema:"seconds to wait for its end, or for the first that ends, up to 600; default 0"`
	All  bool   `json:"all,omitempty" jsonschema:"all output, not only what is new"`
}

func (s *commands) jobPoll() *tool.Tool {
	return tool.New(tool.Definition[pollArgs]{
		Name: "job_poll", Label: "Job output", Description: s.aboutJobs(jobPollDescription),
		Access: func(pollArgs) []tool.Access { return nil },
		Run: func(ctx context.Context, _ tool.Call, a pollArgs) (*tool.Result, error) {
			all, leave, err := s.follow(a.Job)
			defer leave()
			if err != nil {
				return nil, err
			}
			if err := waitFirst(ctx, all, time.Duration(min(a.Wait, maxWait))*time.Second); err != nil {
				return nil, err
			}
			s.invalidate()
			r := pollResult(all, a.All)
			if l := limited("wait", a.Wait, maxWait); l != "" {
				r.Content = append(r.Content, tool.Text(l).Content...)
			}
			return r, nil
		},
	})
}

// kept is out with the artifact that has what out leaves out: what is new has none
// of its own, the output of the whole job has.
func kept(j *shell.Job, out tool.Output) tool.Output {
	if out.Truncated && out.Artifact == "" {
		all := j.Output()
		out.Artifact, out.ArtifactLost, out.ArtifactError = all.Artifact, all.ArtifactLost, all.ArtifactError
	}
	return out
}

func jobResult(j *shell.Job, out tool.Output) *tool.Result {
	text := strings.TrimSuffix(out.Text, "\n")
	if strings.TrimSpace(text) == "" {
		text = "(no new output)"
	}
	if notice := out.Notice(); notice != "" {
		text += "\n" + notice
	}
	r := tool.Text(fmt.Sprintf("%s\n[Job %s: %s.]", text, j.ID(), state(j)))
	d := bashDetails{Job: j.ID(), Output: &out}
	if o := j.Outcome(); o != nil {
		r.IsError = o.ExitCode != 0 && !o.Cancelled
		d.WallTimeMS = o.Elapsed.Milliseconds()
		if o.ExitCode >= 0 {
			d.ExitCode = &o.ExitCode
		}
	}
	return r.WithDetails(d)
}

type inputArgs struct {
	Job   string `json:"job"`
	Input string `json:"input" jsonschema:"text to send; end it with a newline to enter a line"`
}

func (s *commands) jobWrite() *tool.Tool {
	return tool.New(tool.Definition[inputArgs]{
		Name: "job_write", Label: "Job input", Description: jobWriteDescription, Strict: true, Effects: tool.Executes,
		Access: func(a inputArgs) []tool.Access { return []tool.Access{s.inputAccess(a)} },
		Run: func(_ context.Context, _ tool.Call, a inputArgs) (*tool.Result, error) {
			j, w, err := s.either(a.Job)
			switch {
			case err != nil:
				return nil, err
			case w != nil:
				return nil, fmt.Errorf("job %s is an agent, which reads no input: send it a message with irc", w.ID())
			}
			if err := j.Write([]byte(a.Input)); err != nil {
				return nil, fmt.Errorf("job %s: %w", a.Job, err)
			}
			return tool.Text(fmt.Sprintf("Sent %d bytes to job %s.", len(a.Input), a.Job)), nil
		},
	})
}

// inputAccess is what permission judges of input. To a shell it is commands. To any other
// program it is whatever that program makes of it, so that what allowed the job allows its
// input too; and so is a key that ends something, as Ctrl-C does.
func (s *commands) inputAccess(a inputArgs) tool.Access {
	j, err := s.job(a.Job)
	if err != nil || readsCommands(j.Command().Line) && strings.Trim(a.Input, "\x03\x04\x1a\x1b\r\n") != "" {
		return tool.Access{Kind: tool.AccessExecute, Target: a.Input}
	}
	return tool.Access{Kind: tool.AccessExecute, Target: j.Command().Line, Dir: j.Command().Dir}
}

// shellNames are programs that execute what they read, here or elsewhere.
var shellNames = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "nu", "pwsh", "powershell", "cmd", "ssh", "su", "sudo", "doas", "at", "tmux", "screen", "busybox", "env", "nsenter", "chroot", "unshare", "docker", "podman", "kubectl"}

// readsCommands reports whether a command line may start one of them.
func readsCommands(line string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n;|&(){}`$'\"<>=", r) })
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains(shellNames, strings.TrimSuffix(path.Base(filepath.ToSlash(w)), ".exe"))
	})
}

type killArgs struct {
	Job string `json:"job"`
}

func (s *commands) jobKill() *tool.Tool {
	return tool.New(tool.Definition[killArgs]{
		Name: "job_kill", Label: "End job", Description: jobKillDescription, Strict: true,
		Access: func(killArgs) []tool.Access { return nil },
		Run: func(ctx context.Context, _ tool.Call, a killArgs) (*tool.Result, error) {
			j, w, err := s.either(a.Job)
			switch {
			case err != nil:
				return nil, err
			case w != nil:
				return killWorker(ctx, w)
			}
			if j.Outcome() != nil {
				return jobResult(j, kept(j, j.Unread())), nil
			}
			j.Kill()
			s.invalidate()
			return jobResult(j, kept(j, j.Unread())), nil
		},
	})
}
