package google

import "unicode/utf8"

// textChunk is the chunk that makes up nearly all of a stream: one candidate
// with one part of text or thought, the counts, the version and the id. It is
// read by hand, in one pass and without allocation; encoding/json takes six
// times as long. Whatever is not exactly of this shape (another kind of part,
// a signature, a finish reason, an unknown or repeated field, an unusual escape)
// is left to encoding/json.
type textChunk struct {
	text       []byte // of the input, or of buf if it held escapes
	thought    bool
	hasText    bool
	usage      usageMetadata
	hasUsage   bool
	responseID []byte

	buf []byte // reused between chunks
	in  []byte
	at  int
}

// parse says whether data was such a chunk. The slices it sets are valid until
// the next call or as long as data is.
func (c *textChunk) parse(data []byte) bool {
	c.text, c.thought, c.hasText, c.responseID = nil, false, false, nil
	c.usage, c.hasUsage = usageMetadata{}, false
	c.in, c.at = data, 0
	ok := c.object(c.topField) && c.atEnd()
	c.in = nil
	return ok
}

func (c *textChunk) topField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "candidates":
		return 1, c.single(c.candidateField)
	case "usageMetadata":
		c.hasUsage = true
		return 2, c.object(c.usageField)
	case "modelVersion":
		_, ok := c.plain()
		return 4, ok
	case "responseId":
		c.responseID, ok = c.plain()
		return 8, ok && len(c.responseID) > 0
	}
	return 0, false
}

func (c *textChunk) candidateField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "content":
		return 1, c.object(c.contentField)
	case "index":
		n, ok := c.number()
		return 2, ok && n == 0
	}
	return 0, false
}

func (c *textChunk) contentField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "parts":
		return 1, c.single(c.partField)
	case "role":
		_, ok := c.plain()
		return 2, ok
	}
	return 0, false
}

func (c *textChunk) partField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "text":
		c.hasText = true
		c.text, ok = c.str()
		return 1, ok
	case "thought":
		c.thought = true
		return 2, c.literal("true")
	}
	return 0, false
}

func (c *textChunk) usageField(key []byte) (bit uint, ok bool) {
	var n *int
	u := &c.usage
	switch string(key) {
	case "promptTokenCount":
		bit, n = 1, &u.PromptTokenCount
	case "cachedContentTokenCount":
		bit, n = 2, &u.CachedContentTokenCount
	case "candidatesTokenCount":
		bit, n = 4, &u.CandidatesTokenCount
	case "thoughtsTokenCount":
		bit, n = 8, &u.ThoughtsTokenCount
	case "toolUsePromptTokenCount":
		bit, n = 16, &u.ToolUsePromptTokenCount
	case "totalTokenCount":
		bit, n = 32, &u.TotalTokenCount
	case "promptTokensDetails":
		return 64, c.details()
	case "cacheTokensDetails":
		return 128, c.details()
	case "candidatesTokensDetails":
		return 256, c.details()
	case "trafficType":
		_, ok := c.plain()
		return 512, ok
	default:
		return 0, false
	}
	*n, ok = c.number()
	return bit, ok
}

// details skips a list of {"modality": "TEXT", "tokenCount": 4}.
func (c *textChunk) details() bool {
	if !c.token('[') {
		return false
	}
	for {
		if !c.object(c.detailField) {
			return false
		}
		if !c.token(',') {
			return c.token(']')
		}
	}
}

func (c *textChunk) detailField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "modality":
		_, ok := c.plain()
		return 1, ok
	case "tokenCount":
		_, ok := c.number()
		return 2, ok
	}
	return 0, false
}

// object reads an object whose fields are known and appear at most once. field
// reads the value of a key and gives the bit that stands for it.
func (c *textChunk) object(field func(key []byte) (uint, bool)) bool {
	if !c.token('{') {
		return false
	}
	var seen uint
	for {
		key, ok := c.plain()
		if !ok || !c.token(':') {
			return false
		}
		bit, ok := field(key)
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
		if !c.token(',') {
			return c.token('}')
		}
	}
}

