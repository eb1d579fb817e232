package conformance

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/llm"
)

// testRandomHistories makes histories that nobody would think of. Whatever they
// hold, the request is legal, nothing that was said is lost, and nothing of
// another provider's own gets out.
func (s historyChecks) testRandomHistories(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(rt *rapid.T) {
		g := generator{s: s.rig, rt: rt}
		h := g.history()
		req, body, err := s.encodes(ctx, s.model(), h.messages)
		if err != nil {
			rt.Fatal(err)
		}
		if err := s.checkHistory(h, req, body); err != nil {
			rt.Fatalf("%v\n%s", err, body)
		}
	})
}

// generator makes one random history. Every text holds a mark, so that what got
// lost or out can be told from the body.
type generator struct {
	s  rig
	rt *rapid.T
	h  history
	n  int // marks so far
}

func (g *generator) history() history {
	for range rapid.IntRange(0, 8).Draw(g.rt, "messages") {
		g.h.messages = append(g.h.messages, g.message())
	}
	return g.h
}

func (g *generator) mark(kind string) string {
	g.n++
	return fmt.Sprintf("%s-%d-end", kind, g.n)
}

// keep makes a text that must reach the provider.
func (g *generator) keep(kind string) string {
	m := g.mark(kind)
	g.h.kept = append(g.h.kept, m)
	noise := rapid.SampledFrom([]string{"", "", " ", "\n", "🦊", "\xff", "\u2028", "<a&b>", "\"\\"})
	return noise.Draw(g.rt, "before") + m + noise.Draw(g.rt, "after")
}

// lose makes a text that must not.
func (g *generator) lose(kind string) string {
	m := g.mark(kind)
	g.h.gone = append(g.h.gone, m)
	return m
}

var randomIDs = rapid.SampledFrom([]string{"call_a", "call_b", "call_c", "call_a|fc_a", "call_a|fc_b", "x+y/z=", "", "with space", "\xff", "toolu_" + fmt.Sprintf("%0200d", 7)})

func (g *generator) message() llm.Message {
	switch rapid.SampledFrom([]llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleAssistant, llm.RoleToolResult, llm.RoleToolResult, llm.RoleSystem, llm.RoleCustom}).Draw(g.rt, "role") {
	case llm.RoleAssistant:
		return g.assistant()
	case llm.RoleToolResult:
		return llm.Message{
			Role: llm.RoleToolResult, ToolCallID: randomIDs.Draw(g.rt, "id"), ToolName: rapid.SampledFrom([]string{"read", "", "odd name"}).Draw(g.rt, "name"),
			IsError: rapid.Bool().Draw(g.rt, "failed"), Content: g.input(),
		}
	case llm.RoleSystem:
		return llm.Message{Role: llm.RoleSystem, Content: g.input()}
	case llm.RoleCustom:
		return llm.Message{Role: llm.RoleCustom, CustomType: "note", Content: g.input()}
	}
	return llm.Message{Role: llm.RoleUser, Content: g.input()}
}

// input is the content of a message that the model reads.
func (g *generator) input() []llm.Block {
	var out []llm.Block
	for range rapid.IntRange(0, 3).Draw(g.rt, "blocks") {
		switch rapid.IntRange(0, 5).Draw(g.rt, "kind") {
		case 0:
			out = append(out, llm.Text{Text: rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(g.rt, "blank")})
		case 1:
			out = append(out, llm.Image{MIME: "image/png", Data: pngFile[:rapid.SampledFrom([]int{0, len(pngFile)}).Draw(g.rt, "size")]})
		case 2:
			out = append(out, llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: pdfFile})
		default:
			out = append(out, llm.Text{Text: g.keep("Said")})
		}
	}
	return out
}

func (g *generator) assistant() llm.Message {
	m := g.s.own()
	own := rapid.Bool().Draw(g.rt, "own")
	if !own {
		m = foreign(rapid.SampledFrom(otherAPIs(g.s.Model.API)).Draw(g.rt, "api"))
	}
	for range rapid.IntRange(0, 4).Draw(g.rt, "blocks") {
		m.Content = append(m.Content, g.spoken(m.API, own))
	}
	if rapid.IntRange(0, 3).Draw(g.rt, "broken") == 0 {
		m.StopReason, m.Error = llm.StopAborted, &llm.Error{Kind: llm.ErrAborted}
	}
	return m
}

// spoken is a block of an answer.
func (g *generator) spoken(api llm.API, own bool) llm.Block {
	switch rapid.IntRange(0, 5).Draw(g.rt, "kind") {
	case 0:
		return llm.Text{Text: rapid.SampledFrom([]string{"", "\n"}).Draw(g.rt, "blank")}
	case 1:
		if own {
			return llm.Thinking{Text: g.mark("thought"), Signature: "c2lnbmF0dXJl"}
		}
		return llm.Thinking{Text: g.mark("thought"), Signature: g.lose("Signature"), Redacted: rapid.Bool().Draw(g.rt, "redacted")}
	case 2:
		if own {
			api = otherAPIs(api)[0]
		}
		return llm.Opaque{API: api, Kind: "item", Raw: json.RawMessage(`{"type":"` + g.lose("Opaque") + `"}`)}
	case 3, 4:
		c := llm.ToolCall{
			ID: randomIDs.Draw(g.rt, "id"), Name: rapid.SampledFrom([]string{"read", "", "odd.name/é"}).Draw(g.rt, "name"),
			Arguments: rapid.SampledFrom([]string{"", "{}", `{"a":[1]}`, `{"a":`, "[]", "null", "\xff", "{\"a\":\"\n\"}"}).Draw(g.rt, "arguments"),
			Defect:    rapid.SampledFrom([]llm.Defect{"", "", llm.DefectCut, llm.DefectCorrupt}).Draw(g.rt, "defect"),
		}
		if !own {
			c.Signature = g.lose("CallSignature")
		}
		return c
	}
	return llm.Text{Text: g.keep("Spoken")}
}
