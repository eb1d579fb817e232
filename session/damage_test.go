package session_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
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

// A session whose pieces were deleted or damaged goes on with words in their place, which
// every wire format takes, and the person is told once.
func TestLostPiecesAreToldOf(t *testing.T) {
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			dir := t.TempDir()
			o := transcript.Options{Blobs: transcript.NewBlobs(dir)}
			r := start(t, f, func(r *rig, s *session.Options) {
				log, err := transcript.Create(transcript.CreateFile(r.path), transcript.Header{CWD: "/"}, o)
				if err != nil {
					t.Fatal(err)
				}
				s.Log = log
				s.Tools = []*tool.Tool{simple("look", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
					return &tool.Result{Content: []llm.Block{llm.Image{MIME: "image/png", Data: bytes.Repeat([]byte{2}, 2000)}}}, nil
				})}
			}, calls(`c1 look {"path":"a"}`), say("seen"), say("ok"))
			out := r.Prompt(t.Context(), llm.Message{Role: llm.RoleUser, Content: []llm.Block{
				llm.Text{Text: "look"},
				llm.Image{MIME: "image/png", Data: bytes.Repeat([]byte{1}, 2000)},
				llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: bytes.Repeat([]byte{3}, 2000), Text: "the words of a.pdf"},
			}})
			if out.Reason != agent.ReasonDone {
				t.Fatalf("%+v", out)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 3 {
				t.Fatalf("%d blobs, %v", len(files), err)
			}
			for i, f := range files {
				if i > 0 {
					err = os.Remove(filepath.Join(dir, f.Name()))
				} else {
					err = os.Truncate(filepath.Join(dir, f.Name()), 77)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			log, damage, err := transcript.OpenSession(r.path, o)
			if err != nil || damage.Serious() {
				t.Fatal(damage, err)
			}
			r.o.Log = log
			r.open()
			if got := r.warned(); len(got) != 1 || !strings.Contains(got[0], "3 pieces") || strings.Contains(got[0], "\n") {
				t.Errorf("told: %q", got)
			}
			r.prompt("and now?", agent.ReasonDone)
			r.clean()
			if got := r.warned(); len(got) != 1 {
				t.Errorf("told again: %q", got)
			}
			raw := r.srv.Raw()
			body := string(raw[len(raw)-1].Body)
			if n := strings.Count(body, "[image that is not there any more: blob:sha256:"); n != 2 {
				t.Errorf("of 2 images that are gone the request says %d: %s", n, body)
			}
			if !strings.Contains(body, "the words of a.pdf") || strings.Count(body, "blob:sha256:") != 2 {
				t.Errorf("the request: %s", body)
			}
		})
	}
}
