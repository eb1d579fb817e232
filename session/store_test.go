package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// flaky is a file on a disk that is full at times.
type flaky struct {
	*transcript.FileStore
	full atomic.Bool
}

var errFull = errors.New("no space left on device")

func (s *flaky) Append(records ...[]byte) ([]transcript.Ref, error) {
	if s.full.Load() {
		return nil, errFull
	}
	return s.FileStore.Append(records...)
}

func (s *flaky) Sync() error {
	if s.full.Load() {
		return errFull
	}
	return s.FileStore.Sync()
}

func TestFullDisk(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		var store *flaky
		r := start(t, f, func(r *rig, o *session.Options) {
			store = &flaky{FileStore: transcript.CreateFile(r.path)}
			log, err := transcript.Create(store, transcript.Header{CWD: "/"}, transcript.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o.Log = log
		}, say("one"), say("two"), say("three"), say("four"), say("five"))
		store.full.Store(true)
		r.prompt("first", agent.ReasonDone)
		r.prompt("second", agent.ReasonDone)
		if _, err := os.Stat(r.path); err == nil {
			t.Fatal("the disk was not full")
		}
		if w := r.warned(); len(w) != 1 || !strings.Contains(w[0], "no space left") || strings.Contains(w[0], "\n") {
			t.Errorf("warnings: %q", w)
		}
		store.full.Store(false)
		r.prompt("third", agent.ReasonDone)
		store.full.Store(true)
		r.prompt("fourth", agent.ReasonDone)
		if w := r.warned(); len(w) != 2 {
			t.Errorf("when it fails again: %q", w)
		}
		store.full.Store(false)
		before := said(r.Messages())
		r.resume()
		if diff := cmp.Diff(before, said(r.Messages())); diff != "" {
			t.Errorf("what was said is not kept:\n%s", diff)
		}
		r.prompt("fifth", agent.ReasonDone)
		r.prefixed()
	})
}

// What was typed is on the disk before the model has answered.
func TestDraftSurvivesKill(t *testing.T) {
	r := start(t, formats()[0], nil, llmtest.Turn{Fault: llmtest.Fault{StallHead: true}}, llmtest.Turn{Fault: llmtest.Fault{StallHead: true}})
	done := make(chan agent.Outcome)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- r.Prompt(ctx, llm.UserText("a long and careful prompt")) }()
	waitFor(t, func() bool { return len(r.srv.Requests()) > 0 })
	text, err := os.ReadFile(r.path + ".draft")
	cancel()
	<-done
	if err != nil {
		t.Fatal(err)
	}
	// As it is found after the process has died.
	left := filepath.Join(t.TempDir(), "s.jsonl.draft")
	if err := os.WriteFile(left, text, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := transcript.OpenFile(left)
	if err != nil {
		t.Fatal(err)
	}
	log, _, err := transcript.Open(store, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(session.Options{Client: r.client, Request: llm.Request{Model: &r.model}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if diff := cmp.Diff([]string{"user: a long and careful prompt"}, said(s.Messages())); diff != "" {
		t.Error(diff)
	}
}

// A process that dies at any byte of its transcript leaves a session that goes on
// with a lawful request.
func TestResumeFromAnyByte(t *testing.T) {
	f := formats()[0]
	r := start(t, f, func(r *rig, o *session.Options) { o.Tools = nil },
		refused(llm.ErrOverload, "busy"), calls(`c1 gone {"path":"x"}`, `c2 gone {"path":"y"}`), say("done"))
	r.prompt("go", agent.ReasonDone)
	r.Close()
	text, err := os.ReadFile(r.path)
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.New(llmtest.Script{}, f.server)
	defer srv.Close()
	dir := t.TempDir()
	for at := strings.Index(string(text), "\n") + 1; at < len(text); at += 31 {
		path := filepath.Join(dir, "s.jsonl")
		if err := os.WriteFile(path, text[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		store, err := transcript.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		log, _, err := transcript.Open(store, transcript.Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", at, err)
		}
		again := start(t, f, func(r *rig, o *session.Options) { o.Log = log }, say("on"))
		again.prompt("go on", agent.ReasonDone)
		again.clean()
		lawful(t, again.srv.Requests()[0])
		again.Close()
		again.srv.Close()
	}
}

// A session whose file is deleted while it is open is kept, and a person is told.
func TestFileGone(t *testing.T) {
	r := start(t, formats()[0], nil, say("one"), say("two"), say("three"))
	r.prompt("first", agent.ReasonDone)
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	r.prompt("second", agent.ReasonDone)
	r.prompt("third", agent.ReasonDone)
	if w := r.warned(); len(w) != 1 || !strings.Contains(w[0], "written again") {
		t.Errorf("warnings: %q", w)
	}
	r.resume()
	if got := strings.Join(said(r.Messages()), " "); !strings.Contains(got, "first") || !strings.Contains(got, "three") {
		t.Errorf("the file has %s", got)
	}
}
