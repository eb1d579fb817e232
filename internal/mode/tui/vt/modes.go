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

// mode reports whether a private mode is set.
func (sc *screen) mode(mode int) bool {
	switch mode {
	case modeSync:
		return sc.shown != nil
	case modeAlt, modeAltClear, modeAltSave:
		return sc.alternative()
	case modeGraphemes:
		return true
	}
	return sc.modes[mode]
}

// private runs CSI ? sequences.
func (in *interpreter) private(q *sequence) bool {
	switch q.final {
	case 'h', 'l':
		ok := q.n > 0
		for i := range q.n {
			ok = in.setMode(q.num(i, 0), q.final == 'h') && ok
		}
		return ok
	case 'J':
		return in.screen.eraseScreen(q.num(0, 0))
	case 'K':
		return in.screen.eraseLine(q.num(0, 0))
	case 'u':
		in.answer("\x1b[?%du", in.keyboard.flags(in.screen.alternative()))
	case 'n':
		if q.num(0, 0) != 996 {
			return false
		}
		scheme := 1
		if in.light {
			scheme = 2
		}
		in.answer("\x1b[?997;%dn", scheme)
	default:
		return false
	}
	return true
}

func (in *interpreter) setMode(mode int, on bool) bool {
	if !known(mode) {
		return false
	}
	switch mode {
	case modeSync:
		if on {
			in.screen.beginSync()
		} else if in.screen.endSync() {
			in.tally.stats.Frames++
		}
	case modeAlt, modeAltClear, modeAltSave:
		in.screen.alternate(mode, on)
	case modeSaveCursor:
		if on {
			in.screen.save()
		} else {
			in.screen.restore()
		}
	case modeOrigin:
		in.screen.modes[mode] = on
		in.screen.moveTo(0, 0)
	default:
		in.screen.modes[mode] = on
	}
	return true
}

// rare runs the control sequences with other prefixes or intermediates.
func (in *interpreter) rare(q *sequence) bool {
	alt := in.screen.alternative()
	switch string([]byte{q.prefix, q.inter, q.final}) {
	case "?$p":
		in.reportMode(q.num(0, 0))
	case "\x00$p":
		in.answer("\x1b[%d;0$y", q.num(0, 0))
	case "\x00!p": // DECSTR
		in.screen.softReset()
	case "\x00 q":
		in.screen.shape = q.num(0, 0)
	case ">\x00c":
		in.answer("\x1b[>0;10;1c")
	case ">\x00q":
		in.answer("\x1bP>|burin-vt\x1b\\")
	case ">\x00m":
		if q.num(0, -1) != 4 {
			return false
		}
		in.keyboard.modifyKeys = q.num(1, 0)
	case ">\x00u":
		in.keyboard.push(alt, q.num(0, 0))
	case "<\x00u":
		in.keyboard.pop(alt, q.count(0))
	case "=\x00u":
		in.keyboard.set(alt, q.num(0, 0), q.num(1, 1))
	default:
		return false
	}
	return true
}

// reportMode answers DECRQM: 0 unknown, 1 set, 2 reset, 3 always set.
func (in *interpreter) reportMode(mode int) {
	state := 0
	switch {
	case mode == modeGraphemes:
		state = 3
	case known(mode) && in.screen.mode(mode):
		state = 1
	case known(mode):
		state = 2
	}
	in.answer("\x1b[?%d;%d$y", mode, state)
}
