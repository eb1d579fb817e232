package file

import (
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

// A text is found wherever the pieces of the stream end.
func TestFindOnce(t *testing.T) {
	for i := range 40 {
		text := strings.Repeat("ab\n", i) + "needle\n" + strings.Repeat("cd\n", 7)
		at, line, err := findOnce(t.Context(), iotest.OneByteReader(strings.NewReader(text)), []byte("needle\ncd"), i%2 == 0)
		if err != nil || at != int64(3*i) || line != i+1 {
			t.Errorf("%d: at %d, line %d, %v", i, at, line, err)
		}
	}
	for text, want := range map[string]string{
		"aXa aXa": "more than once", "a": "is not in the file", "": "is not in the file", "aXaXa": "more than once", "aX\naXa\n": "",
	} {
		_, _, err := findOnce(t.Context(), iotest.HalfReader(strings.NewReader(text)), []byte("aXa"), false)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %q", text, got, want)
		}
	}
	if _, line, err := findOnce(t.Context(), strings.NewReader("x end\nend\n"), []byte("end\n"), true); err != nil || line != 2 {
		t.Errorf("line %d, %v", line, err)
	}
}
