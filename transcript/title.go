package transcript

import (
	"strings"
	"unicode"
)

// maxTitle is how many characters a title has.
const maxTitle = 60

// TitleOf makes a title of a text: its first line with words in it, without what is
// not for reading, cut at 60 characters. It is "" if there are no words.
func TitleOf(text string) string {
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				return ' '
			}
			return r
		}, line)
		line = strings.Trim(strings.Join(strings.Fields(line), " "), `#*>-"'`+"` ")
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
