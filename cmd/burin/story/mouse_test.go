package story_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// withMouse gives lists and questions the mouse too.
func withMouse(o *setting) { o.config += "tui: {mouse: always}\n" }

// hasMouse waits until burin asked for the mouse, or has given it back.
func (s *story) hasMouse(want bool) {
	s.t.Helper()
	s.WaitFor("the mouse", func(t *vt.Terminal) bool { return t.Mode(1000) == want && t.Mode(1006) == want })
}

// Without a setting the mouse is the terminal's, but for what fills the screen: there tabs and
// settings are clicked on, and the wheel moves.
func TestMouseInFullScreen(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	if s.HasMouse() {
		t.Error("the prompt takes the mouse from the terminal")
	}
	s.send("/theme")
	s.WaitText("Themes")
	if s.HasMouse() {
		t.Error("a list takes the mouse from the terminal")
	}
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("/settings")
	s.WaitText("Color-blind mode")
	s.hasMouse(true)
	s.Click("Hide thinking")
	s.WaitText("→   Hide thinking")
	s.Wheel(-1)
	s.WaitText("→   Symbols")
	s.Wheel(1)
	s.WaitText("→   Hide thinking")
	s.Click("Hide thinking")
	s.configured("hideThinkingBlock: true")
	s.Click("interaction")
	s.WaitText("[interaction]")
	s.Click("Esc twice")
	s.WaitText("→   Esc twice")
	s.Click("Esc twice") // opens its choices, with tree selected
	s.WaitText("Enter saves")
	s.Click("branch")
	s.WaitFor("branch selected", func(t *vt.Terminal) bool { return strings.Contains(line(t, "branch"), "→") })
	s.Click("branch")
	s.configured("doubleEscapeAction: branch")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.hasMouse(false)
}

// The mouse is switched while burin runs, and off is off.
func TestMouseIsSwitched(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, func(o *setting) { o.config = "tui: {mouse: 'off'}\n" })
	s.send("/settings")
	s.Type("mouse")
	s.WaitText("→ • Mouse")
	if s.HasMouse() {
		t.Error("the mouse is on, and the setting says off")
	}
	s.Press("enter")
	s.WaitText("Enter saves")
	s.Press("down", "down", "enter")
	s.configured("mouse: always")
	s.hasMouse(true)
	s.Press("esc", "esc")
	s.WaitText("Ask anything")
	s.hasMouse(false)
	s.send("/theme")
	s.WaitText("Themes")
	s.hasMouse(true)
}

// In the reader of the conversation the wheel scrolls, a click selects what was said, and a
// second one unfolds it where it stands.
func TestMouseInTranscript(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	lines := make([]string, 40)
	for i := range lines {
		lines[i] = "out" + strings.Repeat("x", i+1) + "."
	}
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"printf '`+strings.Join(lines, `\n`)+`\n'"}`),
		say(words(400) + " END"),
	}, func(o *setting) { o.config = "approval: full\n" })
	s.send("FIRST-PROMPT")
	s.WaitText("END")
	s.WaitGone("Working")
	s.send("/transcript")
	s.WaitText("100 %")
	s.hasMouse(true)
	s.Wheel(-40)
	s.WaitText("FIRST-PROMPT")
	s.WaitText("message 1 of")
	s.Click("more lines")
	s.WaitFor("the row selected", func(t *vt.Terminal) bool { return strings.Contains(t.Screen(), "\n> ") })
	s.Click("more lines")
	s.WaitGone("more lines")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.hasMouse(false)
}

// With tui.mouse at always, lists that stand in the prompt's place are clicked on wherever on the
// screen they stand, below a conversation and at its top.
func TestMouseInList(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Blue, by scattering."), say("Four."), say("Red, by scattering.")}, withMouse)
	s.send("/theme")
	s.WaitText("Themes")
	s.hasMouse(true)
	s.Click("dusk")
	s.WaitText("→   dusk")
	s.Click("dusk")
	s.configured("dusk")
	s.WaitText("Ask anything")
	s.hasMouse(false)

	s.send("why is the sky blue?")
	s.WaitText("Blue, by scattering.")
	s.WaitGone("Working")
	s.send("two and two?")
	s.WaitText("Four.")
	s.WaitGone("Working")
	s.Press("esc", "esc")
	s.WaitText("Session tree")
	s.Click("you: why is the sky blue?")
	s.WaitFor("the prompt selected", func(t *vt.Terminal) bool {
		return strings.HasPrefix(line(t, "you: why is the sky blue?"), ">")
	})
	s.Click("you: why is the sky blue?")
	s.WaitText("› why is the sky blue?")
}

// line is the first row of the screen with text in it.
func line(t *vt.Terminal, text string) string {
	for _, l := range t.Lines() {
		if strings.Contains(l, text) {
			return l
		}
	}
	return ""
}

// Clicks never let a call run, however many and wherever: one selects an answer, Enter gives it.
func TestMouseNeverApproves(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		say("I leave it alone."),
	}, withMouse)
	s.send("write a file")
	s.WaitText("Yes, this once")
	s.hasMouse(true)
	s.answer() // which only waits
	s.Click("Yes, this once")
	s.Click("Yes, this once")
	s.Click("Yes, this once")
	s.Click("say what to do instead")
	s.WaitText("→ 5 No, and say")
	s.Click("2 Allow edits")
	s.WaitText("→ 2 Allow edits")
	s.Click("Yes, this once")
	s.WaitText("→ 1 Yes")
	s.Click("4 No")
	s.WaitText("→ 4 No")
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written by clicks alone")
	}
	s.answer("enter")
	s.WaitText("I leave it alone.")
	s.hasMouse(false)
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written")
	}
}

// The model's question is answered by a second click on the same answer.
func TestMouseAnswers(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("ask", `{"questions":[{"id":"db","question":"Which database?","options":[{"label":"SQLite"},{"label":"Postgres"}],"recommended":0}]}`),
		say("SQLite it is."),
	}, withMouse)
	s.send("set up a database")
	s.WaitText("Which database?")
	s.WaitText("(recommended)")
	s.hasMouse(true)
	s.answer()
	s.Click("SQLite") // it is selected already: one click is none
	s.Click("Postgres")
	s.WaitText("→ 2")
	s.Click("SQLite")
	s.WaitText("→ 1")
	s.Click("SQLite")
	s.WaitText("SQLite it is.")
	if heard := s.heard(-1); !strings.Contains(heard, "SQLite") {
		t.Errorf("the model did not read the answer:\n%s", heard)
	}
}

// The mouse is given back with the terminal: to the shell, and when burin is killed.
func TestMouseIsGivenBack(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, nil, withMouse, func(o *setting) { o.shell = true })
	s.send("/settings")
	s.WaitText("Color-blind mode")
	s.hasMouse(true)
	s.Press("ctrl+z")
	s.WaitFor("the shell", func(t *vt.Terminal) bool { return strings.HasSuffix(t.Screen(), "\nSHELL$") })
	s.hasMouse(false)
	s.send("fg")
	s.WaitText("Color-blind mode")
	s.hasMouse(true)
	s.Press("esc")
	s.WaitText("Ask anything")
	s.hasMouse(false)
	s.Press("ctrl+d")
	s.WaitFor("the shell", func(t *vt.Terminal) bool { return strings.HasSuffix(t.Screen(), "\nSHELL$") })
	s.hasMouse(false)
	s.send("exit")

	s = begin(t, nil, withMouse)
	s.send("/settings")
	s.WaitText("Color-blind mode")
	s.hasMouse(true)
	if err := s.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.WaitEnd()
	s.hasMouse(false)
}

// A program that takes the terminal over has it without burin's mouse, and a click that it asks
// for itself is its own.
func TestMouseAndPrograms(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"printf 'Name? '; read name; echo hello, $name","tty":true}`),
		say("It is done."),
	}, func(o *setting) { o.config = "approval: full\ntui: {mouse: always}\n" })
	s.send("log in for me")
	s.WaitText("A program needs you")
	s.hasMouse(true)
	s.answer()
	s.Click("Open it")
	s.WaitText("→ Open it")
	s.answer("enter")
	s.WaitText("Name?")
	s.hasMouse(false)
	s.send("Ada")
	s.WaitText("It is done.")
	s.hasMouse(false)
	if heard := s.heard(-1); !strings.Contains(heard, "hello, Ada") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// underlined reports whether the mouse is shown to point at a text.
