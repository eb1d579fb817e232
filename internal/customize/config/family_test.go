package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/customize/config"
)

// Text that can't be changed safely is left to the strict reader, which names what is wrong.
func TestOldNamesInHardPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"x: &a\n  queueMode: all\nqueueMode: all\n": `unknown setting "x"`,
		"steeringMode: &a all\nqueueMode: *a\n":     "",
		"queueMode: sometimes\n":                    `"sometimes" must be one-at-a-time or all`,
		"tools: {approvalMode: never-heard-of}\n":   `1:9: unknown setting "tools.approvalMode" (did you mean "approval"?)`,

		"queueMode:\n":                                 `unknown setting "queueMode" (did you mean "steeringMode"?)`,
		"# queueMode\napproval: ask\n":                 "",
		"edit: {mode: whole}\nask: {timeout: 90000}\n": "",
	} {
		_, err := load(t, text)
		if err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
}

// Each copy that migrating keeps has a name of its own.
func TestMigrateTwice(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []string{"all", "one-at-a-time"} {
		if err := os.WriteFile(config.File(dir), []byte("queueMode: "+mode+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if copied, told, err := config.Migrate(dir); err != nil || copied == "" || len(told) != 1 {
			t.Fatalf("%q, %q, %v", copied, told, err)
		}
	}
	for name, want := range map[string]string{"config.yml.bak": "queueMode: all\n", "config.yml.bak2": "queueMode: one-at-a-time\n", "config.yml": "steeringMode: one-at-a-time\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != want || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// Whatever the settings of other programs are: what is taken over loads.
func FuzzAdopt(f *testing.F) {
	for _, seed := range []string{
		`{"queueMode": "all", "compaction": {"enabled": true}, "skills": ["a"], "defaultModel": "m"}`,
		"tools: {approvalMode: yolo}\nmodelRoles: {default: a/b, x: 1}\nenabledModels: [{path: ~/w, models: x}, y]\n",
		"statusLine: {leftSegments: [plan_mode, nonsense]}\nask: {timeout: 1e9}\ntheme: x\noauth: {a: {clientID: b}}\n", "- a\n", "a: [",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := config.Adopt([]byte(text))
		if err != nil {
			return
		}
		dir := t.TempDir()
		if _, _, err := a.Write(dir); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		c, err := config.Load(dir)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, e := range a.Values {
			if got, err := c.Lookup(e.Key); err != nil || got.Text() != e.Text() {
				t.Errorf("%q: %s is %q, want %q: %v", text, e.Key, got.Text(), e.Text(), err)
			}
		}
	})
}
