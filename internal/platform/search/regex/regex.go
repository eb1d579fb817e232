// Package regex finds what matches an RE2 expression in large texts, at the
// speed of a search tool.
//
// The standard regexp package costs tens of nanoseconds a byte. Here most bytes
// never reach an automaton at all:
//
//  1. [Compile] takes from the syntax tree the literals of which every match
//     holds at least one, and looks for their rarest bytes, or for the rarest
//     pairs and triples of many literals at once.
//  2. A line with such a literal goes through a deterministic automaton that is
//     built as it is needed and costs one table look-up a byte. Patterns
//     without a useful literal run it over the whole text.
//  3. Only the lines that are reported go through the machine that knows where
//     in a line the matches are.
//
// The syntax, and which match is found, are those of Go's regexp package.
//
// A [Regex] is shared; each goroutine has a [Matcher] of it. A matcher without
// [Options.Multiline] sees each line as a text of its own: [Matcher.Next] gives
// the lines that match, [Matcher.Spans] the matches in a line. With it the whole
// text is one, and [Matcher.Find] gives match after match.
//
// Text is UTF-8. A line that is not is read as Windows-1252, which is what
// such files mostly are ([Decode]). The carriage return of a CR LF belongs to no
// line.
package regex

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// Options say how a pattern is meant.
type Options struct {
	Literal    bool // the pattern is no expression
	IgnoreCase bool
	SmartCase  bool // ignore case unless the pattern has an upper-case letter
	Word       bool // no letter, digit or "_" may stand beside a match
	Multiline  bool // "." matches line ends too, and a match may hold them
}

// maxProgram bounds what a pattern may expand to, in instructions. The largest
// take some megabytes and are slow, but can be stopped.
const maxProgram = 20_000

// Regex is a compiled pattern. It never changes.
type Regex struct {
	prog   *program
	finder *finder // of literals that a match must hold; nil: none that is worth it
	exact  bool    // a literal that was found is a match
}

// Compile reads a pattern. Its error is one line that says what is wrong.
func Compile(pattern string, o Options) (*Regex, error) {
	tree, err := parse(pattern, o)
	if err != nil {
		return nil, err
	}
	if !o.Multiline && needsLineEnd(tree) {
		return nil, errors.New("pattern: a line end can only be matched by a multiline search")
	}
	if !o.Multiline {
		tree = dropLineEnd(tree)
	}
	if size(tree) > maxProgram {
		return nil, fmt.Errorf("pattern: expands to more than %d steps, use smaller repeat counts", maxProgram)
	}
	must := extract(tree.Simplify())
	compiled, err := syntax.Compile(around(tree, o).Simplify())
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	r := &Regex{prog: newProgram(compiled, !o.Multiline)}
	if !r.prog.empty {
		r.finder = must.finder()
		r.exact = r.finder != nil && must.complete && !r.finder.cr && !o.Word
	}
	return r, nil
}

// parse gives the syntax tree of a pattern, without its groups.
func parse(pattern string, o Options) (*syntax.Regexp, error) {
	if !utf8.ValidString(pattern) {
		return nil, errors.New("pattern: is not valid UTF-8")
	}
	flags := syntax.Perl &^ syntax.OneLine
	if o.Literal {
		flags = syntax.Literal
	} else {
		pattern = mendBraces(pattern)
	}
	if o.IgnoreCase || o.SmartCase && !hasUpper(pattern, o.Literal) {
		flags |= syntax.FoldCase
	}
	if o.Multiline {
		flags |= syntax.DotNL
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, explain(err)
	}
	return dropGroups(tree), nil
}

// explain says what the parser did not like, and what to do about what other
// engines know and RE2 does not.
func explain(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("pattern: %w", err)
	}
	expr := e.Expr
	if len(expr) > 60 {
		expr = prose.Head(expr, 60) + "..."
	}
	hint := ""
	switch {
	case e.Code == syntax.ErrMissingRepeatArgument && strings.HasPrefix(expr, "?"),
		strings.HasPrefix(expr, "(?=") || strings.HasPrefix(expr, "(?!") || strings.HasPrefix(expr, "(?<=") || strings.HasPrefix(expr, "(?<!"):
		hint = ": look-around is not supported"
	case e.Code == syntax.ErrInvalidEscape && len(expr) == 2 && expr[1] >= '1' && expr[1] <= '9':
		hint = ": back-references are not supported"
	case e.Code == syntax.ErrMissingParen, e.Code == syntax.ErrUnexpectedParen, e.Code == syntax.ErrMissingBracket:
		hint = `: write "\(", "\)" or "\[" for the character itself`
	}
	return fmt.Errorf("pattern: %s in %q%s", e.Code, expr, hint)
}

// dropGroups takes the capturing groups out: nobody asks for them.
func dropGroups(re *syntax.Regexp) *syntax.Regexp {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	for i, sub := range re.Sub {
		re.Sub[i] = dropGroups(sub)
	}
	return re
}

