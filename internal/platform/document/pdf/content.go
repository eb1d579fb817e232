package pdf

import (
	"bytes"
	"errors"
	"math"
)

const (
	maxOperators = 4_000_000 // of a file
	maxPieces    = 200_000   // of a page
	maxForms     = 12        // forms within each other
	maxStates    = 1000      // saved graphics states
	maxOperands  = 10_000
)

// piece is text that was shown in one go.
type piece struct {
	text   string
	x, y   float64 // where it begins, on its baseline
	end    float64 // where it ends, along the baseline
	size   float64 // of the font, as it appears
	turned int     // quarters of a turn against the page
}

// matrix is a, b, c, d, e, f of PDF.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// times is m applied before n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// graphics is what q saves and Q restores.
type graphics struct {
	ctm                 matrix
	font                *font
	size                float64
	char, word, leading float64
	stretch, rise       float64
}

// painter carries out a page's content.
type painter struct {
	file   *file
	fonts  map[object]*font // by reference, for the whole file
	pieces []piece
	lost   int // characters of which the file does not say what they mean
	bytes  int
	max    int

	g         graphics
	saved     []graphics
	tm, line  matrix
	resources dict
	marked    []bool // for each marked content that is open, whether its text is replaced
	replaced  int
	operators int
	forms     int
}

var (
	errMuch  = errors.New("pdf: page draws too much")
	errOften = errors.New("pdf: pages draw too often")
)

// paint draws content. The error is errMuch when the page goes beyond a limit,
// the context's, or that of an allowance.
func (p *painter) paint(data []byte, resources dict) error {
	outer := p.resources
	p.resources = resources
	defer func() { p.resources = outer }()
	l := &lexer{data: data, content: true, whole: true}
	var args []object
	for {
		o, err := l.next()
		if errors.Is(err, errShort) {
			return nil
		}
		if err != nil {
			return err
		}
		op, ok := o.(operator)
		if !ok {
			if _, stray := o.(closing); !stray && len(args) < maxOperands {
				args = append(args, o)
			}
			continue
		}
		if p.operators++; p.operators > maxOperators || len(p.pieces) > maxPieces {
			return errOften
		}
		if p.bytes > p.max {
			return errMuch
		}
		if p.operators%1024 == 0 && p.file.ctx.Err() != nil {
			return p.file.ctx.Err()
		}
		if op == "BI" {
			skipPicture(l)
		} else if err := p.do(op, args); err != nil {
			return err
		}
		args = args[:0]
	}
}

// skipPicture passes over a picture that stands in the content.
func skipPicture(l *lexer) {
	for {
		o, err := l.next()
		if err != nil {
			return
		}
		if o == operator("ID") {
			break
		}
	}
	for {
		i := bytes.Index(l.data[l.pos:], []byte("EI"))
		if i < 0 {
			l.pos = len(l.data)
			return
		}
		before, after := l.pos+i-1, l.pos+i+2
		l.pos = after
		if isSpace(l.data[before]) && (after >= len(l.data) || isSpace(l.data[after])) {
			return
		}
	}
}

func (p *painter) do(op operator, args []object) error {
	n := func(i int) float64 {
		if i < len(args) {
			return toFloat(args[i])
		}
		return 0
	}
	g := &p.g
	switch op {
	case "q":
		if len(p.saved) < maxStates {
			p.saved = append(p.saved, *g)
		}
	case "Q":
		if last := len(p.saved) - 1; last >= 0 {
			*g, p.saved = p.saved[last], p.saved[:last]
		}
	case "cm":
		g.ctm = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}.times(g.ctm)
	case "Do":
		return p.form(args)
	case "BMC", "BDC":
		p.begin(args)
	case "EMC":
		if last := len(p.marked) - 1; last >= 0 {
			if p.marked[last] {
				p.replaced--
			}
			p.marked = p.marked[:last]
		}
	case "BT":
		p.tm, p.line = identity, identity
	case "Tf":
		if len(args) >= 1 {
			p.setFont(args[0])
			g.size = n(1)
		}
	case "Tc":
		g.char = n(0)
	case "Tw":
		g.word = n(0)
	case "Tz":
		g.stretch = n(0) / 100
	case "TL":
		g.leading = n(0)
	case "Ts":
		g.rise = n(0)
	case "Td":
		p.move(n(0), n(1))
	case "TD":
		g.leading = -n(1)
		p.move(n(0), n(1))
	case "Tm":
		p.line = matrix{n(0), n(1), n(2), n(3), n(4), n(5)}
		p.tm = p.line
	case "T*":
		p.move(0, -g.leading)
	case "Tj":
		p.showAll(args)
	case "'":
		p.move(0, -g.leading)
		p.showAll(args)
	case `"`:
		g.word, g.char = n(0), n(1)
		p.move(0, -g.leading)
		p.showAll(args[min(2, len(args)):])
	case "TJ":
		if len(args) > 0 {
			list, _ := args[len(args)-1].(array)
			p.showList(list)
		}
	}
	return nil
}

