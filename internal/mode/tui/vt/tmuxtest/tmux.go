// Package tmuxtest shows bytes to a real terminal emulator, tmux, so that tests can
// compare what it makes of them with what package vt does.
package tmuxtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Pane is one window of a tmux server of its own, which ends with the test. What is
// written to it goes to the terminal as it is, as if a program in raw mode had
// written it.
type Pane struct {
	t     testing.TB
	dir   string
	pipe  *os.File
	marks int
}

// limit is the time within which tmux shows what was written to it.
const limit = 20 * time.Second

// Start opens a window of w×h cells, or skips the test where there is no tmux.
func Start(t testing.TB, w, h int) *Pane {
	t.Helper()
	for _, name := range []string{"tmux", "mkfifo", "cat"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed: the comparison with a real terminal is left out", name)
		}
	}
	// Sockets have short names; the folders of tests have long ones.
	dir, err := os.MkdirTemp("", "burin-tmux-")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pane{t: t, dir: dir}
	t.Cleanup(func() { // runs last, even where the server cannot be ended
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if p.pipe != nil {
			p.run("kill-server")
			_ = p.pipe.Close()
		}
	})
	// (window-size manual here makes tmux 3.3a crash; resize-window sets it.)
	config := "set -g status off\nset -g history-limit 100000\nset -g default-terminal tmux-256color\n"
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "in")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %v: %s", err, out)
	}
	// Opened for both directions, it blocks neither side.
	if p.pipe, err = os.OpenFile(fifo, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	p.run("new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "stty raw -echo; exec cat "+fifo)
	return p
}

func (p *Pane) run(args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(p.dir, "s"), "-f", filepath.Join(p.dir, "conf")}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Write shows data and waits until tmux has taken it.
func (p *Pane) Write(data []byte) (int, error) {
	p.t.Helper()
	p.marks++
	mark := fmt.Sprintf("mark-%d", p.marks)
	if _, err := p.pipe.Write(append(append([]byte{}, data...), "\x1b]2;"+mark+"\x07"...)); err != nil {
		return 0, err
	}
	for end := time.Now().Add(limit); p.Value("pane_title") != mark; {
		if time.Now().After(end) {
			p.t.Fatalf("tmux did not take %d bytes", len(data))
		}
	}
	return len(data), nil
}

// Value is a value of the pane that tmux knows, such as cursor_x.
func (p *Pane) Value(name string) string {
	p.t.Helper()
	return p.run("display-message", "-p", "#{"+name+"}")
}

// Resize changes the size of the window.
func (p *Pane) Resize(w, h int) {
	p.t.Helper()
	p.run("resize-window", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h))
}

// Screen is the screen, row by row, with SGR sequences.
func (p *Pane) Screen() []string {
	p.t.Helper()
	return strings.Split(p.run("capture-pane", "-p", "-e", "-N"), "\n")
}

// All are the lines of the scrollback and the screen, those that tmux wrapped joined,
// without blanks at their ends and without blank lines at the end.
func (p *Pane) All() []string {
	p.t.Helper()
	lines := strings.Split(p.run("capture-pane", "-p", "-J", "-S", "-"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
