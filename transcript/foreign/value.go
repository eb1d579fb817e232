package foreign

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Limits. What is longer is cut, or left out and listed as lost.
const (
	maxTitle = 200      // characters of a title
	maxPath  = 4096     // characters of a folder or a source
	maxMedia = 32 << 20 // bytes of one picture or document
)

// decode reads JSON and leaves fields of an unexpected type empty. mistyped says
// that there were some.
func decode(data []byte, v any) (mistyped bool, err error) {
	err = json.Unmarshal(data, v)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return true, nil
	}
	return false, err
}

// stamp is a point in time in any of the forms in use: RFC 3339, or a number of
// seconds, milli-, micro- or nanoseconds since 1970. What is neither is unknown.
type stamp struct{ at time.Time }

// UnmarshalJSON reads the time; what it cannot read is no error.
func (s *stamp) UnmarshalJSON(b []byte) error {
	*s = stamp{}
	if len(b) > 0 && b[0] == '"' {
		var text string
		if json.Unmarshal(b, &text) == nil {
			*s = parseStamp(text)
		}
		return nil
	}
	var n float64
	if json.Unmarshal(b, &n) == nil {
		*s = stampOf(n)
	}
	return nil
}

func parseStamp(text string) stamp {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return bounded(at)
		}
	}
	return stamp{}
}

// stampOf tells the unit by the size: numbers of seconds stay below 1e11 until the
// year 5138.
func stampOf(n float64) stamp {
	switch {
	case n <= 0 || n > 1e19:
		return stamp{}
	case n >= 1e17:
		return bounded(time.UnixMilli(int64(n / 1e6)))
	case n >= 1e14:
		return bounded(time.UnixMilli(int64(n / 1e3)))
	case n >= 1e11:
		return bounded(time.UnixMilli(int64(n)))
	}
	return bounded(time.UnixMilli(int64(n * 1e3)))
}

// bounded drops times that no conversation can have.
func bounded(at time.Time) stamp {
	if at.Year() < 1990 || at.Year() > 2200 {
		return stamp{}
	}
	return stamp{at.UTC().Truncate(time.Millisecond)}
}

func (s stamp) time() time.Time { return s.at }
func (s stamp) known() bool     { return !s.at.IsZero() }

// text is the form of session files; "" if unknown.
func (s stamp) text() string {
	if !s.known() {
		return ""
	}
	return s.at.Format("2006-01-02T15:04:05.000Z")
}

// words are text as a string, as {"value": …} or {"text": …}, or as a list of such.
type words string

// UnmarshalJSON reads the text; what has none is empty.
func (w *words) UnmarshalJSON(b []byte) error {
	*w = ""
	if len(b) == 0 || b[0] != '[' {
		*w = words(oneWords(b))
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	for _, one := range list {
		*w += words(oneWords(one))
	}
	return nil
}

func oneWords(b []byte) string {
	var s string
	if len(b) > 0 && b[0] == '{' {
		var o struct {
			Value json.RawMessage `json:"value"`
			Text  json.RawMessage `json:"text"`
		}
		if json.Unmarshal(b, &o) != nil {
			return ""
		}
		b = firstOf(o.Value, o.Text)
	}
	if len(b) == 0 || b[0] != '"' || json.Unmarshal(b, &s) != nil {
		return ""
	}
	return s
}

func firstOf(a, b json.RawMessage) json.RawMessage {
	if len(a) > 0 {
		return a
	}
	return b
}

// arguments are those of a call, as the JSON text that the model wrote. A source
// that keeps them as an object has lost its white space.
func arguments(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] == '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	}
	return compact(raw)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// object makes arguments of what a tool got as plain text. The text is exact; the
// object around it is ours.
func (t *tree) object(input string) string {
	if _, state, err := llm.ParseObject(input); err == nil && state == llm.ArgsComplete && strings.TrimSpace(input) != "" {
		return input
	}
	t.lose(1, "free-form tool input", `it stands in an object, as {"input": …}`)
	wrapped, err := encode(map[string]string{"input": input})
	if err != nil {
		return "{}" // a string always encodes
	}
	return string(wrapped)
}

// textBlock is a list of one text; nil for an empty one.
func textBlock(s string) []llm.Block {
	if s == "" {
		return nil
	}
	return []llm.Block{llm.Text{Text: s}}
}

const (
	imageMissing = "[An image was here. It is not part of the export.]"
	fileMissing  = "[A file was here. It is not part of the export.]"
)

// missingImage stands for a picture that is only named.
func (t *tree) missingImage() llm.Block {
	t.lose(1, "images by reference", "they are not in the export")
	return llm.Text{Text: imageMissing}
}

// missingFile stands for a file that is only named.
func (t *tree) missingFile(name string) llm.Block {
	t.lose(1, "files by reference", "they are not in the export")
	if name = prose.Plain(name, maxTitle); name != "" {
		return llm.Text{Text: "[A file was here, " + name + ". It is not part of the export.]"}
	}
	return llm.Text{Text: fileMissing}
}

// dataURL makes a block of a data URL; any other URL is only named, never fetched.
func (t *tree) dataURL(url, name string) llm.Block {
	head, data, ok := strings.Cut(url, ",")
	mime, b64 := strings.CutSuffix(head, ";base64")
	mime, isData := strings.CutPrefix(mime, "data:")
	mime, _, _ = strings.Cut(mime, ";")
	if !ok || !isData || !b64 {
		if strings.HasPrefix(mime, "image/") || isImageName(url) || isImageName(name) {
			return t.missingImage()
		}
		return t.missingFile(name)
	}
	return t.encoded(mime, data, name)
}

// encoded makes a block of base64 data.
func (t *tree) encoded(mime, data, name string) llm.Block {
	if base64.StdEncoding.DecodedLen(len(data)) > maxMedia {
		t.lose(1, "large files", "one is larger than 32 MB")
		return llm.Text{Text: fileMissing}
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(data, "="))
	}
	if err != nil || len(raw) == 0 {
		t.lose(1, "damaged files", "their data is not base64")
		return llm.Text{Text: fileMissing}
	}
	return t.media(mime, raw, name)
}

// media makes a block of a file's bytes.
func (t *tree) media(mime string, raw []byte, name string) llm.Block {
	if seen := http.DetectContentType(raw); isImage(seen) {
		return llm.Image{MIME: seen, Data: raw}
	}
	switch {
	case isImage(mime):
		return llm.Image{MIME: mime, Data: raw}
	case strings.HasPrefix(mime, "image/"):
		t.lose(1, "images of other kinds", "models read PNG, JPEG, GIF and WebP only")
		return llm.Text{Text: imageMissing}
	case strings.HasPrefix(mime, "text/") || mime == "application/json":
		return llm.Document{Name: prose.Plain(name, maxTitle), MIME: mime, Text: strings.ToValidUTF8(string(raw), "\uFFFD")}
	}
	return llm.Document{Name: prose.Plain(name, maxTitle), MIME: mime, Data: raw}
}

func isImage(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

func isImageName(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{".png", ".jpg", ".jpeg", ".gif", ".webp"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// keep holds an item that burin has no form for. It has no API, so that it is kept
// in the session and never sent.
func keep(kind string, raw json.RawMessage) llm.Block {
	return llm.Opaque{Kind: prose.Plain(kind, maxTitle), Raw: bytes.Clone(raw)}
}
