package story_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// tmux is burin in a real terminal emulator.
type tmux struct {
	t   *testing.T
	dir string // of its socket
}

// command is tmux with its socket, which is named from its folder: the whole path may be too long.
func (x *tmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", "s", "-f", os.DevNull}, args...)...)
	cmd.Dir, cmd.Env = x.dir, append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	return cmd
}

func (x *tmux) run(args ...string) string {
	x.t.Helper()
	out, err := x.command(args...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// all is the scrollback and the screen.
func (x *tmux) all() string { return x.run("capture-pane", "-p", "-J", "-S", "-") }

// wait looks until the terminal shows text.
func (x *tmux) wait(text string) {
	x.t.Helper()
	x.until(text, func() bool { return strings.Contains(x.all(), text) })
}

// until asks again and again; tmux cannot tell when something happened.
func (x *tmux) until(what string, ok func() bool) {
	x.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(waitTime); time.Now().Before(end); <-tick.C {
		if ok() {
			return
		}
	}
	x.t.Fatalf("still waiting for %s:\n%s", what, x.all())
}

// inTmux starts burin in tmux, 80 by 24.
func inTmux(t *testing.T, turns []llmtest.Turn, with ...func(*setting)) *tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	dir, err := os.MkdirTemp("", "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // burin may still end in it
	settle := setting{home: filepath.Join(dir, "home")}
	for _, f := range with {
		f(&settle)
	}
	settle.prepare(t, model)
	x := &tmux{t: t, dir: dir}
	args := []string{"new-session", "-d", "-x", "80", "-y", "24", "-c", settle.dir}
	for _, v := range settle.Env {
		args = append(args, "-e", v)
	}
	x.run(append(args, os.Getenv(programVariable), "--model", "anthropic/claude-opus-4-5")...)
	t.Cleanup(func() { _ = x.command("kill-server").Run() }) // it may have ended
	x.run("set-option", "-g", "remain-on-exit", "on")
	x.wait("claude-opus-4-5")
	return x
}

// burin in tmux: an answer longer than the screen is in its scrollback, once and in
// order, and what tmux does with the keyboard and the size is understood.
func TestTmux(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	text := strings.ReplaceAll(words(300), "0 ", "0\n\n")
	x := inTmux(t, []llmtest.Turn{{Parts: []llmtest.Part{{Text: text}}, Pace: time.Millisecond}, say("Once more.")})
	x.run("send-keys", "count", "Enter")
	x.wait("word50")
	x.run("resize-window", "-x", "100", "-y", "30")
	x.wait("end.")
	want := strings.TrimSuffix(words(300), " end.")
	x.until("each word once and in order", func() bool { // tmux may have been looked at within a frame
		var got []string
		for word := range strings.FieldsSeq(x.all()) {
			if strings.HasPrefix(word, "word") {
				got = append(got, word)
			}
		}
		return strings.Join(got, " ") == want
	})
	x.run("send-keys", "again", "Enter")
	x.wait("Once more.")
	x.run("send-keys", "C-d")
	x.until("the end of burin", func() bool { return strings.TrimSpace(x.run("display-message", "-p", "#{pane_dead}")) == "1" })
}

// A list in tmux is clicked on below a conversation: tmux says where its cursor is.
func TestMouseInTmux(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	x := inTmux(t, []llmtest.Turn{say("An answer.\n\nOf two parts.")}, withMouse)
	x.run("send-keys", "hello", "Enter")
	x.wait("Of two parts.")
	mouse := func() bool {
		return strings.TrimSpace(x.run("display-message", "-p", "#{mouse_all_flag}#{mouse_sgr_flag}")) == "11"
	}
	if mouse() {
		t.Error("the prompt takes the mouse")
	}
	x.run("send-keys", "/theme", "Enter")
	x.wait("Themes")
	x.until("the mouse to be asked for", mouse)
	at := func(text, report string) {
		t.Helper()
		for y, line := range strings.Split(x.run("capture-pane", "-p"), "\n") {
			if strings.Contains(line, text) {
				x.run("send-keys", "-l", fmt.Sprintf(report, y+1))
				return
			}
		}
		t.Fatalf("no %q to point at", text)
	}
	click := func(text string) {
		t.Helper()
		at(text, "\x1b[<0;6;%[1]dM\x1b[<0;6;%[1]dm")
	}
	at("ember", "\x1b[<35;6;%dM")
	x.until("ember to be underlined", func() bool { return strings.Contains(x.run("capture-pane", "-p", "-e"), "\x1b[4m") })
	click("dusk")
	x.wait("→   dusk")
	click("dusk")
	x.until("the end of the list", func() bool { return !strings.Contains(x.run("capture-pane", "-p"), "Themes") && !mouse() })
}
