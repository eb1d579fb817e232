package attachment

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document"
)

// sniff tells the MIME type of content by how it begins, whatever its name says.
func sniff(start []byte) string {
	if kind := document.AudioType(start); kind != "" {
		return kind
	}
	if len(start) > 12 && string(start[4:8]) == "ftyp" {
		switch brand := string(start[8:12]); {
		case brand == "avif" || brand == "avis":
			return "image/avif"
		case strings.HasPrefix(brand, "hei") || strings.HasPrefix(brand, "hev"):
			return "image/heic"
		case brand == "mif1" || brand == "msf1":
			return "image/heif"
		case brand == "qt  ":
			return "video/quicktime"
		}
	}
	kind := http.DetectContentType(start[:min(len(start), 512)])
	switch {
	case kind == "application/zip":
		return zipped(start)
	case strings.HasPrefix(kind, "text/") && bytes.Contains(start, []byte("<svg")) && !strings.HasPrefix(kind, "text/html"):
		text := bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")))
		if bytes.HasPrefix(text, []byte("<svg")) || bytes.HasPrefix(text, []byte("<?xml")) || bytes.HasPrefix(text, []byte("<!--")) {
			return "image/svg+xml"
		}
	case bytes.HasPrefix(start, []byte("II*\x00")), bytes.HasPrefix(start, []byte("MM\x00*")):
		return "image/tiff"
	}
	return kind
}

// zipped tells what kind of document an archive is.
func zipped(start []byte) string {
	const named = "mimetypeapplication/" // OpenDocument and EPUB have it first, not compressed
	if i := bytes.Index(start, []byte(named)); i >= 0 && i < 100 {
		kind := start[i+len("mimetype"):]
		end := bytes.IndexFunc(kind, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '/' && r != '.' && r != '+' && r != '-'
		})
		kind = bytes.TrimSuffix(kind[:max(end, 0)], []byte("PK"))
		return string(kind)
	}
	for folder, kind := range map[string]string{"word/": "wordprocessingml.document", "xl/": "spreadsheetml.sheet", "ppt/": "presentationml.presentation"} {
		if bytes.Contains(start, []byte(folder)) && bytes.Contains(start, []byte("[Content_Types].xml")) {
			return "application/vnd.openxmlformats-officedocument." + kind
		}
	}
	return "application/zip"
}
