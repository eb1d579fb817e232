package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/customize/config"
)

// home is a folder with this config.yml.
func home(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return dir
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "config.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name, text, key string
		value           any // nil: unset
		want            string
	}{
		{"a switch", "# mine\n", "display.spinner", false, "# mine\ndisplay:\n  spinner: false\n"},
		{"a role", "modelRoles:\n  default: a/b # best\n", "modelRoles.smol", "c/d:high", "modelRoles:\n  default: a/b # best\n  smol: c/d:high\n"},
		{"a role with a dot", "", "modelRoles.my.own", "x", "modelRoles:\n  my.own: x\n"},
		{"dollars", "limits: {turn: 1} # c\n", "limits.turn", 2.5, "limits: {turn: 2.5} # c\n"},
		{"one theme for all", "theme: nord # t\n", "theme.light", "light", "theme: {dark: nord, light: light} # t\n"},
		{"one theme for all, reset", "theme: nord # t\n", "theme.light", nil, "theme: {dark: nord} # t\n"},
		{"reset", "approval: plan # p\nautoResume: true\n", "approval", nil, "autoResume: true\n"},
		{"reset of nothing", "autoResume:   true\n", "approval", nil, "autoResume:   true\n"},
		{"byte order mark", "\ufeff# c\r\nautoResume: true\r\n", "autoResume", false, "\ufeff# c\r\nautoResume: false\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := home(t, tt.text)
			var err error
			if tt.value == nil {
				err = config.Unset(dir, tt.key)
			} else {
				err = config.Set(dir, tt.key, tt.value)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, contents(t, dir)); diff != "" {
				t.Error(diff)
			}
			alone(t, dir)
		})
	}
}

// alone fails if there is anything beside config.yml.
func alone(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "config.yml" {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tt := range []struct {
		text, key string
		value     any
		want      string
	}{
		{"a: [\n", "approval", "plan", "config.yml:1:4: "},
		{"approvall: plan\n", "approval", "plan", `unknown setting "approvall" (did you mean "approval"?): nothing was changed`},
		{"approval: ask\n", "approval", "everything", `approval: "everything" must be plan`},
		{"approval: ask\n", "approval", true, "approval: one of plan, ask, auto-edit, full is wanted"},
		{"", "approvall", "x", `unknown setting "approvall"`},
		{"", "modelRoles.", "x", "unknown setting"},
		{"", "display.tabWidth", 99, "99 is more than 16"},
		{"", "shellPath", "a\x00b", "control characters"},
		{"oauth: {acme: &a {clientId: x}}\n", "oauth.acme", "text", "nothing was changed"},
		{"- a\n", "approval", "plan", "config.yml:1:1: "},
	} {
		dir := home(t, tt.text)
		err := config.Set(dir, tt.key, tt.value)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q %s=%v: %v, want one line with %q", tt.text, tt.key, tt.value, err, tt.want)
		}
		if got := contents(t, dir); got != tt.text {
			t.Errorf("the file became %q", got)
		}
		alone(t, dir)
	}
}

func TestSetMakesTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	if err := config.Unset(dir, "approval"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("resetting nothing made a folder")
	}
	if err := config.Set(dir, "cycleOrder", []string{"smol", "my role"}); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"smol", "my role"}, c.List("cycleOrder")); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(filepath.Join(dir, "config.yml"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestSetKeepsLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	real := home(t, "# dot files\n")
	if err := os.Chmod(filepath.Join(real, "config.yml"), 0o640); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "config.yml")
	if err := os.Symlink(filepath.Join(real, "config.yml"), link); err != nil {
		t.Fatal(err)
	}
	if err := config.Set(dir, "autoResume", true); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", info, err)
	}
	if got := contents(t, real); got != "# dot files\nautoResume: true\n" {
		t.Errorf("the file holds %q", got)
	}
	info, err := os.Stat(link)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := os.Chmod(filepath.Join(real, "config.yml"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := config.Set(dir, "autoResume", false); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("a read-only file: %v", err)
	}
	alone(t, real)

	dangling := t.TempDir()
	if err := os.Symlink(filepath.Join(real, "later.yml"), filepath.Join(dangling, "config.yml")); err != nil {
		t.Fatal(err)
	}
	if err := config.Set(dangling, "autoResume", true); err != nil {
		t.Errorf("a link to a file that is not there yet: %v", err)
	}
}

