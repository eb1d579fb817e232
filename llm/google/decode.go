package google

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// decoder turns the chunks of one answer into a message.
type decoder struct {
	req  *llm.Request
	ids  *callIDs
	fast textChunk

	cur      int  // the open text or thinking block, -1 for none
	thinking bool // what cur is

	responseID    string
	finish        string // the last finish reason
	finishMessage string
	blocked       *llm.Error
	grounding     *groundingMetadata // the latest; it is cumulative
	fetches       int
}

func newDecoder(req *llm.Request) *decoder { return &decoder{req: req, cur: -1} }

var done = []byte("[DONE]")

// Decode reports one chunk.
func (d *decoder) Decode(f wire.Frame, b *llm.Builder) error {
	if d.fast.parse(f.Data) {
		d.textChunk(b)
		return nil
	}
	data := bytes.TrimSpace(f.Data)
	if bytes.Equal(data, done) { // some hosts end like OpenAI's streams
		return nil
	}
	if len(data) > 0 && data[0] == '[' {
		return listError(data)
	}
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return malformed(err)
	}
	if present(r.Error) {
		return streamError(data)
	}
	return d.chunk(&r, b)
}

func malformed(err error) error {
	return &llm.Error{Kind: llm.ErrTransport, Message: "the stream holds something that is not the JSON of an answer", Err: err}
}

// textChunk reports a chunk that the fast path read.
func (d *decoder) textChunk(b *llm.Builder) {
	c := &d.fast
	if id := c.responseID; d.responseID != string(id) {
		d.responseID = string(id)
		b.SetResponseID(d.responseID)
	}
	b.Start()
	if c.hasText {
		d.text(b, string(c.text), c.thought)
	}
	if c.hasUsage {
		setUsage(b, &c.usage)
	}
}

