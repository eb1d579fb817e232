// Package highlight colours code, line by line, with one lexer whose languages
// are rows of a table: what begins a comment, a string, a word of meaning. It
// knows no grammar; it is right where a reader looks, and cheap.
package highlight

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// Kind is what a piece of code is.
type Kind uint8

const (
	Plain Kind = iota
	Comment
	Keyword
	Function
	Variable
	String
	Number
	Type
	Operator
	Punctuation
	Added
	Removed
	Heading // of a diff
)

// Piece is a part of a line.
type Piece struct {
	Text string
	Kind Kind
}

// Lexer colours the lines of one text, in order. It is a value: a copy goes on
// from where it was made.
type Lexer struct {
	lang   *language
	inside string // what ends the comment or string that earlier lines began
	kind   Kind   // of that
	tag    bool   // within a tag of HTML
}

// New is a lexer for a language, by its name or a file's extension. Text in a
// language that is not known is Plain.
func New(name string) Lexer {
	return Lexer{lang: languageOf(strings.ToLower(name))}
}

// Known reports whether there is anything to colour.
func (l *Lexer) Known() bool { return l.lang != nil }

// maxLine is how much of a line is read, in bytes; the rest of it is Plain.
const maxLine = 2000

// Line appends the pieces of the next line, without its end.
func (l *Lexer) Line(dst []Piece, line string) []Piece {
	if l.lang == nil || line == "" {
		if line == "" {
			return dst
		}
		return append(dst, Piece{line, Plain})
	}
	rest := ""
	if len(line) > maxLine {
		head := prose.Head(line, maxLine)
		line, rest = head, line[len(head):]
	}
	if l.lang.byLine != nil {
		dst = append(dst, Piece{line, l.lang.byLine(line)})
	} else {
		s := scan{Lexer: l, line: line, dst: dst}
		s.all()
		dst = s.dst
	}
	if rest != "" {
		dst = append(dst, Piece{rest, Plain})
	}
	return dst
}

type scan struct {
	*Lexer
	line string
	pos  int
	dst  []Piece
}

func (s *scan) put(n int, k Kind) {
	text := s.line[s.pos : s.pos+n]
	s.pos += n
	if last := len(s.dst) - 1; last >= 0 && s.dst[last].Kind == k && s.pos > n {
		// Neighbours of one kind are one piece of the line.
		from := s.pos - n - len(s.dst[last].Text)
		s.dst[last].Text = s.line[from:s.pos]
		return
	}
	s.dst = append(s.dst, Piece{text, k})
}

func (s *scan) all() {
	if s.inside != "" {
		s.until(0, s.inside, s.kind)
	}
	for s.pos < len(s.line) {
		s.one()
	}
}

// until takes text from the position up to end, of which skip bytes are sure to be
// inside. An end that does not come makes the next line begin inside.
func (s *scan) until(skip int, end string, k Kind) {
	rest := s.line[s.pos:]
	for i := skip; i < len(rest); i++ {
		if rest[i] == '\\' && k == String && s.lang.escapes {
			i++
			continue
		}
		if strings.HasPrefix(rest[i:], end) {
			s.inside = ""
			s.put(i+len(end), k)
			return
		}
	}
	s.inside, s.kind = end, k
	s.put(len(rest), k)
}

func (s *scan) one() {
	rest := s.line[s.pos:]
	if s.lang.markup && !s.tag {
		s.markup(rest)
		return
	}
	if s.comment(rest) || s.text(rest) {
		return
	}
	c := rest[0]
	switch {
	case s.lang.markup && c == '>':
		s.tag = false
		s.put(1, Punctuation)
	case c == ' ' || c == '\t':
		s.put(len(rest)-len(strings.TrimLeft(rest, " \t")), Plain)
	case '0' <= c && c <= '9' || s.lang.css && c == '#' && len(rest) > 1 && isHex(rest[1]):
		s.put(number(rest), Number)
	case c == '$' && s.lang.dollar && len(rest) > 1:
		s.put(variable(rest), Variable)
	case wordStart(rest, s.lang):
		s.word(rest)
	case strings.IndexByte("()[]{},;", c) >= 0:
		s.put(1, Punctuation)
	case c < utf8.RuneSelf:
		s.put(1, Operator)
	default:
		_, n := utf8.DecodeRuneInString(rest)
		s.put(n, Plain)
	}
}

