package key

import (
	"bytes"
	"image/color"
	"strconv"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
)

// event emits what one whole sequence means, which may be nothing.
func (d *decoder) event(seq []byte, emit func(Event)) {
	switch {
	case seq[0] >= 0x20 && seq[0] != 0x7f:
		if text := string(seq); typeable(text) {
			emit(Press{Key: typed(text, 0), Text: text})
		}
		return
	case len(seq) == 4 && string(seq[:3]) == "\x1b[[":
		if c := seq[3]; c >= 'A' && c <= 'E' {
			emit(Press{Key: Key("f" + string('1'+c-'A'))})
		}
		return
	case seq[0] == esc && len(seq) > 1 && seq[1] >= 0x20 && seq[1] != 0x7f && !introduces(seq[1]):
		if text := string(seq[1:]); typeable(text) {
			emit(Press{Key: typed(text, modAlt)})
		}
		return
	case isMouse(seq):
		if ev, ok := mouse(seq); ok {
			emit(ev)
		}
		return
	}
	_, ev := d.uv.Decode(bytes.Clone(seq)) // the decoder's events share its bytes
	if many, ok := ev.(uv.MultiEvent); ok {
		for _, ev := range many[:min(len(many), maxRepeat)] {
			convert(ev, seq, emit)
		}
		return
	}
	convert(ev, seq, emit)
}

// introduces reports whether ESC and c begin a sequence.
func introduces(c byte) bool { return bytes.IndexByte([]byte("[OP]_^X"), c) >= 0 }

// typeable reports whether text may stand in a document: valid and without
// control characters.
func typeable(text string) bool {
	return utf8.ValidString(text) && firstDirty(text) == len(text)
}

// convert emits the event of ours for one of the decoder.
func convert(ev uv.Event, seq []byte, emit func(Event)) {
	switch ev := ev.(type) {
	case uv.KeyPressEvent:
		if p, ok := press(uv.Key(ev)); ok {
			emit(p)
		}
	case uv.MouseWheelEvent:
		switch ev.Button {
		case uv.MouseWheelUp:
			emit(Press{Key: compose(mods(ev.Mod), "wheelup")})
		case uv.MouseWheelDown:
			emit(Press{Key: compose(mods(ev.Mod), "wheeldown")})
		}
	case uv.MouseClickEvent:
		if ev.Button == uv.MouseLeft && ev.Mod == 0 && ev.X >= 0 && ev.Y >= 0 {
			emit(Click{X: ev.X, Y: ev.Y})
		}
	case uv.WindowSizeEvent:
		if ev.Width > 0 && ev.Height > 0 {
			emit(Resize{Width: ev.Width, Height: ev.Height})
		}
	case uv.FocusEvent:
		emit(Focus{In: true})
	case uv.BlurEvent:
		emit(Focus{})
	case uv.KeyReleaseEvent, uv.MouseReleaseEvent, uv.MouseMotionEvent, uv.UnknownEvent:
	default:
		if r, ok := reply(ev, seq); ok {
			emit(r)
		}
	}
}

// reply is the answer to a query that an event stands for.
func reply(ev uv.Event, seq []byte) (Reply, bool) {
	switch ev := ev.(type) {
	case uv.KeyboardEnhancementsEvent:
		return Reply{Kind: ReplyKeyboard, Values: []int{ev.Flags}}, true
	case uv.ModifyOtherKeysEvent:
		return Reply{Kind: ReplyModifyKeys, Values: []int{ev.Mode}}, true
	case uv.PrimaryDeviceAttributesEvent:
		return Reply{Kind: ReplyDevice, Values: ev}, true
	case uv.SecondaryDeviceAttributesEvent:
		return Reply{Kind: ReplyDevice2, Values: ev}, true
	case uv.TerminalVersionEvent:
		return Reply{Kind: ReplyVersion, Text: CleanText(ev.Name)}, true
	case uv.CursorPositionEvent:
		return Reply{Kind: ReplyCursor, Values: []int{ev.Y, ev.X}}, true
	case uv.ModeReportEvent:
		return Reply{Kind: ReplyMode, Values: []int{ev.Mode.Mode(), int(ev.Value)}}, true
	case uv.ForegroundColorEvent:
		return colorReply(10, ev.Color)
	case uv.BackgroundColorEvent:
		return colorReply(11, ev.Color)
	case uv.CursorColorEvent:
		return colorReply(12, ev.Color)
	case uv.DarkColorSchemeEvent:
		return Reply{Kind: ReplyScheme, Values: []int{1}}, true
	case uv.LightColorSchemeEvent:
		return Reply{Kind: ReplyScheme, Values: []int{2}}, true
	case uv.PixelSizeEvent:
		return Reply{Kind: ReplyPixels, Values: []int{ev.Width, ev.Height}}, true
	case uv.CellSizeEvent:
		return Reply{Kind: ReplyCell, Values: []int{ev.Width, ev.Height}}, true
	case uv.ClipboardEvent:
		return Reply{Kind: ReplyClipboard, Text: CleanText(ev.Content)}, true
	case uv.KittyGraphicsEvent:
		return Reply{Kind: ReplyGraphics, Values: []int{ev.Options.ID}, Text: CleanText(string(ev.Payload))}, true
	case uv.CapabilityEvent:
		return Reply{Kind: ReplyCapability, Text: CleanText(ev.Content)}, true
	case uv.UnknownCsiEvent, uv.UnknownOscEvent, uv.UnknownDcsEvent, uv.UnknownApcEvent,
		uv.TertiaryDeviceAttributesEvent, uv.WindowOpEvent, uv.ProgramStatusSupportEvent:
		return Reply{Kind: ReplyOther, Text: string(seq)}, true
	}
	return Reply{}, false
}

