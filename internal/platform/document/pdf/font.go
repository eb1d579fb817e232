package pdf

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// glyph is one character that a font shows.
type glyph struct {
	text  string  // "" if the font does not say what it means
	width float64 // in parts of the font's size
	space bool    // a single byte 32, which word spacing widens
}

// font says what the bytes of strings mean and how wide they are.
type font struct {
	composite bool
	codes     *cmap  // how a composite font's strings are split; nil: two bytes each
	label     string // or an encoding known by name
	toUnicode *cmap
	encoding  [256]string // of a simple font
	widths    map[int]float64
	usual     float64 // width of what widths does not have
	scale     float64 // of widths
	fixed     bool    // no widths in the file, all alike
	guess     bool    // no widths in the file
}

const maxWidths = 100_000

func (f *file) font(d dict) *font {
	t := &font{widths: map[int]float64{}, scale: 1.0 / 1000}
	if s, ok := f.resolve(d["ToUnicode"]).(*stream); ok {
		if data, err := f.data(s); err == nil {
			t.toUnicode = parseCMap(data)
		}
	}
	if f.name(d["Subtype"]) == "Type0" {
		f.compositeFont(t, d)
		return t
	}
	f.simpleFont(t, d)
	return t
}

func (f *file) compositeFont(t *font, d dict) {
	t.composite = true
	switch enc := f.resolve(d["Encoding"]).(type) {
	case name:
		t.label, _ = predefined(string(enc))
	case *stream:
		if data, err := f.data(enc); err == nil {
			t.codes = parseCMap(data)
		}
	}
	t.usual = 1000
	below := f.array(d["DescendantFonts"])
	if len(below) == 0 {
		return
	}
	cid := f.dict(below[0])
	if w := f.resolve(cid["DW"]); w != nil {
		t.usual = toFloat(w)
	}
	list := f.array(cid["W"])
	for len(list) >= 2 && len(t.widths) < maxWidths {
		first := toInt(f.resolve(list[0]))
		if ws, ok := f.resolve(list[1]).(array); ok {
			for i, w := range ws {
				t.widths[first+i] = toFloat(f.resolve(w))
			}
			list = list[2:]
			continue
		}
		if len(list) < 3 {
			break
		}
		last, w := toInt(f.resolve(list[1])), toFloat(f.resolve(list[2]))
		for c := first; c <= min(last, 0xffff); c++ {
			t.widths[c] = w
		}
		list = list[3:]
	}
}

func (f *file) simpleFont(t *font, d dict) {
	base := strings.ToLower(string(f.name(d["BaseFont"])))
	t.encode(f, d, base)
	first := toInt(f.resolve(d["FirstChar"]))
	for i, w := range f.array(d["Widths"]) {
		if c := first + i; c >= 0 && c < 256 {
			t.widths[c] = toFloat(f.resolve(w))
		}
	}
	descriptor := f.dict(d["FontDescriptor"])
	t.usual = toFloat(f.resolve(descriptor["MissingWidth"]))
	if len(t.widths) == 0 {
		t.guess = true
		t.fixed = strings.Contains(base, "courier") || strings.Contains(base, "mono")
	}
	if f.name(d["Subtype"]) == "Type3" {
		if m := f.array(d["FontMatrix"]); len(m) == 6 {
			t.scale = toFloat(f.resolve(m[0]))
		}
	}
}

