package permission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
)

// hostileLine is a command of hostile.txt with what it is judged by.
type hostileLine struct {
	corpusLine
	mode  permission.Mode
	rules []permission.Rule
}

func readHostile(t testing.TB, name string) []hostileLine {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []hostileLine
	now := hostileLine{mode: permission.Ask}
	characters := strings.NewReplacer("⏎", "\n", "␀", "\x00", "␍", "\r")
	for n, line := range strings.Split(string(data), "\n") {
		if mode, ok := strings.CutPrefix(line, "mode: "); ok {
			if now.mode, err = permission.ParseMode(mode); err != nil {
				t.Fatal(err)
			}
		}
		if rule, ok := strings.CutPrefix(line, "rule: "); ok {
			now.rules = append(now.rules[:len(now.rules):len(now.rules)], rule1(t, rule))
			continue
		}
		if line == "rules:" {
			now.rules = nil
		}
		if verdict, command, ok := strings.Cut(line, "\t"); ok {
			now.corpusLine = corpusLine{n + 1, permission.Verdict(verdict), characters.Replace(command)}
			out = append(out, now)
		}
	}
	return out
}

// What a hostile model may try is never allowed, what is refused never only asked
// about, and the honest look-alikes run.
func TestHostileCorpus(t *testing.T) { judgeLines(t, "hostile.txt", 600) }

// An option that is not understood is not covered by a rule for first words, and
// makes no reader.
func TestOptionsCorpus(t *testing.T) { judgeLines(t, "options.txt", 300) }

// None of this makes a question of what people do every day.
func TestEverydayCorpus(t *testing.T) { judgeLines(t, "everyday.txt", 250) }

func judgeLines(t *testing.T, name string, least int) {
	t.Helper()
	lines := readHostile(t, name)
	for _, l := range lines {
		d := policy(t, l.mode, l.rules...).Decide(bash(l.command))
		if d.Verdict != l.verdict && (l.verdict != "no" || d.Verdict == permission.Allow) {
			t.Errorf("%s:%d: %s: %q: %s (%s), want %s", name, l.number, l.mode, l.command, d.Verdict, d.Reason, l.verdict)
		}
	}
	if len(lines) < least {
		t.Errorf("the corpus has %d commands only", len(lines))
	}
}
