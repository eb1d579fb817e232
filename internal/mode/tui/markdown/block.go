package markdown

import (
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/markdown/syntax"
	"github.com/burin-dev/burin/internal/mode/tui/markdown/highlight"
	"github.com/burin-dev/burin/internal/mode/tui/markdown/latex"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// renderer turns blocks into lines, in order. A copy renders what is not final.
type renderer struct {
	o     Options
	width int
	sign  theme.Symbols
	plain bool // no sequences: what looks cannot say, signs do

	defs   *syntax.Definitions
	owed   bool            // the blank line before a definition that was left out
	lexer  highlight.Lexer // of the code that is under way
	widths []int           // of the last table, for its continuation

	// Scratch space; between a renderer and its copy it may be shared, as they are
	// used one after the other.
	buf     []byte
	wrapped []styled.Line
}

func newRenderer(o Options) renderer {
	if o.Look == (theme.Look{}) {
		o.Look.Fg = theme.Text
	}
	plain := o.Styles.Profile() == theme.NoStyle
	o.Links = o.Links && !plain
	return renderer{o: o, sign: o.Styles.Symbols(), plain: plain}
}

// rulerWidth is how long a rule is at most: one that reaches to the end of a wide
// line breaks badly when the terminal is made narrower.
const rulerWidth = 64

// block appends the lines of a block.
func (r *renderer) block(dst []string, b *syntax.Block) []string {
	if r.hidden(b) {
		r.owed = r.owed || b.Gap
		return dst
	}
	first, rest := r.prefixes(b)
	if b.Gap || r.owed {
		dst = append(dst, r.gap(b))
		r.owed = false
	}
	base := r.o.Look
	if len(b.Containers) > 0 {
		base = r.inside(b, base)
	}
	switch b.Kind {
	case syntax.Heading:
		return r.heading(dst, b, first, rest)
	case syntax.CodeStart:
		r.lexer = highlight.New(b.Lang)
		if b.Lang == "" {
			return r.wrap(dst, nil, first, rest)
		}
		label := styled.Line{{Text: "  " + strings.Repeat(r.sign.Rule, 2) + " " + b.Lang, Look: theme.Look{Fg: theme.MdCodeBlockBorder}}}
		return r.wrap(dst, label, first, rest)
	case syntax.Code:
		return r.code(dst, b, first, rest)
	case syntax.Rule:
		n := max(1, min(rulerWidth, r.width-rest.Width()))
		return r.wrap(dst, styled.Of(strings.Repeat(r.sign.Rule, n), theme.MdHr), first, rest)
	case syntax.Table:
		return r.table(dst, b, base, first, rest)
	case syntax.Math:
		return r.math(dst, b.Text, base, first, rest)
	case syntax.Empty:
		return r.wrap(dst, nil, first, rest)
	case syntax.Definition:
		return r.definition(dst, b, first, rest)
	}
	for i, line := range r.inline(b.Text, base, b.Open) {
		if i > 0 {
			first = rest
		}
		dst = r.wrap(dst, line, first, rest)
	}
	return dst
}

// hidden reports whether nothing of b is shown: an empty code block, a definition that
// no use was shown without.
func (r *renderer) hidden(b *syntax.Block) bool {
	if b.Kind != syntax.Definition && (b.Kind != syntax.CodeStart || b.Lang != "") {
		return false
	}
	for i := range b.Containers {
		if b.Containers[i].First {
			return false // the marker of an item is
		}
	}
	return b.Kind == syntax.CodeStart || !r.defs.Missed(*b)
}

// inside is the look of text within the containers of b.
func (r *renderer) inside(b *syntax.Block, base theme.Look) theme.Look {
	for i := range b.Containers {
		switch c := &b.Containers[i]; {
		case c.Quote:
			base = theme.Look{Fg: theme.MdQuote, Mod: base.Mod | theme.Italic}
		case c.Task == syntax.TaskDone:
			base.Fg = theme.Muted
		}
	}
	return base
}

// prefixes are what stands before the first line of b and before the others.
func (r *renderer) prefixes(b *syntax.Block) (first, rest styled.Line) {
	if len(b.Containers) == 0 {
		return nil, nil
	}
	for i := range b.Containers {
		c := &b.Containers[i]
		if c.Quote {
			bar := styled.Span{Text: r.sign.Quote + " ", Look: theme.Look{Fg: theme.MdQuoteBorder}}
			first, rest = append(first, bar), append(rest, bar)
			continue
		}
		mark := r.mark(c)
		blank := styled.Span{Text: strings.Repeat(" ", styled.Width(mark))}
		rest = append(rest, blank)
		if c.First {
			look := theme.Look{Fg: theme.MdListBullet}
			if c.Task == syntax.TaskDone {
				look.Fg = theme.Success
			}
			first = append(first, styled.Span{Text: mark, Look: look})
		} else {
			first = append(first, blank)
		}
	}
	return first, rest
}

func (r *renderer) mark(c *syntax.Container) string {
	switch {
	case c.Task == syntax.TaskOpen:
		return r.sign.TaskOpen + " "
	case c.Task == syntax.TaskDone:
		return r.sign.TaskDone + " "
	case c.Ordered:
		return strconv.Itoa(c.Number) + ". "
	}
	return r.sign.Bullets[c.Depth%len(r.sign.Bullets)] + " "
}

// gap is the blank line before b: what goes on through it is drawn.
func (r *renderer) gap(b *syntax.Block) string {
	quotes := 0
	for i := range b.Shared {
		if b.Containers[i].Quote {
			quotes = i + 1
		}
	}
	if quotes == 0 {
		return ""
	}
	_, rest := r.prefixes(&syntax.Block{Containers: b.Containers[:quotes]})
	last := &rest[len(rest)-1]
	last.Text = strings.TrimRight(last.Text, " ")
	return r.line(styled.Truncate(rest, r.width, ""))
}

// wrap appends l, wrapped, between prefixes.
func (r *renderer) wrap(dst []string, l styled.Line, first, rest styled.Line) []string {
	if len(first) == 0 && len(rest) == 0 && len(l) == 1 && len(l[0].Text) <= r.width {
		return append(dst, r.line(l)) // no text has more cells than bytes
	}
	r.wrapped = styled.Wrap(r.wrapped[:0], l, r.width, first, rest)
	for _, line := range r.wrapped {
		dst = append(dst, r.line(line))
	}
	return dst
}

func (r *renderer) line(l styled.Line) string {
	r.buf = styled.Append(r.buf[:0], r.o.Styles, l)
	return string(r.buf)
}

func (r *renderer) heading(dst []string, b *syntax.Block, first, rest styled.Line) []string {
	look := theme.Look{Fg: theme.MdHeading, Mod: theme.Bold}
	switch {
	case b.Level == 1:
		look.Mod |= theme.Underline
	case b.Level > 3:
		look.Mod = theme.Italic
	}
	for i, line := range r.inline(b.Text, look, b.Open) {
		if r.plain && i == 0 {
			line = append(styled.Line{{Text: strings.Repeat("#", b.Level) + " "}}, line...)
		}
		dst = r.wrap(dst, line, first, rest)
		first = rest
	}
	return dst
}

// codeIndent sets code off; it is spaces, so that copied code stays code.
const codeIndent = "  "

func (r *renderer) code(dst []string, b *syntax.Block, first, rest styled.Line) []string {
	if !b.Continued {
		r.lexer = highlight.New(b.Lang)
	}
	line := Code(&r.lexer, b.Text, theme.MdCodeBlock)
	if len(line) == 0 && len(first) == 0 {
		return append(dst, "")
	}
	indent := styled.Span{Text: codeIndent}
	first = append(first[:len(first):len(first)], indent)
	rest = append(rest[:len(rest):len(rest)], indent)
	r.wrapped = styled.Break(r.wrapped[:0], line, r.width, first, rest)
	for _, l := range r.wrapped {
		dst = append(dst, r.line(l))
	}
	return dst
}

var codeLooks = [...]theme.Token{
	highlight.Comment: theme.SyntaxComment, highlight.Keyword: theme.SyntaxKeyword, highlight.Function: theme.SyntaxFunction,
	highlight.Variable: theme.SyntaxVariable, highlight.String: theme.SyntaxString, highlight.Number: theme.SyntaxNumber,
	highlight.Type: theme.SyntaxType, highlight.Operator: theme.SyntaxOperator, highlight.Punctuation: theme.SyntaxPunctuation,
	highlight.Added: theme.ToolDiffAdded, highlight.Removed: theme.ToolDiffRemoved, highlight.Heading: theme.ToolDiffContext,
}

// Code is the next line of a text in l's language, made harmless and coloured;
// plain is the colour of what has no other.
func Code(l *highlight.Lexer, text string, plain theme.Token) styled.Line {
	text = strings.ReplaceAll(prose.Clean(text, 4), "\n", " ")
	var few [16]highlight.Piece
	pieces := l.Line(few[:0], text)
	line := make(styled.Line, 0, len(pieces))
	for _, p := range pieces {
		token := plain
		if p.Kind != highlight.Plain {
			token = codeLooks[p.Kind]
		}
		line = append(line, styled.Span{Text: p.Text, Look: theme.Look{Fg: token}})
	}
	return line
}

func (r *renderer) math(dst []string, tex string, base theme.Look, first, rest styled.Line) []string {
	base.Mod |= theme.Italic
	for _, line := range strings.Split(prose.Clean(latex.Unicode(tex), 1), "\n") {
		if line = prose.Line(line); line == "" {
			continue
		}
		dst = r.wrap(dst, styled.Line{{Text: "    "}, {Text: line, Look: base}}, first, rest)
		first = rest
	}
	return dst
}
