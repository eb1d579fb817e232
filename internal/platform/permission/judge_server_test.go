package permission_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/tool"
)

// Rules for MCP servers, as burin, Claude Code and the pi family write them.
func TestServerRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, target string
		want         permission.Verdict
	}{
		{"mcp", "notes.add:{}", permission.Allow},
		{"mcp(*)", "notes.add:{}", permission.Allow},
		{"mcp(notes.*)", "notes.add:{}", permission.Allow},
		{"mcp(notes.*)", "notes2.add:{}", permission.Question},
		{"mcp(notes.add)", "notes.add:{}", permission.Allow},
		{"mcp(notes.add)", "notes.add_all:{}", permission.Question},
		{"mcp__notes", "notes.add:{}", permission.Allow},
		{"mcp__notes__add", "notes.add:{}", permission.Allow},
		{"mcp__notes_add", "notes.add:{}", permission.Allow},
		{"mcp_notes_add_all", "notes.add_all:{}", permission.Allow},
		{"!mcp_notes_add", "notes.add:{}", permission.Deny},
		{`mcp(notes.add:{"b":1,"a":"x"})`, `notes.add:{"a":"x","b":1}`, permission.Allow},
		{`mcp(notes.add:{"a":"x"})`, `notes.add:{"a":"x","b":1}`, permission.Question},
		{`mcp(notes.add:{"n":9007199254740993})`, `notes.add:{"n":9007199254740992}`, permission.Question},
		{"mcp(notes.add:path=docs/*)", `notes.add:{"path":"docs/a/b","other":"x"}`, permission.Allow},
		{"mcp(notes.add:path=docs/*)", `notes.add:{"path":"docs/../key"}`, permission.Question},
		{"mcp(notes.add:path=docs/*)", `notes.add:{"path":"x","other":"docs/a"}`, permission.Question},
		{"mcp(notes.add:path=docs/*)", `notes.add:{"path":["docs/a"]}`, permission.Question},
		{"mcp(notes.add:n=3)", `notes.add:{"n":3}`, permission.Allow},
		{"!mcp(db.query:DROP*)", `db.query:{"all":[{"sql":"DROP TABLE x;\n"}]}`, permission.Deny},
		{"!mcp(db.query:DROP*)", `db.query:{"sql":"SELECT 1"}`, permission.Question},
		{"ask mcp(db.query)", "db.query:{}", permission.Question},
	} {
		r, err := permission.ParseRule(tt.rule)
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		p, err := permission.Open(permission.Options{Project: t.TempDir(), Rules: []permission.Rule{r}})
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		d := p.Decide(permission.Request{Tool: "mcp__x__y", Effects: tool.Network | tool.Writes, Access: []tool.Access{{Kind: tool.AccessServer, Target: tt.target}}})
		if d.Verdict != tt.want {
			t.Errorf("%s for %s: %s (%s), want %s", tt.rule, tt.target, d.Verdict, d.Reason, tt.want)
		}
	}
	for _, wrong := range []string{"mcp(notes)", "mcp(notes.)", "mcp(.add)", "mcp(notes.ad*)", "mcp(notes.*:x)", "mcp(notes.add:)", "mcp(notes.add:{)"} {
		if r, err := permission.ParseRule(wrong); err == nil {
			t.Errorf("%s is a rule: %+v", wrong, r)
		}
	}
	// To allow, an argument needs its name: any other argument would do too.
	if _, err := permission.Open(permission.Options{Project: t.TempDir(), Rules: []permission.Rule{{Tool: "mcp", Pattern: "notes.add:docs*", Verdict: permission.Allow}}}); err == nil {
		t.Error("a text without the argument's name allows calls")
	}
}

// A question offers grants, the narrowest first, in words that say what they cover.
func TestServerGrants(t *testing.T) {
	t.Parallel()
	p, err := permission.Open(permission.Options{Project: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := permission.Request{Tool: "mcp__notes__add", Effects: tool.Network | tool.Writes, Access: []tool.Access{{Kind: tool.AccessServer, Target: `notes.add:{"text":"a"}`}}}
	d := p.Decide(r)
	want := []struct{ rule, words, meaning string }{
		{`mcp(notes.add:{"text":"a"})`, "`notes.add {\"text\":\"a\"}`", "allow calls of add of the MCP server notes with exactly the arguments {\"text\":\"a\"}"},
		{"mcp(notes.add)", "every `notes.add` call", "allow every call of add of the MCP server notes"},
		{"mcp(notes.*)", "all tools of `notes`", "allow every tool of the MCP server notes"},
	}
	if d.Verdict != permission.Question || len(d.Offers) != len(want) {
		t.Fatalf("%+v", d)
	}
	for i, w := range want {
		o := d.Offers[i]
		if len(o.Rules) != 1 || o.Rules[0].String() != w.rule || o.Words != w.words || o.Rules[0].Words != w.meaning {
			t.Errorf("offer %d: %+v, want %+v", i, o, w)
		}
	}
	p.SetMode(permission.Plan)
	if d := p.Decide(r); d.Verdict != permission.Deny {
		t.Errorf("in plan mode: %+v", d)
	}
	r.Effects = tool.Network
	if d := p.Decide(r); d.Verdict != permission.Question {
		t.Errorf("in plan mode, read-only: %+v", d)
	}
}