func (p *painter) move(x, y float64) {
	p.line = matrix{1, 0, 0, 1, x, y}.times(p.line)
	p.tm = p.line
}

func (p *painter) setFont(o object) {
	n, _ := o.(name)
	entry := p.file.dict(p.resources["Font"])[n]
	var key object
	if r, ok := entry.(ref); ok {
		key = r
	}
	if t, ok := p.fonts[key]; ok && key != nil {
		p.g.font = t
		return
	}
	d := p.file.dict(entry)
	if d == nil {
		return // go on with the last one
	}
	p.g.font = p.file.font(d)
	if key != nil {
		p.fonts[key] = p.g.font
	}
}

// begin opens marked content. Its ActualText stands for what is drawn in it.
func (p *painter) begin(args []object) {
	var props dict
	if len(args) >= 2 {
		switch v := args[1].(type) {
		case dict:
			props = v
		case name:
			props = p.file.dict(p.file.dict(p.resources["Properties"])[v])
		}
	}
	s, ok := p.file.resolve(props["ActualText"]).(text)
	if ok && p.replaced == 0 {
		p.add(decodeText(string(s)), p.tm.times(p.g.ctm), p.tm.times(p.g.ctm))
	}
	if len(p.marked) < maxStates {
		p.marked = append(p.marked, ok)
		if ok {
			p.replaced++
		}
	}
}

func (p *painter) showAll(args []object) {
	for _, o := range args {
		if s, ok := o.(text); ok {
			p.show(string(s))
		}
	}
}

// showList shows strings with shifts between them. A shift as wide as a space is
// one; layout sees it as a gap between pieces.
func (p *painter) showList(list array) {
	for _, o := range list {
		if s, ok := o.(text); ok {
			p.show(string(s))
			continue
		}
		shift := -toFloat(o) / 1000 * p.g.size * p.g.stretch
		p.tm = matrix{1, 0, 0, 1, shift, 0}.times(p.tm)
	}
}

func (p *painter) show(s string) {
	g := &p.g
	if g.font == nil || s == "" {
		return
	}
	start := p.tm.times(g.ctm)
	var shown []byte
	g.font.glyphs(s, func(c glyph) {
		if c.text == "" || c.text == "\ufffd" {
			p.lost++
		} else if len(shown) < 1<<20 {
			shown = append(shown, c.text...)
		}
		advance := c.width*g.size + g.char
		if c.space {
			advance += g.word
		}
		p.tm = matrix{1, 0, 0, 1, advance * g.stretch, 0}.times(p.tm)
	})
	if p.replaced == 0 {
		p.add(string(shown), start, p.tm.times(g.ctm))
	}
}

// add notes text that is drawn from one place to another.
func (p *painter) add(s string, from, to matrix) {
	if s == "" {
		return
	}
	p.bytes += len(s)
	turned := 0
	x, y, end := from[4], from[5], to[4]
	switch dx, dy := from[0], from[1]; {
	case math.Abs(dy) > math.Abs(dx) && dy > 0: // upwards
		turned, x, y, end = 1, from[5], -from[4], to[5]
	case math.Abs(dy) > math.Abs(dx):
		turned, x, y, end = 3, -from[5], from[4], -to[5]
	case dx < 0:
		turned, x, y, end = 2, -from[4], -from[5], -to[4]
	}
	size := math.Abs(p.g.size) * math.Hypot(from[2], from[3])
	if size == 0 {
		size = 1
	}
	y += p.g.rise * math.Hypot(from[2], from[3])
	p.pieces = append(p.pieces, piece{s, x, y, end, size, turned})
}

// form draws a form: content that stands elsewhere.
func (p *painter) form(args []object) error {
	if len(args) == 0 || p.forms >= maxForms {
		return nil
	}
	n, _ := args[0].(name)
	s, ok := p.file.resolve(p.file.dict(p.resources["XObject"])[n]).(*stream)
	if !ok || p.file.name(s.dict["Subtype"]) != "Form" {
		return nil
	}
	data, err := p.file.data(s)
	if errors.Is(err, errPicture) {
		return nil
	}
	if err != nil {
		return err
	}
	resources := p.file.dict(s.dict["Resources"])
	if resources == nil {
		resources = p.resources
	}
	outer, tm, line, depth := p.g, p.tm, p.line, len(p.saved)
	if m := p.file.array(s.dict["Matrix"]); len(m) == 6 {
		var form matrix
		for i := range form {
			form[i] = toFloat(p.file.resolve(m[i]))
		}
		p.g.ctm = form.times(p.g.ctm)
	}
	p.forms++
	err = p.paint(data, resources)
	p.forms--
	p.g, p.tm, p.line = outer, tm, line
	p.saved = p.saved[:min(depth, len(p.saved))]
	return err
}
