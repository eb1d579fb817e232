package kit_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/kit"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// tree is an empty project.
func tree(t *testing.T) *vfs.Tree {
	t.Helper()
	db := storetest.Open(t, filepath.Join(t.TempDir(), "db"), []store.Part{vfs.Part})
	s := vfs.New(db, vfs.Limits{})
	if err := s.Create(t.Context(), db, "p"); err != nil {
		t.Fatal(err)
	}
	ring, err := vault.NewRing(map[uint32][]byte{1: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	return s.Tree("p", ring)
}

// caller calls tools of a kit.
func caller(t *testing.T, k *kit.Kit) func(name string, args any) string {
	byName := map[string]*tool.Tool{}
	for _, one := range k.Tools {
		byName[one.Name] = one
	}
	return func(name string, args any) string {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		valid, err := byName[name].Validate(llm.ToolCall{ID: "c", Name: name, Arguments: string(raw)})
		if err != nil {
			return "invalid: " + err.Error()
		}
		r, err := byName[name].Run(t.Context(), tool.Call{ID: "c", Name: name, Arguments: valid, Update: func(tool.Result) {}})
		if err != nil {
			return "error: " + err.Error()
		}
		var text strings.Builder
		for _, b := range r.Content {
			text.WriteString(b.(llm.Text).Text)
		}
		if r.IsError {
			return "failure: " + text.String()
		}
		return text.String()
	}
}

type m = map[string]any

// Every command of the memory tool, and every way in which it fails.
func TestMemory(t *testing.T) {
	t.Parallel()
	files := tree(t)
	k := kit.New(kit.Options{Tools: &project.Tools{Memory: &project.MemoryTool{}, Filesystem: &project.FilesystemTool{}}, Tree: files, Chat: "c"})
	call := caller(t, k)
	const header = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
	for i, step := range []struct {
		args m
		want string
	}{
		{m{"command": "view", "path": "/memories"}, header + "(empty)"},
		{m{"command": "create", "path": "/memories/a.md", "file_text": "one\ntwo\nthree\nfour\nfive\n"}, "File created successfully at: /memories/a.md"},
		{m{"command": "create", "path": "a.md", "file_text": "x"}, "failure: Error: File /memories/a.md already exists"},
		{m{"command": "create", "path": "/", "file_text": "x"}, "failure: Error: Cannot create a file at the root path."},
		{m{"command": "create", "path": "b.md"}, "failure: Error: create needs file_text"},
		{m{"command": "view", "path": "a.md"}, "Here's the content of /memories/a.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive"},
		{m{"command": "view", "path": "a.md", "view_range": []int{4, -1}}, "Here's the content of /memories/a.md with line numbers:\n     4\tfour\n     5\tfive"},
		{m{"command": "view", "path": "a.md", "view_range": []int{6, 7}}, "failure: Error: Invalid `view_range` parameter: [6 7]. It should be two numbers, the first within the range of lines of the file: [1, 5], the last not below it, or -1"},
		{m{"command": "view", "path": "no.md"}, "failure: The path /memories/no.md does not exist. Please provide a valid path."},
		{m{"command": "str_replace", "path": "a.md", "old_str": "three", "new_str": "$& $1 $$"}, "The memory file has been edited.\n     1\tone\n     2\ttwo\n     3\t$& $1 $$\n     4\tfour\n     5\tfive"},
		{m{"command": "str_replace", "path": "a.md", "old_str": "gone"}, "failure: No replacement was performed, old_str `gone` did not appear verbatim in /memories/a.md."},
		{m{"command": "str_replace", "path": "a.md", "old_str": "o"}, "failure: No replacement was performed. Multiple occurrences of old_str `o` in lines: 1, 2, 4. Please ensure it is unique"},
		{m{"command": "str_replace", "path": "a.md", "old_str": ""}, "failure: Error: str_replace needs old_str, the text to replace"},
		{m{"command": "str_replace", "path": "no.md", "old_str": "x"}, "failure: Error: The path /memories/no.md does not exist. Please provide a valid path."},
		{m{"command": "str_replace", "path": "a.md", "old_str": "two\n"}, "The memory file has been edited.\n     1\tone\n     2\t$& $1 $$\n     3\tfour\n     4\tfive"},
		{m{"command": "insert", "path": "a.md", "insert_line": 0, "insert_text": "zero\n"}, "The file /memories/a.md has been edited."},
		{m{"command": "insert", "path": "a.md", "insert_line": 5, "insert_text": "six"}, "The file /memories/a.md has been edited."},
		{m{"command": "insert", "path": "a.md", "insert_line": 9, "insert_text": "x"}, "failure: Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 6]"},
		{m{"command": "insert", "path": "no.md", "insert_line": 0, "insert_text": "x"}, "failure: Error: The path /memories/no.md does not exist"},
		{m{"command": "view", "path": "a.md"}, "Here's the content of /memories/a.md with line numbers:\n     1\tzero\n     2\tone\n     3\t$& $1 $$\n     4\tfour\n     5\tfive\n     6\tsix"},
		{m{"command": "append", "path": "log.md", "file_text": "1\n"}, "File created successfully at: /memories/log.md"},
		{m{"command": "append", "path": "log.md", "file_text": "2\n"}, "Content appended to /memories/log.md"},
		{m{"command": "mkdir", "path": "deep/er"}, "Directory created successfully at: /memories/deep/er"},
		{m{"command": "mkdir", "path": "deep"}, "failure: Error: Directory /memories/deep already exists"},
		{m{"command": "mkdir", "path": "a.md"}, "failure: Error: A file already exists at /memories/a.md"},
		{m{"command": "mkdir", "path": ""}, "failure: Error: Cannot create directory at the root path."},
		{m{"command": "append", "path": "deep", "file_text": "x"}, "failure: Error: /memories/deep is a directory, not a file."},
		{m{"command": "append", "path": "/memories", "file_text": "x"}, "failure: Error: Cannot append to the root path."},
		{m{"command": "rename", "old_path": "/memories/log.md", "new_path": "deep/log.md"}, "Successfully renamed /memories/log.md to /memories/deep/log.md"},
		{m{"command": "rename", "old_path": "log.md", "new_path": "x.md"}, "failure: Error: The path /memories/log.md does not exist"},
		{m{"command": "rename", "old_path": "deep/log.md", "new_path": "a.md"}, "failure: Error: The destination /memories/a.md already exists"},
		{m{"command": "rename", "old_path": "deep", "new_path": "deep/in"}, "failure: Error: /memories/deep can't be moved into itself"},
		{m{"command": "create", "path": "../../../x.md", "file_text": "inside"}, "File created successfully at: /memories/x.md"},
		{m{"command": "create", "path": "__proto__/constructor", "file_text": "é"}, "File created successfully at: /memories/__proto__/constructor"},
		{m{"command": "view", "path": ""}, header + "0\t/memories/__proto__\n2\t/memories/__proto__/constructor\n32\t/memories/a.md\n0\t/memories/deep\n0\t/memories/deep/er\n4\t/memories/deep/log.md\n6\t/memories/x.md"},
		{m{"command": "delete", "path": "deep"}, "Successfully deleted /memories/deep"},
		{m{"command": "delete", "path": "deep"}, "failure: Error: The path /memories/deep does not exist"},
		{m{"command": "delete", "path": "/memories"}, "failure: Error: Cannot delete the root path."},
	} {
		if got := call("memory", step.args); got != step.want {
			t.Errorf("%d %v gave\n%q, want\n%q", i, step.args, got, step.want)
		}
	}
	if got := call("memory", m{"command": "erase", "path": "x"}); !strings.HasPrefix(got, "invalid: ") {
		t.Errorf("an unknown command gave %q", got)
	}
	// The other tools only read the notes.
	if got := call("filesystem", m{"command": "delete", "path": "/memories/a.md"}); got != "error: remove /memories/a.md: it can only be read here: the memory tool changes /memories" {
		t.Errorf("deleting a note gave %q", got)
	}
	if err := k.Tree.Files(t.Context()).WriteFile("memories/a.md", []byte("x"), 0o600); err == nil {
		t.Error("a note was written over")
	}
	if got := call("filesystem", m{"command": "rename", "path": "/memories/a.md", "new_path": "/a.md"}); !strings.HasPrefix(got, "error: ") {
		t.Errorf("moving a note gave %q", got)
	}
}

// Files are moved, deleted, brought back, and become what they were.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	files := tree(t)
	call := caller(t, kit.New(kit.Options{Tools: &project.Tools{Filesystem: &project.FilesystemTool{}, Sketchbook: &project.ToolOn{}}, Tree: files, Chat: "c"}))
	for _, text := range []string{"first", "second"} {
		if _, err := files.Write(t.Context(), "/a.txt", []byte(text), vfs.Anything); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range []struct {
		args m
		want string
	}{
		{m{"command": "versions", "path": "a.txt"}, "2  "},
		{m{"command": "rollback", "path": "a.txt", "version": 1}, "/a.txt holds what it held in version 1. This is version 3."},
		{m{"command": "rollback", "path": "a.txt", "version": 7}, "error: "},
		{m{"command": "mkdir", "path": "/dir"}, "Made the folder /dir."},
		{m{"command": "rename", "path": "/a.txt", "new_path": "dir/b.txt"}, "Renamed /a.txt to /dir/b.txt."},
		{m{"command": "rename", "path": "/a.txt"}, "error: rename needs new_path"},
		{m{"command": "delete", "path": "/dir"}, "Deleted /dir. restore brings it back."},
		{m{"command": "delete", "path": "/no"}, "error: "},
		{m{"command": "deleted", "path": "/"}, "/dir\n/dir/b.txt\n"},
		{m{"command": "restore", "path": "/dir"}, "Restored /dir."},
		{m{"command": "deleted", "path": "/"}, "Nothing is deleted in /."},
	} {
		if got := call("filesystem", step.args); !strings.HasPrefix(got, step.want) {
			t.Errorf("%d %v gave\n%q, want\n%q", i, step.args, got, step.want)
		}
	}
	if data, _, err := files.Read(t.Context(), "/dir/b.txt"); err != nil || string(data) != "first" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	for range 2 {
		if got := call("sketchbook", m{"content": "a draft"}); got != "noted." {
			t.Errorf("the sketchbook says %q", got)
		}
	}
	if data, _, err := files.Read(t.Context(), "/sketchbook/c.md"); err != nil || string(data) != "a draft\n---\na draft" {
		t.Errorf("the sketchbook holds %q, %v", data, err)
	}
}

// What came before a checkpoint is left out of requests, once the answer with it has ended: thoughts, and calls of all tools but
// those that are kept.
func TestSwipe(t *testing.T) {
	t.Parallel()
	answer := func(blocks ...llm.Block) llm.Message { return llm.Message{Role: llm.RoleAssistant, Content: blocks} }
	call := func(id, name string) llm.Block { return llm.ToolCall{ID: id, Name: name, Arguments: "{}"} }
	result := func(id, name, text string) llm.Message {
		r := llm.UserText(text)
		r.Role, r.ToolCallID, r.ToolName = llm.RoleToolResult, id, name
		return r
	}
	think := llm.Thinking{Text: "hm", Signature: "s"}
	const saved = "Checkpoint saved. Please stop and wait for instruction to continue."
	all := []llm.Message{
		llm.UserText("do it"),
		answer(think, llm.Text{Text: "I read."}, call("1", "read")), result("1", "read", "a file"),
		answer(think, call("2", "memory")), result("2", "memory", "a note"),
		answer(think, call("3", "checkpoint")), result("3", "checkpoint", saved),
		answer(think, llm.Text{Text: "Waiting."}),
	}
	k := kit.New(kit.Options{Tools: &project.Tools{Checkpoint: &project.CheckpointTool{Keep: []string{"memory"}}}, Tree: tree(t), Chat: "c"})
	shown := func(messages []llm.Message) string {
		r := &llm.Request{Messages: messages}
		if err := k.Chains.Requests[0].Change(t.Context(), session.ForTurn, r); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, m := range r.Messages {
			for _, c := range m.Content {
				switch c := c.(type) {
				case llm.Text:
					fmt.Fprintf(&b, "%s|", c.Text)
				case llm.Thinking:
					b.WriteString("thinking|")
				case llm.ToolCall:
					fmt.Fprintf(&b, "call %s|", c.Name)
				}
			}
		}
		return b.String()
	}
	const whole = "do it|thinking|I read.|call read|a file|thinking|call memory|a note|thinking|call checkpoint|" + saved + "|thinking|Waiting.|"
	if got := shown(all); got != whole {
		t.Errorf("while it is answered the model gets\n%s", got)
	}
	on, err := k.Chains.Continue[0].Ask(t.Context(), session.Ending{Since: all})
	if err != nil || on == nil || on.Message.Text() != "please continue" {
		t.Fatalf("the next request has %+v, %v", on, err)
	}
	if got, want := shown(append(all, on.Message)), "do it|I read.|call memory|a note|call checkpoint|"+saved+"|thinking|Waiting.|please continue|"; got != want {
		t.Errorf("after it the model gets\n%s, want\n%s", got, want)
	}
	if all[1].Content[0] != llm.Block(think) {
		t.Error("the conversation was changed")
	}
	if on, err := k.Chains.Continue[0].Ask(t.Context(), session.Ending{Since: all[:5]}); on != nil || err != nil {
		t.Errorf("without a checkpoint the next request has %+v, %v", on, err)
	}
}

// The system prompt has the list of notes and the start of README.md, and stays as it is until a person speaks again.
func TestMemoryInSystemPrompt(t *testing.T) {
	t.Parallel()
	files := tree(t)
	k := kit.New(kit.Options{Tools: &project.Tools{Memory: &project.MemoryTool{SystemPrompt: true}}, Tree: files, Chat: "c"})
	system := func(messages ...llm.Message) string {
		r := &llm.Request{System: "You are burin.", Messages: messages}
		if err := k.Chains.Requests[0].Change(t.Context(), session.ForTurn, r); err != nil {
			t.Fatal(err)
		}
		return r.System
	}
	one, two := llm.UserText("one"), llm.UserText("two")
	if got := system(one); !strings.HasPrefix(got, "You are burin.\n\n## Memory\n") || !strings.HasSuffix(got, "The /memories directory is empty.") {
		t.Errorf("at first %q", got)
	}
	line := strings.Repeat("x", 99) + "\n"
	if _, err := files.Write(t.Context(), "/memories/README.md", []byte(strings.Repeat(line, 400)), vfs.Anything); err != nil {
		t.Fatal(err)
	}
	if got := system(one, llm.Message{Role: llm.RoleAssistant}); strings.Contains(got, "README.md</") || !strings.HasSuffix(got, "is empty.") {
		t.Errorf("in the same turn %q", got)
	}
	got := system(one, llm.Message{Role: llm.RoleAssistant}, two)
	if !strings.Contains(got, "<listing>\n\t/memories/README.md\n</listing>\n\n## /memories/README.md\n\n<content>\n"+line) ||
		!strings.HasSuffix(got, "showing lines 1-320 of 400 total. Use the memory tool's view command with view_range to see more.]") {
		t.Errorf("in the next turn %q", got[:200])
	}
}

// An agent hands over its result, at the end or before it; the last one counts.
func TestReturn(t *testing.T) {
	t.Parallel()
	for _, deferred := range []bool{false, true} {
		k := kit.New(kit.Options{Tools: &project.Tools{}, Tree: tree(t), Chat: "c", Return: &kit.Returning{Deferred: deferred}})
		if len(k.Tools) != 1 || k.Tools[0].Name != "return" {
			t.Fatalf("the tools are %+v", k.Tools)
		}
		var said []llm.Message
		for _, text := range []string{"one", "two"} {
			r, err := k.Tools[0].Run(t.Context(), tool.Call{Name: "return", Arguments: json.RawMessage(fmt.Sprintf(`{"result":%q}`, text))})
			if err != nil || r.Final == deferred {
				t.Fatalf("deferred %v: %+v, %v", deferred, r, err)
			}
			said = append(said, llm.Message{Role: llm.RoleToolResult, ToolName: "return", Content: r.Content, Details: r.Details})
		}
		if got := kit.Returned(append(said, llm.UserText("later"))); got != "two" {
			t.Errorf("deferred %v: handed over %q", deferred, got)
		}
		if want := "Result stored. Please stop and wait for next instruction."; deferred && said[0].Text() != want {
			t.Errorf("the model reads %q", said[0].Text())
		}
	}
	if got := kit.Returned([]llm.Message{llm.UserText("nothing")}); got != "" {
		t.Errorf("without a call %q was handed over", got)
	}
}

// Personas are files of the project with names that are safe; what all of them are told comes first.
func TestPersonas(t *testing.T) {
	t.Parallel()
	files := tree(t)
	for path, text := range map[string]string{
		"_global.md": "Be brief.", "critic.md": "## Finds mistakes\nLook.", "..md": "x", "a b.md": "x", "notes.txt": "x", "binary.md": "\x00", "critic/critic.md": "x",
	} {
		if _, err := files.Write(t.Context(), "/minions/"+path, []byte(text), vfs.Anything); err != nil {
			t.Fatal(err)
		}
	}
	all, err := kit.Personas(t.Context(), files, "Work well.")
	want := []kit.Persona{{Name: "default", Description: "does any task", Prompt: "Be brief.\n\nWork well."}, {Name: "critic", Description: "Finds mistakes", Prompt: "Be brief.\n\n## Finds mistakes\nLook."}}
	if err != nil || fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("the personas are %q, %v", all, err)
	}
	for _, name := range []string{"..", "a/b", "_global", ""} {
		if _, err := kit.Namespace(files, name); err == nil {
			t.Errorf("%q is a persona", name)
		}
	}
}
