package permission_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
)

// offered are the rules of all offers in text, the rules of one joined by " + ".
func offered(d permission.Decision) []string {
	var out []string
	for _, o := range d.Offers {
		var rules []string
		for _, r := range o.Rules {
			rules = append(rules, r.String())
		}
		out = append(out, strings.Join(rules, " + "))
	}
	return out
}

func TestOffers(t *testing.T) {
	p := policy(t, permission.Ask, rule1(t, "ask bash(deploy:*)"))
	for _, tt := range []struct {
		r    permission.Request
		want []string
	}{
		{bash("go test -run X ./..."), []string{"bash(go test -run X ./...)", "bash(go test:*)"}},
		{bash("npm run build -- --x"), []string{"bash(npm run build -- --x)", "bash(npm run build:*)"}},
		{bash("npm install left-pad"), []string{"bash(npm install left-pad)", "bash(npm install:*)"}},
		{bash("make lint"), []string{"bash(make lint)", "bash(make lint:*)"}},
		{bash("kubectl get pods"), []string{"bash(kubectl get pods)", "bash(kubectl get:*)"}},
		{bash("git remote add x y"), []string{"bash(git remote add x y)", "bash(git remote add:*)"}},
		{bash("git --no-pager push"), []string{"bash(git --no-pager push)", "bash(git push:*)"}},
		{bash("python3 -m pytest -q"), []string{"bash(python3 -m pytest -q)", "bash(python3 -m pytest:*)"}},
		{bash("poetry run pytest"), []string{"bash(poetry run pytest)", "bash(poetry run pytest:*)"}},
		{bash("npx tsc --noEmit"), []string{"bash(npx tsc --noEmit)", "bash(npx tsc:*)"}},
		{bash("docker compose ps"), []string{"bash(docker compose ps)", "bash(docker compose ps:*)"}},
		{bash("./scripts/lint.sh x"), []string{"bash(./scripts/lint.sh x)", "bash(./scripts/lint.sh:*)"}},
		{bash("cd scripts && ./lint.sh"), []string{"bash(cd scripts && ./lint.sh)", "bash(./scripts/lint.sh:*)"}},
		{bash("CI=1 timeout 9 go vet ./..."), []string{"bash(CI=1 timeout 9 go vet ./...)", "bash(go vet:*)"}},
		{bash("npm ci && npm test | tail"), []string{"bash(npm ci && npm test | tail)", "bash(npm ci:*) + bash(npm test:*)"}},
		{bash("go vet ./... > out/vet.txt"), []string{"bash(go vet ./... > out/vet.txt)", "edit(out/vet.txt) + bash(go vet:*)", "edit(out/**) + bash(go vet:*)", "edit(**) + bash(go vet:*)"}},
		{bash("cat /srv/data/x"), []string{"bash(cat /srv/data/x)", "read(/srv/data/x)", "read(/srv/data/**)"}},
		// what is never offered by its first words
		{bash("python3 -c 'print(1)'"), []string{"bash(python3 -c 'print(1)')"}},
		{bash("python3 x.py"), []string{"bash(python3 x.py)"}},
		{bash("bash x.sh"), []string{"bash(bash x.sh)"}},
		{bash("rm x"), []string{"bash(rm x)"}},
		{bash("curl https://example.com"), []string{"bash(curl https://example.com)"}},
		{bash("ssh host ls"), []string{"bash(ssh host ls)"}},
		{bash("docker run x"), []string{"bash(docker run x)"}},
		{bash("env FOO=1 make"), []string{"bash(env FOO=1 make)"}},
		{bash("git push --force"), []string{"bash(git push --force)"}},
		{bash("git -c a.b=c push"), []string{"bash(git -c a.b=c push)"}},
		{bash("find . -delete"), []string{"bash(find . -delete)"}},
		{bash("go test -exec x ./..."), []string{"bash(go test -exec x ./...)"}},
		{bash("cat ~/.ssh/id_rsa"), []string{"bash(cat ~/.ssh/id_rsa)", "read(/home/me/.ssh/id_rsa)"}},
		{bash("make && git push --force"), []string{"bash(make && git push --force)"}},
		{bash("cd /srv && make"), []string{"bash(cd /srv && make)"}},
		// texts that would be read as something else
		{bash("go test:*"), []string{`bash("go test:*")`}},
		{bash("echo x | sh; ls *"), []string{`bash("echo x | sh; ls *")`}},
		{bash("cat > x <<E\na\nE\nmake all"), []string{`bash("cat > x <<E\na\nE\nmake all")`, "edit(x) + bash(make all:*)", "edit(**) + bash(make all:*)"}},
		// a rule asks: no grant wins over it
		{bash("deploy now"), nil},
		{bash("$X now"), nil}, // it may be that
		{bash("make && deploy now"), nil},
		{access("write", tool.AccessWrite, "src/[id]/a.go"), []string{`edit(src/\[id\]/a.go)`, `edit(src/\[id\]/**)`, "edit(**)"}},
		{access("write", tool.AccessWrite, "/srv/x/y"), []string{"edit(/srv/x/y)", "edit(/srv/x/**)"}},
		{access("write", tool.AccessWrite, ".git/config"), []string{"edit(.git/config)"}},
		{access("read", tool.AccessRead, ".env"), []string{"read(.env)"}},
		{access("mcp_x", tool.AccessWrite, "a/b"), []string{"mcp_x(a/b)", "mcp_x(a/**)", "mcp_x(**)"}},
		{access("fetch", tool.AccessNetwork, "https://api.example.com/x"), []string{"fetch(api.example.com)", "fetch(*.example.com)"}},
		{access("fetch", tool.AccessNetwork, "http://localhost:8080/x"), []string{"fetch(localhost:8080)"}},
		{access("fetch", tool.AccessNetwork, "http://[::1]:8080/x"), []string{"fetch([::1]:8080)"}},
		{access("fetch", tool.AccessNetwork, "http://10.0.0.1/x"), []string{"fetch(10.0.0.1)"}},
		{access("fetch", tool.AccessNetwork, "gopher://x"), nil},
		{permission.Request{Tool: "mcp_y", Effects: tool.Executes}, []string{"mcp_y"}},
	} {
		d := p.Decide(tt.r)
		if d.Verdict != permission.Question {
			t.Errorf("%v: %s", tt.r.Access, d.Verdict)
		}
		if diff := cmp.Diff(tt.want, offered(d)); diff != "" {
			t.Errorf("%v: %s", tt.r.Access, diff)
		}
	}
}

