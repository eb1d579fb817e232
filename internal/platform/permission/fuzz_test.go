package permission_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
)

// Whatever the line, Decide does not panic, and what it allows does not start a
// program that no rule allows when it is really run.
func FuzzDecide(f *testing.F) {
	var rules []permission.Rule
	for _, name := range []string{"wide.txt", "typical.txt", "evasion.txt"} {
		c := readCorpus(f, name)
		rules = append(rules, c.rules...)
		for i, l := range c.lines {
			if i%5 == 0 {
				f.Add(l.command)
			}
		}
	}
	ask, auto := policy(f, permission.Ask, rules...), policy(f, permission.AutoEdit, rules...)
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 4096 {
			return
		}
		for _, p := range []*permission.Policy{ask, auto} {
			if d := p.Decide(bash(line)); d.Verdict == permission.Allow && runs(t, line) {
				t.Fatalf("%q is allowed (%s) and runs what is not", line, d.Reason)
			}
		}
	})
}
