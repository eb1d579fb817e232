package transcript_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/transcript"
)

func TestTitleOf(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"***\n## Fix the *test*\nnow": "Fix the *test",
		"<file path=\"a.go\">\npackage a\n</file>\n<file path=\"b.go\">\nx\n</file>\nwhat is this?": "what is this?",
		"<file path=\"a.go\">\npackage a\n</file>":                                                  `<file path="a.go`,
		"\x1b]0;evil\x07 words":     "]0;evil words",
		strings.Repeat("word ", 30): "word word word word word word word word word word word…",
	} {
		if got := transcript.TitleOf(text); got != want {
			t.Errorf("TitleOf(%q) = %q, want %q", text, got, want)
		}
	}
}
