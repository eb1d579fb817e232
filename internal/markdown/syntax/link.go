package syntax

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of links that are defined apart from their uses.
const (
	maxLabel       = 999  // bytes of a label; a longer one is text
	maxDefinitions = 2000 // of one document; uses of further ones stay text
	maxMissed      = 2000 // labels that were not found; of further ones every definition counts as missed
)

// Definitions are the links that a document defines, by their labels. The zero value
// has none.
type Definitions struct {
	// Draft says that what is read is not final: its misses are not remembered.
	Draft  bool
	links  map[string]*Link
	missed map[string]bool // looked for before it was defined; whether that is kept
}

// Define takes a block of the kind [Definition]. The first definition of a label counts.
func (d *Definitions) Define(b Block) {
	label := fold(b.Text)
	if d.links[label] != nil || len(d.links) >= maxDefinitions {
		return
	}
	if d.links == nil {
		d.links = map[string]*Link{}
	}
	d.links[label] = b.Link
}

// Missed reports whether the label of a definition was looked for before it was known.
func (d *Definitions) Missed(b Block) bool {
	_, missed := d.missed[fold(b.Text)]
	return missed || len(d.missed) >= maxMissed || len(d.links) >= maxDefinitions
}

// Keep says that what was shown so far will not be shown again: its misses last.
func (d *Definitions) Keep() {
	for label := range d.missed {
		d.missed[label] = true
	}
}

// Again says that all that was not kept is shown again.
func (d *Definitions) Again() {
	for label, kept := range d.missed {
		if !kept {
			delete(d.missed, label)
		}
	}
}

// find is the link of a label, nil for none.
func (d *Definitions) find(label string) *Link {
	if len(d.links) == 0 && d.Draft {
		return nil
	}
	label = fold(label)
	if label == "" {
		return nil
	}
	if link := d.links[label]; link != nil {
		one := *link // two uses side by side are two links
		return &one
	}
	if !d.Draft && len(d.missed) < maxMissed {
		if d.missed == nil {
			d.missed = map[string]bool{}
		}
		if _, known := d.missed[label]; !known {
			d.missed[label] = false
		}
	}
	return nil
}

// fold makes labels equal that differ in case and white space only.
func fold(label string) string {
	label = strings.Join(strings.Fields(label), " ")
	return strings.ReplaceAll(strings.ToLower(strings.ToUpper(label)), "ß", "ss")
}

// label reads "[label]", which may be empty; n is 0 if s does not begin so.
func label(s string) (label string, n int) {
	if s == "" || s[0] != '[' {
		return "", 0
	}
	for i := 1; i < len(s) && i <= maxLabel+1; i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			return "", 0
		case ']':
			return s[1:i], i + 1
		}
	}
	return "", 0
}

// definition reads "[label]: address 'title'" with its line; n is 0 if s does not begin
// so. A title that something follows is none.
func definition(s string) (name string, link *Link, n int) {
	name, n = label(s)
	if n == 0 || strings.TrimSpace(name) == "" || n == len(s) || s[n] != ':' {
		return "", nil, 0
	}
	n += 1 + gap(s[n+1:])
	address, size := address(s[n:])
	if size == 0 {
		return "", nil, 0
	}
	n += size
	link = &Link{Address: unescape(address)}
	if space := gap(s[n:]); space > 0 {
		if words, size := linkTitle(s[n+space:]); size > 0 {
			if end, ok := lineEnd(s[n+space+size:]); ok {
				link.Title = unescape(words)
				return name, link, n + space + size + end
			}
		}
	}
	end, ok := lineEnd(s[n:])
	if !ok {
		return "", nil, 0
	}
	return name, link, n + end
}

// inlineTarget reads "(address 'title')"; the link is nil if s does not begin so.
func inlineTarget(s string) (link *Link, n int) {
	if s == "" || s[0] != '(' {
		return nil, 0
	}
	s = s[:min(len(s), maxAddress)]
	n = 1 + gap(s[1:])
	link = &Link{}
	if to, size := address(s[n:]); size > 0 {
		link.Address = unescape(to)
		n += size
		if space := gap(s[n:]); space > 0 {
			n += space
			if words, size := linkTitle(s[n:]); size > 0 {
				link.Title = unescape(words)
				n += size + gap(s[n+size:])
			}
		}
	}
	if n >= len(s) || s[n] != ')' {
		return nil, 0
	}
	return link, n + 1
}

