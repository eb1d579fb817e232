package process

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever a guard is told it understands, and nothing else is a guard.
func FuzzParseGuard(f *testing.F) {
	f.Add(1, 0, false, "", "/bin/sh", "sh", "-c")
	f.Add(77, 3, true, `{"mode":"full"}`, "x", "", "(guard)")
	f.Fuzz(func(t *testing.T, parent, extra int, tty bool, policy, path, name, arg string) {
		g := guard{parent: parent, extra: extra, tty: tty, sandbox: []byte(policy), path: path, args: []string{name, arg}}
		line := g.command()
		got, ok := parseGuard(line)
		if ok != (extra >= 0) {
			t.Fatalf("%q is a guard: %v", line, ok)
		}
		if diff := cmp.Diff(g, got, cmp.AllowUnexported(guard{})); ok && diff != "" {
			t.Error(diff)
		}
		for _, broken := range [][]string{line[1:], line[:6], append([]string{"sh"}, line[1:]...), slices.Insert(slices.Clone(line), 1, "x")} {
			if _, ok := parseGuard(broken); ok && broken[0] != marker {
				t.Errorf("%q is a guard", broken)
			}
		}
	})
}
