package story_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// TestPictures draws the pictures of the documentation: BURIN_PICTURES=1.
func TestPictures(t *testing.T) {
	if os.Getenv("BURIN_PICTURES") != "1" {
		t.Skip("writes docs/pictures: set BURIN_PICTURES=1")
	}
	into, err := filepath.Abs("../../../docs/pictures")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		t.Fatal(err)
	}
	var fonts [][]byte // for signs that the picture's own font lacks
	if font, err := os.ReadFile("/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"); err == nil {
		fonts = append(fonts, font)
	}
	wide := func(s *setting) {
		s.Width, s.Height, s.Timeout = 100, 30, time.Minute
		if cache, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
			s.Env = append(s.Env, "GOCACHE="+strings.TrimSpace(string(cache)))
		}
		s.home = filepath.Join(t.TempDir(), ".burin")
		s.dir = filepath.Join(filepath.Dir(s.home), "clock")
		s.files = map[string]string{
			"go.mod":        "module example.com/clock\n\ngo 1.26\n",
			"clock.go":      clockSource,
			"clock_test.go": clockTest,
		}
	}
	s := begin(t, clockTurns(), wide, func(s *setting) {
		repository(t, s.dir, s.files)
	})
	shot := func(name, title string) {
		t.Helper()
		s.Picture(filepath.Join(into, name+".png"), vt.PictureOptions{Title: title, Fonts: fonts})
	}
	shot("start", "burin")
	s.Type("the test of the clock fails at noon. Why, and can you fix it?")
	s.Press("enter")
	s.WaitText("Yes, this once")
	shot("approval", "burin: a question before a command runs")
	s.Press("y")
	s.WaitText("Change this file?")
	shot("diff", "burin: a change, before it is made")
	s.Press("y")
	s.WaitText("half past")
	shot("streaming", "burin: an answer on its way")
	s.WaitText("All tests pass")
	s.WaitGone("Working")
	shot("answer", "burin: done")
	for _, v := range []struct{ command, wait, name, title string }{
		{"/model", "Window", "models", "burin: models, with prices and windows"},
		{"/tree", "Session tree", "tree", "burin: the tree of a session"},
		{"/settings", "Dark theme", "settings", "burin: settings, and where each comes from"},
		{"/context", "free", "context", "burin: what fills the window"},
		{"/transcript", "search", "transcript", "burin: the whole conversation, to read and search"},
		{"/resume", "assistant:", "resume", "burin: earlier sessions"},
		{"/theme", "success", "themes", "burin: themes"},
	} {
		s.Type(v.command + "\n")
		s.WaitText(v.wait)
		shot(v.name, v.title)
		s.Press("esc")
		s.WaitText("Ask anything")
	}
	light := begin(t, []llmtest.Turn{say(clockAnswer)}, wide, func(s *setting) { s.Light = true })
	light.Type("what does the clock do?\n")
	light.WaitText("All tests pass")
	light.WaitGone("Working")
	light.Picture(filepath.Join(into, "light.png"), vt.PictureOptions{Title: "burin: on a light terminal", Light: true, Fonts: fonts})
}

// repository makes the project a git repository.
func repository(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "clock"}} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// clockTurns is the model's part.
func clockTurns() []llmtest.Turn {
	usage := func(in, out int) llm.Usage { return llm.Usage{Input: in, Output: out} }
	parts := func(u llm.Usage, p ...llmtest.Part) llmtest.Turn {
		var events []llm.Event
		for i, part := range p {
			switch {
			case part.Thinking != "":
				events = append(events, llmtest.Think(part.Thinking, "s")...)
			case part.Call != "":
				events = append(events, llmtest.Call(part.Call+string(rune('0'+i)), part.Call, part.Args)...)
			default:
				events = append(events, llmtest.Say(part.Text)...)
			}
		}
		reason := llm.StopEnd
		if p[len(p)-1].Call != "" {
			reason = llm.StopToolUse
		}
		return llmtest.Turn{Events: append(events, llmtest.Stop(reason, u)...)}
	}
	edit := `{"path":"clock.go","edits":[{"old":"\tif h > 12 {\n\t\treturn h - 12\n\t}\n\treturn h","new":"\tif h %= 12; h == 0 {\n\t\treturn 12\n\t}\n\treturn h"}]}`
	last := parts(usage(5600, 320), llmtest.Part{Text: clockAnswer})
	last.Pace = 25 * time.Millisecond // slow enough to be looked at
	return []llmtest.Turn{
		parts(usage(4200, 120),
			llmtest.Part{Thinking: "The test is about noon; I should read the code and run the test."},
			llmtest.Part{Text: "I look at the clock and its test first."},
			llmtest.Part{Call: "read", Args: `{"path":"clock.go"}`},
			llmtest.Part{Call: "grep", Args: `{"pattern":"func Test"}`},
			llmtest.Part{Call: "bash", Args: `{"command":"go test ./..."}`}),
		parts(usage(5100, 240), llmtest.Part{Text: "At 0 and 24 the hour stays as it is. The remainder settles both."}, llmtest.Part{Call: "edit", Args: edit}),
		last,
	}
}

const clockSource = `package clock

// Hour is the hour on a dial of twelve.
func Hour(h int) int {
	if h > 12 {
		return h - 12
	}
	return h
}
`

const clockTest = `package clock

import "testing"

func TestHour(t *testing.T) {
	for in, want := range map[int]int{0: 12, 1: 1, 12: 12, 13: 1, 24: 12} {
		if got := Hour(in); got != want {
			t.Errorf("Hour(%d) = %d, want %d", in, got, want)
		}
	}
}
`

const clockAnswer = "## What was wrong\n\n`Hour` took 12 away above **12** only, so midnight stayed `0`. Now it takes the\nremainder, and `0` is shown as `12`:\n\n```go\nif h %= 12; h == 0 {\n\treturn 12 // noon and midnight\n}\n```\n\n" +
	"| time | before | now |\n|---|---:|---:|\n| midnight | 0 | 12 |\n| half past noon | 12 | 12 |\n| one o'clock | 1 | 1 |\n\n- [x] the test of noon\n- [x] the others\n\nAll tests pass.\n"
