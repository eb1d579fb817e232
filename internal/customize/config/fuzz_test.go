package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/burin-dev/burin/internal/customize/config"
)

// Whatever the layers hold: they load, or the error names the file, with the line where one is at fault, or the variable. A
// project never makes an error.
func FuzzLayers(f *testing.F) {
	f.Add("approval: plan\n", "theme: {dark: x}\n", "edit: {mode: whole}\n", "BURIN_EDIT_MODE", "patch")
	f.Add("permissions: {deny: [bash, 1]}\nx: y", "limits: {maxCost: -1}\n", "- a", "BURIN_DISPLAY_TAB_WIDTH", "x")
	f.Add("a: &a [*a]\n", "approval: full\npermissions: {allow: [\"bash(*)\"]}", "theme:\n\tdark: x", "BURIN_APPROVAL", "")
	f.Add("modelRoles: {smol: {a: b}}", "oauth: [", "\xff", "BURIN_CYCLE_ORDER", "a,,b")
	dir := f.TempDir()
	l := config.Layers{
		Folder: filepath.Join(dir, "home"), Overlays: []string{filepath.Join(dir, "over.yml")},
		Project: config.Project{Dir: filepath.Join(dir, "project"), Trusted: func(string, []byte) (bool, bool) { return true, true }},
	}
	named := regexp.MustCompile(`(config|over)\.yml(:\d+)*|BURIN_[A-Z_]+`)
	f.Fuzz(func(t *testing.T, user, project, overlay, variable, value string) {
		for path, text := range map[string]string{
			config.File(l.Folder): user, filepath.Join(l.Project.Dir, ".burin", "config.yml"): project, l.Overlays[0]: overlay,
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l.Getenv = func(name string) string {
			if name == variable {
				return value
			}
			return ""
		}
		c, err := l.Load(nil)
		if err != nil {
			if !named.MatchString(err.Error()) {
				t.Errorf("%v names no place", err)
			}
			return
		}
		for _, w := range c.Warnings() {
			if !named.MatchString(w) {
				t.Errorf("%s names no place", w)
			}
		}
		for _, s := range config.Settings() {
			_, _ = c.Lookup(s.Key)
		}
	})
}
