package google

import (
	"github.com/burin-dev/burin/internal/jsontext"
)

// textChunk is the chunk that makes up nearly all of a stream: one candidate
// with one part of text or thought, the counts, the version and the id. It is
// read by hand, in one pass and without allocation; encoding/json takes six
// times as long. Whatever is not exactly of this shape (another kind of part,
// a signature, a finish reason, an unknown or repeated field, an unusual escape)
// is left to encoding/json.
type textChunk struct {
	text       []byte // of the input, or its own if it held escapes
	thought    bool
	hasText    bool
	usage      usageMetadata
	hasUsage   bool
	responseID []byte

	in jsontext.Reader
}

// parse reports whether data was such a chunk. The slices it sets are valid until
// the next call or as long as data is.
func (c *textChunk) parse(data []byte) bool {
	c.text, c.thought, c.hasText, c.responseID = nil, false, false, nil
	c.usage, c.hasUsage = usageMetadata{}, false
	c.in.Reset(data)
	ok := c.object(c.topField) && c.in.End()
	c.in.Text = nil
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
		_, ok := c.in.Plain()
		return 4, ok
	case "responseId":
		c.responseID, ok = c.in.Plain()
		return 8, ok && len(c.responseID) > 0
	}
	return 0, false
}

func (c *textChunk) candidateField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "content":
		return 1, c.object(c.contentField)
	case "index":
		n, ok := c.in.Count()
		return 2, ok && n == 0
	}
	return 0, false
}

func (c *textChunk) contentField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "parts":
		return 1, c.single(c.partField)
	case "role":
		_, ok := c.in.Plain()
		return 2, ok
	}
	return 0, false
}

func (c *textChunk) partField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "text":
		c.hasText = true
		c.text, ok = c.in.String()
		return 1, ok
	case "thought":
		c.thought = true
		return 2, c.in.Word("true")
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
		_, ok := c.in.Plain()
		return 512, ok
	default:
		return 0, false
	}
	*n, ok = c.in.Count()
	return bit, ok
}

// details skips a list of {"modality": "TEXT", "tokenCount": 4}.
func (c *textChunk) details() bool {
	if !c.in.Take('[') {
		return false
	}
	for {
		if !c.object(c.detailField) {
			return false
		}
		if !c.in.Take(',') {
			return c.in.Take(']')
		}
	}
}

func (c *textChunk) detailField(key []byte) (bit uint, ok bool) {
	switch string(key) {
	case "modality":
		_, ok := c.in.Plain()
		return 1, ok
	case "tokenCount":
		_, ok := c.in.Count()
		return 2, ok
	}
	return 0, false
}

// object reads an object whose fields are known and appear at most once. field
// reads the value of a key and gives the bit that stands for it.
func (c *textChunk) object(field func(key []byte) (uint, bool)) bool {
	var seen uint
	return c.in.Object(func(key []byte) bool {
		bit, ok := field(key)
		ok = ok && seen&bit == 0
		seen |= bit
		return ok
	}) && seen != 0
}

// single reads a list of one object.
func (c *textChunk) single(field func(key []byte) (uint, bool)) bool {
	return c.in.Take('[') && c.object(field) && c.in.Take(']')
}
