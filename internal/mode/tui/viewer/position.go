package viewer

import "math"

// pos is a row of an item.
type pos struct{ item, row int }

// end, as the row of a pos, is the last one, whichever that is.
const end = math.MaxInt

// settle makes the current row one that there is. It is false where nothing is shown.
func (v *Viewer) settle() bool {
	if len(v.branch.items) == 0 {
		return false
	}
	if v.hold != nil && v.hold.row >= len(v.rows(v.hold.item)) {
		v.hold = nil
	}
	v.cur.item = min(max(0, v.cur.item), len(v.branch.items)-1)
	n := len(v.rows(v.cur.item))
	if n == 0 {
		at := v.shown(v.cur.item, -1)
		v.cur.row = end
		if at < 0 {
			at, v.cur.row = v.shown(v.cur.item, 1), 0
		}
		if at < 0 {
			return false
		}
		v.cur.item = at
		n = len(v.rows(at))
	}
	v.cur.row = min(max(0, v.cur.row), n-1)
	return true
}

// shown is the next item with rows behind item i, or with dir -1 before it; -1 if
// there is none.
func (v *Viewer) shown(i, dir int) int {
	for i += dir; i >= 0 && i < len(v.branch.items); i += dir {
		if len(v.rows(i)) > 0 {
			return i
		}
	}
	return -1
}

// walk goes n rows down, or up, as far as there are rows, and says how many it were.
func (v *Viewer) walk(p pos, n int) (pos, int) {
	if n < 0 {
		return v.climb(p, -n)
	}
	moved := 0
	for {
		left := len(v.rows(p.item)) - 1 - p.row
		if n-moved <= left {
			p.row += n - moved
			return p, n
		}
		next := v.shown(p.item, 1)
		if next < 0 {
			p.row += left
			return p, moved + left
		}
		p, moved = pos{item: next}, moved+left+1
	}
}

func (v *Viewer) climb(p pos, n int) (pos, int) {
	moved := 0
	for {
		if n-moved <= p.row {
			p.row -= n - moved
			return p, n
		}
		next := v.shown(p.item, -1)
		if next < 0 {
			return pos{item: p.item}, moved + p.row
		}
		moved += p.row + 1
		p = pos{item: next, row: len(v.rows(next)) - 1}
	}
}

// top is the first row on the screen.
func (v *Viewer) top() pos {
	if v.hold != nil {
		return *v.hold
	}
	top, _ := v.walk(v.cur, -(v.height / 2))
	if _, n := v.walk(top, v.height-1); n < v.height-1 {
		top, _ = v.walk(top, n-(v.height-1))
	}
	return top
}

// release ends the hold of the screen; the current row is one now that leaves it
// where it is.
func (v *Viewer) release() {
	if v.hold == nil {
		return
	}
	held := *v.hold
	if v.hold = nil; v.top() != held {
		v.cur, _ = v.walk(held, v.height/2)
	}
}

// page moves the screen by its height; at an end already, the current row goes there.
func (v *Viewer) page(dir int) {
	v.release()
	top := v.top()
	next, _ := v.walk(top, dir*v.height)
	if _, n := v.walk(next, v.height-1); n < v.height-1 {
		next, _ = v.walk(next, n-(v.height-1))
	}
	if next == top {
		v.cur, _ = v.walk(v.cur, dir*v.height)
		return
	}
	v.cur, _ = v.walk(next, v.height/2)
}

// jump makes an item the current one, from its first row.
func (v *Viewer) jump(i int) {
	if i >= 0 {
		v.hold = nil
		v.cur = pos{item: i}
	}
}

// jumpUser goes to the next message of the user, or with dir -1 to the one before.
func (v *Viewer) jumpUser(dir int) bool {
	for i := v.cur.item + dir; i >= 0 && i < len(v.branch.items); i += dir {
		if v.branch.first(i).kind == user && len(v.rows(i)) > 0 {
			v.jump(i)
			return true
		}
	}
	return false
}
