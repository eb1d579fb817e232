package card

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// row is a line of a diff.
type row struct {
	kind byte // '+', '-', ' ', '@' between places, '/' for a file, '\\' for a remark
	line int  // its number in the file, as it was if it is removed
	text string
	mark [][2]int // parts of text that are different from the other side
}

// diff shows a unified diff.
func (p *painter) diff(diff string) {
	rows := parseDiff(diff, p.Tab)
	pair(rows)
	limit := min(len(rows), p.limit(collapsedDiff))
	if len(rows) == limit+1 {
		limit++
	}
	gutter := 1
	for _, r := range rows[:limit] {
		gutter = max(gutter, len(strconv.Itoa(r.line)))
	}
	for i := range rows[:limit] {
		p.hanging(p.diffLine(&rows[i], gutter), gutter+3)
	}
	p.more(len(rows) - limit)
}

func (p *painter) diffLine(r *row, gutter int) styled.Line {
	dim := theme.Look{Fg: theme.Dim}
	switch r.kind {
	case '@':
		return styled.Line{{Text: strings.Repeat(" ", max(0, gutter-1)) + p.sign.Ellipsis, Look: dim}}
	case '/':
		return styled.Of(r.text, theme.Accent)
	case '\\':
		return styled.Of(r.text, theme.Muted)
	}
	look := theme.Look{Fg: theme.ToolDiffContext}
	sign := " "
	switch r.kind {
	case '+':
		look.Fg, sign = theme.ToolDiffAdded, "+"
	case '-':
		look.Fg, sign = theme.ToolDiffRemoved, "-"
	}
	line := styled.Line{{Text: fmt.Sprintf("%*d ", gutter, r.line), Look: dim}, {Text: sign + " ", Look: look}}
	at := 0
	strong := look
	strong.Mod |= theme.Reverse
	for _, m := range r.mark {
		line = append(line, styled.Span{Text: r.text[at:m[0]], Look: look}, styled.Span{Text: r.text[m[0]:m[1]], Look: strong})
		at = m[1]
	}
	return append(line, styled.Span{Text: r.text[at:], Look: look})
}

// maxDiff is how many lines of a diff are read; the rest is counted.
const maxDiff = 20_000

// parseDiff reads a unified diff of one or several files.
func parseDiff(diff string, tab int) []row {
	var rows []row
	var h hunk
	several := strings.Count("\n"+diff, "\n--- ") > 1
	first := true // of its file
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case len(rows) >= maxDiff:
			return rows
		case strings.HasPrefix(line, "@@"):
			h = parseHunk(line)
			if !first {
				rows = append(rows, row{kind: '@'})
			}
			first = false
		case line == "":
		case h.oldLeft > 0 || h.newLeft > 0:
			if r, ok := h.row(line, tab); ok {
				rows = append(rows, r)
			}
		case strings.HasPrefix(line, "+++ "):
			if first = true; several {
				rows = append(rows, row{kind: '/', text: prose.Inline(strings.TrimPrefix(line[4:], "b/"))})
			}
		case line[0] == '[':
			rows = append(rows, row{kind: '\\', text: prose.Inline(line)})
		}
	}
	return rows
}

// hunk is a place of a diff: the numbers of its next lines, and how many are left.
type hunk struct{ old, new, oldLeft, newLeft int }

func (h *hunk) row(line string, tab int) (row, bool) {
	r := row{kind: line[0], text: prose.Inline(tabs(line[1:], tab))}
	switch r.kind {
	case '+':
		r.line = h.new
		h.new++
		h.newLeft--
	case '-':
		r.line = h.old
		h.old++
		h.oldLeft--
	case ' ':
		r.line = h.new
		h.old, h.new = h.old+1, h.new+1
		h.oldLeft, h.newLeft = h.oldLeft-1, h.newLeft-1
	default:
		return r, false
	}
	return r, true
}

// tabs expands tabs as code is shown.
func tabs(s string, tab int) string {
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	return prose.Clean(s, tab)
}

