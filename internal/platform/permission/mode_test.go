package permission_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/tool"
)

func TestModes(t *testing.T) {
	const a, q, d = permission.Allow, permission.Question, permission.Deny
	read := func(target string) permission.Request { return access("read", tool.AccessRead, target) }
	write := func(target string) permission.Request { return access("write", tool.AccessWrite, target) }
	for _, tt := range []struct {
		name string
		r    permission.Request
		want [4]permission.Verdict // plan, ask, auto-edit, full
	}{
		{"nothing", permission.Request{Tool: "todo"}, [4]permission.Verdict{a, a, a, a}},
		{"a question to the user", permission.Request{Tool: "ask", Effects: tool.Asks}, [4]permission.Verdict{a, a, a, a}},
		{"read", read("a.go"), [4]permission.Verdict{a, a, a, a}},
		{"read the folder", read("."), [4]permission.Verdict{a, a, a, a}},
		{"read outside", read("/etc/hosts"), [4]permission.Verdict{q, q, q, a}},
		{"read above", read("../x"), [4]permission.Verdict{q, q, q, a}},
		{"read a secret", read("config/.env"), [4]permission.Verdict{q, q, q, a}},
		{"write", write("a.go"), [4]permission.Verdict{d, q, a, a}},
		{"write outside", write("/srv/x"), [4]permission.Verdict{d, q, q, a}},
		{"write start-up files", write("/home/me/.bashrc"), [4]permission.Verdict{d, q, q, q}},
		{"write git's files", write(".git/hooks/pre-commit"), [4]permission.Verdict{d, q, q, q}},
		{"write git's files in capitals", write(".GIT/config"), [4]permission.Verdict{d, q, q, q}},
		{"write what steers burin", write(".burin/config.yml"), [4]permission.Verdict{d, q, q, a}},
		{"read and write", permission.Request{Tool: "edit", Access: append(read("a").Access, write("a").Access...)}, [4]permission.Verdict{d, q, a, a}},
		{"read an address", read("memory://user/a.md"), [4]permission.Verdict{a, a, a, a}},
		{"write an address", write("memory://user/a.md"), [4]permission.Verdict{d, q, q, a}},
		{"write scratch", write("local://plan.md"), [4]permission.Verdict{a, a, a, a}},
		{"write beside scratch", write("local:/plan.md"), [4]permission.Verdict{d, q, a, a}},
		{"fetch", access("fetch", tool.AccessNetwork, "https://example.com/"), [4]permission.Verdict{q, q, q, a}},
		{"only effects: reads", permission.Request{Tool: "x", Effects: tool.Reads}, [4]permission.Verdict{a, a, a, a}},
		{"only effects: writes", permission.Request{Tool: "x", Effects: tool.Reads | tool.Writes}, [4]permission.Verdict{d, q, a, a}},
		{"only effects: network", permission.Request{Tool: "x", Effects: tool.Network}, [4]permission.Verdict{q, q, q, a}},
		{"only effects: executes", permission.Request{Tool: "x", Effects: tool.Executes}, [4]permission.Verdict{d, q, q, a}},
		{"an unknown kind", access("x", "teleport", "mars"), [4]permission.Verdict{d, q, q, a}},
		{"command that reads", bash("git status | head"), [4]permission.Verdict{a, a, a, a}},
		{"command that reads outside", bash("cat /etc/hosts"), [4]permission.Verdict{q, q, q, a}},
		{"command", bash("make"), [4]permission.Verdict{d, q, q, a}},
		{"command that writes a file", bash("ls > out.txt"), [4]permission.Verdict{d, q, a, a}},
		{"command that writes outside", bash("ls > /srv/out.txt"), [4]permission.Verdict{d, q, q, a}},
		{"dangerous command", bash("git push --force"), [4]permission.Verdict{d, q, q, q}},
		{"dangerous part", bash("ls && rm -rf ~ || true"), [4]permission.Verdict{d, q, q, q}},
		{"dangerous inside of ssh", bash("ssh host 'rm -rf /'"), [4]permission.Verdict{d, q, q, q}},
		{"command that is not known", bash("$X"), [4]permission.Verdict{d, q, q, a}},
		{"command that cannot be parsed", bash("ls ("), [4]permission.Verdict{d, q, q, q}},
		{"empty command", bash("  "), [4]permission.Verdict{d, q, q, a}},
		{"comment", bash("# nothing"), [4]permission.Verdict{a, a, a, a}},
	} {
		for i, m := range []permission.Mode{permission.Plan, permission.Ask, permission.AutoEdit, permission.Full} {
			if got := policy(t, m).Decide(tt.r); got.Verdict != tt.want[i] || got.Reason == "" {
				t.Errorf("%s: %s: %s (%s), want %s", m, tt.name, got.Verdict, got.Reason, tt.want[i])
			}
		}
	}
}