func underlined(t *vt.Terminal, text string) bool {
	for y, l := range t.Lines() {
		if before, _, ok := strings.Cut(l, text); ok {
			return t.Cell(ansi.StringWidth(before), y).Style.Attr&vt.Underline != 0
		}
	}
	return false
}

// pointsAt waits until a text is underlined, and others are not.
func (s *story) pointsAt(text string, others ...string) {
	s.t.Helper()
	s.WaitFor("the mouse at "+text, func(t *vt.Terminal) bool {
		return underlined(t, text) && !slices.ContainsFunc(others, func(o string) bool { return underlined(t, o) })
	})
}

// With tui.mouse at always, what is proposed is clicked on. What the mouse points at is underlined,
// and Enter goes on to mean what is selected.
func TestMouseInCompletions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, nil, withMouse, func(o *setting) {
		o.files = map[string]string{"alpha.go": "package a\n", "beta.go": "package b\n"}
	})
	if s.HasMouse() {
		t.Error("the prompt takes the mouse from the terminal")
	}
	s.Type("/th")
	s.WaitText("→ /thinking")
	s.hasMouse(true)
	s.Hover("/theme")
	s.pointsAt("/theme", "/thinking")
	s.Hover("/thinking")
	s.pointsAt("/thinking", "/theme")
	s.Hover("/theme")
	s.pointsAt("/theme")
	s.WaitText("→ /thinking") // which Enter would choose
	s.Click("/theme")
	s.WaitText("› /theme")
	s.WaitGone("/thinking")
	s.hasMouse(false)
	s.Press("ctrl+u")
	s.Type("see @a")
	s.WaitText("alpha.go")
	s.Wheel(1)
	s.Wheel(-1)
	s.Click("alpha.go")
	s.WaitText("› see @alpha.go")
}

// In lists and settings, too, it is seen what a click would select; a key ends that.
func TestMousePoints(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, withMouse)
	s.send("/theme")
	s.WaitText("Themes")
	s.hasMouse(true)
	s.Hover("dusk")
	s.pointsAt("dusk", "anvil")
	s.Hover("anvil")
	s.pointsAt("anvil", "dusk")
	s.WaitText("→ ● dark")
	s.Press("down")
	s.WaitFor("no text underlined", func(t *vt.Terminal) bool { return !underlined(t, "anvil") })
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("/settings")
	s.WaitText("Color-blind mode")
	s.Hover("Hide thinking")
	s.pointsAt("Hide thinking", "Color-blind mode")
}
