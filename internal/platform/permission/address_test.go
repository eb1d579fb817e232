package permission_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/tool"
)

// A rule is about addresses only if it names them, and one that refuses holds for the session's own too.
func TestAddresses(t *testing.T) {
	const a, q, d = permission.Allow, permission.Question, permission.Deny
	for _, tt := range []struct {
		rule, target string
		want         permission.Verdict
	}{
		{"edit(**)", "memory://user/a.md", q},
		{"edit(memory://**)", "memory://user/a.md", a},
		{"edit(memory://user/a.md)", "memory://user/b.md", q},
		{"write(memory://user/*)", "memory://user/a.md", a},
		{"edit", "memory://user/a.md", a},
		{"!edit(memory://**)", "memory://user/a.md", d},
		{"!edit(**)", "local://plan.md", a},
		{"!edit(local://**)", "local://notes/plan.md", d},
		{"ask edit(local://)", "local://plan.md", q},
		{"!edit", "local://plan.md", d},
	} {
		rule, err := permission.ParseRule(tt.rule)
		if err != nil {
			t.Fatal(err)
		}
		p := policy(t, permission.Ask, rule)
		if got := p.Decide(access("write", tool.AccessWrite, tt.target)); got.Verdict != tt.want {
			t.Errorf("%s: %s is %s (%s), want %s", tt.rule, tt.target, got.Verdict, got.Reason, tt.want)
		}
		if walls := p.Walls(); len(walls) > 0 && tt.rule != "!edit(**)" {
			t.Errorf("%s makes walls %v", tt.rule, walls)
		}
	}
	got := policy(t, permission.Ask).Decide(access("write", tool.AccessWrite, "memory://user/a.md"))
	if got.Reason != "it writes memory://user/a.md" || len(got.Offers) != 2 || got.Offers[1].Rules[0].String() != "edit(memory://**)" || got.Offers[1].Words == "" {
		t.Errorf("it asks %q and offers %+v", got.Reason, got.Offers)
	}
}
