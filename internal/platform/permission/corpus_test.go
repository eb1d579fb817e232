package permission_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/tool"
)

// corpus is a file of commands with their verdicts.
type corpus struct {
	rules []permission.Rule
	lines []corpusLine
}

type corpusLine struct {
	number  int
	verdict permission.Verdict
	command string
}

func readCorpus(t testing.TB, name string) corpus {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var c corpus
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		if rule, ok := strings.CutPrefix(line, "rule: "); ok {
			c.rules = append(c.rules, rule1(t, rule))
			continue
		}
		verdict, command, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		c.lines = append(c.lines, corpusLine{n, permission.Verdict(verdict), strings.ReplaceAll(command, "⏎", "\n")})
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func rule1(t testing.TB, text string) permission.Rule {
	t.Helper()
	r, err := permission.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bash is a request for a command in the root of the workspace.
func bash(command string) permission.Request {
	return permission.Request{Tool: "bash", Effects: tool.Executes, Access: []tool.Access{{Kind: tool.AccessExecute, Target: command}}}
}

func TestCorpus(t *testing.T) {
	total := 0
	for _, name := range []string{"typical.txt", "evasion.txt", "wide.txt"} {
		c := readCorpus(t, name)
		total += len(c.lines)
		p := policy(t, permission.Ask, c.rules...)
		for _, l := range c.lines {
			if d := p.Decide(bash(l.command)); d.Verdict != l.verdict {
				t.Errorf("%s:%d: %q: %s (%s), want %s", name, l.number, l.command, d.Verdict, d.Reason, l.verdict)
			}
		}
	}
	if total < 2000 {
		t.Errorf("the corpus has %d commands only", total)
	}
}

// policy is one of a workspace that does not exist.
func policy(t testing.TB, m permission.Mode, rules ...permission.Rule) *permission.Policy {
	t.Helper()
	p, err := permission.Open(permission.Options{Mode: m, Project: "/src/project", Home: "/home/me", Scratch: []string{"local://"}, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
