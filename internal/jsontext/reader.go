package jsontext

// Reader goes over JSON text value by value, and decodes what its user asks for. It
// doesn't allocate but for strings with escapes. It checks the structure; what stands in
// strings and numbers that are skipped, nobody looks at. Methods that report false may
// have gone over a part of what they did not take.
type Reader struct {
	Text []byte
	At   int
	buf  []byte // a string without its escapes
}

// kept is how much memory for strings a reader keeps from text to text.
const kept = 1 << 20

// Reset begins with another text.
func (r *Reader) Reset(text []byte) {
	r.Text, r.At = text, 0
	if cap(r.buf) > kept {
		r.buf = nil
	}
}

// Peek gives the next byte that is no white space; 0 at the end.
func (r *Reader) Peek() byte {
	for r.At < len(r.Text) {
		switch c := r.Text[r.At]; c {
		case ' ', '\t', '\r', '\n':
			r.At++
		default:
			return c
		}
	}
	return 0
}

// Take goes over c if it is next.
func (r *Reader) Take(c byte) bool {
	if r.Peek() != c || c == 0 {
		return false
	}
	r.At++
	return true
}

// Word goes over a word without quotes, as null is one, if it is next.
func (r *Reader) Word(s string) bool {
	r.Peek()
	if end := r.At + len(s); end <= len(r.Text) && string(r.Text[r.At:end]) == s {
		r.At = end
		return true
	}
	return false
}

// End reports whether only white space is left.
func (r *Reader) End() bool { return r.Peek() == 0 && r.At == len(r.Text) }

// Object goes over an object. member is called with each key as it is written, behind
// the colon, and goes over the value.
func (r *Reader) Object(member func(key []byte) bool) bool {
	if !r.Take('{') {
		return false
	}
	if r.Take('}') {
		return true
	}
	for {
		key, ok := r.Inside()
		if !ok || !r.Take(':') || !member(key) {
			return false
		}
		if r.Take('}') {
			return true
		}
		if !r.Take(',') {
			return false
		}
	}
}

// Inside goes over a string and gives what is between the quotes, as it is written.
func (r *Reader) Inside() ([]byte, bool) {
	if !r.Take('"') {
		return nil, false
	}
	from := r.At
	end := End(r.Text[from:])
	if end < 0 {
		r.At = len(r.Text)
		return nil, false
	}
	r.At = from + end + 1
	return r.Text[from : from+end], true
}

// String goes over a string and gives what it means, until the next call. It refuses
// what [Unquote] refuses.
func (r *Reader) String() (text []byte, ok bool) {
	inside, ok := r.Inside()
	if !ok {
		return nil, false
	}
	text, r.buf, ok = Unquote(r.buf, inside)
	return text, ok
}

// Plain goes over a string of ASCII without escapes.
func (r *Reader) Plain() ([]byte, bool) {
	if !r.Take('"') {
		return nil, false
	}
	s := r.Text[r.At:]
	n := Plain(s)
	if n == len(s) || s[n] != '"' {
		return nil, false
	}
	r.At += n + 1
	return s[:n], true
}

// Count goes over a whole number of at most nine digits, without a sign.
func (r *Reader) Count() (int, bool) {
	r.Peek()
	n, from := 0, r.At
	for ; r.At < len(r.Text) && '0' <= r.Text[r.At] && r.Text[r.At] <= '9' && r.At-from < 10; r.At++ {
		n = n*10 + int(r.Text[r.At]-'0')
	}
	digits := r.At - from
	return n, digits == 1 || 1 < digits && digits < 10 && r.Text[from] != '0'
}

// Skip goes over a value.
func (r *Reader) Skip() bool {
	switch r.Peek() {
	case 0:
		return false
	case '"':
		_, ok := r.Inside()
		return ok
	case '{', '[':
		return r.skipNested()
	}
	from := r.At
	for r.At < len(r.Text) {
		switch r.Text[r.At] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return r.At > from
		case '"', '{', '[', ':':
			return false
		}
		r.At++
	}
	return false // a number at the end of an object that does not end
}

// skipNested goes over an object or a list by its brackets.
func (r *Reader) skipNested() bool {
	var few [64]byte // on the stack for sane depths
	open := few[:0]
	for r.At < len(r.Text) {
		switch c := r.Text[r.At]; c {
		case '"':
			if _, ok := r.Inside(); !ok {
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
				r.At++
				return true
			}
		}
		r.At++
	}
	return false
}
