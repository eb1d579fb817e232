package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/rule"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// alone is a face with a program around it that has nothing.
func alone(t *testing.T, set ...func(*Options)) *app {
	a, _ := face(t, append([]func(*Options){func(o *Options) {
		o.Host = nobody{folder: o.Paths.Config}
		o.Open = func(context.Context, Wish) (session.Handle, error) { return nil, errors.New("no sessions here") }
	}}, set...)...)
	return a
}

type nobody struct {
	Host
	folder string // of the settings
}

func (n nobody) Settings() (*config.Config, error) { return config.Load(n.folder) }

func (nobody) FileCommands() *files.Set {
	set, _ := files.Discover(files.Options{}) // those that are part of burin
	return set.WithBundled()
}

func (nobody) Rules() (*rule.Set, []string, error) {
	return nil, nil, nil
}
func (nobody) Skills() *skill.Set { return &skill.Set{} }

func (nobody) Own() slash.Own                   { return slash.Own{} }
func (nobody) Models() (*connect.Models, error) { return nil, errors.New("no models here") }
func (nobody) Reload()                          {}

func (nobody) Archive(func(string)) (Archive, error) { return nowhere{}, nil }

// nowhere is an archive without sessions.
type nowhere struct{ Archive }

func (nowhere) Root() string  { return "" }
func (nowhere) Index() string { return "" }

// What was found is shown, and how much of it is wrong.
func TestReportsAreShown(t *testing.T) {
	a := alone(t)
	got := a.groups.archives.doctorWords(archive.DoctorReport{Sessions: 2, Findings: []archive.Finding{
		{File: "/x/a.jsonl", Kind: archive.Problem, Text: "2 lines cannot be read"}, {File: "/x/b.jsonl", Kind: archive.Note, Text: "a draft"},
	}})
	want := "/x/a.jsonl: 2 lines cannot be read\n/x/b.jsonl: a draft\nproblems found: 1; burin sessions doctor --fix repairs what it can"
	if got != want {
		t.Errorf("the doctor says %q, want %q", got, want)
	}
	if got, want := a.groups.archives.doctorWords(archive.DoctorReport{Sessions: 2, Closed: 1}), "checked 1 session; no problems found"; got != want {
		t.Errorf("the doctor says %q, want %q", got, want)
	}
	got = importWords(archive.ImportReport{Conversations: []archive.Imported{
		{ID: "a", State: archive.Grown, Added: 1}, {State: archive.Unchanged}, {State: archive.Failed, Err: errors.New("no JSON")},
	}})
	for _, part := range []string{"1 entry added\n", "no JSON\n", "0 imported, 1 updated, 1 unchanged, 1 unreadable"} {
		if !strings.Contains(got, part) {
			t.Errorf("the import says %q, without %q", got, part)
		}
	}
}

// shown is what stands on the screen below the scrollback.
func (a *app) shown() string {
	if top := a.panes.top(); top != nil {
		rows, _ := top.Draw(100, 40)
		return ansi.Strip(strings.Join(rows, "\n"))
	}
	rows, _ := a.compose(100, 40, a.env.Now())
	return ansi.Strip(strings.Join(rows, "\n"))
}

// Every command that needs no session does something, and says nothing that is wrong.
func TestCommandsWithoutSession(t *testing.T) {
	for call, want := range map[string]string{
		"/help": "/history", "/?": "/help", "/hotkeys": "Ctrl+O", "/debug": "terminal", "/settings": "Dark theme",
		"/settings spinner": "display.spinner", "/settings display.tabWidth": "Tab width",
		"/hotkeys nosuch": "/hotkeys takes no arguments", "/tools bash": "/tools takes no arguments",
		"/copy": "No session yet", "/session": "No session yet", "/theme dark": "", "/fly": "Unknown command /fly",
	} {
		a := alone(t)
		if !a.commands.call(call) {
			t.Errorf("%s is sent to the model", call)
		}
		if got := a.shown(); !strings.Contains(got, want) {
			t.Errorf("%s shows no %q:\n%s", call, want, got)
		}
	}
}

// Names and aliases are each one command's, and what follows is told where a command
// takes it.
func TestCommandNames(t *testing.T) {
	seen := map[string]string{}
	for _, c := range alone(t).commands.table {
		if c.help == "" || c.run == nil {
			t.Errorf("/%s has no help, or does nothing", c.name)
		}
		for _, name := range append(c.aliases, c.name) {
			if other, ok := seen[name]; ok {
				t.Errorf("/%s is /%s and /%s", name, c.name, other)
			}
			seen[name] = c.name
		}
	}
	for _, b := range mustBindings(t).Help() {
		if name, ok := commandOf(b.Action); ok && seen[name] == "" {
			t.Errorf("%s calls /%s, which is no command", b.Action, name)
		}
	}
}

