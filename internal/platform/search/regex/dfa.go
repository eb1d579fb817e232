package regex

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sync/atomic"
	"unicode/utf8"
)

// dfa answers whether there is a match, and where the one that ends first ends.
// Its states are sets of nodes; they and the ways between them are made when the
// text first leads there. It belongs to one goroutine.
//
// A state is named by where its row begins in ways. The first rows are no states
// but answers: see unknown, matched and hopeless.
type dfa struct {
	*program
	stop   *atomic.Bool
	ways   []uint32 // row of the state + class of the next byte → the next row
	states []state  // by row number
	known  map[string]uint32
	ids    int // nodes held by all states

	opening [4]uint32 // rows of the states that texts can begin in, by context

	// Sets under construction.
	set     []uint32
	seen    []uint32
	round   uint32
	stack   []uint32
	key     []byte
	resets  int
	scanned int  // bytes since the states were last thrown away
	full    int  // how often that was so soon that it did not pay
	useless bool // so it is not worth going on
}

type state struct {
	ids []uint32
	ctx context
}

// context is what a state knows of the text before it.
type context uint8

const (
	afterWord context = 1 << iota
	lineStart
	textStart
	unbegun // no match has begun that may still end
)

// Answers in place of rows, in units of the stride.
const (
	unknown  = 0 // not made yet
	matched  = 1
	hopeless = 2 // no match before the line ends
	answers  = 3
)

// Bounds of one automaton: 2 MB of ways and 1 MB of sets.
const (
	maxWays = 512 << 10
	maxIDs  = 256 << 10
)

func newDFA(p *program, stop *atomic.Bool) *dfa {
	d := &dfa{program: p, stop: stop, seen: make([]uint32, len(p.nodes))}
	d.reset()
	return d
}

// reset throws all states away.
func (d *dfa) reset() {
	d.ways = append(d.ways[:0], make([]uint32, answers*d.stride)...)
	d.states = append(d.states[:0], make([]state, answers)...)
	d.known = map[string]uint32{}
	d.ids = 0
	d.scanned = 0
	d.resets++
	clear(d.opening[:])
}

// begin is the state of a text, or of a position in it, after the byte before.
func (d *dfa) begin(text []byte, pos int) uint32 {
	var ctx context
	k := 0
	if d.asserts {
		switch {
		case pos == 0:
			ctx = textStart | lineStart
		case text[pos-1] == '\n':
			ctx, k = lineStart, 1
		case isWord(text[pos-1]):
			ctx, k = afterWord, 2
		default:
			k = 3
		}
	}
	return d.opened(k, ctx)
}

func (d *dfa) opened(k int, ctx context) uint32 {
	if d.opening[k] == 0 {
		d.newRound()
		d.add(d.start, 0) // no match: see program.empty
		d.opening[k] = d.intern(ctx | unbegun)
	}
	return d.opening[k]
}

// lineBegin is the state at the beginning of a line.
func (d *dfa) lineBegin() uint32 {
	if !d.asserts {
		return d.opened(0, 0)
	}
	return d.opened(0, textStart|lineStart)
}

// scan runs over text from state s. It stops after the byte that makes sure of a
// match, or before which one has ended, and gives the index behind it; that byte
// is the line end if the match needs it. Without a match it gives -1 and the
// state at the end of text.
func (d *dfa) scan(text []byte, s uint32) (int, uint32) {
	first := uint32(answers * d.stride)
	ways, class := d.ways, &d.class
	counted := 0 // bytes of text that d.scanned holds
	i := 0
	for i < len(text) {
		next := ways[s+uint32(class[text[i]])]
		if next < first {
			d.scanned += i - counted
			counted = i
			if next == unknown {
				if d.stop != nil && d.stop.Load() { // steps of large patterns take their time
					return -1, s
				}
				next = d.step(s, int(class[text[i]]), text[i])
				ways = d.ways
			}
			switch int(next) {
			case matched * d.stride:
				return i + 1, s
			case hopeless * d.stride:
				end := indexByte(text, i, '\n')
				if end == len(text) {
					return -1, next
				}
				i, s = end+1, d.lineBegin()
				ways = d.ways
				continue
			}
		}
		s = next
		i++
	}
	d.scanned += len(text) - counted
	return -1, s
}

// lastUnbegun is the last index of text at which no match had begun, on the way from
// s that a scan has gone before; 0 if there was none.
func (d *dfa) lastUnbegun(text []byte, s uint32) int {
	last := 0
	for i, b := range text {
		if s = d.ways[s+uint32(d.class[b])]; int(s) < answers*d.stride {
			break
		}
		if d.unbegun(s) {
			last = i + 1
		}
	}
	return last
}

// unbegun reports whether no match has begun in state s that may still end.
func (d *dfa) unbegun(s uint32) bool { return d.states[int(s)/d.stride].ctx&unbegun != 0 }

// ends reports whether there is a match when the text ends in state s.
func (d *dfa) ends(s uint32) bool {
	if int(s) == hopeless*d.stride {
		return false
	}
	eof := d.stride - 1
	next := d.ways[int(s)+eof]
	if next == unknown {
		next = d.step(s, eof, '\n')
	}
	return int(next) == matched*d.stride
}

