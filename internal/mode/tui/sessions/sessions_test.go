package sessions_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/sessions"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
)

var update = flag.Bool("update", false, "write the golden files anew")

var now = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// world is a folder of sessions.
type world struct {
	root  string
	paths map[string]string // by their first prompt
}

const here, there = "/home/ann/project", "/home/ann/other"

// add writes a session of a folder that was changed so long ago.
func (w *world) add(t testing.TB, cwd, prompt, answer string, ago time.Duration) string {
	t.Helper()
	path, id := transcript.NewPath(w.root, cwd, now.Add(-ago))
	log, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: cwd}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	paneltest.Append(t, log, paneltest.User(prompt), paneltest.Assistant(answer))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	w.touch(t, path, ago)
	w.paths[prompt] = path
	return path
}

func (w *world) touch(t testing.TB, path string, ago time.Duration) {
	t.Helper()
	if err := os.Chtimes(path, now.Add(-ago), now.Add(-ago)); err != nil {
		t.Fatal(err)
	}
}

// raw writes a file beside the sessions.
func (w *world) raw(t testing.TB, name, text string, ago time.Duration) {
	t.Helper()
	path := filepath.Join(w.root, transcript.EncodeDir(here), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.touch(t, path, ago)
	w.paths[name] = path
}

func newWorld(t testing.TB) *world {
	w := &world{root: t.TempDir(), paths: map[string]string{}}
	w.add(t, here, "Fix the clock", "It was the **time zone**.", 3*time.Hour)
	w.add(t, here, "Write the manual", strings.Repeat("A chapter about quokkas. ", 30), 4*24*time.Hour)
	w.add(t, there, "Paint the fence", "Done in green.", 20*time.Minute)
	w.raw(t, "2026-01-01T00-00-00-000Z_00000000000000aa.jsonl", "{\"type\":\"sealed\"}\n", 50*24*time.Hour)
	w.raw(t, "2026-01-01T00-00-00-000Z_00000000000000bb.jsonl", "no session at all\n", 60*24*time.Hour)
	w.raw(t, "2026-01-01T00-00-00-000Z_00000000000000cc.jsonl.draft",
		`{"type":"session","version":3,"id":"00000000000000cc","cwd":"`+here+`"}`+"\n"+`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"never answered"}}`+"\n", 5*time.Minute)
	return w
}

// face stands for the one that owns the pane.
type face struct {
	*sessions.Selector
	*paneltest.Face
	told  chan string
	fails error
	w, h  int
}

func open(t testing.TB, w *world, o sessions.Options) *face {
	t.Helper()
	f := &face{Face: paneltest.Styled(t, paneltest.Dark(theme.NoStyle)), told: make(chan string, 100), w: 110, h: 24}
	f.Time = now
	o.Root, o.CWD = w.root, here
	o.OnOpen = func(info index.Info) { f.told <- "open " + info.Title }
	o.OnCancel = func() { f.told <- "cancel" }
	o.OnDelete = func(info index.Info) error { f.told <- "delete " + info.Title; return f.fails }
	o.OnRename = func(info index.Info, title string) error {
		f.told <- "rename " + info.Title + " to " + title
		return f.fails
	}
	f.Selector = sessions.New(f.Env, o)
	t.Cleanup(f.Close)
	return f
}

func (f *face) draw() string {
	rows, _ := f.Draw(f.w, f.h)
	return strings.Join(rows, "\n")
}

func (f *face) press(keys ...string) { paneltest.Press(f, keys...) }

// until runs what is posted until the screen is as wanted.
func (f *face) until(t testing.TB, what string, ok func(screen string) bool) string {
	t.Helper()
	return f.Until(t, what, func() (string, bool) { s := f.draw(); return s, ok(s) })
}

func (f *face) shows(t testing.TB, words ...string) string {
	t.Helper()
	return f.until(t, fmt.Sprintf("%q", words), func(s string) bool {
		for _, w := range words {
			if !strings.Contains(s, w) {
				return false
			}
		}
		return true
	})
}

func (f *face) says(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-f.told:
		if got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("it never said %q", want)
	}
}

func screen(t *testing.T, f *face) *vt.Terminal {
	t.Helper()
	return paneltest.Screen(t, f, f.w, f.h)
}

func TestLooks(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		name    string
		w, h    int
		profile theme.Profile
		ascii   bool
		keys    []string
		shows   string
		also    string
	}{
		{name: "side-110", w: 110, h: 20, shows: "you: never answered"},
		{name: "colors-70", w: 70, h: 18, profile: theme.TrueColor, keys: []string{"down"}, shows: "time zone"},
		{name: "ascii-30", w: 30, h: 16, ascii: true, shows: "you: never"},
		{name: "mono-200-all", w: 200, h: 20, profile: theme.Mono, keys: []string{"tab", "down"}, shows: "you: Fix the clock", also: "Paint the fence"},
		{name: "delete-70", w: 70, h: 18, keys: []string{"down", "ctrl+d"}, shows: "trash"},
		{name: "rename-70", w: 70, h: 18, keys: []string{"down", "ctrl+r", "!"}, shows: "New title"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, w, sessions.Options{Current: w.paths["Fix the clock"]})
			f.shows(t, "never answered")
			f.w, f.h, f.Styles = tt.w, tt.h, paneltest.Dark(tt.profile)
			if tt.ascii {
				f.Styles = f.Styles.WithSymbols(theme.SymbolsOf(theme.ASCII, nil))
			}
			if tt.name == "delete-70" {
				f.press("down") // not the one that is open
			}
			f.press(tt.keys...)
			f.until(t, tt.shows, func(s string) bool {
				return strings.Contains(ansi.Strip(s), tt.shows) && strings.Contains(ansi.Strip(s), "you: ") && strings.Contains(s, tt.also)
			})
			paneltest.File(t, *update, tt.name, screen(t, f).Dump())
		})
	}
}

