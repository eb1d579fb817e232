package permission_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/permission"
)

// allowed are commands that the rules of properties allow or that only read,
// refused are some that nothing allows.
var (
	allowed = []string{"ls -la", "git status", "go test ./...", "echo hi", "grep -rn foo .", "sed -n 1p README.md", "cat <<'EOF'\nx\nEOF", "go test ./... 2>&1", "true"}
	refused = []string{"forbidden", "forbidden --x y", "/bin/forbidden", "git push", "rm x", "./forbidden", "$X", "go vet ./...", "ls > out", "cat /etc/passwd", "go test -exec forbidden ./...", "LD_PRELOAD=x ls", "sed -i s/a/b/ x"}
)

func properties(t testing.TB) *permission.Policy {
	return policy(t, permission.Ask, rule1(t, "bash(go test:*)"))
}

func TestWhatThePropertiesAreMadeOf(t *testing.T) {
	p := properties(t)
	for _, c := range allowed {
		if d := p.Decide(bash(c)); d.Verdict != permission.Allow {
			t.Errorf("%q: %s", c, d.Reason)
		}
	}
	for _, c := range refused {
		if d := p.Decide(bash(c)); d.Verdict == permission.Allow {
			t.Errorf("%q: %s", c, d.Reason)
		}
	}
}

// list draws commands joined by operators. One of them is at a place of its own.
func list(t *rapid.T, one string) string {
	n := rapid.IntRange(1, 5).Draw(t, "commands")
	at := rapid.IntRange(0, n-1).Draw(t, "at")
	var b strings.Builder
	for i := range n {
		c := rapid.SampledFrom(allowed).Draw(t, "command")
		if i == at {
			c = one
		}
		b.WriteString(c)
		switch {
		case i == n-1:
		case strings.HasSuffix(c, "EOF"):
			b.WriteByte('\n')
		default:
			b.WriteString(rapid.SampledFrom([]string{"; ", " && ", " || ", " | ", "\n", " & ", ";", "&&", " |& "}).Draw(t, "operator"))
		}
	}
	return b.String()
}

// A list is allowed if and only if every command in it is.
func TestOneCommandDecides(t *testing.T) {
	p := properties(t)
	rapid.Check(t, func(t *rapid.T) {
		good := list(t, rapid.SampledFrom(allowed).Draw(t, "good"))
		if d := p.Decide(bash(good)); d.Verdict != permission.Allow {
			t.Fatalf("%q is not allowed: %s", good, d.Reason)
		}
		bad := list(t, rapid.SampledFrom(refused).Draw(t, "bad"))
		if d := p.Decide(bash(bad)); d.Verdict == permission.Allow {
			t.Fatalf("%q is allowed: %s", bad, d.Reason)
		}
	})
}

// wraps are constructs of the shell around a command, marked by "%".
var wraps = []string{
	"( % )", "{ %\n}", "! %", "time %", "if %\nthen ls\nfi", "if ls\nthen %\nfi", "if ls; then ls; else %\nfi", "while %\ndo ls\ndone", "until ls; do %\ndone",
	"for i in a b; do %\ndone", "case a in a) %\n;; esac", "echo $( %\n)", "echo \"$( %\n)\"", "x=$( %\n)", "cat <(%\n)", "ls > >(%\n)", "% | cat", "ls | %", "% &", "ls && %", "% || ls",
	"f() { %\n}", "echo ${x:-$( %\n)}", "cat <<E\n$( %\n)\nE\n", "[[ -n $( %\n) ]]", "coproc %", "ls; %", "export CI=$( %\n)", "[ \"$( %\n)\" ]",
}

// Wrapping what is not allowed, any number of times, never makes it allowed.
func TestWrappingAllowsNothing(t *testing.T) {
	p := properties(t)
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(refused).Draw(t, "command")
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			c = strings.ReplaceAll(rapid.SampledFrom(wraps).Draw(t, "wrap"), "%", c)
		}
		if d := p.Decide(bash(c)); d.Verdict == permission.Allow {
			t.Fatalf("%q is allowed: %s", c, d.Reason)
		}
		if quoted := "bash -c '" + strings.ReplaceAll(c, "'", `'\''`) + "'"; p.Decide(bash(quoted)).Verdict == permission.Allow {
			t.Fatalf("%q is allowed", quoted)
		}
	})
}

// A rule that refuses a program is not got around by wrapping it, nor does any
// mode or rule allow it then.
func TestWrappingHidesNothingFromARefusal(t *testing.T) {
	for _, m := range []permission.Mode{permission.Ask, permission.AutoEdit, permission.Full} {
		p := policy(t, m, rule1(t, "!bash(forbidden:*)"), rule1(t, "bash"), rule1(t, "bash(forbidden x)"))
		rapid.Check(t, func(t *rapid.T) {
			c := rapid.SampledFrom([]string{"forbidden", "forbidden x", "/bin/forbidden", `f\orbidden`, `'forbidden' x`, "env forbidden", "timeout 5 forbidden x", "sudo forbidden", "xargs forbidden"}).Draw(t, "command")
			for range rapid.IntRange(0, 3).Draw(t, "times") {
				c = strings.ReplaceAll(rapid.SampledFrom(wraps).Draw(t, "wrap"), "%", c)
			}
			d := p.Decide(bash(c))
			if d.Verdict != permission.Deny {
				t.Fatalf("%s: %q: %s, %s", m, c, d.Verdict, d.Reason)
			}
		})
	}
}

// A wider mode never refuses what a narrower one allows, and plan allows only
// what ask does without any rule.
func TestModesAreOrdered(t *testing.T) {
	pacetest.Costly(t)
	rules := readCorpus(t, "typical.txt").rules
	bare := policy(t, permission.Ask)
	modes := []permission.Mode{permission.Plan, permission.Ask, permission.AutoEdit, permission.Full}
	for _, l := range readCorpus(t, "typical.txt").lines {
		var before permission.Verdict
		for _, m := range modes {
			d := policy(t, m, rules...).Decide(bash(l.command))
			if before == permission.Allow && d.Verdict != permission.Allow {
				t.Errorf("%q: allowed by a narrower mode, and %s: %s", l.command, m, d.Reason)
			}
			if m == permission.Plan && d.Verdict == permission.Allow && bare.Decide(bash(l.command)).Verdict != permission.Allow {
				t.Errorf("%q: plan mode allows what does more than read", l.command)
			}
			before = d.Verdict
		}
	}
}
