package edit

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Models copy a line from its first letter on, and write what replaces it as if it
// were not indented. Where the old text begins behind the indentation of its line,
// the new text is read in one of two ways: its further lines have their own
// indentation, or lack that of the first.

// indented gives the new text for a place, with the indentation that it lacks, and
// where in the file it begins. Line endings of old and text are LF.
func (r *replacing) indented(m match, old, text string) (start int, fresh string, err error) {
	d := r.d
	line := m.start
	for line > 0 && isBlankByte(d.text[line-1]) {
		line--
	}
	before := d.text[line:m.start]
	oldFirst, oldRest, _ := strings.Cut(old, "\n")
	first, rest, several := strings.Cut(text, "\n")
	switch {
	case !beginsLine(d.text, line) || isBlank(oldFirst):
		return m.start, text, nil
	case before == "":
		return m.start, r.fallen(m, old, text), nil
	case several && first == "",
		text == "" && (strings.HasSuffix(old, "\n") || lineRest(d.text, m.end) == ""),
		first != oldFirst && !isBlank(first) && hasExactLine(oldRest, first):
		return line, text, nil // nothing is left that the indentation would belong to
	case (first != oldFirst || strings.TrimSpace(rest) == "") && hasOtherIndent(oldRest, first, before):
		return 0, "", r.unclear(m)
	case strings.TrimSpace(oldRest) == "" && strings.TrimSpace(rest) != "":
		shifted, err := r.shift(m, before, oldFirst, text)
		return m.start, shifted, err
	}
	return m.start, text, nil
}

func (r *replacing) unclear(m match) error {
	n := lineStart(r.d.text, m.start)
	x := r.refuse("old begins after the indentation of line %d, and it is not clear how to indent the lines of new", r.d.lineAt(m.start))
	x.Line, x.Nearest = r.d.lineAt(m.start), excerpt(strings.Split(r.d.text[n:lineEnd(r.d.text, m.end)], "\n"))
	return x.hint("Begin old and new with the indentation that the file has there.")
}

// lineRest is what follows an offset on its line.
func lineRest(text string, at int) string {
	rest, _, _ := strings.Cut(text[at:], "\n")
	return strings.TrimRight(rest, " \t\r")
}

func hasExactLine(text, line string) bool {
	return slices.Contains(strings.Split(text, "\n"), line)
}

// hasOtherIndent says that a text has a line only with another indentation.
func hasOtherIndent(text, line, indent string) bool {
	found := false
	for l := range strings.SplitSeq(text, "\n") {
		if !isBlank(l) && strings.TrimSpace(l) == strings.TrimSpace(line) {
			if l == indent+line {
				return false
			}
			found = true
		}
	}
	return found
}

// shift puts the indentation in front of the further lines of a text that replaces
// a single line, if they lack it.
func (r *replacing) shift(m match, before, oldLine, text string) (string, error) {
	lines := strings.Split(text, "\n")
	if indentation(oldLine) == "" {
		switch lacking := firstLacking(lines[1:], before); {
		case lacking == "" && r.flat(m, before, oldLine, lines):
			return "", r.unclear(m)
		case lacking == "", unclosed(lines...) > unclosed(oldLine) && closes(lacking):
			return text, nil
		case !r.inside(m, before, oldLine, lines):
			return "", r.unclear(m)
		}
	}
	if verbatim(lines) {
		return "", r.unclear(m)
	}
	if !r.d.indent(lines[1:], before) {
		return "", r.unclear(m)
	}
	return strings.Join(lines, "\n"), nil
}

// indent puts indentation in front of lines, and makes their own of the file's
// characters. It fails if it is not clear how.
func (d *document) indent(lines []string, prefix string) bool {
	in := indent{known: map[string]string{"": prefix}, add: prefix}
	in.measure(d, slices.Values(lines))
	for i := range lines {
		var ok bool
		if lines[i], ok = in.line(lines[i]); !ok {
			return false
		}
	}
	return true
}

// flat says that lines that have the indentation of the first may lack it all the
// same: the first one begins a block, and what follows is not deeper; or the line
// that follows in the file is deeper than the last of them, which begins no block.
func (r *replacing) flat(m match, before, oldLine string, lines []string) bool {
	last := lastLine(lines)
	if closes(last) && indentation(last) == before {
		return false // where it would lack it, so would this line
	}
	if opens(lines[0]) && firstIndent(lines[1:]) == before && !closes(firstLine(lines[1:])) {
		return true
	}
	_, depth := nextLine(r.d.text, m.end)
	return depth > len(indentation(last)) && depth > len(before) && !opens(last) && strings.TrimSpace(last) != strings.TrimSpace(oldLine)
}

