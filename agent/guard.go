package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

const (
	maxPauses = 16 // a provider that pauses an answer more often makes no progress
	maxNudges = 2  // after this many reminders an empty answer is final

	warnAfter = 3  // equal failures after which the model is told
	stopAfter = 5  // equal failures after which the run ends
	lookBack  = 24 // failures that are compared
)

// guard detects that a model makes no progress. Equal calls that succeed don't count: polling
// is legitimate.
type guard struct {
	final  bool // a tool of the last answer returned a final result
	pauses int
	empty  int
	failed []failure // the most recent ones, oldest first
	told   []failure
	stuck  error // why the run must end
}

// failure is one failed call: checksums of the call and its result.
type failure struct{ call, result [sha256.Size]byte }

// note records the result of a call that ran or could not run. It returns what the model must
// be told in addition.
//
// After a successful call that may have changed something, retrying earlier failures makes
// sense, so all of them are forgotten. Any other success only forgets failures of the same
// call.
func (g *guard) note(t *task) string {
	f := failure{call: sha256.Sum256([]byte(t.call.Name + "\x00" + canonical(t)))}
	if !t.result.IsError {
		if t.tool.Effects&(tool.Writes|tool.Executes) != 0 {
			g.failed, g.told = nil, nil
			return ""
		}
		g.failed = slices.DeleteFunc(g.failed, func(o failure) bool { return o.call == f.call })
		return ""
	}
	sum := sha256.New()
	for _, b := range t.result.Content {
		if text, ok := b.(llm.Text); ok {
			sum.Write([]byte(text.Text))
		}
	}
	sum.Sum(f.result[:0])
	g.failed = append(g.failed, f)
	if over := len(g.failed) - lookBack; over > 0 {
		g.failed = slices.Delete(g.failed, 0, over)
	}
	times := 0
	for _, o := range g.failed {
		if o == f {
			times++
		}
	}
	if times >= stopAfter {
		g.stuck = fmt.Errorf("the model made the same failing call of %s %d times", t.call.Name, times)
	}
	if times < warnAfter || slices.Contains(g.told, f) {
		return ""
	}
	g.told = append(g.told, f)
	return fmt.Sprintf("This call has now failed %d times in the same way. Repeating it will not help: "+
		"change the arguments, take another way, or tell the user what stands in it.", times)
}

// canonical returns the arguments of a call without insignificant JSON differences. For a
// damaged call only the damage counts.
func canonical(t *task) string {
	if t.call.Defect != "" {
		return string(t.call.Defect)
	}
	dec := json.NewDecoder(strings.NewReader(t.call.Arguments))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return t.call.Arguments
	}
	out, err := json.Marshal(v)
	if err != nil {
		return t.call.Arguments
	}
	return string(bytes.TrimSpace(out))
}

// isEmpty reports whether an answer without calls says nothing.
func isEmpty(m *llm.Message) bool {
	return !slices.ContainsFunc(m.Content, func(b llm.Block) bool {
		switch b := b.(type) {
		case llm.Text:
			return strings.TrimSpace(b.Text) != ""
		case llm.Thinking:
			return false
		}
		return true
	})
}

// nudge returns what a model reads after an empty answer.
func nudge() llm.Message {
	return llm.Message{
		Role: llm.RoleCustom, CustomType: "nudge",
		Content: []llm.Block{llm.Text{Text: "Your answer was empty. Continue with the task, or report the result if it is finished."}},
	}
}
