package git

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStatus(t *testing.T) {
	const text = "# branch.oid 1234567890abc\x00# branch.head (detached)\x002 RM N... 1 2 3 4 5 R100 new\x00? old name\x00u UU N... x\x00? n\x00! ignored\x00"
	want := Status{Commit: "1234567", Staged: 1, Modified: 1, Untracked: 1, Conflicts: 1, Known: true}
	if diff := cmp.Diff(want, parseStatus([]byte(text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.oid 1234567890\x00# branch.head (detached)\x00# branch.ab +1 -2\x001 .M N... 1 2 3 a\x002 R. N... x\x00old\x00u UU\x00? n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		g := parseStatus([]byte(text))
		if n := strings.Count(text, "\x00") + 1; g.Staged > n || g.Modified > n || g.Untracked+g.Conflicts > n {
			t.Errorf("%+v of %d records", g, n)
		}
	})
}
