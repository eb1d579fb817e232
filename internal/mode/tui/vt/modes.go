package vt

// Private modes the terminal acts upon, or keeps for those who ask.
const (
	modeAppCursor  = 1
	modeOrigin     = 6
	modeWrap       = 7
	modeCursor     = 25
	modeFocus      = 1004
	modeAlt        = 47
	modeAltClear   = 1047
	modeSaveCursor = 1048
	modeAltSave    = 1049
	modePaste      = 2004
	modeSync       = 2026
	modeGraphemes  = 2027
	modeScheme     = 2031
	modeInBand     = 2048
)

// known reports whether a private mode means something to the terminal.
func known(mode int) bool {
	switch mode {
	case modeAppCursor, modeOrigin, modeWrap, modeCursor, modeFocus, modeAlt, modeAltClear,
		modeSaveCursor, modeAltSave, modePaste, modeSync, modeGraphemes, modeScheme, modeInBand,
		12,                                    // blinking cursor
		9, 1000, 1002, 1003, 1005, 1006, 1015, // mouse
		1007: // wheel as arrows
		return true
	}
	return false
}

// Mode reports whether a private mode is set, such as 2004 for bracketed paste.
func (t *Terminal) Mode(mode int) bool {
	switch mode {
	case modeSync:
		return t.shown != nil
	case modeAlt, modeAltClear, modeAltSave:
		return t.cur == &t.alt
	case modeGraphemes:
		return true
	}
	return t.modes[mode]
}

// Keyboard gives the flags of the kitty keyboard protocol that are in force, 0 for
// none, and the level of xterm's modifyOtherKeys.
func (t *Terminal) Keyboard() (kitty, modifyOtherKeys int) {
	return *t.kitty.flags(t.cur == &t.alt), t.modifyKeys
}

// kittyStack holds the flags of both screens, each with what was pushed.
type kittyStack struct {
	now    [2]int
	pushed [2][]int
}

func (k *kittyStack) flags(alt bool) *int {
	if alt {
		return &k.now[1]
	}
	return &k.now[0]
}

func (k *kittyStack) stack(alt bool) *[]int {
	if alt {
		return &k.pushed[1]
	}
	return &k.pushed[0]
}

// private runs CSI ? sequences.
func (t *Terminal) private(q *sequence) bool {
	switch q.final {
	case 'h', 'l':
		ok := q.n > 0
		for i := range q.n {
			ok = t.setMode(q.num(i, 0), q.final == 'h') && ok
		}
		return ok
	case 'J':
		return t.eraseScreen(q.num(0, 0))
	case 'K':
		return t.eraseLine(q.num(0, 0))
	case 'u':
		t.answer("\x1b[?%du", *t.kitty.flags(t.cur == &t.alt))
	case 'n':
		if q.num(0, 0) != 996 {
			return false
		}
		scheme := 1
		if t.light {
			scheme = 2
		}
		t.answer("\x1b[?997;%dn", scheme)
	default:
		return false
	}
	return true
}

func (t *Terminal) setMode(mode int, on bool) bool {
	if !known(mode) {
		return false
	}
	switch mode {
	case modeSync:
		if on {
			t.beginSync()
		} else {
			t.endSync()
		}
	case modeAlt, modeAltClear, modeAltSave:
		t.alternate(mode, on)
	case modeSaveCursor:
		if on {
			t.save()
		} else {
			t.restore()
		}
	case modeOrigin:
		t.modes[mode] = on
		t.moveTo(0, 0)
	default:
		t.modes[mode] = on
	}
	return true
}

// alternate changes the screen. The cursor goes along, as in xterm.
func (t *Terminal) alternate(mode int, on bool) {
	from := t.cur
	if on == (from == &t.alt) {
		return
	}
	if on {
		if mode == modeAltSave {
			t.save()
		}
		t.cur = &t.alt
		t.alt.x, t.alt.y, t.alt.wrap, t.alt.style = from.x, from.y, from.wrap, from.style
		if mode == modeAltSave {
			for y := range t.alt.rows {
				t.alt.rows[y].clear(0, t.w, t.erased())
			}
		}
		return
	}
	if mode == modeAltClear {
		for y := range t.alt.rows {
			t.alt.rows[y].clear(0, t.w, blank)
		}
	}
	t.cur = &t.main
	t.main.x, t.main.y, t.main.wrap, t.main.style = from.x, from.y, from.wrap, from.style
	if mode == modeAltSave {
		t.restore()
	}
}

// rare runs the control sequences with other prefixes or intermediates.
func (t *Terminal) rare(q *sequence) bool {
	alt := t.cur == &t.alt
	switch string([]byte{q.prefix, q.inter, q.final}) {
	case "?$p":
		t.reportMode(q.num(0, 0))
	case "\x00$p":
		t.answer("\x1b[%d;0$y", q.num(0, 0))
	case "\x00!p": // DECSTR
		t.softReset()
	case "\x00 q":
		t.shape = q.num(0, 0)
	case ">\x00c":
		t.answer("\x1b[>0;10;1c")
	case ">\x00q":
		t.answer("\x1bP>|burin-vt\x1b\\")
	case ">\x00m":
		if q.num(0, -1) != 4 {
			return false
		}
		t.modifyKeys = q.num(1, 0)
	case ">\x00u":
		flags, stack := t.kitty.flags(alt), t.kitty.stack(alt)
		if len(*stack) == 16 { // as the protocol allows, the oldest is forgotten
			*stack = (*stack)[1:]
		}
		*stack = append(*stack, *flags)
		*flags = q.num(0, 0)
	case "<\x00u":
		t.popKitty(alt, q.count(0))
	case "=\x00u":
		t.setKitty(t.kitty.flags(alt), q.num(0, 0), q.num(1, 1))
	default:
		return false
	}
	return true
}

func (t *Terminal) popKitty(alt bool, n int) {
	flags, stack := t.kitty.flags(alt), t.kitty.stack(alt)
	for ; n > 0; n-- {
		l := len(*stack)
		if l == 0 {
			*flags = 0
			return
		}
		*flags, *stack = (*stack)[l-1], (*stack)[:l-1]
	}
}

func (t *Terminal) setKitty(flags *int, v, how int) {
	switch how {
	case 2:
		*flags |= v
	case 3:
		*flags &^= v
	default:
		*flags = v
	}
}

// reportMode answers DECRQM: 0 unknown, 1 set, 2 reset, 3 always set.
func (t *Terminal) reportMode(mode int) {
	state := 0
	switch {
	case mode == modeGraphemes:
		state = 3
	case known(mode) && t.Mode(mode):
		state = 1
	case known(mode):
		state = 2
	}
	t.answer("\x1b[?%d;%d$y", mode, state)
}

func (t *Terminal) softReset() {
	t.modes[modeCursor], t.modes[modeOrigin], t.modes[modeWrap] = true, false, true
	t.modes[modeAppCursor] = false
	t.insert = false
	t.top, t.bottom = 0, t.h
	t.cur.style = Style{}
	t.cur.saved = saved{}
	t.charsets = charsets{}
}
