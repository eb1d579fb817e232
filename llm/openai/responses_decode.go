package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// respDecoder turns the events of one answer into a message.
//
// Servers other than OpenAI leave out indexes, ids, deltas or whole events, and
// some give one item a new id in each event. So the index finds an item if there
// is one, then the id, then the order of things; and what an item says when it
// is done completes whatever came before.
type respDecoder struct {
	items    []respOpen
	event    respEvent
	leaky    bool // the model is known to leak control text into arguments
	searches int
}

// respOpen is an item of the answer on its way.
type respOpen struct {
	index int // output_index, or -1
	id    string
	kind  respKind
	block int        // of reasoning and calls; -1 before it is open
	texts []respText // of a message
	part  int        // reasoning: where the last delta belongs
	wrote bool       // reasoning: something was written
	sig   respTextID // of a message
	done  bool
	empty bool // a custom call: its input has not begun
}

// respText is one piece of a message's content.
type respText struct {
	part, block, cites int
}

type respKind uint8

const (
	respKindMessage respKind = iota
	respKindReasoning
	respKindCall
	respKindCustom
	respKindOther // kept as it is once it is done
)

func respKindOf(itemType string) respKind {
	switch itemType {
	case "message":
		return respKindMessage
	case "reasoning":
		return respKindReasoning
	case "function_call":
		return respKindCall
	case "custom_tool_call":
		return respKindCustom
	}
	return respKindOther
}

func newRespDecoder(m *llm.Model) *respDecoder {
	return &respDecoder{leaky: leaksHarmony(m.ID) || leaksHarmony(m.Upstream())}
}

// respLenient is json.Unmarshal that leaves fields of an unexpected type empty.
func respLenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var mistyped *json.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return nil
	}
	return err
}

// Decode reports what one event tells.
func (d *respDecoder) Decode(f wire.Frame, b *llm.Builder) error {
	if len(f.Data) == 0 || string(f.Data) == "[DONE]" {
		return nil
	}
	if d.fast(f.Data, b) {
		return nil
	}
	d.event = respEvent{}
	ev := &d.event
	if err := respLenient(f.Data, ev); err != nil {
		return &llm.Error{Kind: llm.ErrTransport, Message: "the server sent an event that is not valid JSON", Err: err}
	}
	if ev.Type == "" {
		ev.Type = string(f.Event)
	}
	if ev.Type == "error" || ev.Type == "" && bytes.HasPrefix(ev.Error, []byte("{")) {
		return respEventError(f.Data)
	}
	return d.step(ev, b)
}

// respEventError reads an error event: code and message stand in it or in an
// error object of its own.
func respEventError(data []byte) *llm.Error {
	var nested struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &nested) == nil && bytes.HasPrefix(nested.Error, []byte("{")) {
		return respErrorOf(nested.Error)
	}
	return respErrorOf(data)
}

func (d *respDecoder) step(ev *respEvent, b *llm.Builder) error {
	switch ev.Type {
	case "response.created", "response.in_progress", "response.queued":
		if r := ev.Response; r != nil {
			b.SetResponseID(r.ID)
			b.SetModel(r.Model)
		}
		b.Start()
	case "response.output_item.added":
		d.added(ev, b)
	case "response.output_item.done":
		d.finish(ev.Item, ev.OutputIndex, b)
	case "response.output_text.delta", "response.refusal.delta":
		d.text(d.item(ev, respKindMessage, b), ev.ContentIndex, ev.Delta, b)
	case "response.output_text.done":
		d.wholeText(d.item(ev, respKindMessage, b), ev.ContentIndex, ev.Text, b)
	case "response.refusal.done":
		d.wholeText(d.item(ev, respKindMessage, b), ev.ContentIndex, ev.Refusal, b)
	case "response.content_part.done":
		if ev.Part.Type == "output_text" || ev.Part.Type == "refusal" {
			d.wholePart(d.item(ev, respKindMessage, b), ev.ContentIndex, &ev.Part, b)
		}
	case "response.output_text.annotation.added":
		it := d.item(ev, respKindMessage, b)
		d.cite(d.textBlock(it, ev.ContentIndex, b), ev.Annotation, b)
	case "response.reasoning_summary_text.delta", "response.reasoning_summary.delta":
		d.reason(d.item(ev, respKindReasoning, b), ev.SummaryIndex, ev.Delta, b)
	case "response.reasoning_text.delta", "response.reasoning.delta":
		d.reason(d.item(ev, respKindReasoning, b), ev.ContentIndex, ev.Delta, b)
	case "response.function_call_arguments.delta":
		b.Delta(d.call(d.item(ev, respKindCall, b), b), ev.Delta)
	case "response.function_call_arguments.done":
		it := d.item(ev, respKindCall, b)
		d.arguments(it, respArguments(ev.Arguments), b)
		b.Name(it.block, "", ev.Name)
	case "response.custom_tool_call_input.delta":
		d.input(d.item(ev, respKindCustom, b), ev.Delta, b)
	case "response.custom_tool_call_input.done":
		d.arguments(d.item(ev, respKindCustom, b), respCustomArguments(ev.Input), b)
	case "response.completed", "response.done", "response.incomplete", "response.failed", "response.cancelled":
		return d.end(ev, b)
	}
	return nil
}

