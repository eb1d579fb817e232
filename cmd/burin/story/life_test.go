package story_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A terminal that nobody reads holds burin up, as it does every program; but not when it
// is told to end.
func TestEndWhileNobodyReads(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, nil)
	var held time.Duration
	s.Look(func(*vt.Terminal) { // nothing is read meanwhile
		for range 400 {
			s.Send([]byte("words that are typed \x1b\r"))
			<-time.After(2 * time.Millisecond)
		}
		if err := s.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for stateOf(s.PID()) != "" && !strings.HasPrefix(stateOf(s.PID()), "Z") && time.Since(began) < waitTime {
			<-time.After(10 * time.Millisecond)
		}
		held = time.Since(began)
	})
	if held >= waitTime {
		t.Errorf("after %v it still waits for the terminal", held)
	}
}

// A terminal that is read again after a while shows everything, and nothing was lost.
func TestTerminalHeld(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say(words(4000)), say("Still here.")})
	s.send("tell me a lot")
	s.WaitText("word")
	s.Look(func(*vt.Terminal) { <-time.After(time.Second) })
	s.WaitText("word3999 end.")
	s.WaitGone("Working")
	all := s.all()
	for _, w := range []string{"word0 ", "word2000 ", "word3998 "} {
		if n := strings.Count(all, w); n != 1 {
			t.Errorf("%q stands there %d times", w, n)
		}
	}
	s.send("and now?")
	s.WaitText("Still here.")
}

// The session of a burin that still runs is joined: both terminals have it.
func TestContinueOfARunningSession(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("The first answer."), say("The second answer.")})
	s.send("the first prompt")
	s.WaitText("The first answer.")
	s.WaitGone("Working")
	other := s.beside("--continue")
	other.WaitText("The first answer.")
	other.send("the second prompt")
	for _, face := range []*story{s, other} {
		face.WaitText("The second answer.")
	}
	if heard := s.heard(-1); !strings.Contains(heard, "the first prompt") || !strings.Contains(heard, "the second prompt") {
		t.Errorf("the model read:\n%s", heard)
	}
	other.Press("ctrl+d")
	other.WaitEnd()
	s.send("/session")
	s.WaitText("This session")
}

// Terminals that say little of themselves, or nothing, are good enough.
func TestPoorTerminals(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, env := range map[string][]string{
		"dumb": {"TERM=dumb", "COLORTERM="}, "none": {"TERM=", "COLORTERM="}, "C": {"LANG=C", "LC_ALL=C"}, "no colours": {"NO_COLOR=1"},
		"linux": {"TERM=linux", "COLORTERM="},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, []llmtest.Turn{say("Good **morning**.")}, func(o *setting) { o.Env = append(o.Env, env...) })
			s.send("hello")
			s.WaitText("Good morning.")
			s.WaitGone("Working")
			s.Look(func(term *vt.Terminal) {
				if u := term.Unknown(); len(u) > 0 {
					t.Errorf("the terminal does not know %q", u)
				}
			})
			s.Press("ctrl+d")
			if code := s.WaitEnd(); code != 0 {
				t.Errorf("it ended with %d", code)
			}
			s.restored()
		})
	}
}

// Files of settings that are broken are named, and burin works with the rest.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Good morning.")}, func(o *setting) {
		o.home = filepath.Join(t.TempDir(), "home")
		o.config = "theme: {dark: broken}\n"
		write(t, filepath.Join(o.home, "keybindings.json"), `{"app.exit": ["ctrl+`+"\x1b]0;pwned\x07")
		write(t, filepath.Join(o.home, "themes", "broken.json"), `{"name": "bro`)
	})
	s.WaitText("keybindings.json")
	s.sees("themes/broken.json:1: unexpected end")
	s.send("hello")
	s.WaitText("Good morning.")
	write(t, filepath.Join(s.home, "config.yml"), "startup: [nonsense\n")
	s.send("/settings")
	s.WaitText("Dark theme")
	s.Press("down", "down", "down", "enter")
	s.WaitText("nothing was changed")
	s.Press("esc")
	s.WaitText("Ask anything")
	b, err := os.ReadFile(filepath.Join(s.home, "config.yml"))
	if err != nil || string(b) != "startup: [nonsense\n" {
		t.Errorf("config.yml was changed: %q, %v", b, err)
	}
}
