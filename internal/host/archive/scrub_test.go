package archive

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/foreign"
	"github.com/burin-dev/burin/transcript/place"
)

const (
	openQuote = "why? psql: unterminated quote in PGPASSWORD='Tr0ub4dor8xQz9kk"
	number    = "482913675501"
)

// scrubberOf finds what looks like a secret, a number that the environment has, and what
// the entries say.
func scrubberOf(t *testing.T, entries ...secret.Entry) *scrubber {
	t.Helper()
	v, err := secret.New(secret.Options{Env: []string{"DB_PASSWORD=" + number}, Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	return &scrubber{vault: v}
}

// keptSession is a session file with these entries, the first said by a person.
func keptSession(t *testing.T, entries ...transcript.Entry) string {
	t.Helper()
	path, id := transcript.NewPath(t.TempDir(), "/p", time.Now())
	l, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: "/p"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range append(entries, saying(llm.RoleAssistant, "the quote is not closed")) {
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func saying(role llm.Role, text string) transcript.Entry {
	return transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: role, Content: []llm.Block{llm.Text{Text: text}}}}
}

// beside are all files of a session, with what they hold.
func beside(t *testing.T, path string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(path), func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		found[filepath.Base(file)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Whatever is secret in a session, it is one afterwards, with all that was said.
func TestScrubbedSessionsOpen(t *testing.T) {
	details := saying(llm.RoleUser, "look")
	details.Message.Details = json.RawMessage(`{"pin":` + number + `}`)
	for name, tt := range map[string]struct {
		entry  transcript.Entry
		secret string
	}{
		"a quote that is never closed": {saying(llm.RoleUser, openQuote), "Tr0ub4dor8xQz9kk"},
		"a number":                     {details, number},
		"the text behind the pictures of a history": {transcript.Entry{
			Type: transcript.TypeCompaction, Summary: "s", FirstKeptID: "root",
			PreserveData: json.RawMessage(`{"snapcompact":{"frames":[],"totalChars":9,"truncatedChars":0,"textTail":"` + openQuote + `"}}`),
		}, "Tr0ub4dor8xQz9kk"},
	} {
		t.Run(name, func(t *testing.T) {
			path := keptSession(t, tt.entry)
			record := strings.Split(strings.TrimSpace(beside(t, path)[filepath.Base(path)]), "\n")[1]
			if err := os.WriteFile(path+".before-20260101T000000.000", []byte(record+"\r\nhalf a {\"line"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := scrubberOf(t)
			if found, err := s.session(t.Context(), path); err != nil || len(found) == 0 {
				t.Fatalf("found %v, %v", found, err)
			}
			if err := s.rewrite(path); err != nil {
				t.Fatal(err)
			}
			if found, err := s.session(t.Context(), path); err != nil || len(found) > 0 {
				t.Errorf("there is still %v, %v", found, err)
			}
			for file, text := range beside(t, path) {
				if strings.Contains(text, tt.secret) {
					t.Errorf("%s: %s", file, text)
				}
				if first, rest, _ := strings.Cut(text, "\r\n"); strings.Contains(file, ".before-") && (!json.Valid([]byte(first)) || rest != `half a {"line`) {
					t.Errorf("%s: %s", file, text)
				}
			}
			l, damage, err := transcript.OpenSession(path, transcript.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if damage.Serious() || l.Len() != 2 || damage.String() != "nothing is damaged" {
				t.Errorf("%d entries: %v", l.Len(), damage)
			}
		})
	}
}

// A session of which a record would be lost stays as it was, with a line that says so.
func TestScrubGivesUpOnASession(t *testing.T) {
	path := keptSession(t, saying(llm.RoleUser, openQuote))
	before := beside(t, path)
	s := scrubberOf(t, secret.Entry{Type: secret.Plain, Content: "assistant"})
	err := s.rewrite(path)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "cannot be hidden") {
		t.Errorf("it ended with %v", err)
	}
	if diff := cmp.Diff(before, beside(t, path)); diff != "" {
		t.Errorf("the files (-before +after):\n%s", diff)
	}
}

// A conversation of another program that cannot be kept does not keep the others out.
func TestImportGivesUpOnAConversation(t *testing.T) {
	dir := t.TempDir()
	source := func(name, role, text string) {
		line := `{"type":"user","sessionId":"` + name + `","uuid":"u1","parentUuid":null,"timestamp":"2026-01-02T10:00:00.000Z","cwd":"/there","version":"2.0.0","message":{"role":"user","content":"` + text + `"}}` + "\n"
		if role != "" {
			line += `{"type":"assistant","sessionId":"` + name + `","uuid":"u2","parentUuid":"u1","timestamp":"2026-01-02T10:00:01.000Z","cwd":"/there","version":"2.0.0","message":{"id":"m1","role":"assistant","model":"x","content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}}` + "\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source("5a0e", "assistant", "bake pancakes")
	source("6b1f", "", openQuote)
	s := scrubberOf(t, secret.Entry{Type: secret.Plain, Content: "assistant"})
	root := t.TempDir()
	i := importer{archive: &Archive{root: root, settings: &config.Config{}, keys: func(context.Context) place.Keys { return nil }}, vault: s.vault, dir: dir}
	if err := i.path(t.Context(), dir, foreign.Format("")); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for _, c := range i.report.Conversations {
		if c.State == Failed && strings.Contains(c.Err.Error(), "cannot be hidden") {
			failures++
		}
	}
	if i.report.Count(Fresh) != 1 || i.report.Count(Failed) != 1 || failures != 1 {
		t.Errorf("reported %+v", i.report)
	}
	for file, text := range beside(t, filepath.Join(root, "x")) {
		if strings.Contains(text, "Tr0ub4dor8xQz9kk") || !strings.Contains(text, "PGPASSWORD") {
			t.Errorf("%s: %s", file, text)
		}
	}
}
