package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Target says what the recipient of a history accepts. A codec fills it in for the model of a
// request and passes it to [Legal].
type Target struct {
	API      API
	Provider string
	Model    string

	Images    bool // accepts images in user messages
	Documents bool // accepts documents in user messages
	// Audio says which types of recordings it accepts in user messages; nil: none.
	Audio func(mime string) bool
	// ToolImages and ToolDocuments say that the recipient accepts them inside tool results.
	// Otherwise, as recordings always, they are moved to a user message after the results.
	ToolImages    bool
	ToolDocuments bool

	// ForeignThinking says what to do with reasoning that another model wrote, or that lacks a
	// signature which the provider requires.
	ForeignThinking ThinkingPolicy
	// OwnThinking says what to do with the same model's reasoning.
	OwnThinking ThinkingPolicy
	// UnsignedThinking allows the model's own reasoning without a signature to be sent back
	// unchanged.
	UnsignedThinking bool

	// CallID maps a tool call id to one that the provider accepts; nil keeps it. Ids that
	// collide after mapping are made unique.
	CallID func(id string) string
	// SystemInline says that system messages inside the conversation are accepted; otherwise
	// they become user text.
	SystemInline bool
}

// ThinkingPolicy says what to do with reasoning in a history.
type ThinkingPolicy uint8

const (
	KeepThinking   ThinkingPolicy = iota // return it unchanged
	DropThinking                         // omit it
	ThinkingAsText                       // return it as text within <thinking> tags
)

// Placeholders for what is missing.
const (
	interruptedResult = "The call was interrupted before it produced a result."
	cutResult         = "The call did not run: its arguments were cut off or damaged on the way. Send it again if it is still needed."
	imageOmitted      = "[An image was here. This model does not read images.]"
	documentOmitted   = "[A document was here: %s. This model does not read such files.]"
	recordingOmitted  = "[A recording was here: %s. This model does not hear it.]"
	emptyResult       = "(no output)"
	continuePrompt    = "Continue."
)

// Legal turns any history into one that the target accepts. It changes as little as possible,
// and never the messages it gets. It guarantees for its result:
//
//   - The first message that is not a system message is a user message, and
//     there is at least one.
//   - Each tool result answers a call of the assistant message before it. Every
//     call is answered, in the order of the calls, before anything else is said;
//     results that answer nothing become user text.
//   - Calls have distinct non-empty ids and names, and arguments that are a JSON
//     object. A call that was cut or damaged is kept with {} as its arguments
//     and a result that says it did not run.
//   - No block is empty, all text is valid UTF-8, no message is without content.
//   - Roles are system (only if SystemInline), user, assistant and tool result.
//     Users and assistants may still follow each other twice; codecs whose provider
//     requires strict alternation merge them with [Merge].
//   - Opaque items and signatures of other APIs are gone.
//
// An answer that failed or was aborted is kept if it contains text or calls. The result shares
// blocks with the input.
func Legal(history []Message, t Target) []Message {
	h := historian{t: t, ids: map[string][]string{}, used: map[string]bool{}}
	for i := range history {
		h.add(&history[i])
	}
	h.settle()
	first := 0
	for first < len(h.out) && h.out[first].Role == RoleSystem {
		first++
	}
	if first == len(h.out) || h.out[first].Role == RoleAssistant {
		h.out = slices.Insert(h.out, first, UserText(continuePrompt))
	}
	return h.out
}

type historian struct {
	t       Target
	out     []Message
	pending []ToolCall          // calls of the last assistant message, with mapped ids
	answers map[string]int      // mapped call id -> index in results
	results []Message           // answers so far to pending
	after   []Block             // content of the results that must follow in a user message
	later   []Message           // what was said while the tools ran; it comes last
	ids     map[string][]string // original id of the pending calls -> mapped ids, in order; several if a provider used one id twice
	used    map[string]bool     // all mapped ids
}

func (h *historian) add(m *Message) {
	switch m.Role {
	case RoleToolResult:
		h.result(m)
		return
	case RoleAssistant:
		h.settle()
		h.assistant(m)
		return
	}
	content := h.input(m.Content)
	if len(content) == 0 {
		return
	}
	said := Message{Role: RoleUser, Content: content, Time: m.Time}
	if m.Role == RoleSystem && h.t.SystemInline && onlyText(content) {
		said.Role = RoleSystem
	}
	if len(h.pending) > 0 {
		h.later = append(h.later, said)
		return
	}
	h.out = append(h.out, said)
}

