package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Word is an argument as far as it is known before the command runs.
type Word struct {
	Text   string // its value; of one that is not Exact, the beginning that is certain
	Exact  bool   // Text is the whole value
	Source string // as written

	many bool // may become any number of words of any content
	glob bool // only file names decide what it becomes; Source has nothing but the pattern
	pipe bool // the name of a pipe, as <(...) gives
}

// mayBeOption reports whether it may begin with "-" when the program sees it.
func (w Word) mayBeOption() bool {
	if w.Exact {
		return len(w.Text) > 1 && w.Text[0] == '-'
	}
	return !w.pipe && (w.many || w.Text == "" || w.Text[0] == '-')
}

// Same reports whether two words are the same as far as they are known.
func (w Word) Same(o Word) bool {
	return w.Text == o.Text && w.Exact == o.Exact && w.mayBeOption() == o.mayBeOption()
}

// MayBe reports whether the word may have that value when the command runs.
func (w Word) MayBe(text string) bool {
	return w.Exact && w.Text == text || !w.Exact && !w.pipe && (w.many || strings.HasPrefix(text, w.Text))
}

// MayBeOption reports whether it may begin with "-" when the program sees it.
func (w Word) MayBeOption() bool { return w.mayBeOption() }

// unknown is a word of which nothing is known.
func unknown(source string) Word { return Word{Source: source, many: true} }

// value works out words. It knows the values of HOME and PWD, nothing else.
type value struct {
	buf    strings.Builder
	at     Place
	dir    dir
	word   Word
	cut    bool // what follows is no longer certain
	braces bool // an unquoted "{" was seen
	other  bool // it is inexact for more than a pattern of file names
}

// evaluate gives the value of a word. src is the script it stands in.
func evaluate(word *syntax.Word, src string, at Place, d dir) Word {
	source := slice(src, word.Pos(), word.End())
	if l, ok := single(word); ok && plain(l) {
		return Word{Text: l, Exact: true, Source: source}
	}
	v := &value{at: at, dir: d, word: Word{Exact: true, Source: source}}
	for i, part := range word.Parts {
		v.part(part, i == 0, i == len(word.Parts)-1)
	}
	w := v.word
	w.Text = v.buf.String()
	w.Exact = !v.cut
	w.glob = w.glob && !v.other
	if w.pipe && (len(word.Parts) > 1 || w.many) {
		w.pipe = false
	}
	return w
}

// single is the text of a word that is one literal.
func single(word *syntax.Word) (string, bool) {
	if len(word.Parts) != 1 {
		return "", false
	}
	l, ok := word.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	return l.Value, true
}

// plain reports whether the shell takes a literal as it stands.
func plain(s string) bool {
	return s != "" && (s == "[" || s == "[[" || !strings.ContainsAny(s, `\*?[{~`))
}

func (v *value) add(s string) {
	if !v.cut {
		v.buf.WriteString(s)
	}
}

// stop says that from here on the value is not known.
func (v *value) stop(many bool) {
	v.cut, v.other = true, true
	v.word.many = v.word.many || many
}

func (v *value) part(part syntax.WordPart, first, last bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		v.lit(p.Value, first, last)
	case *syntax.SglQuoted:
		if !p.Dollar {
			v.add(p.Value)
		} else if s, ok := ansiC(p.Value); ok {
			v.add(s)
		} else {
			v.stop(false)
		}
	case *syntax.DblQuoted:
		v.quoted(p)
	case *syntax.ProcSubst:
		v.word.pipe = true
		v.stop(false)
	case *syntax.ExtGlob:
		v.stop(false)
	case *syntax.CmdSubst: // unquoted, it may become any words
		v.stop(true)
	default:
		if !v.known(p) {
			v.stop(!isNumber(p))
		}
	}
}

func (v *value) quoted(p *syntax.DblQuoted) {
	if p.Dollar { // may be translated
		v.stop(false)
	}
	for _, q := range p.Parts {
		if l, ok := q.(*syntax.Lit); ok {
			v.add(unescapeQuoted(l.Value))
		} else if !v.known(q) {
			v.stop(spreads(q))
		}
	}
}

