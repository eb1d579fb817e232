package foreign_test

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript/foreign"
	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"
)

// write makes a file of a test.
func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// single are the fixtures of one file.
func single(t testing.TB) (files []string) {
	t.Helper()
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		switch filepath.Ext(path) {
		case ".json", ".jsonl":
			if !strings.Contains(path, "opencode-v1") {
				files = append(files, path)
			}
		}
		return err
	})
	if err != nil || len(files) < 15 {
		t.Fatalf("found %d fixtures, %v", len(files), err)
	}
	return files
}

// A file that was cut off, or of which a byte is wrong, gives what can be read, and
// that is legal; or one error.
func TestDamagedFiles(t *testing.T) {
	for _, file := range single(t) {
		t.Run(filepath.ToSlash(file), func(t *testing.T) {
			whole := read(t, file)
			path := filepath.Join(t.TempDir(), filepath.Base(file))
			for at := 1; at < len(whole); at += max(len(whole)/25, 1) {
				for _, text := range []string{whole[:at], whole[:at] + "\x00" + whole[at+1:]} {
					write(t, path, text)
					sessions, errs := imported(t, path)
					if len(sessions) == 0 && len(errs) == 0 {
						t.Fatalf("byte %d: neither a session nor an error", at)
					}
					for _, s := range sessions {
						checkLegal(t, s)
					}
				}
			}
		})
	}
}

func TestBadLinesAreListed(t *testing.T) {
	lines := strings.SplitAfter(read(t, filepath.Join(fixture("claude-code-v1"), "5a0e.jsonl")), "\n")
	lines[5] = lines[5][:40] + "\n"
	path := write(t, filepath.Join(t.TempDir(), "5a0e.jsonl"), strings.Join(lines, ""))
	sessions, errs := imported(t, path)
	if len(sessions) != 1 || len(errs) != 0 {
		t.Fatalf("%d sessions, errors %q", len(sessions), errs)
	}
	if got := sessions[0].Report.String(); !strings.Contains(got, "line 6 (1): not read:") {
		t.Errorf("the report does not name line 6:\n%s", got)
	}
	if got := sessions[0].Report.Messages; got < 9 {
		t.Errorf("%d messages are left", got)
	}
}

// A conversation that is no conversation does not stop those behind it, and one
// that is cut off does not take those before it along.
func TestExportWithHoles(t *testing.T) {
	old := strings.Trim(strings.TrimSpace(read(t, filepath.Join(fixture("chatgpt-v1"), "conversations.json"))), "[]")
	path := write(t, filepath.Join(t.TempDir(), "conversations.json"), "["+old+",7,"+old+","+old[:len(old)/2])
	sessions, errs := imported(t, path)
	want := []string{
		"import " + path + ", conversation 2: it is a JSON number, not a conversation",
		"import " + path + ": the text, conversation 4; what came before it was read: unexpected EOF",
	}
	if d := cmp.Diff(want, errs); d != "" || len(sessions) != 2 {
		t.Errorf("%d sessions, errors (-want +got):\n%s", len(sessions), d)
	}
}

func TestUnknownFormat(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty.json": "", "other.json": `{"a":1}`, "text.jsonl": "hello", "list.json": `[1,2]`} {
		path := write(t, filepath.Join(dir, name), text)
		_, err := foreign.Detect(path)
		want := path + ": no known format; what can be imported is claude-code, codex, opencode, gemini-cli, pi, chatgpt, claude.ai, open-webui, librechat"
		if !errors.Is(err, foreign.ErrUnknown) || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
		sessions, errs := imported(t, path)
		if d := cmp.Diff([]string{want}, errs); d != "" || sessions != nil {
			t.Errorf("import %s gave %d sessions and (-want +got)\n%s", name, len(sessions), d)
		}
	}
	if _, errs := imported(t, dir); len(errs) != 1 {
		t.Errorf("a folder without conversations gave %q", errs)
	}
}

