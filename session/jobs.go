package session

import (
	"context"
	"errors"
	"time"
)

// Job is a background command, running or finished.
type Job struct {
	ID       string    `json:"id"`
	Command  string    `json:"command"`
	Started  time.Time `json:"started"`
	Running  bool      `json:"running"`
	ExitCode int       `json:"exitCode"` // of a finished one; -1 if there is none
	LastLine string    `json:"lastLine"` // of its output so far, cleaned, at most 200 characters
}

var errNoJobs = errors.New("this session has no background jobs")

// background is the handle's view of the jobs, without secrets.
type background struct {
	jobs Jobs // nil if there are none
	hide func(string) string
}

// List implements [Jobs].
func (b background) List(ctx context.Context) ([]Job, error) {
	if b.jobs == nil {
		return nil, nil
	}
	jobs, err := b.jobs.List(ctx)
	for i := range jobs {
		jobs[i].Command, jobs[i].LastLine = b.hide(jobs[i].Command), b.hide(jobs[i].LastLine)
	}
	return jobs, err
}

// Kill implements [Jobs].
func (b background) Kill(ctx context.Context, id string) error {
	if b.jobs == nil {
		return errNoJobs
	}
	return b.jobs.Kill(ctx, id)
}

// Output implements [Jobs].
func (b background) Output(ctx context.Context, id string) (tail string, err error) {
	if b.jobs == nil {
		return "", errNoJobs
	}
	tail, err = b.jobs.Output(ctx, id)
	return b.hide(tail), err
}
