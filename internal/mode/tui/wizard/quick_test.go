package wizard

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
)

// quickWorld is a machine without a usable model, and the one screen on it.
func quickWorld(t *testing.T) *world {
	x := newWorld(t)
	x.o.Quick, x.o.Wanted, x.ready = true, "", map[string]string{}
	x.o.Find = nil
	return x
}

func (x *world) ends(want ...Result) {
	x.t.Helper()
	if !slices.Equal(x.ended, want) {
		x.t.Errorf("it ended as %+v, want %+v:\n%s", x.ended, want, x.screen(80, 24))
	}
}

// Two keys and a paste lead from nothing to a model that works.
func TestQuickKey(t *testing.T) {
	x := quickWorld(t).begin()
	x.says("→ Anthropic", "OpenAI", "Google", "search all providers")
	x.do("down", "enter", "'sk-0123456789", "enter")
	if want := []string{"key openai sk-0123456789"}; !slices.Equal(x.calls, want) {
		t.Errorf("called %q, want %q", x.calls, want)
	}
	x.ends(Result{Finished: true, Ready: true})
}

// The keys that another tool keeps come first: one Enter imports them.
func TestQuickImport(t *testing.T) {
	x := quickWorld(t)
	x.o.Find = func(ctx context.Context) []discover.Finding { return sampleFindings(x) }
	x.begin()
	x.says("→ Import", "the keys of opencode", "A login, which stays with Claude Code")
	x.fail["import"] = errors.New("no room")
	x.do("enter")
	x.says("Not imported", "no room", "→ Import")
	x.ends()
	delete(x.fail, "import")
	x.do("enter")
	x.ends(Result{Finished: true, Ready: true})
}

// The provider of the model that was asked for comes first.
func TestQuickWanted(t *testing.T) {
	x := quickWorld(t)
	x.o.Wanted = "groq"
	x.begin()
	x.says("→ groq", "Anthropic")
}

// A letter searches all providers, Esc goes back, and back to the prompt.
func TestQuickSearch(t *testing.T) {
	x := quickWorld(t).begin()
	x.do("o", "p", "e", "n", "r")
	x.says("> openr", "→ openrouter", "log in with the browser")
	x.do("esc", "esc")
	x.says("→ Others")
	x.do("esc")
	x.ends(Result{Finished: true})
}

func TestQuickDemo(t *testing.T) {
	x := quickWorld(t)
	shown := false
	x.o.Demo = func() { shown = true }
	x.begin()
	x.do("up", "enter")
	if !shown {
		t.Error("the demo was not asked for")
	}
}

// What is typed while the screen appears was meant for the prompt.
func TestQuickTypedAhead(t *testing.T) {
	x := quickWorld(t)
	typed := ""
	x.o.OnTyped = func(ev key.Event) {
		if p, ok := ev.(key.Press); ok {
			typed += p.Text
		}
	}
	x.begin()
	for _, k := range []string{"h", "i", "enter"} {
		x.face.Time = x.face.Time.Add(hastyTime / 2)
		paneltest.Press(x.w, k)
	}
	if typed != "hi" {
		t.Errorf("the prompt got %q", typed)
	}
	x.says("→ Anthropic")
	x.face.Time = x.face.Time.Add(hastyTime + time.Millisecond)
	x.do("g")
	x.says("> g")
}
