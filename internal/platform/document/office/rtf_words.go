package office

import (
	"io"
	"strings"

	"golang.org/x/net/html/charset"
)

// do carries out a control word. Words that change only how text looks are not
// known here and do nothing.
func (d *rtf) do(name string, n int, hasNumber bool) error {
	if name == "u" {
		d.unicode(n)
		return nil
	}
	d.flush()
	d.skip = 0
	st := d.top()
	if target, ok := rtfTargets[name]; ok {
		if st.target != toNothing {
			st.target = target
		}
		return nil
	}
	if s, ok := rtfCharacters[name]; ok {
		d.write(s)
		return nil
	}
	on := !hasNumber || n != 0
	switch name {
	case "par", "sect", "page":
		if st.target == toText {
			return d.endParagraph()
		}
	case "pard":
		d.level, d.inTable = 0, false
	case "intbl":
		d.inTable = true
	case "cell", "nestcell":
		if st.target == toText {
			d.endCell()
		}
	case "row", "nestrow":
		if st.target == toText {
			return d.endRow()
		}
	case "outlinelevel":
		if n >= 0 && n <= 8 {
			d.level = min(n+1, 6)
		}
	case "footnote":
		if st.target == toText {
			d.write(" [")
			st.closer = "]"
		}
	case "v", "deleted":
		st.hidden = on
	case "plain":
		st.hidden = false
	case "uc":
		st.uc = min(max(n, 0), 16)
	case "ansicpg":
		d.page = n
	case "mac":
		d.page = 10000
	case "f":
		st.font = n
	case "fcharset":
		if st.target == toFonts && len(d.fonts) < 10_000 {
			d.fonts[st.font] = charsetPages[n]
		}
	case "bin":
		_, err := io.CopyN(io.Discard, d.in, int64(max(n, 0)))
		return eofIsFine(err)
	}
	return nil
}

// rtfTargets are the groups that hold no text of the document, or text of a
// special kind.
var rtfTargets = map[string]rtfTarget{
	"fonttbl": toFonts, "listtext": toLabel, "pntext": toLabel,
	"colortbl": toNothing, "stylesheet": toNothing, "info": toNothing, "pict": toNothing, "objdata": toNothing,
	"header": toNothing, "headerl": toNothing, "headerr": toNothing, "headerf": toNothing,
	"footer": toNothing, "footerl": toNothing, "footerr": toNothing, "footerf": toNothing,
	"ftnsep": toNothing, "ftnsepc": toNothing, "fldinst": toNothing, "filetbl": toNothing, "revtbl": toNothing,
	"listtable": toNothing, "listoverridetable": toNothing, "xe": toNothing, "tc": toNothing,
}

var rtfCharacters = map[string]string{
	"tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’",
	"ldblquote": "“", "rdblquote": "”", "enspace": " ", "emspace": " ", "qmspace": " ",
}

// charsetPages are the code pages of fonts; 0 is the document's.
var charsetPages = map[int]int{
	77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256,
	186: 1257, 204: 1251, 222: 874, 238: 1250,
}

// pageLabels are the code pages under the names of the WHATWG's registry.
var pageLabels = map[int]string{
	874: "windows-874", 932: "shift_jis", 936: "gbk", 949: "euc-kr", 950: "big5", 1250: "windows-1250",
	1251: "windows-1251", 1253: "windows-1253", 1254: "windows-1254", 1255: "windows-1255", 1256: "windows-1256",
	1257: "windows-1257", 1258: "windows-1258", 10000: "macintosh", 65001: "utf-8",
}

// decodePage decodes bytes of a code page; unknown ones are Windows-1252.
func decodePage(b []byte, page int) string {
	label, ok := pageLabels[page]
	if !ok {
		label = "windows-1252"
	}
	enc, _ := charset.Lookup(label)
	text, err := enc.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\ufffd")
	}
	return string(text)
}
