package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm/llmtest"
)

// A terminal session reads what was said before it, while the person works; what it learned, and
// what the person says, the next session is told.
func TestMemory(t *testing.T) {
	t.Parallel()
	first := begin(t, []llmtest.Turn{say("pnpm it is.")})
	if first.away {
		t.Skip("the memory is that of the process that has the terminal")
	}
	first.send("always use pnpm")
	first.WaitText("pnpm it is.")
	first.WaitGone("Working")
	first.send("/memory add we ship on Fridays")
	first.WaitText("memory is off: burin config set memory.backend local turns it on")
	first.send("/quit")
	first.WaitEnd()

	second := begin(t, []llmtest.Turn{
		say("- [project] pnpm is the package manager"),
		say("<file path=\"project/MEMORY.md\">\n- pnpm\n</file>\n<file path=\"project/summary.md\">\n- pnpm, never npm\n</file>"),
		say("With pnpm, on Fridays."),
	}, func(o *setting) {
		o.home, o.dir = first.home, first.dir
		o.config = "memory: {backend: local}\nmemories: {minRolloutIdleHours: 0}\n"
	})
	second.WaitText("Memory updated: 1 session read; cost $")
	if heard := second.heard(0); !strings.Contains(heard, "always use pnpm") {
		t.Errorf("the model read:\n%s", heard)
	}
	second.send("/memory")
	second.WaitText("Memory is on for")
	second.WaitText("2 requests.")
	second.WaitText("- pnpm, never npm")
	second.Press("esc")
	second.send("/memory add we ship on Fridays")
	second.WaitText("notes.md. New")
	second.send("/memory forget it")
	second.WaitText("unknown command \"forget\"")
	second.send("/new")
	second.send("how do we install?")
	second.WaitText("With pnpm, on Fridays.")
	if system := second.request(-1).System; !strings.Contains(system, "- pnpm, never npm") || !strings.Contains(system, "- we ship on Fridays") {
		t.Errorf("the new session is told:\n%s", system)
	}

	second.send("/memory clear")
	second.WaitText("Clear the memory?")
	second.answer("y")
	second.WaitText("Cleared.")
	second.send("/memory view")
	second.WaitText("Nothing is remembered yet.")
}
