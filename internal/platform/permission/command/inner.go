package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word evaluates a word and walks what runs inside of it.
func (w *walker) word(word *syntax.Word, d dir) Word {
	if l, ok := single(word); ok && plain(l) {
		return Word{Text: l, Exact: true, Source: l}
	}
	w.inner(word, d)
	return evaluate(word, w.src, w.at, d)
}

// inner walks the substitutions in any piece of syntax, and notes what in it can
// run something without looking like it: bash evaluates array subscripts in
// arithmetic and in names, so that x='a[$(cmd)]'; echo $((x)) runs cmd.
func (w *walker) inner(n syntax.Node, d dir) {
	why := ""
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes && strings.Contains(w.text(n), `\`) {
				why = "it has escapes in backquotes"
			}
			w.stmts(n.Stmts, d)
			return false
		case *syntax.ProcSubst:
			w.stmts(n.Stmts, d)
			return false
		case *syntax.ParamExp:
			why = first(why, w.expansion(n, d))
		case *syntax.DblQuoted:
			if n.Dollar { // what a catalogue of translations gives is expanded once more
				why = "it is translated before it is used"
			}
		case *syntax.ArithmExp:
			why = first(why, arithmetic(n.X))
		case *syntax.ArithmCmd:
			why = first(why, arithmetic(n.X))
		case *syntax.CStyleLoop:
			why = first(why, arithmetic(n.Init), arithmetic(n.Cond), arithmetic(n.Post))
		case *syntax.LetClause:
			for _, x := range n.Exprs {
				why = first(why, arithmetic(x))
			}
		case *syntax.Assign:
			why = first(why, arithmetic(n.Index))
		case *syntax.ArrayElem:
			why = first(why, arithmetic(n.Index))
		case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.ExtGlob, *syntax.ArrayExpr,
			*syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm,
			*syntax.BinaryTest, *syntax.UnaryTest, *syntax.ParenTest, *syntax.TestClause, *syntax.Comment:
		default:
			why = "it uses a form of the shell that is not known here"
		}
		return true
	})
	if why != "" {
		w.opaque(w.text(n), why, d)
	}
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// expansion says what an expansion does beside giving a value.
func (w *walker) expansion(p *syntax.ParamExp, d dir) string {
	switch {
	case p.Param == nil || p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0:
		return "it uses a form of the shell that is not known here"
	case p.Excl && p.Names == 0:
		return "it expands a variable whose name comes from another"
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		return "it expands a value once more"
	case p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull):
		w.variable(p.Param.Value, w.text(p), d)
	}
	why := ""
	if p.Slice != nil {
		why = first(arithmetic(p.Slice.Offset), arithmetic(p.Slice.Length))
	}
	if l, ok := p.Index.(*syntax.Word); ok && (l.Lit() == "@" || l.Lit() == "*") {
		return why
	}
	return first(why, arithmetic(p.Index))
}

// arithmetic says why an expression is more than numbers and operators.
func arithmetic(x syntax.ArithmExpr) string {
	if x == nil {
		return ""
	}
	why := ""
	syntax.Walk(x, func(n syntax.Node) bool {
		plain := false
		switch n := n.(type) {
		case nil, *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm, *syntax.Lit:
			plain = true
		case *syntax.Word:
			plain = n.Lit() != "" && strings.Trim(n.Lit(), "0123456789") == ""
		}
		if !plain {
			why = "it calculates with variables, whose contents the shell evaluates"
		}
		return plain
	})
	return why
}

// test walks [[ ... ]].
func (w *walker) test(c *syntax.TestClause, d dir) {
	w.emit(Part{Kind: Shell, Text: short(w.text(c)), Layers: w.outer, dir: d})
	why := ""
	syntax.Walk(c, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				why = "it evaluates the name of a variable"
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				why = first(why, number(n.X), number(n.Y))
			}
		}
		return true
	})
	if why != "" {
		w.opaque(w.text(c), why, d)
	}
	w.inner(c, d)
}

// number says why an operand of -eq and the like is more than a number. $# and $?
// are numbers.
func number(x syntax.TestExpr) string {
	word, ok := x.(*syntax.Word)
	if ok && len(word.Parts) == 1 {
		switch p := word.Parts[0].(type) {
		case *syntax.Lit:
			if strings.Trim(p.Value, "0123456789") == "" {
				return ""
			}
		default:
			if isNumber(p) {
				return ""
			}
		}
	}
	return "it calculates with variables, whose contents the shell evaluates"
}

// declare walks export, local, declare and the like.
func (w *walker) declare(c *syntax.DeclClause, d dir) {
	text := short(w.text(c))
	w.emit(Part{Kind: Shell, Text: text, Layers: w.outer, dir: d})
	exports := c.Variant.Value == "export"
	for _, a := range c.Args {
		if a.Name == nil { // an option, or a word that is not known
			l := ""
			if a.Value != nil {
				l = a.Value.Lit()
				w.word(a.Value, d)
			}
			switch {
			case exports && l == "-p":
			case !exports && (l == "-r" || l == "-a" || l == "-A" || l == "-g" || l == "-p"):
			default:
				w.opaque(text, "it declares a variable in a way that is not known here", d)
			}
			continue
		}
		if exports && !(Assign{a.Name.Value, w.literal(a.Value, d)}).Harmless() {
			w.opaque(text, "it sets "+a.Name.Value+" for all commands that follow", d)
		} else if !exports {
			w.variable(a.Name.Value, text, d)
		}
		w.inner(a, d)
	}
}

// literal is the value of a word, or of none; it walks nothing.
func (w *walker) literal(word *syntax.Word, d dir) Word {
	if word == nil {
		return Word{Exact: true}
	}
	return evaluate(word, w.src, w.at, d)
}

// redirect notes what a redirection opens. It returns the text it feeds in, if
// it does.
func (w *walker) redirect(r *syntax.Redirect, d dir) syntax.Node {
	text := short(slice(w.src, r.Pos(), r.Word.End()))
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		w.opaque(text, "it sets a variable to a file", d)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return r.Word
		}
		if !plainDelimiter(r.Word) || joinedLines(r, w.src) {
			w.opaque(text, "where the text in the line ends is not certain", d)
		}
		w.inner(r.Hdoc, d)
		return r.Hdoc
	case syntax.WordHdoc:
		w.word(r.Word, d)
		return r.Word
	}
	word := w.word(r.Word, d)
	kind := Write
	switch r.Op {
	case syntax.RdrIn:
		kind = Read
	case syntax.DplIn, syntax.DplOut:
		if word.Exact && strings.Trim(word.Text, "0123456789") == "" || word.Text == "-" {
			return nil
		}
	}
	w.emit(w.opens(kind, word, text, d))
	if kind == Read {
		return r.Word
	}
	return nil
}

// opens is the part of a redirection.
func (w *walker) opens(kind Kind, word Word, text string, d dir) Part {
	p := Part{Kind: kind, Text: text, Layers: w.outer, dir: d}
	switch {
	case word.pipe:
		p.Kind = Shell
	case !word.Exact:
		p.Path = Path{Text: word.Source}
		p.Opaque = "the name of the file it opens is not known before it runs"
	default:
		p.Path = w.at.Resolve(d, word.Text)
		p.Danger = opening(kind, p.Path, w.at)
	}
	return p
}

// joinedLines reports whether a here-document, in which escapes count, has lines
// that end in a backslash: its end may then be one that is written in two lines.
func joinedLines(r *syntax.Redirect, src string) bool {
	_, bare := single(r.Word)
	return bare && strings.Contains(slice(src, r.Hdoc.Pos(), r.Hdoc.End()), "\\\n")
}

// plainDelimiter reports whether all shells and parsers agree on the end of a
// here-document.
func plainDelimiter(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	s := ""
	switch p := word.Parts[0].(type) {
	case *syntax.Lit:
		s = strings.TrimPrefix(p.Value, `\`)
	case *syntax.SglQuoted:
		s = p.Value
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 {
			if l, ok := p.Parts[0].(*syntax.Lit); ok {
				s = l.Value
			}
		}
	}
	for _, c := range s {
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}
