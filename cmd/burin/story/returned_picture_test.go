package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// withClipboard gives the desktop a clipboard that holds a picture.
func withClipboard(t *testing.T) func(*setting) {
	t.Helper()
	return withClipboardOf(t, pixel)
}

func withClipboardOf(t *testing.T, picture string) func(*setting) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bin")
	write(t, filepath.Join(bin, "dot.png"), picture)
	write(t, filepath.Join(bin, "xclip"), "#!/bin/sh\nexec cat "+filepath.Join(bin, "dot.png")+"\n")
	if err := os.Chmod(filepath.Join(bin, "xclip"), 0o755); err != nil {
		t.Fatal(err)
	}
	return func(o *setting) {
		o.Env = append(o.Env, "DISPLAY=:7", "WAYLAND_DISPLAY=", "SSH_CONNECTION=", "SSH_CLIENT=", "SSH_TTY=", "PATH="+bin+":"+os.Getenv("PATH"))
	}
}

// pastes puts the picture beside the prompt, as the n-th.
func (s *story) pastes(n string) {
	s.t.Helper()
	s.Press("ctrl+v")
	s.marked(n)
}

// marked waits for the mark of the prompt that pictures go with it; "" is none.
func (s *story) marked(n string) {
	s.t.Helper()
	s.WaitFor("the mark of "+n, func(t *vt.Terminal) bool {
		screen := t.Screen()
		if n == "" {
			return !strings.Contains(screen, "─ 1 picture ─") && !strings.Contains(screen, " pictures ─")
		}
		return strings.Contains(screen, "─ "+n+" ─")
	})
}

// pictures counts those in the last message of the last request.
func (s *story) pictures() (n int) {
	s.t.Helper()
	messages := s.request(-1).Messages
	for _, b := range messages[len(messages)-1].Content {
		if _, ok := b.(llm.Image); ok {
			n++
		}
	}
	return n
}

// Pictures come back with the prompts that they were pasted to, also from the queue, and
// go with what is sent again. A picture that is a file comes back as its name.
func TestPicturesComeBackFromTheQueue(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, back := range map[string]string{"taken back": "alt+up", "stopped": "esc"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := gated("Done.")
			defer first.open()
			s := begin(t, []llmtest.Turn{first.Turn, say("Two dots and a file.")}, withClipboard(t), func(o *setting) {
				o.files = map[string]string{"dot.png": pixel}
			})
			s.send("work")
			first.wait(t)
			s.pastes("1 picture")
			s.Type("look at @dot.png ")
			s.Press("enter")
			s.WaitText("next: look at @dot.png")
			s.marked("")
			s.pastes("1 picture")
			s.Type("and at this")
			s.Press("ctrl+enter")
			s.WaitText("and at this")
			s.marked("")
			s.Type("at last")
			s.Press(back)
			s.WaitText("› look at @dot.png")
			s.marked("2 pictures")
			first.open()
			s.WaitGone("Working")
			s.Press("enter")
			s.WaitText("Two dots and a file.")
			s.marked("")
			if n := s.pictures(); n != 3 {
				t.Errorf("%d pictures were sent, want 3:\n%s", n, s.heard(-1))
			}
			if heard := s.heard(-1); !strings.Contains(heard, "and at this\n\nat last") {
				t.Errorf("the model read:\n%s", heard)
			}
		})
	}
}

// A picture comes back with a prompt that could not be sent, and waits with one that is
// sent while no session is open.
func TestPictureOfAPromptThatCannotBeSent(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("A dot.")}, withClipboard(t), func(o *setting) {
		o.quiet, o.args = true, []string{"--model", "nonsense/none"}
	})
	s.WaitText("no provider")
	s.pastes("1 picture")
	s.send("what is this?")
	s.WaitText("› what is this?")
	s.marked("1 picture")
	s.Press("ctrl+u")
	s.send("/model")
	s.WaitText("Models [usable")
	s.Type("claude-opus-4-5")
	s.WaitText("→ claude-opus-4-5")
	s.Press("enter")
	s.WaitText("ask │")
	s.marked("1 picture")
	s.send("what is this?")
	s.WaitText("A dot.")
	s.marked("")
	if n := s.pictures(); n != 1 {
		t.Errorf("%d pictures were sent", n)
	}
}

// Ctrl+C takes pictures away that stand beside no words.
func TestPictureTakenAway(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Hello.")}, withClipboard(t))
	s.pastes("1 picture")
	s.pastes("2 pictures")
	s.Press("ctrl+c")
	s.marked("")
	s.send("hello")
	s.WaitText("Hello.")
	if n := s.pictures(); n != 0 {
		t.Errorf("%d pictures were sent", n)
	}
}
