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

func readHostile(t testing.TB) []hostileLine {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "hostile.txt"))
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
func TestHostileCorpus(t *testing.T) {
	lines := readHostile(t)
	for _, l := range lines {
		if d := policy(t, l.mode, l.rules...).Decide(bash(l.command)); d.Verdict != l.verdict {
			t.Errorf("hostile.txt:%d: %s: %q: %s (%s), want %s", l.number, l.mode, l.command, d.Verdict, d.Reason, l.verdict)
		}
	}
	if len(lines) < 600 {
		t.Errorf("the corpus has %d commands only", len(lines))
	}
}