// around puts the match into group 1 and what must stand beside it around that.
// The neighbours of a word are looked at by matching them: group 1 is without
// them.
func around(tree *syntax.Regexp, o Options) *syntax.Regexp {
	match := &syntax.Regexp{Op: syntax.OpCapture, Cap: 1, Sub: []*syntax.Regexp{tree}}
	if !o.Word {
		return match
	}
	beside := func(border syntax.Op) *syntax.Regexp {
		other, err := syntax.Parse(`[^\pL\pM\pN\p{Pc}]`, syntax.Perl)
		if err != nil {
			panic(err) // a constant
		}
		return &syntax.Regexp{Op: syntax.OpAlternate, Sub: []*syntax.Regexp{{Op: border}, other}}
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{
		beside(syntax.OpBeginLine), match, beside(syntax.OpEndLine),
	}}
}

// needsLineEnd reports whether a line end is written in the pattern.
func needsLineEnd(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if needsLineEnd(sub) {
			return true
		}
	}
	return false
}

// dropLineEnd takes the line end out of classes, such as \s: lines hold none.
func dropLineEnd(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCharClass {
		var kept []rune
		for i := 0; i+1 < len(re.Rune); i += 2 {
			lo, hi := re.Rune[i], re.Rune[i+1]
			if hi < '\n' || lo > '\n' {
				kept = append(kept, lo, hi)
				continue
			}
			if lo < '\n' {
				kept = append(kept, lo, '\n'-1)
			}
			if hi > '\n' {
				kept = append(kept, '\n'+1, hi)
			}
		}
		if len(kept) == 0 {
			return &syntax.Regexp{Op: syntax.OpNoMatch}
		}
		re.Rune = kept
	}
	for i, sub := range re.Sub {
		re.Sub[i] = dropLineEnd(sub)
	}
	return re
}

// size estimates how many instructions a tree compiles to.
func size(re *syntax.Regexp) int {
	n := 1 + min(len(re.Rune)/2, 100) // larger classes share most of their bytes
	for _, sub := range re.Sub {
		n = min(n+size(sub), 2*maxProgram)
	}
	if re.Op == syntax.OpRepeat {
		n = min(n*max(re.Min, re.Max, 1), 2*maxProgram)
	}
	return n
}

// hasUpper reports whether a pattern has an upper-case letter that is meant as
// one: not that of \S or \pL.
func hasUpper(pattern string, literal bool) bool {
	for i := 0; i < len(pattern); {
		r, n := utf8.DecodeRuneInString(pattern[i:])
		if r == '\\' && !literal {
			i += escapeLen(pattern[i:])
			continue
		}
		if unicode.IsUpper(r) {
			return true
		}
		i += n
	}
	return false
}

// escapeLen is the length of the escape that s begins with: \S, \pL, \p{Greek},
// \x{10FFFF}.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	_, n := utf8.DecodeRuneInString(s[1:])
	n++
	if !strings.ContainsRune("pPx", rune(s[1])) {
		return n
	}
	if len(s) > 2 && s[2] == '{' {
		if end := strings.IndexByte(s, '}'); end > 0 {
			return end + 1
		}
	}
	return min(n+1, len(s))
}

// mendBraces makes braces literal that people write as such: one that asks for
// repetition where there is nothing to repeat, as in "{2}" or "({3})", and the
// dollar sign before a brace that asks for none, as in "${name}", which could
// match nothing. The parser takes other stray braces literally by itself.
func mendBraces(p string) string {
	var b strings.Builder
	class, start := false, true // in brackets; nothing to repeat yet
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			n := escapeLen(p[i:])
			if strings.HasPrefix(p[i:], `\Q`) {
				n = len(p) - i
				if end := strings.Index(p[i:], `\E`); end >= 0 {
					n = end + 2
				}
			}
			b.WriteString(p[i : i+n])
			i += n - 1
			start = false
			continue
		case class:
			class = c != ']'
		case c == '[':
			class, start = true, false
			b.WriteByte(c)
			for _, first := range []string{"^", "]"} { // "[]a]" and "[^]a]" begin with a bracket
				if strings.HasPrefix(p[i+1:], first) {
					b.WriteString(first)
					i++
				}
			}
			continue
		case c == '{' && start && repeatLen(p[i:]) > 0:
			b.WriteByte('\\')
			start = false
		case c == '$' && strings.HasPrefix(p[i+1:], "{") && repeatLen(p[i+1:]) == 0:
			b.WriteByte('\\')
			start = false
		case c == '(' && strings.HasPrefix(p[i+1:], "?"):
			n := strings.IndexAny(p[i:], ":)>") + 1
			b.WriteString(p[i : i+max(n, 1)])
			i += max(n, 1) - 1
			start = true
			continue
		default:
			start = c == '(' || c == '|'
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// repeatLen is the length of the {n}, {n,} or {n,m} that s begins with, 0 if none.
func repeatLen(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	i := digits(1)
	if i == 1 {
		return 0
	}
	if i < len(s) && s[i] == ',' {
		i = digits(i + 1)
	}
	if i < len(s) && s[i] == '}' {
		return i + 1
	}
	return 0
}
