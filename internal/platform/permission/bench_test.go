package permission_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/tool"
)

// A compound command that rules and the mode allow: what every call of the shell
// pays. The goal is 100 µs.
func BenchmarkDecideCompound(b *testing.B) {
	p := policy(b, permission.Ask, readCorpus(b, "typical.txt").rules...)
	r := bash(`cd internal && go test ./... 2>&1 | tail -40 && git status --short && grep -rn "TODO" --include=*.go . | head -20`)
	if d := p.Decide(r); d.Verdict != permission.Allow {
		b.Fatal(d.Reason)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(r)
	}
}

// A question, with its offers.
func BenchmarkDecideQuestion(b *testing.B) {
	p := policy(b, permission.Ask, readCorpus(b, "typical.txt").rules...)
	r := bash(`npm ci && npm run lint -- --fix && git push origin main`)
	if d := p.Decide(r); d.Verdict != permission.Question || len(d.Offers) != 2 {
		b.Fatal(d)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(r)
	}
}

// A file, with a file of lasting grants to look at.
func BenchmarkDecideFile(b *testing.B) {
	p, err := permission.Open(permission.Options{Mode: permission.AutoEdit, Project: b.TempDir(), File: b.TempDir() + "/permissions.json"})
	if err != nil {
		b.Fatal(err)
	}
	r := permission.Request{Tool: "edit", Access: []tool.Access{{Kind: tool.AccessWrite, Target: "internal/server/handler.go"}}}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(r)
	}
}

func BenchmarkReadOnly(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		permission.ReadOnly("git log --oneline -5 | head -3")
	}
}
