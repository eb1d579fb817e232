package llm

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// Builder assembles an answer from the pieces that a codec decodes, and queues the events. It
// guarantees the order of events that [Stream] promises, whatever the codec reports: a start
// before anything else, blocks that open and close, deltas of whole characters, one terminal
// event.
//
// A codec calls Open…, Delta, CloseBlock and so on while it decodes a frame; the stream then
// takes the queued events with Next. Content indexes are those of Message.Content and never
// change.
type Builder struct {
	msg     Message
	open    []openBlock // parallel to msg.Content
	queue   []Event
	head    int
	started bool
	done    bool

	limit            int // of written; 0 = none
	written, carried int // bytes; see Limit and Hold
}

// openBlock is the growing state of an open block.
type openBlock struct {
	buf    []byte // text so far
	rest   []byte // first bytes of an incomplete character
	sign   []byte // pieces of the signature
	open   bool
	closed bool
}

// NewBuilder starts an answer. It uses the API, provider, model and time of m.
func NewBuilder(m Message) *Builder {
	m.Role = RoleAssistant
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	return &Builder{msg: m}
}

// Next removes and returns the oldest queued event. ok is false if the queue is empty.
func (b *Builder) Next() (ev Event, ok bool) {
	if b.head == len(b.queue) {
		return Event{}, false
	}
	ev = b.queue[b.head]
	b.queue[b.head] = Event{}
	b.head++
	if b.head == len(b.queue) {
		b.queue, b.head = b.queue[:0], 0
	}
	return ev, true
}

// Ended reports whether the terminal event was queued.
func (b *Builder) Ended() bool { return b.done }

// Start queues the start event, once. The other methods call it as needed.
func (b *Builder) Start() {
	if b.started || b.done {
		return
	}
	b.started = true
	head := b.msg
	if head.Usage != nil {
		usage := *head.Usage // the builder keeps counting in its own
		head.Usage = &usage
	}
	b.emit(Event{Type: EventStart, Message: &head})
}

// SetResponseID records the provider's id of the response.
func (b *Builder) SetResponseID(id string) { b.msg.ResponseID = id }

// SetModel records the id of the model that actually answers, if the provider says so and the
// caller had not named one.
func (b *Builder) SetModel(id string) {
	if b.msg.Model == "" {
		b.msg.Model = id
	}
}

// Usage returns the usage to fill in. It is created on first use.
func (b *Builder) Usage() *Usage {
	if b.msg.Usage == nil {
		b.msg.Usage = new(Usage)
	}
	return b.msg.Usage
}

// OpenText starts a text block and returns its index.
func (b *Builder) OpenText() int { return b.openAs(Text{}, EventTextStart) }

// OpenThinking starts a thinking block and returns its index.
func (b *Builder) OpenThinking() int { return b.openAs(Thinking{}, EventThinkingStart) }

// OpenToolCall starts a tool call and returns its index.
func (b *Builder) OpenToolCall(id, name string) int {
	return b.openAs(ToolCall{ID: id, Name: name}, EventToolCallStart)
}

// openAs adds a block. A codec that continues after the end, with the rest of its frame, gets
// an index as usual, but no event.
func (b *Builder) openAs(block Block, t EventType) int {
	b.Start()
	i := len(b.msg.Content)
	b.msg.Content = append(b.msg.Content, block)
	b.open = append(b.open, openBlock{open: !b.done})
	b.emit(Event{Type: t, Index: i, Block: block})
	b.write(blockBytes)
	return i
}

// IsOpen reports whether block i has started and not ended.
func (b *Builder) IsOpen(i int) bool { return i >= 0 && i < len(b.open) && b.open[i].open }

// Len returns the number of blocks so far.
func (b *Builder) Len() int { return len(b.msg.Content) }

// Block returns block i as it is now; its text is complete only after CloseBlock.
func (b *Builder) Block(i int) Block { return b.msg.Content[i] }

// Size returns the number of bytes in block i so far.
func (b *Builder) Size(i int) int { return len(b.open[i].buf) }

// Written returns the text of block i so far. The bytes are valid until the next call.
func (b *Builder) Written(i int) []byte { return b.open[i].buf }