// Every offer does what it says: with its rules the call runs. And it does no
// more: no rule of an offer allows what is dangerous or refused elsewhere.
func TestOffersAllowTheCallAndNothingForbidden(t *testing.T) {
	pacetest.Costly(t)
	c := readCorpus(t, "typical.txt")
	evil := readCorpus(t, "evasion.txt")
	seen := map[string]bool{}
	for _, l := range c.lines {
		d := policy(t, permission.Ask, c.rules...).Decide(bash(l.command))
		for _, o := range d.Offers {
			text := strings.Join(offered(permission.Decision{Offers: []permission.Offer{o}}), "")
			if seen[text] || strings.Contains(l.command, forbidden) {
				continue
			}
			seen[text] = true
			p := policy(t, permission.Ask, append(slices.Clone(c.rules), o.Rules...)...)
			if got := p.Decide(bash(l.command)); got.Verdict != permission.Allow {
				t.Errorf("%q: with %s: %s (%s)", l.command, text, got.Verdict, got.Reason)
			}
			if d.Dangerous != "" && (len(d.Offers) > 1 || slices.Contains(o.Scopes, permission.User)) {
				t.Errorf("%q is dangerous (%s), offered are %s", l.command, d.Dangerous, offered(d))
			}
			for i, e := range evil.lines {
				if i%60 == len(seen)%60 && strings.Contains(e.command, forbidden) && e.verdict == permission.Question && p.Decide(bash(e.command)).Verdict == permission.Allow && runs(t, e.command) {
					t.Errorf("%s allows %q", text, e.command)
				}
			}
		}
	}
	if len(seen) < 300 {
		t.Errorf("only %d offers were tried", len(seen))
	}
}