func TestParseMode(t *testing.T) {
	for s, want := range map[string]permission.Mode{"plan": permission.Plan, "always-ask": permission.Ask, "write": permission.AutoEdit, "yolo": permission.Full} {
		if m, err := permission.ParseMode(s); err != nil || m != want {
			t.Errorf("%s: %s, %v", s, m, err)
		}
	}
	if _, err := permission.ParseMode("everything"); err == nil {
		t.Error("there is a mode everything")
	}
	p := policy(t, permission.Ask)
	p.SetMode("everything")
	if p.Mode() != permission.Ask {
		t.Errorf("the mode is %s", p.Mode())
	}
}

// Rules do not make plan mode change anything.
func TestPlanModeHoldsAgainstRules(t *testing.T) {
	p := policy(t, permission.Plan, rule1(t, "bash"), rule1(t, "bash(make:*)"), rule1(t, "bash(make)"), rule1(t, "edit"), rule1(t, "read(/etc/**)"), rule1(t, "bash(wc:*)"), rule1(t, "x"), rule1(t, "fetch"))
	for want, requests := range map[permission.Verdict][]permission.Request{
		permission.Deny:  {bash("make"), bash("make x"), bash("echo > x"), access("edit", tool.AccessWrite, "a"), {Tool: "x", Effects: tool.Executes}},
		permission.Allow: {access("read", tool.AccessRead, "/etc/x"), bash("cat /etc/x"), bash("wc /srv/x"), access("fetch", tool.AccessNetwork, "https://example.com")},
	} {
		for _, r := range requests {
			if d := p.Decide(r); d.Verdict != want {
				t.Errorf("%v: %s, %s", r, d.Verdict, d.Reason)
			}
		}
	}
}

// In full mode a rule that refuses a program also holds where it cannot be ruled
// out, and dangerous commands run only by a rule for exactly them.
func TestFullMode(t *testing.T) {
	p := policy(t, permission.Full, rule1(t, "!bash(git push:*)"), rule1(t, "!read(private/**)"), rule1(t, "bash(git:*)"), rule1(t, "bash(rm -rf .git)"), rule1(t, "bash(git reset --hard)"), rule1(t, "bash"))
	for line, want := range map[string]permission.Verdict{
		"make && npm publish":       permission.Question,
		"make":                      permission.Allow,
		"git push":                  permission.Deny,
		"git -C src push":           permission.Deny,
		"git --no-pager push x":     permission.Deny,
		"/usr/bin/git push":         permission.Deny,
		"git commit -m push":        permission.Allow,
		"git $X":                    permission.Question,
		"$X push":                   permission.Question,
		"g$X push":                  permission.Question,
		"eval $X":                   permission.Question,
		"cat private/x":             permission.Deny,
		"cp private/x y":            permission.Deny,
		"python3 x.py private/x":    permission.Deny,
		"cp $X y":                   permission.Question,
		"echo $X":                   permission.Allow,
		"rm -rf .git":               permission.Allow,
		"make && rm -rf .git":       permission.Allow,
		"rm -rf ./.git":             permission.Question,
		"git reset --hard":          permission.Allow,
		"git reset --hard HEAD~1":   permission.Question,
		"sudo git reset --hard":     permission.Question,
		"rm -rf .git; rm -rf .git/": permission.Question,
		"echo git push":             permission.Allow,
		"bash -c 'git push'":        permission.Deny,
		"ssh host git push":         permission.Deny,
		"ssh host git pull":         permission.Question, // what it runs elsewhere is not known
		// Nobody is asked, so nobody is deceived; what rules refuse stays refused.
		"echo x\u202ey\u200b":                permission.Allow,
		"git commit -m '👩\u200d💻 10\u00a0%'": permission.Allow,
		"git \u202epush; git push":           permission.Deny,
		"echo x\ry":                          permission.Question,
	} {
		if d := p.Decide(bash(line)); d.Verdict != want {
			t.Errorf("%q: %s (%s), want %s", line, d.Verdict, d.Reason, want)
		}
	}
}

