package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker goes through a script in the order in which the shell would, knows the
// folder at each point, and collects parts.
type walker struct {
	line  *Line
	at    Place
	src   string    // the script being walked
	outer []Call    // the calls that run it
	env   []Assign  // assignments that hold around it
	from  *producer // what the standard input comes from
	depth int
	// hiding is set inside of an opaque call: what is found may run.
	hiding bool
}

// producer is what feeds the standard input of a part.
type producer struct {
	stmt   *syntax.Stmt // the left side of a pipe
	text   syntax.Node  // a text in the line
	source string       // either, as written
	up     *producer    // what feeds stmt
}

// script walks a text by each grammar. The folder afterwards is what all agree on.
func (w *walker) script(text string, langs []syntax.LangVariant, d dir) (ok, end dir) {
	if w.depth > maxDepth {
		w.fail("shells are nested too deeply")
		return d, d
	}
	if len(langs) == 0 {
		w.fail("the shell that runs it is not known")
		return d, d
	}
	src := w.src
	w.src = text
	w.depth++
	defer func() { w.src = src; w.depth-- }()
	start := len(w.line.Parts)
	for i, lang := range langs {
		before := len(w.line.Parts)
		f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
		if err != nil {
			w.fail("it cannot be parsed: " + strings.TrimPrefix(short(err.Error()), ":"))
			return d, d
		}
		w.free(f)
		o, e := w.stmts(f.Stmts, d)
		if i == 0 {
			ok, end = o, e
		} else {
			ok, end = ok.merge(o), end.merge(e)
			w.unite(start, before)
		}
	}
	return ok, end
}

// unite drops the parts from before on if they say what those from start on said.
func (w *walker) unite(start, before int) {
	a, b := w.line.Parts[start:before], w.line.Parts[before:]
	same := len(a) == len(b)
	for i := 0; same && i < len(a); i++ {
		same = a[i].Kind == b[i].Kind && a[i].Text == b[i].Text && a[i].Opaque == b[i].Opaque && a[i].Danger == b[i].Danger &&
			slices.EqualFunc(a[i].Call().Words, b[i].Call().Words, Word.Same)
	}
	if same {
		w.line.Parts = w.line.Parts[:before]
	}
}

func (w *walker) fail(why string) {
	if w.line.Failure == "" {
		w.line.Failure = why
	}
}

func (w *walker) emit(p Part) {
	if len(w.line.Parts) >= maxParts {
		w.fail("it has more than 1000 parts")
		return
	}
	p.at = w.at
	p.feed(w.from)
	p.Hidden = w.hiding
	w.line.Parts = append(w.line.Parts, p)
}

// opaque adds a part that changes the shell in a way that is not known.
func (w *walker) opaque(text, why string, d dir) {
	w.emit(Part{Kind: Shell, Text: short(text), Layers: w.outer, Opaque: why, dir: d})
}

func (w *walker) text(n syntax.Node) string { return slice(w.src, n.Pos(), n.End()) }

// stmts walks a list. ok is the folder if the last one succeeds, end in any case.
func (w *walker) stmts(list []*syntax.Stmt, d dir) (ok, end dir) {
	ok, end = d, d
	for _, s := range list {
		ok, end = w.stmt(s, end)
	}
	return ok, end
}

func (w *walker) stmt(s *syntax.Stmt, d dir) (ok, end dir) {
	from := w.from
	defer func() { w.from = from }()
	for _, r := range s.Redirs {
		if n := w.redirect(r, d); n != nil {
			w.from = &producer{text: n, source: w.text(n)}
		}
	}
	if s.Coprocess || s.Disown {
		w.opaque(w.text(s), "it runs beside the shell", d)
	}
	ok, end = w.command(s, d)
	if s.Background {
		return d, d
	}
	if s.Negated {
		return end, end
	}
	return ok, end
}

func (w *walker) command(s *syntax.Stmt, d dir) (ok, end dir) {
	switch c := s.Cmd.(type) {
	case nil:
		return d, d
	case *syntax.CallExpr:
		return w.simple(c, d)
	case *syntax.BinaryCmd:
		return w.binary(c, d)
	case *syntax.Subshell:
		w.stmts(c.Stmts, d)
		return d, d
	case *syntax.Block:
		return w.stmts(c.Stmts, d)
	case *syntax.IfClause:
		end = w.ifClause(c, d)
	case *syntax.WhileClause:
		end = loopDir(c, d)
		w.stmts(c.Cond, end)
		w.stmts(c.Do, end)
	case *syntax.ForClause:
		end = loopDir(c, d)
		w.loop(c.Loop, end)
		w.stmts(c.Do, end)
	case *syntax.CaseClause:
		end = w.caseClause(c, d)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return d, d
		}
		return w.stmt(c.Stmt, d)
	case *syntax.CoprocClause:
		w.opaque(w.text(c), "it runs beside the shell", d)
		w.stmt(c.Stmt, d)
		return d, d
	case *syntax.FuncDecl:
		w.function(c, d)
		return d, d
	case *syntax.DeclClause:
		w.declare(c, d)
		return d, d
	case *syntax.TestClause:
		w.test(c, d)
		return d, d
	default: // arithmetic commands, let, and whatever the grammar gains
		w.inner(c, d)
		return d, d
	}
	return end, end
}

