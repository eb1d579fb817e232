package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
)

// How long a job runs is counted only while something moves on the screen; at rest, when
// nothing is drawn, it says since when.
func TestJobTime(t *testing.T) {
	now := time.Date(2026, 11, 23, 15, 8, 5, 0, time.Local)
	jobs := []session.Job{
		{ID: "1", Command: "npm run dev", Started: now.Add(-245 * time.Second), Running: true},
		{ID: "2", Command: "tail -f log", Started: now.AddDate(0, 0, -1), Running: true},
	}
	d := atDesk(t, func(_ Wish, o *session.Options) {
		o.Jobs = handletest.Background{OnList: func() []session.Job { return jobs }}
	})
	d.env.Now = func() time.Time { return now }
	d.facts.readJobs()
	for _, tt := range []struct {
		works bool
		want  []string
	}{
		{false, []string{"1 npm run dev · since 15:04", "2 tail -f log · since 22 Nov 15:08"}},
		{true, []string{"1 npm run dev · 4m 05s", "2 tail -f log · 24h 00m"}},
	} {
		d.work.on, d.work.began = tt.works, now
		for _, want := range tt.want {
			if got := d.shown(); !strings.Contains(got, want) {
				t.Errorf("at work %v: no %q in\n%s", tt.works, want, got)
			}
		}
	}
	d.work.on = false
	d.groups.tasks.openJobs("")
	if got := d.shown(); !strings.Contains(got, "1  since 15:04  npm run dev") {
		t.Errorf("/jobs shows\n%s", got)
	}
}

// Stopping a job takes as long as the job takes to end: the face waits for nothing.
// One that has ended is not stopped again.
func TestStopJob(t *testing.T) {
	now := time.Now()
	jobs := []session.Job{{ID: "1", Command: "true", Started: now}, {ID: "2", Command: "tail -f log", Started: now, ExitCode: -1}, {ID: "3", Command: "serve", Started: now, Running: true}}
	ends := make(chan struct{})
	killed := make(chan string, 1)
	d := atDesk(t, func(_ Wish, o *session.Options) {
		o.Jobs = handletest.Background{
			OnList: func() []session.Job { return jobs },
			OnKill: func(id string) error { killed <- id; <-ends; return errors.New("job 3 does not end") },
		}
	})
	d.env.Now = func() time.Time { return now }
	d.groups.tasks.openJobs("")
	for _, want := range []string{"2  stopped  tail -f log", "1  exit 0  true"} {
		if got := d.shown(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	d.types("", "enter")
	d.shown()
	now = now.Add(time.Hour) // the question was read
	d.types("", "up", "enter")
	if got := <-killed; got != "3" {
		t.Errorf("job %s was stopped", got)
	}
	if got := d.shown(); !strings.Contains(got, "Ask anything") {
		t.Errorf("the list is still there:\n%s", got)
	}
	close(ends)
	d.until("the error", func() bool { return strings.Contains(d.shown(), "job 3 does not end") })
	d.groups.tasks.openJobs("")
	d.types("", "down", "enter")
	if got := d.shown(); !strings.Contains(got, "Background jobs") || !strings.Contains(d.hint.text, "has ended") {
		t.Errorf("a job that has ended: %q\n%s", d.hint.text, got)
	}
}
