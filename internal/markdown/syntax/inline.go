package syntax

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark is a set of what a span of text is.
type Mark uint8

const (
	Strong Mark = 1 << iota
	Em
	Strike
	CodeSpan
	MathSpan // LaTeX
	Picture  // the text stands for a picture
)

// Span is a piece of inline text. Line feeds in it are line breaks.
type Span struct {
	Text string
	Mark Mark
	Link *Link // of a link; nil for none
}

// Link is where a link leads. Links of one address are one pointer.
type Link struct {
	Address string // as it was written
	Shown   bool   // the text of the link is the address
}

// Limits of inline text; what is beyond is plain text.
const (
	maxAddress = 2048 // bytes of a link's target
	maxTicks   = 64   // length of a run of backticks that opens a code span
	maxEntity  = 32
	maxFormula = 400 // bytes of a formula between single dollars
	maxAhead   = 400 // bytes that what is not closed yet may reach in open text
)

// piece is a part of the text: finished, or a run of delimiters that may open or
// close emphasis.
type piece struct {
	span  Span
	char  byte // '*', '_' or '~'; 0 for a span
	count int  // delimiters not yet used
	size  int  // delimiters at first
	at    int  // where the run stands
	open  bool
	close bool
	ends  [3]int8 // marks that end before it: strong, em, strike
	opens [3]int8 // marks that begin after it
}

var markOf = [3]Mark{Strong, Em, Strike}

type inliner struct {
	s        string
	pos      int
	text     int // start of plain text not yet taken
	pieces   []piece
	brackets []bracket
	noTicks  [maxTicks + 1]bool // no closing run of this length follows
	noEnds   [3]bool            // nor an end of formulas
	open     bool
	flow     bool // see [Flow]
}

type bracket struct {
	piece int // index of the piece that holds it
	image bool
}

// Inline reads the text of a block. Of text that is still being written (open),
// what is begun counts as closed at its end, so that "**bo" is bold already, and
// signs at the very end that may become anything are left out.
func Inline(text string, open bool) []Span {
	if open {
		text = calm(text)
	}
	if !strings.ContainsAny(text, "*_`[]<&\\~:!$") {
		if text == "" {
			return nil
		}
		return []Span{{Text: text}}
	}
	p := inliner{s: text, open: open, pieces: make([]piece, 0, 16)}
	return p.read()
}

// HardBreak is a line break in what [Flow] gives.
const HardBreak = '\v'

// Flow reads the text of a block that is whole as [Inline] does, for those who fill
// lines anew: a line break that was asked for is a [HardBreak], and a line feed is
// white space.
func Flow(text string) []Span {
	text = strings.ReplaceAll(text, string(HardBreak), " ")
	p := inliner{s: text, flow: true, pieces: make([]piece, 0, 16)}
	return p.read()
}

func (p *inliner) read() []Span {
	p.scan()
	p.emphasize(0)
	if p.open {
		p.closeAll()
	}
	return p.spans()
}

// lineBreak is one that was asked for.
func (p *inliner) lineBreak() Span {
	if p.flow {
		return Span{Text: string(HardBreak)}
	}
	return Span{Text: "\n"}
}

// newline reads a line feed, which asks for a break behind two spaces.
func (p *inliner) newline() {
	if p.flow && strings.HasSuffix(p.s[p.text:p.pos], "  ") {
		p.emit(1, p.lineBreak())
		return
	}
	p.pos++
}

// calm leaves out the signs at the end of text whose meaning the next one decides.
func calm(s string) string {
	s = strings.TrimRight(s, "*_~`\\$!<&")
	return strings.TrimSuffix(strings.TrimSuffix(s, "["), "!")
}

// spans joins the pieces of equal marks.
func (p *inliner) spans() []Span {
	out := make([]Span, 0, len(p.pieces))
	var depth [3]int8
	var joined []byte // the text of the last span, if it has several pieces
	end := func() {
		if joined != nil {
			out[len(out)-1].Text = string(joined)
			joined = nil
		}
	}
	put := func(s Span) {
		for i, n := range depth {
			if n > 0 {
				s.Mark |= markOf[i]
			}
		}
		if n := len(out); n > 0 && out[n-1].Mark == s.Mark && out[n-1].Link == s.Link {
			if joined == nil {
				joined = []byte(out[n-1].Text)
			}
			joined = append(joined, s.Text...)
			return
		}
		if s.Text != "" {
			end()
			out = append(out, s)
		}
	}
	for i := range p.pieces {
		d := &p.pieces[i]
		for k := range depth {
			depth[k] -= d.ends[k]
		}
		if d.char != 0 && d.count > 0 {
			put(Span{Text: strings.Repeat(string(d.char), d.count), Link: d.span.Link})
		} else if d.char == 0 {
			put(d.span)
		}
		for k := range depth {
			depth[k] += d.opens[k]
		}
	}
	end()
	return out
}

