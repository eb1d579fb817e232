package reference

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/transcript"
)

// maxTranscript is how many bytes of a conversation are shown; its end is what counts.
const maxTranscript = 4 << 20

// Transcript is the active branch of a conversation as text, with an id for each entry. What
// says nothing, such as a change of the model, is left out.
func Transcript(l *transcript.Log) (string, error) {
	entries, err := l.Branch(l.Leaf())
	if err != nil {
		return "", err
	}
	var parts []string
	size := 0
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		text := strings.TrimRight(words(e), "\n")
		if text == "" {
			continue
		}
		part := fmt.Sprintf("[%s] %s\n%s\n", e.ID, headline(e), text)
		if size += len(part); size > maxTranscript {
			parts = append(parts, fmt.Sprintf("[Only the last %d MB are shown.]\n", maxTranscript>>20))
			break
		}
		parts = append(parts, part)
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
		if i > 0 {
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}