// known adds the value of $HOME, of $PWD, and of $(cat <<'EOF' ...), which is how
// models write long messages.
func (v *value) known(part syntax.WordPart) bool {
	if c, ok := part.(*syntax.CmdSubst); ok {
		text, ok := hereText(c)
		if ok {
			v.add(text)
		}
		return ok
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
		return false
	}
	var s string
	switch p.Param.Value {
	case "HOME":
		s = v.at.Home
	case "PWD":
		switch {
		case isAbs(v.dir.name):
			s = v.dir.name
		case v.dir.name != "" && v.at.Root != "":
			s = strings.TrimSuffix(v.at.Root+"/"+v.dir.name, "/.")
		}
	}
	if !unquoted(s) {
		return false
	}
	v.add(s)
	return true
}

// hereText is what $(cat <<EOF ...) gives, if the text is written out.
func hereText(c *syntax.CmdSubst) (string, bool) {
	if len(c.Stmts) != 1 || len(c.Stmts[0].Redirs) != 1 || c.Stmts[0].Background || c.Stmts[0].Negated {
		return "", false
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 || len(call.Assigns) > 0 {
		return "", false
	}
	if l, ok := single(call.Args[0]); !ok || l != "cat" {
		return "", false
	}
	r := c.Stmts[0].Redirs[0]
	if r.Op != syntax.Hdoc || r.N != nil || r.Hdoc == nil || !plainDelimiter(r.Word) {
		return "", false
	}
	text, ok := single(r.Hdoc)
	if !ok {
		return "", false
	}
	if l, bare := single(r.Word); bare && !strings.HasPrefix(l, `\`) {
		text = unescapeQuoted(text)
	}
	return strings.TrimRight(text, "\n"), true
}

// isNumber reports whether an expansion is a number or nothing: $#, $?.
func isNumber(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && p.Short && p.Param != nil && (p.Param.Value == "#" || p.Param.Value == "?")
}

// spreads reports whether a quoted expansion may still become several words.
func spreads(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	if !ok {
		return false
	}
	if p.Param == nil || p.Param.Value == "@" || p.Names != 0 || p.Excl {
		return true
	}
	return p.Index != nil // "${a[@]}"
}

// lit adds an unquoted literal: escapes are taken off, patterns, braces and "~"
// are noted.
func (v *value) lit(s string, first, last bool) {
	if first && strings.HasPrefix(s, "~") {
		rest := s[1:]
		if v.at.Home != "" && (rest == "" && last || strings.HasPrefix(rest, "/")) {
			v.add(v.at.Home)
			s = rest
		} else {
			v.add("~")
			v.stop(false)
			return
		}
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch c {
		case '\\':
			i++
			if i < len(s) {
				v.add(s[i : i+1])
			} else {
				v.add(`\`)
			}
			continue
		case '*', '?', '[':
			v.cut, v.word.glob = true, true
			continue
		case '{':
			v.braces = true
		case ',':
			if v.braces {
				v.brace()
			}
		case '.':
			if v.braces && strings.HasPrefix(s[i:], "..") {
				v.brace()
			}
		}
		v.add(s[i : i+1])
	}
}

// brace says that the word is a list in braces: what stands before the first
// brace is certain.
func (v *value) brace() {
	if !v.cut {
		text := v.buf.String()
		v.buf.Reset()
		text, _, _ = strings.Cut(text, "{")
		v.buf.WriteString(text)
	}
	v.stop(false)
}

// unescapeQuoted takes the escapes off a literal in double quotes.
func unescapeQuoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\\"$`", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansiC is the value of $'...'. Escapes by number are not worked out.
func ansiC(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false
		}
		const from, to = `abeEfnrtv\'"?`, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
		j := strings.IndexByte(from, s[i])
		if j < 0 {
			return "", false
		}
		b.WriteByte(to[j])
	}
	return b.String(), true
}

// slice is a piece of a script. Positions of nested backquotes may lie outside.
func slice(src string, from, to syntax.Pos) string {
	a, b := int(from.Offset()), int(to.Offset())
	if a < 0 || b > len(src) || a > b {
		return src
	}
	return src[a:b]
}