// step makes the way from row s for a class of bytes, of which b is one.
func (d *dfa) step(s uint32, class int, b byte) uint32 {
	from := &d.states[int(s)/d.stride]
	eof := class == d.stride-1
	lineEnd := eof || d.lines && b == '\n'
	next, ctx := d.target(from, b, eof, lineEnd)
	if next == unknown { // a set, not an answer
		if len(d.ways) > maxWays || d.ids > maxIDs {
			d.overflow()
			return d.intern(ctx)
		}
		next = d.intern(ctx)
	}
	d.ways[int(s)+class] = next
	return next
}

// overflow makes room for new states. States that are used only a few times
// before they are thrown away cost more than they save.
func (d *dfa) overflow() {
	if d.scanned < 10*len(d.states) {
		if d.full++; d.full > 3 {
			d.useless = true
		}
	}
	set := slices.Clone(d.set)
	d.reset()
	d.set = set
}

// after is the context behind byte b within a line.
func (d *dfa) after(b byte) context {
	switch {
	case !d.asserts:
		return 0
	case b == '\n':
		return lineStart
	case isWord(b):
		return afterWord
	}
	return 0
}

// target leaves in d.set the nodes behind byte b and gives their context, or it
// gives an answer or the beginning of a line.
func (d *dfa) target(from *state, b byte, eof, lineEnd bool) (uint32, context) {
	ids := from.ids
	if d.asserts && (eof || utf8.RuneStart(b)) { // no condition is asked for within a character
		d.newRound()
		cond := d.hold(from.ctx, b, eof, lineEnd)
		for _, id := range ids {
			if d.add(id, cond) {
				return uint32(matched * d.stride), 0
			}
		}
		ids = slices.Clone(d.set)
	}
	switch {
	case eof:
		return uint32(hopeless * d.stride), 0
	case lineEnd:
		return d.lineBegin(), 0
	}
	d.newRound()
	for _, id := range ids {
		n := &d.nodes[id]
		if n.kind != nodeBytes {
			continue
		}
		if to, ok := n.follow(b); ok && d.add(to, 0) {
			return uint32(matched * d.stride), 0
		}
	}
	ctx := d.after(b)
	if len(d.set) == 0 {
		ctx |= unbegun
	}
	d.add(d.start, 0)
	if d.lines && d.waitsForLine() {
		return uint32(hopeless * d.stride), 0
	}
	return unknown, ctx
}

// hold are the conditions that hold between a state's context and byte b.
func (d *dfa) hold(ctx context, b byte, eof, lineEnd bool) syntax.EmptyOp {
	var cond syntax.EmptyOp
	if ctx&textStart != 0 {
		cond |= syntax.EmptyBeginText
	}
	if ctx&lineStart != 0 {
		cond |= syntax.EmptyBeginLine
	}
	if eof || lineEnd {
		cond |= syntax.EmptyEndText | syntax.EmptyEndLine
	} else if b == '\n' {
		cond |= syntax.EmptyEndLine
	}
	if (ctx&afterWord != 0) != (!eof && isWord(b)) {
		return cond | syntax.EmptyWordBoundary
	}
	return cond | syntax.EmptyNoWordBoundary
}

// waitsForLine reports whether all that d.set can do is begin a match at the
// beginning of a line.
func (d *dfa) waitsForLine() bool {
	for _, id := range d.set {
		n := &d.nodes[id]
		if n.kind != nodeAssert || n.cond&(syntax.EmptyBeginLine|syntax.EmptyBeginText) == 0 {
			return false
		}
	}
	return true
}

func (d *dfa) newRound() {
	d.set = d.set[:0]
	d.round++
}

// add puts into d.set what can be reached from id without a byte, given what
// conditions hold; conditions that do not may do so later and stay in the set. It
// reports whether that is a match.
func (d *dfa) add(id uint32, cond syntax.EmptyOp) bool {
	d.stack = append(d.stack[:0], id)
	for len(d.stack) > 0 {
		id := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.seen[id] == d.round {
			continue
		}
		d.seen[id] = d.round
		switch n := &d.nodes[id]; n.kind {
		case nodeMatch:
			return true
		case nodeEither:
			d.stack = append(d.stack, n.other, n.out)
		case nodeOpen, nodeClose:
			d.stack = append(d.stack, n.out)
		case nodeAssert:
			if n.cond&^cond == 0 {
				d.stack = append(d.stack, n.out)
			} else {
				d.set = append(d.set, id)
			}
		case nodeBytes:
			d.set = append(d.set, id)
		case nodeFail:
		}
	}
	return false
}

// intern gives the row of the state that d.set is in a context.
func (d *dfa) intern(ctx context) uint32 {
	slices.Sort(d.set)
	d.key = append(d.key[:0], byte(ctx))
	for _, id := range d.set {
		d.key = binary.LittleEndian.AppendUint32(d.key, id)
	}
	if row, ok := d.known[string(d.key)]; ok {
		return row
	}
	ids := slices.Clone(d.set)
	row := uint32(len(d.ways))
	d.ways = append(d.ways, make([]uint32, d.stride)...)
	d.states = append(d.states, state{ids, ctx})
	d.known[string(d.key)] = row
	d.ids += len(ids)
	return row
}
