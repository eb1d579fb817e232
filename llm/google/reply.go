package google

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// NewEncoder begins an answer: server-sent events, or one JSON object at the end.
func (Server) NewEncoder(w http.ResponseWriter, req *llm.Request, stream bool) wire.Encoder {
	r := &reply{w: w, stream: stream}
	if req != nil && req.Model != nil {
		r.version = req.Model.ID
	}
	return r
}

// reply writes one answer.
type reply struct {
	w       http.ResponseWriter
	stream  bool
	version string
	id      string
	begun   bool // the head of the answer is out
	spoiled bool // a call could not be sent

	next int         // the block that is being sent
	held []llm.Event // of blocks after it

	parts     []json.RawMessage // of a whole answer
	grounding groundingMetadata
}

var _ wire.Encoder = (*reply)(nil)

// Encode writes what ev adds. Parts have no index in the format, so the events
// of a block wait until the blocks before it have ended.
func (r *reply) Encode(ev llm.Event) error {
	switch ev.Type {
	case llm.EventStart:
		if ev.Message != nil {
			r.id = ev.Message.ResponseID
		}
		return r.begin()
	case llm.EventDone:
		if err := r.release(true); err != nil {
			return err
		}
		return r.done(ev.Message)
	case llm.EventError:
		if err := r.release(true); err != nil {
			return err
		}
		return r.fail(ev.Message)
	}
	if ev.Index > r.next {
		r.held = append(r.held, ev)
		return nil
	}
	if err := r.write(ev); err != nil {
		return err
	}
	return r.release(false)
}

// release writes held events whose turn has come, or all of them.
func (r *reply) release(all bool) error {
	for len(r.held) > 0 {
		i := slices.IndexFunc(r.held, func(ev llm.Event) bool { return ev.Index <= r.next })
		if i < 0 {
			if !all {
				return nil
			}
			r.next++ // the block before was cut
			continue
		}
		ev := r.held[i]
		r.held = slices.Delete(r.held, i, i+1)
		if err := r.write(ev); err != nil {
			return err
		}
	}
	return nil
}

func (r *reply) write(ev llm.Event) error {
	switch ev.Type {
	case llm.EventTextDelta:
		return r.delta(textPart(ev.Delta))
	case llm.EventThinkingDelta:
		p := textPart(ev.Delta)
		p.Thought = true
		return r.delta(p)
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd, llm.EventOpaque:
		r.next = max(r.next, ev.Index+1)
		return r.block(ev.Block)
	}
	return nil
}

func (r *reply) begin() error {
	if r.begun {
		return nil
	}
	r.begun = true
	if !r.stream {
		return nil
	}
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.WriteHeader(http.StatusOK)
	return http.NewResponseController(r.w).Flush()
}

// delta sends a piece. Whole answers take the block at its end instead.
func (r *reply) delta(p part) error {
	if !r.stream {
		return nil
	}
	return r.part(p.raw())
}

// block sends what only the end of a block tells: signatures, calls, citations.
// In a stream a signature follows the text on an empty part, as the provider's does.
func (r *reply) block(b llm.Block) error {
	switch b := b.(type) {
	case llm.Text:
		r.ground(b.Citations)
		return r.finishText(b.Text, b.Signature, false)
	case llm.Thinking:
		return r.finishText(b.Text, b.Signature, true)
	case llm.ToolCall:
		args, _, err := b.Object()
		if err != nil {
			r.spoiled = true // the format has calls whole or not at all
			return nil
		}
		return r.part(part{
			FunctionCall:     &functionCall{ID: b.ID, Name: b.Name, Args: args},
			ThoughtSignature: b.Signature,
		}.raw())
	case llm.Opaque:
		if b.API.Family() == llm.APIGoogle {
			return r.part(b.Raw)
		}
	}
	return nil
}

func (r *reply) finishText(text, signature string, thought bool) error {
	p := textPart(text)
	if r.stream {
		if signature == "" {
			return nil
		}
		p = textPart("")
	} else if text == "" && signature == "" {
		return nil
	}
	p.Thought, p.ThoughtSignature = thought, signature
	return r.part(p.raw())
}

// ground collects citations. Equal sources are named once.
func (r *reply) ground(citations []llm.Citation) {
	g := &r.grounding
	for _, c := range citations {
		chunk := webChunk{URI: c.URL, Title: c.Title}
		at := slices.IndexFunc(g.GroundingChunks, func(have groundingChunk) bool { return *have.Web == chunk })
		if at < 0 {
			at = len(g.GroundingChunks)
			g.GroundingChunks = append(g.GroundingChunks, groundingChunk{Web: &chunk})
		}
		last := len(g.GroundingSupports) - 1
		if last >= 0 && g.GroundingSupports[last].Segment.Text == c.Text {
			s := &g.GroundingSupports[last]
			s.GroundingChunkIndices = append(s.GroundingChunkIndices, at)
			continue
		}
		g.GroundingSupports = append(g.GroundingSupports, groundingSupport{
			Segment: segment{Text: c.Text}, GroundingChunkIndices: []int{at},
		})
	}
}

func (r *reply) part(raw json.RawMessage) error {
	if !r.stream {
		r.parts = append(r.parts, raw)
		return nil
	}
	return r.send(&response{Candidates: []candidate{{Content: &content{Role: roleModel, Parts: []json.RawMessage{raw}}}}})
}

func (r *reply) send(c *response) error {
	if err := r.begin(); err != nil {
		return err
	}
	c.ModelVersion, c.ResponseID = r.version, r.id
	data, err := wire.Marshal(c)
	if err != nil {
		return err
	}
	if !r.stream {
		r.w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		_, err = r.w.Write(data)
		return err
	}
	return r.event(data)
}

