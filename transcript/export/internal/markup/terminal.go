package markup

import (
	"strconv"
	"strings"
)

// Terminal renders what a command printed. Colors and styles become spans of
// fixed classes; every other escape sequence is dropped. A line that was
// overwritten by carriage returns shows what was left of it. The style carries
// over from one Append to the next. The zero value is ready.
type Terminal struct {
	style style
}

type style struct {
	fg, bg                       int8 // 1 to 16; 0 is the default
	bold, dim, italic, underline bool
}

// Append appends s as HTML in which every span is closed.
func (t *Terminal) Append(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, "\x1b\r\b\u009b") {
		if t.style == (style{}) {
			return AppendText(dst, s)
		}
		return append(AppendText(t.style.open(dst), s), "</span>"...)
	}
	for line := range strings.Lines(s) {
		dst = t.line(dst, overwritten(line))
	}
	return dst
}

// overwritten is what stays of a line after its carriage returns, roughly: the
// last part that is not empty.
func overwritten(line string) string {
	body := strings.TrimRight(line, "\r\n")
	end := ""
	if strings.HasSuffix(line, "\n") {
		end = "\n"
	}
	if at := strings.LastIndexByte(body, '\r'); at >= 0 {
		body = body[at+1:]
	}
	return body + end
}

func (t *Terminal) line(dst []byte, s string) []byte {
	open := t.style != style{}
	if open {
		dst = t.style.open(dst)
	}
	for s != "" {
		at := strings.IndexAny(s, "\x1b\b\u009b")
		if at < 0 {
			break
		}
		if s[at] == '\b' { // bold and underline of old manual pages
			dst = AppendText(dst, cutLast(s[:at]))
			s = s[at+1:]
			continue
		}
		dst = AppendText(dst, s[:at])
		n, params, sgr := sequence(s[at:])
		s = s[at+n:]
		if !sgr {
			continue
		}
		if open {
			dst = append(dst, "</span>"...)
		}
		t.style = t.style.apply(params)
		if open = t.style != (style{}); open {
			dst = t.style.open(dst)
		}
	}
	dst = AppendText(dst, s)
	if open {
		dst = append(dst, "</span>"...)
	}
	return dst
}

// sequence measures the escape sequence s begins with. One without an end stops
// at the end of the line, so that it cannot hide more than that.
func sequence(s string) (n int, params string, sgr bool) {
	csi := 0
	switch {
	case strings.HasPrefix(s, "\u009b"):
		csi = len("\u009b")
	case len(s) < 2:
		return len(s), "", false
	case s[1] == '[':
		csi = 2
	case strings.IndexByte("]PX^_", s[1]) >= 0:
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == '\a':
				return i + 1, "", false
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2, "", false
			case s[i] == '\n':
				return i, "", false
			}
		}
		return len(s), "", false
	case s[1] < 0x30 && s[1] >= 0x20 && len(s) > 2: // a character set, two bytes long
		return 3, "", false
	case s[1] < 0x20 || s[1] > 0x7e:
		return 1, "", false
	default:
		return 2, "", false
	}
	for i := csi; i < len(s); i++ {
		switch c := s[i]; {
		case 0x40 <= c && c <= 0x7e:
			return i + 1, s[csi:i], c == 'm'
		case c < 0x20 || c > 0x7e:
			return i, "", false
		}
	}
	return len(s), "", false
}

func (y style) apply(params string) style {
	codes := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if params == "" {
		return style{}
	}
	for i := 0; i < len(codes); i++ {
		c, err := strconv.Atoi(codes[i])
		if err != nil {
			return y
		}
		switch {
		case c == 0:
			y = style{}
		case c == 1:
			y.bold = true
		case c == 2:
			y.dim = true
		case c == 3:
			y.italic = true
		case c == 4:
			y.underline = true
		case c == 22:
			y.bold, y.dim = false, false
		case c == 23:
			y.italic = false
		case c == 24:
			y.underline = false
		case 30 <= c && c <= 37:
			y.fg = int8(c - 29)
		case 90 <= c && c <= 97:
			y.fg = int8(c - 81)
		case c == 39:
			y.fg = 0
		case 40 <= c && c <= 47:
			y.bg = int8(c - 39)
		case 100 <= c && c <= 107:
			y.bg = int8(c - 91)
		case c == 49:
			y.bg = 0
		case c == 38, c == 48:
			color, used := extended(codes[i+1:])
			i += used
			if c == 38 {
				y.fg = color
			} else {
				y.bg = color
			}
		}
	}
	return y
}