// onlyText reports whether blocks contain only text. No provider accepts anything else in a
// system message.
func onlyText(blocks []Block) bool {
	for _, b := range blocks {
		if _, ok := b.(Text); !ok {
			return false
		}
	}
	return true
}

// input cleans the content of a message that the model reads.
func (h *historian) input(blocks []Block) []Block {
	var out []Block
	for _, b := range blocks {
		switch b := b.(type) {
		case Text:
			if s := clean(b.Text); strings.TrimSpace(s) != "" {
				out = append(out, Text{Text: s})
			}
		case Image:
			if h.t.Images && (len(b.Data) > 0 || b.URL != "") {
				out = append(out, b)
			} else {
				out = append(out, Text{Text: imageOmitted})
			}
		case Document:
			out = append(out, h.document(b))
		case Thinking:
			if s := clean(b.Text); strings.TrimSpace(s) != "" {
				out = append(out, Text{Text: s})
			}
		}
	}
	return out
}

// takes reports whether the recipient accepts a document itself.
func (h *historian) takes(d Document) bool {
	if d.Audio() {
		return h.t.Audio != nil && h.t.Audio(d.MIME) && len(d.Data) > 0
	}
	return h.t.Documents && (len(d.Data) > 0 || d.URL != "")
}

func (h *historian) document(d Document) Block {
	if h.takes(d) {
		return d
	}
	return inWords(d)
}

// inWords is what stands for a document where it can't be sent.
func inWords(d Document) Block {
	name := d.Name
	if name == "" {
		name = d.MIME
	}
	if s := clean(d.Text); strings.TrimSpace(s) != "" {
		return Text{Text: fmt.Sprintf("<document name=%q>\n%s\n</document>", name, s)}
	}
	if d.Audio() {
		return Text{Text: fmt.Sprintf(recordingOmitted, name)}
	}
	return Text{Text: fmt.Sprintf(documentOmitted, name)}
}

func (h *historian) assistant(m *Message) {
	own := m.API.Family() == h.t.API.Family() && m.Provider == h.t.Provider && m.Model == h.t.Model
	sameAPI := m.API.Family() == h.t.API.Family()
	out := *m
	out.Content = nil
	out.Usage, out.Error = nil, nil
	h.ids, h.answers = map[string][]string{}, map[string]int{}
	for _, b := range m.Content {
		switch b := b.(type) {
		case Text:
			b.Text = clean(b.Text)
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			if !own {
				b.Signature = ""
			}
			if !sameAPI {
				b.Citations = nil
			}
			out.Content = append(out.Content, b)
		case Thinking:
			if t := h.thinking(b, own); t != nil {
				out.Content = append(out.Content, t)
			}
		case ToolCall:
			out.Content = append(out.Content, h.call(b, own))
		case Opaque:
			if sameAPI && b.API.Family() == h.t.API.Family() && m.Error == nil {
				out.Content = append(out.Content, b)
			}
		case Image:
			out.Content = append(out.Content, Text{Text: "[The assistant produced an image here.]"})
		case Document:
			out.Content = append(out.Content, inWords(b))
		}
	}
	if !substantial(out.Content) {
		h.pending = nil
		return
	}
	h.out = append(h.out, out)
}

// substantial reports whether an answer contains more than reasoning. Providers refuse an
// assistant message that consists only of reasoning.
func substantial(blocks []Block) bool {
	for _, b := range blocks {
		if _, only := b.(Thinking); !only {
			return true
		}
	}
	return false
}

func (h *historian) thinking(b Thinking, own bool) Block {
	policy := h.t.ForeignThinking
	if own {
		policy = h.t.OwnThinking
		if policy == KeepThinking && b.Signature == "" && !h.t.UnsignedThinking {
			policy = h.t.ForeignThinking
		}
	} else if policy == KeepThinking {
		b.Signature = ""
		if b.Redacted {
			return nil
		}
	}
	b.Text = clean(b.Text)
	empty := strings.TrimSpace(b.Text) == ""
	switch policy {
	case KeepThinking:
		if empty && b.Signature == "" {
			return nil
		}
		return b
	case ThinkingAsText:
		if !empty {
			return Text{Text: "<thinking>\n" + b.Text + "\n</thinking>"}
		}
	}
	return nil
}