func (r *reply) event(data []byte) error {
	if err := wire.WriteSSE(r.w, "", data); err != nil {
		return err
	}
	return http.NewResponseController(r.w).Flush()
}

func (r *reply) done(m *llm.Message) error {
	reason := "STOP"
	switch {
	case m.StopReason == llm.StopLength:
		reason = "MAX_TOKENS"
	case r.spoiled:
		reason = "MALFORMED_FUNCTION_CALL"
	}
	return r.send(r.last(m, reason, ""))
}

// last is the chunk that ends an answer, or the whole of one.
func (r *reply) last(m *llm.Message, reason, message string) *response {
	if m.ResponseID != "" {
		r.id = m.ResponseID
	}
	c := candidate{FinishReason: reason, FinishMessage: message}
	c.Content = &content{Role: roleModel, Parts: r.parts}
	out := &response{}
	if u := m.Usage; u != nil {
		out.UsageMetadata = &usageMetadata{
			PromptTokenCount: u.Prompt(), CachedContentTokenCount: u.CacheRead,
			CandidatesTokenCount: u.Output - u.Reasoning, ThoughtsTokenCount: u.Reasoning,
			TotalTokenCount: u.Context(),
		}
		if u.WebSearches > 0 { // the queries are unknown here, their number is not
			r.grounding.WebSearchQueries = make([]string, u.WebSearches)
		}
	}
	if g := r.grounding; len(g.WebSearchQueries) > 0 || len(g.GroundingChunks) > 0 {
		c.GroundingMetadata = &g
	}
	out.Candidates = []candidate{c}
	return out
}

// fail ends an answer with an error: content that was filtered has its finish
// reasons, anything else becomes an error object in the stream.
func (r *reply) fail(m *llm.Message) error {
	e := m.Error
	if e == nil {
		e = &llm.Error{Kind: llm.ErrOverload}
	}
	if !r.begun || !r.stream && e.Kind != llm.ErrContentFilter {
		Server{}.EncodeError(r.w, e)
		return nil
	}
	if e.Kind == llm.ErrContentFilter {
		reason := e.Code
		if known, ok := finishKinds[reason]; !ok || known.kind != llm.ErrContentFilter {
			reason = "SAFETY"
		}
		return r.send(r.last(m, reason, e.Message))
	}
	_, body := errorAnswer(e)
	data, err := wire.Marshal(body)
	if err != nil {
		return err
	}
	return r.event(data)
}

// EncodeError answers with an error in the shape of google.rpc.Status.
func (Server) EncodeError(w http.ResponseWriter, e *llm.Error) {
	status, body := errorAnswer(e)
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if wait := retryAfter(e); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	w.WriteHeader(status)
	if data, err := wire.Marshal(body); err == nil {
		_, _ = w.Write(data) // the client is gone if this fails
	}
}

// retryAfter is how long to wait; the format has no words for a moment.
func retryAfter(e *llm.Error) time.Duration {
	if e.RetryAfter == 0 && !e.ResetAt.IsZero() {
		return max(0, time.Until(e.ResetAt))
	}
	return e.RetryAfter
}

// errorKinds gives each kind the status and words by which clients of the
// format, ours among them, know it again.
var errorKinds = map[llm.ErrorKind]struct {
	code         int
	status, text string
}{
	llm.ErrAuth:            {401, "UNAUTHENTICATED", "API key not valid. Please pass a valid API key."},
	llm.ErrRateLimit:       {429, "RESOURCE_EXHAUSTED", "Too many requests."},
	llm.ErrOverload:        {503, "UNAVAILABLE", "The model is overloaded. Please try again later."},
	llm.ErrUsageLimit:      {429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."},
	llm.ErrContextOverflow: {400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed."},
	llm.ErrInvalidRequest:  {400, "INVALID_ARGUMENT", "Request contains an invalid argument."},
	llm.ErrContentFilter:   {400, "PROHIBITED_CONTENT", "The content was refused."},
	llm.ErrTransport:       {502, "UNAVAILABLE", "The connection to the model failed."},
	llm.ErrStalled:         {504, "DEADLINE_EXCEEDED", "The model did not answer in time."},
	llm.ErrAborted:         {499, "CANCELLED", "The request was cancelled."},
}

func errorAnswer(e *llm.Error) (int, errorBody) {
	wait := retryAfter(e)
	k, ok := errorKinds[e.Kind]
	if !ok {
		k = errorKinds[llm.ErrOverload]
	}
	kindCode := k.code
	if e.Status >= 400 {
		k.code = e.Status
	}
	s := errorStatus{Code: k.code, Status: k.status, Message: e.Message}
	if s.Message == "" {
		s.Message = k.text
	}
	if wait > 0 {
		s.Details = append(s.Details, errorDetail{
			Type:       "type.googleapis.com/google.rpc.RetryInfo",
			RetryDelay: strconv.FormatFloat(wait.Seconds(), 'f', -1, 64) + "s",
		})
	}
	if e.Kind == llm.ErrUsageLimit {
		s.Details = append(s.Details, errorDetail{
			Type:       "type.googleapis.com/google.rpc.QuotaFailure",
			Violations: []quotaViolation{{QuotaID: "GenerateRequestsPerDay"}},
		})
	}
	// Where the provider's own status and words would be taken for another kind,
	// ours stand before them.
	if wire.Sort(s.Code, s.Status, s.Message).Kind != e.Kind {
		s.Code = kindCode
		if wire.Sort(s.Code, s.Status, s.Message).Kind != e.Kind {
			s.Message = k.text + " " + s.Message
		}
	}
	return s.Code, errorBody{Error: s}
}
