package rpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

func trimmed(s string) string { return strings.TrimSpace(s) }

// scopeOf returns the family's name for the scope of a command file.
func scopeOf(source string) string {
	if strings.Contains(source, "project") {
		return "project"
	}
	return "user"
}

// branch returns the indexes of the entries from the root to leaf.
func branch(nodes []transcript.Node, leaf string) []int {
	at := slices.IndexFunc(nodes, func(n transcript.Node) bool { return n.ID == leaf })
	var path []int
	for ; at >= 0; at = nodes[at].Parent {
		path = append(path, at)
	}
	slices.Reverse(path)
	return path
}

// current returns the entries that make up the conversation: those after the last compaction
// and those that it kept. condensed is the entry of the compaction, nil if there is none.
func current(log session.Transcript) (nodes []transcript.Node, path []int, condensed *transcript.Entry, err error) {
	nodes = log.Nodes()
	path = branch(nodes, log.Leaf())
	for k, i := range slices.Backward(path) {
		if nodes[i].Type != transcript.TypeCompaction {
			continue
		}
		if condensed, err = log.Entry(nodes[i].ID); err != nil {
			return nil, nil, nil, err
		}
		from := slices.IndexFunc(path[:k], func(o int) bool { return nodes[o].ID == condensed.FirstKeptID })
		var keep []int
		if from >= 0 {
			keep = path[from:k]
		}
		return nodes, slices.Concat(keep, path[k+1:]), condensed, nil
	}
	return nodes, path, nil, nil
}

// said reports whether a node is a message of the conversation.
func said(n *transcript.Node) bool {
	switch n.Type {
	case transcript.TypeMessage, transcript.TypeCustomMessage, transcript.TypeBranchSummary:
		return true
	}
	return false
}

func countMessages(log session.Transcript) (n int) {
	nodes, path, condensed, err := current(log)
	if err != nil {
		return 0
	}
	if condensed != nil {
		n++
	}
	for _, i := range path {
		if said(&nodes[i]) {
			n++
		}
	}
	return n
}

// conversation returns the messages that the model sees, in the family's format.
func conversation(log session.Transcript) ([]json.RawMessage, error) {
	nodes, path, condensed, err := current(log)
	if err != nil {
		return nil, err
	}
	all := []json.RawMessage{}
	if condensed != nil {
		all = append(all, messageOf(condensed))
	}
	for _, i := range path {
		if !said(&nodes[i]) {
			continue
		}
		e, err := log.Entry(nodes[i].ID)
		if err != nil {
			return nil, err
		}
		all = append(all, messageOf(e))
	}
	return all, nil
}

// messageOf returns an entry as a message.
func messageOf(e *transcript.Entry) json.RawMessage {
	at := e.Time().UnixMilli()
	switch {
	case e.Type == transcript.TypeCompaction:
		return encode(map[string]any{"role": "compactionSummary", "summary": e.Summary, "tokensBefore": e.TokensBefore, "timestamp": at})
	case e.Type == transcript.TypeBranchSummary:
		return encode(map[string]any{"role": "branchSummary", "summary": e.Summary, "fromId": e.FromID, "timestamp": at})
	case e.Type == transcript.TypeCustomMessage:
		return encode(struct {
			Role    llm.Role        `json:"role"`
			Type    string          `json:"customType"`
			Content json.RawMessage `json:"content"`
			Display bool            `json:"display"`
			Details json.RawMessage `json:"details,omitempty"`
			At      int64           `json:"timestamp"`
		}{llm.RoleCustom, e.CustomType, e.Content, e.Display, e.Details, at})
	case e.Execution != nil:
		return encode(struct {
			Role llm.Role `json:"role"`
			*transcript.Execution
		}{transcript.RoleExecution, e.Execution})
	}
	return message(e.Message)
}

// message encodes a message in the family's format, where an answer always has a usage.
func message(m *llm.Message) json.RawMessage {
	if m == nil {
		return json.RawMessage("null")
	}
	if m.Role == llm.RoleAssistant {
		whole := *m
		used := llm.Usage{}
		if m.Usage != nil {
			used = *m.Usage
		}
		if used.Cost == nil {
			used.Cost = &llm.Cost{}
		}
		if used.TotalTokens == 0 {
			used.TotalTokens = used.Context()
		}
		whole.Usage = &used
		switch m.StopReason {
		case "":
			whole.StopReason = "pending"
		case llm.StopPause:
			whole.StopReason = llm.StopEnd
		}
		m = &whole
	}
	return encode(m)
}

func messagesOf(all []llm.Message) []json.RawMessage {
	out := make([]json.RawMessage, len(all))
	for i := range all {
		out[i] = message(&all[i])
	}
	return out
}

// entryRecord encodes an entry as in session files of version 3, with its large contents inline.
func entryRecord(e *transcript.Entry) json.RawMessage {
	type plain transcript.Entry
	if e.Type != transcript.TypeMessage {
		return encode((*plain)(e))
	}
	return encode(struct {
		*plain
		Message json.RawMessage `json:"message"`
	}{(*plain)(e), messageOf(e)})
}