// gap is the length of the white space, with one line feed at most, that s begins with.
func gap(s string) int {
	feeds := 0
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t':
		case '\n':
			if feeds++; feeds > 1 {
				return i
			}
		default:
			return i
		}
	}
	return len(s)
}

// lineEnd is the length of the white space up to the end of the line that s begins
// with; ok is false if anything else stands there.
func lineEnd(s string) (n int, ok bool) {
	rest := strings.TrimLeft(s, " \t")
	if rest == "" {
		return len(s), true
	}
	return len(s) - len(rest) + 1, rest[0] == '\n'
}

// maxParens is how deep parentheses in an address nest; a deeper one is none.
const maxParens = 32

// address reads the address of a link, between angle brackets or without white space;
// n is 0 if s does not begin with one.
func address(s string) (to string, n int) {
	if strings.HasPrefix(s, "<") {
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '\n', '<':
				return "", 0
			case '>':
				return s[1:i], i + 1
			}
		}
		return "", 0
	}
	depth, i := 0, 0
scan:
	for ; i < len(s) && s[i] > ' ' && s[i] != 0x7f; i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && punctuation(s[i+1]) {
				i++
			}
		case '(':
			if depth++; depth > maxParens {
				return "", 0
			}
		case ')':
			if depth == 0 {
				break scan
			}
			depth--
		}
	}
	if depth > 0 {
		return "", 0
	}
	return s[:i], i
}

// linkTitle reads a title between quotes or parentheses; n is 0 if s does not begin with
// one.
func linkTitle(s string) (title string, n int) {
	if s == "" {
		return "", 0
	}
	end := s[0]
	switch end {
	case '"', '\'':
	case '(':
		end = ')'
	default:
		return "", 0
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case end:
			return s[1:i], i + 1
		case '(':
			if end == ')' {
				return "", 0
			}
		}
	}
	return "", 0
}

// unescape is text with its escapes and entities read.
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) && punctuation(s[i+1]) {
			b.WriteByte(s[i+1])
			i += 2
			continue
		}
		if s[i] == '&' {
			if text, n := entity(s[i:]); n > 0 {
				b.WriteString(text)
				i += n
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// punctuation reports whether a backslash before c takes its meaning away.
func punctuation(c byte) bool { return c > ' ' && c < 0x7f && (!wordByte(c) || c == '_') }

// entity reads an entity of HTML or a number of a character; n is 0 for what is none.
func entity(s string) (text string, n int) {
	end := strings.IndexByte(s[:min(len(s), maxEntity)], ';')
	if end < 2 {
		return "", 0
	}
	name := s[1:end]
	if name[0] != '#' {
		if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !wordByte(byte(r)) }) >= 0 {
			return "", 0
		}
		text = html.UnescapeString(s[:end+1])
		if strings.HasSuffix(text, ";") && name != "semi" { // none, or one that is shorter
			return "", 0
		}
		return text, end + 1
	}
	digits, base := name[1:], 10
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base = digits[1:], 16
	}
	code, err := strconv.ParseUint(digits, base, 32)
	if err != nil || len(digits) > 7-base/16 {
		return "", 0
	}
	if code == 0 || code > utf8.MaxRune {
		code = utf8.RuneError
	}
	return string(rune(code)), end + 1 // half a surrogate becomes U+FFFD
}

// absolute reports whether s is an address with a scheme.
func absolute(s string) bool {
	at := strings.IndexByte(s[:min(len(s), 33)], ':')
	if at < 2 || !wordByte(s[0]) || s[0] == '_' || s[0] <= '9' {
		return false
	}
	for i := range at {
		if c := s[i]; c == '_' || !wordByte(c) && strings.IndexByte("+.-", c) < 0 {
			return false
		}
	}
	return true
}

// mail reports whether s is the address of a mailbox.
func mail(s string) bool {
	name, host, ok := strings.Cut(s, "@")
	if !ok || name == "" {
		return false
	}
	for i := range len(name) {
		if !wordByte(name[i]) && strings.IndexByte(".!#$%&'*+/=?^`{|}~-", name[i]) < 0 {
			return false
		}
	}
	for part := range strings.SplitSeq(host, ".") {
		if part == "" || len(part) > 63 || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
		for i := range len(part) {
			if c := part[i]; c == '_' || !wordByte(c) && c != '-' {
				return false
			}
		}
	}
	return true
}