// Delta adds s to open block i: text, thinking or arguments, depending on the block. It
// ignores empty deltas and blocks that are not open. It holds back bytes of an incomplete
// character; invalid bytes become U+FFFD.
func (b *Builder) Delta(i int, s string) {
	if s == "" || b.done || !b.IsOpen(i) {
		return
	}
	o := &b.open[i]
	if len(o.rest) > 0 {
		s = string(o.rest) + s
		o.rest = o.rest[:0]
	}
	if cut := incompleteSuffix(s); cut > 0 {
		o.rest = append(o.rest, s[len(s)-cut:]...)
		s = s[:len(s)-cut]
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if s == "" {
		return
	}
	size := len(s)
	if room := b.limit - b.written; b.limit > 0 && size > room {
		s = prose.Head(s, room)
	}
	if s != "" {
		if have := len(o.buf); have+len(s) > cap(o.buf) {
			// Double the buffer: append's smaller steps leave garbage of five times the size
			// of a long answer.
			o.buf = slices.Grow(o.buf, max(have, len(s)))
		}
		o.buf = append(o.buf, s...)
		b.emit(Event{Type: deltaType(b.msg.Content[i]), Index: i, Delta: s})
	}
	b.write(size)
}

// incompleteSuffix returns the number of bytes at the end of s that start a character without
// finishing it.
func incompleteSuffix(s string) int {
	for n := 1; n <= 3 && n <= len(s); n++ {
		c := s[len(s)-n]
		if c < utf8.RuneSelf {
			return 0
		}
		if utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

func deltaType(block Block) EventType {
	switch block.(type) {
	case Thinking:
		return EventThinkingDelta
	case ToolCall:
		return EventToolCallDelta
	}
	return EventTextDelta
}

// Sign sets the signature of block i, and AddSignature appends to it. Only the block's end
// event has it.
func (b *Builder) Sign(i int, signature string) {
	if !b.Hold(len(signature)) {
		return
	}
	b.open[i].sign = nil
	switch c := b.msg.Content[i].(type) {
	case Text:
		c.Signature = signature
		b.msg.Content[i] = c
	case Thinking:
		c.Signature = signature
		b.msg.Content[i] = c
	case ToolCall:
		c.Signature = signature
		b.msg.Content[i] = c
	}
}

// AddSignature appends to the signature of thinking block i while it is open.
func (b *Builder) AddSignature(i int, s string) {
	if s == "" || !b.IsOpen(i) || !b.Hold(len(s)) {
		return
	}
	if _, ok := b.msg.Content[i].(Thinking); ok {
		b.open[i].sign = append(b.open[i].sign, s...)
	}
}

// Redact turns thinking block i into a redacted one with the given encrypted data.
func (b *Builder) Redact(i int, data string) {
	if !b.Hold(len(data)) {
		return
	}
	b.open[i].sign = nil
	b.msg.Content[i] = Thinking{Signature: data, Redacted: true}
}

// Cite adds a citation to text block i.
func (b *Builder) Cite(i int, c Citation) {
	if !b.Hold(blockBytes + len(c.URL) + len(c.Title) + len(c.Text) + len(c.Raw)) {
		return
	}
	if t, ok := b.msg.Content[i].(Text); ok {
		t.Citations = append(t.Citations, c)
		b.msg.Content[i] = t
	}
}

// Name sets the id and name of tool call i if the provider sends them late. Empty values
// change nothing.
func (b *Builder) Name(i int, id, name string) {
	if c, ok := b.msg.Content[i].(ToolCall); ok && b.Hold(len(id)+len(name)) {
		if id != "" {
			c.ID = id
		}
		if name != "" {
			c.Name = name
		}
		b.msg.Content[i] = c
	}
}

// Spoil marks tool call i as one that must not run.
func (b *Builder) Spoil(i int, d Defect) {
	if c, ok := b.msg.Content[i].(ToolCall); ok && !b.done {
		c.Defect = d
		b.msg.Content[i] = c
	}
}

// SetArguments replaces the arguments of open tool call i with the provider's final text. If
// that extends the text so far, the rest is reported as a delta.
func (b *Builder) SetArguments(i int, args string) {
	if !b.IsOpen(i) {
		return
	}
	have := b.open[i].buf
	if len(args) >= len(have) && args[:len(have)] == string(have) {
		b.Delta(i, args[len(have):])
		return
	}
	if b.write(len(args)); !b.done {
		b.open[i].buf = append(have[:0], args...)
	}
}

// CloseBlock ends block i and queues its end event. Closing it again does nothing.
func (b *Builder) CloseBlock(i int) {
	if b.done || !b.IsOpen(i) {
		return
	}
	b.finish(i)
	t := EventTextEnd
	switch b.msg.Content[i].(type) {
	case Thinking:
		t = EventThinkingEnd
	case ToolCall:
		t = EventToolCallEnd
	}
	b.emit(Event{Type: t, Index: i, Block: b.msg.Content[i]})
}

// CloseAll ends all open blocks in order.
func (b *Builder) CloseAll() {
	for i := range b.open {
		b.CloseBlock(i)
	}
}

// finish moves the text of block i from its buffer into the block.
func (b *Builder) finish(i int) {
	o := &b.open[i]
	if len(o.rest) > 0 {
		o.buf = append(o.buf, "\uFFFD"...)
	}
	text := string(o.buf)
	switch c := b.msg.Content[i].(type) {
	case Text:
		c.Text = text
		b.msg.Content[i] = c
	case Thinking:
		c.Text = text
		if len(o.sign) > 0 {
			c.Signature += string(o.sign)
		}
		b.msg.Content[i] = c
	case ToolCall:
		c.Arguments = text
		b.msg.Content[i] = c
	}
	*o = openBlock{closed: true}
}

// Opaque adds a provider's item that arrived whole.
func (b *Builder) Opaque(kind string, raw json.RawMessage) int {
	b.Start()
	b.write(blockBytes)
	b.Hold(len(raw))
	i := len(b.msg.Content)
	block := Opaque{API: b.msg.API, Kind: kind, Raw: slices.Clone(raw)}
	b.msg.Content = append(b.msg.Content, block)
	b.open = append(b.open, openBlock{closed: true})
	b.emit(Event{Type: EventOpaque, Index: i, Block: block})
	return i
}

// Done ends the answer, after closing open blocks. After a length stop, the last tool call is
// marked as cut unless its arguments are a complete object. An answer with sound calls always
// stops for tool use, whatever the provider said; one that claims tool use without calls has
// simply ended.
func (b *Builder) Done(reason StopReason) {
	if b.done {
		return
	}
	b.Start()
	if reason == StopLength {
		b.markCut()
	}
	b.CloseAll()
	calls := false
	for _, block := range b.msg.Content {
		if c, ok := block.(ToolCall); ok && c.Defect == "" {
			calls = true
		}
	}
	switch {
	case calls && reason == StopEnd:
		reason = StopToolUse
	case !calls && reason == StopToolUse:
		reason = StopEnd
	}
	b.end(reason, nil)
}

func (b *Builder) markCut() {
	last := len(b.msg.Content) - 1
	for i, block := range b.msg.Content {
		c, ok := block.(ToolCall)
		if !ok || (i != last && !b.open[i].open) {
			continue
		}
		args := c.Arguments
		if b.open[i].open {
			args = string(b.open[i].buf)
		}
		if !isObject(args) {
			b.Spoil(i, DefectCut)
		}
	}
}

func isObject(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n")
	return strings.HasPrefix(s, "{") && json.Valid([]byte(s))
}

// Fail ends the answer with an error. What has arrived stays in the message. Blocks that are
// still open stay as they are, without an end event, and tool calls among them are marked as
// cut.
func (b *Builder) Fail(err *Error) {
	if b.done {
		return
	}
	for i := range b.open {
		if !b.open[i].open {
			continue
		}
		b.Spoil(i, DefectCut)
		b.finish(i)
	}
	if err.Provider == "" {
		named := *err // the caller may pass the same error to others
		named.Provider = b.msg.Provider
		err = &named
	}
	reason := StopError
	if err.Kind == ErrAborted {
		reason = StopAborted
	}
	b.end(reason, err)
}

func (b *Builder) end(reason StopReason, err *Error) {
	b.msg.StopReason = reason
	b.msg.Error = err
	if u := b.msg.Usage; u != nil {
		u.TotalTokens = u.Context()
	}
	final := b.msg
	t := EventDone
	if err != nil {
		t = EventError
	}
	b.emit(Event{Type: t, Message: &final})
	b.done = true
}

// emit queues an event, unless the terminal one was queued.
func (b *Builder) emit(ev Event) {
	if !b.done {
		b.queue = append(b.queue, ev)
	}
}
