package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// The pieces that events add to items: arguments, text, citations, reasoning.

// respSignature is what identifies a message item; ids that our own server half
// made up identify nothing.
func respSignature(item *respItem) respTextID {
	if strings.HasPrefix(item.ID, "msg_"+respMade) {
		return respTextID{Phase: item.Phase}
	}
	return respTextID{ID: item.ID, Phase: item.Phase}
}

// open begins the block of a call.
func (d *respDecoder) open(it *respOpen, item *respItem, b *llm.Builder) {
	id := respJoinID(item.CallID, item.ID)
	if item.CallID == "" {
		id = respJoinID(respNewID(), item.ID) // outputs must have something to answer
	}
	it.block = b.OpenToolCall(id, item.Name)
}

// call is the block of a call, begun if need be.
func (d *respDecoder) call(it *respOpen, b *llm.Builder) int {
	if it.block < 0 {
		d.open(it, &respItem{ID: it.id}, b)
	}
	return it.block
}

// arguments states all arguments of a call at once.
func (d *respDecoder) arguments(it *respOpen, args string, b *llm.Builder) {
	block := d.call(it, b)
	if args != "" {
		b.SetArguments(block, args)
		it.empty = false
	}
}

// respArguments are arguments as text, whether a server wrote them as a string
// or as the object itself.
func respArguments(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if bytes.HasPrefix(raw, []byte("{")) {
		return string(raw)
	}
	return ""
}

// The input of a custom tool is plain text. It becomes the arguments object
// {"input": text}, also while it streams.
const (
	respInputHead = `{"input":"`
	respInputTail = `"}`
)

func respCustomArguments(input string) string {
	out := respAppendText([]byte(respInputHead), input)
	return string(append(out, respInputTail...))
}

func (d *respDecoder) input(it *respOpen, delta string, b *llm.Builder) {
	block := d.call(it, b)
	if delta == "" {
		return
	}
	if it.empty {
		it.empty = false
		b.Delta(block, respInputHead)
	}
	b.Delta(block, string(respAppendText(nil, delta)))
}

// textBlock is the block of one part of a message, begun if need be.
func (d *respDecoder) textBlock(it *respOpen, part int, b *llm.Builder) *respText {
	for i := len(it.texts) - 1; i >= 0; i-- {
		if it.texts[i].part == part {
			return &it.texts[i]
		}
	}
	// The part before is complete.
	if n := len(it.texts); n > 0 {
		b.CloseBlock(it.texts[n-1].block)
	}
	block := b.OpenText()
	b.Sign(block, it.sig.signature())
	it.texts = append(it.texts, respText{part: part, block: block})
	return &it.texts[len(it.texts)-1]
}

func (d *respDecoder) text(it *respOpen, part int, delta string, b *llm.Builder) {
	if delta != "" {
		b.Delta(d.textBlock(it, part, b).block, delta)
	}
}

// wholeText adds the text of a part that its deltas did not have.
func (d *respDecoder) wholeText(it *respOpen, part int, text string, b *llm.Builder) {
	if text != "" {
		respComplete(d.textBlock(it, part, b).block, text, b)
	}
}

// wholePart is wholeText for a part with its annotations.
func (d *respDecoder) wholePart(it *respOpen, part int, p *respPart, b *llm.Builder) {
	d.wholeText(it, part, p.text(), b)
	if p.Annotations == nil || len(*p.Annotations) == 0 {
		return
	}
	t := d.textBlock(it, part, b)
	for _, raw := range (*p.Annotations)[min(t.cites, len(*p.Annotations)):] {
		d.cite(t, raw, b)
	}
}

func (d *respDecoder) cite(t *respText, raw json.RawMessage, b *llm.Builder) {
	if len(raw) == 0 {
		return
	}
	t.cites++
	b.Cite(t.block, respCitation(bytes.Clone(raw)))
}

// respComplete adds the rest of text to a block that holds its beginning.
func respComplete(block int, text string, b *llm.Builder) {
	if !b.IsOpen(block) {
		return
	}
	if written := b.Written(block); len(text) > len(written) && text[:len(written)] == string(written) {
		b.Delta(block, text[len(written):])
	}
}

// reason adds to reasoning; parts are separated by a blank line.
func (d *respDecoder) reason(it *respOpen, part int, delta string, b *llm.Builder) {
	if delta == "" {
		return
	}
	if it.wrote && part != it.part {
		b.Delta(it.block, "\n\n")
	}
	it.part, it.wrote = part, true
	b.Delta(it.block, delta)
}
