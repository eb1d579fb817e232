package transcript

import (
	"bytes"
	"encoding/json"

	"github.com/burin-dev/burin/internal/jsontext"
)

// envelope is what the index needs to know about a record.
type envelope struct {
	typ, id    []byte // without quotes; nil if the record has none
	parent     []byte // nil if it is null or missing
	hasParent  bool   // there is a parentId, though it may be null
	role       []byte // of the message in it
	toolName   []byte // of the message in it
	customType []byte
	version    []byte // digits, of a header
}

// readEnvelope walks over the first JSON object of rec without decoding it, and returns what
// follows it. It checks the structure, not every value: errors within strings and numbers show
// when the entry is decoded.
//
// Opening a session takes one such walk per record, so it allocates only for names with
// escapes.
func readEnvelope(rec []byte) (e envelope, rest []byte, ok bool) {
	w := jsontext.Reader{Text: rec}
	ok = w.Object(func(key []byte) bool {
		switch string(key) {
		case "type":
			return stringInto(&w, &e.typ)
		case "id":
			return stringInto(&w, &e.id)
		case "parentId":
			e.hasParent = true
			return stringInto(&w, &e.parent)
		case "customType":
			return stringInto(&w, &e.customType)
		case "version":
			from := w.At
			if !w.Skip() {
				return false
			}
			e.version = w.Text[from:w.At]
			return true
		case "message":
			if w.Peek() != '{' {
				return w.Skip()
			}
			return w.Object(func(key []byte) bool {
				switch string(key) {
				case "role":
					return stringInto(&w, &e.role)
				case "toolName":
					// The tree doesn't need this name, so an unreadable one doesn't cost the
					// entry its place.
					if name := w; stringInto(&name, &e.toolName) {
						w = name
						return true
					}
					return w.Skip()
				}
				return w.Skip()
			})
		}
		return w.Skip()
	})
	return e, rec[w.At:], ok
}

// stringInto reads a string, or skips any other value and leaves to unchanged. encoding/json
// decides what halves of surrogate pairs mean.
func stringInto(w *jsontext.Reader, to *[]byte) bool {
	if w.Peek() != '"' {
		return w.Skip()
	}
	from := w.At
	s, ok := w.Inside()
	if !ok {
		return false
	}
	if bytes.IndexByte(s, '\\') >= 0 {
		var plain string
		if json.Unmarshal(w.Text[from:w.At], &plain) != nil {
			return false
		}
		s = []byte(plain)
	}
	*to = s
	return true
}

// salvage returns the complete entries within a line that can't be read as one: two lines
// whose newline was damaged, or a torn line followed by a complete one.
func salvage(line []byte) [][]byte {
	var found [][]byte
	for at := 0; at < len(line); {
		i := bytes.Index(line[at:], []byte(`{"type":"`))
		if i < 0 {
			return found
		}
		at += i
		e, rest, ok := readEnvelope(line[at:])
		if !ok || len(e.typ) == 0 || len(e.id) == 0 || !json.Valid(line[at:len(line)-len(rest)]) {
			at++
			continue
		}
		end := len(line) - len(rest)
		found = append(found, line[at:end])
		at = end
	}
	return found
}
