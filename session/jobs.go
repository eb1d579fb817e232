package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/sorting"
)

// Job is a background command, or a sub-agent in the background, running or finished.
type Job struct {
	ID       string    `json:"id"`
	Agent    string    `json:"agent,omitempty"` // the definition of a sub-agent, such as explore; "" is a command
	Command  string    `json:"command"`         // of a sub-agent, what it does
	Started  time.Time `json:"started"`
	Running  bool      `json:"running"`
	ExitCode int       `json:"exitCode"` // of a finished one; -1 if there is none
	LastLine string    `json:"lastLine"` // of its output so far, cleaned, at most 200 characters
}

// keptJobs is how many sub-agents that have ended are listed as jobs.
const keptJobs = 100

var errNoJobs = errors.New("this session has no background jobs")

// background is the handle's view of the jobs, without secrets.
type background struct {
	jobs Jobs // the commands; nil if there are none
	crew Crew // nil if there are no sub-agents
	hide func(string) string
}

// List implements [Jobs].
func (b background) List(ctx context.Context) (jobs []Job, err error) {
	if b.jobs != nil {
		jobs, err = b.jobs.List(ctx)
	}
	agents, failed := b.agents(ctx)
	for i := range agents {
		jobs = append(jobs, jobOf(&agents[i]))
	}
	if len(agents) > 0 {
		sorting.Stable(jobs, func(a, b Job) int { return a.Started.Compare(b.Started) })
	}
	for i := range jobs {
		jobs[i].Command, jobs[i].LastLine = b.hide(jobs[i].Command), b.hide(jobs[i].LastLine)
	}
	return jobs, errors.Join(err, failed)
}

// agents returns the sub-agents in the background; of those that ended, the last ones.
func (b background) agents(ctx context.Context) ([]Agent, error) {
	if b.crew == nil {
		return nil, nil
	}
	all, err := b.crew.List(ctx)
	ended := 0
	for i := range all {
		if all[i].Background && !all[i].Active() {
			ended++
		}
	}
	return slices.DeleteFunc(all, func(a Agent) bool {
		old := !a.Active() && ended > keptJobs
		if a.Background && old {
			ended--
		}
		return !a.Background || old
	}), err
}

// agent finds the sub-agent with that id.
func (b background) agent(ctx context.Context, id string) (*Agent, bool) {
	all, _ := b.agents(ctx) // then it is not found
	for i := range all {
		if strings.EqualFold(all[i].ID, id) {
			return &all[i], true
		}
	}
	return nil, false
}

// jobOf describes a sub-agent as a job.
func jobOf(a *Agent) Job {
	j := Job{ID: a.ID, Agent: a.Agent, Command: cmp.Or(a.Description, a.Task), Started: a.Started, Running: a.Active(), LastLine: cmp.Or(a.Tool, a.Said)}
	switch {
	case j.Running:
	case a.State == AgentStopped:
		j.ExitCode = -1
	case a.Failed():
		j.ExitCode = 1
	}
	return j
}

// Kill implements [Jobs].
func (b background) Kill(ctx context.Context, id string) error {
	if a, ok := b.agent(ctx, id); ok {
		return b.crew.Stop(ctx, a.ID)
	}
	if b.jobs == nil {
		return errNoJobs
	}
	return b.jobs.Kill(ctx, id)
}

// Output implements [Jobs].
func (b background) Output(ctx context.Context, id string) (tail string, err error) {
	if a, ok := b.agent(ctx, id); ok {
		tail = strings.Join(slices.DeleteFunc([]string{a.Task, a.Tool, a.Said, a.Error}, func(s string) bool { return s == "" }), "\n")
		return b.hide(tail), nil
	}
	if b.jobs == nil {
		return "", errNoJobs
	}
	tail, err = b.jobs.Output(ctx, id)
	return b.hide(tail), err
}
