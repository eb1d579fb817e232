package edit

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ranges are the numbers in the header of a unified diff's hunk.
type ranges struct {
	oldLine, oldCount, newCount int
	header                      string
}

var rangesPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))?(?: @@(.*))?$`)
})

// parseRanges reads what stands between and after the @@ of a header.
func parseRanges(s string) (ranges, bool) {
	m := rangesPattern().FindStringSubmatch(s)
	if m == nil {
		return ranges{}, false
	}
	number := func(s string) int {
		if s == "" {
			return 1
		}
		n, _ := strconv.Atoi(s) // at most nine digits
		return n
	}
	return ranges{number(m[1]), number(m[2]), number(m[4]), strings.TrimSpace(m[5])}, true
}

// unifiedParser reads a unified diff, with or without git's headers.
type unifiedParser struct {
	lines []string
	i     int
	out   []section
	cur   *unifiedFile
}

// unifiedFile is a file whose section is being read.
type unifiedFile struct {
	from, to         string // /dev/null, "" if not said yet
	git, named       bool   // there was a diff --git line; there were --- and +++ lines
	renamed          bool
	added, deleted   bool
	exec, modeChange bool
	hunks            []hunk
}

const devNull = "/dev/null"

func parseUnified(lines []string) ([]section, error) {
	p := &unifiedParser{lines: lines}
	for p.i < len(lines) {
		if err := p.line(lines[p.i]); err != nil {
			return nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if len(p.out) == 0 {
		return nil, refuse("", "the patch is empty")
	}
	return p.out, nil
}

// line reads a line outside of hunks, or a whole hunk.
func (p *unifiedParser) line(l string) error {
	p.i++
	l = strings.TrimSuffix(l, "\r")
	switch {
	case strings.HasPrefix(l, "diff --git "):
		if err := p.finish(); err != nil {
			return err
		}
		p.cur = &unifiedFile{git: true}
		p.cur.from, p.cur.to = gitPaths(l[len("diff --git "):])
	case strings.HasPrefix(l, "--- ") && p.at(0, "+++ "):
		if p.cur == nil || p.cur.named || !p.cur.git {
			if err := p.finish(); err != nil {
				return err
			}
			p.cur = &unifiedFile{}
		}
		p.cur.named = true
		from, to := diffPath(l[4:]), diffPath(strings.TrimSuffix(p.lines[p.i], "\r")[4:])
		if !p.cur.renamed {
			p.cur.from, p.cur.to = stripPrefixes(from, to)
		}
		p.i++
	case strings.HasPrefix(l, "@@"):
		if p.cur == nil {
			return refuse("", "the patch has a hunk before it names a file").hint("Begin with *** Update File: or with --- and +++ lines.")
		}
		p.hunk(l)
	case strings.HasPrefix(l, "GIT binary patch"), strings.HasPrefix(l, "Binary files ") && strings.HasSuffix(l, " differ"):
		return refuse(p.name(), "the patch changes a binary file, which is not done")
	case p.cur != nil && p.cur.git && !p.cur.named:
		return p.gitHeader(l)
	}
	return nil
}

// at says whether the line n after the next one begins so.
func (p *unifiedParser) at(n int, prefix string) bool {
	return p.i+n < len(p.lines) && strings.HasPrefix(p.lines[p.i+n], prefix)
}

func (p *unifiedParser) name() string {
	if p.cur == nil {
		return ""
	}
	if p.cur.to == devNull || p.cur.to == "" {
		return p.cur.from
	}
	return p.cur.to
}

// gitHeader reads one of the lines that git puts before --- and +++.
func (p *unifiedParser) gitHeader(l string) error {
	cut := func(prefix string) (string, bool) { return strings.CutPrefix(l, prefix) }
	if name, ok := cut("rename from "); ok {
		p.cur.from, p.cur.renamed = diffPath(name), true
	}
	if name, ok := cut("rename to "); ok {
		p.cur.to, p.cur.renamed = diffPath(name), true
	}
	if strings.HasPrefix(l, "copy from ") || strings.HasPrefix(l, "copy to ") {
		return refuse(p.name(), "the patch copies a file, which is not done").hint("Add the new file with its whole text.")
	}
	for _, prefix := range []string{"new file mode ", "deleted file mode ", "old mode ", "new mode "} {
		mode, ok := cut(prefix)
		if !ok {
			continue
		}
		mode = strings.TrimSpace(mode)
		if mode == "120000" || mode == "160000" {
			return refuse(p.name(), "the patch is about a symbolic link or a submodule, which is not done")
		}
		switch prefix {
		case "new file mode ":
			p.cur.added, p.cur.exec = true, mode == "100755"
		case "deleted file mode ":
			p.cur.deleted = true
		default:
			p.cur.modeChange = true
		}
	}
	return nil
}

// hunk reads the lines of a hunk. Its numbers may be wrong: they only decide where
// two readings of a line are possible.
func (p *unifiedParser) hunk(l string) {
	r, counted := parseRanges(strings.TrimSpace(strings.TrimPrefix(l, "@@")))
	var h hunk
	var header string
	if h.line, header = hunkHeader(l); header != "" {
		h.headers = []string{header}
	}
	left := [2]int{r.oldCount, r.newCount}
	for ; p.i < len(p.lines); p.i++ {
		line := p.lines[p.i]
		done := counted && left[0] <= 0 && left[1] <= 0
		if p.ends(line, done, left) {
			break
		}
		h.add(line)
		switch {
		case strings.HasPrefix(line, "+"):
			left[1]--
		case strings.HasPrefix(line, "-"):
			left[0]--
		case !strings.HasPrefix(line, `\ `):
			left[0]--
			left[1]--
		}
	}
	if !h.empty() {
		p.cur.hunks = append(p.cur.hunks, h)
	}
}

// ends says whether a line is behind the end of a hunk. Done is that the hunk has
// the lines that its header counts; left is how many it lacks.
func (p *unifiedParser) ends(line string, done bool, left [2]int) bool {
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "diff --git "):
		return true
	case strings.HasPrefix(line, "--- ") && p.at(1, "+++ ") && p.at(2, "@@"):
		return left != [2]int{1, 1} // or else a removed "-- " and an added "++ " complete the hunk
	case strings.HasPrefix(line, "-- ") && done: // the signature of a mail
		return true
	case line == "" || strings.HasPrefix(line, `\ `):
		return false
	}
	return done && !strings.ContainsRune(" +-", rune(line[0]))
}

// finish makes a section of the file that has been read.
func (p *unifiedParser) finish() error {
	f := p.cur
	p.cur = nil
	if f == nil {
		return nil
	}
	s := section{format: unifiedDiff, hunks: f.hunks, exec: f.exec, modes: f.modeChange, path: f.to}
	switch {
	case f.from == "" || f.to == "" || f.from == devNull && f.to == devNull:
		return refuse("", "the patch has a section without the name of its file")
	case f.from == devNull || f.added:
		s.op = opAdd
		if f.to == devNull {
			s.path = f.from
		}
		for i := range s.hunks {
			if !s.hunks[i].becomeAdded() {
				return refuse(s.path, "the patch adds this file, and has context or removed lines for it")
			}
		}
	case f.to == devNull || f.deleted:
		s.op, s.path = opDelete, f.from
	case f.renamed:
		s.path, s.to = f.from, f.to
	case f.from != f.to:
		if !isBackup(f.from, f.to) {
			return refuse(f.from, "the patch names two files, this and %s", f.to).
				hint("To move a file, use rename from and rename to, or *** Move to:.")
		}
	case len(f.hunks) == 0 && f.modeChange:
		return refuse(s.path, "the patch changes only the mode, which is not done").hint("Use chmod.")
	}
	p.out = append(p.out, s)
	return nil
}

// becomeAdded makes the hunk of a new file one of added lines only: gaps between
// them are empty lines, and those at the end are none.
func (h *hunk) becomeAdded() bool {
	for len(h.lines) > 0 && h.lines[len(h.lines)-1].bare {
		h.lines = h.lines[:len(h.lines)-1]
	}
	for i, l := range h.lines {
		if l.op != '+' && !l.bare {
			return false
		}
		h.lines[i].op = '+'
	}
	return true
}

func isBackup(from, to string) bool {
	for _, suffix := range []string{".orig", ".old", ".bak", "~"} {
		if from == to+suffix {
			return true
		}
	}
	return false
}

// gitPaths reads the names of a diff --git line, where they can be told apart.
func gitPaths(s string) (from, to string) {
	if strings.HasPrefix(s, `"`) {
		if name, rest, ok := unquotePath(s); ok {
			return stripPrefixes(name, diffPath(strings.TrimSpace(rest)))
		}
		return "", ""
	}
	if n := len(s) / 2; len(s)%2 == 1 && s[n] == ' ' {
		if from, to = stripPrefixes(s[:n], s[n+1:]); from == to {
			return from, to
		}
	}
	if from, to, ok := strings.Cut(s, " "); ok && !strings.Contains(to, " ") {
		return stripPrefixes(from, diffPath(to))
	}
	return "", ""
}

