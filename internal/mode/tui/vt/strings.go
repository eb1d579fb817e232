package vt

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
)

// Limits of what is kept of strings; the oldest go.
const (
	maxMarks = 10_000
	maxNotes = 1_000
)

func (t *Terminal) escape(raw []byte) {
	g := t.cur
	t.last.ok = false
	switch s := string(raw); s {
	case "7":
		t.save()
	case "8":
		t.restore()
	case "D":
		t.index()
		g.wrap = false
	case "E":
		t.index()
		g.x, g.wrap = 0, false
	case "M":
		t.reverseIndex()
		g.wrap = false
	case "H":
		t.tabs[g.x] = true
	case "c":
		t.resetAll()
	case "(0", ")0":
		t.charsets.graphics[s[0]-'('] = true
	case "(B", ")B":
		t.charsets.graphics[s[0]-'('] = false
	case "=", ">", "\\": // keypad; an ST without a string
	case "#8":
		t.align()
	default:
		t.unknownSequence("ESC", raw)
	}
}

// align is DECALN, which fills the screen.
func (t *Terminal) align() {
	for y := range t.cur.rows {
		for x := range t.cur.rows[y].cells {
			t.cur.rows[y].cells[x] = Cell{Text: "E", Width: 1}
		}
		t.cur.rows[y].soft = false
	}
	t.top, t.bottom = 0, t.h
	t.cur.x, t.cur.y, t.cur.wrap = 0, 0, false
}

func (t *Terminal) str(kind byte, raw []byte, cut bool) {
	ok := false
	if !cut {
		switch kind {
		case ']':
			ok = t.osc(raw)
		case 'P':
			ok = t.dcs(raw)
		case '_':
			ok = len(raw) > 0 && raw[0] == 'G'
			if ok {
				t.stats.Graphics++
			}
		}
	}
	if !ok {
		t.unknownSequence(map[byte]string{']': "OSC", 'P': "DCS", 'X': "SOS", '^': "PM", '_': "APC"}[kind], raw)
	}
}

func (t *Terminal) osc(raw []byte) bool {
	number, rest, _ := bytes.Cut(raw, []byte{';'})
	n, err := strconv.Atoi(string(number))
	if err != nil {
		return false
	}
	arg := strings.ToValidUTF8(string(rest), "\ufffd")
	switch n {
	case 0, 2:
		t.title = arg
	case 1: // the name of an icon
	case 7:
		t.directory = arg
	case 8:
		_, link, ok := strings.Cut(arg, ";")
		t.cur.style.Link = link
		return ok
	case 9:
		if !strings.HasPrefix(arg, "4;") { // 9;4 is progress
			t.note(arg)
		}
	case 99, 777:
		t.note(arg)
	case 10, 11, 12:
		return t.oscColor(n-10, arg)
	case 110, 111, 112:
		t.colors[n-110] = ""
	case 52:
		return t.oscClipboard(arg)
	case 133:
		return t.mark(arg)
	case 1337:
		if !strings.HasPrefix(arg, "File=") {
			return false
		}
		t.stats.Graphics++
	default:
		return false
	}
	return true
}

func (t *Terminal) note(s string) {
	if len(t.notes) == maxNotes {
		t.notes = t.notes[1:]
	}
	t.notes = append(t.notes, s)
}

func (t *Terminal) mark(arg string) bool {
	if arg == "" || !strings.Contains("ABCDP", arg[:1]) {
		return false
	}
	if len(t.marks) == maxMarks {
		t.marks = t.marks[1:]
	}
	row := t.history.lost + len(t.history.last()) + t.cur.y
	t.marks = append(t.marks, Mark{Kind: arg[0], Row: row, Args: strings.TrimPrefix(arg[1:], ";")})
	return true
}

// oscColor sets or tells the colour of text, background or cursor.
func (t *Terminal) oscColor(which int, arg string) bool {
	if arg != "?" {
		t.colors[which] = arg
		return true
	}
	c := t.colors[which]
	if c == "" {
		c = "rgb:ffff/ffff/ffff"
		if (which == 1) != t.light {
			c = "rgb:0000/0000/0000"
		}
	}
	t.answer("\x1b]%d;%s\x1b\\", which+10, c)
	return true
}

// oscClipboard sets the clipboard. What it holds is told to nobody, as terminals
// do unless they are asked to.
func (t *Terminal) oscClipboard(arg string) bool {
	_, data, ok := strings.Cut(arg, ";")
	if !ok || data == "?" {
		return ok
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return false
	}
	t.clipboard = b
	return true
}

func (t *Terminal) dcs(raw []byte) bool {
	if names, ok := bytes.CutPrefix(raw, []byte("+q")); ok {
		t.answer("\x1bP0+r%s\x1b\\", names)
		return true
	}
	if what, ok := bytes.CutPrefix(raw, []byte("$q")); ok {
		t.reportSetting(string(what))
		return true
	}
	body := bytes.TrimLeft(raw, "0123456789;")
	if len(body) > 0 && body[0] == 'q' {
		t.stats.Graphics++
		return true
	}
	return false
}

// reportSetting answers DECRQSS.
func (t *Terminal) reportSetting(what string) {
	switch what {
	case "r":
		t.answer("\x1bP1$r%d;%dr\x1b\\", t.top+1, t.bottom)
	case " q":
		t.answer("\x1bP1$r%d q\x1b\\", t.shape)
	default:
		t.answer("\x1bP0$r\x1b\\")
	}
}
