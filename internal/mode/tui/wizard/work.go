package wizard

import (
	"context"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// task is something that takes time. It runs beside the face, one at a time.
type task struct {
	what string // in words, while it runs
	open bool   // keys go to the body meanwhile
	// writes says that it changes something: Esc ends it and waits for how far it came.
	writes bool
	// run gives the function that goes on, on the face's goroutine. That is dropped where
	// the person went elsewhere.
	run func(ctx context.Context) func()
}

// start runs a task in the place of the one before.
func (w *Wizard) start(t task) {
	w.abandon()
	ctx, cancel := context.WithCancel(context.Background())
	w.task, w.cancel, w.stopped = &t, cancel, false
	go func() {
		done := t.run(ctx)
		w.env.Post(func() {
			if w.task == &t && !w.ended {
				w.abandon()
				done()
			}
		})
	}()
}

// write runs what changes something. How it went is told in a note; where it went well
// then is called, and the next step follows.
func (w *Wizard) write(what, did string, f func(ctx context.Context) error, then func()) {
	w.start(task{what: what, writes: true, run: func(ctx context.Context) func() {
		err := f(ctx)
		return func() {
			if err != nil {
				w.say(brief(err), true)
				return
			}
			then()
			w.done(did)
		}
	}})
}

// deed is something that was done, and the step in which it was.
type deed struct {
	step step
	text string
}

// done notes what was done and goes on. A choice that is made anew takes the place of the
// one before.
func (w *Wizard) done(did string) {
	w.say(did, false)
	w.usable = w.usable || w.step <= stepProvider
	if w.step >= stepModel {
		w.did = slices.DeleteFunc(w.did, func(d deed) bool { return d.step == w.step })
	}
	w.did = append(w.did, deed{w.step, did})
	w.next()
}

// abandon ends what runs, and forgets it.
func (w *Wizard) abandon() {
	if w.task != nil {
		w.cancel()
		w.task, w.cancel, w.stopped = nil, nil, false
	}
}

// giveUp is Esc while something runs. A write is told to end, and its report awaited;
// at the second time it is not waited for any more.
func (w *Wizard) giveUp() {
	if w.task.writes && !w.stopped {
		w.stopped = true
		w.cancel()
		return
	}
	w.abandon()
	switch {
	case w.body != nil:
		w.say("Stopped.", false)
	case w.before() >= 0: // the step was about to begin
		w.back()
	default:
		w.next()
	}
}

// say puts a note above the step.
func (w *Wizard) say(note string, failed bool) { w.note, w.failed = note, failed }

// brief is an error for people.
func brief(err error) string {
	return prose.Head(prose.Inline(strings.TrimSpace(err.Error())), 600)
}
