package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/tool/todo"
)

// What is typed can be seen, with the cursor behind it, at every size of the terminal:
// lists, panels and what is not finished give way.
func TestWhatIsTypedStaysVisible(t *testing.T) {
	question := func(a *app) { // one with a place for one's own words
		a.asks.enqueue(&ask{gone: func() {}, pane: func() pane.Pane {
			return a.asks.questionsPane(&session.Question{Choices: []session.Choice{{Text: strings.Repeat("What shall it be? ", 8), Options: []string{"one thing", "another thing", "a third one"}}}}, nil)
		}})
	}
	approval := func(a *app) {
		a.asks.enqueue(&ask{gone: func() {}, pane: func() pane.Pane {
			return a.asks.approvalPane(&session.Question{Permission: &permit.Question{Request: permit.Request{Tool: "bash", Access: []tool.Access{{Kind: tool.AccessExecute, Target: strings.Repeat("make all && ", 20)}}}}}, nil)
		}})
	}
	call := func(text string) func(*app) { return func(a *app) { a.commands.call(text) } }
	for name, tt := range map[string]struct {
		open  func(*app)
		types string
		keys  []key.Key // before the words
	}{
		"the prompt":      {nil, "hello", nil},
		"a long prompt":   {func(a *app) { _ = a.composer.editor.SetText(strings.Repeat("line\n", 80)) }, "hello", nil},
		"the commands":    {nil, "/", nil},
		"some commands":   {nil, "/se", nil},
		"panels":          {busy, "hello", nil},
		"panels, and /":   {busy, "/", nil},
		"settings":        {call("/settings"), "theme", nil},
		"themes":          {call("/theme"), "dark", nil},
		"hotkeys":         {call("/hotkeys"), "word", nil},
		"history":         {call("/history"), "word", nil},
		"a line":          {func(a *app) { a.panes.askLine("A title", "", nil) }, "hello", nil},
		"your own answer": {question, "hello", []key.Key{"tab"}},
		"a longer reply":  {question, "hello and how are you today, all of you there", []key.Key{"tab"}},
		"a note":          {approval, "hello", []key.Key{"tab"}},
		"a longer note":   {approval, "hello and how are you today, all of you there", []key.Key{"tab"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := alone(t)
			now := time.Now()
			a.env.Now = func() time.Time { return now }
			if tt.open != nil {
				tt.open(a)
			}
			a.draw()
			now = now.Add(time.Second) // a question hears keys a moment after it was drawn
			a.types("", tt.keys...)
			a.types(tt.types)
			now = now.Add(hintTime)
			a.hint.expire(now)
			for _, width := range []int{20, 21, 39, 80, 200} {
				for height := 6; height <= 60; height++ {
					if wrong := seenAt(a, width, height, tt.types); wrong != "" {
						t.Fatal(wrong)
					}
				}
			}
		})
	}
}

// busy fills all that stands between the conversation and the prompt.
func busy(a *app) {
	a.talk.add(&call{id: "1", card: card.Call{Name: "bash", Label: "Bash", Args: []byte(`{"command":"` + strings.Repeat("make all && ", 30) + `"}`)}})
	a.facts.todos = []todo.Phase{{Name: "Work", Tasks: []todo.Task{{Content: "one", Status: "in_progress"}, {Content: "two", Status: "pending"}}}}
	a.facts.jobs = []session.Job{{ID: "1", Command: "make watch", Running: true, Started: a.env.Now()}, {ID: "2", Command: "make serve", Running: true, Started: a.env.Now()}}
	a.outbox.queue = queue{steering: []string{"first", "second"}, followUps: []string{"third"}}
	a.work.on, a.work.began = true, a.env.Now()
}

// seenAt draws the face in a terminal of a size and says what is wrong there.
func seenAt(a *app, width, height int, typed string) string {
	term := vt.New(vt.Options{Width: width, Height: height})
	a.display.screen = screen.New(term, screen.Options{Width: width, Height: height, Sync: true})
	if a.display.full {
		_ = a.display.screen.EnterFullscreen() // a terminal in memory takes all
	}
	a.draw()
	lines, c := term.Lines(), term.Cursor()
	problem := ""
	switch stats := a.display.screen.Stats(); {
	case stats.TooWide+stats.Unclean > 0:
		problem = fmt.Sprintf("%d rows are too wide, %d are not clean", stats.TooWide, stats.Unclean)
	case c.Hidden:
		problem = "the cursor is hidden"
	default:
		row := []rune(lines[c.Y])
		before := string(row[:min(c.X, len(row))])
		if tail := typed[max(0, len(typed)-4):]; !strings.HasSuffix(strings.TrimRight(before, " "), strings.TrimSpace(tail)) {
			problem = fmt.Sprintf("before the cursor stands %q", before)
		}
	}
	if _, open := a.composer.editor.Popup(); open && a.panes.top() == nil && !strings.Contains(strings.Join(lines, "\n"), "\n"+a.env.Styles.Symbols().Arrow+" ") {
		problem = "what is selected is not shown"
	}
	if problem == "" {
		return ""
	}
	return fmt.Sprintf("%d×%d: %s:\n%s", width, height, problem, strings.Join(lines, "\n"))
}
