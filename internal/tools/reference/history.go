// Package reference holds the tools with which a model looks up what is already
// known: history, the whole of its own conversation.
package reference

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

//go:embed history.md
var historyDescription string

// Limits of an answer.
const (
	maxIDs  = 20
	maxHits = 20
	around  = 160 // bytes shown on each side of a hit
	output  = 50 << 10
)

// Options of the tools.
type Options struct {
	Log       *transcript.Log
	Artifacts tool.Artifacts // where an answer goes that is too long; nil: nowhere
}

type historyArgs struct {
	IDs   []string `json:"ids,omitempty"`
	Query string   `json:"query,omitempty"`
}

// New makes the tools.
func New(o Options) []*tool.Tool {
	return []*tool.Tool{tool.New(tool.Definition[historyArgs]{
		Name: "history", Label: "History", Description: historyDescription,
		Access: func(historyArgs) []tool.Access { return nil },
		Run: func(ctx context.Context, _ tool.Call, a historyArgs) (*tool.Result, error) {
			var text string
			var err error
			switch {
			case len(a.IDs) > 0:
				text, err = read(o.Log, a.IDs)
			case strings.TrimSpace(a.Query) != "":
				text, err = find(ctx, o.Log, a.Query)
			default:
				err = fmt.Errorf("give ids or a query")
			}
			if err != nil {
				return nil, err
			}
			fit := tool.Fit(text, tool.SinkOptions{Head: output / 2, Tail: output / 2, Columns: -1, Artifacts: o.Artifacts, Kind: "history"})
			return tool.Text(fit.Text + fit.Notice()), nil
		},
	})}
}

// read gives entries whole.
func read(l *transcript.Log, ids []string) (string, error) {
	if len(ids) > maxIDs {
		return "", fmt.Errorf("%d ids at once; at most %d are read", len(ids), maxIDs)
	}
	var b strings.Builder
	var missing []string
	for _, id := range ids {
		e, err := l.Entry(strings.TrimSpace(id))
		if err != nil {
			missing = append(missing, id)
			continue
		}
		fmt.Fprintf(&b, "[%s] %s\n%s\n\n", e.ID, headline(e), strings.TrimRight(words(e), "\n"))
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("no entry %s: take ids from a summary, or from a search with query", strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "Not found: %s\n", strings.Join(missing, ", "))
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// find lists entries that hold all words, the newest first.
func find(ctx context.Context, l *transcript.Log, query string) (string, error) {
	wanted := strings.Fields(strings.ToLower(query))
	var hits []string
	total := 0
	for e, err := range l.All() {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			continue // a damaged entry holds nothing that can be read
		}
		text := words(e)
		at := holds(strings.ToLower(text), wanted)
		if at < 0 {
			continue
		}
		if total++; len(hits) == maxHits {
			hits = hits[1:]
		}
		hits = append(hits, fmt.Sprintf("[%s] %s: %s", e.ID, headline(e), excerpt(text, at)))
	}
	if total == 0 {
		return "No entry of this conversation has all of: " + strings.Join(wanted, ", "), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d entries", total)
	if total > len(hits) {
		fmt.Fprintf(&b, ", the newest %d", len(hits))
	}
	b.WriteString(":\n")
	for i := len(hits) - 1; i >= 0; i-- {
		b.WriteString(hits[i] + "\n")
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// holds says where the first of the words stands in a text that has all of them; -1
// if it has not.
func holds(text string, wanted []string) int {
	first := -1
	for _, w := range wanted {
		i := strings.Index(text, w)
		if i < 0 {
			return -1
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

func excerpt(text string, at int) string {
	at = min(at, len(text)) // lower case may be of another length
	from, to := max(0, at-around), min(len(text), at+around)
	return prose.Line(strings.ToValidUTF8(text[from:to], ""))
}

// headline says whose entry it is.
func headline(e *transcript.Entry) string {
	m := e.Message
	switch {
	case m == nil:
		return e.Type
	case m.Role == llm.RoleToolResult:
		return "result of " + m.ToolName
	}
	return string(m.Role)
}

// words are what an entry says to the model, which does not see private commands.
func words(e *transcript.Entry) string {
	var blocks []llm.Block
	switch {
	case e.Message != nil && e.Message.CustomType == transcript.CustomExcluded:
	case e.Message != nil:
		blocks = e.Message.Content
	case e.Type == transcript.TypeCompaction || e.Type == transcript.TypeBranchSummary:
		return e.Summary
	case e.Type == transcript.TypeCustomMessage:
		blocks, _ = e.Words() // what is no text has no words
	}
	var b strings.Builder
	for _, block := range blocks {
		switch block := block.(type) {
		case llm.Text:
			b.WriteString(block.Text + "\n")
		case llm.Thinking:
			b.WriteString(block.Text + "\n")
		case llm.ToolCall:
			b.WriteString(block.Name + " " + block.Arguments + "\n")
		case llm.Image:
			b.WriteString("[image]\n")
		case llm.Document:
			b.WriteString("[document " + block.Name + "]\n" + block.Text + "\n")
		case llm.Opaque:
		}
	}
	return b.String()
}