// diffPath is the name in a --- or +++ line, without the time that may follow.
func diffPath(s string) string {
	if name, _, ok := unquotePath(s); ok {
		return name
	}
	s, _, _ = strings.Cut(s, "\t")
	return strings.TrimSpace(s)
}

// unquotePath reads a name that git has quoted.
func unquotePath(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c != '\\':
			b.WriteByte(c)
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3':
			n, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
			if err != nil {
				return "", "", false
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(s):
			i++
			n := strings.IndexByte(`abtnvfr"\`, s[i])
			if n < 0 {
				return "", "", false
			}
			b.WriteByte("\a\b\t\n\v\f\r\"\\"[n])
		}
	}
	return "", "", false
}

// stripPrefixes takes a/ and b/ off, or what git puts there in their place.
func stripPrefixes(from, to string) (string, string) {
	for _, pair := range [...][2]string{{"a/", "b/"}, {"i/", "w/"}, {"c/", "i/"}, {"c/", "w/"}, {"o/", "w/"}} {
		f, okFrom := strings.CutPrefix(from, pair[0])
		t, okTo := strings.CutPrefix(to, pair[1])
		switch {
		case okFrom && okTo && (pair[0] == "a/" || f == t):
			return f, t
		case pair[0] != "a/":
		case okFrom && to == devNull:
			return f, to
		case okTo && from == devNull:
			return from, t
		}
	}
	return from, to
}