// A byte order mark, as some editors leave it, changes nothing.
func TestByteOrderMark(t *testing.T) {
	for _, name := range []string{"chatgpt-v1/conversations.json", "librechat-v1/convo.json", "codex-v0/rollout-2025-04-20-1b2c.json", "pi-v3/2026_ab.jsonl"} {
		path := write(t, filepath.Join(t.TempDir(), filepath.Base(name)), "\xef\xbb\xbf"+read(t, fixture(name)))
		sessions, errs := imported(t, path)
		if len(sessions) != 1 || errs != nil || sessions[0].Report.Messages < 2 {
			t.Errorf("%s: %d sessions, %q", name, len(sessions), errs)
		}
	}
}

// Whatever a file names, nothing but what was given is read.
func TestNothingOutsideIsRead(t *testing.T) {
	const secret = "canary-7f3a"
	dir := t.TempDir()
	outside := write(t, filepath.Join(dir, "file-AbCdEf12-secret.txt"), secret)
	export := filepath.Join(dir, "export")
	text := strings.ReplaceAll(read(t, filepath.Join(fixture("chatgpt-v2"), "conversations.json")), "file_00000000aaaa", "../file-AbCdEf12")
	write(t, filepath.Join(export, "conversations.json"), text)
	if err := os.Symlink(outside, filepath.Join(export, "file-AbCdEf12-link.txt")); err != nil {
		t.Skipf("this system makes no symbolic links: %v", err)
	}
	codex := strings.ReplaceAll(read(t, filepath.Join(fixture("codex-v2"), "rollout-2026-01-02T10-00-00-019b.jsonl")), "data:image/png;base64,", "file://"+outside+"?")
	write(t, filepath.Join(dir, "rollout-1.jsonl"), codex)
	storage := filepath.Join(dir, "storage")
	if err := os.CopyFS(storage, os.DirFS(filepath.Join(fixture("opencode-v1"), "storage"))); err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(storage, "part", "msg_1", "prt_1.json")
	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
	stolen := write(t, filepath.Join(dir, "stolen.txt"), `{"type":"text","text":"`+secret+`"}`)
	if err := os.Symlink(stolen, part); err != nil {
		t.Fatal(err)
	}
	sessions, _ := imported(t, dir)
	if len(sessions) < 5 {
		t.Fatalf("%d sessions", len(sessions))
	}
	for _, s := range sessions {
		records, err := s.Records()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.Join(records, nil), []byte(secret)) {
			t.Errorf("%s holds what lies outside", s.Report.Source)
		}
	}
}

func TestTitlesAreOneCleanLine(t *testing.T) {
	title := "a\x1b[31m\u202eb\r\n\tc\u0000" + strings.Repeat("x", 500)
	raw, err := json.Marshal([]any{map[string]any{"uuid": "1", "name": title, "chat_messages": []any{}}})
	if err != nil {
		t.Fatal(err)
	}
	sessions, errs := imported(t, write(t, filepath.Join(t.TempDir(), "conversations.json"), string(raw)))
	if len(sessions) != 1 {
		t.Fatal(errs)
	}
	if got, want := sessions[0].Header.Title, "a [31m b c "+strings.Repeat("x", 188)+"…"; got != want {
		t.Errorf("the title is %q, want %q", got, want)
	}
}