// Writers at the same time lose nothing of each other.
func TestSetConcurrently(t *testing.T) {
	dir := home(t, "# together\n")
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 8 {
				if err := config.Set(dir, fmt.Sprintf("modelRoles.w%dr%d", w, i), "x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	c, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.ModelRoles) != 48 {
		t.Errorf("%d of 48 changes are there", len(c.ModelRoles))
	}
	alone(t, dir)
}

// What a program left behind that was killed while it wrote is cleared away.
func TestSetAfterACrash(t *testing.T) {
	dir := home(t, "approval: ask\n")
	left := filepath.Join(dir, "config.yml.new")
	if err := os.WriteFile(left, []byte("appr"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	if err := config.Set(dir, "approval", "plan"); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir); got != "approval: plan\n" {
		t.Errorf("the file holds %q", got)
	}
	alone(t, dir)
}

// Any settings in any order: the file says them all, and the remarks stay.
func TestSetProperty(t *testing.T) {
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o700); err != nil {
			r.Fatal(err)
		}
		head := "# first\ncompaction: # second\n  enabled: true # third\n# fourth\ndisplay: {tabWidth: 4} # fifth\n"
		if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte(head), 0o600); err != nil {
			r.Fatal(err)
		}
		want := map[string]any{"compaction.enabled": true, "display.tabWidth": 4}
		for range rapid.IntRange(1, 6).Draw(r, "changes") {
			s := rapid.SampledFrom(config.Settings()).Draw(r, "setting")
			v := valueOf(r, s)
			if v == nil {
				continue
			}
			if err := config.Set(dir, s.Key, v); err != nil {
				r.Fatal(err)
			}
			want[s.Key] = v
		}
		c, err := config.Load(dir)
		if err != nil {
			r.Fatal(err)
		}
		got := map[string]any{}
		for key := range want {
			got[key] = c.Value(key)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatal(diff)
		}
		text, _ := os.ReadFile(filepath.Join(dir, "config.yml"))
		for _, remark := range []string{"# first\n", "# second\n", "# third\n", "# fourth\n", "# fifth\n"} {
			if !strings.Contains(string(text), remark) {
				r.Fatalf("%q is gone:\n%s", remark, text)
			}
		}
	})
}

// valueOf makes up a value that the setting takes.
func valueOf(r *rapid.T, s config.Setting) any {
	word := rapid.StringMatching(`[a-zA-Z0-9é:#'" ,\[\]{}&*!|>%@-]{1,10}`)
	switch s.Type {
	case config.Bool:
		return rapid.Bool().Draw(r, "bool")
	case config.Enum:
		return rapid.SampledFrom(s.Choices).Draw(r, "choice")
	case config.Number:
		if s.Fraction {
			most := 400
			if s.Max != nil {
				most = int(*s.Max * 100)
			}
			return float64(rapid.IntRange(1, most).Draw(r, "cents")) / 100
		}
		return rapid.IntRange(3, 16).Draw(r, "number")
	case config.String:
		return word.Draw(r, "text")
	case config.List:
		if len(s.Choices) > 0 {
			return []string{rapid.SampledFrom(s.Choices).Draw(r, "item")}
		}
		return []string{"a" + word.Draw(r, "item"), "b"}
	}
	return nil
}

func BenchmarkSet(b *testing.B) {
	dir := b.TempDir()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := config.Set(dir, "display.tabWidth", 1+i%16); err != nil {
			b.Fatal(err)
		}
	}
}
