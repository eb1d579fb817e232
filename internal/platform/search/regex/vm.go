package regex

import (
	"regexp/syntax"
	"sync/atomic"
	"unicode/utf8"
)

// vm finds where the leftmost match is, the one that a backtracking engine would
// find first, in time proportional to text and program. It belongs to one
// goroutine.
type vm struct {
	*program
	now, next threads
	stack     []visit
	stop      *atomic.Bool
}

// thread is one way the match may go.
type thread struct {
	id         uint32
	start, end int
}

// visit is a node still to be looked at while threads are added.
type visit = thread

// threads are kept in the order in which they are preferred, one for each node.
type threads struct {
	list  []thread
	place []uint32 // by node: where in list it may be
}

func newVM(p *program, stop *atomic.Bool) *vm {
	n := len(p.nodes)
	return &vm{
		program: p, stop: stop,
		now:  threads{place: make([]uint32, n)},
		next: threads{place: make([]uint32, n)},
	}
}

func (t *threads) has(id uint32) bool {
	i := t.place[id]
	return int(i) < len(t.list) && t.list[i].id == id
}

func (t *threads) put(v thread) {
	t.place[v.id] = uint32(len(t.list))
	t.list = append(t.list, v)
}

// find gives the first match in text that begins at from or later. What stands
// before from counts for conditions.
func (m *vm) find(text []byte, from int) (start, end int, ok bool) {
	m.now.list = m.now.list[:0]
	work := 0 // since the last look at stop
	for pos := from; ; pos++ {
		if len(m.now.list) == 0 {
			if ok {
				return start, end, true
			}
			for pos < len(text) && !m.first[text[pos]] {
				pos++
			}
		}
		if work += 1 + len(m.now.list); work > 1<<14 {
			if work = 0; m.stop != nil && m.stop.Load() {
				return 0, 0, false
			}
		}
		if !ok && (pos == len(text) || utf8.RuneStart(text[pos])) {
			m.add(&m.now, thread{m.program.start, -1, -1}, text, pos)
		}
		m.next.list = m.next.list[:0]
		for _, t := range m.now.list {
			n := &m.nodes[t.id]
			if n.kind == nodeMatch {
				start, end, ok = t.start, t.end, true
				break // the others are less preferred
			}
			if pos < len(text) {
				if to, goes := n.follow(text[pos]); goes {
					m.add(&m.next, thread{to, t.start, t.end}, text, pos+1)
				}
			}
		}
		if pos >= len(text) {
			return start, end, ok
		}
		m.now, m.next = m.next, m.now
	}
}

// add puts into l the threads that t becomes at pos without a byte.
func (m *vm) add(l *threads, t thread, text []byte, pos int) {
	var cond syntax.EmptyOp
	looked := false
	m.stack = append(m.stack[:0], t)
	for len(m.stack) > 0 {
		t := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if l.has(t.id) {
			continue
		}
		l.put(t)
		n := &m.nodes[t.id]
		switch n.kind {
		case nodeEither:
			m.stack = append(m.stack, visit{n.other, t.start, t.end}, visit{n.out, t.start, t.end})
		case nodeOpen:
			m.stack = append(m.stack, visit{n.out, pos, t.end})
		case nodeClose:
			m.stack = append(m.stack, visit{n.out, t.start, pos})
		case nodeAssert:
			if !looked {
				cond, looked = m.conditions(text, pos), true
			}
			if n.cond&^cond == 0 {
				m.stack = append(m.stack, visit{n.out, t.start, t.end})
			}
		case nodeBytes, nodeMatch, nodeFail:
		}
	}
}
