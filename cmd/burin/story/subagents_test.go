package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// The list of agents shows where each is from; one can be read, tried in a prompt, and edited: a
// built-in one as a copy of the person's own.
func TestAgentsCommand(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Done.")}, func(o *setting) {
		o.files = map[string]string{
			".claude/agents/theirs.md": "---\nname: theirs\ndescription: Somebody else's.\n---\nDo it.\n",
		}
		o.Env = append(o.Env, "EDITOR=sed -i s/Finds.code/Mine:Finds/")
	})
	s.WaitText("This waits for your trust")
	s.WaitText("agent theirs: Somebody else's.")
	s.answer("2") // not now
	s.WaitGone("waits for your trust")

	s.send("/agents")
	s.WaitText("Enter shows · e edits · t tries")
	s.WaitText("not used: not trusted yet")
	s.WaitText("explore")
	s.answer("esc")
	s.WaitGone("e edits")

	s.send("/agents explore")
	s.WaitText("You explore a workspace to answer one question.")
	s.WaitText("read, grep, find, ls, web_search")
	s.answer("esc")
	s.WaitGone("You explore a workspace")

	s.send("/agents edit explore")
	s.WaitText("explore.md")
	s.send("/agents explore")
	s.WaitText("Mine:Finds")
	s.WaitText("burin, user")
	s.answer("esc")
	s.WaitGone("Mine:Finds")

	s.send("/agents")
	s.WaitText("Enter shows · e edits · t tries")
	s.answer("down") // the person's own comes first
	s.answer("t")
	s.WaitText("theirs can't be started: not trusted yet")
	s.send("/agents try explore")
	s.WaitText("› Use the agent explore for this:")
	s.Type("where is main?\n")
	s.WaitText("Done.")
	if heard := s.heard(-1); !strings.Contains(heard, "Use the agent explore for this: where is main?") {
		t.Errorf("the model read:\n%s", heard)
	}
	s.send("/agents nobody")
	s.WaitText(`no agent "nobody"`)
}