func TestOfferScopesWordsAndExamples(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"src/a.go", "src/b.go"} {
		if err := os.MkdirAll(filepath.Join(dir, "src"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := permission.Open(permission.Options{Project: dir, File: filepath.Join(t.TempDir(), "p.json")})
	if err != nil {
		t.Fatal(err)
	}
	yes := asker(func(permission.Decision) permission.Answer { return permission.Answer{Allow: true} })
	if err := p.Authorize(t.Context(), bash("go test -run Seen ./x"), yes); err != nil {
		t.Fatal(err)
	}
	d := p.Decide(bash("go test ./..."))
	if len(d.Offers) != 2 {
		t.Fatalf("%+v", d)
	}
	o := d.Offers[1]
	if diff := cmp.Diff([]string{"go test -run Seen ./x", "go test -run TestName ./pkg", "go test"}, o.Examples); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]permission.Scope{permission.Once, permission.Session, permission.Project, permission.User}, o.Scopes); diff != "" {
		t.Error(diff)
	}
	if full := o.Rules[0].Words; o.Words != "all `go test` commands" || !strings.HasPrefix(full, "allow `go test` with any arguments") || !strings.Contains(full, "-exec") {
		t.Errorf("words %q, in full %q", o.Words, full)
	}
	for _, r := range o.In(permission.Project) {
		if r.Scope != permission.Project || !strings.HasSuffix(permission.InWords(r).Meaning(), ", in this project") {
			t.Errorf("%+v: %s", r, permission.InWords(r).Meaning())
		}
	}
	if o.Rules[0].Scope != permission.Session {
		t.Error("In changed the offer itself")
	}
	d = p.Decide(access("edit", tool.AccessWrite, "src/c.go"))
	if got := d.Offers[1].Examples; !slices.Contains(got, "edit src/a.go") || !slices.Contains(got, "edit src/b.go") {
		t.Errorf("examples %q", got)
	}
}

func TestDryRun(t *testing.T) {
	p := policy(t, permission.Ask, rule1(t, "!bash(git push:*)"))
	past := []permission.Request{bash("go test ./..."), bash("go vet ./..."), bash("go test -exec x"), bash("go test && git push"), bash("ls")}
	var got []permission.Verdict
	for _, d := range p.DryRun(past, rule1(t, "bash(go test:*)")) {
		got = append(got, d.With.Verdict)
	}
	want := []permission.Verdict{permission.Allow, permission.Question, permission.Question, permission.Deny, permission.Allow}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d := p.Decide(past[0]); d.Verdict != permission.Question {
		t.Errorf("the dry run left the rule behind: %s", d.Reason)
	}
	if d := p.DryRun(past[:1], permission.Rule{Tool: "bash", Pattern: "a;b:*"}); len(d) != 1 || !strings.Contains(d[0].With.Reason, "not valid") {
		t.Errorf("%+v", d)
	}
}

