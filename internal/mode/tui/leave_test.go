package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/session"
)

// slow makes closing the first session wait, and fail with err.
func slow(t *testing.T, err error) (set func(Wish, *session.Options), free func()) {
	t.Helper()
	gate := make(chan struct{})
	first := true
	return func(_ Wish, o *session.Options) {
		if !first {
			return
		}
		first = false
		end := o.Close
		o.Close = func() error {
			<-gate
			return errors.Join(end(), err)
		}
	}, func() { close(gate) }
}

// Sessions are closed beside the loop, and opened one after the other in the order in
// which they were wished for. What closing fails with is told.
func TestLeaveInOrder(t *testing.T) {
	set, free := slow(t, errors.New("write the session: the disk is full"))
	d := atDesk(t, set)
	d.switcher.open(Wish{Resume: "two"})
	d.until("closing", func() bool { return d.switcher.leaving != nil && d.switcher.leaving.told })
	for range 3 { // a key that is held
		d.switcher.open(Wish{Resume: "three"})
	}
	d.switcher.open(Wish{})
	d.types("still here")
	if got := d.shown(); !strings.Contains(got, "Closing the session") || !strings.Contains(got, "still here") || strings.Contains(got, "Opening") {
		t.Errorf("it shows:\n%s", got)
	}
	if diff := cmp.Diff([]string{"open ", "open two"}, d.did()); diff != "" {
		t.Errorf("while the first is being closed (-want +got):\n%s", diff)
	}
	free()
	d.until("the last session", func() bool { return d.session != nil && !d.opening && len(d.outbox.waiting) == 0 })
	want := []string{"close ", "open three", "close two", "open ", "close three"}
	if diff := cmp.Diff(want, d.did()); diff != "" {
		t.Errorf("what follows (-want +got):\n%s", diff)
	}
	if got := d.shown(); !strings.Contains(got, "the disk is full") {
		t.Errorf("the error is not told:\n%s", got)
	}
}

// A session that is open already is closed before its file is opened again.
func TestLeaveBeforeTheSameFile(t *testing.T) {
	d := atDesk(t, nil)
	d.switcher.open(Wish{Resume: "two"})
	d.until("the second", func() bool { return d.session != nil && !d.opening })
	d.did()
	d.switcher.open(Wish{Resume: "two"})
	d.until("the second again", func() bool { return d.session != nil && !d.opening })
	if diff := cmp.Diff([]string{"close two", "open two"}, d.did()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A session that does not open leaves the one that is there, and what is wished for next
// is done all the same. Prompts for the one that did not open come back.
func TestLeaveForASessionThatDoesNotOpen(t *testing.T) {
	d := atDesk(t, nil)
	inner := d.switcher.opens
	d.switcher.opens = func(ctx context.Context, w Wish) (session.Handle, error) {
		if w.Resume == "gone" {
			return nil, errors.New("open the session: there is no such file")
		}
		return inner(ctx, w)
	}
	before := d.session
	d.switcher.open(Wish{Resume: "gone"})
	d.outbox.send("for the one that is gone", steerNow)
	d.switcher.open(Wish{Resume: "two"})
	d.until("the second session", func() bool { return d.session != before && d.session != nil && !d.opening })
	if got := d.composer.editor.Text(); got != "for the one that is gone" {
		t.Errorf("the editor has %q", got)
	}
}

// A session is deleted when it is closed.
func TestLeaveThenDelete(t *testing.T) {
	set, free := slow(t, nil)
	d := atDesk(t, set)
	d.did()
	d.switcher.leave(func() { d.groups.archives.deleteSession("the file") })
	d.until("closing", func() bool { return d.switcher.leaving != nil && d.switcher.leaving.told })
	if did := d.did(); len(did) > 0 {
		t.Errorf("before it is closed: %q", did)
	}
	free()
	d.until("a new session", func() bool { return d.session != nil })
	if diff := cmp.Diff([]string{"close ", "delete the file", "open "}, d.did()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whoever quits while one session is being closed for another waits for both; nothing
// that was written is lost, and no session is opened any more.
func TestQuitWhileLeaving(t *testing.T) {
	set, free := slow(t, nil)
	d := atDesk(t, set)
	d.switcher.open(Wish{Resume: "two"})
	d.until("closing", func() bool { return d.switcher.leaving != nil && d.switcher.leaving.told })
	d.outbox.send("not sent", steerNow)
	d.switcher.open(Wish{Resume: "three"})
	d.quit = true
	if d.over() {
		t.Fatal("it does not wait")
	}
	free()
	d.until("the end", d.over)
	d.display.stopKeys = func() {}
	d.end()
	if diff := cmp.Diff([]string{"open ", "open two", "close ", "close two"}, d.did()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := d.composer.editor.Text(); got != "not sent" {
		t.Errorf("the editor has %q", got)
	}
}

// Where the terminal is gone, the end waits for what is open.
func TestEndWithoutTerminal(t *testing.T) {
	d := atDesk(t, nil)
	d.quit, d.err = true, errors.New("the terminal is gone")
	if !d.over() {
		t.Fatal("it goes on")
	}
	d.display.stopKeys = func() {}
	d.end()
	if diff := cmp.Diff([]string{"open ", "close "}, d.did()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
