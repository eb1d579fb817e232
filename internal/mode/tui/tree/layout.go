package tree

import "github.com/burin-dev/burin/transcript"

// layout is the tree as rows.
type layout struct {
	rows     []row
	segments []segment
	rowOf    []int32 // by node; -1: not shown
}

// row is an entry and the straight run that it stands in.
type row struct {
	node    int32
	segment int32
	first   bool // begins it
	forks   bool // several branches follow
}

// segment is a straight run. Its parent is the one it branches off from; -1 for those
// that are not indented.
type segment struct {
	parent int32
	last   bool // of its siblings
	depth  int32
}

// todo is a node to be put into a row.
type todo struct {
	node, segment int32
	first         bool
}

// arranger is the state of one arrange.
type arranger struct {
	layout
	// children by node as linked lists, in which the active one comes first and the
	// others follow from the oldest on; the roots stand behind the last node.
	child, sibling []int32
	stack          []todo
}

// arrange lays out the nodes that are kept. What is left out gives its children to
// what is above it. Where there are several beginnings, they branch off from nothing.
func arrange(nodes []transcript.Node, active, kept []bool) layout {
	n := len(nodes)
	a := arranger{
		layout: layout{rowOf: filled(n)},
		child:  filled(n + 1), sibling: filled(n),
	}
	above := make([]int32, n) // the nearest kept node, itself included; n: none
	for i := range nodes {
		above[i] = int32(n)
		if p := nodes[i].Parent; p >= 0 {
			above[i] = above[p]
		}
		if kept[i] {
			above[i] = int32(i)
		}
	}
	for i := n - 1; i >= 0; i-- {
		if !kept[i] {
			continue
		}
		p := int32(n)
		if nodes[i].Parent >= 0 {
			p = above[nodes[i].Parent]
		}
		a.sibling[i], a.child[p] = a.child[p], int32(i)
	}
	for i := range n {
		if kept[i] && active[i] {
			p := int32(n)
			if nodes[i].Parent >= 0 {
				p = above[nodes[i].Parent]
			}
			a.promote(p, int32(i))
		}
	}
	a.push(int32(n), -1)
	for len(a.stack) > 0 {
		next := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		a.rowOf[next.node] = int32(len(a.rows))
		a.rows = append(a.rows, row{node: next.node, segment: next.segment, first: next.first})
		a.rows[len(a.rows)-1].forks = a.push(next.node, next.segment)
	}
	return a.layout
}

func filled(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// promote makes a child the first of its siblings.
func (a *arranger) promote(parent, c int32) {
	at := a.child[parent]
	if at == c {
		return
	}
	for a.sibling[at] != c {
		at = a.sibling[at]
	}
	a.sibling[at] = a.sibling[c]
	a.sibling[c], a.child[parent] = a.child[parent], c
}

// push puts the children of a node on the stack, each with a segment of its own if
// there are several, and reports whether there are.
func (a *arranger) push(node, in int32) bool {
	first := a.child[node]
	if first < 0 {
		return false
	}
	if a.sibling[first] < 0 {
		a.stack = append(a.stack, todo{node: first, segment: in})
		return false
	}
	depth := int32(1)
	if in >= 0 {
		depth = a.segments[in].depth + 1
	}
	from := len(a.stack)
	for c := first; c >= 0; c = a.sibling[c] {
		a.segments = append(a.segments, segment{parent: in, last: a.sibling[c] < 0, depth: depth})
		a.stack = append(a.stack, todo{node: c, segment: int32(len(a.segments) - 1), first: true})
	}
	for i, j := from, len(a.stack)-1; i < j; i, j = i+1, j-1 {
		a.stack[i], a.stack[j] = a.stack[j], a.stack[i]
	}
	return true
}

// lines are the signs that branches are drawn with.
type lines struct{ tee, corner, through, none string }

func linesOf(ascii bool) lines {
	if ascii {
		return lines{"|- ", "`- ", "|  ", "   "}
	}
	return lines{"├─ ", "└─ ", "│  ", "   "}
}

// prefix is what stands before row r, in at most room cells: of a deeper one only the
// innermost branches are drawn, behind a sign. It costs what is drawn.
func (l *layout) prefix(r int, room int, d lines, ellipsis string) string {
	at := l.rows[r]
	if at.segment < 0 {
		return ""
	}
	depth := int(l.segments[at.segment].depth)
	show := min(depth, max(1, room/3))
	out := ""
	for s, own := at.segment, at.first; s >= 0 && show > 0; s, own, show = l.segments[s].parent, false, show-1 {
		last := l.segments[s].last
		switch {
		case own && last:
			out = d.corner + out
		case own:
			out = d.tee + out
		case last:
			out = d.none + out
		default:
			out = d.through + out
		}
	}
	if depth > max(1, room/3) {
		out = ellipsis + out
	}
	return out
}
