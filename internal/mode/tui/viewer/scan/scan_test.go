package scan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/viewer/scan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func create(t *testing.T, n int) (*transcript.Log, []string) {
	t.Helper()
	log := paneltest.Session(t)
	var ids []string
	for i := range n {
		ids = append(ids, paneltest.Append(t, log, paneltest.User(fmt.Sprint("Entry ", i)))...)
	}
	return log, ids
}

type told struct {
	found []int
	done  int
}

// All are found once, in the order that was promised, and what was done only grows.
func TestOrder(t *testing.T) {
	log, ids := create(t, 500)
	for _, from := range []int{0, 250, 499} {
		tell := make(chan told, 1000)
		scan.Start(scan.Options{
			Log: log, Len: len(ids), ID: func(i int) string { return ids[i] }, From: from, Now: time.Now,
			Match: func(e *transcript.Entry) bool { return scan.Contains(e, "7") },
			Tell:  func(_ *scan.Run, found []int, done int) { tell <- told{found, done} },
		})
		var got, want []int
		for last := 0; last < 500; {
			w := <-tell
			if w.done <= last {
				t.Fatalf("%d are done after %d", w.done, last)
			}
			got, last = append(got, w.found...), w.done
		}
		for k := range 500 {
			i := (from - k + 500) % 500
			if slices.Contains([]byte(fmt.Sprint(i)), '7') {
				want = append(want, i)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("from %d: %s", from, diff)
		}
	}
}

// After Stop at most what was under way is looked at.
func TestStop(t *testing.T) {
	log, ids := create(t, 2000)
	var r *scan.Run
	looked := 0
	begun, gate, tell := make(chan bool), make(chan bool), make(chan told, 10)
	r = scan.Start(scan.Options{
		Log: log, Len: len(ids), From: len(ids) - 1, Now: time.Now,
		ID: func(i int) string {
			if looked++; looked == 1 {
				begun <- true
				<-gate
			}
			if looked == 100 {
				tell <- told{done: looked}
			}
			return ids[i]
		},
		Match: func(*transcript.Entry) bool { return false },
		Tell:  func(_ *scan.Run, found []int, done int) { tell <- told{found, done} },
	})
	<-begun
	r.Stop()
	close(gate)
	select {
	case w := <-tell:
		t.Errorf("it went on: %+v", w)
	case <-time.After(50 * time.Millisecond):
	}
	(*scan.Run)(nil).Stop()
}

func TestPieces(t *testing.T) {
	m := llm.Message{
		Role: llm.RoleAssistant, StopReason: llm.StopError, Error: &llm.Error{Message: "Overloaded"},
		Content: []llm.Block{llm.Thinking{Text: "THINK"}, llm.Text{Text: "Über"}, llm.ToolCall{Name: "bash", Arguments: `{"command":"ls"}`}},
	}
	for _, tt := range []struct {
		e    transcript.Entry
		word string
		want bool
	}{
		{transcript.Entry{Message: &m}, "think", true},
		{transcript.Entry{Message: &m}, "über", true},
		{transcript.Entry{Message: &m}, "bash", true},
		{transcript.Entry{Message: &m}, `"ls"`, true},
		{transcript.Entry{Message: &m}, "overloaded", true},
		{transcript.Entry{Message: &m}, "none", false},
		{transcript.Entry{Type: transcript.TypeCompaction, Summary: "A Summary"}, "summary", true},
		{transcript.Entry{Type: transcript.TypeCustomMessage, Content: []byte(`"words"`), Display: true}, "words", true},
		{transcript.Entry{Type: transcript.TypeCustomMessage, Content: []byte(`"words"`)}, "words", false},
	} {
		if got := scan.Contains(&tt.e, tt.word); got != tt.want {
			t.Errorf("%q: %v", tt.word, got)
		}
	}
}