func TestOpenAndFolders(t *testing.T) {
	f := open(t, newWorld(t), sessions.Options{})
	s := f.shows(t, "Fix the clock", "Write the manual", "never answered", "Encrypted session", "damaged")
	if strings.Contains(s, "Paint the fence") {
		t.Error("a session of another folder is shown")
	}
	f.press("tab")
	f.shows(t, "Paint the fence", "20 min ago", "other")
	f.press("fence", "enter")
	f.says(t, "open Paint the fence")
	f.press("esc")
	select {
	case got := <-f.told:
		t.Errorf("after it was left it said %q", got)
	default:
	}
}

func TestFullText(t *testing.T) {
	w := newWorld(t)
	f := open(t, w, sessions.Options{Index: filepath.Join(t.TempDir(), "index.db")})
	f.shows(t, "Write the manual")
	f.press("quokkas")
	s := f.shows(t, "Write the manual", "found: ", "A chapter about quokkas")
	if strings.Contains(s, "Fix the clock") {
		t.Errorf("what was not found is shown:\n%s", s)
	}
	// A session that was written meanwhile is found by its title at once, and other
	// folders only when they are asked for.
	f.press("esc", "green")
	f.shows(t, "No session matches.")
	f.press("tab")
	f.shows(t, "Paint the fence", "Done in green")
	f.press("esc")
	f.until(t, "all sessions", func(s string) bool { return strings.Contains(s, "Fix the clock") && !strings.Contains(s, "found: ") })
	f.press("esc")
	f.says(t, "cancel")
}

func TestNoIndex(t *testing.T) {
	f := open(t, newWorld(t), sessions.Options{Index: filepath.Join(t.TempDir(), "no", "such", "\x00folder")})
	f.shows(t, "Fix the clock")
	f.press("clock")
	f.shows(t, "Fix the clock", "Only titles are searched")
}

func TestDelete(t *testing.T) {
	w := newWorld(t)
	f := open(t, w, sessions.Options{Current: w.paths["Write the manual"]})
	f.shows(t, "Fix the clock")
	f.press("down", "ctrl+d")
	f.shows(t, `Move "Fix the clock" to the trash?`)
	f.press("esc")
	f.press("ctrl+d", "x") // any other key is no
	f.fails = errors.New("the disk is full")
	f.press("ctrl+d", "enter")
	f.says(t, "delete Fix the clock")
	f.shows(t, "The session was not deleted: the disk is full", "Fix the clock")
	f.fails = nil
	f.press("ctrl+d", "y")
	f.says(t, "delete Fix the clock")
	f.until(t, "one session less", func(s string) bool {
		return strings.Contains(s, "Moved to the trash.") && !strings.Contains(s, "Fix the clock")
	})
	f.press("ctrl+d")
	f.shows(t, "This is the current session.")
}

func TestRename(t *testing.T) {
	f := open(t, newWorld(t), sessions.Options{})
	f.shows(t, "Fix the clock")
	f.press("down", "ctrl+r", " again", "enter")
	f.says(t, "rename Fix the clock to Fix the clock again")
	f.shows(t, "Fix the clock again")
	f.press("ctrl+r", "ctrl+u", "enter", "ctrl+r", "x", "esc")
	f.press("enter")
	f.says(t, "open Fix the clock again")
}

// The words of the last messages are found behind any amount of tools' output.
func TestPreviewOfLongSessions(t *testing.T) {
	w := &world{root: t.TempDir(), paths: map[string]string{}}
	path := w.add(t, here, "The beginning", "I begin.", time.Hour)
	log, _, err := transcript.OpenSession(path, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	call := llm.ToolCall{ID: "c", Name: "bash", Arguments: "{}"}
	paneltest.Append(t, log,
		paneltest.User("Run\x1b[2J it."),
		paneltest.Said(llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopToolUse, Content: []llm.Block{call}}),
		paneltest.Said(llm.ToolResultText(call, strings.Repeat("output ", 40_000), false)))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, w, sessions.Options{})
	s := f.shows(t, "you: The beginning", "assistant: I begin.", "you: Run", "assistant: [bash]")
	if strings.Contains(s, "\x1b") || strings.Contains(s, "output") {
		t.Errorf("%q", s)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f = open(t, newWorld(t), sessions.Options{})
	f.shows(t, "never answered")
}

func TestTinyAndEmpty(t *testing.T) {
	w := newWorld(t)
	for _, width := range []int{1, 2, 5, 11, 20} {
		for h := 1; h < 8; h++ {
			f := open(t, w, sessions.Options{})
			f.until(t, "rows", func(string) bool { return len(f.Posted) == 0 })
			f.w, f.h = width, h
			for _, k := range []string{"down", "ctrl+d", "esc", "ctrl+r", "日本", "esc", "tab", "clock", "up"} {
				f.press(k)
				screen(t, f)
			}
		}
	}
	f := open(t, &world{root: filepath.Join(t.TempDir(), "none")}, sessions.Options{})
	f.shows(t, "No sessions in this folder.")
	f.press("enter", "ctrl+d", "ctrl+r", "x", "tab")
	f.press("esc")
	f.shows(t, "No sessions yet.")
}

func BenchmarkOpen1000(b *testing.B) {
	w := &world{root: b.TempDir(), paths: map[string]string{}}
	for i := range 1000 {
		w.add(b, here, fmt.Sprintf("Session %d does something", i), strings.Repeat("words ", 2000), time.Duration(i)*time.Hour)
	}
	for b.Loop() {
		f := open(b, w, sessions.Options{})
		f.shows(b, "Session 0 does")
		f.Close()
	}
}