// extended reads a color of 256 or of 16 million and returns the nearest of the
// sixteen, which follow the page's light and dark.
func extended(codes []string) (color int8, used int) {
	var v [4]int
	for i := range min(len(codes), len(v)) {
		v[i], _ = strconv.Atoi(codes[i])
	}
	switch {
	case len(codes) >= 2 && v[0] == 5:
		n := v[1] & 0xff
		switch {
		case n < 16:
			return int8(n + 1), 2
		case n >= 232:
			g := (n-232)*10 + 8
			return nearest(g, g, g), 2
		}
		n -= 16
		return nearest(n/36*51, n/6%6*51, n%6*51), 2
	case len(codes) >= 4 && v[0] == 2:
		return nearest(v[1], v[2], v[3]), 4
	}
	return 0, len(codes)
}

func nearest(r, g, b int) int8 {
	hi, lo := max(r, g, b), min(r, g, b)
	if hi-lo < 48 { // gray
		switch {
		case hi < 64:
			return 1
		case hi < 160:
			return 9
		}
		return 8
	}
	color := int8(1)
	mid := (hi + lo) / 2
	for i, c := range [3]int{r, g, b} {
		if c > mid {
			color += 1 << i
		}
	}
	if hi > 200 {
		color += 8
	}
	return color
}

func (y style) open(dst []byte) []byte {
	dst = append(dst, `<span class="a`...)
	if y.fg != 0 {
		dst = strconv.AppendInt(append(dst, " f"...), int64(y.fg-1), 10)
	}
	if y.bg != 0 {
		dst = strconv.AppendInt(append(dst, " g"...), int64(y.bg-1), 10)
	}
	for _, f := range [...]struct {
		on   bool
		name string
	}{{y.bold, " bo"}, {y.dim, " di"}, {y.italic, " it"}, {y.underline, " un"}} {
		if f.on {
			dst = append(dst, f.name...)
		}
	}
	return append(dst, `">`...)
}

// AppendDiff appends a diff, line by line: added lines as <ins>, removed lines as
// <del>, places as <b class="h">.
func AppendDiff(dst []byte, s string) []byte {
	for line := range strings.Lines(s) {
		tag, open := "", ""
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "@@"):
			tag, open = "b", `<b class="h">`
		case line[0] == '+':
			tag, open = "ins", "<ins>"
		case line[0] == '-':
			tag, open = "del", "<del>"
		}
		dst = AppendText(append(dst, open...), line)
		if tag != "" {
			dst = append(append(append(dst, "</"...), tag...), '>')
		}
	}
	return dst
}

// LooksLikeDiff reports whether s is a unified diff.
func LooksLikeDiff(s string) bool {
	s = strings.TrimLeft(s, "\r\n")
	if strings.HasPrefix(s, "diff --git ") || strings.HasPrefix(s, "@@ -") {
		return true
	}
	first, rest, _ := strings.Cut(s, "\n")
	return strings.HasPrefix(first, "--- ") && strings.HasPrefix(rest, "+++ ")
}

// PlainTerminal is what [Terminal.Append] shows, without colors and markup.
func PlainTerminal(s string) string {
	if !strings.ContainsAny(s, "\x1b\r\b\u009b") {
		return Plain(s)
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		line = overwritten(line)
		for {
			at := strings.IndexAny(line, "\x1b\b\u009b")
			if at < 0 {
				break
			}
			if line[at] == '\b' {
				b.WriteString(Plain(cutLast(line[:at])))
				line = line[at+1:]
				continue
			}
			n, _, _ := sequence(line[at:])
			b.WriteString(Plain(line[:at]))
			line = line[at+n:]
		}
		b.WriteString(Plain(line))
	}
	return b.String()
}

// cutLast is s without its last character, if that is ASCII.
func cutLast(s string) string {
	if s != "" && s[len(s)-1] < 0x80 {
		return s[:len(s)-1]
	}
	return s
}
