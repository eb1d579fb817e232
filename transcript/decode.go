package transcript

import (
	"encoding/json"
	"time"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/llm"
)

// decoder reads the records of messages, which are most of a session, in one pass over their
// bytes. encoding/json reads each byte of a message some eight times, because its blocks are
// nested four levels deep and every level is checked again.
//
// The result of a decoder is that of encoding/json. If it isn't sure (another type of entry,
// an unknown or repeated field, null, a string that is not UTF-8), it refuses, and
// encoding/json takes over. It must be used by one goroutine at a time.
type decoder struct {
	w      jsontext.Reader
	names  map[string]string // frequent words: roles, models, tools
	blocks []llm.Block       // of the message being read
}

const (
	maxNames = 1000 // beyond this all are forgotten
	longName = 64   // bytes; longer ones are not remembered
)

// message reads a record into m, which is empty, and returns the record's own time. The bytes
// are valid until the next call.
func (d *decoder) message(record []byte, m *llm.Message) (stamp []byte, ok bool) {
	d.w.Reset(record)
	var has fields
	ok = d.w.Object(func(key []byte) bool {
		switch string(key) {
		case "type":
			s, ok := d.w.String()
			return ok && has.once(0) && string(s) == TypeMessage
		case "id":
			_, ok := d.w.String()
			return ok && has.once(1)
		case "parentId":
			if d.w.Peek() == 'n' {
				return d.w.Word("null") && has.once(2)
			}
			_, ok := d.w.String()
			return ok && has.once(2)
		case "timestamp":
			s, ok := d.w.Inside()
			stamp = s
			return ok && has.once(3) && jsontext.Plain(s) == len(s)
		case "message":
			return has.once(4) && d.body(m)
		}
		return false
	})
	ok = ok && d.w.End() && has.have(0) && has.have(4)
	d.w.Reset(nil)
	return stamp, ok
}

// fields is the set of an object's fields that were read.
type fields uint32

// once reports whether a field appears for the first time.
func (f *fields) once(i uint) bool {
	first := *f&(1<<i) == 0
	*f |= 1 << i
	return first
}

func (f *fields) have(i uint) bool { return *f&(1<<i) != 0 }

// body reads the message itself.
func (d *decoder) body(m *llm.Message) bool {
	var has fields
	ok := d.w.Object(func(key []byte) bool {
		switch string(key) {
		case "role":
			return has.once(0) && d.name((*string)(&m.Role))
		case "content":
			return has.once(1) && d.content(m)
		case "timestamp":
			var ms int64
			ok := has.once(2) && d.integer(&ms)
			if ms != 0 {
				m.Time = time.UnixMilli(ms)
			}
			return ok
		case "toolCallId":
			return has.once(3) && d.text(&m.ToolCallID)
		case "toolName":
			return has.once(4) && d.name(&m.ToolName)
		case "details":
			raw, ok := d.raw()
			m.Details = append(json.RawMessage{}, raw...)
			return ok && has.once(5)
		case "isError":
			return has.once(6) && d.boolean(&m.IsError)
		case "display":
			return has.once(7) && d.boolean(&m.Display)
		case "customType":
			return has.once(8) && d.name(&m.CustomType)
		}
		return d.origin(key, m, &has)
	})
	switch m.Role {
	case llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleToolResult, llm.RoleCustom:
		return ok
	}
	return false // of another program; see adopt
}

// origin reads the fields about the model of an answer.
func (d *decoder) origin(key []byte, m *llm.Message, has *fields) bool {
	switch string(key) {
	case "api":
		return has.once(16) && d.name((*string)(&m.API))
	case "provider":
		return has.once(17) && d.name(&m.Provider)
	case "model":
		return has.once(18) && d.name(&m.Model)
	case "responseId":
		return has.once(19) && d.text(&m.ResponseID)
	case "stopReason":
		return has.once(20) && d.name((*string)(&m.StopReason))
	case "usage":
		m.Usage = new(llm.Usage)
		return has.once(21) && d.usage(m.Usage)
	}
	return false
}