func (p *inliner) scan() {
	for p.pos < len(p.s) {
		c := p.s[p.pos]
		switch c {
		case '\\':
			p.escape()
		case '`':
			p.code()
		case '*', '_', '~':
			p.delimiters(c)
		case '!':
			if strings.HasPrefix(p.s[p.pos:], "![") {
				p.bracket(2)
			} else {
				p.pos++
			}
		case '[':
			p.bracket(1)
		case ']':
			p.closeBracket()
		case '<':
			p.angle()
		case '&':
			p.entity()
		case '$':
			p.dollar()
		case ':':
			p.bareAddress()
		case '\n':
			p.newline()
		default:
			p.pos++
		}
	}
	p.flush(p.pos)
}

// flush takes the plain text up to at.
func (p *inliner) flush(at int) {
	if p.text < at {
		p.pieces = append(p.pieces, piece{span: Span{Text: p.s[p.text:at]}})
	}
	p.text = p.pos
}

// emit takes the plain text before the position, adds s and goes on n bytes later.
func (p *inliner) emit(n int, s Span) {
	p.flush(p.pos)
	p.pieces = append(p.pieces, piece{span: s})
	p.pos += n
	p.text = p.pos
}

func (p *inliner) escape() {
	rest := p.s[p.pos+1:]
	switch {
	case rest == "":
		p.pos++
	case rest[0] == '\n':
		p.emit(2, p.lineBreak())
	case rest[0] == '(' || rest[0] == '[':
		p.parens(rest)
	case rest[0] < utf8.RuneSelf && (unicode.IsPunct(rune(rest[0])) || unicode.IsSymbol(rune(rest[0]))):
		p.emit(2, Span{Text: rest[:1]})
	default:
		p.pos++
	}
}

// parens reads a formula between \( and \), or \[ and \].
func (p *inliner) parens(rest string) {
	end, kind := `\)`, 0
	if rest[0] == '[' {
		end, kind = `\]`, 1
	}
	switch at := p.endOf(rest, end, kind); {
	case at >= 0:
		p.emit(at+3, Span{Text: strings.TrimSpace(rest[1:at]), Mark: MathSpan})
	case p.open && len(rest) < maxAhead:
		p.emit(len(rest)+1, Span{Text: wholeCommands(rest[1:]), Mark: MathSpan})
	default:
		p.emit(2, Span{Text: rest[:1]})
	}
}

// dollar reads a formula between dollars. Single ones must stand close to what is
// between them, and no digit may follow: prices are no formulas.
func (p *inliner) dollar() {
	rest := p.s[p.pos:]
	if strings.HasPrefix(rest, "$$") {
		if at := p.endOf(rest[2:], "$$", 2); at > 0 {
			p.emit(at+4, Span{Text: strings.TrimSpace(rest[2 : 2+at]), Mark: MathSpan})
			return
		}
		p.pos += 2
		return
	}
	near := rest[1:min(len(rest), maxFormula)]
	if near == "" || near[0] == ' ' || near[0] == '\n' {
		p.pos++
		return
	}
	for i := 1; i < len(near); i++ {
		switch near[i] {
		case '\\':
			i++
			continue
		case '\n', '`':
			p.pos++
			return
		case '$':
		default:
			continue
		}
		digit := i+1 < len(near) && near[i+1] >= '0' && near[i+1] <= '9'
		if near[i-1] == ' ' || digit {
			p.pos++
			return
		}
		p.emit(i+2, Span{Text: near[:i], Mark: MathSpan})
		return
	}
	if p.open && len(rest) < maxFormula && strings.ContainsRune(near, '\\') {
		p.emit(len(rest), Span{Text: wholeCommands(near), Mark: MathSpan})
		return
	}
	p.pos++
}

// endOf is where the end of a formula stands; -1 if there is none, which then is not
// looked for again.
func (p *inliner) endOf(rest, end string, kind int) int {
	if p.noEnds[kind] {
		return -1
	}
	at := strings.Index(rest, end)
	p.noEnds[kind] = at < 0
	return at
}

