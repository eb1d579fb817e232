package key

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// decodeAll feeds the chunks and then says that nothing follows.
func decodeAll(chunks ...string) []Event {
	var d decoder
	var got []Event
	emit := func(ev Event) { got = append(got, ev) }
	for _, c := range chunks {
		d.feed([]byte(c), emit)
	}
	d.flush(emit)
	d.endPaste(emit)
	return got
}

func press1(k Key) []Event          { return []Event{Press{Key: k}} }
func type1(k Key, t string) []Event { return []Event{Press{Key: k, Text: t}} }

var decodeTests = []struct {
	name string
	in   string
	want []Event
}{
	// Bytes of the ASCII control set, the same everywhere.
	{"letter", "a", type1("a", "a")},
	{"capital", "A", type1("shift+a", "A")},
	{"capital beyond ASCII", "É", type1("shift+é", "É")},
	{"title case", "ǅ", type1("shift+ǆ", "ǅ")},
	{"question mark", "?", type1("?", "?")},
	{"plus", "+", type1("+", "+")},
	{"space", " ", type1("space", " ")},
	{"wide", "漢", type1("漢", "漢")},
	{"family", "👨‍👩‍👧", type1("👨‍👩‍👧", "👨‍👩‍👧")},
	{"combining", "e\u0301", type1("e\u0301", "e\u0301")},
	{"ctrl+c", "\x03", press1("ctrl+c")},
	{"ctrl+space", "\x00", press1("ctrl+space")},
	{"ctrl+_", "\x1f", press1("ctrl+_")},
	{"ctrl+h", "\x08", press1("ctrl+h")},
	{"tab", "\t", press1("tab")},
	{"enter", "\r", press1("enter")},
	{"line feed", "\n", press1("ctrl+j")},
	{"backspace", "\x7f", press1("backspace")},
	{"esc", "\x1b", press1("esc")},
	{"esc twice", "\x1b\x1b", []Event{Press{Key: "esc"}, Press{Key: "esc"}}},
	{"esc three times", "\x1b\x1b\x1b", []Event{Press{Key: "esc"}, Press{Key: "esc"}, Press{Key: "esc"}}},
	{"alt+letter", "\x1bb", press1("alt+b")},
	{"alt+capital that begins a sequence", "\x1bP", press1("alt+shift+p")},
	{"alt+bracket", "\x1b[", press1("alt+[")},
	{"alt+letter beyond ASCII", "\x1bé", press1("alt+é")},
	{"alt and what combines", "\x1bo\u032e", []Event{Press{Key: "alt+o"}, Press{Key: "\u032e", Text: "\u032e"}}},
	{"alt+backspace", "\x1b\x7f", press1("alt+backspace")},
	{"alt+enter", "\x1b\r", press1("alt+enter")},
	{"ctrl+alt+letter", "\x1b\x03", press1("ctrl+alt+c")},
	{"alt+space", "\x1b ", press1("alt+space")},

	// xterm, "XTerm Control Sequences" (ctlseqs): PC-style function keys, modifyOtherKeys.
	{"xterm up", "\x1b[A", press1("up")},
	{"xterm up, application mode", "\x1bOA", press1("up")},
	{"xterm ctrl+right", "\x1b[1;5C", press1("ctrl+right")},
	{"xterm ctrl+alt+shift+left", "\x1b[1;8D", press1("ctrl+alt+shift+left")},
	{"xterm shift+tab", "\x1b[Z", press1("shift+tab")},
	{"xterm home", "\x1b[H", press1("home")},
	{"xterm delete", "\x1b[3~", press1("delete")},
	{"xterm ctrl+delete", "\x1b[3;5~", press1("ctrl+delete")},
	{"xterm pageup", "\x1b[5~", press1("pageup")},
	{"xterm f1", "\x1bOP", press1("f1")},
	{"xterm f5", "\x1b[15~", press1("f5")},
	{"xterm shift+f5", "\x1b[15;2~", press1("shift+f5")},
	{"xterm f12", "\x1b[24~", press1("f12")},
	{"xterm modifyOtherKeys ctrl+enter", "\x1b[27;5;13~", press1("ctrl+enter")},
	{"xterm modifyOtherKeys shift+enter", "\x1b[27;2;13~", press1("shift+enter")},
	{"xterm modifyOtherKeys ctrl+shift+p", "\x1b[27;6;80~", press1("ctrl+shift+p")},
	{"xterm focus", "\x1b[I\x1b[O", []Event{Focus{In: true}, Focus{}}},
	{"xterm keypad 5", "\x1bOu", type1("5", "5")},
	{"xterm keypad enter", "\x1bOM", press1("enter")},

	{"xterm keypad, application mode", "\x1bOp\x1bOk\x1bOj\x1bOo\x1bOm\x1bOn", []Event{
		Press{Key: "0", Text: "0"},
		Press{Key: "+", Text: "+"},
		Press{Key: "*", Text: "*"},
		Press{Key: "/", Text: "/"},
		Press{Key: "-", Text: "-"},
		Press{Key: ".", Text: "."},
	}},
	{"xterm modified f1, older form", "\x1bO5P", press1("ctrl+f1")},
	{"xterm insert, end, pagedown, menu", "\x1b[2~\x1b[F\x1b[6~\x1b[29~", []Event{
		Press{Key: "insert"}, Press{Key: "end"}, Press{Key: "pagedown"}, Press{Key: "f16"},
	}},

	// tmux, manual: extended-keys with extended-keys-format csi-u.
	{"tmux shift+enter", "\x1b[13;2u", press1("shift+enter")},
	{"tmux ctrl+shift+p", "\x1b[80;6u", press1("ctrl+shift+p")},
	{"tmux ctrl+tab", "\x1b[9;5u", press1("ctrl+tab")},
	{"tmux home", "\x1b[1~", press1("home")},

	// kitty, "Comprehensive keyboard handling in terminals".
	{"kitty esc", "\x1b[27u", press1("esc")},
	{"kitty ctrl+c", "\x1b[99;5u", press1("ctrl+c")},
	{"kitty ctrl+i is not tab", "\x1b[105;5u", press1("ctrl+i")},
	{"kitty ctrl+shift+p", "\x1b[112;6u", press1("ctrl+shift+p")},
	{"kitty shift+enter", "\x1b[13;2u", press1("shift+enter")},
	{"kitty ctrl+backspace", "\x1b[127;5u", press1("ctrl+backspace")},
	{"kitty ctrl+minus", "\x1b[45;5u", press1("ctrl+-")},
	{"kitty super+k", "\x1b[107;9u", press1("super+k")},
	{"kitty f13", "\x1b[57376u", press1("f13")},
	{"kitty keypad 1", "\x1b[57400u", type1("1", "1")},
	{"kitty shifted key with its text", "\x1b[97:65;2;65u", type1("shift+a", "A")},
	{"kitty cyrillic layout", "\x1b[1089::99;5u", press1("ctrl+c")},
	{"kitty repeat", "\x1b[97;5:2u", press1("ctrl+a")},
	{"kitty release", "\x1b[97;5:3u", nil},
	{"kitty release of an arrow", "\x1b[1;1:3A", nil},
	{"kitty shift alone", "\x1b[57441;2u", nil},
	{"kitty num lock and caps lock do not count", "\x1b[99;197u", press1("ctrl+c")},
	{"kitty shift+space", "\x1b[32;2u", type1("shift+space", " ")},
	{"kitty control code is no text", "\x1b[1u", press1("ctrl+a")},
	{"kitty control code as text", "\x1b[97;;7u", nil},
	{"kitty flags", "\x1b[?5u", []Event{Reply{Kind: ReplyKeyboard, Values: []int{5}}}},
	{"kitty graphics", "\x1b_Gi=31;OK\x1b\\", []Event{Reply{Kind: ReplyGraphics, Values: []int{31}, Text: "OK"}}},

	// iTerm2, documentation of its profiles: Option sends Esc+, for arrows as well.
	{"iterm2 alt+up", "\x1b\x1b[A", press1("alt+up")},
	{"iterm2 alt+left, natural text editing", "\x1bb", press1("alt+b")},
	{"iterm2 esc, then an arrow", "\x1b\x1b\x1b[A", []Event{Press{Key: "esc"}, Press{Key: "alt+up"}}},

	// Windows Terminal, "Console Virtual Terminal Sequences", input sequences, and win32-input-mode.
	{"windows terminal ctrl+up", "\x1b[1;5A", press1("ctrl+up")},
	{"windows terminal f4", "\x1bOS", press1("f4")},
	{"windows terminal pause", "\x1a", press1("ctrl+z")},
	{"win32 input a down", "\x1b[65;30;97;1;0;1_", type1("a", "a")},
	{"win32 input a up", "\x1b[65;30;97;0;0;1_", nil},
	{"win32 input ctrl+c", "\x1b[67;46;3;1;8;1_", press1("ctrl+c")},

	// Linux console and rxvt, terminfo's linux and rxvt-unicode.
	{"linux console f1", "\x1b[[A", press1("f1")},
	{"rxvt shift+home", "\x1b[7$", press1("shift+home")},
	{"rxvt ctrl+left", "\x1bOd", press1("ctrl+left")},
	{"rxvt shift+up", "\x1b[a", press1("shift+up")},

	// Replies, as ctlseqs has them.
	{"background color", "\x1b]11;rgb:1e1e/2020/ffff\x1b\\", []Event{Reply{Kind: ReplyColor, Values: []int{11, 0x1e, 0x20, 0xff}}}},
	{"background color, BEL", "\x1b]11;rgb:0000/0000/0000\x07", []Event{Reply{Kind: ReplyColor, Values: []int{11, 0, 0, 0}}}},
	{"device attributes", "\x1b[?62;4;22c", []Event{Reply{Kind: ReplyDevice, Values: []int{62, 4, 22}}}},
	{"mode", "\x1b[?2026;2$y", []Event{Reply{Kind: ReplyMode, Values: []int{2026, 2}}}},
	{"cursor", "\x1b[5;10R", []Event{Reply{Kind: ReplyCursor, Values: []int{4, 9}}}},
	{"version", "\x1bP>|kitty(0.40)\x1b\\", []Event{Reply{Kind: ReplyVersion, Text: "kitty(0.40)"}}},
	{"dark", "\x1b[?997;1n", []Event{Reply{Kind: ReplyScheme, Values: []int{1}}}},
	{"light", "\x1b[?997;2n", []Event{Reply{Kind: ReplyScheme, Values: []int{2}}}},
	{"foreground and cursor color", "\x1b]10;rgb:ff/00/00\x07\x1b]12;#00ff00\x07", []Event{
		Reply{Kind: ReplyColor, Values: []int{10, 255, 0, 0}}, Reply{Kind: ReplyColor, Values: []int{12, 0, 255, 0}},
	}},
	{"color that is none", "\x1b]11;?\x07", nil},
	{"secondary device attributes", "\x1b[>41;354;0c", []Event{Reply{Kind: ReplyDevice2, Values: []int{41, 354, 0}}}},
	{"modifyOtherKeys level", "\x1b[>4;2m", []Event{Reply{Kind: ReplyModifyKeys, Values: []int{2}}}},
	{"capability", "\x1bP1+r5463\x1b\\", []Event{Reply{Kind: ReplyCapability, Text: "Tc"}}},
	{"palette", "\x1b]4;1;rgb:00/00/00\x07", []Event{Reply{Kind: ReplyOther, Text: "\x1b]4;1;rgb:00/00/00\x07"}}},
	{"cell", "\x1b[6;16;8t", []Event{Reply{Kind: ReplyCell, Values: []int{8, 16}}}},
	{"size in band", "\x1b[48;24;80;384;640t", []Event{Resize{Width: 80, Height: 24}, Reply{Kind: ReplyPixels, Values: []int{640, 384}}}},
	{"clipboard", "\x1b]52;c;aGk=\x07", []Event{Reply{Kind: ReplyClipboard, Text: "hi"}}},
	{"unknown", "\x1b[?99;1z", []Event{Reply{Kind: ReplyOther, Text: "\x1b[?99;1z"}}},
	{"wheel", "\x1b[<64;10;5M", press1("wheelup")},
	{"wheel with a key held", "\x1b[<85;1;1M", press1("ctrl+shift+wheeldown")},
	{"wheel sideways", "\x1b[<66;1;1M", nil},
	{"click", "\x1b[<0;10;5M", []Event{Click{X: 9, Y: 4}}},
	{"click and release", "\x1b[<0;1;1M\x1b[<0;1;1m", []Event{Click{}}},
	{"click in a column beyond 223", "\x1b[<0;300;5M", []Event{Click{X: 299, Y: 4}}},
	{"click of another button", "\x1b[<2;10;5M", nil},
	{"click with shift", "\x1b[<4;10;5M", nil},
	{"move", "\x1b[<35;10;5M\x1b[<39;1;1M", []Event{Hover{X: 9, Y: 4}, Hover{}}},
	{"move with a button", "\x1b[<34;10;5M", nil},
	{"drag", "\x1b[<32;10;5M", nil},
	{"click without a cell", "\x1b[<0;0;5M", nil},
	{"click without a column", "\x1b[<0;;5M", nil},
	{"click of one number", "\x1b[<0M\x1b[<MA", type1("shift+a", "A")},
	{"click of four numbers", "\x1b[<0;1;2;3M", nil},
	{"click with parts", "\x1b[<0:1;1;2M", nil},
	{"click far away", "\x1b[<0;99999999999999999999;1M", nil},
	{"click cut by a click", "\x1b[<0;1\x1b[<0;3;3M", []Event{Click{X: 2, Y: 2}}},
	{"click cut by a key", "\x1b[<0;1\x03", press1("ctrl+c")},
	{"old click", "\x1b[M !!", []Event{Click{}}},
	{"old mouse release", "\x1b[M#!!x", type1("x", "x")},

	// What must not become text.
	{"broken sequence and a key", "\x1b[1;\x03", press1("ctrl+c")},
	{"broken sequence and a sequence", "\x1b[1;\x1b[B", press1("down")},
	{"cancelled string", "\x1b]0;title\x18a", type1("a", "a")},
	{"string cut by a sequence", "\x1b]0;title\x1b[A", press1("up")},
	{"string without an end", "\x1b]0;title", nil},
	{"C1 control", "\u009b", nil},
	{"byte that is no UTF-8", "\xffa", type1("a", "a")},
	{"half a character", "\xe6\xbc", nil},
	{"noncharacter is text", "\uFDD0", type1("\uFDD0", "\uFDD0")},

	// Pastes.
	{"paste", "\x1b[200~one\r\ntwo\rthree\n\tx\x1b[201~", []Event{Paste{Text: "one\ntwo\nthree\n\tx"}}},
	{"paste with controls", "\x1b[200~a\x03\x1b[31mb\x1b[0m\x7f\xff\u0085c\x1b[201~", []Event{Paste{Text: "ab\uFFFDc"}}},
	{"paste that looks like its end", "\x1b[200~a\x1b[201b\x1b[201~c", []Event{Paste{Text: "a"}, Press{Key: "c", Text: "c"}}},
	{"two pastes", "\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~", []Event{Paste{Text: "a"}, Paste{Text: "b"}}},
	{"paste without an end", "\x1b[200~abc", []Event{Paste{Text: "abc"}}},
	{"end of a paste without a start", "\x1b[201~a", type1("a", "a")},
}