// encode fills the encoding of a simple font.
func (t *font) encode(f *file, d dict, base string) {
	var differences array
	encoding := name("")
	switch enc := f.resolve(d["Encoding"]).(type) {
	case name:
		encoding = enc
	case dict:
		encoding = f.name(enc["BaseEncoding"])
		differences = f.array(enc["Differences"])
	}
	switch {
	case encoding == "" && strings.Contains(base, "symbol"):
		t.fill(0x20, symbolLow)
		t.fill(0xa0, symbolHigh)
	case encoding == "" && strings.Contains(base, "dingbats"):
		for c := 0x21; c <= 0x7e; c++ {
			t.encoding[c] = string(rune(0x2701 + c - 0x21))
		}
		t.encoding[' '], t.encoding['l'], t.encoding['n'], t.encoding['u'] = " ", "●", "■", "◆"
	case encoding == "MacRomanEncoding":
		t.encoding = *macRoman()
	case encoding == "" && f.name(d["Subtype"]) != "TrueType":
		t.encoding = *winAnsi()
		for c := 0x80; c < 0x100; c++ {
			t.encoding[c] = ""
		}
		t.encoding['\''], t.encoding['`'] = "’", "‘"
		t.fill(0xa1, standardHigh)
	default:
		t.encoding = *winAnsi()
	}
	c := 0
	for _, o := range differences {
		switch o := f.resolve(o).(type) {
		case int:
			c = o
		case name:
			if c >= 0 && c < 256 {
				if s := glyphText(string(o)); s != "" || !strings.HasPrefix(string(o), ".") {
					t.set(c, s)
				}
			}
			c++
		}
	}
}

// set says what a code means. A name that means nothing leaves a printable code
// as it is: many programs number the glyphs of ASCII as ASCII does.
func (t *font) set(c int, s string) {
	if s != "" || c < 0x21 || c > 0x7e {
		t.encoding[c] = s
	}
}

func (t *font) fill(from int, table string) {
	for _, r := range table {
		if r != 0 && from < 256 {
			t.encoding[from] = string(r)
		}
		from++
	}
}

var (
	winAnsi  = sync.OnceValue(func() *[256]string { return codePage("windows-1252") })
	macRoman = sync.OnceValue(func() *[256]string { return codePage("macintosh") })
)

func codePage(label string) *[256]string {
	enc, _ := charset.Lookup(label)
	var page [256]string
	for c := 0x20; c < 0x100; c++ {
		if s, err := enc.NewDecoder().String(string([]byte{byte(c)})); err == nil && s != "\ufffd" {
			page[c] = s
		}
	}
	return &page
}

// glyphs visits what a string shows.
func (t *font) glyphs(s string, visit func(glyph)) {
	if t.label != "" && t.toUnicode == nil {
		t.named(s, visit)
		return
	}
	for len(s) > 0 {
		if !t.composite {
			c := s[0]
			s = s[1:]
			visit(glyph{t.simple(c), t.width(int(c)), c == ' '})
			continue
		}
		c, n := uint32(0), min(2, len(s))
		if t.codes != nil {
			c, n = t.codes.split(s)
		} else {
			c = code(s[:n])
		}
		s = s[n:]
		g := glyph{space: n == 1 && c == ' '}
		if t.toUnicode != nil {
			g.text, _ = t.toUnicode.unicode(c)
		}
		cid := int(c)
		if t.codes != nil {
			if m, ok := t.codes.find(c); ok {
				cid = m.cid + int(c-m.lo)
			}
		}
		g.width = t.width(cid)
		visit(g)
	}
}

// named visits the glyphs of a string in an encoding known by its name.
func (t *font) named(s string, visit func(glyph)) {
	enc, _ := charset.Lookup(t.label)
	decoded, err := enc.NewDecoder().String(s)
	if err != nil {
		return
	}
	for _, r := range decoded {
		w := t.usual
		if r < 0x80 {
			w /= 2
		}
		visit(glyph{text: string(r), width: w * t.scale})
	}
}

func (t *font) simple(c byte) string {
	if t.toUnicode != nil {
		if s, ok := t.toUnicode.unicode(uint32(c)); ok {
			return s
		}
	}
	return t.encoding[c]
}

func (t *font) width(c int) float64 {
	if w, ok := t.widths[c]; ok {
		return w * t.scale
	}
	switch {
	case t.fixed:
		return 0.6
	case t.guess && c < 256:
		return guessWidth(t.encoding[c])
	}
	return t.usual * t.scale
}

// guessWidth is about the width of a character in the usual fonts, which files
// need not carry.
func guessWidth(s string) float64 {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case strings.ContainsRune("ijl.,:;|!'`‘’ftIr()[]/ ", r):
		return 0.3
	case strings.ContainsRune("mwMW—%@", r):
		return 0.87
	case r >= 'A' && r <= 'Z':
		return 0.69
	}
	return 0.54
}