// wholeCommands leaves out a command at the end of a formula whose name may still
// become longer.
func wholeCommands(tex string) string {
	if at := strings.LastIndexByte(tex, '\\'); at >= 0 && strings.Trim(tex[at+1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		tex = tex[:at]
	}
	return strings.TrimSpace(tex)
}

func (p *inliner) code() {
	n := run(p.s[p.pos:])
	if n > maxTicks || p.noTicks[n] {
		p.pos += n
		return
	}
	for i := p.pos + n; ; {
		at := strings.IndexByte(p.s[i:], '`')
		if at < 0 {
			p.openCode(n)
			return
		}
		i += at
		m := run(p.s[i:])
		if m == n {
			p.emit(i+n-p.pos, Span{Text: codeText(p.s[p.pos+n : i]), Mark: CodeSpan})
			return
		}
		i += m
	}
}

// openCode is for a run of n backticks that nothing closes.
func (p *inliner) openCode(n int) {
	rest := p.s[p.pos+n:]
	if p.open && len(rest) < maxAhead && strings.IndexByte(rest, '\n') < 0 {
		p.emit(n+len(rest), Span{Text: rest, Mark: CodeSpan})
		return
	}
	p.noTicks[n] = true
	p.pos += n
}

func codeText(body string) string {
	if strings.IndexByte(body, '\n') >= 0 {
		body = strings.ReplaceAll(body, "\n", " ")
	}
	if len(body) > 2 && body[0] == ' ' && body[len(body)-1] == ' ' && strings.TrimSpace(body) != "" {
		body = body[1 : len(body)-1]
	}
	return body
}

func (p *inliner) delimiters(c byte) {
	n := run(p.s[p.pos:])
	if c == '~' && n != 2 {
		p.pos += n
		return
	}
	before, _ := utf8.DecodeLastRuneInString(p.s[:p.pos])
	after, _ := utf8.DecodeRuneInString(p.s[p.pos+n:])
	space := func(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) }
	punct := func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
	left := !space(after) && (!punct(after) || space(before) || punct(before))
	right := !space(before) && (!punct(before) || space(after) || punct(after))
	d := piece{char: c, count: n, size: n, at: p.pos, open: left, close: right}
	if c == '_' {
		d.open = left && (!right || punct(before))
		d.close = right && (!left || punct(after))
	}
	p.flush(p.pos)
	p.pieces = append(p.pieces, d)
	p.pos += n
	p.text = p.pos
}

// emphasize pairs the delimiters of the pieces from index from on. For every kind
// of closer it remembers how far down there was no opener, which keeps the time
// linear.
func (p *inliner) emphasize(from int) {
	var bottom [3][6]int // by sign, length modulo 3, and whether it may open, too
	var few [8]int
	stack := few[:0] // openers, in order
	for i := from; i < len(p.pieces); i++ {
		closer := &p.pieces[i]
		if closer.char == 0 {
			continue
		}
		if closer.close {
			stack = p.closeWith(i, stack, &bottom)
		}
		if closer.open && closer.count > 0 {
			stack = append(stack, i)
		}
	}
	if from > 0 || !p.open {
		for i := from; i < len(p.pieces); i++ { // must not pair with anything outside a link
			p.pieces[i].open, p.pieces[i].close = false, false
		}
	}
}

func (p *inliner) closeWith(i int, stack []int, bottom *[3][6]int) []int {
	closer := &p.pieces[i]
	for closer.count > 0 {
		key := closer.size % 3 * 2
		if closer.open {
			key++
		}
		low := &bottom[strings.IndexByte("*_~", closer.char)][key]
		at := len(stack) - 1
		for ; at >= 0 && stack[at] >= *low; at-- {
			o := &p.pieces[stack[at]]
			odd := (o.close || closer.open) && (o.size+closer.size)%3 == 0 && (o.size%3 != 0 || closer.size%3 != 0)
			if o.char == closer.char && !odd {
				break
			}
		}
		if at < 0 || stack[at] < *low {
			*low = i
			return stack
		}
		o := &p.pieces[stack[at]]
		n, mark := 1, 1
		switch {
		case closer.char == '~':
			n, mark = 2, 2
		case o.count >= 2 && closer.count >= 2:
			n, mark = 2, 0
		}
		o.count -= n
		closer.count -= n
		o.opens[mark]++
		closer.ends[mark]++
		stack = stack[:at+1]
		if o.count == 0 {
			stack = stack[:at]
		}
	}
	return stack
}

// closeAll lets the openers near the end of open text reach to it.
func (p *inliner) closeAll() {
	for i := range p.pieces {
		d := &p.pieces[i]
		if d.char == 0 || !d.open || d.count == 0 || len(p.s)-d.at > maxAhead {
			continue
		}
		switch {
		case d.char == '~':
			d.opens[2]++
		case d.count >= 2:
			d.opens[0]++
		}
		if d.char != '~' && d.count%2 == 1 {
			d.opens[1]++
		}
		d.count = 0
	}
}

func (p *inliner) bracket(n int) {
	p.flush(p.pos)
	p.brackets = append(p.brackets, bracket{piece: len(p.pieces), image: n == 2})
	p.pieces = append(p.pieces, piece{span: Span{Text: p.s[p.pos : p.pos+n]}})
	p.pos += n
	p.text = p.pos
}

