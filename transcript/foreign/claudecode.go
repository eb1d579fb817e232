package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// maxAgents is how many sub-agents of a session are read; further ones are counted.
const maxAgents = 1000

// ccLine is a line of a Claude Code session. Lines with a uuid form a tree.
type ccLine struct {
	Type            string       `json:"type"`
	Subtype         string       `json:"subtype"`
	UUID            string       `json:"uuid"`
	Parent          string       `json:"parentUuid"`
	Logical         string       `json:"logicalParentUuid"` // of a compaction: what came before it
	CWD             string       `json:"cwd"`
	Time            stamp        `json:"timestamp"`
	Sidechain       bool         `json:"isSidechain"`
	Agent           string       `json:"agentId"`
	Meta            bool         `json:"isMeta"`
	CompactSummary  bool         `json:"isCompactSummary"`
	APIError        bool         `json:"isApiErrorMessage"`
	Message         ccMessage    `json:"message"`
	Summary         string       `json:"summary"` // of a "summary": the title
	Leaf            string       `json:"leafUuid"`
	CustomTitle     string       `json:"customTitle"`
	AITitle         string       `json:"aiTitle"`
	CompactMetadata ccCompaction `json:"compactMetadata"`
}

type ccMessage struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Stop    string          `json:"stop_reason"`
	Usage   *anthropicUsage `json:"usage"`
}

type ccCompaction struct {
	Tokens  int `json:"preTokens"`
	Segment struct {
		Head string `json:"headUuid"` // the first message that was kept
	} `json:"preservedSegment"`
}

// ccRecord is a node of the tree: an answer with its results, a message, or a line
// that only stands between others.
type ccRecord struct {
	line    ccLine
	role    llm.Role // "" only stands between others
	blocks  []llm.Block
	results []ccResult // of an answer's calls
}

type ccResult struct {
	time    stamp
	message llm.Message
}

// ccReader collects the lines of one session. Its tree is built when all are
// read: an answer is spread over several lines, and the results of its calls hang
// on different ones of them.
type ccReader struct {
	t       *tree
	records []*ccRecord
	at      map[string]int // uuid -> record
	answers map[string]int // id of the provider's message -> record
	calls   map[string]int // call -> record
	last    string         // uuid of the last line of the conversation
	place   []int          // record -> the entry that what follows follows
	marks   int            // lines of the program

	summaries  []ccLine
	custom, ai string // titles
	cwd        string
	started    stamp
	boundary   ccCompaction // of the compaction whose summary comes next
}

func claudeCode(ctx context.Context, file string) (*Session, error) {
	r := &ccReader{at: map[string]int{}, answers: map[string]int{}, calls: map[string]int{}}
	r.t = newTree(ClaudeCode, file, strings.TrimSuffix(filepath.Base(file), ".jsonl"))
	if err := r.t.lines(ctx, file, func(n int, text []byte) error { return r.line(n, text, "") }); err != nil {
		return nil, err
	}
	alone := !slices.ContainsFunc(r.records, func(rec *ccRecord) bool { return !rec.line.Sidechain })
	if alone { // the file of a sub-agent
		for _, rec := range r.records {
			rec.line.Sidechain = false
			r.last = rec.line.UUID
		}
	} else if err := r.subagents(ctx, file); err != nil {
		return nil, err
	}
	return r.build(), nil
}

// subagents reads the files of the session's sub-agents.
func (r *ccReader) subagents(ctx context.Context, file string) error {
	name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
	dir, err := os.OpenRoot(filepath.Dir(file)) // links lead nowhere else
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer dir.Close()
	found, err := fs.Glob(dir.FS(), globQuote(name)+"/subagents/agent-*.jsonl")
	if err != nil {
		return fmt.Errorf("import sub-agents of %s: %w", name, err)
	}
	if len(found) > maxAgents {
		r.t.lose(len(found)-maxAgents, "sub-agents", "only the first 1,000 are read")
		found = found[:maxAgents]
	}
	for _, at := range found {
		f, err := dir.Open(at)
		if err != nil {
			r.t.unreadable(at, errors.New("it cannot be opened"))
			continue
		}
		agent := strings.TrimSuffix(strings.TrimPrefix(path.Base(at), "agent-"), ".jsonl")
		err = r.t.linesOf(ctx, f, "agent "+agent+", line", func(n int, text []byte) error { return r.line(n, text, agent) })
		_ = f.Close() // it was only read
		if err != nil {
			return err
		}
	}
	return nil
}

