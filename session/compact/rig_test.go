package compact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// branch builds a path entry by entry.
type branch struct{ path []transcript.Entry }

func (b *branch) add(e transcript.Entry) string {
	e.ID = fmt.Sprintf("e%04d", len(b.path))
	if n := len(b.path); n > 0 {
		e.ParentID = &b.path[n-1].ID
	}
	e.Timestamp = time.Unix(1_700_000_000+int64(len(b.path)), 0).UTC().Format(time.RFC3339)
	b.path = append(b.path, e)
	return e.ID
}

func (b *branch) id(i int) string { return b.path[i].ID }

func (b *branch) message(m llm.Message) string {
	return b.add(transcript.Entry{Type: transcript.TypeMessage, Message: &m})
}

func (b *branch) user(text string) string { return b.message(llm.UserText(text)) }

func (b *branch) answer(text string, calls ...llm.ToolCall) string {
	m := llm.AssistantText(text)
	for _, c := range calls {
		m.Content = append(m.Content, c)
		m.StopReason = llm.StopToolUse
	}
	return b.message(m)
}

func (b *branch) result(id, tool, text string) string {
	return b.message(llm.ToolResultText(llm.ToolCall{ID: id, Name: tool}, text, false))
}

// use is a call with its result.
func (b *branch) use(tool, args, output string) string {
	id := fmt.Sprintf("call%d", len(b.path))
	b.answer("", call(id, tool, args))
	return b.result(id, tool, output)
}

func (b *branch) meta(typ string) string { return b.add(transcript.Entry{Type: typ}) }

func (b *branch) compaction(summary, kept string) string {
	return b.add(transcript.Entry{Type: transcript.TypeCompaction, Summary: summary, FirstKeptID: kept})
}

func (b *branch) custom(text string) string {
	raw, _ := json.Marshal(text)
	return b.add(transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "note", Content: raw})
}

func (b *branch) prune(short ...transcript.Short) { b.record(&transcript.Prune{Entries: short}) }

func (b *branch) record(p *transcript.Prune) {
	data, _ := json.Marshal(p)
	b.add(transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune, Data: data})
}

func call(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

// words is a text that is estimated at about n tokens.
func words(n int) string {
	const unit = "another plain sentence, with words. "
	m := llm.UserText(strings.Repeat(unit, 100))
	each := float64(compact.Tokens(&m)) / 100
	return strings.Repeat(unit, int(float64(n)/each)) + strings.Repeat("a ", max(1, int(math.Mod(float64(n), each)*1.3)))
}

// asked is one request that a scripted model got.
type asked struct {
	system, prompt string
	maxTokens      int
}

// scripted answers each request with the next text, the last one again and again.
func scripted(log *[]asked, answers ...string) compact.Asker {
	return func(_ context.Context, system, prompt string, maxTokens int) (string, error) {
		*log = append(*log, asked{system, prompt, maxTokens})
		return answers[min(len(*log), len(answers))-1], nil
	}
}

func options(keep int) compact.PlanOptions {
	s := compact.Defaults()
	s.KeepRecentTokens = keep
	return compact.PlanOptions{Settings: s}
}

func plan(t *testing.T, path []transcript.Entry, keep int) *compact.Cut {
	t.Helper()
	c, err := compact.Plan(path, options(keep))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func summarize(t *testing.T, c *compact.Cut, o compact.SummaryOptions, answers ...string) (transcript.Entry, []asked) {
	t.Helper()
	var log []asked
	e, err := c.Summarize(context.Background(), scripted(&log, answers...), o)
	if err != nil {
		t.Fatal(err)
	}
	return e, log
}

func ids(entries []transcript.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.ID)
	}
	return strings.Join(all, " ")
}
