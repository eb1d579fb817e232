//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/burin-dev/burin/transcript"
)

// What shares a session does not outlive burin, also where only burin is told to end.
func TestShareIsKilled(t *testing.T) {
	t.Parallel()
	cmd := command(t, "sessions", "share", "x1", "--yes")
	home := filepath.Join(cmd.Dir, "burin")
	fifo := filepath.Join(cmd.Dir, "fifo")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(home, "sessions", transcript.EncodeDir("/x"), "2026_x1.jsonl"),
		`{"type":"session","version":3,"id":"x1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}`+"\n"+
			`{"type":"message","id":"a1","parentId":null,"timestamp":"t","message":{"role":"user","content":"hi"}}`+"\n", 0o600)
	write(filepath.Join(home, "share"), "#!/bin/sh\necho $$ >"+fifo+"\nexec sleep 600\n", 0o700)
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ready, pid := make(chan struct{}), 0
	go func() {
		defer close(ready)
		text, err := os.ReadFile(fifo)
		if err != nil {
			t.Error(err)
		}
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}()
	var out bytes.Buffer
	interrupt(t, cmd, io.Writer(&out), ready, syscall.SIGTERM)
	if pid == 0 {
		t.Fatal("it did not say who it is")
	}
	err := syscall.Kill(pid, 0)
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); err = syscall.Kill(pid, 0) {
		<-time.After(10 * time.Millisecond) // whoever adopted it may not have collected it yet
	}
	if !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is there: %v", pid, err)
	}
	if left, _ := filepath.Glob(filepath.Join(cmd.Dir, "burin-share-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// At a terminal a person is asked, and a no changes nothing.
func TestDeleteAsks(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	file := filepath.Join(cmd.Dir, "burin", "sessions", transcript.EncodeDir("/x"), "2026_x1.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"type":"session","version":3,"id":"x1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n" +
		`{"type":"message","id":"a1","parentId":null,"timestamp":"t","message":{"role":"user","content":"hi there"}}` + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		answer string
		code   int
		gone   bool
	}{{"\n", exitFailed, false}, {"n\n", exitFailed, false}, {"y\n", exitDone, true}} {
		ask := command(t, "sessions", "delete", "x1", "--force")
		ask.Env, ask.Dir = cmd.Env, cmd.Dir
		tty, err := pty.Start(ask)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tty, tt.answer); err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(tty) // ends with an error when the other side closes
		if code := exitCode(t, ask.Wait()); code != tt.code || !strings.Contains(string(said), "Delete session x1 (hi there) for good?") {
			t.Errorf("%q: code %d, said %q", tt.answer, code, said)
		}
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) != tt.gone {
			t.Errorf("%q: the session: %v", tt.answer, err)
		}
		tty.Close()
	}
}
