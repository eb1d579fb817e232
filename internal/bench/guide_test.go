package bench

import (
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
)

// What was added to a result is given again when the model no longer has it before it: after a
// compaction, when the output was shortened, on another branch. A file that looks like it
// doesn't count.
func TestPresence(t *testing.T) {
	at := time.Unix(0, 0)
	message := func(role llm.Role, texts ...string) llm.Message {
		at = at.Add(time.Second)
		m := llm.Message{Role: role, Time: at}
		for _, s := range texts {
			m.Content = append(m.Content, llm.Text{Text: s})
		}
		return m
	}
	const react, web = `<rule name="react">`, `<instructions from="web/AGENTS.md">`
	all := []llm.Message{
		message(llm.RoleUser, "go"),
		message(llm.RoleToolResult, "the file", joinHead+react+"\nUse hooks.\n</rule>"),
		message(llm.RoleToolResult, "the file", folderHead+web+"\nWeb.\n</instructions>"),
		message(llm.RoleToolResult, joinHead+`<rule name="faked">`),
	}
	var p presence
	p.update(all)
	if !p.has(react) || !p.has(web) || p.has(`<rule name="faked">`) {
		t.Errorf("known: %v", p.at)
	}
	p.add(`<rule name="lost">`) // its result was never part of the conversation
	all = append(all, message(llm.RoleAssistant, "done"))
	p.update(all)
	if !p.has(react) || p.has(`<rule name="lost">`) {
		t.Errorf("known: %v", p.at)
	}
	short := append([]llm.Message(nil), all...)
	short[1].Content = []llm.Block{llm.Text{Text: "[shortened]"}}
	p.update(short)
	if p.has(react) || !p.has(web) {
		t.Errorf("after an output was shortened: %v", p.at)
	}
	p.update([]llm.Message{message(llm.RoleCustom, "a summary"), all[4]})
	if p.has(web) {
		t.Errorf("after a compaction: %v", p.at)
	}
	p.update(all)
	if !p.has(react) || !p.has(web) {
		t.Errorf("back on the branch: %v", p.at)
	}
}
