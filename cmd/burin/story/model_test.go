package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
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

// The format of edits follows the model, unless one is configured.
func TestEditToolFollowsModel(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, engine := range map[string]string{"follows": "", "configured": "edit: {mode: hashline}\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{say("I am Opus."), say("I am GPT."), say("I am Opus again.")}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(model.Close)
			s := beginWith(t, model, func(o *setting) {
				o.config = engine
				o.files = map[string]string{"../home/models.yml": "providers:\n" +
					"  anthropic: {baseUrl: '" + model.URL + "', apiKey: k, api: anthropic-messages}\n" +
					"  proxy: {baseUrl: '" + model.URL + "', apiKey: k, api: anthropic-messages, models: [{id: gpt-5-mini, contextWindow: 200000}]}\n"}
			})
			edit := func() string {
				for _, d := range s.request(-1).Tools {
					if d.Name == "edit" {
						return d.Description + string(d.Schema)
					}
				}
				return ""
			}
			ask := func(answer string) string {
				s.send("who are you?")
				s.WaitText(answer)
				s.WaitGone("Working")
				return edit()
			}
			opus := ask("I am Opus.")
			s.send("/model proxy/gpt-5-mini")
			s.WaitText("Model: proxy/gpt-5-mini")
			gpt := ask("I am GPT.")
			s.send("/model anthropic/claude-opus-4-5")
			s.WaitText("Model: anthropic/claude-opus-4-5")
			if again := ask("I am Opus again."); again != opus {
				t.Errorf("back at the first model the tool is\n%s\nand was\n%s", again, opus)
			}
			if follows := gpt != opus; opus == "" || follows != (engine == "") {
				t.Errorf("edit of the one:\n%s\nof the other:\n%s", opus, gpt)
			}
			if engine == "" && !strings.Contains(gpt, "Begin Patch") {
				t.Errorf("a model of patches gets\n%s", gpt)
			}
		})
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
