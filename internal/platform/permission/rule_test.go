package permission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/tool"
)

func TestParseRule(t *testing.T) {
	for _, tt := range []struct {
		text string
		want permission.Rule
		out  string // of String, if it differs
	}{
		{"bash", permission.Rule{Tool: "bash", Verdict: permission.Allow}, ""},
		{" bash(go test:*) ", permission.Rule{Tool: "bash", Pattern: "go test:*", Verdict: permission.Allow}, "bash(go test:*)"},
		{"!bash(rm:*)", permission.Rule{Tool: "bash", Pattern: "rm:*", Verdict: permission.Deny}, ""},
		{"deny edit(src/**)", permission.Rule{Tool: "edit", Pattern: "src/**", Verdict: permission.Deny}, "!edit(src/**)"},
		{"ask fetch(example.com)", permission.Rule{Tool: "fetch", Pattern: "example.com", Verdict: permission.Question}, ""},
		{"prompt fetch", permission.Rule{Tool: "fetch", Verdict: permission.Question}, "ask fetch"},
		{"allow read(~/notes/*.md)", permission.Rule{Tool: "read", Pattern: "~/notes/*.md", Verdict: permission.Allow}, "read(~/notes/*.md)"},
		{`bash("a (b) | c\n")`, permission.Rule{Tool: "bash", Pattern: `"a (b) | c\n"`, Verdict: permission.Allow}, ""},
		{"bash(echo $(date))", permission.Rule{Tool: "bash", Pattern: "echo $(date)", Verdict: permission.Allow}, ""},
		{"mcp_files_write", permission.Rule{Tool: "mcp", Pattern: "files.write", Verdict: permission.Allow}, "mcp(files.write)"},
		{"other(anything (at) all)", permission.Rule{Tool: "other", Pattern: "anything (at) all", Verdict: permission.Allow}, ""},
		{"fetch(*.example.com:8080)", permission.Rule{Tool: "fetch", Pattern: "*.example.com:8080", Verdict: permission.Allow}, ""},
	} {
		got, err := permission.ParseRule(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
		if tt.out == "" {
			tt.out = tt.text
		}
		if got.String() != tt.out {
			t.Errorf("%q comes back as %q", tt.text, got)
		}
	}
}

func TestParseRuleErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "write tool or tool(pattern)",
		"!":                       "write tool or tool(pattern)",
		"ba sh":                   "write tool or tool(pattern)",
		"bash(":                   "closing parenthesis",
		"bash(x) y":               "closing parenthesis",
		"bash()":                  "leave them out",
		"bash(npm run *)":         "write npm run:*",
		"bash(a; b:*)":            "plain ones",
		"bash(a | b:*)":           "plain ones",
		"bash($X:*)":              "plain",
		"bash(ls > x:*)":          "plain",
		"bash(ls *.go:*)":         "plain",
		"bash(:*)":                "plain",
		`bash("a)`:                "quotes",
		`bash("")`:                "quotes",
		"edit([)":                 "pattern of paths",
		"edit(../x)":              "absolute one",
		"edit(src/../x)":          "absolute one",
		"fetch(http://x.com/)":    "not a URL",
		"fetch(*)":                "host",
		"fetch(a*.com)":           "host",
		"fetch(bücher.example)":   "xn--",
		"fetch(me@example.com)":   "host",
		"bash(g\u0456t status:*)": "",
	} {
		_, err := permission.ParseRule(text)
		if want == "" {
			continue // valid: it is for a program of that name, whoever has one
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error has more than one line: %v", text, err)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"bash(go test:*)", "!edit(src/**)", `bash("a\nb")`, "fetch(*.x.y:1)", "ask x", "read(~/a[b]{c,d})"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := permission.ParseRule(s)
		if err != nil {
			return
		}
		again, err := permission.ParseRule(r.String())
		if err != nil || again != r {
			t.Fatalf("%q is %q, which comes back as %+v, %v", s, r, again, err)
		}
		if permission.InWords(r).Meaning() == "" {
			t.Fatalf("%q has no words", s)
		}
	})
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"bash":                     "allow every command, but dangerous ones",
		"bash(git status)":         "allow exactly the command `git status`",
		"bash(mytool:*)":           "allow `mytool` with any arguments, in any folder of the workspace",
		"!bash(rm:*)":              "refuse `rm` with any arguments, in any folder of the workspace",
		"bash(git:*)":              "allow `git` with any arguments, in any folder of the workspace; still asks for what may run or write something else (-c, config, submodule, aliases)",
		"bash(find:*)":             "allow `find` with any arguments, in any folder of the workspace; still asks for what may run or write something else (-delete, -fprint)",
		"bash(python3:*)":          "allow `python3` with any arguments, in any folder of the workspace; still asks for what may run or write something else (code in the line or from its input)",
		"edit(src/**)":             "allow changing all files below src (tools edit, write, undo_edit, and what commands write there by redirection)",
		"edit(**)":                 "allow changing all files of the workspace (tools edit, write, undo_edit, and what commands write there by redirection)",
		"write(docs/*.md)":         "allow the tool write on files that match docs/*.md",
		`read(app/\[id\]/page.go)`: "allow reading the file app/[id]/page.go (tools read, ls, find, grep, and commands that only read)",
		"read":                     "allow reading any file (tools read, ls, find, grep)",
		"ask fetch(*.example.com)": "ask about requests of the tool fetch to all hosts below example.com",
		"fetch(localhost:8080)":    "allow requests of the tool fetch to the host localhost:8080",
		"calendar":                 "allow every call of the tool calendar",
	} {
		if got := permission.InWords(rule1(t, text)).Meaning(); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	r := rule1(t, "bash(make)")
	r.Scope, r.Expires = permission.Project, time.Date(2026, 1, 2, 15, 4, 0, 0, time.Local)
	if got, want := permission.InWords(r).Meaning(), "allow exactly the command `make`, in this project, until 2 Jan 2026 15:04"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// access is a request of one access.
func access(name string, k tool.AccessKind, target string) permission.Request {
	return permission.Request{Tool: name, Access: []tool.Access{{Kind: k, Target: target}}}
}

func TestRulesOfFiles(t *testing.T) {
	p := policy(t, permission.Ask,
		rule1(t, "edit(src/**)"), rule1(t, "write(docs/*.md)"), rule1(t, "!edit(src/secret/**)"), rule1(t, "ask edit(src/main.go)"),
		rule1(t, "read(/opt/data/**)"), rule1(t, "read(~/notes/**)"), rule1(t, "!read(private/**)"), rule1(t, "edit(/src/project/abs/**)"),
		rule1(t, `edit(app/\[id\]/x)`), rule1(t, "edit(.git/config)"), rule1(t, "edit(/etc/**)"), rule1(t, "edit(/etc/mine.conf)"))
	const read, write = tool.AccessRead, tool.AccessWrite
	for _, tt := range []struct {
		tool   string
		kind   tool.AccessKind
		target string
		want   permission.Verdict
	}{
		{"edit", write, "src/a.go", permission.Allow},
		{"write", write, "src/deep/er/a.go", permission.Allow},
		{"undo_edit", write, "src/a.go", permission.Allow},
		{"other", write, "src/a.go", permission.Question}, // a rule is for its tools only
		{"edit", write, "src2/a.go", permission.Question},
		{"edit", write, "asrc/a.go", permission.Question},
		{"edit", write, "src/../x", permission.Question},
		{"edit", write, "src/secret/x", permission.Deny},
		{"edit", write, "SRC/Secret/x", permission.Deny}, // as file systems differ
		{"other", write, "src/secret/x", permission.Deny},
		{"edit", write, "./src//secret/x", permission.Deny},
		{"edit", write, "src/main.go", permission.Question},
		{"write", write, "docs/a.md", permission.Allow},
		{"edit", write, "docs/a.md", permission.Question}, // write is write alone
		{"write", write, "docs/deep/a.md", permission.Question},
		{"edit", write, "abs/x", permission.Allow},
		{"edit", write, "app/[id]/x", permission.Allow},
		{"edit", write, "app/i/x", permission.Question},
		{"edit", write, ".git/config", permission.Allow}, // by exactly this name
		{"edit", write, ".git/hooks/x", permission.Question},
		{"edit", write, "/etc/hosts", permission.Question}, // a pattern does not allow what is dangerous
		{"edit", write, "/etc/mine.conf", permission.Allow},
		{"read", read, "a.go", permission.Allow},
		{"grep", read, "", permission.Allow},
		{"read", read, ".env", permission.Question},
		{"read", read, "private/x", permission.Deny},
		{"ls", read, "private/x", permission.Deny},
		{"read", read, "/opt/data/x", permission.Allow},
		{"find", read, "/opt/data/x", permission.Allow},
		{"read", read, "/opt/data/../x", permission.Question},
		{"read", read, "/opt/database", permission.Question},
		{"read", read, "/home/me/notes/x", permission.Allow},
		{"read", read, "../x", permission.Question},
		{"read", read, "/src/project-evil/x", permission.Question},
		{"read", read, "/src/project/a.go", permission.Allow},
		{"bash", tool.AccessExecute, "cat /opt/data/x", permission.Allow}, // what only reads
		{"bash", tool.AccessExecute, "cat private/x", permission.Deny},
		{"bash", tool.AccessExecute, "cat priv*/x", permission.Allow}, // nothing there matches
		{"bash", tool.AccessExecute, "cat < private/x", permission.Deny},
		{"bash", tool.AccessExecute, "cat $X", permission.Question},
		{"bash", tool.AccessExecute, "echo x > src/out", permission.Allow},
		{"bash", tool.AccessExecute, "echo x > src/secret/out", permission.Deny},
		{"bash", tool.AccessExecute, "echo x > out", permission.Question},
		{"bash", tool.AccessExecute, "echo x > docs/a.md", permission.Question},
	} {
		if d := p.Decide(access(tt.tool, tt.kind, tt.target)); d.Verdict != tt.want {
			t.Errorf("%s %s %q: %s (%s), want %s", tt.tool, tt.kind, tt.target, d.Verdict, d.Reason, tt.want)
		}
	}
}

func TestRulesOfHosts(t *testing.T) {
	p := policy(t, permission.Ask, rule1(t, "fetch(example.com)"), rule1(t, "fetch(*.example.org)"), rule1(t, "fetch(localhost:8080)"),
		rule1(t, "!fetch(evil.example.org)"), rule1(t, "fetch(192.0.2.1)"), rule1(t, "fetch([2001:db8::1])"))
	for to, want := range map[string]permission.Verdict{
		"https://example.com/x?y":            permission.Allow,
		"http://example.com:80/":             permission.Allow,
		"https://EXAMPLE.com.":               permission.Allow,
		"example.com":                        permission.Allow,
		"https://example.com:8443/":          permission.Question,
		"https://sub.example.com/":           permission.Question,
		"https://example.com.evil.net/":      permission.Question,
		"https://example.com@evil.net/":      permission.Question,
		"https://evil.net/example.com":       permission.Question,
		"https://evil.net\\@example.com/":    permission.Question,
		"https://evil.net#@example.com/":     permission.Question,
		"https://notexample.com/":            permission.Question,
		"ftp://example.com/":                 permission.Question,
		"file:///etc/passwd":                 permission.Question,
		"https://\u0435xample.com/":          permission.Question,
		"https://a.example.org/":             permission.Allow,
		"https://a.b.example.org/":           permission.Allow,
		"https://example.org/":               permission.Question,
		"https://evil.example.org/":          permission.Deny,
		"http://localhost:8080/":             permission.Allow,
		"http://localhost/":                  permission.Question,
		"http://localhost:80800/":            permission.Question,
		"http://192.0.2.1/":                  permission.Allow,
		"http://[2001:db8:0:0:0:0:0:1]/":     permission.Allow,
		"http://[2001:db8::2]/":              permission.Question,
		"https://example.com\t.evil.net/":    permission.Question,
		"https://example.com%2eevil.net/":    permission.Question,
		"":                                   permission.Question,
		"//example.com":                      permission.Question,
		"https:example.com":                  permission.Question,
		"javascript:alert(1)//example.com":   permission.Question,
		"https://user:pass@example.com/":     permission.Allow,
		"https://example.com:443/deep/er":    permission.Allow,
		"https://xn--xample-9uf.com/":        permission.Question,
		"http://0x7f.1/":                     permission.Question,
		"https://example.com:/":              permission.Allow,
		"https://example.org.:443/":          permission.Question,
		"https://A.Example.ORG/":             permission.Allow,
		"https://evil.example.org.:443/path": permission.Deny,
	} {
		if d := p.Decide(access("fetch", tool.AccessNetwork, to)); d.Verdict != want {
			t.Errorf("%q: %s (%s), want %s", to, d.Verdict, d.Reason, want)
		}
		if d := p.Decide(access("web_search", tool.AccessNetwork, to)); d.Verdict != permission.Question {
			t.Errorf("a rule of fetch answers for web_search to %q: %s", to, d.Verdict)
		}
	}
}