func (d *decoder) chunk(r *response, b *llm.Builder) error {
	if r.ResponseID != "" && r.ResponseID != d.responseID {
		d.responseID = r.ResponseID
		b.SetResponseID(r.ResponseID)
	}
	b.Start()
	if r.UsageMetadata != nil {
		setUsage(b, r.UsageMetadata)
	}
	if f := r.PromptFeedback; f != nil && f.BlockReason != "" {
		d.blocked = blockedError(f)
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if c.Index != 0 { // further candidates are never asked for
			continue
		}
		if err := d.candidate(c, b); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) candidate(c *candidate, b *llm.Builder) error {
	if c.Content != nil {
		for _, raw := range c.Content.Parts {
			if err := d.part(raw, b); err != nil {
				return err
			}
		}
	}
	if c.GroundingMetadata != nil {
		d.grounding = c.GroundingMetadata
	}
	if c.URLContextMetadata != nil {
		d.fetches = len(c.URLContextMetadata.URLMetadata)
	}
	if c.FinishReason != "" && c.FinishReason != "FINISH_REASON_UNSPECIFIED" {
		d.finish, d.finishMessage = c.FinishReason, c.FinishMessage
	}
	return nil
}

func (d *decoder) part(raw json.RawMessage, b *llm.Builder) error {
	var p part
	if err := json.Unmarshal(raw, &p); err != nil {
		return malformed(err)
	}
	switch kind := p.opaque(); {
	case p.FunctionCall != nil:
		return d.call(&p, b)
	case kind != "":
		d.close(b)
		b.Opaque(kind, raw)
	case p.Text != nil:
		d.text(b, *p.Text, p.Thought)
		if p.ThoughtSignature != "" {
			d.sign(b, &p, raw)
		}
	case p.ThoughtSignature != "":
		d.sign(b, &p, raw)
	}
	return nil
}

// text adds to the open block of its kind, or opens one.
func (d *decoder) text(b *llm.Builder, s string, thinking bool) {
	if s == "" {
		return
	}
	if d.cur < 0 || d.thinking != thinking {
		d.close(b)
		d.thinking = thinking
		if thinking {
			d.cur = b.OpenThinking()
		} else {
			d.cur = b.OpenText()
		}
	}
	b.Delta(d.cur, s)
}

// sign gives the open block its signature. The block ends there, so that no
// unsigned part is ever merged with a signed one that came before it. A
// signature that comes alone, with no block of its kind open, is reasoning
// without words, or else kept as a part of its own.
func (d *decoder) sign(b *llm.Builder, p *part, raw json.RawMessage) {
	if d.cur >= 0 && d.thinking == p.Thought {
		b.Sign(d.cur, p.ThoughtSignature)
		d.close(b)
		return
	}
	d.close(b)
	if p.Thought {
		i := b.OpenThinking()
		b.Redact(i, p.ThoughtSignature)
		b.CloseBlock(i)
		return
	}
	b.Opaque(kindText, raw)
}

func (d *decoder) close(b *llm.Builder) {
	if d.cur >= 0 {
		b.CloseBlock(d.cur)
		d.cur = -1
	}
}

func (d *decoder) call(p *part, b *llm.Builder) error {
	d.close(b)
	if d.ids == nil {
		d.ids = newCallIDs(d.req.Messages)
	}
	c := p.FunctionCall
	args := []byte("{}")
	if present(c.Args) {
		// The white space is the provider's printer's, not the model's.
		var compact bytes.Buffer
		if err := json.Compact(&compact, c.Args); err != nil {
			return malformed(err)
		}
		args = compact.Bytes()
	}
	i := b.OpenToolCall(d.ids.take(c.ID, d.responseID, c.Name, args), c.Name)
	b.Sign(i, p.ThoughtSignature)
	b.Delta(i, string(args))
	b.CloseBlock(i)
	return nil
}

// End completes the answer if a finish reason was seen.
func (d *decoder) End(b *llm.Builder) {
	if d.blocked != nil {
		b.Fail(d.blocked)
		return
	}
	if d.finish == "" {
		return
	}
	d.cite(b)
	switch d.finish {
	case "STOP":
		b.Done(llm.StopEnd)
	case "MAX_TOKENS":
		// The provider turns what it has of a call into an object: a call that the
		// limit ended with looks whole and may lack arguments.
		if last := b.Len() - 1; last >= 0 {
			b.Spoil(last, llm.DefectCut)
		}
		b.Done(llm.StopLength)
	default:
		b.Fail(finishError(d.finish, d.finishMessage))
	}
}

// setUsage takes the counts of the latest chunk, which are totals.
func setUsage(b *llm.Builder, m *usageMetadata) {
	if *m == (usageMetadata{}) {
		return // Vertex names the type of traffic in every chunk and counts in the last
	}
	u := b.Usage()
	u.CacheRead = m.CachedContentTokenCount
	u.Input = max(0, m.PromptTokenCount-m.CachedContentTokenCount) + m.ToolUsePromptTokenCount
	u.Output = m.CandidatesTokenCount + m.ThoughtsTokenCount
	u.Reasoning = m.ThoughtsTokenCount
}

// cite adds the sources of a search to the text they support, and counts the
// searches: Gemini 3 is charged for each query, earlier models once.
func (d *decoder) cite(b *llm.Builder) {
	if d.fetches > 0 {
		b.Usage().WebFetches = d.fetches
	}
	g := d.grounding
	if g == nil {
		return
	}
	if n := len(g.WebSearchQueries); n > 0 {
		if d.req.Model != nil && generation(d.req.Model) < 3 {
			n = 1
		}
		b.Usage().WebSearches = n
	}
	supports := g.GroundingSupports
	if len(supports) == 0 && len(g.GroundingChunks) > 0 {
		// Sources without places: they belong to the whole answer.
		all := groundingSupport{}
		for i := range g.GroundingChunks {
			all.GroundingChunkIndices = append(all.GroundingChunkIndices, i)
		}
		supports = []groundingSupport{all}
	}
	for _, s := range supports {
		at := textWith(b, s.Segment.Text)
		for _, i := range s.GroundingChunkIndices {
			if at < 0 || i < 0 || i >= len(g.GroundingChunks) || g.GroundingChunks[i].Web == nil {
				continue
			}
			w := g.GroundingChunks[i].Web
			b.Cite(at, llm.Citation{URL: w.URI, Title: w.Title, Text: s.Segment.Text})
		}
	}
}

// textWith is the last text block that holds s, or the last of all: the part
// indexes of the provider count other parts than a stream shows.
func textWith(b *llm.Builder, s string) int {
	last := -1
	for i := b.Len() - 1; i >= 0; i-- {
		t, ok := b.Block(i).(llm.Text)
		if !ok {
			continue
		}
		if b.IsOpen(i) {
			t.Text = string(b.Written(i))
		}
		if strings.Contains(t.Text, s) {
			return i
		}
		last = max(last, i)
	}
	return last
}

// callIDs gives calls ids that are unique in their conversation.
type callIDs struct{ used map[string]bool }

func newCallIDs(history []llm.Message) *callIDs {
	c := &callIDs{used: map[string]bool{}}
	for i := range history {
		for _, call := range history[i].ToolCalls() {
			c.used[call.ID] = true
		}
	}
	return c
}

// take returns the provider's id, or one made from what the call is and where it
// stands: the same stream after the same history gives the same id.
func (c *callIDs) take(id, response, name string, args []byte) string {
	for n := len(c.used); id == "" || c.used[id]; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", n, response, name, args))
		id = "call_" + hex.EncodeToString(sum[:8])
	}
	c.used[id] = true
	return id
}