func globQuote(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// line takes a line. agent names the sub-agent whose file it is from.
func (r *ccReader) line(n int, text []byte, agent string) error {
	var l ccLine
	mistyped, err := decode(text, &l)
	if err != nil {
		return err
	}
	if mistyped {
		r.t.lose(1, "fields of an unexpected kind", "they were left empty")
	}
	if agent != "" {
		l.Sidechain, l.Agent = true, agent
	}
	if !l.Sidechain && !r.started.known() {
		r.started = l.Time
	}
	if r.cwd == "" {
		r.cwd = l.CWD
	}
	switch l.Type {
	case "summary":
		r.summaries = append(r.summaries, l)
	case "custom-title":
		r.custom = l.CustomTitle
	case "ai-title":
		r.ai = l.AITitle
	case "user", "assistant", "system", "attachment", "progress":
		r.node(n, &l)
	}
	return nil
}

// node takes a line of the tree.
func (r *ccReader) node(n int, l *ccLine) {
	if l.UUID == "" {
		l.UUID = fmt.Sprintf("line %d", n)
		if l.Parent == "" && !l.Sidechain {
			l.Parent = r.last
		}
	}
	if _, double := r.at[l.UUID]; double {
		r.t.lose(1, "lines that are there twice", "the first was taken")
		return
	}
	rec := &ccRecord{line: *l}
	rec.line.Message.Content = nil
	switch l.Type {
	case "assistant":
		if r.answer(rec, l) {
			return
		}
	case "user":
		if r.user(rec, l) {
			return
		}
	case "attachment":
		r.t.lose(1, "attachments", "reminders and files that the program added for the model are not imported")
	case "system":
		if l.Subtype != "compact_boundary" {
			r.marks++
		}
	}
	r.put(rec)
}

// put makes rec a node of the tree.
func (r *ccReader) put(rec *ccRecord) {
	r.records = append(r.records, rec)
	r.follow(&rec.line, len(r.records)-1)
}

// follow lets what hangs on the line hang on a record.
func (r *ccReader) follow(l *ccLine, record int) {
	r.at[l.UUID] = record
	if !l.Sidechain && (l.Type == "user" || l.Type == "assistant" || l.Subtype == "compact_boundary") {
		r.last = l.UUID
	}
}

// answer reads a line of an answer. It reports whether the line went into the
// record of the lines before it.
func (r *ccReader) answer(rec *ccRecord, l *ccLine) bool {
	own := strings.HasPrefix(l.Message.Model, "claude-")
	raws, err := anthropicBlocks(l.Message.Content)
	if err != nil {
		r.t.unreadable("an answer", err)
	}
	to, merged := rec, false
	if i, ok := r.answers[l.Message.ID]; ok && l.Message.ID != "" && r.records[i].line.Agent == l.Agent {
		to, merged = r.records[i], true
	} else {
		rec.role = llm.RoleAssistant
		r.answers[l.Message.ID] = len(r.records)
	}
	index := len(r.records)
	if merged {
		index = r.answers[l.Message.ID]
	}
	for i, raw := range raws {
		b := anthropicAnswer(r.t, raw, own, i)
		if b == nil {
			continue
		}
		if call, ok := b.(llm.ToolCall); ok {
			r.calls[call.ID] = index
		}
		to.blocks = append(to.blocks, b)
	}
	if l.Message.Usage != nil {
		to.line.Message.Usage = l.Message.Usage // the last one counts all
	}
	if l.Message.Stop != "" {
		to.line.Message.Stop = l.Message.Stop
	}
	if merged {
		r.follow(l, index)
	}
	return merged
}

// user reads a line of the user, the program or its tools. It reports whether
// all of it went to the answer whose calls it answers.
func (r *ccReader) user(rec *ccRecord, l *ccLine) bool {
	raws, err := anthropicBlocks(l.Message.Content)
	if err != nil {
		r.t.unreadable("a message", err)
	}
	owner := root
	for _, raw := range raws {
		var b anthropicBlock
		if _, err := decode(raw, &b); err != nil {
			r.t.unreadable("a block", err)
			continue
		}
		if b.Type != "tool_result" {
			rec.blocks = append(rec.blocks, anthropicInputBlock(r.t, &b, raw)...)
			continue
		}
		m := llm.Message{Role: llm.RoleToolResult, ToolCallID: b.CallID, IsError: b.IsError, Content: anthropicInput(r.t, b.Content)}
		i, ok := r.calls[b.CallID]
		if !ok {
			r.t.lose(1, "tool results without a call", "the file does not hold the call")
			rec.results = append(rec.results, ccResult{l.Time, m})
			continue
		}
		owner = i
		for _, c := range (&llm.Message{Content: r.records[i].blocks}).ToolCalls() {
			if c.ID == b.CallID {
				m.ToolName = c.Name
			}
		}
		r.records[i].results = append(r.records[i].results, ccResult{l.Time, m})
	}
	if owner != root {
		if len(rec.blocks) == 0 && len(rec.results) == 0 {
			r.follow(l, owner)
			return true
		}
		rec.line.Parent = r.records[owner].line.UUID
	}
	rec.role = llm.RoleUser
	return false
}
