package vt

import "unicode/utf8"

// Limits of one sequence. A longer control sequence is dropped and listed as
// unknown; a longer string (OSC, DCS, APC) is cut at the limit and listed too.
const (
	maxControl = 256
	maxString  = 4 << 20
	maxParams  = 32
	maxParam   = 65535 // larger numbers are taken for this one, as xterm does
)

type state uint8

const (
	ground state = iota
	escape
	escapeInter // ESC and at least one byte of 0x20–0x2f
	control     // CSI until its final byte
	ignore      // a malformed CSI until its final byte
	text        // OSC, DCS, SOS, PM or APC until ST (or BEL)
	textEscape  // ESC inside of it, perhaps the beginning of ST
)

// parser cuts bytes into characters, controls and sequences, by the state machine
// of the VT500 series for UTF-8 terminals: C1 controls are never single bytes, so a
// title may hold any character. It keeps what is incomplete until the next call.
type parser struct {
	state state
	kind  byte   // what text belongs to: ']' 'P' 'X' '^' '_'
	raw   []byte // the sequence so far, without ESC
	long  bool   // raw was cut
	part  [utf8.UTFMax]byte
	nPart int
}

// sink takes what a parser finds. Slices are valid during the call.
type sink interface {
	print(r rune)
	execute(b byte)
	escape(raw []byte)
	control(raw []byte)
	// str is an OSC, DCS, SOS, PM or APC; kind is the byte after its ESC.
	str(kind byte, raw []byte, cut bool)
	unknownSequence(kind string, raw []byte)
}

func (p *parser) feed(data []byte, s sink) {
	for _, b := range data {
		if p.nPart > 0 || p.state == ground && b >= utf8.RuneSelf {
			if p.runeByte(b, s) {
				continue
			}
		}
		p.byte(b, s)
	}
}

// runeByte adds b to a character that has begun and reports whether it took b.
func (p *parser) runeByte(b byte, s sink) bool {
	if p.nPart > 0 && utf8.RuneStart(b) { // cut off: what begins now is something else
		p.nPart = 0
		s.print(utf8.RuneError)
		if b < utf8.RuneSelf {
			return false
		}
	}
	p.part[p.nPart] = b
	p.nPart++
	if !utf8.FullRune(p.part[:p.nPart]) {
		return true
	}
	r, size := utf8.DecodeRune(p.part[:p.nPart])
	n := p.nPart
	p.nPart = 0
	s.print(r)
	if r == utf8.RuneError && size < n { // the first byte was wrong; the others stand alone
		for range n - size {
			s.print(utf8.RuneError)
		}
	}
	return true
}

func (p *parser) byte(b byte, s sink) {
	switch p.state {
	case text:
		p.textByte(b, s)
		return
	case textEscape:
		p.state = ground
		s.str(p.kind, p.raw, p.long)
		if b != '\\' { // ST in part: the string ends and a new sequence begins
			p.begin()
			p.byte(b, s)
		}
		return
	}
	switch {
	case b == 0x1b:
		p.begin()
	case b == 0x18 || b == 0x1a: // CAN, SUB
		p.state = ground
	case b < 0x20:
		s.execute(b)
	case b == 0x7f:
	case p.state == ground:
		s.print(rune(b))
	case p.state == escape:
		p.escapeByte(b, s)
	default:
		p.collect(b, s)
	}
}

func (p *parser) begin() {
	p.state, p.raw, p.long = escape, p.raw[:0], false
}

func (p *parser) escapeByte(b byte, s sink) {
	switch {
	case b == '[':
		p.state = control
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
		p.state, p.kind = text, b
	case b < 0x30:
		p.raw = append(p.raw, b)
		p.state = escapeInter
	case b < utf8.RuneSelf:
		p.raw = append(p.raw, b)
		p.state = ground
		s.escape(p.raw)
	default:
		p.state = ground
		s.unknownSequence("ESC", []byte{b})
	}
}

// collect takes the bytes of CSI and of ESC with intermediates.
func (p *parser) collect(b byte, s sink) {
	final := byte(0x40)
	if p.state == escapeInter {
		final = 0x30
	}
	switch {
	case b >= utf8.RuneSelf || len(p.raw) >= maxControl:
		p.state = ignore
		if b >= final && b < 0x7f || b >= utf8.RuneSelf {
			p.state = ground
			s.unknownSequence("CSI", p.raw)
		}
	case b < final:
		p.raw = append(p.raw, b)
	default:
		p.raw = append(p.raw, b)
		was := p.state
		p.state = ground
		switch was {
		case control:
			s.control(p.raw)
		case escapeInter:
			s.escape(p.raw)
		default:
			s.unknownSequence("CSI", p.raw)
		}
	}
}

func (p *parser) textByte(b byte, s sink) {
	switch {
	case b == 0x1b:
		p.state = textEscape
	case b == 0x07 && p.kind == ']':
		p.state = ground
		s.str(p.kind, p.raw, p.long)
	case b == 0x18 || b == 0x1a:
		p.state = ground
	case len(p.raw) >= maxString:
		p.long = true
	default:
		p.raw = append(p.raw, b)
	}
}

// sequence is a control sequence in its parts.
type sequence struct {
	prefix byte // one of < = > ?, or 0
	inter  byte // the intermediate, or 0
	final  byte
	n      int
	params [maxParams]param
}

type param struct {
	value int  // -1 where none was given
	sub   bool // it follows a colon
}

// parseControl takes a control sequence without ESC [ apart; ok is false where it
// has no form that any terminal knows.
func parseControl(raw []byte) (q sequence, ok bool) {
	q.final = raw[len(raw)-1]
	raw = raw[:len(raw)-1]
	if len(raw) > 0 && raw[0] >= '<' && raw[0] <= '?' {
		q.prefix, raw = raw[0], raw[1:]
	}
	value, sub, any := -1, false, false
	add := func() {
		if q.n < maxParams {
			q.params[q.n] = param{value, sub}
			q.n++
		}
	}
	for i, b := range raw {
		switch {
		case b >= '0' && b <= '9':
			any = true
			value = min(max(value, 0)*10+int(b-'0'), maxParam)
		case b == ';' || b == ':':
			any = true
			add()
			value, sub = -1, b == ':'
		case b >= 0x20 && b <= 0x2f && i == len(raw)-1:
			q.inter = b
		default:
			return q, false
		}
	}
	if any {
		add()
	}
	return q, true
}

// num is parameter i, or def where it is absent.
func (q *sequence) num(i, def int) int {
	if i >= q.n || q.params[i].value < 0 {
		return def
	}
	return q.params[i].value
}

// count is parameter i as a count: absent and 0 mean 1.
func (q *sequence) count(i int) int { return max(q.num(i, 1), 1) }