func colorReply(which int, c color.Color) (Reply, bool) {
	if c == nil {
		return Reply{}, false
	}
	r, g, b, _ := c.RGBA()
	return Reply{Kind: ReplyColor, Values: []int{which, int(r >> 8), int(g >> 8), int(b >> 8)}}, true
}

// press is a decoded key under its canonical name; false for keys that mean
// nothing by themselves.
func press(k uv.Key) (Press, bool) {
	m := mods(k.Mod)
	if name, ok := keyName(k.Code); ok {
		return Press{Key: compose(m, name)}, true
	}
	held := m &^ modShift
	if c, ok := keypad(k.Code); ok {
		k.Code = c
		if held == 0 {
			k.Text = string(c)
		}
	}
	if k.Text != "" && held == 0 {
		if !typeable(k.Text) {
			return Press{}, false
		}
		return Press{Key: typed(k.Text, m), Text: k.Text}, true
	}
	code := k.Code
	// With modifiers the key counts, not the letter a layout puts on it: Ctrl and
	// the key of C is ctrl+c on a Cyrillic keyboard too.
	if code > unicode.MaxASCII && k.BaseCode > ' ' && k.BaseCode < 0x7f && held != 0 {
		code = k.BaseCode
	}
	if code == ' ' {
		p := Press{Key: compose(m, "space")}
		if held == 0 {
			p.Text = " "
		}
		return p, true
	}
	if code < ' ' || code > unicode.MaxRune || !unicode.IsPrint(code) {
		return Press{}, false
	}
	return Press{Key: typed(string(code), m)}, true
}

// mods are the modifiers that count. What the decoder calls meta is the fourth
// modifier of a sequence, which kitty and its like send for the Super key.
func mods(m uv.KeyMod) modifiers {
	var out modifiers
	for _, pair := range [...]struct {
		in  uv.KeyMod
		out modifiers
	}{
		{uv.ModCtrl, modCtrl},
		{uv.ModAlt, modAlt},
		{uv.ModShift, modShift},
		{uv.ModSuper | uv.ModMeta, modSuper},
		{uv.ModHyper, modHyper},
	} {
		if m&pair.in != 0 {
			out |= pair.out
		}
	}
	return out
}

// keyName is the name of a key that types nothing. Keys of the keypad that move
// are the keys they stand for.
func keyName(code rune) (string, bool) {
	switch code {
	case uv.KeyEnter, uv.KeyKpEnter:
		return "enter", true
	case uv.KeyTab:
		return "tab", true
	case uv.KeyBackspace:
		return "backspace", true
	case uv.KeyEscape:
		return "esc", true
	case uv.KeyUp, uv.KeyKpUp:
		return "up", true
	case uv.KeyDown, uv.KeyKpDown:
		return "down", true
	case uv.KeyLeft, uv.KeyKpLeft:
		return "left", true
	case uv.KeyRight, uv.KeyKpRight:
		return "right", true
	case uv.KeyHome, uv.KeyKpHome, uv.KeyFind:
		return "home", true
	case uv.KeyEnd, uv.KeyKpEnd, uv.KeySelect:
		return "end", true
	case uv.KeyPgUp, uv.KeyKpPgUp:
		return "pageup", true
	case uv.KeyPgDown, uv.KeyKpPgDown:
		return "pagedown", true
	case uv.KeyInsert, uv.KeyKpInsert:
		return "insert", true
	case uv.KeyDelete, uv.KeyKpDelete:
		return "delete", true
	case uv.KeyBegin, uv.KeyKpBegin:
		return "clear", true
	case uv.KeyMenu:
		return "menu", true
	case uv.KeyPause:
		return "pause", true
	case uv.KeyPrintScreen:
		return "printscreen", true
	}
	if code >= uv.KeyF1 && code <= uv.KeyF63 {
		return "f" + strconv.Itoa(int(code-uv.KeyF1)+1), true
	}
	return "", false
}

// keypad is the character of a keypad key; terminals send none with it in
// application mode.
func keypad(code rune) (rune, bool) {
	switch code {
	case uv.KeyKpEqual:
		return '=', true
	case uv.KeyKpMultiply:
		return '*', true
	case uv.KeyKpPlus:
		return '+', true
	case uv.KeyKpComma, uv.KeyKpSep:
		return ',', true
	case uv.KeyKpMinus:
		return '-', true
	case uv.KeyKpDecimal:
		return '.', true
	case uv.KeyKpDivide:
		return '/', true
	}
	if code >= uv.KeyKp0 && code <= uv.KeyKp9 {
		return '0' + code - uv.KeyKp0, true
	}
	return 0, false
}
