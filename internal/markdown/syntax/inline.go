package syntax

import (
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
	Linked   // only in Begin
	Picture  // only in Begin
)

// Span is a piece of inline text. Line feeds in it are line breaks.
type Span struct {
	Text string // "" in a link or emphasis with nothing in it
	Mark Mark
	Link *Link // where it leads; nil for nowhere
	// Image is the picture that the text stands for, nil for none. It is Link, too,
	// where there is no link around the picture.
	Image *Link
	// Begin are the elements that begin with the span, from the outermost: Strong, Em,
	// Strike, Linked and Picture. End is how many of all that began end after it. Both
	// are for formats that nest, and only [Flow] gives them. Nothing nests in a picture:
	// its description is plain.
	Begin []Mark
	End   int
}

// Link is where a link leads, or where a picture is. Spans of one link share a
// pointer.
type Link struct {
	Address string
	Title   string
	Shown   bool // the text of the link is the address
	Angle   bool // it stood between < and >; one that is shown and did not is GitHub's
}

// Limits of inline text; what is beyond is plain text.
const (
	maxAddress = 2048 // bytes of a link's target with its title; a longer one is text
	maxTicks   = 64   // length of a run of backticks that opens a code span
	maxEntity  = 32
	maxFormula = 400 // bytes of a formula between single dollars
	maxAhead   = 400 // bytes that what is not closed yet may reach in open text
)

// piece is a part of the text: finished, or a run of delimiters that may open or
// close emphasis.
type piece struct {
	text  string
	link  *Link // where it leads, of an address; of the link or picture that begins after it
	mark  Mark
	char  byte // '*', '_' or '~'; 0 for a text
	open  bool
	close bool
	begin int32 // what begins after it: an index of elements
	ends  int   // elements that end before it
	count int   // delimiters not yet used
	size  int   // delimiters at first
	at    int   // where the run stands
}

// element is something that begins after a piece; next is the one within it, 0 for none.
type element struct {
	mark Mark
	next int32
}

type inliner struct {
	s        string
	defs     *Definitions
	pos      int
	text     int // start of plain text not yet taken
	pieces   []piece
	elements []element // from 1 on
	runs     []int     // the pieces that are delimiters, not yet paired
	brackets []bracket
	dead     int                // of so many brackets those that begin links do not count: links do not nest
	noTicks  [maxTicks + 1]bool // no closing run of this length follows
	noEnds   [3]bool            // nor an end of formulas
	open     bool
	flow     bool // see [Flow]
}

type bracket struct {
	piece int // index of the piece that holds it
	runs  int // delimiters before it
	at    int // where its text begins
	image bool
	holds bool // another bracket begins in it, so it is no label
}

// Inline reads the text of a block. Defs are the links that are defined; nil for none.
// Of text that is still being written (open), what is begun counts as closed at its
// end, so that "**bo" is bold already, and signs at the very end that may become
// anything are left out.
func Inline(text string, open bool, defs *Definitions) []Span {
	if open {
		text = calm(text)
	}
	if !strings.ContainsAny(text, "*_`[]<&\\~:!$") && !strings.Contains(text, " \n") {
		if text == "" {
			return nil
		}
		return []Span{{Text: text}}
	}
	p := inliner{s: text, open: open, defs: defs, pieces: make([]piece, 0, 16)}
	return p.read()
}

// HardBreak is a line break in what [Flow] gives.
const HardBreak = '\v'