// item finds the item an event is about, or makes it up where the server did
// not announce it.
func (d *respDecoder) item(ev *respEvent, kind respKind, b *llm.Builder) *respOpen {
	index := -1
	if ev.OutputIndex != nil {
		index = *ev.OutputIndex
	}
	if it := d.find(index, ev.ItemID, kind); it != nil {
		return it
	}
	if it := d.past(ev.ItemID, kind); it != nil {
		return it
	}
	return d.begin(respOpen{index: index, id: ev.ItemID, kind: kind}, b)
}

// find looks from the newest item back.
func (d *respDecoder) find(index int, id string, kind respKind) *respOpen {
	for i := len(d.items) - 1; i >= 0; i-- {
		it := &d.items[i]
		if it.kind != kind || it.done {
			continue
		}
		switch {
		case index >= 0 && it.index >= 0:
			if it.index == index {
				return it
			}
		case id != "" && it.id != "":
			if it.id == id {
				return it
			}
		default:
			return it
		}
	}
	return nil
}

// past finds an item that is done. Its blocks are closed, so what comes late or
// twice changes nothing.
func (d *respDecoder) past(id string, kind respKind) *respOpen {
	for i := range d.items {
		if it := &d.items[i]; id != "" && it.id == id && it.kind == kind {
			return it
		}
	}
	return nil
}

// respItemBytes is about what an item costs the decoder, in bytes.
const respItemBytes = 1 << 10

func (d *respDecoder) begin(it respOpen, b *llm.Builder) *respOpen {
	it.block = -1
	it.empty = true
	b.Hold(respItemBytes)
	d.items = append(d.items, it)
	begun := &d.items[len(d.items)-1]
	if begun.kind == respKindReasoning {
		begun.block = b.OpenThinking()
	}
	return begun
}

func (d *respDecoder) added(ev *respEvent, b *llm.Builder) {
	var item respItem
	if respLenient(ev.Item, &item) != nil {
		return // an item that says nothing is made up when it is needed
	}
	index := -1
	if ev.OutputIndex != nil {
		index = *ev.OutputIndex
	}
	it := d.begin(respOpen{index: index, id: item.ID, kind: respKindOf(item.Type), sig: respSignature(&item)}, b)
	if it.kind == respKindCall || it.kind == respKindCustom {
		d.open(it, &item, b)
	}
}

// finish completes an item with its final form.
func (d *respDecoder) finish(raw json.RawMessage, outputIndex *int, b *llm.Builder) {
	var item respItem
	if respLenient(raw, &item) != nil {
		return
	}
	index, kind := -1, respKindOf(item.Type)
	if outputIndex != nil {
		index = *outputIndex
	}
	it := d.find(index, item.ID, kind)
	if it == nil {
		if d.past(item.ID, kind) != nil {
			return
		}
		it = d.begin(respOpen{index: index, id: item.ID, kind: kind, sig: respSignature(&item)}, b)
	}
	it.done = true
	switch kind {
	case respKindMessage:
		it.sig = respSignature(&item)
		parts := item.parts(item.Content)
		for n := range parts {
			d.wholePart(it, n, &parts[n], b)
		}
		d.closeMessage(it, b)
	case respKindReasoning:
		respComplete(it.block, respSummary(&item), b)
		b.Sign(it.block, respReasoningSignature(&item, raw))
		b.CloseBlock(it.block)
	case respKindCall:
		d.finishCall(it, &item, respArguments(item.Arguments), b)
	case respKindCustom:
		d.finishCall(it, &item, respCustomArguments(item.Input), b)
	default:
		if item.Type == "web_search_call" && (item.Action.Type == "search" || item.Action.Type == "") {
			d.searches++ // opening and searching within a page is not charged
		}
		if item.Type != "" {
			b.Opaque(item.Type, raw)
		}
	}
}

