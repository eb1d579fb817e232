package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// What the model reads instead of the result of a call that the previous owner did not finish.
// Nobody knows whether the call had started.
const (
	mayHaveRun = "This call had not finished when burin ended, and its result is lost. It may have run, in whole or in part, and was not run again. Check what it did before you repeat it."
	onlyLooked = "This call had not finished when burin ended, and its result is lost. It changes nothing: repeat it if its result is still needed."
)

// interrupted adds results to the calls of the last answer that have none, and reports whether
// there were any: the previous owner died during them. Nothing runs again.
func interrupted(o *Options, messages []llm.Message) bool {
	at := len(messages) - 1
	answered := map[string]bool{}
	for ; at >= 0 && messages[at].Role != llm.RoleAssistant; at-- {
		switch m := &messages[at]; m.Role {
		case llm.RoleToolResult:
			answered[m.ToolCallID] = true
		case llm.RoleUser: // somebody has continued without the results
			return false
		}
	}
	if at < 0 || messages[at].Error != nil || messages[at].StopReason == llm.StopAborted { // its calls never run
		return false
	}
	var names []string
	found := false
	for _, c := range messages[at].ToolCalls() {
		if answered[c.ID] || c.Defect != "" {
			continue
		}
		answered[c.ID] = true
		text := mayHaveRun
		if onlyLooks(o.Tools, c.Name) {
			text = onlyLooked
		} else if name := prose.Short(c.Name, 40); !slices.Contains(names, name) {
			names = append(names, name)
		}
		m := llm.ToolResultText(c, text, true)
		m.Time = o.Now()
		found = true
		if _, err := o.Log.Append(transcript.Entry{Type: transcript.TypeMessage, Message: &m}); err != nil {
			o.Warn("the session is not written: " + err.Error())
		}
	}
	if len(names) > 0 {
		o.Warn(fmt.Sprintf("burin ended while calls of the model were under way, which may have run: %s", strings.Join(names, ", ")))
	}
	return found
}

// onlyLooks reports whether a tool changes nothing.
func onlyLooks(tools []*tool.Tool, name string) bool {
	i := slices.IndexFunc(tools, func(t *tool.Tool) bool { return t.Name == name })
	return i >= 0 && tools[i].Effects&(tool.Writes|tool.Executes|tool.Network) == 0
}