// Flow reads the text of a block that is whole as [Inline] does, for those who fill
// lines anew: a line break that was asked for is a [HardBreak], and a line feed is
// white space.
func Flow(text string, defs *Definitions) []Span {
	text = strings.ReplaceAll(text, string(HardBreak), " ")
	p := inliner{s: text, flow: true, defs: defs, pieces: make([]piece, 0, 16)}
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
func (p *inliner) lineBreak() string {
	if p.flow {
		return string(HardBreak)
	}
	return "\n"
}

// newline reads a line feed, which asks for a break behind two spaces.
func (p *inliner) newline() {
	before := p.s[p.text:p.pos]
	spaces := len(before) - len(strings.TrimRight(before, " "))
	if spaces > 0 {
		p.flush(p.pos - spaces)
	}
	if spaces > 1 {
		p.emit(1, p.lineBreak(), 0)
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
	w := spanWriter{out: make([]Span, 0, len(p.pieces)), nest: p.flow}
	for i := range p.pieces {
		d := &p.pieces[i]
		for range d.ends {
			w.end()
		}
		switch {
		case d.char == 0:
			w.put(d)
		case d.count > 0:
			w.add(Span{Text: strings.Repeat(string(d.char), d.count)})
		}
		for at := d.begin; at > 0; at = p.elements[at].next {
			w.begin(p.elements[at].mark, d.link)
		}
	}
	for len(w.open) > 0 { // in open text
		w.end()
	}
	w.join()
	return w.out
}

// spanWriter writes spans, knowing what is open around them.
type spanWriter struct {
	nest   bool // write Begin and End
	out    []Span
	joined []byte // the text of the last span, if it has several pieces
	open   []Mark // 0 for what is left out: all that stands in a picture
	depth  [3]int // of Strong, Em and Strike
	link   *Link
	image  *Link
	empty  bool   // nothing stands in the link or picture that began last
	begins []Mark // what begins with the next span
}

func (w *spanWriter) begin(m Mark, to *Link) {
	switch {
	case w.image != nil:
		m = 0
	case m < Linked:
		w.depth[m>>1]++
	case m == Linked:
		w.link, w.empty = to, true
	default:
		w.image, w.empty = to, true
	}
	w.open = append(w.open, m)
	if m != 0 && w.nest {
		w.begins = append(w.begins, m)
	}
}

func (w *spanWriter) end() {
	last := len(w.open) - 1
	m := w.open[last]
	w.open = w.open[:last]
	if m == 0 {
		return
	}
	if len(w.begins) > 0 || m >= Linked && w.empty {
		w.add(Span{})
	}
	if w.nest {
		w.out[len(w.out)-1].End++
	}
	switch m {
	case Linked:
		w.link = nil
	case Picture:
		w.image = nil
	default:
		w.depth[m>>1]--
	}
}

// put writes a text.
func (w *spanWriter) put(d *piece) {
	s := Span{Text: d.text, Mark: d.mark}
	if w.image != nil {
		s.Mark = 0
	}
	switch {
	case d.text == "":
	case d.link != nil && w.link == nil && w.image == nil: // an address that is its own text
		w.begin(Linked, d.link)
		w.add(s)
		w.end()
	default:
		w.add(s)
	}
}

func (w *spanWriter) add(s Span) {
	for i, m := range [...]Mark{Strong, Em, Strike} {
		if w.depth[i] > 0 {
			s.Mark |= m
		}
	}
	s.Link, s.Image, w.empty = w.link, w.image, false
	if s.Link == nil {
		s.Link = w.image
	}
	if n := len(w.out); n > 0 && len(w.begins) == 0 {
		if last := &w.out[n-1]; last.End == 0 && last.Mark == s.Mark && last.Link == s.Link && last.Image == s.Image {
			if w.joined == nil {
				w.joined = []byte(last.Text)
			}
			w.joined = append(w.joined, s.Text...)
			return
		}
	}
	w.join()
	s.Begin, w.begins = w.begins, nil
	w.out = append(w.out, s)
}

func (w *spanWriter) join() {
	if w.joined != nil {
		w.out[len(w.out)-1].Text = string(w.joined)
		w.joined = nil
	}
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
		p.pieces = append(p.pieces, piece{text: p.s[p.text:at]})
	}
	p.text = p.pos
}

// emit takes the plain text before the position, adds a text and goes on n bytes later.
func (p *inliner) emit(n int, text string, mark Mark) {
	p.flush(p.pos)
	p.pieces = append(p.pieces, piece{text: text, mark: mark})
	p.pos += n
	p.text = p.pos
}

// begin lets an element begin after piece i, around those that do already.
func (p *inliner) begin(i int, m Mark) {
	if p.elements == nil {
		p.elements = make([]element, 1, 8)
	}
	d := &p.pieces[i]
	p.elements = append(p.elements, element{m, d.begin})
	d.begin = int32(len(p.elements) - 1)
}

func (p *inliner) escape() {
	rest := p.s[p.pos+1:]
	switch {
	case rest == "":
		p.pos++
	case rest[0] == '\n':
		p.emit(2, p.lineBreak(), 0)
	case rest[0] == '(' || rest[0] == '[':
		p.parens(rest)
	case rest[0] < utf8.RuneSelf && (unicode.IsPunct(rune(rest[0])) || unicode.IsSymbol(rune(rest[0]))):
		p.emit(2, rest[:1], 0)
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
	case at >= 0 && strings.TrimLeft(rest[1:at], `\ `) != "":
		p.emit(at+3, strings.TrimSpace(rest[1:at]), MathSpan)
	case at < 0 && p.open && len(rest) < maxAhead:
		p.emit(len(rest)+1, wholeCommands(rest[1:]), MathSpan)
	default:
		p.emit(2, rest[:1], 0)
	}
}

// dollar reads a formula between dollars. Single ones must stand close to what is
// between them, and no digit may follow: prices are no formulas.
func (p *inliner) dollar() {
	rest := p.s[p.pos:]
	if strings.HasPrefix(rest, "$$") {
		if at := p.endOf(rest[2:], "$$", 2); at > 0 {
			p.emit(at+4, strings.TrimSpace(rest[2:2+at]), MathSpan)
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
		p.emit(i+2, near[:i], MathSpan)
		return
	}
	if p.open && len(rest) < maxFormula && strings.ContainsRune(near, '\\') {
		p.emit(len(rest), wholeCommands(near), MathSpan)
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
			p.emit(i+n-p.pos, codeText(p.s[p.pos+n:i]), CodeSpan)
			return
		}
		i += m
	}
}

// openCode is for a run of n backticks that nothing closes.
func (p *inliner) openCode(n int) {
	rest := p.s[p.pos+n:]
	if p.open && len(rest) < maxAhead && strings.IndexByte(rest, '\n') < 0 {
		p.emit(n+len(rest), rest, CodeSpan)
		return
	}
	p.noTicks[n] = true
	p.pos += n
}

func codeText(body string) string {
	if strings.IndexByte(body, '\n') >= 0 {
		body = strings.ReplaceAll(body, "\n", " ")
	}
	if len(body) > 2 && body[0] == ' ' && body[len(body)-1] == ' ' && strings.Trim(body, " ") != "" {
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
	before, after := ' ', ' '
	if p.pos > 0 {
		before, _ = utf8.DecodeLastRuneInString(p.s[:p.pos])
	}
	if p.pos+n < len(p.s) {
		after, _ = utf8.DecodeRuneInString(p.s[p.pos+n:])
	}
	space := unicode.IsSpace
	punct := func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
	left := !space(after) && (!punct(after) || space(before) || punct(before))
	right := !space(before) && (!punct(before) || space(after) || punct(after))
	d := piece{char: c, count: n, size: n, at: p.pos, open: left, close: right}
	if c == '_' {
		d.open = left && (!right || punct(before))
		d.close = right && (!left || punct(after))
	}
	p.flush(p.pos)
	p.runs = append(p.runs, len(p.pieces))
	p.pieces = append(p.pieces, d)
	p.pos += n
	p.text = p.pos
}

// emphasize pairs the delimiters from index from on, and takes them. For every kind of
// closer it remembers how far down there was no opener, which keeps the time linear.
func (p *inliner) emphasize(from int) {
	var bottom [3][6]int // by sign, length modulo 3, and whether it may open, too
	var few [8]int
	stack := few[:0] // openers, in order
	for _, i := range p.runs[from:] {
		closer := &p.pieces[i]
		if closer.close {
			stack = p.closeWith(i, stack, &bottom)
		}
		if closer.open && closer.count > 0 {
			stack = append(stack, i)
		}
	}
	p.runs = append(p.runs[:from], stack...)
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
		n, mark := 1, Em
		switch {
		case closer.char == '~':
			n, mark = 2, Strike
		case o.count >= 2 && closer.count >= 2:
			n, mark = 2, Strong
		}
		o.count -= n
		closer.count -= n
		p.begin(stack[at], mark)
		closer.ends++
		stack = stack[:at+1]
		if o.count == 0 {
			stack = stack[:at]
		}
	}
	return stack
}

// closeAll lets the openers near the end of open text reach to it.
func (p *inliner) closeAll() {
	for _, i := range p.runs {
		d := &p.pieces[i]
		if len(p.s)-d.at > maxAhead {
			continue
		}
		switch {
		case d.char == '~':
			p.begin(i, Strike)
		case d.count >= 2:
			p.begin(i, Strong)
		}
		if d.char != '~' && d.count%2 == 1 {
			p.begin(i, Em)
		}
		d.count = 0
	}
}

func (p *inliner) bracket(n int) {
	p.flush(p.pos)
	if top := len(p.brackets) - 1; top >= 0 {
		p.brackets[top].holds = true
	}
	p.brackets = append(p.brackets, bracket{piece: len(p.pieces), runs: len(p.runs), at: p.pos + n, image: n == 2})
	p.pieces = append(p.pieces, piece{text: p.s[p.pos : p.pos+n]})
	p.pos += n
	p.text = p.pos
}

func (p *inliner) closeBracket() {
	top := len(p.brackets) - 1
	if top < 0 {
		p.pos++
		return
	}
	b := p.brackets[top]
	p.brackets = p.brackets[:top]
	var link *Link
	n := 0
	if b.image || top >= p.dead {
		link, n = p.target(b, p.s[p.pos+1:])
	}
	p.dead = min(p.dead, top)
	if link == nil {
		p.pos++
		return
	}
	p.flush(p.pos)
	p.pos += 1 + n
	p.text = p.pos
	p.emphasize(b.runs)
	p.runs = p.runs[:b.runs] // nothing pairs across the edge of a link
	mark := Picture
	if !b.image {
		mark, p.dead = Linked, top
	}
	p.pieces[b.piece] = piece{link: link}
	p.begin(b.piece, mark)
	p.pieces = append(p.pieces, piece{ends: 1})
}

// target is where the text of b leads, which rest follows: "(address)", "[label]",
// "[]" or nothing. It is nil for nowhere, and n is the length of what says it.
func (p *inliner) target(b bracket, rest string) (link *Link, n int) {
	if link, n = inlineTarget(rest); link != nil {
		return link, n
	}
	open := p.open && len(rest) < maxAddress
	if open && strings.HasPrefix(rest, "(") && !strings.ContainsAny(rest, "\n)") {
		return &Link{}, len(rest) // it is still being written
	}
	if p.defs == nil {
		return nil, 0
	}
	label, n := label(rest)
	switch {
	case n > 0 && strings.TrimSpace(label) != "":
	case b.holds || p.pos-b.at > maxLabel:
		return nil, 0
	default:
		if label = p.s[b.at:p.pos]; !strings.HasPrefix(rest, "[]") {
			n = 0
		}
	}
	return p.defs.find(label), n
}

func (p *inliner) angle() {
	rest := p.s[p.pos:]
	for _, br := range [...]string{"<br>", "<br/>", "<br />"} {
		if strings.HasPrefix(rest, br) {
			p.emit(len(br), p.lineBreak(), 0)
			return
		}
	}
	end := strings.IndexAny(rest[1:min(len(rest), maxAddress)], "> \n<")
	if end > 0 && rest[1+end] == '>' {
		text := rest[1 : 1+end]
		address := text
		if mail(text) {
			address = "mailto:" + text
		}
		if absolute(address) {
			p.emit(end+2, text, 0)
			p.pieces[len(p.pieces)-1].link = &Link{Address: address, Shown: true, Angle: true}
			return
		}
	}
	p.pos++
}

func (p *inliner) entity() {
	if text, n := entity(p.s[p.pos:]); n > 0 {
		if p.flow {
			text = strings.ReplaceAll(text, string(HardBreak), " ")
		}
		p.emit(n, text, 0)
		return
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
	p.emit(len(rest), rest, 0)
	p.pieces[len(p.pieces)-1].link = &Link{Address: rest, Shown: true}
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