// entries returns all entries in the order in which they were written, or those after one.
func entries(log session.Transcript, since *string) (any, error) {
	nodes, leaf := log.Nodes(), log.Leaf()
	if since != nil {
		at := slices.IndexFunc(nodes, func(n transcript.Node) bool { return n.ID == *since })
		if at < 0 {
			return nil, fmt.Errorf("the session has no entry %q", *since)
		}
		nodes = nodes[at+1:]
	}
	all := make([]json.RawMessage, len(nodes))
	for i := range nodes {
		e, err := log.Entry(nodes[i].ID)
		if err != nil {
			return nil, err
		}
		all[i] = entryRecord(e)
	}
	return struct {
		Entries []json.RawMessage `json:"entries"`
		Leaf    *string           `json:"leafId"`
	}{all, orNull(leaf)}, nil
}

func orNull(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// nodeJSON is an entry with its children.
type nodeJSON struct {
	Entry    json.RawMessage `json:"entry"`
	Children []*nodeJSON     `json:"children"`
	Label    string          `json:"label,omitempty"`
	Labeled  string          `json:"labelTimestamp,omitempty"`
}

// maxDepth is how deep a tree may be: most programs can't read JSON that is nested deeper.
const maxDepth = 20_000

func tree(log session.Transcript) (any, error) {
	nodes, leaf := log.Nodes(), log.Leaf()
	all, depth := make([]nodeJSON, len(nodes)), make([]int, len(nodes))
	roots := []*nodeJSON{}
	labeled := map[string]string{} // when, by entry
	for i := range nodes {
		e, err := log.Entry(nodes[i].ID)
		if err != nil {
			return nil, err
		}
		if e.Type == transcript.TypeLabel {
			labeled[e.TargetID] = e.Timestamp
		}
		all[i] = nodeJSON{Entry: entryRecord(e), Children: []*nodeJSON{}, Label: nodes[i].Label}
		p := nodes[i].Parent
		if p < 0 {
			roots = append(roots, &all[i])
			continue
		}
		if depth[i] = depth[p] + 1; depth[i] > maxDepth {
			return nil, fmt.Errorf("the tree is more than %d entries deep: use get_entries", maxDepth)
		}
		all[p].Children = append(all[p].Children, &all[i])
	}
	for i := range all {
		if all[i].Label != "" {
			all[i].Labeled = labeled[nodes[i].ID]
		}
	}
	return struct {
		Tree []*nodeJSON `json:"tree"`
		Leaf *string     `json:"leafId"`
	}{roots, orNull(leaf)}, nil
}

// lastText returns the text of the last answer; nil: there is none.
func lastText(log session.Transcript) (*string, error) {
	nodes := log.Nodes()
	for _, i := range slices.Backward(branch(nodes, log.Leaf())) {
		if nodes[i].Type != transcript.TypeMessage || nodes[i].Role != llm.RoleAssistant {
			continue
		}
		e, err := log.Entry(nodes[i].ID)
		if err != nil {
			return nil, err
		}
		if e.Message.StopReason == llm.StopAborted && len(e.Message.Content) == 0 {
			continue
		}
		if text := trimmed(e.Message.Text()); text != "" {
			return &text, nil
		}
		return nil, nil
	}
	return nil, nil
}

type tokensJSON struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
	Total      int `json:"total"`
}

type contextJSON struct {
	Tokens  int     `json:"tokens"`
	Window  int     `json:"contextWindow"`
	Percent float64 `json:"percent"`
}

type statsJSON struct {
	File       string       `json:"sessionFile,omitempty"`
	ID         string       `json:"sessionId"`
	Users      int          `json:"userMessages"`
	Assistants int          `json:"assistantMessages"`
	Calls      int          `json:"toolCalls"`
	Results    int          `json:"toolResults"`
	Messages   int          `json:"totalMessages"`
	Tokens     tokensJSON   `json:"tokens"`
	Cost       float64      `json:"cost"` // dollars
	Context    *contextJSON `json:"contextUsage,omitempty"`
	Known      bool         `json:"burin/costKnown"` // every request had a known price
}

// stats counts messages, calls and tokens of a session.
func stats(h session.Handle) (any, error) {
	f, log := h.Facts(), h.Transcript()
	u := f.Stats.Usage
	out := statsJSON{
		File: f.Path, ID: f.ID, Cost: f.Stats.Cost.Float(), Known: f.Stats.Known,
		Tokens: tokensJSON{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Context()},
	}
	for _, n := range log.Nodes() {
		if n.Type != transcript.TypeMessage {
			continue
		}
		out.Messages++
		switch n.Role {
		case llm.RoleUser:
			out.Users++
		case llm.RoleToolResult:
			out.Results++
		case llm.RoleAssistant:
			out.Assistants++
			e, err := log.Entry(n.ID)
			if err != nil {
				return nil, err
			}
			out.Calls += len(e.Message.ToolCalls())
		}
	}
	if w := f.Stats.Window; w > 0 {
		out.Context = &contextJSON{f.Stats.Context, w, float64(f.Stats.Context) * 100 / float64(w)}
	}
	return out, nil
}

// compactionJSON is the result of a compaction.
type compactionJSON struct {
	Summary   string          `json:"summary"`
	FirstKept string          `json:"firstKeptEntryId"`
	Before    int             `json:"tokensBefore"`
	After     int             `json:"estimatedTokensAfter"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// condensed returns the last compaction of the conversation; nil: there is none.
func condensed(h session.Handle) *compactionJSON {
	_, _, e, err := current(h.Transcript())
	if err != nil || e == nil {
		return nil
	}
	return &compactionJSON{e.Summary, e.FirstKeptID, e.TokensBefore, h.Facts().Stats.Context, e.Details}
}
