package story_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm/llmtest"
)

// roles gives the roles models that the scripted provider has.
func roles(o *setting) {
	o.config = "modelRoles: {smol: anthropic/claude-haiku-4-5, default: anthropic/claude-opus-4-5, slow: anthropic/claude-sonnet-4-5}\n" +
		"cycleOrder: [smol, default, slow]\n"
}

// A model is chosen by a few of its letters, or gone to with a key; the next prompt
// goes to it.
func TestModel(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("I am the small one."), say("I am another.")}, roles)
	s.send("/model anthropic/claude-haiku-4-5")
	s.WaitText("Model: anthropic/claude-haiku-4-5")
	s.send("who are you?")
	s.WaitText("I am the small one.")
	s.WaitGone("Working")
	if got := s.request(-1).Model; got.ID != "claude-haiku-4-5" {
		t.Errorf("%s answered", got.ID)
	}
	s.Press("ctrl+p")
	s.WaitText("Model: anthropic/claude-opus-4-5")
	s.send("and you?")
	s.WaitText("I am another.")
	if got := s.request(-1).Model; got.ID != "claude-opus-4-5" {
		t.Errorf("%s answered", got.ID)
	}
}

// The list of models finds by letters.
func TestModelSelector(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, roles)
	s.Press("ctrl+l")
	s.WaitText("Models")
	s.Type("haiku45")
	s.WaitText("→ ")
	s.WaitText("claude-haiku-4-5")
	s.Press("enter")
	s.WaitText("Model: anthropic/claude-haiku-4-5")
}

// Shift+Tab has the model think harder: the border shows it, and the model is told.
func TestThinking(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Thought."), say("Thought more.")})
	border := func() (c vt.Color) {
		s.Look(func(t *vt.Terminal) { c = t.Cell(0, t.Cursor().Y-1).Style.FG })
		return c
	}
	was := border()
	s.send("think")
	s.WaitText("Thought.")
	s.WaitGone("Working")
	before := s.request(-1).Thinking
	s.Press("shift+tab")
	s.WaitFor("another border", func(t *vt.Terminal) bool { return t.Cell(0, t.Cursor().Y-1).Style.FG != was })
	s.send("think again")
	s.WaitText("Thought more.")
	if after := s.request(-1).Thinking; after == before {
		t.Errorf("the model was asked to think %v, as before", after)
	}
}

// A model that there is not is said to be none, and the list shows what comes near.
func TestUnknownModel(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, roles)
	s.send("/model haiku-4-9")
	s.WaitText("haiku-4-9")
	s.WaitText("> haiku-4-9")
	s.Press("esc")
	s.WaitText("Type to search") // the words go first, then the list
	s.Press("esc")
	s.WaitText("Ask anything")
	s.sees(`no model "haiku-4-9"`)
}
