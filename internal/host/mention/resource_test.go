package mention

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResources(t *testing.T) {
	t.Parallel()
	known := func(server string) bool { return server == "notes" || server == "a-b" }
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"see @notes:notes://today", []string{"@notes:notes://today"}},
		{"(@notes:notes://today), `@a-b:x`: why?", []string{"@notes:notes://today", "@a-b:x"}},
		{`read @"notes:file:///my notes.md", please`, []string{"@notes:file:///my notes.md"}},
		{`"see @notes:x://1."`, []string{"@notes:x://1"}},
		{"@notes:x://f(1) and (@notes:x://g)...", []string{"@notes:x://f(1)", "@notes:x://g"}},
		{"twice @notes:x\n@notes:x", []string{"@notes:x"}},
		{"@other:x mail me@notes:x @@notes:x @notes: @notes @notes:!? @:x @\"notes:x", nil},
		{"ünï @notes:ü/ä ö", []string{"@notes:ü/ä"}},
	} {
		var got []string
		for _, r := range Resources(tt.text, known) {
			got = append(got, r.String())
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", tt.text, diff)
		}
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "@notes:%d ", i)
	}
	if n := len(Resources(many.String(), known)); n != maxMentions {
		t.Errorf("%d mentions", n)
	}
}
