package sandbox

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/wall"
)

// The profile cannot be tried outside macOS: its text is what can be tested.
func TestSeatbeltProfile(t *testing.T) {
	lines := func(c confinement) []string { return strings.Split(strings.TrimSpace(c.profile()), "\n") }
	got := lines(confinement{
		Mode: WorkspaceWrite, Writable: []string{`/Users/a/my "work"\`}, Secret: []string{"/Users/a/.ssh"}, Port: 4711,
	})
	want := []string{
		`(version 1)`,
		`(allow default)`,
		`(deny file-write*)`,
		`(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty"))`,
		`(allow file-write* (subpath "/Users/a/my \"work\"\\"))`,
		`(deny file-read-data file-write* (subpath "/Users/a/.ssh"))`,
		`(deny file-write-unlink (literal "/Users/a"))`,
		`(deny file-write-unlink (literal "/Users"))`,
		`(deny appleevent-send)`,
		`(deny lsopen)`,
		`(deny job-creation)`,
		`(deny process-info* (target others))`,
		`(deny signal)`,
		`(allow process-info* signal (target same-sandbox))`,
		`(deny mach-priv-task-port)`,
		`(deny network-outbound (remote unix-socket))`,
		`(allow network-outbound (subpath "/Users/a/my \"work\"\\"))`,
		`(deny network*)`,
		`(allow network-bind network-outbound (subpath "/Users/a/my \"work\"\\"))`,
		`(allow network-outbound (remote tcp "localhost:4711"))`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	readOnly := strings.Join(lines(confinement{Mode: ReadOnly, Network: true}), "\n")
	for text, in := range map[string]bool{"file-write* (subpath": false, "(deny network*)": false, "mDNSResponder": true, "(deny file-write*)": true} {
		if strings.Contains(readOnly, text) != in {
			t.Errorf("read-only with network: %s is in the profile: %v", text, !in)
		}
	}
	alone := strings.Join(lines(confinement{Mode: ReadOnly, only: []string{"/usr/bin/git"}}), "\n")
	if rules := "(deny process-fork)\n(deny process-exec*)\n" + `(allow process-exec* (literal "/usr/bin/git"))`; !strings.Contains(alone, rules) {
		t.Errorf("the profile of a program that is alone:\n%s", alone)
	}
	for _, l := range got {
		if strings.Count(l, "(") != strings.Count(l, ")") {
			t.Errorf("unbalanced: %s", l)
		}
	}
}

// Patterns of walls mean the same to Seatbelt as elsewhere.
func TestProfileWalls(t *testing.T) {
	c := confinement{Mode: WorkspaceWrite, Root: "/w/a.b", Writable: []string{"/w/a.b"}, Walls: []wall.Wall{{Glob: "vendor/**", Write: true}}}
	profile := c.profile()
	for _, want := range []string{`(deny file-write* (regex #"^/[wW]/[aA][.][bB]/[vV][eE][nN][dD][oO][rR](/.*)?$"))`, `(deny file-write-unlink (literal "/w/a.b/vendor"))`} {
		if !strings.Contains(profile, want) {
			t.Errorf("no %s in\n%s", want, profile)
		}
	}
	paths := []string{"/w/a.b/vendor/x", "/w/a.b/VENDOR", "/w/a.b/vendored", "/w/aXb/vendor", "/w/a.b/.env", "/w/a.b/x/.env", "/w/a.b/x.env", "/etc/shadow", "/w/a.b/d/a.md", "/w/a.b/d/a.txt", "/w/a.b/d/e/a.md", "/w/a.b/we[i]rd", "/w/a.b/a1", "/w/a.b/ax"}
	for _, glob := range []string{"vendor/**", "**/.env", "/etc/shadow", "d/*.{md,txt}", `we\[i\]rd`, "a[0-9]", "?x", "/**/.env"} {
		pattern := regexp.MustCompile(c.pattern(glob))
		set, err := wall.Build(c.Root, []wall.Wall{{Glob: glob, Write: true}})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range paths {
			if _, want := set.Refuses(name); pattern.MatchString(name) != want {
				t.Errorf("%s and %s: %v, want %v (%s)", glob, name, !want, want, pattern)
			}
		}
	}
}