func (s *scan) comment(rest string) bool {
	for _, mark := range s.lang.line {
		if strings.HasPrefix(rest, mark) && (mark != "#" || s.pos == 0 || s.line[s.pos-1] == ' ' || s.line[s.pos-1] == '\t') {
			s.put(len(rest), Comment)
			return true
		}
	}
	if s.lang.block[0] != "" && strings.HasPrefix(rest, s.lang.block[0]) {
		s.until(len(s.lang.block[0]), s.lang.block[1], Comment)
		return true
	}
	return false
}

func (s *scan) text(rest string) bool {
	for _, mark := range s.lang.long {
		if strings.HasPrefix(rest, mark) {
			s.until(len(mark), mark, String)
			return true
		}
	}
	c := rest[0]
	if strings.IndexByte(s.lang.quotes, c) < 0 {
		return false
	}
	if c == '\'' && s.lang.ticks && !character(rest) {
		return false // a lifetime
	}
	n := 1
	for n < len(rest) && rest[n] != c {
		if rest[n] == '\\' && s.lang.escapes {
			n++
		}
		n++
	}
	n = min(n+1, len(rest))
	k := String
	if s.lang.keys && strings.HasPrefix(strings.TrimLeft(rest[n:], " "), ":") {
		k = Variable // the name of a property
	}
	s.put(n, k)
	return true
}

// character reports whether rest begins with one character between quotes.
func character(rest string) bool {
	if len(rest) > 2 && rest[1] == '\\' {
		return true
	}
	_, n := utf8.DecodeRuneInString(rest[1:])
	return len(rest) > 1+n && rest[1+n] == '\''
}

func (s *scan) markup(rest string) {
	if s.comment(rest) {
		return
	}
	if rest[0] != '<' {
		n := strings.IndexByte(rest, '<')
		if n < 0 {
			n = len(rest)
		}
		s.put(n, Plain)
		return
	}
	n := 1
	for n < len(rest) && strings.IndexByte("/!?", rest[n]) >= 0 {
		n++
	}
	s.put(n, Punctuation)
	rest = rest[n:]
	n = 0
	for n < len(rest) && (wordByte(rest[n]) || rest[n] == '-' || rest[n] == ':') {
		n++
	}
	if n > 0 {
		s.put(n, Keyword)
	}
	s.tag = true
}

func (s *scan) word(rest string) {
	n := 0
	if strings.IndexByte(s.lang.startWords, rest[0]) >= 0 {
		n = 1
	}
	for n < len(rest) {
		if c := rest[n]; c < utf8.RuneSelf {
			if !wordByte(c) && strings.IndexByte(s.lang.inWords, c) < 0 {
				break
			}
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(rest[n:])
		if !unicode.IsLetter(r) {
			break
		}
		n += size
	}
	word := rest[:n]
	key := word
	if s.lang.anyCase {
		key = strings.ToLower(word)
	}
	after := strings.TrimLeft(rest[n:], " ")
	switch {
	case s.lang.markup:
		s.put(n, Variable) // an attribute
	case s.lang.keywords[key]:
		s.put(n, Keyword)
	case s.lang.types[key]:
		s.put(n, Type)
	case s.lang.keys && strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "::"):
		s.put(n, Variable)
	case strings.HasPrefix(rest[n:], "(") || s.lang.bang && strings.HasPrefix(rest[n:], "!("):
		s.put(n, Function)
	case s.lang.capitals && word[0] >= 'A' && word[0] <= 'Z' && n > 1:
		s.put(n, Type)
	default:
		s.put(n, Plain)
	}
}

func wordStart(s string, l *language) bool {
	if c := s[0]; c < utf8.RuneSelf {
		return wordByte(c) || strings.IndexByte(l.startWords, c) >= 0 && len(s) > 1 && wordByte(s[1])
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || '0' <= c && c <= '9'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func number(s string) int {
	n := 1
	for n < len(s) && (wordByte(s[n]) || s[n] == '.' && n+1 < len(s) && '0' <= s[n+1] && s[n+1] <= '9' || s[n] == '%') {
		n++
	}
	return n
}

// variable is the length of a shell's variable, without what ${…} does with it.
func variable(s string) int {
	n := 1
	if s[1] == '{' {
		if end := strings.IndexByte(s, '}'); end > 0 {
			return end + 1
		}
		return len(s)
	}
	for n < len(s) && wordByte(s[n]) {
		n++
	}
	if n == 1 && strings.IndexByte("?#@*!$-", s[1]) >= 0 {
		return 2
	}
	return n
}
