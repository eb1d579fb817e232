package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/config"
)

// layers are files of all kinds, by what they hold; "" is none.
func layers(t *testing.T, user, project string, overlays ...string) config.Layers {
	t.Helper()
	l := config.Layers{Folder: t.TempDir(), Project: config.Project{Dir: t.TempDir()}}
	put(t, config.File(l.Folder), user)
	put(t, filepath.Join(l.Project.Dir, ".burin", "config.yml"), project)
	for i, text := range overlays {
		path := filepath.Join(t.TempDir(), "over"+string(rune('1'+i))+".yml")
		put(t, path, text)
		l.Overlays = append(l.Overlays, path)
	}
	return l
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func loaded(t *testing.T, l config.Layers) *config.Config {
	t.Helper()
	c, err := l.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each layer wins over the weaker ones, and says so.
func TestPrecedence(t *testing.T) {
	l := layers(t,
		"theme: {dark: user, light: user}\ncycleOrder: [a]\nedit: {mode: whole}\ntitles: {model: true}\nmodelRoles: {smol: u/a, slow: u/b}\npermissions: {deny: [edit]}\nsymbolPreset: nerd\ncompaction: {reserveTokens: 1}\n",
		"theme: {dark: project}\ncycleOrder: [p]\nedit: {mode: patch}\nsymbolPreset: ascii\npermissions: {deny: [write]}\ncompaction: {reserveTokens: 2, keepRecentTokens: 2}\ndisplay: {spinner: false}\n",
		"cycleOrder: []\nedit: {mode: hashline}\nmodelRoles: {slow: o/b, plan: o/c}\ntitles: {model: false}\n",
		"\n\nedit: {mode: replace}\npermissions: {deny: [fetch]}\n",
	)
	env := map[string]string{
		"BURIN_SYMBOL_PRESET": "unicode", "BURIN_DISPLAY_SPINNER": "1", "BURIN_PERMISSIONS_DENY": "bash(a, b), ls", "BURIN_LIMITS_TURN": "2",
		"BURIN_DEFAULT_THINKING_LEVEL": "high", "BURIN_DISABLED_PROVIDERS": "groq", "BURIN_THEME_DARK": " ",
		"BURIN_STREAM_IDLE_TIMEOUT_MS": "0", "PI_SMOL_MODEL": "e/a", "SEARXNG_ENDPOINT": "http://s",
	}
	l.Getenv = func(name string) string { return env[name] }
	l.Flags = []config.Flag{{Key: "approval", Name: "--approval", Value: "plan"}, {Key: "permissions.deny", Name: "--deny", Value: []string{"grep"}}}
	c := loaded(t, l)
	for _, tt := range []struct {
		key    string
		want   any
		source string
	}{
		{"theme.dark", "project", ".burin/config.yml:1"},
		{"theme.light", "user", "config.yml:1"},
		{"cycleOrder", []string{}, "over1.yml:1"},
		{"edit.mode", "replace", "over2.yml:3"},
		{"titles.model", false, "over1.yml:4"},
		{"compaction.reserveTokens", 2, ".burin/config.yml:6"},
		{"compaction.idleTimeoutSeconds", 300, "default"},
		{"modelRoles", map[string]string{"smol": "e/a", "slow": "o/b", "plan": "o/c"}, "PI_SMOL_MODEL"},
		{"symbolPreset", "unicode", "BURIN_SYMBOL_PRESET"},
		{"display.spinner", true, "BURIN_DISPLAY_SPINNER"},
		{"limits.turn", 2.0, "BURIN_LIMITS_TURN"},
		{"defaultThinkingLevel", "high", "BURIN_DEFAULT_THINKING_LEVEL"},
		{"disabledProviders", []string{"groq"}, "BURIN_DISABLED_PROVIDERS"},
		{"stream.idleTimeoutMs", -1, "BURIN_STREAM_IDLE_TIMEOUT_MS"},
		{"searxng.endpoint", "http://s", "SEARXNG_ENDPOINT"},
		{"approval", "plan", "--approval"},
		{"permissions.deny", []string{"edit", "write", "fetch", "bash(a, b)", "ls", "grep"}, "--deny"},
	} {
		if diff := cmp.Diff(tt.want, c.Value(tt.key)); diff != "" {
			t.Errorf("%s: %s", tt.key, diff)
		}
		if got := filepath.ToSlash(c.Source(tt.key).String()); got != tt.source {
			t.Errorf("%s is from %s, want %s", tt.key, got, tt.source)
		}
	}
	for key, want := range map[string]string{"modelRoles.slow": "over1.yml:3", "modelRoles.smol": "PI_SMOL_MODEL", "modelRoles.none": "default"} {
		if e, err := c.Lookup(key); err != nil || e.Source.String() != want {
			t.Errorf("%s is from %s, want %s (%v)", key, e.Source, want, err)
		}
	}
	if c.Approval != "" || c.SymbolPreset != "unicode" || *c.Display.Spinner != true || len(c.Permissions.Deny) != 5 {
		t.Errorf("the fields differ from the values: %+v", c)
	}
	if w := c.Warnings(); len(w) > 0 {
		t.Errorf("%q", w)
	}
	if c.User("edit.mode") != "whole" || c.User("approval") != "ask" {
		t.Errorf("the user's own are %v and %v", c.User("edit.mode"), c.User("approval"))
	}
}

// A project's file can't loosen anything, run anything or send anything elsewhere.
func TestProjectReach(t *testing.T) {
	for _, tt := range []struct {
		user, project string
		key           string
		want          any
		warns         string // "" is nothing
	}{
		{"", "edit: {mode: patch}\n", "edit.mode", "patch", ""},
		{"", "approval: plan\n", "approval", "plan", ""},
		{"approval: auto-edit\n", "approval: ask\n", "approval", "ask", ""},
		{"approval: auto-edit\n", "approval: full\n", "approval", "auto-edit", "ignored approval: a project can only make it stricter"},
		{"", "approval: full\n", "approval", "ask", "ignored approval"},
		{"", "sandbox: {mode: workspace-write}\n", "sandbox.mode", nil, "ignored sandbox.mode"},
		{"", "sandbox: {mode: read-only}\n", "sandbox.mode", "read-only", ""},
		{"sandbox: {mode: workspace-write}\n", "sandbox: {mode: full}\n", "sandbox.mode", "workspace-write", "ignored sandbox.mode"},
		{"limits: {turn: 2}\n", "limits: {turn: 1}\n", "limits.turn", 1.0, ""},
		{"limits: {turn: 2}\n", "limits: {turn: 3}\n", "limits.turn", 2.0, "ignored limits.turn"},
		{"limits: {turn: 2}\n", "limits: {turn: 0}\n", "limits.turn", 2.0, "ignored limits.turn"},
		{"", "limits: {session: 3}\n", "limits.session", 3.0, ""},
		{"", "limits: {allowUnknown: true}\n", "limits.allowUnknown", false, "ignored limits.allowUnknown"},
		{"limits: {allowUnknown: true}\n", "limits: {allowUnknown: false}\n", "limits.allowUnknown", false, ""},
		{"", "secrets: {enabled: false}\n", "secrets.enabled", true, "ignored secrets.enabled"},
		{"secrets: {enabled: false}\n", "secrets: {enabled: true}\n", "secrets.enabled", true, ""},
		{"sessions: {encrypt: true}\n", "sessions: {encrypt: false}\n", "sessions.encrypt", true, "ignored sessions.encrypt"},
		{"permissions: {grantDays: 7}\n", "permissions: {grantDays: 30}\n", "permissions.grantDays", 7, "ignored permissions.grantDays"},
		{"", "permissions: {grantDays: 30}\n", "permissions.grantDays", 30, ""},
		{"permissions: {deny: [a]}\n", "permissions: {deny: [b]}\n", "permissions.deny", []string{"a", "b"}, ""},
		{"permissions: {allow: [a]}\n", "permissions: {allow: [b]}\n", "permissions.allow", []string{"a"}, "ignored permissions.allow: burin trust lets you trust it; or write it into "},
		{"disabledProviders: [a]\n", "disabledProviders: []\n", "disabledProviders", []string{"a"}, ""},
		{"", "shellPath: /tmp/x\n", "shellPath", nil, "ignored shellPath"},
		{"", "setupVersion: 9\n", "setupVersion", 0, "a project can't set it"},
		{"", "modelRoles: {default: evil/x}\n", "modelRoles", nil, "ignored modelRoles"},
		{"", "approvall: plan\n", "approval", "ask", "config.yml:1:1: unknown setting"},
		{"", "approval: [\n", "approval", "ask", "the settings of this project are ignored until it is fixed"},
	} {
		l := layers(t, tt.user, tt.project)
		c := loaded(t, l)
		if diff := cmp.Diff(tt.want, c.Value(tt.key)); diff != "" {
			t.Errorf("%q over %q: %s", tt.project, tt.user, diff)
		}
		w := c.Warnings()
		if tt.warns == "" && len(w) > 0 || tt.warns != "" && (len(w) != 1 || !strings.Contains(w[0], tt.warns) || !strings.HasPrefix(w[0], l.Project.Dir) || strings.Contains(w[0], "\n")) {
			t.Errorf("%q over %q warns %q, want %q", tt.project, tt.user, w, tt.warns)
		}
	}
}

// What may not be taken from anybody's project is taken from one that is trusted, as long as
// its file stays the same; what a project can only tighten stays so.
func TestTrustedProject(t *testing.T) {
	l := layers(t, "permissions: {allow: [a]}\n", "shellPath: /bin/sh\nmodelRoles: {smol: x/y}\npermissions: {allow: [b]}\napproval: full\nscreenReader: true\n")
	var trusted string
	l.Project.Trusted = func(_ string, data []byte) (bool, bool) { return string(data) == trusted, string(data) == trusted }
	c := loaded(t, l)
	if len(c.Warnings()) != 3 || c.ShellPath != "" {
		t.Errorf("%q, %q", c.Warnings(), c.ShellPath)
	}
	file := l.Project.File(config.File(l.Folder))
	at, text, reaching := c.Reaching()
	if want := []string{`modelRoles: {"smol":"x/y"}`, "shellPath: /bin/sh", "permissions.allow: b"}; at != file || !bytes.Contains(text, []byte("screenReader")) || !slices.Equal(reaching, want) {
		t.Errorf("%s needs trust for %q", at, reaching)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	trusted = string(data)
	if c, err = l.Load(c); err != nil || c.ShellPath != "/bin/sh" || c.ModelRoles["smol"] != "x/y" || !slices.Equal(c.Permissions.Allow, []string{"a", "b"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if c.Value("approval") != "ask" || c.Bool("screenReader") || len(c.Warnings()) != 2 {
		t.Errorf("trust loosens more than it should: %q", c.Warnings())
	}
	l.Project.Trusted = func(string, []byte) (bool, bool) { return false, true } // refused
	if c, err = l.Load(c); err != nil || c.ShellPath != "" || len(c.Warnings()) != 2 {
		t.Errorf("%q, %q, %v", c.Warnings(), c.ShellPath, err)
	}
	l.Project.Trusted = func(_ string, data []byte) (bool, bool) { return string(data) == trusted, string(data) == trusted }
	put(t, file, trusted+"sandbox: {hosts: [evil.example]}\n")
	if c, err = l.Load(c); err != nil || c.ShellPath != "" || len(c.Sandbox.Hosts) > 0 {
		t.Errorf("a file that has changed is trusted: %v", err)
	}
}

// The project's file is that of the nearest folder up to the root of the repository, is never
// the user's own, and doesn't lead out of the repository.
func TestProjectFile(t *testing.T) {
	root := t.TempDir()
	at := filepath.Join(root, "repo", "a", "b")
	put(t, filepath.Join(root, ".burin", "config.yml"), "display: {tabWidth: 1}\n")
	put(t, filepath.Join(root, "repo", ".burin", "config.yml"), "display: {tabWidth: 2}\n")
	put(t, filepath.Join(root, "repo", "a", ".burin", "config.yml"), "display: {tabWidth: 3}\n")
	put(t, filepath.Join(at, "x"), "x")
	user := t.TempDir()
	width := func(folder string, p config.Project) int {
		c := loaded(t, config.Layers{Folder: folder, Project: p})
		return c.Int("display.tabWidth")
	}
	repo := filepath.Join(root, "repo")
	if got := width(user, config.Project{Dir: at, Root: repo}); got != 3 {
		t.Errorf("the nearest folder gives %d", got)
	}
	if got := width(user, config.Project{Dir: repo, Root: repo}); got != 2 {
		t.Errorf("the repository gives %d", got)
	}
	if got := width(user, config.Project{Dir: filepath.Join(root, "none"), Root: filepath.Join(root, "none")}); got == 1 {
		t.Error("a folder outside of the repository is read")
	}
	if got := width(user, config.Project{Dir: root, Home: root}); got != 3 { // the default
		t.Errorf("the home folder gives %d", got)
	}
	if c := loaded(t, config.Layers{Folder: filepath.Join(root, ".burin"), Project: config.Project{Dir: root}}); c.Source("display.tabWidth").Kind != config.ByFile {
		t.Error("the user's file is that of a project")
	}
	if got := (config.Project{Dir: root, Home: root}).File(config.File(user)); got != "" {
		t.Errorf("the home folder is a project: %s", got)
	}

	secret := filepath.Join(root, "secret")
	put(t, filepath.Join(secret, "config.yml"), "display: {tabWidth: 9}\n")
	linked := filepath.Join(root, "linked")
	put(t, filepath.Join(linked, "x"), "x")
	if err := os.Symlink(secret, filepath.Join(linked, ".burin")); err != nil {
		t.Skip(err)
	}
	c := loaded(t, config.Layers{Folder: user, Project: config.Project{Dir: linked}})
	if w := c.Warnings(); c.Int("display.tabWidth") != 3 || len(w) != 1 || !strings.Contains(w[0], "leads out of its folder") {
		t.Errorf("a link out of the project is followed: %q", w)
	}
	if err := config.Within(filepath.Join(linked, ".burin", "config.yml")); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("a link out of the project would be written: %v", err)
	}
	if err := config.Within(filepath.Join(repo, ".burin", "config.yml")); err != nil {
		t.Error(err)
	}
}

func TestOverlayErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "list.yml"), "- a\n")
	put(t, filepath.Join(dir, "bad.yml"), "edit:\n  mood: x\n")
	put(t, filepath.Join(dir, "empty.yml"), "\n")
	for name, want := range map[string]string{
		"none.yml": `^config overlay not found: .*none\.yml$`, "list.yml": `^config overlay must be a YAML mapping: .*list\.yml$`,
		"bad.yml": `^config overlay .*bad\.yml:2:3: unknown setting "edit\.mood" \(did you mean "edit\.mode"\?\)$`, ".": `^read config overlay: `, "empty.yml": "",
	} {
		_, err := config.Layers{Folder: dir, Overlays: []string{filepath.Join(dir, name)}}.Load(nil)
		if want == "" && err != nil || want != "" && (err == nil || !regexp.MustCompile(want).MatchString(err.Error())) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	home := t.TempDir()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"~/a.yml": filepath.Join(home, "a.yml"), "~a": filepath.Join(wd, "~a"), "b/c.yml": filepath.Join(wd, "b", "c.yml")} {
		if got, err := config.OverlayPath(name, home); got != want || err != nil {
			t.Errorf("%s is %s, %v", name, got, err)
		}
	}
	if _, err := config.OverlayPath("", home); err == nil {
		t.Error("a file without a name is taken")
	}
}

// A variable that is wrong is named.
func TestVariableErrors(t *testing.T) {
	for name, value := range map[string]string{"BURIN_APPROVAL": "maybe", "BURIN_AUTO_RESUME": "2", "BURIN_DISPLAY_TAB_WIDTH": "99", "BURIN_CYCLE_ORDER": "(a"} {
		_, err := config.Layers{Folder: t.TempDir(), Getenv: func(n string) string {
			if n == name {
				return value
			}
			return ""
		}}.Load(nil)
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// Settings are reloaded only when a file has changed, whichever it is.
func TestReload(t *testing.T) {
	l := layers(t, "autoResume: true\n", "edit: {mode: patch}\n", "loop: {mode: reset}\n")
	c := loaded(t, l)
	again := func(same bool) {
		t.Helper()
		next, err := l.Load(c)
		if err != nil || (next == c) != same {
			t.Fatalf("the settings are the same: %v, %v", next == c, err)
		}
		c = next
	}
	again(true)
	project := l.Project.File(config.File(l.Folder))
	put(t, l.Overlays[0], "# nothing yet\n")
	again(false)
	again(true)
	for path, text := range map[string]string{config.File(l.Folder): "autoResume: false\n", project: "edit: {mode: whole}\n", l.Overlays[0]: "loop: {mode: compact}\n"} {
		put(t, path, text)
		again(false)
		again(true)
	}
	if c.AutoResume || c.Edit.Mode != "whole" || c.Loop.Mode != "compact" {
		t.Errorf("%v %s %s", c.AutoResume, c.Edit.Mode, c.Loop.Mode)
	}
	put(t, project, "edit: [\n")
	again(false)
	again(true)
	if c.Edit.Mode != "" || len(c.Warnings()) != 1 {
		t.Errorf("%q %q", c.Edit.Mode, c.Warnings())
	}
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	again(false)
	if len(c.Warnings()) > 0 {
		t.Errorf("%q", c.Warnings())
	}
	if err := os.Remove(config.File(l.Folder)); err != nil {
		t.Fatal(err)
	}
	again(false)
	again(true)
}

// Every setting says what a project may do, and has a variable of its own that no other
// setting has.
func TestReachAndVariables(t *testing.T) {
	variables := map[string]string{}
	for _, s := range config.Settings() {
		if !slices.Contains([]config.Reach{config.Free, config.Stricter, config.IfTrusted, config.Never}, s.Project) {
			t.Errorf("%s doesn't say what a project may do", s.Key)
		}
		name := s.Variable()
		if other := variables[name]; other != "" && name != "" {
			t.Errorf("%s sets %s and %s", name, s.Key, other)
		}
		variables[name] = s.Key
		if (name == "") != (s.Type == config.Record || s.Own) || name != "" && !regexp.MustCompile(`^BURIN_[A-Z]+(_[A-Z]+)*$`).MatchString(name) {
			t.Errorf("%s has the variable %q", s.Key, name)
		}
		if s.Adds && s.Type != config.List || s.Strict && (s.Type != config.Bool || s.Project != config.Stricter) || s.Project == config.Stricter && (s.Type == config.List) != s.Adds {
			t.Errorf("%s: what it adds, or what is strict, is described wrongly", s.Key)
		}
	}
	for key, want := range map[string]string{"retry.baseDelayMs": "BURIN_RETRY_BASE_DELAY_MS", "topP": "BURIN_TOP_P", "stream.idleTimeoutMs": "BURIN_STREAM_IDLE_TIMEOUT_MS"} {
		if s, _ := config.Find(key); s.Variable() != want {
			t.Errorf("%s has %s", key, s.Variable())
		}
	}
}

// The handbook says of each setting what a project may do with it.
func TestReachIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Settings of a project\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for reach, row := range map[config.Reach]string{config.Free: "can set", config.Stricter: "can make stricter than you have it", config.IfTrusted: "can set once you trust it", config.Never: "can't set"} {
		_, cell, ok := strings.Cut(section, "\n| "+row+" | ")
		cell, _, _ = strings.Cut(cell, " |\n")
		if !ok {
			t.Fatalf("no row %q", row)
		}
		words := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1)
		for _, s := range config.Settings() {
			listed := slices.ContainsFunc(words, func(w []string) bool {
				group, all := strings.CutSuffix(w[1], "*")
				return w[1] == s.Key || all && strings.HasPrefix(s.Key, group)
			})
			if listed != (s.Project == reach) {
				t.Errorf("%s is %s; the handbook lists it among what a project %s: %v", s.Key, s.Project, row, listed)
			}
		}
		for _, w := range words {
			if _, ok := config.Find(w[1]); !ok && !strings.HasSuffix(w[1], "*") {
				t.Errorf("the handbook has an unknown setting %s", w[1])
			}
		}
	}
}

func BenchmarkLayers(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(config.File(dir), []byte("approval: plan\ndisplay: {tabWidth: 4}\nmodelRoles: {smol: x}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	l := config.Layers{Folder: dir, Project: config.Project{Dir: b.TempDir()}, Getenv: os.Getenv}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Load(nil); err != nil {
			b.Fatal(err)
		}
	}
}