// An archive gives what the folder in it gives, pictures included.
func TestArchive(t *testing.T) {
	for _, name := range []string{"chatgpt-v2", "claude-ai-v2"} {
		path := filepath.Join(t.TempDir(), "export.zip")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(file)
		if err := errors.Join(z.AddFS(os.DirFS(fixture(name))), z.Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
		got, _ := imported(t, path)
		want, _ := imported(t, fixture(name))
		for _, s := range append(got, want...) {
			s.Report.Source = ""
		}
		// The ids of sessions without one of their own come from where they are.
		if d := cmp.Diff(want[0], got[0]); d != "" || len(want) != len(got) {
			t.Errorf("%s: %d sessions from the archive, %d from the folder; (-folder +archive)\n%s", name, len(got), len(want), d)
		}
	}
}

// The database of later versions gives what the folder of earlier ones gives.
func TestOpenCodeDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`PRAGMA journal_mode = WAL`)
	exec(`CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL, directory text NOT NULL,
		title text NOT NULL, version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL)`)
	exec(`CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL)`)
	exec(`CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL)`)
	exec(`INSERT INTO session VALUES ('ses_1', 'p1', NULL, 's', '/home/ada/tool', 'Greeting', '1.2', '{"messageID":"msg_7"}', 1767348000000, 1767348100000)`)
	exec(`INSERT INTO session VALUES ('ses_2', 'p1', 'ses_1', 's', '/home/ada/tool', 'Explore (@general subagent)', '1.2', NULL, 1767348010000, 1767348100000)`)
	storage := filepath.Join(fixture("opencode-v1"), "storage")
	for _, session := range []string{"ses_1", "ses_2"} {
		messages, err := filepath.Glob(filepath.Join(storage, "message", session, "*.json"))
		if err != nil || len(messages) == 0 {
			t.Fatal(err)
		}
		for _, m := range messages {
			id := strings.TrimSuffix(filepath.Base(m), ".json")
			exec(`INSERT INTO message VALUES (?, ?, 1, 1, ?)`, id, session, read(t, m))
			parts, err := filepath.Glob(filepath.Join(storage, "part", id, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				exec(`INSERT INTO part VALUES (?, ?, ?, 1, 1, ?)`, strings.TrimSuffix(filepath.Base(p), ".json"), id, session, read(t, p))
			}
		}
	}
	check := func() {
		t.Helper()
		got, errs := imported(t, path)
		want, _ := imported(t, fixture("opencode-v1"))
		for _, s := range append(got, want...) {
			s.Report.Source = ""
		}
		if d := cmp.Diff(want, got); d != "" || errs != nil {
			t.Errorf("errors %q, (-folder +database)\n%s", errs, d)
		}
	}
	check() // while the program has it open
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	check()
	if f, err := foreign.Detect(path); f != foreign.OpenCode || err != nil {
		t.Errorf("it is %q, %v", f, err)
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) > 0 {
		t.Errorf("reading left %q", left)
	}
}

func TestDefault(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, ".claude/projects/-x/1.jsonl"), "")
	write(t, filepath.Join(home, ".claude/projects/-x/1/subagents/agent-1.jsonl"), "")
	write(t, filepath.Join(home, ".codex/sessions/2026/01/02/rollout-1.jsonl"), "")
	write(t, filepath.Join(home, ".codex/sessions/2026/01/02/notes.txt"), "")
	write(t, filepath.Join(home, ".local/share/opencode/opencode.db"), "")
	write(t, filepath.Join(home, ".local/share/opencode/storage/session/p/ses_1.json"), "")
	write(t, filepath.Join(home, ".local/share/opencode/storage/message/ses_1/msg_1.json"), "")
	write(t, filepath.Join(home, ".gemini/tmp/h/chats/session-1.json"), "")
	write(t, filepath.Join(home, ".omp/agent/sessions/--x--/1.jsonl"), "")
	if err := os.MkdirAll(filepath.Join(home, ".pi/agent/sessions"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := []foreign.Source{
		{foreign.ClaudeCode, filepath.Join(home, ".claude/projects"), 1},
		{foreign.Codex, filepath.Join(home, ".codex/sessions"), 1},
		{foreign.OpenCode, filepath.Join(home, ".local/share/opencode/opencode.db"), 1},
		{foreign.OpenCode, filepath.Join(home, ".local/share/opencode/storage"), 1},
		{foreign.GeminiCLI, filepath.Join(home, ".gemini/tmp"), 1},
		{foreign.Pi, filepath.Join(home, ".omp/agent/sessions"), 1},
	}
	if d := cmp.Diff(want, foreign.Default(home)); d != "" {
		t.Error(d)
	}
}

// A caller may stop, and one that goes on is told that the context ended.
func TestImportStops(t *testing.T) {
	n := 0
	for range foreign.Import(t.Context(), "testdata", foreign.Options{}) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d sessions after a stop", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	n = 0
	for _, err := range foreign.Import(ctx, "testdata", foreign.Options{}) {
		cancel()
		last = err
		n++
	}
	if n != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d results after the context ended, the last is %v", n, last)
	}
}

