package transcript

import (
	"bytes"
	"encoding/json"

	"github.com/burin-dev/burin/internal/jsontext"
)

// envelope is what the index must know of a record.
type envelope struct {
	typ, id    []byte // without quotes; nil if the record has none
	parent     []byte // nil: null or missing
	hasParent  bool   // there is a parentId, be it null
	role       []byte // of the message in it
	toolName   []byte // of the message in it
	customType []byte
	version    []byte // digits, of a header
}

// readEnvelope walks over the first JSON object of rec without decoding it and
// gives what follows it. It checks the structure, not every value: what is wrong
// within strings and numbers shows when the entry is decoded.
//
// Opening a session costs one such walk a record, so it does not allocate but for
// names with escapes.
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
					// The tree needs no such name: one that cannot be read costs no place in it.
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

// stringInto reads a string, or goes over any other value and leaves to as it is. What
// halves of surrogate pairs stand for, encoding/json says.
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

// salvage gives the whole entries within a line that cannot be read as one: two
// lines whose line end was damaged, or a torn line with a whole one behind it.
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
