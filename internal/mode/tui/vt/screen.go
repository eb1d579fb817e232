package vt

// screen is what programs draw on: both grids, the scrollback, the cursor and the modes.
type screen struct {
	w, h    int
	reflow  bool
	main    grid
	alt     grid
	cur     *grid // main or alt
	history history

	top, bottom int // the scroll region: rows top to bottom-1
	tabs        []bool
	charsets    charsets
	modes       map[int]bool // private modes that are set
	insert      bool         // IRM
	newline     bool         // LNM
	last        last         // where the last grapheme went
	shape       int          // DECSCUSR

	shown *view // what is seen during a synchronised update
	spare *view // memory of the view before
}

// view is a copy of what can be seen.
type view struct {
	grid    grid
	alt     bool
	cursor  Cursor
	history []row
	lost    int
}

// reset empties everything but the scrollback.
func (sc *screen) reset() {
	*sc = screen{
		w: sc.w, h: sc.h, reflow: sc.reflow, history: sc.history, spare: sc.spare,
		main: newGrid(sc.w, sc.h), alt: newGrid(sc.w, sc.h),
		bottom: sc.h, tabs: defaultTabs(sc.w),
		modes: map[int]bool{modeWrap: true, modeCursor: true},
	}
	sc.cur = &sc.main
}

func defaultTabs(w int) []bool {
	tabs := make([]bool, w)
	for i := 8; i < w; i += 8 {
		tabs[i] = true
	}
	return tabs
}

// alternative reports whether the alternate screen is in use.
func (sc *screen) alternative() bool { return sc.cur == &sc.alt }

// cursor is the cursor as one sees it.
func (sc *screen) cursor() Cursor {
	if sc.shown != nil {
		return sc.shown.cursor
	}
	return Cursor{X: sc.cur.x, Y: sc.cur.y, Hidden: !sc.modes[modeCursor], Shape: sc.shape}
}

// seen is what can be seen now.
func (sc *screen) seen() (g *grid, history []row) {
	if sc.shown != nil {
		return &sc.shown.grid, sc.shown.history
	}
	return sc.cur, sc.history.last()
}

// beginSync keeps what is seen now until endSync.
func (sc *screen) beginSync() {
	if sc.shown != nil {
		return
	}
	v := sc.spare
	if v == nil {
		v = &view{}
	}
	v.alt, v.cursor = sc.alternative(), sc.cursor()
	sc.cur.copyInto(&v.grid)
	v.history, v.lost = sc.history.last(), sc.history.lost
	sc.shown, sc.spare = v, nil
}

// endSync ends a synchronised update and reports whether there was one.
func (sc *screen) endSync() bool {
	if sc.shown == nil {
		return false
	}
	sc.spare, sc.shown = sc.shown, nil
	return true
}

func (sc *screen) moveTo(x, y int) {
	top, bottom := 0, sc.h
	if sc.modes[modeOrigin] {
		top, bottom = sc.top, sc.bottom
		y += top
	}
	sc.cur.x = min(max(x, 0), sc.w-1)
	sc.cur.y = min(max(y, top), bottom-1)
	sc.cur.wrap = false
}

// moveY moves by rows and stops at the margins if it begins inside of them.
func (sc *screen) moveY(n int) {
	g := sc.cur
	lo, hi := 0, sc.h-1
	if g.y >= sc.top {
		lo = sc.top
	}
	if g.y < sc.bottom {
		hi = sc.bottom - 1
	}
	g.y = min(max(g.y+n, lo), hi)
	g.wrap = false
}

func (sc *screen) eraseLine(how int) bool {
	g := sc.cur
	r := &g.rows[g.y]
	g.wrap = false
	switch how {
	case 0:
		r.clear(g.x, sc.w, sc.erased())
	case 1:
		r.clear(0, g.x+1, sc.erased())
	case 2:
		r.clear(0, sc.w, sc.erased())
	default:
		return false
	}
	return true
}

func (sc *screen) eraseScreen(how int) bool {
	g := sc.cur
	from, to := 0, sc.h
	switch how {
	case 0:
		sc.eraseLine(0)
		from = g.y + 1
	case 1:
		sc.eraseLine(1)
		to = g.y
	case 2:
	case 3:
		if sc.cur == &sc.main {
			sc.history.lost += len(sc.history.rows)
			sc.history.rows = nil
		}
		return true
	default:
		return false
	}
	for y := from; y < to; y++ {
		g.rows[y].clear(0, sc.w, sc.erased())
	}
	g.wrap = false
	return true
}

func (sc *screen) clearTabs(how int) bool {
	switch how {
	case 0:
		sc.tabs[sc.cur.x] = false
	case 3:
		clear(sc.tabs)
	default:
		return false
	}
	return true
}

func (sc *screen) save() {
	g := sc.cur
	g.saved = saved{g.x, g.y, g.wrap, g.style, sc.charsets, sc.modes[modeOrigin]}
}

func (sc *screen) restore() {
	g := sc.cur
	s := g.saved
	g.x, g.y = min(s.x, sc.w-1), min(s.y, sc.h-1)
	g.wrap = s.wrap && g.x == sc.w-1
	g.style, sc.charsets = s.style, s.charsets
	sc.modes[modeOrigin] = s.origin
}

// alternate changes the screen. The cursor goes along, as in xterm.
func (sc *screen) alternate(mode int, on bool) {
	from := sc.cur
	if on == (from == &sc.alt) {
		return
	}
	if on {
		if mode == modeAltSave {
			sc.save()
		}
		sc.cur = &sc.alt
		sc.alt.x, sc.alt.y, sc.alt.wrap, sc.alt.style = from.x, from.y, from.wrap, from.style
		if mode == modeAltSave {
			for y := range sc.alt.rows {
				sc.alt.rows[y].clear(0, sc.w, sc.erased())
			}
		}
		return
	}
	if mode == modeAltClear {
		for y := range sc.alt.rows {
			sc.alt.rows[y].clear(0, sc.w, blank)
		}
	}
	sc.cur = &sc.main
	sc.main.x, sc.main.y, sc.main.wrap, sc.main.style = from.x, from.y, from.wrap, from.style
	if mode == modeAltSave {
		sc.restore()
	}
}

func (sc *screen) softReset() {
	sc.modes[modeCursor], sc.modes[modeOrigin], sc.modes[modeWrap] = true, false, true
	sc.modes[modeAppCursor] = false
	sc.insert = false
	sc.top, sc.bottom = 0, sc.h
	sc.cur.style = Style{}
	sc.cur.saved = saved{}
	sc.charsets = charsets{}
}

// align is DECALN, which fills the screen.
func (sc *screen) align() {
	for y := range sc.cur.rows {
		for x := range sc.cur.rows[y].cells {
			sc.cur.rows[y].cells[x] = Cell{Text: "E", Width: 1}
		}
		sc.cur.rows[y].soft = false
	}
	sc.top, sc.bottom = 0, sc.h
	sc.cur.x, sc.cur.y, sc.cur.wrap = 0, 0, false
}