func (d *respDecoder) closeMessage(it *respOpen, b *llm.Builder) {
	for _, t := range it.texts {
		b.Sign(t.block, it.sig.signature())
		b.CloseBlock(t.block)
	}
}

func (d *respDecoder) finishCall(it *respOpen, item *respItem, args string, b *llm.Builder) {
	if it.block < 0 {
		d.open(it, item, b)
	}
	if item.CallID != "" {
		b.Name(it.block, respJoinID(item.CallID, item.ID), "")
	}
	b.Name(it.block, "", item.Name)
	if it.kind == respKindCustom && item.Input == "" && !it.empty {
		respCloseInput(it, b) // only deltas had the input
	} else if args != "" {
		b.SetArguments(it.block, args)
	}
	if item.Status == "incomplete" {
		b.Spoil(it.block, llm.DefectCut)
	}
	d.inspect(it, b)
	b.CloseBlock(it.block)
}

// respCloseInput ends the arguments of a custom call whose input came in deltas.
func respCloseInput(it *respOpen, b *llm.Builder) {
	if b.IsOpen(it.block) && !json.Valid(b.Written(it.block)) {
		b.Delta(it.block, respInputTail)
	}
}

// inspect looks for leaked control text in a call that is complete: it must not
// run then.
func (d *respDecoder) inspect(it *respOpen, b *llm.Builder) {
	if d.leaky {
		spoilLeak(it.block, b)
	}
}

// end is the last event of the answer.
func (d *respDecoder) end(ev *respEvent, b *llm.Builder) error {
	r := ev.Response
	if r == nil {
		r = &respResponse{Status: strings.TrimPrefix(ev.Type, "response.")}
	}
	if r.ID != "" {
		b.SetResponseID(r.ID)
	}
	b.SetModel(r.Model)
	d.output(r, b)
	for i := range d.items {
		it := &d.items[i]
		if it.done || it.kind != respKindCall && it.kind != respKindCustom {
			continue
		}
		if it.kind == respKindCustom && ev.Type == "response.completed" {
			respCloseInput(it, b)
		}
		d.inspect(it, b)
	}
	if r.Usage != nil || d.searches > 0 {
		respCount(b.Usage(), r.Usage)
		b.Usage().WebSearches = d.searches
	}
	switch {
	case ev.Type == "response.failed" || r.Status == "failed":
		return respErrorOf(r.Error)
	case ev.Type == "response.cancelled" || r.Status == "cancelled":
		return &llm.Error{Kind: llm.ErrOverload, Message: "the server cancelled the response"}
	case r.Incomplete.Reason == "content_filter":
		return &llm.Error{Kind: llm.ErrContentFilter, Code: "content_filter", Message: "the vendor's content filter stopped the answer"}
	case ev.Type == "response.incomplete" || r.Status == "incomplete":
		// Whatever other limit there was: the answer is not whole.
		b.Done(llm.StopLength)
	default:
		b.Done(llm.StopEnd)
	}
	return nil
}

// output takes from the final response what its events did not tell: all of it
// where there were none, the items that no event finished, and the encrypted
// form of reasoning, which Azure may give only here.
func (d *respDecoder) output(r *respResponse, b *llm.Builder) {
	if len(d.items) == 0 {
		for i, raw := range r.Output {
			d.finish(raw, &i, b)
		}
		return
	}
	for i, raw := range r.Output {
		var item respItem
		if respLenient(raw, &item) == nil && d.find(i, item.ID, respKindOf(item.Type)) != nil {
			d.finish(raw, &i, b)
		}
		if i >= len(d.items) || !bytes.Contains(raw, []byte(`"encrypted_content"`)) {
			continue
		}
		it := &d.items[i]
		if it.kind != respKindReasoning || it.block < 0 {
			continue
		}
		t, ok := b.Block(it.block).(llm.Thinking)
		if ok && !respSealed(t.Signature) && respSealed(string(raw)) {
			b.Sign(it.block, string(raw))
		}
	}
}

func respCount(u *llm.Usage, r *respUsage) {
	if r == nil {
		return
	}
	u.CacheRead, u.CacheWrite = r.InputDetails.Cached, r.InputDetails.Written
	u.Input = max(0, r.InputTokens-u.CacheRead-u.CacheWrite)
	u.Output, u.Reasoning = r.OutputTokens, r.OutputDetails.Reasoning
}

// End is called when the connection ended without a final event: the answer is
// not complete.
func (d *respDecoder) End(*llm.Builder) {}
