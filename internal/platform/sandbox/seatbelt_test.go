package sandbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	for _, l := range got {
		if strings.Count(l, "(") != strings.Count(l, ")") {
			t.Errorf("unbalanced: %s", l)
		}
	}
}