// Where a command runs decides what its words mean.
func TestDir(t *testing.T) {
	p, err := permission.Open(permission.Options{Project: "/src/project", Home: "/home/me", Extra: []string{"/data/extra"}, Rules: []permission.Rule{
		rule1(t, "bash(mytool:*)"), rule1(t, "bash(./run.sh:*)"), rule1(t, "bash(a | b)"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir, line string
		want      permission.Verdict
	}{
		{"", "cat x", permission.Allow},
		{".", "mytool", permission.Allow},
		{"src/deep", "cat ../../x", permission.Allow},
		{"src/deep", "cat ../../../x", permission.Question},
		{"src", "mytool", permission.Allow},
		{"..", "mytool", permission.Question},
		{"/src/project/src", "cat ../x", permission.Allow},
		{"/etc", "cat passwd", permission.Question},
		{"/etc", "ls", permission.Question},
		{"/etc", "rg root", permission.Question},
		{"/etc", "find -name x", permission.Question},
		{"/etc", "mytool", permission.Question},
		{"/etc", "echo x", permission.Allow},
		{"/etc", "cd /src/project && cat x", permission.Allow},
		{"/data/extra", "cat x", permission.Allow},
		{"/data/extra", "cat ../x", permission.Question},
		{"/data/extra", "mytool", permission.Allow},
		{"/data/extraordinary", "mytool", permission.Question},
		{"", "cat /data/extra/x", permission.Allow},
		{"", "./run.sh x", permission.Allow},
		{"src", "./run.sh", permission.Question},
		{"src", "../run.sh", permission.Allow},
		{"", "a | b", permission.Allow},
		{"src", "a | b", permission.Allow},
		{"/etc", "a | b", permission.Question},
	} {
		r := bash(tt.line)
		r.Access[0].Dir = tt.dir
		if d := p.Decide(r); d.Verdict != tt.want {
			t.Errorf("%s$ %s: %s (%s), want %s", tt.dir, tt.line, d.Verdict, d.Reason, tt.want)
		}
	}
}

// Links and folders that are not what they look like.
func TestRealFiles(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{"src/a.go", "src/sub/b.go", "secrets/key.txt", "other/x", "dots/.env", "bare/HEAD", "bare/objects/x", "bare/refs/x"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": outside, "src/link": "../other/x", "etc/passwd": "/etc/passwd", "src/env": "../dots/.env", "hook": ".git", "loop": "loop", "src/s": "../secrets", "src/sub/up": "../.."} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Skip("no links here")
		}
	}
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	p, err := permission.Open(permission.Options{Mode: permission.AutoEdit, Project: root, Home: "/home/me", Rules: []permission.Rule{rule1(t, "!read(secrets/**)"), rule1(t, "!edit(other/**)"), rule1(t, "bash(git commit:*)")}})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]permission.Verdict{
		"cat src/a.go":              permission.Allow,
		"cat src/*.go":              permission.Allow,
		"cat dots/*":                permission.Allow, // patterns leave out names with a dot
		"cat out/x":                 permission.Question,
		"ls out":                    permission.Question,
		"cat etc/passwd":            permission.Question,
		"cat e*/passwd":             permission.Question,
		"cat etc/*":                 permission.Question,
		"cat */passwd":              permission.Question,
		"cat src/*":                 permission.Deny,     // s leads to secrets
		"cat src/e*":                permission.Question, // env leads to .env
		"cat src/env":               permission.Question,
		"cat loop":                  permission.Question,
		"cat secrets/key.txt":       permission.Deny,
		"cat s*/key.txt":            permission.Deny,
		"cat src/s/key.txt":         permission.Deny,
		"cat src/**/b.go":           permission.Question,
		"cat src/[a]*":              permission.Question,
		"cat " + root + "/src/a.go": permission.Allow,
		"cd out && ls":              permission.Question,
		"cd src && cat a.go":        permission.Allow,
		"echo > src/new":            permission.Allow,
		"echo > out/new":            permission.Question,
		"echo > src/link":           permission.Deny,
		"echo > hook/config":        permission.Question,
		// up from a link is beside what it leads to
		"cat out/../x":                       permission.Question,
		"cat src/sub/up/../x":                permission.Question,
		"cat " + root + "/src/sub/up/../x":   permission.Question,
		"cd src/sub/up && cat ../x":          permission.Question,
		"cd src/sub/up; ls ..":               permission.Question,
		"cd src/sub && cd up && cat ../../x": permission.Question,
		"cat \"$PWD\"/src/sub/up/../x":       permission.Question,
		"echo > src/sub/up/../new":           permission.Question,
		"echo > out/../new":                  permission.Question,
		"find src/sub/up/.. -name x":         permission.Question,
		"cd src/sub && cat ../a.go":          permission.Allow,
		"cat src/sub/../a.go":                permission.Allow,
		"cd bare && git commit -m x":         permission.Question, // by the settings that lie there
		"cd src && git commit -m x":          permission.Allow,
		"git log":                            permission.Allow,
		"cd src && git log":                  permission.Allow,
		"cd bare && git log":                 permission.Question,
		"git -C bare status":                 permission.Question,
		"(cd bare; git log)":                 permission.Question,
		"cd out && git log":                  permission.Question,
	} {
		if d := p.Decide(bash(line)); d.Verdict != want {
			t.Errorf("%q: %s (%s), want %s", line, d.Verdict, d.Reason, want)
		}
	}
	d := p.Decide(access("edit", tool.AccessWrite, "hook/config"))
	if d.Verdict != permission.Question || !strings.Contains(d.Dangerous, "git") {
		t.Errorf("a link to .git: %+v", d)
	}
}

// A workspace that is the home folder itself does not make start-up files
// ordinary ones.
func TestHomeAsWorkspace(t *testing.T) {
	home := t.TempDir()
	for project, want := range map[string]string{home: "every new shell", filepath.Dir(home): "every new shell", filepath.Join(home, ".config", "nvim"): ""} {
		p, err := permission.Open(permission.Options{Mode: permission.AutoEdit, Project: project, Home: home})
		if err != nil {
			t.Fatal(err)
		}
		name := ".bashrc"
		if project == filepath.Dir(home) {
			name = filepath.Base(home) + "/.bashrc"
		}
		if d := p.Decide(access("edit", tool.AccessWrite, name)); want == "" && d.Verdict != permission.Allow || !strings.Contains(d.Dangerous, want) {
			t.Errorf("%s: %+v", project, d)
		}
	}
}

// A shell that this package does not know makes every command a question.
func TestShells(t *testing.T) {
	for shell, want := range map[string][2]permission.Verdict{
		"":              {permission.Allow, permission.Allow},
		"/bin/bash":     {permission.Allow, permission.Allow},
		"builtin":       {permission.Allow, permission.Allow},
		"/bin/dash":     {permission.Allow, permission.Question},
		"sh":            {permission.Allow, permission.Question},
		"/usr/bin/fish": {permission.Question, permission.Question},
		"zsh":           {permission.Question, permission.Question},
	} {
		p, err := permission.Open(permission.Options{Project: "/src/project", Shell: shell})
		if err != nil {
			t.Fatal(err)
		}
		// For sh the second is a test and a command -d.
		for i, line := range []string{"ls | head", "[[ -f x && -d y ]]"} {
			if d := p.Decide(bash(line)); d.Verdict != want[i] {
				t.Errorf("%s: %q: %s (%s), want %s", shell, line, d.Verdict, d.Reason, want[i])
			}
		}
	}
}

func TestReadOnly(t *testing.T) {
	for line, want := range map[string]bool{
		"ls -la":                     true,
		"cat /etc/passwd":            true, // it changes nothing
		"git log | head > /dev/null": true,
		"git log > x":                false,
		"git push":                   false,
		"go test":                    false,
		"$X":                         false,
		"ls (":                       false,
		"rm x":                       false,
		"":                           true,
	} {
		if got := permission.ReadOnly(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
