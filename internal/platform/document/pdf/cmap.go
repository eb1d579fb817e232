package pdf

import (
	"sort"
	"strings"
	"unicode/utf16"
)

const maxMappings = 200_000 // of one map of characters

// cmap maps the codes of a composite font: to text (ToUnicode), or to the numbers
// of its characters (an embedded encoding).
type cmap struct {
	spaces []codespace
	ranges []mapping // sorted by lo
}

// codespace is how many bytes a code has that begins like this.
type codespace struct {
	lo, hi uint32
	bytes  int
}

// mapping says what the codes from lo to hi mean: consecutive characters from
// text on, or numbers from cid on.
type mapping struct {
	lo, hi uint32
	text   string
	cid    int
}

// parseCMap reads a map. Broken parts of it are left out.
func parseCMap(data []byte) *cmap {
	m := &cmap{}
	l := &lexer{data: data, content: true, whole: true}
	var args []object
	for {
		o, err := l.next()
		if err != nil {
			break
		}
		op, ok := o.(operator)
		if !ok {
			if args = append(args, o); len(args) > 4*maxMappings {
				break
			}
			continue
		}
		m.do(string(op), args)
		args = args[:0]
	}
	sort.SliceStable(m.ranges, func(i, j int) bool { return m.ranges[i].lo < m.ranges[j].lo })
	return m
}

func (m *cmap) do(op string, args []object) {
	if len(m.ranges) > maxMappings {
		return
	}
	switch op {
	case "endcodespacerange":
		for ; len(args) >= 2; args = args[2:] {
			lo, hi := str(args[0]), str(args[1])
			if n := len(lo); n >= 1 && n <= 4 && n == len(hi) && len(m.spaces) < 1000 {
				m.spaces = append(m.spaces, codespace{code(lo), code(hi), n})
			}
		}
	case "endbfchar":
		for ; len(args) >= 2; args = args[2:] {
			if c := str(args[0]); c != "" {
				m.ranges = append(m.ranges, mapping{lo: code(c), hi: code(c), text: meaning(args[1])})
			}
		}
	case "endbfrange":
		for ; len(args) >= 3; args = args[3:] {
			m.addRange(str(args[0]), str(args[1]), args[2])
		}
	case "endcidchar":
		for ; len(args) >= 2; args = args[2:] {
			c := code(str(args[0]))
			m.ranges = append(m.ranges, mapping{lo: c, hi: c, cid: toInt(args[1])})
		}
	case "endcidrange":
		for ; len(args) >= 3; args = args[3:] {
			m.ranges = append(m.ranges, mapping{lo: code(str(args[0])), hi: code(str(args[1])), cid: toInt(args[2])})
		}
	}
}

func (m *cmap) addRange(lo, hi string, to object) {
	if lo == "" || hi == "" {
		return
	}
	first, last := code(lo), code(hi)
	list, ok := to.(array)
	if !ok {
		m.ranges = append(m.ranges, mapping{lo: first, hi: last, text: meaning(to)})
		return
	}
	for i, o := range list {
		if c := first + uint32(i); c <= last {
			m.ranges = append(m.ranges, mapping{lo: c, hi: c, text: meaning(o)})
		}
	}
}

func code(s string) uint32 {
	var n uint32
	for i := range len(s) {
		n = n<<8 | uint32(s[i])
	}
	return n
}

// meaning is the text that a map gives for a code: UTF-16, or a glyph's name.
func meaning(o object) string {
	switch o := o.(type) {
	case text:
		return utf16BE(string(o))
	case name:
		return glyphText(string(o))
	}
	return ""
}

func utf16BE(s string) string {
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return string(utf16.Decode(units))
}

// find is the mapping of a code. Where ranges overlap the last to begin counts.
func (m *cmap) find(c uint32) (mapping, bool) {
	i := sort.Search(len(m.ranges), func(i int) bool { return m.ranges[i].lo > c })
	for back := 0; i > 0 && back < 8; back++ {
		i--
		if r := m.ranges[i]; c <= r.hi {
			return r, true
		}
	}
	return mapping{}, false
}

// unicode is the text of a code.
func (m *cmap) unicode(c uint32) (string, bool) {
	r, ok := m.find(c)
	if !ok || r.text == "" {
		return "", false
	}
	if c == r.lo {
		return r.text, true
	}
	runes := []rune(r.text)
	runes[len(runes)-1] += rune(c - r.lo)
	return string(runes), true
}

// split gives the next code of s and how many bytes it has.
func (m *cmap) split(s string) (c uint32, n int) {
	for n = 1; n <= 4 && n <= len(s); n++ {
		c = code(s[:n])
		for _, sp := range m.spaces {
			if sp.bytes == n && within(c, sp) {
				return c, n
			}
		}
	}
	n = 1
	if len(m.spaces) == 0 || m.spaces[0].bytes == 2 {
		n = 2
	}
	n = min(n, len(s))
	return code(s[:n]), n
}

// within compares byte by byte: a space is a box, not an interval.
func within(c uint32, sp codespace) bool {
	for shift := 0; shift < 8*sp.bytes; shift += 8 {
		b := c >> shift & 0xff
		if b < sp.lo>>shift&0xff || b > sp.hi>>shift&0xff {
			return false
		}
	}
	return true
}

// predefined tells how the codes of a font are written whose encoding is one of
// those every reader knows by name. Label is a name of the WHATWG's registry.
func predefined(encoding string) (label string, ok bool) {
	for _, p := range []struct{ part, label string }{
		{"UCS2", "utf-16be"},
		{"UTF16", "utf-16be"},
		{"RKSJ", "shift_jis"},
		{"GBK", "gbk"},
		{"GBpc", "gbk"},
		{"GB-", "gbk"},
		{"B5", "big5"},
		{"HKscs", "big5"},
		{"KSC", "euc-kr"},
		{"EUC-", "euc-jp"},
	} {
		if strings.Contains(encoding, p.part) {
			return p.label, true
		}
	}
	return "", false
}
