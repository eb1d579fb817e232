package transcript

import (
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/prose"
)

// maxTitle is how many characters a title has at most.
const maxTitle = 60

// TitleOf returns a title for a text: its first line with words, without markup, cut at 60
// characters. It skips attached files, written as <file path="…"> to </file>, if words follow.
// It is "" if there are no words.
func TitleOf(text string) string {
	if words := withoutFiles(text); strings.TrimSpace(words) != "" {
		text = words
	}
	for line := range strings.Lines(text) {
		line = strings.Trim(prose.Plain(line, len(line)), `#*>-"'`+"` ")
		if !strings.ContainsFunc(line, unicode.IsLetter) {
			continue
		}
		if r := []rune(line); len(r) > maxTitle {
			cut := string(r[:maxTitle-1])
			if i := strings.LastIndexByte(cut, ' '); i > maxTitle/2 {
				cut = cut[:i]
			}
			return strings.TrimRight(cut, " ,.;:") + "…"
		}
		return line
	}
	return ""
}

// withoutFiles is a text behind the files that it begins with.
func withoutFiles(text string) string {
	for strings.HasPrefix(text, "<file path=") {
		_, rest, ok := strings.Cut(text, "\n</file>")
		if !ok {
			return "" // it was cut within a file
		}
		text = strings.TrimLeft(rest, "\n")
	}
	return text
}