func TestDecode(t *testing.T) {
	for _, tt := range decodeTests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decodeAll(tt.in)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// Where a read ends must not matter, except that a grapheme cluster cut in two
// comes as its parts.
func TestDecodeSplitReads(t *testing.T) {
	for _, tt := range decodeTests {
		want := fmt.Sprint(joinText(decodeAll(tt.in)))
		for i := 1; i < len(tt.in); i++ {
			if got := fmt.Sprint(joinText(decodeAll(tt.in[:i], tt.in[i:]))); got != want {
				t.Errorf("%s: %q split at %d: %s, want %s", tt.name, tt.in, i, got, want)
			}
		}
		if got := fmt.Sprint(joinText(decodeAll(singleBytes(tt.in)...))); got != want {
			t.Errorf("%s: %q byte by byte: %s, want %s", tt.name, tt.in, got, want)
		}
	}
}

func singleBytes(s string) []string {
	parts := make([]string, len(s))
	for i := range parts {
		parts[i] = s[i : i+1]
	}
	return parts
}

// joinText joins presses that type text.
func joinText(evs []Event) []Event {
	var out []Event
	for _, ev := range evs {
		p, ok := ev.(Press)
		if !ok || p.Text == "" {
			out = append(out, ev)
			continue
		}
		if len(out) > 0 {
			if before, ok := out[len(out)-1].(Press); ok && before.Text != "" {
				out[len(out)-1] = Press{Text: before.Text + p.Text}
				continue
			}
		}
		out = append(out, Press{Text: p.Text})
	}
	return out
}

func TestPasteIsBounded(t *testing.T) {
	var d decoder
	var got []Event
	emit := func(ev Event) { got = append(got, ev) }
	d.feed([]byte(pasteStart), emit)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range MaxPaste>>20 + 2 {
		d.feed(chunk, emit)
	}
	d.feed([]byte("end"+pasteEnd+"k"), emit)
	if len(got) != 2 {
		t.Fatalf("got %d events, want a paste and a key", len(got))
	}
	p := got[0].(Paste)
	if len(p.Text) != MaxPaste || p.Dropped != 2<<20+3 {
		t.Errorf("kept %d, dropped %d; want %d, %d", len(p.Text), p.Dropped, MaxPaste, 2<<20+3)
	}
	if got[1] != (Press{Key: "k", Text: "k"}) {
		t.Errorf("after the paste: %v", got[1])
	}
}

func TestLongSequenceIsDropped(t *testing.T) {
	var d decoder
	var got []Event
	emit := func(ev Event) { got = append(got, ev) }
	d.feed([]byte("\x1b]52;c;"), emit)
	for range 20 {
		d.feed(bytes.Repeat([]byte("QUJD"), 1<<18), emit)
		if len(d.rest) > maxSequence {
			t.Fatalf("%d bytes are kept", len(d.rest))
		}
	}
	d.feed([]byte("\x07a"), emit)
	if diff := cmp.Diff(type1("a", "a"), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, tt := range decodeTests {
		f.Add([]byte(tt.in), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if len(in) > 4096 {
			return
		}
		cut = max(0, min(cut, len(in)))
		evs := decodeAll(string(in[:cut]), string(in[cut:]))
		for _, ev := range evs {
			switch ev := ev.(type) {
			case Press:
				if ev.Key == "" || firstDirty(ev.Text) != len(ev.Text) || !utf8.ValidString(string(ev.Key)) {
					t.Errorf("%q: press %q", in, ev)
				}
				if k, err := Parse(string(ev.Key)); err == nil && k != ev.Key && utf8.RuneCountInString(ev.Text) < 2 {
					t.Errorf("%q: key %q is %q when parsed", in, ev.Key, k)
				}
			case Click:
				if ev.X < 0 || ev.Y < 0 || ev.X >= maxCell || ev.Y >= maxCell {
					t.Errorf("%q: click at %v", in, ev)
				}
			case Paste:
				if firstDirty(ev.Text) != len(ev.Text) || !utf8.ValidString(ev.Text) {
					t.Errorf("%q: paste %q", in, ev.Text)
				}
			}
		}
		if whole := fmt.Sprint(joinText(decodeAll(string(in)))); whole != fmt.Sprint(joinText(evs)) {
			t.Errorf("%q: split at %d: %s, want %s", in, cut, joinText(evs), whole)
		}
	})
}

func BenchmarkDecodePaste10MB(b *testing.B) {
	in := []byte(pasteStart + strings.Repeat("a line of text that somebody copied\n", 10<<20/36) + pasteEnd)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		var d decoder
		n := 0
		for p := in; len(p) > 0; {
			m := min(4096, len(p)) // what a terminal driver gives at once
			d.feed(p[:m], func(Event) { n++ })
			p = p[m:]
		}
		if n != 1 {
			b.Fatalf("%d events", n)
		}
	}
}

func BenchmarkDecodeClipboard4MB(b *testing.B) {
	in := []byte("\x1b]52;c;" + strings.Repeat("QUJD", 1<<20) + "\x07")
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		var d decoder
		n := 0
		for p := in; len(p) > 0; {
			m := min(4096, len(p))
			d.feed(p[:m], func(Event) { n++ })
			p = p[m:]
		}
		if n != 1 {
			b.Fatalf("%d events", n)
		}
	}
}

func BenchmarkDecodeKey(b *testing.B) {
	for _, in := range []string{"a", "\x1b[1;5C", "\x1b[112;6u"} {
		b.Run(fmt.Sprintf("%q", in), func(b *testing.B) {
			b.ReportAllocs()
			var d decoder
			for b.Loop() {
				d.feed([]byte(in), func(Event) {})
			}
		})
	}
}