func (p *inliner) closeBracket() {
	if len(p.brackets) == 0 {
		p.pos++
		return
	}
	b := p.brackets[len(p.brackets)-1]
	p.brackets = p.brackets[:len(p.brackets)-1]
	rest := p.s[p.pos+1:]
	target, n := destination(rest)
	if n == 0 && p.open && strings.HasPrefix(rest, "(") && len(rest) < maxAddress && !strings.ContainsAny(rest, "\n)") {
		target, n = "", len(rest) // its target is still being written
	}
	if n == 0 {
		p.pos++
		return
	}
	p.flush(p.pos)
	p.pos += 1 + n
	p.text = p.pos
	p.emphasize(b.piece)
	p.brackets = p.brackets[:0] // a link holds no link
	p.pieces[b.piece].span.Text = ""
	link := &Link{Address: target}
	for i := b.piece; i < len(p.pieces); i++ {
		p.pieces[i].span.Link = link
		if b.image {
			p.pieces[i].span.Mark |= Picture
		}
	}
}

// destination reads "(target "title")" and its length; 0 if s does not begin so.
func destination(s string) (target string, n int) {
	if s == "" || s[0] != '(' {
		return "", 0
	}
	s = s[:min(len(s), maxAddress)]
	i := 1
	for i < len(s) && (s[i] == ' ' || s[i] == '\n') {
		i++
	}
	start, depth := i, 0
	if i < len(s) && s[i] == '<' {
		end := strings.IndexAny(s[i:], ">\n")
		if end < 0 || s[i+end] == '\n' {
			return "", 0
		}
		target, i = s[i+1:i+end], i+end+1
	} else {
		for ; i < len(s) && s[i] > ' ' && (s[i] != ')' || depth > 0); i++ {
			switch s[i] {
			case '\\':
				i++
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		i = min(i, len(s))
		target = s[start:i]
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\n') {
		i++
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		end := strings.IndexByte(s[i+1:], s[i])
		if end < 0 {
			return "", 0
		}
		for i += end + 2; i < len(s) && s[i] == ' '; i++ {
			continue
		}
	}
	if i >= len(s) || s[i] != ')' {
		return "", 0
	}
	return target, i + 1
}

func (p *inliner) angle() {
	rest := p.s[p.pos:]
	for _, br := range [...]string{"<br>", "<br/>", "<br />"} {
		if strings.HasPrefix(rest, br) {
			p.emit(len(br), p.lineBreak())
			return
		}
	}
	end := strings.IndexAny(rest[1:min(len(rest), maxAddress)], "> \n<")
	if end > 0 && rest[1+end] == '>' && len(p.brackets) == 0 {
		address := rest[1 : 1+end]
		if strings.Contains(address, "@") && !strings.Contains(address, ":") {
			address = "mailto:" + address
		}
		if strings.Contains(address, "://") || strings.HasPrefix(address, "mailto:") {
			p.emit(end+2, Span{Text: rest[1 : 1+end], Link: &Link{Address: address, Shown: true}})
			return
		}
	}
	p.pos++
}

func (p *inliner) entity() {
	rest := p.s[p.pos:]
	end := strings.IndexByte(rest[:min(len(rest), maxEntity)], ';')
	if end > 1 {
		if text := html.UnescapeString(rest[:end+1]); text != rest[:end+1] {
			p.emit(end+1, Span{Text: text})
			return
		}
	}
	p.pos++
}

// bareAddress makes a link of http:// or https:// and what follows, except where
// a bracket is open: that may become a link, and links do not nest.
func (p *inliner) bareAddress() {
	rest := p.s[p.pos:]
	scheme := ""
	for _, s := range [...]string{"https", "http"} {
		if strings.HasPrefix(rest, "://") && strings.HasSuffix(p.s[p.text:p.pos], s) {
			scheme = s
			break
		}
	}
	start := p.pos - len(scheme)
	if scheme == "" || len(p.brackets) > 0 || start > 0 && wordByte(p.s[start-1]) {
		p.pos++
		return
	}
	rest = p.s[start:min(len(p.s), start+maxAddress)]
	if end := strings.IndexAny(rest, " \t\n<>\"`|"); end >= 0 {
		rest = rest[:end]
	}
	rest = trimAddress(rest)
	if len(rest) <= len(scheme)+3 {
		p.pos++
		return
	}
	p.pos = start
	p.emit(len(rest), Span{Text: rest, Link: &Link{Address: rest, Shown: true}})
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// trimAddress leaves out the punctuation of the sentence around an address.
func trimAddress(s string) string {
	opened, closed := strings.Count(s, "("), strings.Count(s, ")")
	for s != "" {
		switch c := s[len(s)-1]; {
		case strings.IndexByte(".,:;!?'*_~]}", c) >= 0:
		case c == ')' && closed > opened:
			closed--
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}
