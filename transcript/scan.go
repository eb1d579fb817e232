package transcript

import (
	"bytes"
	"encoding/json"
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
	w := walker{text: rec}
	ok = w.object(func(key []byte) bool {
		switch string(key) {
		case "type":
			return w.stringInto(&e.typ)
		case "id":
			return w.stringInto(&e.id)
		case "parentId":
			e.hasParent = true
			return w.stringInto(&e.parent)
		case "customType":
			return w.stringInto(&e.customType)
		case "version":
			from := w.at
			if !w.skip() {
				return false
			}
			e.version = w.text[from:w.at]
			return true
		case "message":
			if w.peek() != '{' {
				return w.skip()
			}
			return w.object(func(key []byte) bool {
				switch string(key) {
				case "role":
					return w.stringInto(&e.role)
				case "toolName":
					// The tree needs no such name: one that cannot be read costs no place in it.
					if name := w; name.stringInto(&e.toolName) {
						w = name
						return true
					}
					return w.skip()
				}
				return w.skip()
			})
		}
		return w.skip()
	})
	return e, rec[w.at:], ok
}

// walker walks over JSON text.
type walker struct {
	text []byte
	at   int
}

// peek gives the next byte that is no white space; 0 at the end.
func (w *walker) peek() byte {
	for w.at < len(w.text) {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return c
		}
	}
	return 0
}

// take goes over c if it is next.
func (w *walker) take(c byte) bool {
	if w.peek() != c || c == 0 {
		return false
	}
	w.at++
	return true
}

// object goes over an object. member is called with each key, behind the colon,
// and goes over the value.
func (w *walker) object(member func(key []byte) bool) bool {
	if !w.take('{') {
		return false
	}
	if w.take('}') {
		return true
	}
	for {
		key, ok := w.str()
		if !ok || !w.take(':') || !member(key) {
			return false
		}
		if w.take('}') {
			return true
		}
		if !w.take(',') {
			return false
		}
	}
}

// str goes over a string and gives what is between the quotes.
func (w *walker) str() ([]byte, bool) {
	if !w.take('"') {
		return nil, false
	}
	from := w.at
	for {
		i := bytes.IndexByte(w.text[w.at:], '"')
		if i < 0 {
			w.at = len(w.text)
			return nil, false
		}
		end := w.at + i
		w.at = end + 1
		slashes := 0
		for j := end - 1; j >= from && w.text[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return w.text[from:end], true
		}
	}
}

// stringInto reads a string, or goes over any other value and leaves to as it is.
func (w *walker) stringInto(to *[]byte) bool {
	if w.peek() != '"' {
		return w.skip()
	}
	from := w.at
	s, ok := w.str()
	if !ok {
		return false
	}
	if bytes.IndexByte(s, '\\') >= 0 {
		var plain string
		if json.Unmarshal(w.text[from:w.at], &plain) != nil {
			return false
		}
		s = []byte(plain)
	}
	*to = s
	return true
}

// skip goes over a value.
func (w *walker) skip() bool {
	switch w.peek() {
	case 0:
		return false
	case '"':
		_, ok := w.str()
		return ok
	case '{', '[':
		return w.skipNested()
	}
	from := w.at
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return w.at > from
		case '"', '{', '[', ':':
			return false
		}
		w.at++
	}
	return false // a number at the end of an object that does not end
}

// skipNested goes over an object or a list by its brackets.
func (w *walker) skipNested() bool {
	var open []byte // only looked at, so it stays on the stack for sane depths
	var few [64]byte
	open = few[:0]
	for w.at < len(w.text) {
		switch c := w.text[w.at]; c {
		case '"':
			if _, ok := w.str(); !ok {
				return false
			}
			continue
		case '{':
			open = append(open, '}')
		case '[':
			open = append(open, ']')
		case '}', ']':
			if open[len(open)-1] != c {
				return false
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				w.at++
				return true
			}
		}
		w.at++
	}
	return false
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