func (h *historian) call(c ToolCall, own bool) ToolCall {
	id := c.ID
	if h.t.CallID != nil {
		id = h.t.CallID(id)
	}
	if id == "" || h.used[id] {
		id = h.fresh(c.ID)
	}
	h.used[id] = true
	h.ids[c.ID] = append(h.ids[c.ID], id)
	c.ID = id
	c.Name = cleanName(c.Name)
	if !own {
		c.Signature = ""
	}
	args, _, err := c.Object()
	if err != nil {
		args = []byte("{}")
		if c.Defect == "" {
			c.Defect = DefectCorrupt
		}
	} else if strings.TrimSpace(c.Arguments) == "" || string(args) != strings.TrimSpace(c.Arguments) {
		c.Arguments = string(args)
	}
	if err != nil {
		c.Arguments = string(args)
	}
	c.Arguments = clean(c.Arguments)
	h.pending = append(h.pending, c)
	return c
}

// fresh returns an id that no call has. It is the same each time the same history is made
// legal, so that a cached prefix stays valid.
func (h *historian) fresh(id string) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d#%d", id, len(h.used), n))
		next := "call" + hex.EncodeToString(sum[:])[:16]
		if h.t.CallID != nil {
			next = h.t.CallID(next)
		}
		if !h.used[next] && next != "" {
			return next
		}
	}
}

func (h *historian) result(m *Message) {
	open := h.ids[m.ToolCallID]
	if len(open) == 0 || len(h.pending) == 0 {
		h.stray(m)
		return
	}
	id := open[0]
	h.ids[m.ToolCallID] = open[1:]
	r := Message{Role: RoleToolResult, ToolCallID: id, ToolName: cleanName(m.ToolName), IsError: m.IsError, Time: m.Time}
	at := len(h.results) // results usually come in the order of the calls
	if at >= len(h.pending) || h.pending[at].ID != id {
		at = slices.IndexFunc(h.pending, func(c ToolCall) bool { return c.ID == id })
	}
	if at >= 0 {
		r.ToolName = h.pending[at].Name
	}
	for _, b := range m.Content {
		switch b := b.(type) {
		case Image:
			if h.t.Images && !h.t.ToolImages && (len(b.Data) > 0 || b.URL != "") {
				h.after = append(h.after, b)
				r.Content = append(r.Content, Text{Text: "[The image follows the tool results.]"})
				continue
			}
		case Document:
			if h.takes(b) && (b.Audio() || !h.t.ToolDocuments) {
				h.after = append(h.after, b)
				r.Content = append(r.Content, Text{Text: "[The document follows the tool results.]"})
				continue
			}
		}
		r.Content = append(r.Content, h.input([]Block{b})...)
	}
	if len(r.Content) == 0 {
		r.Content = []Block{Text{Text: emptyResult}}
	}
	h.answers[id] = len(h.results)
	h.results = append(h.results, r)
}

// stray keeps the text of a result that answers no call.
func (h *historian) stray(m *Message) {
	content := h.input(m.Content)
	if len(content) == 0 {
		return
	}
	name := m.ToolName
	if name == "" {
		name = "a tool"
	}
	intro := Text{Text: "[Result of an earlier call of " + clean(name) + ":]"}
	content = append([]Block{intro}, content...)
	if len(h.pending) > 0 {
		h.after = append(h.after, content...)
		return
	}
	h.out = append(h.out, Message{Role: RoleUser, Content: content, Time: m.Time})
}

// settle answers all pending calls, in order, and appends what must follow the results.
func (h *historian) settle() {
	for _, c := range h.pending {
		if i, ok := h.answers[c.ID]; ok {
			h.out = append(h.out, h.results[i])
			continue
		}
		text := interruptedResult
		if c.Defect != "" {
			text = cutResult
		}
		h.out = append(h.out, ToolResultText(c, text, true))
	}
	if len(h.after) > 0 {
		h.out = append(h.out, Message{Role: RoleUser, Content: h.after})
	}
	h.out = append(h.out, h.later...)
	h.pending, h.results, h.after, h.later, h.answers = nil, nil, nil, nil, nil
}

// Merge joins neighboring user messages, and neighboring assistant messages, for providers
// that require strict alternation. Tool results stay separate messages.
func Merge(history []Message) []Message {
	var out []Message
	for _, m := range history {
		if n := len(out); n > 0 && out[n-1].Role == m.Role && (m.Role == RoleUser || m.Role == RoleAssistant) {
			out[n-1].Content = append(out[n-1].Content[:len(out[n-1].Content):len(out[n-1].Content)], m.Content...)
			continue
		}
		out = append(out, m)
	}
	return out
}

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cleanName returns a tool name that every provider accepts: letters, digits, '_' and '-', at
// most 64 characters, never empty.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "unknown_tool"
	}
	return s[:min(len(s), 64)]
}
