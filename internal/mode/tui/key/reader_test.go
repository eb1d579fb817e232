package key

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// terminal is a Reader that runs on a pipe, within a bubble of synctest.
type terminal struct {
	t      *testing.T
	in     *io.PipeWriter
	events chan Event
	done   chan error
}

func newTerminal(t *testing.T) *terminal {
	pr, pw := io.Pipe()
	tm := &terminal{t: t, in: pw, events: make(chan Event, 16), done: make(chan error, 1)}
	r := NewReader(pr, Options{})
	go func() { tm.done <- r.Run(t.Context(), tm.events) }()
	return tm
}

func (tm *terminal) send(s string) {
	if _, err := tm.in.Write([]byte(s)); err != nil {
		tm.t.Fatal(err)
	}
	synctest.Wait()
}

// want checks what has come so far.
func (tm *terminal) want(evs ...Event) {
	tm.t.Helper()
	synctest.Wait()
	var got []Event
	for len(tm.events) > 0 {
		got = append(got, <-tm.events)
	}
	if diff := cmp.Diff(evs, got); diff != "" {
		tm.t.Errorf("(-want +got):\n%s", diff)
	}
}

func (tm *terminal) close() {
	tm.in.Close()
	if err := <-tm.done; err != nil {
		tm.t.Errorf("run: %v", err)
	}
}

func TestReaderEscape(t *testing.T) {
	for _, tt := range []struct {
		name   string
		first  string
		pause  time.Duration
		second string
		early  []Event // before the pause is over
		late   []Event
	}{
		{"alone", "\x1b", 31 * time.Millisecond, "", nil, press1("esc")},
		{"kitty: at once", "\x1b[27u", 0, "", press1("esc"), nil},
		{"sequence split within the time-out", "\x1b", 20 * time.Millisecond, "[A", nil, press1("up")},
		{"sequence split after the time-out", "\x1b", 40 * time.Millisecond, "x", nil, []Event{Press{Key: "esc"}, Press{Key: "x", Text: "x"}}},
		{"parameters split over a slow line", "\x1b[1;", time.Second, "5C", nil, press1("ctrl+right")},
		{"string split over a slow line", "\x1b]11;rgb:00/", time.Second, "00/00\x07a", nil, []Event{Reply{Kind: ReplyColor, Values: []int{11, 0, 0, 0}}, Press{Key: "a", Text: "a"}}},
		{"sequence that never ends", "\x1b[1;", 3 * time.Second, "x", nil, type1("x", "x")},
		{"character split", "\xe6", time.Second, "\xbc\xa2", nil, type1("漢", "漢")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tm := newTerminal(t)
				tm.send(tt.first)
				tm.want(tt.early...)
				pass(tt.pause)
				if tt.second != "" {
					tm.send(tt.second)
				}
				tm.want(tt.late...)
				tm.close()
				tm.want()
			})
		})
	}
}

// pass lets the bubble's time pass.
func pass(d time.Duration) { <-time.After(d) }

func TestReaderPasteWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tm := newTerminal(t)
		tm.send("\x1b[200~a\x03b")
		tm.send("\x03") // pasted, as it comes at once
		pass(2 * time.Second)
		tm.want()
		tm.send("\x03")
		tm.want(Paste{Text: "ab"})
		tm.send("c")
		tm.want(Press{Key: "c", Text: "c"})
		tm.close()
	})
}

func TestReaderEndsWithContext(t *testing.T) {
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	testEndsWithContext(t, pr, pw)
}

// testEndsWithContext runs a reader of from twice.
func testEndsWithContext(t *testing.T, from, to *os.File) {
	defer to.Close()
	defer from.Close()
	r := NewReader(from, Options{})
	for _, in := range []string{"a", "b"} { // the second run reads on where the first ended
		ctx, cancel := context.WithCancel(t.Context())
		events, done := make(chan Event), make(chan error, 1)
		go func() { done <- r.Run(ctx, events) }()
		if _, err := to.WriteString(in); err != nil {
			t.Fatal(err)
		}
		if got := <-events; got != (Press{Key: Key(in), Text: in}) {
			t.Errorf("got %v", got)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v, want the context's error", err)
		}
	}
}

func TestReaderFails(t *testing.T) {
	broken := errors.New("input/output error")
	events := make(chan Event, 4)
	err := NewReader(io.MultiReader(iotest.DataErrReader(iotest.ErrReader(broken))), Options{}).Run(t.Context(), events)
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the reader's error", err)
	}
	if err := NewReader(stuck{}, Options{}).Run(t.Context(), events); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that gives nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }
