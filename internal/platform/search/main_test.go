package search_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// makeTree writes files into a new directory; a name that ends with "/" is an
// empty folder. The user's settings for git do not count.
func makeTree(t testing.TB, files map[string]string) rooted {
	t.Helper()
	dir := t.TempDir()
	if tt, ok := t.(*testing.T); ok {
		tt.Setenv("HOME", filepath.Join(dir, "no-home"))
		tt.Setenv("XDG_CONFIG_HOME", "")
		tt.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	}
	dir = filepath.Join(dir, "tree")
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dirFS(dir)
}

func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if name[len(name)-1] == '/' {
		name, text = filepath.Join(name, ".."), ""
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// rounds is how often a random test repeats itself: n times, or as often as
// BURIN_SEARCH_ROUNDS says.
func rounds(t *testing.T, n int) int {
	t.Helper()
	if s := os.Getenv("BURIN_SEARCH_ROUNDS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}