// A dry run tells what rules change: not what is allowed or refused without them, and of
// several rules what they change together, also where they hold already.
func TestDryRunTellsWhatChanges(t *testing.T) {
	past := []permission.Request{
		bash("echo one; sleep 1"), bash("go test ./..."), bash("go test ./... && go vet ./..."), bash("go test && git push"),
		access("write", tool.AccessWrite, "a.go"),
	}
	for _, tt := range []struct {
		rules []string
		want  []string
	}{
		{[]string{"bash(echo two; rm -rf build)"}, nil},
		{[]string{"bash(go test:*)"}, []string{"go test ./..."}},
		{[]string{"bash(go vet:*)"}, nil},
		{[]string{"bash(go test:*)", "bash(go vet:*)"}, []string{"go test ./...", "go test ./... && go vet ./..."}},
		{[]string{"edit(nothing)"}, nil},
		{[]string{"edit(a.go)"}, []string{"a.go"}},
		{[]string{"!bash(sleep:*)"}, []string{"echo one; sleep 1"}},
	} {
		var rules []permission.Rule
		for _, text := range tt.rules {
			rules = append(rules, rule1(t, text))
		}
		for _, hold := range []bool{false, true} {
			p := policy(t, permission.Ask, rule1(t, "!bash(git push:*)"))
			if hold {
				p = policy(t, permission.Ask, append(slices.Clone(rules), rule1(t, "!bash(git push:*)"))...)
			}
			var got []string
			for i, d := range p.DryRun(past, rules...) {
				if d.Changed() {
					got = append(got, past[i].Access[0].Target)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%q, which hold %v (-want +got):\n%s", tt.rules, hold, diff)
			}
		}
	}
}

// A grant of exactly a line is for what the line does now. What depends on what
// ran before is not offered, and no rule for its text allows it.
func TestExactGrantsDependOnNothingElse(t *testing.T) {
	in := func(dir, line string) permission.Request {
		r := bash(line)
		r.Access[0].Dir = dir
		return r
	}
	for _, tt := range []struct {
		granted string
		then    permission.Request
		want    permission.Verdict
	}{
		{"go vet $ARGS", bash("go vet $ARGS"), permission.Question},
		{"$X", bash("$X"), permission.Question},
		{"make \"${X:-all}\"", bash("make \"${X:-all}\""), permission.Question},
		{"eval \"$X\"", bash("eval \"$X\""), permission.Question},
		{"eval 'make $X'", bash("eval 'make $X'"), permission.Question},
		{"make $((X))", bash("make $((X))"), permission.Question},
		{"X+=b; make $X", bash("X+=b; make $X"), permission.Question},
		{"X=a; make $X", bash("X=a; make $X"), permission.Allow},
		{"for f in a b; do make $f; done", bash("for f in a b; do make $f; done"), permission.Allow},
		{"make $(git rev-parse HEAD) $HOME", bash("make $(git rev-parse HEAD) $HOME"), permission.Allow},
		{"./run.sh", in("sub", "./run.sh"), permission.Question},
		{"./run.sh | tail", in("sub", "./run.sh | tail"), permission.Question},
		{"cd a && ./run.sh", in("sub", "cd a && ./run.sh"), permission.Question},
		{"cd a && ./run.sh", bash("cd a && ./run.sh"), permission.Allow},
		{"./sub/run.sh", in("sub", "./run.sh"), permission.Allow}, // the same program
		{"make | tail", in("sub", "make | tail"), permission.Allow},
		{"make | tail", in("/srv", "make | tail"), permission.Question},
	} {
		rule := permission.Rule{Tool: "bash", Pattern: quoted(tt.granted), Scope: permission.Session}
		p := policy(t, permission.Ask)
		before := p.Decide(tt.then)
		if _, err := p.Grant(rule); err != nil {
			t.Fatal(err)
		}
		if d := p.Decide(tt.then); d.Verdict != tt.want {
			t.Errorf("%q in %q: %s (%s), want %s", tt.granted, tt.then.Access[0].Dir, d.Verdict, d.Reason, tt.want)
		}
		if tt.want == permission.Question && tt.then.Access[0].Target == tt.granted && tt.then.Access[0].Dir == "" && len(before.Offers) > 0 && slices.Contains(offered(before), "bash("+tt.granted+")") {
			t.Errorf("%q is offered", tt.granted)
		}
	}
}

// What is tried beforehand is what happens afterwards: of every offer for commands
// of the corpora, a dry run, the examples and the grant agree.
func TestDryRunsAgreeWithGrants(t *testing.T) {
	pacetest.Costly(t)
	lines := readHostile(t, "hostile.txt")
	var past []permission.Request
	for i, l := range lines {
		if i%9 == 0 {
			past = append(past, bash(l.command))
		}
	}
	for i, l := range lines {
		if i%25 != 0 {
			continue
		}
		for _, o := range policy(t, permission.Ask, l.rules...).Decide(bash(l.command)).Offers {
			for _, r := range o.In(permission.Session) {
				before, after := policy(t, permission.Ask, l.rules...), policy(t, permission.Ask, l.rules...)
				if _, err := after.Grant(r); err != nil {
					t.Fatal(err)
				}
				for k, d := range before.DryRun(past, r) {
					if got := after.Decide(past[k]); got.Verdict != d.With.Verdict {
						t.Errorf("%q: with %s a dry run says %s, and it is %s", past[k].Access[0].Target, r, d.With.Verdict, got.Verdict)
					}
				}
			}
		}
	}
}

// quoted is the pattern for exactly a line.
func quoted(line string) string { return strconv.Quote(line) }

// What a person can choose is named in a few words that fit on a line, however long the
// names are, and says what is special of it.
func TestOfferWordsAreShort(t *testing.T) {
	long := strings.Repeat("a-rather-long-folder-name/", 9)
	p := policy(t, permission.Ask)
	now := time.Now()
	for _, tt := range []struct {
		r    permission.Request
		want []string
	}{
		{bash("go test -run X ./..."), []string{"`go test -run X ./...`", "all `go test` commands"}},
		{bash("npm ci && npm test | tail"), []string{"`npm ci && npm test | tail`", "all `npm ci` and `npm test` commands"}},
		{bash("npm ci && make all && npm test && go vet"), []string{"`npm ci && make all …npm test && go vet`", "all `npm ci` commands and 3 more"}},
		{bash("go vet ./... > out/vet.txt"), []string{
			"`go vet ./... > out/vet.txt`", "edits to `out/vet.txt` and 1 more", "edits to files in `out/` and 1 more", "edits to all workspace files and 1 more",
		}},
		{bash("./" + long + "run.sh"), []string{"`./a-rather-long-fol…folder-name/run.sh`", "all `./a-rather-l…-name/run.sh` commands"}},
		{bash("cat " + "/srv/" + long + "x.txt"), []string{"`cat /srv/a-rather-l…-folder-name/x.txt`", "reading `/srv/a-rather-l…der-name/x.txt`", "reading files in `/srv/a-rat…lder-name/`"}},
		{access("write", tool.AccessWrite, long+"handler.go"), []string{"edits to `a-rather-long-…ame/handler.go`", "edits to files in `a-rather-l…der-name/`", "edits to all workspace files"}},
		{access("write", tool.AccessWrite, "/srv/x/y"), []string{"edits to `/srv/x/y`", "edits to files in `/srv/x/`"}},
		{access("read", tool.AccessRead, ".env"), []string{"reading `.env`"}},
		{access("mcp_x", tool.AccessWrite, "a/b"), []string{"`mcp_x a/b`", "`mcp_x a/**`", "`mcp_x **`"}},
		{access("fetch", tool.AccessNetwork, "https://api.example.com/x"), []string{"fetching from `api.example.com`", "fetching from `*.example.com`"}},
		{access("fetch", tool.AccessNetwork, "https://"+strings.Repeat("a-long-name.", 15)+"example.com:8443/x"), []string{"fetching from `a-long-name.…le.com:8443`", "fetching from `*.a-long-nam…le.com:8443`"}},
		{access("web_search", tool.AccessNetwork, "https://search.example.com"), []string{"web_search requests to `search.…ple.com`", "web_search requests to `*.example.com`"}},
		{permission.Request{Tool: "mcp_" + strings.Repeat("y", 60), Effects: tool.Executes}, []string{"every `mcp_yyyyyyyyy…yyyyyyyyyyyyy` call"}},
	} {
		var got []string
		for _, o := range p.Decide(tt.r).Offers {
			got = append(got, o.Words)
			o.Expires = now.AddDate(20, 0, 0)
			for _, s := range o.Scopes {
				if label := o.Label(s, now); prose.Width(o.Words) > permit.MaxWords || prose.Width(label) > permit.MaxLabel {
					t.Errorf("%d columns: %s", prose.Width(label), label)
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
	}
	for _, name := range []string{"typical.txt", "evasion.txt"} {
		for _, l := range readCorpus(t, name).lines {
			for _, o := range p.Decide(bash(l.command)).Offers {
				if n := prose.Width(o.Words); n > permit.MaxWords || prose.Inline(o.Words) != o.Words {
					t.Errorf("%q: %d columns: %q", l.command, n, o.Words)
				}
			}
		}
	}
}
