package vt

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
)

func (in *interpreter) escape(raw []byte) {
	g := in.screen.cur
	in.screen.last.ok = false
	switch s := string(raw); s {
	case "7":
		in.screen.save()
	case "8":
		in.screen.restore()
	case "D":
		in.screen.index()
		g.wrap = false
	case "E":
		in.screen.index()
		g.x, g.wrap = 0, false
	case "M":
		in.screen.reverseIndex()
		g.wrap = false
	case "H":
		in.screen.tabs[g.x] = true
	case "c":
		in.reset()
	case "(0", ")0":
		in.screen.charsets.graphics[s[0]-'('] = true
	case "(B", ")B":
		in.screen.charsets.graphics[s[0]-'('] = false
	case "=", ">", "\\": // keypad; an ST without a string
	case "#8":
		in.screen.align()
	default:
		in.tally.unknownSequence("ESC", raw)
	}
}

func (in *interpreter) str(kind byte, raw []byte, cut bool) {
	ok := false
	if !cut {
		switch kind {
		case ']':
			ok = in.osc(raw)
		case 'P':
			ok = in.dcs(raw)
		case '_':
			ok = len(raw) > 0 && raw[0] == 'G'
			if ok {
				in.tally.stats.Graphics++
			}
		}
	}
	if !ok {
		in.tally.unknownSequence(map[byte]string{']': "OSC", 'P': "DCS", 'X': "SOS", '^': "PM", '_': "APC"}[kind], raw)
	}
}

func (in *interpreter) osc(raw []byte) bool {
	number, rest, _ := bytes.Cut(raw, []byte{';'})
	n, err := strconv.Atoi(string(number))
	if err != nil {
		return false
	}
	arg := strings.ToValidUTF8(string(rest), "\ufffd")
	switch n {
	case 0, 2:
		in.desktop.title = arg
	case 1: // the name of an icon
	case 7:
		in.desktop.directory = arg
	case 8:
		_, link, ok := strings.Cut(arg, ";")
		in.screen.cur.style.Link = link
		return ok
	case 9:
		if !strings.HasPrefix(arg, "4;") { // 9;4 is progress
			in.desktop.note(arg)
		}
	case 99, 777:
		in.desktop.note(arg)
	case 10, 11, 12:
		return in.oscColor(n-10, arg)
	case 110, 111, 112:
		in.desktop.colors[n-110] = ""
	case 52:
		return in.oscClipboard(arg)
	case 133:
		sc := in.screen
		return in.desktop.mark(arg, sc.history.lost+len(sc.history.last())+sc.cur.y)
	case 1337:
		if !strings.HasPrefix(arg, "File=") {
			return false
		}
		in.tally.stats.Graphics++
	default:
		return false
	}
	return true
}

// oscColor sets or tells the colour of text, background or cursor.
func (in *interpreter) oscColor(which int, arg string) bool {
	if arg != "?" {
		in.desktop.colors[which] = arg
		return true
	}
	c := in.desktop.colors[which]
	if c == "" {
		c = "rgb:ffff/ffff/ffff"
		if (which == 1) != in.light {
			c = "rgb:0000/0000/0000"
		}
	}
	in.answer("\x1b]%d;%s\x1b\\", which+10, c)
	return true
}

// oscClipboard sets the clipboard. What it holds is told to nobody, as terminals
// do unless they are asked to.
func (in *interpreter) oscClipboard(arg string) bool {
	_, data, ok := strings.Cut(arg, ";")
	if !ok || data == "?" {
		return ok
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return false
	}
	in.desktop.clipboard = b
	return true
}

func (in *interpreter) dcs(raw []byte) bool {
	if names, ok := bytes.CutPrefix(raw, []byte("+q")); ok {
		in.answer("\x1bP0+r%s\x1b\\", names)
		return true
	}
	if what, ok := bytes.CutPrefix(raw, []byte("$q")); ok {
		in.reportSetting(string(what))
		return true
	}
	body := bytes.TrimLeft(raw, "0123456789;")
	if len(body) > 0 && body[0] == 'q' {
		in.tally.stats.Graphics++
		return true
	}
	return false
}

// reportSetting answers DECRQSS.
func (in *interpreter) reportSetting(what string) {
	switch what {
	case "r":
		in.answer("\x1bP1$r%d;%dr\x1b\\", in.screen.top+1, in.screen.bottom)
	case " q":
		in.answer("\x1bP1$r%d q\x1b\\", in.screen.shape)
	default:
		in.answer("\x1bP0$r\x1b\\")
	}
}