// Long conversations of one branch cost no more than their length.
func TestDeepTree(t *testing.T) {
	pacetest.Costly(t)
	var b strings.Builder
	const depth = 20_000
	b.WriteString(`[{"id":"d","mapping":{`)
	for i := range depth {
		fmt.Fprintf(&b, `"n%d":{"parent":"n%d","children":["n%d"],"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["x"]}}},`, i, i-1, i+1)
	}
	fmt.Fprintf(&b, `"n%d":{"parent":"n%d","message":null}}}]`, depth, depth-1)
	sessions, errs := imported(t, write(t, filepath.Join(t.TempDir(), "conversations.json"), b.String()))
	if len(sessions) != 1 || sessions[0].Report.Messages != depth || sessions[0].Report.Branches != 0 {
		t.Fatalf("%d sessions, %q", len(sessions), errs)
	}
}

func TestCirclesAreCut(t *testing.T) {
	text := `[{"id":"d","mapping":{"a":{"parent":"b","children":["b"],"message":{"author":{"role":"user"},"content":{"parts":["1"]}}},
		"b":{"parent":"a","children":["a"],"message":{"author":{"role":"assistant"},"content":{"parts":["2"]}}}}}]`
	sessions, errs := imported(t, write(t, filepath.Join(t.TempDir(), "conversations.json"), text))
	if len(sessions) != 1 || sessions[0].Report.Messages != 2 {
		t.Fatalf("%v %q", sessions, errs)
	}
	if got := sessions[0].Report.String(); !strings.Contains(got, "circles in the tree (1)") {
		t.Error(got)
	}
}

// Reasoning that is proved to its vendor goes back to the same vendor only.
func TestSignaturesStayWithTheirVendor(t *testing.T) {
	text := read(t, filepath.Join(fixture("claude-code-v1"), "5a0e.jsonl"))
	path := write(t, filepath.Join(t.TempDir(), "5a0e.jsonl"), strings.ReplaceAll(text, "claude-sonnet-4-5", "glm-4.7"))
	sessions, _ := imported(t, path)
	found := false
	for _, e := range sessions[0].Entries {
		if e.Message == nil {
			continue
		}
		for _, b := range e.Message.Content {
			if th, ok := b.(llm.Thinking); ok {
				found = true
				if th.Signature != "" || e.Message.API != "" {
					t.Errorf("another vendor's reasoning is signed %q, as of %q", th.Signature, e.Message.API)
				}
			}
		}
	}
	if !found {
		t.Error("the reasoning is gone")
	}
}

// A text that looks like a reference to a blob is a text of the other program's: it shows
// no piece of another session.
func TestTextLikeReference(t *testing.T) {
	text := "blob:sha256:" + strings.Repeat("0123456789abcdef", 4)
	path := filepath.Join(t.TempDir(), "5a0e.jsonl")
	line := `{"type":"user","uuid":"u1","parentUuid":null,"timestamp":"2026-01-02T10:00:00.000Z","cwd":"/w","message":{"role":"user","content":"` + text + `"}}` + "\n"
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	sessions, errs := imported(t, path)
	if len(sessions) != 1 || len(errs) > 0 {
		t.Fatalf("%d sessions, %q", len(sessions), errs)
	}
	log := opened(t, sessions[0])
	e, err := log.Entry(log.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Message.Text(); got != text || len(e.Lost) > 0 {
		t.Errorf("it has become %q, %+v", got, e.Lost)
	}
}