func (w *walker) binary(c *syntax.BinaryCmd, d dir) (ok, end dir) {
	switch c.Op {
	case syntax.AndStmt:
		okX, endX := w.stmt(c.X, d)
		okY, endY := w.stmt(c.Y, okX)
		return okY, endX.merge(endY)
	case syntax.OrStmt:
		okX, endX := w.stmt(c.X, d)
		okY, endY := w.stmt(c.Y, endX)
		if leaves(c.Y) { // cd x || exit
			return okX, okX
		}
		return okX.merge(okY), okX.merge(endX).merge(endY)
	default: // pipes: each side is a subshell, but for the last one in some shells
		_, endX := w.stmt(c.X, d)
		from := w.from
		w.from = &producer{stmt: c.X, source: w.text(c.X), up: from}
		_, endY := w.stmt(c.Y, d)
		w.from = from
		end = d.merge(endX).merge(endY)
		return end, end
	}
}

// leaves reports whether a statement ends the shell, so that nothing behind it runs.
func leaves(s *syntax.Stmt) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if s.Background || len(s.Redirs) > 0 || len(c.Args) == 0 || len(c.Args) > 2 || c.Args[0].Lit() != "exit" {
			return false // with a second argument, or a redirection that fails, it stays
		}
		return len(c.Args) == 1 || isDigits(c.Args[1].Lit())
	case *syntax.Block:
		return len(c.Stmts) > 0 && !s.Background && leaves(c.Stmts[len(c.Stmts)-1])
	}
	return false
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (w *walker) ifClause(c *syntax.IfClause, d dir) dir {
	ok, end := w.stmts(c.Cond, d)
	if len(c.Cond) == 0 { // else
		ok = d
	}
	_, then := w.stmts(c.Then, ok)
	out := then.merge(end)
	if c.Else != nil {
		out = out.merge(w.ifClause(c.Else, end))
	}
	return out
}

func (w *walker) caseClause(c *syntax.CaseClause, d dir) dir {
	w.word(c.Word, d)
	out := d
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.word(p, d)
		}
		_, end := w.stmts(item.Stmts, out)
		out = out.merge(end)
	}
	return out
}

func (w *walker) loop(l syntax.Loop, d dir) {
	it, ok := l.(*syntax.WordIter)
	if !ok {
		w.inner(l, d)
		return
	}
	w.variable(it.Name.Value, w.text(it), d)
	for _, item := range it.Items {
		w.word(item, d)
	}
}

// loopDir is the folder at the beginning of a loop's body, any time.
func loopDir(n syntax.Node, d dir) dir {
	moves := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			moves = moves || mayMove(c.Args)
		}
		return !moves
	})
	if moves {
		return dir{}
	}
	return d
}

// mayMove reports whether a call may change the shell's folder.
func mayMove(args []*syntax.Word) bool {
	for i, a := range args {
		l, ok := single(a)
		if !ok || strings.Contains(l, `\`) || changesDir(l) {
			return true
		}
		if l != "command" && l != "builtin" && (i == 0 || l[0] != '-') {
			return false
		}
	}
	return false
}

// changesDir reports whether a builtin may change the shell's folder.
func changesDir(program string) bool {
	switch program {
	case "cd", "pushd", "popd", "eval", "chdir":
		return true
	}
	return false
}

func (w *walker) function(c *syntax.FuncDecl, d dir) {
	name := "a function"
	if c.Name != nil {
		name = c.Name.Value
	}
	p := Part{Kind: Shell, Text: short(w.text(c)), Layers: w.outer, Opaque: "it defines " + name, dir: d}
	if bomb(c) {
		p.Danger = "starts copies of itself until the machine stands still"
	}
	w.emit(p)
	w.stmt(c.Body, dir{})
}

// bomb reports whether a function runs itself in the background or in a pipe.
func bomb(f *syntax.FuncDecl) bool {
	if f.Name == nil {
		return false
	}
	calls, beside := 0, false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			beside = beside || n.Background
		case *syntax.BinaryCmd:
			beside = beside || n.Op == syntax.Pipe
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				if l, ok := single(n.Args[0]); ok && l == f.Name.Value {
					calls++
				}
			}
		}
		return true
	})
	return calls > 0 && beside
}

func (w *walker) simple(c *syntax.CallExpr, d dir) (ok, end dir) {
	text := short(w.text(c))
	env := w.assigns(c.Assigns, d)
	if len(c.Args) == 0 {
		w.emit(Part{Kind: Shell, Text: text, Layers: w.outer, dir: d})
		for _, a := range c.Assigns {
			w.variable(a.Name.Value, w.text(a), d)
		}
		return d, d
	}
	words := make([]Word, len(c.Args))
	for i, a := range c.Args {
		words[i] = w.word(a, d)
	}
	outer := w.env
	if len(env) > 0 {
		w.values(env)
		w.env = append(outer[:len(outer):len(outer)], env...)
	}
	defer func() { w.env = outer }()
	return w.run(words, text, d)
}

func (w *walker) assigns(list []*syntax.Assign, d dir) []Assign {
	var out []Assign
	for _, a := range list {
		if a.Name == nil {
			continue
		}
		r := Assign{Name: a.Name.Value, Value: Word{Exact: true}}
		if a.Value != nil {
			r.Value = w.word(a.Value, d)
		}
		if a.Index != nil || a.Array != nil || a.Append {
			w.inner(a, d)
			r.Value = unknown(w.text(a))
		}
		out = append(out, r)
	}
	return out
}

// variable notes that the shell sets a variable.
func (w *walker) variable(name, text string, d dir) {
	if !w.at.harmlessVariable(name) {
		w.opaque(text, "it sets "+name+", which changes what other commands do", d)
	}
}