// The commands that the handbook names are there.
func TestCommandsOfTheHandbook(t *testing.T) {
	page, err := os.ReadFile("../../../docs/terminal.md")
	if err != nil {
		t.Fatal(err)
	}
	a := alone(t)
	names := regexp.MustCompile("`/([a-z]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 30 {
		t.Fatalf("the handbook names %d commands: does this test still know how?", len(names))
	}
	for _, m := range names {
		if _, ok := a.commands.known(m[1]); !ok && !a.commands.expands(m[1]) {
			t.Errorf("there is no /%s", m[1])
		}
	}
}

// Every key of the program does something: it has a case in do, or calls a command.
func TestKeysDoSomething(t *testing.T) {
	for _, b := range mustBindings(t).Help() {
		switch {
		case b.Context != key.App, b.Action == key.Suspend: // its own tests
			continue
		case b.Action == key.Exit, b.Action == key.Dequeue, b.Action == key.FollowUp, b.Action == key.CopyLine, b.Action == key.CopyPrompt, b.Action == key.TogglePlan, b.Action == key.CycleMode:
			continue // nothing to do here without words, or without a session
		case b.Action == key.ExternalEditor, b.Action == key.PasteImage:
			continue // other programs
		}
		a := alone(t)
		before, esc := a.shown(), a.input.lastEsc
		a.input.do(b.Action)
		if a.shown() == before && a.hint.text == "" && a.input.lastEsc == esc && !a.opening {
			t.Errorf("%s (%s) does nothing", b.Action, b.Help)
		}
	}
}

func mustBindings(t *testing.T) *key.Bindings {
	t.Helper()
	b, problems := key.NewBindings(key.Overrides{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return b
}

func TestWhatIsCopied(t *testing.T) {
	run := func(command string, defect llm.Defect) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.ToolCall{Name: "bash", Arguments: `{"command":"` + command + `"}`, Defect: defect}}}
	}
	messages := []llm.Message{
		llm.UserText("first"),
		{Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: "see:\n```go\nx := 1\n```\nand\n```\ny\n```"}}},
		llm.UserText("second"), run("make all", ""), run("cut", llm.DefectCut),
	}
	for what, got := range map[string]string{
		"second":   lastText(messages, llm.RoleUser),
		"y\n":      lastCode(lastText(messages, llm.RoleAssistant)),
		"make all": lastCommand(messages),
		"":         lastCommand(nil) + lastText(nil, llm.RoleUser) + lastCode("no code"),
	} {
		if got != what {
			t.Errorf("got %q, want %q", got, what)
		}
	}
}

// What the face reads itself holds at once; what sessions are opened with is said to
// hold later.
func TestSettingsTakeUp(t *testing.T) {
	a := alone(t)
	for name, later := range map[string]bool{
		"theme.dark": false, "cycleOrder": false, "retry.maxRetries": true, "interruptMode": true, "completion.notify": false,
		"compaction.strategy": true, "branchSummary.enabled": false, "limits.turn": true, "disabledProviders": true, "nosuch": false,
	} {
		if got := a.show.takeUp(name); got != later {
			t.Errorf("%s holds later: %v, want %v", name, got, later)
		}
	}
}

// The key beside what is not shown of a card leads to it, also when the card stands in the
// scrollback.
func TestHintOfCardsNamesTheViewer(t *testing.T) {
	a := alone(t)
	a.talk.messageEnd(&llm.Message{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: strings.Repeat("line\n", 40)}}})
	if got := a.shown(); !strings.Contains(got, "more lines (Alt+O)") {
		t.Errorf("it shows:\n%s", got)
	}
	a = alone(t)
	a.notice(0, strings.Repeat("line\n", 40)) // it is in no viewer
	if got := a.shown(); !strings.Contains(got, "more lines") || strings.Contains(got, "Alt+O") {
		t.Errorf("it shows:\n%s", got)
	}
}

// Where not all that is proposed fits, it is said how much there is.
func TestProposalsAreCounted(t *testing.T) {
	for words, counted := range map[string]bool{"/": true, "/hotk": false} {
		d := atDesk(t, nil)
		d.types(words)
		d.until("what is proposed", func() bool { _, ok := d.composer.editor.Popup(); return ok })
		p, _ := d.composer.editor.Popup()
		for i := range 2 {
			want := fmt.Sprintf("── %d of %d ──\n", i+1, len(p.Items))
			if got := d.shown(); strings.Contains(got, want) != counted {
				t.Errorf("%s: %q in\n%s", words, want, got)
			}
			d.types("", "down")
		}
	}
}
