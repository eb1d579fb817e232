package foreign

import (
	"slices"

	"github.com/burin-dev/burin/llm"
)

// turn collects what a model says and the results it gets in between, where the
// source keeps both in one list. It writes an assistant message and its results
// each time the model speaks again after a result.
type turn struct {
	t   *tree
	at  int         // the entry that the next one follows
	who llm.Message // API, Provider and Model of the answers

	time    stamp // of what is added next
	begun   stamp // of the first of blocks
	blocks  []llm.Block
	results []llm.Message
	usage   *llm.Usage // of the message that is being collected
	last    int        // the last assistant message, or root
}

func newTurn(t *tree, at int, time stamp, who llm.Message) *turn {
	who.Role = llm.RoleAssistant
	return &turn{t: t, at: at, time: time, who: who, last: root}
}

// say adds a block that is no call.
func (u *turn) say(b llm.Block) {
	if len(u.results) > 0 {
		u.flush()
	}
	u.begin()
	u.blocks = append(u.blocks, b)
}

func (u *turn) begin() {
	if len(u.blocks) == 0 {
		u.begun = u.time
	}
}

// call adds a call. After a result it belongs to the next message.
func (u *turn) call(c llm.ToolCall) { u.say(c) }

// unanswered adds a call to the message of the calls before it.
func (u *turn) unanswered(c llm.ToolCall) {
	u.begin()
	u.blocks = append(u.blocks, c)
}

// answered adds a call whose result is known, without saying that the model saw
// the results of the calls before it.
func (u *turn) answered(c llm.ToolCall, result llm.Message) {
	u.unanswered(c)
	u.result(result)
}

// result adds the answer to an earlier call.
func (u *turn) result(m llm.Message) {
	m.Role = llm.RoleToolResult
	if m.ToolName == "" {
		m.ToolName = u.nameOf(m.ToolCallID)
	}
	m.Time = u.time.time()
	u.results = append(u.results, m)
}

// nameOf is the tool that the call of that id is for, among those not yet written.
func (u *turn) nameOf(id string) string {
	for _, b := range u.blocks {
		if c, ok := b.(llm.ToolCall); ok && c.ID == id {
			return c.Name
		}
	}
	return ""
}

// flush writes what was collected.
func (u *turn) flush() {
	if len(u.blocks) > 0 {
		m := u.who
		m.Content = u.blocks
		if slices.ContainsFunc(u.blocks, func(b llm.Block) bool { _, call := b.(llm.ToolCall); return call }) {
			m.StopReason = llm.StopToolUse
		}
		m.Usage = u.usage
		u.at = u.t.message(u.at, u.begun, m)
		u.last = u.at
	}
	for _, r := range u.results {
		u.at = u.t.message(u.at, stamp{r.Time}, r)
	}
	u.blocks, u.results, u.usage = nil, nil, nil
}

// end writes the rest and gives the last entry. What is said of the whole answer
// goes to its last message; an answer that failed without a word is kept for its
// error.
func (u *turn) end(usage *llm.Usage, stop llm.StopReason, failed *llm.Error) int {
	u.flush()
	if u.last == root && failed != nil {
		u.at = u.t.message(u.at, u.time, u.who)
		u.last = u.at
	}
	if u.last == root {
		return u.at
	}
	m := u.t.s.Entries[u.last].Message
	if usage != nil {
		m.Usage = usage
		u.t.priced = u.t.priced || usage.Cost != nil
	}
	if stop != "" && m.StopReason == "" {
		m.StopReason = stop
	}
	if failed != nil {
		m.Error, m.StopReason = failed, llm.StopError
		if failed.Kind == llm.ErrAborted {
			m.StopReason = llm.StopAborted
		}
	}
	return u.at
}
