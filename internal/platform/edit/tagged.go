package edit

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/prose"
)

// The hashline engine names a line by its number and a hash of its text, as
// "12:k3f". Files are shown to the model with these names:
//
//	[src/a.go#3f2a]
//	12:k3f|func main() {
//	13:b9x|	run()
//
// The four hex digits in the header are a hash of the whole file. Both hashes are
// computed anew when an edit arrives; no snapshot is kept.

// tagLetters are the 32 letters of a line's hash: without those that look alike.
const tagLetters = "abcdefghijkmnpqrstuvwxyz23456789"

// maxTagged is how many bytes of a line are shown; cutMark follows.
const (
	maxTagged = 2000
	cutMark   = "…[line cut at 2000 bytes]"
)

// Tagged shows lines from to to of a file, from 1 and both included, with the tags
// that edits name. From below 1 is the first line, to below 1 or too large the last.
// Data is the whole file. Binary data has no lines.
func Tagged(path string, data []byte, from, to int) string {
	d, err := parse(path, data)
	if err != nil {
		return Header(path, data)
	}
	return Header(path, data) + d.tagged(from, to)
}

// Header is the line above tagged lines: a file's path and tag.
func Header(path string, data []byte) string { return "[" + path + "#" + fileTag(data) + "]\n" }

// LineTag names a line: its number, from 1, and the hash of its text, which is
// without line ending.
func LineTag(n int, text string) string { return strconv.Itoa(n) + ":" + lineHash(text) }

// StripTags takes the header and the tags off a text whose lines all have them, as
// when a model copies what it was shown. ok is false if it is no such text.
func StripTags(text string) (plain string, ok bool) {
	header := taggedHeader().FindString(text)
	rest := text[len(header):]
	var b strings.Builder
	for line := range strings.Lines(rest) {
		tag := taggedLine().FindString(line)
		if tag == "" && !isBlank(strings.TrimRight(line, "\r\n")) {
			return text, false
		}
		ok = ok || tag != ""
		b.WriteString(line[len(tag):])
	}
	if !ok {
		return text, false
	}
	return b.String(), true
}

var taggedHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[[^\n]+#[0-9a-f]{4}\]\r?\n`)
})

var taggedLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]+:[` + tagLetters + `]{3}\|`)
})

func (d *document) tagged(from, to int) string {
	n := d.lines()
	if to < 1 || to > n {
		to = n
	}
	var b strings.Builder
	for i := max(from, 1); i <= to; i++ {
		line := d.line(i - 1)
		b.WriteString(LineTag(i, line))
		b.WriteByte('|')
		if len(line) > maxTagged {
			line = prose.Head(line, maxTagged) + cutMark
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// fileTag is a hash of a file.
func fileTag(data []byte) string {
	return fmt.Sprintf("%04x", crc32.ChecksumIEEE(data)*0x9e3779b1>>16)
}

// lineHash is a hash of a line, in 15 bits.
func lineHash(line string) string {
	h := uint32(2166136261)
	for i := range len(line) {
		h = (h ^ uint32(line[i])) * 16777619
	}
	h ^= h >> 16
	h = h * 0x9e3779b1 >> 17
	return string([]byte{tagLetters[h>>10], tagLetters[h>>5&31], tagLetters[h&31]})
}
