package file

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/platform/edit"
)

// untagged takes off what read puts in front of lines, if a model copied it into
// all lines of a new content: numbers, or numbers with hashes. Before is what the
// file holds now. A file may have such lines of its own, so they must be those that
// read has shown: hashes must be those of a line of before or of the line they
// stand at, and of numbered lines half must be lines of before.
func untagged(content string, before []byte) (plain string, copied bool) {
	old := splitLines(string(before))
	for i := range old {
		old[i] = strings.TrimRight(old[i], "\r\n")
	}
	if plain, ok := edit.StripTags(content); ok && tagsFit(content, old) {
		return plain, true
	}
	if plain, ok := stripNumbers(content, old); ok {
		return plain, true
	}
	return content, false
}

var (
	tagged   = regexp.MustCompile(`^(([0-9]+):[a-z0-9]{3})\|(.*)`)
	numbered = regexp.MustCompile(`^([0-9]+)\|`)
)

// tagsFit reports whether all hashes in content are those of lines that there are.
func tagsFit(content string, old []string) bool {
	for line := range strings.Lines(content) {
		m := tagged.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue // the header, or an empty line
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return false
		}
		own := edit.LineTag(n, m[3]) == m[1]
		if !own && (n < 1 || n > len(old) || edit.LineTag(n, old[n-1]) != m[1]) {
			return false
		}
	}
	return true
}

// stripNumbers takes the numbers off lines that are numbered one after the other.
func stripNumbers(content string, old []string) (string, bool) {
	known := make(map[string]bool, len(old))
	for _, line := range old {
		if numbered.MatchString(line) {
			return "", false // the file has numbers of its own
		}
		known[line] = true
	}
	var b strings.Builder
	last, lines, same := 0, 0, 0
	for line := range strings.Lines(content) {
		m := numbered.FindStringSubmatch(line)
		if m == nil {
			return "", false
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || last > 0 && n != last+1 {
			return "", false
		}
		text := line[len(m[0]):]
		b.WriteString(text)
		last = n
		lines++
		if known[strings.TrimRight(text, "\r\n")] {
			same++
		}
	}
	return b.String(), same > 0 && 2*same >= lines
}
