package mcp_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/mcp"
)

// names are those of the tools that are used.
func names(l *mcp.Link) (all []string) {
	tools, _ := l.Tools()
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return all
}

// A server is switched off and on while somebody uses it: off it has no tools and answers nothing.
func TestSwitch(t *testing.T) {
	t.Parallel()
	p := pool(t, mcp.Options{Cache: t.TempDir()})
	s := program("0")
	s.Without = []string{"fail"}
	dir := t.TempDir()
	l, leaveOn := p.Use(s, dir)
	defer leaveOn()
	if got := l.Status(); got.State != mcp.Idle || !got.At.IsZero() {
		t.Errorf("at first: %+v", got)
	}
	call(t, l, "echo", "{}")
	told := 0
	defer l.Watch(func() { told++ })()
	if got := l.Status(); got.State != mcp.Connected || len(got.Tools) != 7 || slices.Contains(names(l), "fail") || l.Offers("fail") {
		t.Errorf("connected: %s, %d tools, used %q", got.State, len(got.Tools), names(l))
	}
	l.Switch("fail", true)
	l.Switch("echo", false)
	if got := names(l); !slices.Contains(got, "fail") || slices.Contains(got, "echo") || len(got) != 6 {
		t.Errorf("after two switches: %q", got)
	}
	l.Switch("", false)
	if _, err := l.Call(t.Context(), "hang", nil, nil); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("a call while it is off: %v", err)
	}
	if got := l.Status(); got.State != mcp.Off || len(names(l)) > 0 || len(got.Tools) != 7 || l.Stale() {
		t.Errorf("off: %s, used %q", got.State, names(l))
	}
	l.Switch("", false)
	l.Switch("", true)
	if told != 4 || len(names(l)) != 6 {
		t.Errorf("told %d times, used %q", told, names(l))
	}
	if got := call(t, l, "environment", "{}"); got == "" {
		t.Error("on again it answers nothing")
	}
	// One that is off from the beginning is another link, and knows what the server had once it is on.
	off, leave := p.UseOff(s, dir)
	defer leave()
	if off == l || l.Off() || !off.Off() || len(names(off)) > 0 {
		t.Error("a link that is off is the one of those who use the server")
	}
	if off.Switch("", true); len(names(off)) != 6 || len(p.Find("test")) != 2 {
		t.Errorf("on for the first time: %q of %d links", names(off), len(p.Find("test")))
	}
}

// Switching a server off ends the calls that it works on.
func TestSwitchOffEndsCalls(t *testing.T) {
	t.Parallel()
	l := use(t, pool(t, mcp.Options{}), program("0"))
	call(t, l, "echo", "{}")
	ended := make(chan error, 1)
	go func() {
		_, err := l.Call(t.Context(), "hang", nil, nil)
		ended <- err
	}()
	l.Switch("", false)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("the call: %v", err)
	}
}

// After a failure a person need not wait; the last words of the program stay to be read.
func TestReconnect(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	bad := mcp.Server{Name: "bad", Type: mcp.Stdio, Command: "sh", Args: []string{"-c", "printf 'no \\033[31mkey\\n' >&2; echo x >> tries; exit 1"}, Dir: t.TempDir()}
	l := use(t, pool(t, mcp.Options{Environ: os.Environ(), Now: func() time.Time { return now }}), bad)
	for range 2 {
		if err := l.Reconnect(t.Context()); err == nil || strings.Contains(err.Error(), "tries again") {
			t.Errorf("a person asks for it: %v", err)
		}
	}
	if got := l.Status(); got.State != mcp.Failed || got.Err == nil || !got.Retry.Equal(now.Add(time.Second)) || !strings.HasPrefix(l.Words(), "no ") || strings.Contains(l.Words(), "\x1b") {
		t.Errorf("%+v, %q", got, l.Words())
	}
	// Each time twice: some older servers end with the question what they speak.
	if tries, err := os.ReadFile(bad.Dir + "/tries"); err != nil || strings.Count(string(tries), "x") != 4 {
		t.Errorf("tries: %q %v", tries, err)
	}
}

// Where a server is reached is said without the name and password of its address.
func TestWhere(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://kim:pass@mcp.example.com/sse?key=1": "https://mcp.example.com/sse", "https://mcp.example.com": "https://mcp.example.com",
	} {
		s := mcp.Server{Type: mcp.HTTP, URL: url}
		if got := s.Where(); got != want {
			t.Errorf("%s: %s", url, got)
		}
	}
}
