package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// An editor is asked what an agent wants to run, and by which agent.
func TestEditorIsAskedByAnAgent(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	r := openEditor(t, nil, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "task", ID: "c1", Args: `{"agent":"task","tasks":[{"id":"writer","assignment":"Write a.txt."}]}`}}},
		{Parts: []llmtest.Part{{Call: "bash", ID: "c2", Args: `{"command":"echo x > a.txt"}`}}},
		{Parts: []llmtest.Part{{Text: "Written."}}},
		{Parts: []llmtest.Part{{Text: "All done."}}},
	}, "--approval", "ask")
	var title string
	r.asked = func(_ string, params json.RawMessage) (any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		var q proto.PermissionRequest
		if err := json.Unmarshal(params, &q); err != nil {
			t.Error(err)
		}
		title = q.ToolCall.Title
		return object{"outcome": object{"outcome": "selected", "optionId": q.Options[0].OptionID}}, nil
	}
	r.hello(object{})
	id := r.begin()
	if stop := r.say(id, "write it"); stop != proto.StopEndTurn || r.text("agent_message_chunk") != "All done." {
		t.Errorf("it ended for %s; %s", stop, r.told())
	}
	if !strings.HasPrefix(title, "writer: ") || !strings.Contains(title, "echo x > a.txt") {
		t.Errorf("the title is %q", title)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "a.txt")); err != nil {
		t.Error(err)
	}
	r.close()
}

// The same for a program.
func TestRPCIsAskedByAnAgent(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	b.script = []string{`call task {"agent":"task","tasks":[{"id":"writer","assignment":"run touch made"}]}`}
	cmd := machine(t, b, rpcConfig)
	d := drive(t, cmd, "--mode", "rpc-ui", "--approval", "ask")
	d.send(`{"id":"1","type":"prompt","message":"say hello"}`)
	q := d.until("question", func(v map[string]any) bool { return v["method"] == "select" })
	if title := fmt.Sprint(q["title"]); !strings.HasPrefix(title, "writer: Allow bash") {
		t.Errorf("the title is %q", title)
	}
	d.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,"value":"Yes, this once"}`, q["id"]))
	d.event("agent_settled")
	if _, err := os.Stat(filepath.Join(cmd.Dir, "made")); err != nil {
		t.Error(err)
	}
	d.end(exitDone)
}
