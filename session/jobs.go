package session

import (
	"errors"
	"time"
)

// Job is a command that runs in the background, or did.
type Job struct {
	ID       string
	Command  string
	Started  time.Time
	Running  bool
	ExitCode int    // of one that has ended; -1 if it has none
	LastLine string // of its output so far, cleaned and at most 200 characters
}

var errNoJobs = errors.New("this session has no background jobs")

// Jobs are the background jobs, oldest first; of those that have ended the last 100.
// A [JobsChanged] event comes when one has started or ended.
func (s *Session) Jobs() []Job {
	if s.o.Jobs == nil {
		return nil
	}
	jobs := s.o.Jobs()
	for i := range jobs {
		jobs[i].Command, jobs[i].LastLine = s.hide(jobs[i].Command), s.hide(jobs[i].LastLine)
	}
	return jobs
}

// KillJob ends a job with all it started, and returns when it has ended.
func (s *Session) KillJob(id string) error {
	if s.o.KillJob == nil {
		return errNoJobs
	}
	return s.o.KillJob(id)
}

// JobOutput is the end of what a job wrote so far, at most 50 KB. The model's own
// reading of it is not disturbed.
func (s *Session) JobOutput(id string) (tail string, err error) {
	if s.o.JobOutput == nil {
		return "", errNoJobs
	}
	tail, err = s.o.JobOutput(id)
	return s.hide(tail), err
}