// usage reads what the provider counted.
func (d *decoder) usage(u *llm.Usage) bool {
	var has fields
	return d.w.Object(func(key []byte) bool {
		switch string(key) {
		case "input":
			return has.once(0) && d.count(&u.Input)
		case "output":
			return has.once(1) && d.count(&u.Output)
		case "cacheRead":
			return has.once(2) && d.count(&u.CacheRead)
		case "cacheWrite":
			return has.once(3) && d.count(&u.CacheWrite)
		case "cacheWriteLong":
			return has.once(4) && d.count(&u.CacheWriteLong)
		case "reasoning":
			return has.once(5) && d.count(&u.Reasoning)
		case "webSearches":
			return has.once(6) && d.count(&u.WebSearches)
		case "webFetches":
			return has.once(7) && d.count(&u.WebFetches)
		case "totalTokens":
			return has.once(8) && d.count(&u.TotalTokens)
		case "cost":
			u.Cost = new(llm.Cost)
			return has.once(9) && d.cost(u.Cost)
		}
		return false
	})
}

func (d *decoder) cost(c *llm.Cost) bool {
	var has fields
	return d.w.Object(func(key []byte) bool {
		switch string(key) {
		case "input":
			return has.once(0) && d.dollars(&c.Input)
		case "output":
			return has.once(1) && d.dollars(&c.Output)
		case "cacheRead":
			return has.once(2) && d.dollars(&c.CacheRead)
		case "cacheWrite":
			return has.once(3) && d.dollars(&c.CacheWrite)
		case "tools":
			return has.once(4) && d.dollars(&c.Tools)
		case "total":
			return has.once(5) && d.dollars(&c.Total)
		case "unknown":
			return has.once(6) && d.boolean(&c.Unknown)
		case "unreliable":
			return has.once(7) && d.boolean(&c.Unreliable)
		}
		return false
	})
}

// content reads the blocks of a message, or the string that is its only text.
func (d *decoder) content(m *llm.Message) bool {
	if d.w.Peek() == '"' {
		var t llm.Text
		ok := d.text(&t.Text)
		m.Content = []llm.Block{t}
		return ok
	}
	if !d.w.Take('[') {
		return false
	}
	if d.w.Take(']') {
		return true
	}
	d.blocks = d.blocks[:0]
	for {
		b, ok := d.block()
		if !ok {
			return false
		}
		d.blocks = append(d.blocks, b)
		if d.w.Take(']') {
			break
		}
		if !d.w.Take(',') {
			return false
		}
	}
	m.Content = append(make([]llm.Block, 0, len(d.blocks)), d.blocks...)
	clear(d.blocks)
	return true
}

// block reads text, thinking or a call. It refuses images and rare blocks.
func (d *decoder) block() (llm.Block, bool) {
	var (
		has      fields
		kind     string
		text     llm.Text
		thinking llm.Thinking
		call     llm.ToolCall
		written  string // the arguments as the model wrote them, if they are not JSON
	)
	ok := d.w.Object(func(key []byte) bool {
		switch string(key) {
		case "type":
			return has.once(0) && d.name(&kind)
		case "text":
			return has.once(1) && d.text(&text.Text)
		case "textSignature":
			return has.once(2) && d.text(&text.Signature)
		case "thinking":
			return has.once(3) && d.text(&thinking.Text)
		case "thinkingSignature":
			return has.once(4) && d.text(&thinking.Signature)
		case "redacted":
			return has.once(5) && d.boolean(&thinking.Redacted)
		case "id":
			return has.once(6) && d.text(&call.ID)
		case "name":
			return has.once(7) && d.name(&call.Name)
		case "arguments":
			raw, ok := d.raw()
			call.Arguments = string(raw)
			return ok && has.once(8)
		case "rawArguments":
			return has.once(9) && d.text(&written)
		case "thoughtSignature":
			return has.once(10) && d.text(&call.Signature)
		case "defect":
			return has.once(11) && d.name((*string)(&call.Defect))
		}
		return false
	})
	if !ok {
		return nil, false
	}
	switch kind {
	case "text":
		return text, true
	case "thinking":
		return thinking, true
	case "toolCall":
		if has.have(9) {
			call.Arguments = written
		}
		return call, true
	}
	return nil, false
}