// single reads a list of one object.
func (c *textChunk) single(field func(key []byte) (uint, bool)) bool {
	return c.token('[') && c.object(field) && c.token(']')
}

func (c *textChunk) space() {
	for c.at < len(c.in) {
		switch c.in[c.at] {
		case ' ', '\n', '\r', '\t':
			c.at++
		default:
			return
		}
	}
}

func (c *textChunk) atEnd() bool {
	c.space()
	return c.at == len(c.in)
}

// token takes the byte b, if it is next.
func (c *textChunk) token(b byte) bool {
	c.space()
	if c.at < len(c.in) && c.in[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *textChunk) literal(s string) bool {
	c.space()
	if end := c.at + len(s); end <= len(c.in) && string(c.in[c.at:end]) == s {
		c.at = end
		return true
	}
	return false
}

// number reads a count of at most nine digits.
func (c *textChunk) number() (int, bool) {
	c.space()
	n, start := 0, c.at
	for c.at < len(c.in) && '0' <= c.in[c.at] && c.in[c.at] <= '9' {
		n = n*10 + int(c.in[c.at]-'0')
		c.at++
	}
	digits := c.at - start
	if digits == 0 || digits > 9 || digits > 1 && c.in[start] == '0' {
		return 0, false
	}
	if c.at < len(c.in) {
		switch c.in[c.at] {
		case '.', 'e', 'E':
			return 0, false
		}
	}
	return n, true
}

// plain reads a string of printable ASCII without escapes.
func (c *textChunk) plain() ([]byte, bool) {
	if !c.token('"') {
		return nil, false
	}
	start := c.at
	for ; c.at < len(c.in); c.at++ {
		switch b := c.in[c.at]; {
		case b == '"':
			c.at++
			return c.in[start : c.at-1], true
		case b < ' ' || b >= utf8.RuneSelf || b == '\\':
			return nil, false
		}
	}
	return nil, false
}

// str reads any string of valid UTF-8 whose escapes are common ones.
func (c *textChunk) str() ([]byte, bool) {
	if !c.token('"') {
		return nil, false
	}
	start, ascii := c.at, true
	for ; c.at < len(c.in); c.at++ {
		switch b := c.in[c.at]; {
		case b == '"':
			s := c.in[start:c.at]
			c.at++
			return s, ascii || utf8.Valid(s)
		case b == '\\':
			return c.unescape(start)
		case b < ' ':
			return nil, false
		case b >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// unescape reads the rest of a string from its first escape on.
func (c *textChunk) unescape(start int) ([]byte, bool) {
	c.buf = append(c.buf[:0], c.in[start:c.at]...)
	for c.at < len(c.in) {
		b := c.in[c.at]
		c.at++
		switch {
		case b == '"':
			return c.buf, utf8.Valid(c.buf)
		case b < ' ':
			return nil, false
		case b != '\\':
			c.buf = append(c.buf, b)
			continue
		}
		if c.at == len(c.in) {
			return nil, false
		}
		b = c.in[c.at]
		c.at++
		switch b {
		case 'n':
			c.buf = append(c.buf, '\n')
		case 't':
			c.buf = append(c.buf, '\t')
		case 'r':
			c.buf = append(c.buf, '\r')
		case '"', '\\', '/':
			c.buf = append(c.buf, b)
		case 'u':
			r, ok := c.hex4()
			if !ok || 0xD800 <= r && r <= 0xDFFF { // surrogates come in pairs
				return nil, false
			}
			c.buf = utf8.AppendRune(c.buf, r)
		default:
			return nil, false
		}
	}
	return nil, false
}

func (c *textChunk) hex4() (rune, bool) {
	if c.at+4 > len(c.in) {
		return 0, false
	}
	var r rune
	for _, b := range c.in[c.at : c.at+4] {
		switch {
		case '0' <= b && b <= '9':
			r = r<<4 | rune(b-'0')
		case 'a' <= b && b <= 'f':
			r = r<<4 | rune(b-'a'+10)
		case 'A' <= b && b <= 'F':
			r = r<<4 | rune(b-'A'+10)
		default:
			return 0, false
		}
	}
	c.at += 4
	return r, true
}