// inside says that the further lines of a new text, some of which are less indented
// than the first, can only lack its indentation: as they stand, they would not go
// with the line that follows in the file.
func (r *replacing) inside(m match, before, oldLine string, lines []string) bool {
	if leastIndent(lines[1:]) > 0 && !opens(lines[0]) {
		return false // nothing says why they are deeper than the first
	}
	next, depth := nextLine(r.d.text, m.end)
	last := lastLine(lines)
	if opens(last) { // what follows is in its block
		return depth > len(before)
	}
	return depth > len(indentation(last)) || closes(next) || slices.Contains(lines[1:], oldLine)
}

func leastIndent(lines []string) int {
	least := -1
	for _, l := range lines {
		if n := len(indentation(l)); !isBlank(l) && (least < 0 || n < least) {
			least = n
		}
	}
	return max(least, 0)
}

// nextLine is the first line after that of an offset that is not blank, and how
// far it is indented.
func nextLine(text string, at int) (line string, depth int) {
	for at = lineEnd(text, at); at < len(text); {
		end := lineEnd(text, at+1)
		if line := strings.TrimRight(text[at:end], "\r\n"); !isBlank(line) {
			return line, len(indentation(line))
		}
		at = end
	}
	return "", 0
}

// firstLacking is the first line that is not indented so far.
func firstLacking(lines []string, indent string) string {
	for _, l := range lines {
		if !isBlank(l) && !strings.HasPrefix(l, indent) {
			return l
		}
	}
	return ""
}

// firstLine is the first line that is not blank.
func firstLine(lines []string) string {
	return lines[max(slices.IndexFunc(lines, func(l string) bool { return !isBlank(l) }), 0)]
}

// lastLine is the last line that is not blank.
func lastLine(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if !isBlank(l) {
			return l
		}
	}
	return ""
}

func firstIndent(lines []string) string { return indentation(firstLine(lines)) }

// opens says that a line begins a block.
func opens(line string) bool {
	line = strings.TrimRight(line, " \t")
	return line != "" && strings.ContainsRune(":{([", rune(line[len(line)-1]))
}

var closerPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:[})\]]|</|\{\{\s*/|\{%-?\s*end|(?:end|fi|done|esac|else|elif|elsif|except|finally|catch|rescue|ensure)\b)`)
})

// closes says that a line ends a block.
func closes(line string) bool { return closerPattern().MatchString(line) }

// unclosed is how many blocks lines close, at most, that they do not open.
func unclosed(lines ...string) int {
	depth, least := 0, 0
	for _, l := range lines {
		for _, c := range l {
			switch c {
			case '{', '(', '[':
				depth++
			case '}', ')', ']':
				depth--
				least = min(least, depth)
			}
		}
	}
	return -least
}

var verbatimPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"""|'''|<<|^#\s*(?:if|ifdef|ifndef|elif|else|endif|define|undef|include|pragma)\b`)
})

// verbatim says that a text may hold lines whose indentation has a meaning of its
// own: strings of several lines, and directives of a preprocessor.
func verbatim(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool {
		return strings.Count(l, "`")%2 == 1 || verbatimPattern().MatchString(l)
	})
}

// fallen looks at new text that is less indented than the whole lines it replaces.
// It is written literally, unless lines that both have show that new lacks the
// indentation; what looks wrong is noted.
func (r *replacing) fallen(m match, old, text string) string {
	was, lines := strings.Split(old, "\n"), strings.Split(text, "\n")
	base := firstIndent(was)
	switch {
	case base == "" || firstLacking(was, base) != "" || firstIndent(lines) != "" || strings.TrimSpace(text) == "",
		slices.EqualFunc(was, lines, func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }):
		return text
	}
	if next, depth := nextLine(r.d.text, m.end); depth == 0 && !closes(next) {
		return text // it can be meant so
	}
	kept := 0 // lines of both that lack the indentation, and no others
	for _, l := range lines {
		switch {
		case isBlank(l):
		case slices.Contains(was, l):
			kept = -len(lines)
		case slices.Contains(was, base+l):
			kept++
		}
	}
	if kept <= 0 || len(r.edits) > 1 || unclosed(lines...) > unclosed(was...) || verbatim(lines) || !r.d.indent(lines, base) {
		r.out.note("%s: the new text at line %d is less indented than what it replaces; it was written so", r.d.path, r.d.lineAt(m.start))
		return text
	}
	r.out.note("%s: the new text at line %d lacked the indentation of what it replaces; it was indented", r.d.path, r.d.lineAt(m.start))
	return strings.Join(lines, "\n")
}
