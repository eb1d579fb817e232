package session_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// What is too damaged to be read is told of when the session is opened or the branch is
// taken, once for each entry; what a summary stands for is of no account.
func TestDamagedEntriesAreToldOf(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Compaction = small() },
		brain(30, func(int) string { return "SUMMARY" }, say("ANSWER ONE"), say("ANSWER TWO"), say("ok"))...)
	r.prompt("one", agent.ReasonDone)
	r.prompt("two", agent.ReasonDone)
	var first string // that will be damaged
	for e, err := range r.Log().All() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Message != nil && e.Message.Text() == "ANSWER ONE" {
			first = e.ID
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	// A space has lost a bit.
	data = bytes.ReplaceAll(data, []byte("ANSWER "), []byte("ANSWER\x00"))
	if err := os.WriteFile(r.path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() {
		t.Helper()
		log, _, err := transcript.OpenSession(r.path, transcript.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.warnings, r.o.Log = nil, log
		r.open()
	}

	open()
	if got := r.warned(); len(got) != 1 || !strings.Contains(got[0], "2 entries") || !strings.Contains(got[0], first) {
		t.Errorf("opened: %q", got)
	}
	for range 2 {
		if err := r.Pin("keep this"); err != nil { // the conversation is read again
			t.Fatal(err)
		}
	}
	r.prompt("and now?", agent.ReasonDone)
	if got := r.warned(); len(got) != 1 {
		t.Errorf("told again: %q", got)
	}
	r.Close()

	open()
	r.prompt(long(900), agent.ReasonDone)
	r.prompt(long(900), agent.ReasonDone)
	if err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	r.Close()
	open()
	if got := r.warned(); len(got) != 0 {
		t.Errorf("of what is summarised the person is told %q", got)
	}
}
