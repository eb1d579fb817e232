package document

import (
	"bytes"
	"encoding/binary"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// HeadSize is how many bytes [Detect] looks at.
const HeadSize = 512

// Readable reports whether a kind is a document other than a PDF that [Extract] takes the text of.
func Readable(k Kind) bool {
	switch k {
	case Word, Slides, Sheet, OpenDoc, EPUB, RTF:
		return true
	}
	return false
}

// Detect tells the kind by content first and name second. Head is the first
// [HeadSize] bytes, or less of a shorter file.
func Detect(name string, head []byte) Kind {
	ext := extension(name)
	switch {
	case isImage(head):
		return Image
	case bytes.HasPrefix(head, []byte("%PDF-")), ext == ".pdf" && bytes.Contains(head, []byte("%PDF-")):
		return PDF
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return SQLite
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		return RTF
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return detectZip(ext, head)
	case isTar(head):
		return Archive
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		if ext == ".tar.gz" || ext == ".tgz" {
			return Archive
		}
		return Binary
	case ext == ".ipynb" && bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\ufeff"), []byte("{")):
		return Notebook
	case looksLikeText(head, true):
		return Text
	}
	return Binary
}

// extension is the lower-case end of a name that tells its kind, ".tar.gz" whole.
func extension(name string) string {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".tar.gz") {
		return ".tar.gz"
	}
	return path.Ext(name)
}

// detectZip tells documents from other zip files. Those that follow the rules
// store their type, uncompressed, in the first entry; of the others the first
// entries have telling names.
func detectZip(ext string, head []byte) Kind {
	switch {
	case bytes.Contains(head, []byte("mimetypeapplication/epub+zip")):
		return EPUB
	case bytes.Contains(head, []byte("mimetypeapplication/vnd.oasis.opendocument.")):
		return OpenDoc
	}
	if k := zipByName(ext); k != "" {
		return k
	}
	if !bytes.Contains(head, []byte("[Content_Types].xml")) && !bytes.Contains(head, []byte("_rels/.rels")) {
		return Archive
	}
	for _, part := range []struct {
		folder string
		kind   Kind
	}{{"word/", Word}, {"ppt/", Slides}, {"xl/", Sheet}} {
		if bytes.Contains(head, []byte(part.folder)) {
			return part.kind
		}
	}
	return Archive
}

func zipByName(ext string) Kind {
	switch ext {
	case ".docx", ".docm", ".dotx", ".dotm":
		return Word
	case ".pptx", ".pptm", ".ppsx", ".potx":
		return Slides
	case ".xlsx", ".xlsm", ".xltx":
		return Sheet
	case ".odt", ".ods", ".odp", ".ott", ".ots", ".otp":
		return OpenDoc
	case ".epub":
		return EPUB
	}
	return ""
}

func isImage(head []byte) bool { return imageFormat(head) != "" }

// imageFormat is the MIME type of a picture, or "" of anything else.
func imageFormat(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte{0xff, 0xd8, 0xff}):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 16 && string(head[:4]) == "RIFF" && string(head[8:15]) == "WEBPVP8":
		return "image/webp"
	case len(head) >= 18 && string(head[:2]) == "BM" && isBitmapHeader(binary.LittleEndian.Uint32(head[14:])):
		return "image/bmp"
	case bytes.HasPrefix(head, []byte("II*\x00")), bytes.HasPrefix(head, []byte("MM\x00*")):
		return "image/tiff"
	}
	return ""
}

// isBitmapHeader tells a bitmap from text that begins with "BM" by the size of
// its second header.
func isBitmapHeader(size uint32) bool {
	switch size {
	case 12, 40, 52, 56, 64, 108, 124:
		return true
	}
	return false
}

// isTar checks the sum that each header holds of itself, which also knows the
// oldest format, and whose chance of being right in other data is nil.
func isTar(head []byte) bool {
	if len(head) < 512 || head[0] == 0 {
		return false
	}
	field := strings.Trim(string(head[148:156]), " \x00")
	want, err := strconv.ParseInt(field, 8, 32)
	if err != nil {
		return false
	}
	var sum int64
	for i, c := range head[:512] {
		if i >= 148 && i < 156 {
			c = ' '
		}
		sum += int64(c)
	}
	return sum == want
}

// looksLikeText says whether data is text in an encoding that [Decode] knows. Of
// a part, the last character may be cut.
func looksLikeText(data []byte, part bool) bool {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return !bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0})
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	odd, high := 0, 0 // control characters that no text has; those of Latin-1's second block
	for _, c := range data {
		switch {
		case c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\v' && c != '\b' && c != 0x1b, c == 0x7f:
			odd++
		case c >= 0x80 && c < 0xa0:
			high++
		}
	}
	if validUTF8(data, part) {
		return odd*10 <= len(data)
	}
	return (odd+high)*20 <= len(data)
}

func validUTF8(data []byte, part bool) bool {
	if utf8.Valid(data) {
		return true
	}
	if !part {
		return false
	}
	for cut := 1; cut < utf8.UTFMax && cut <= len(data); cut++ {
		if utf8.RuneStart(data[len(data)-cut]) {
			return !utf8.FullRune(data[len(data)-cut:]) && utf8.Valid(data[:len(data)-cut])
		}
	}
	return false
}