// parseHunk reads "@@ -12,3 +14,5 @@".
func parseHunk(line string) (h hunk) {
	words := strings.Fields(line)
	for _, word := range words[:min(len(words), 3)] {
		number, count, counted := strings.Cut(word[1:], ",")
		at, err := strconv.Atoi(number)
		left, errLeft := strconv.Atoi(count)
		if !counted {
			left = 1
		}
		switch {
		case err != nil || counted && errLeft != nil:
		case word[0] == '-':
			h.old, h.oldLeft = at, left
		case word[0] == '+':
			h.new, h.newLeft = at, left
		}
	}
	return h
}

// pair marks the words that changed in lines that were replaced, the first by the
// first and so on.
func pair(rows []row) {
	for i := 0; i < len(rows); {
		start := i
		for i < len(rows) && rows[i].kind == '-' {
			i++
		}
		middle := i
		for i < len(rows) && rows[i].kind == '+' {
			i++
		}
		for k := range min(middle-start, i-middle) {
			a, b := &rows[start+k], &rows[middle+k]
			a.mark, b.mark = changedWords(a.text, b.text)
		}
		if i == start {
			i++
		}
	}
}

// maxWords is how many words of two lines are compared one by one; of longer ones
// everything between what is equal at both ends counts as changed.
const maxWords = 100

// changedWords gives the parts of two lines that differ, nothing if they have too
// little in common to be versions of each other.
func changedWords(a, b string) (inA, inB [][2]int) {
	wa, wb := wordsOf(a), wordsOf(b)
	head := 0
	for head < len(wa) && head < len(wb) && wa[head] == wb[head] {
		head++
	}
	tail := 0
	for tail < len(wa)-head && tail < len(wb)-head && wa[len(wa)-1-tail] == wb[len(wb)-1-tail] {
		tail++
	}
	keepA, keepB := make([]bool, len(wa)), make([]bool, len(wb))
	for i := range head {
		keepA[i], keepB[i] = true, true
	}
	for i := range tail {
		keepA[len(wa)-1-i], keepB[len(wb)-1-i] = true, true
	}
	ma, mb := wa[head:len(wa)-tail], wb[head:len(wb)-tail]
	if len(ma) <= maxWords && len(mb) <= maxWords {
		common(ma, mb, keepA[head:], keepB[head:])
	}
	same := 0
	for i, w := range wa {
		if keepA[i] && strings.TrimSpace(w) != "" {
			same += len(w)
		}
	}
	if same*3 < max(len(strings.TrimSpace(a)), len(strings.TrimSpace(b))) {
		return nil, nil
	}
	return ranges(wa, keepA), ranges(wb, keepB)
}

// common marks a longest common subsequence of two lists of words.
func common(a, b []string, keepA, keepB []bool) {
	length := make([][]int16, len(a)+1)
	for i := range length {
		length[i] = make([]int16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			if a[i] == b[k] {
				length[i][k] = length[i+1][k+1] + 1
			} else {
				length[i][k] = max(length[i+1][k], length[i][k+1])
			}
		}
	}
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i] == b[k]:
			keepA[i], keepB[k] = true, true
			i, k = i+1, k+1
		case length[i+1][k] >= length[i][k+1]:
			i++
		default:
			k++
		}
	}
}

// ranges are the parts of a line whose words are not kept.
func ranges(words []string, keep []bool) (all [][2]int) {
	at := 0
	for i, w := range words {
		if !keep[i] {
			if n := len(all); n > 0 && all[n-1][1] == at {
				all[n-1][1] = at + len(w)
			} else {
				all = append(all, [2]int{at, at + len(w)})
			}
		}
		at += len(w)
	}
	return all
}

// wordsOf cuts a line into words, runs of spaces, and single other characters
// together with what combines with them.
func wordsOf(s string) []string {
	var words []string
	for s != "" {
		n := 0
		first, size := utf8.DecodeRuneInString(s)
		class := classOf(first)
		for n = size; n < len(s); n += size {
			var r rune
			r, size = utf8.DecodeRuneInString(s[n:])
			if !joins(r) && (class == 0 || classOf(r) != class) {
				break
			}
		}
		words = append(words, s[:n])
		s = s[n:]
	}
	return words
}

func joins(r rune) bool {
	return unicode.Is(unicode.M, r) || r == 0x200d || r == 0x200c || r >= 0x1f3fb && r <= 0x1f3ff
}

func classOf(r rune) int {
	switch {
	case r == ' ':
		return 1
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || r > 0x2000:
		return 2
	}
	return 0
}
