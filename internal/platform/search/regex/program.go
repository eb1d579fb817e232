package regex

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
)

// program is a pattern as a graph whose edges are bytes: the runes of the
// compiled expression are spelled out as the bytes of their UTF-8. Both automata
// run it.
type program struct {
	nodes []node
	start uint32
	lines bool // a text is a line: its ends are those of the text

	class  [256]uint8 // bytes that no node tells apart have one class
	stride int        // number of classes and, as the last, the end of the text
	first  [256]bool  // bytes with which a match or what must stand before it can begin

	empty   bool // matches the empty text everywhere
	asserts bool // looks at what stands beside a position
	wide    bool // some node wants a character beyond ASCII, or to know where one ends
	cr      bool // a carriage return at the end of a line would make a difference
}

const wordEdges = syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary

type nodeKind uint8

const (
	nodeBytes  nodeKind = iota // go on where the next byte leads
	nodeEither                 // go on at out, and if that fails at other
	nodeAssert                 // go on at out if cond holds here
	nodeOpen                   // the match begins here
	nodeClose                  // the match ends here
	nodeMatch                  // done
	nodeFail
)

type node struct {
	kind  nodeKind
	cond  syntax.EmptyOp
	out   uint32
	other uint32
	edges []edge // of nodeBytes, in order, not overlapping
}

type edge struct {
	lo, hi byte
	to     uint32
}

// follow is where byte b leads from n.
func (n *node) follow(b byte) (uint32, bool) {
	for i := range n.edges {
		if e := &n.edges[i]; b <= e.hi {
			return e.to, b >= e.lo
		}
	}
	return 0, false
}

// newProgram spells out a compiled expression.
func newProgram(c *syntax.Prog, lines bool) *program {
	p := &program{lines: lines, start: uint32(c.Start)}
	p.nodes = make([]node, len(c.Inst))
	s := speller{program: p, known: map[string]uint32{}}
	for i := range c.Inst {
		in := &c.Inst[i]
		n := node{out: in.Out, other: in.Arg}
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			n.kind = nodeEither
		case syntax.InstCapture:
			switch in.Arg {
			case 2:
				n.kind = nodeOpen
			case 3:
				n.kind = nodeClose
			default:
				n.kind, n.other = nodeEither, in.Out
			}
		case syntax.InstEmptyWidth:
			n.kind, n.cond = nodeAssert, syntax.EmptyOp(in.Arg)
			p.asserts = true
			p.wide, p.cr = true, true // no condition holds within a character or before a CR at the end
		case syntax.InstMatch:
			n.kind = nodeMatch
		case syntax.InstFail:
			n.kind = nodeFail
		case syntax.InstNop:
			n.kind, n.other = nodeEither, in.Out
		default:
			n.edges = s.spell(runes(in), in.Out)
		}
		p.nodes[i] = n
	}
	p.classify()
	p.beginnings()
	return p
}

// runes are the ranges of runes that an instruction matches, in order.
func runes(in *syntax.Inst) [][2]rune {
	switch in.Op {
	case syntax.InstRuneAny:
		return [][2]rune{{0, unicode.MaxRune}}
	case syntax.InstRuneAnyNotNL:
		return [][2]rune{{0, '\n' - 1}, {'\n' + 1, unicode.MaxRune}}
	}
	var out [][2]rune
	if len(in.Rune) == 1 {
		r := in.Rune[0]
		out = append(out, [2]rune{r, r})
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				out = append(out, [2]rune{f, f})
			}
			slices.SortFunc(out, func(a, b [2]rune) int { return int(a[0] - b[0]) })
		}
		return out
	}
	for i := 0; i+1 < len(in.Rune); i += 2 {
		out = append(out, [2]rune{in.Rune[i], in.Rune[i+1]})
	}
	return out
}

// speller turns ranges of runes into nodes for their bytes. Equal nodes are made
// once, which keeps large classes small.
type speller struct {
	*program
	known map[string]uint32
	key   []byte
}

// sequence is a range of characters of equal length, byte for byte.
type sequence [][2]byte

// spell gives the edges of the first byte; those of the others are new nodes.
func (s *speller) spell(ranges [][2]rune, out uint32) []edge {
	var seqs []sequence
	for _, r := range ranges {
		s.wide = s.wide || r[1] >= 0x80
		s.cr = s.cr || r[0] <= '\r' && r[1] >= '\r'
		seqs = appendSequences(seqs, r[0], r[1])
	}
	return s.edges(seqs, 0, out)
}

