package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// listed is how many of the entries that were dropped are named; the newest ones.
const listed = 40

// dropped lists what the model no longer gets of a path, so that it can ask for any
// part again with the tool of that name.
func dropped(path []transcript.Entry, tool string) string {
	var lines []string
	more := 0
	for i := len(path) - 1; i >= 0; i-- {
		e := &path[i]
		switch {
		case kindOf(e) == aside:
		case len(lines) < listed:
			lines = append(lines, "- "+clean(e.ID, 80)+" "+describe(e))
		default:
			more++
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Reverse(lines)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nNot in this conversation any more. The tool %s gives any of it in full, by its id:\n", droppedLine, clean(tool, 80))
	if more > 0 {
		fmt.Fprintf(&b, "… %d more, older\n", more)
	}
	b.WriteString(strings.Join(lines, "\n"))
	b.WriteString("\n" + droppedEnd)
	return b.String()
}

// describe returns the kind of an entry, its tool and its size.
func describe(e *transcript.Entry) string {
	var whole shortened
	size := whole.tokens(e)
	what := "note"
	switch e.Type {
	case transcript.TypeBranchSummary:
		what = "summary of a branch"
	case transcript.TypeMessage:
		switch m := e.Message; m.Role {
		case llm.RoleUser:
			what = "user"
		case llm.RoleToolResult:
			what = "result of " + clean(m.ToolName, 40)
		case llm.RoleAssistant:
			what = "assistant" + callNames(m)
		case llm.RoleSystem:
			what = "system"
		}
	}
	return fmt.Sprintf("%s, ~%d tokens", what, size)
}

// callNames says which tools a message calls, at most four of them.
func callNames(m *llm.Message) string {
	var names []string
	for _, c := range m.ToolCalls() {
		if len(names) == 4 {
			names = append(names, "…")
			break
		}
		names = append(names, clean(c.Name, 40))
	}
	if len(names) == 0 {
		return ""
	}
	return " calling " + strings.Join(names, " ")
}