// edges gives the edges for the bytes at index i of seqs, which agree before it.
func (s *speller) edges(seqs []sequence, i int, out uint32) []edge {
	var edges []edge
	for len(seqs) > 0 {
		head := seqs[0]
		n := 1
		for n < len(seqs) && len(seqs[n]) > i && seqs[n][i] == head[i] {
			n++
		}
		to := out
		if len(head) > i+1 {
			to = s.node(s.edges(seqs[:n], i+1, out))
		}
		if k := len(edges); k > 0 && edges[k-1].to == to && edges[k-1].hi+1 == head[i][0] {
			edges[k-1].hi = head[i][1]
		} else {
			edges = append(edges, edge{head[i][0], head[i][1], to})
		}
		seqs = seqs[n:]
	}
	return edges
}

// node is the node with these edges.
func (s *speller) node(edges []edge) uint32 {
	s.key = s.key[:0]
	for _, e := range edges {
		s.key = append(s.key, e.lo, e.hi)
		s.key = binary.LittleEndian.AppendUint32(s.key, e.to)
	}
	if id, ok := s.known[string(s.key)]; ok {
		return id
	}
	id := uint32(len(s.nodes))
	s.nodes = append(s.nodes, node{kind: nodeBytes, edges: edges})
	s.known[string(s.key)] = id
	return id
}

// appendSequences adds the UTF-8 of the runes lo to hi, in order. Surrogates
// have none.
func appendSequences(seqs []sequence, lo, hi rune) []sequence {
	const surrogate, afterSurrogate = 0xD800, 0xE000
	if lo < afterSurrogate && hi >= surrogate {
		seqs = appendSequences(seqs, lo, surrogate-1)
		lo = afterSurrogate
	}
	if lo > hi {
		return seqs
	}
	for _, last := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if lo <= last && hi > last { // lengths differ
			return appendSequences(appendSequences(seqs, lo, last), last+1, hi)
		}
	}
	if hi < 0x80 {
		return append(seqs, sequence{{byte(lo), byte(hi)}})
	}
	for i := 1; i < 4; i++ { // make continuation bytes whole ranges
		m := rune(1)<<(6*i) - 1
		if lo&^m == hi&^m {
			continue
		}
		if lo&m != 0 {
			return appendSequences(appendSequences(seqs, lo, lo|m), (lo|m)+1, hi)
		}
		if hi&m != m {
			return appendSequences(appendSequences(seqs, lo, hi&^m-1), hi&^m, hi)
		}
	}
	a, b := string(lo), string(hi)
	seq := make(sequence, len(a))
	for i := range seq {
		seq[i] = [2]byte{a[i], b[i]}
	}
	return append(seqs, seq)
}

// classify finds the bytes that need not be told apart.
func (p *program) classify() {
	var border [257]bool
	cut := func(lo, hi int) { border[lo], border[hi+1] = true, true }
	cut('\n', '\n')
	for i := range p.nodes {
		n := &p.nodes[i]
		for _, e := range n.edges {
			cut(int(e.lo), int(e.hi))
		}
		if n.cond&wordEdges != 0 {
			for _, r := range []string{"09", "AZ", "__", "az", "\x80\xBF"} {
				cut(int(r[0]), int(r[1]))
			}
		}
	}
	class := uint8(0)
	for b := range 256 {
		if border[b] && b > 0 {
			class++
		}
		p.class[b] = class
	}
	p.stride = int(class) + 2
}

// beginnings finds out what a match can begin with.
func (p *program) beginnings() {
	const unsure, sure = 1, 2 // whether the way there held no condition
	seen := make([]uint8, len(p.nodes))
	var visit func(id uint32, how uint8)
	visit = func(id uint32, how uint8) {
		if seen[id] >= how {
			return
		}
		seen[id] = how
		switch n := &p.nodes[id]; n.kind {
		case nodeEither:
			visit(n.out, how)
			visit(n.other, how)
		case nodeOpen, nodeClose:
			visit(n.out, how)
		case nodeAssert:
			visit(n.out, unsure)
		case nodeMatch:
			p.empty = p.empty || how == sure
			for b := range p.first {
				p.first[b] = true
			}
		case nodeBytes:
			for _, e := range n.edges {
				for b := int(e.lo); b <= int(e.hi); b++ {
					p.first[b] = true
				}
			}
		case nodeFail:
		}
	}
	visit(p.start, sure)
}

// isWord reports whether b counts for \b.
func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// conditions are those that hold in text at pos.
func (p *program) conditions(text []byte, pos int) syntax.EmptyOp {
	var op syntax.EmptyOp
	before, after := false, false
	if pos == 0 {
		op |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	} else {
		before = isWord(text[pos-1])
		if text[pos-1] == '\n' {
			op |= syntax.EmptyBeginLine
		}
	}
	if pos == len(text) {
		op |= syntax.EmptyEndText | syntax.EmptyEndLine
	} else {
		after = isWord(text[pos])
		if text[pos] == '\n' {
			op |= syntax.EmptyEndLine
		}
	}
	if before != after {
		return op | syntax.EmptyWordBoundary
	}
	return op | syntax.EmptyNoWordBoundary
}
