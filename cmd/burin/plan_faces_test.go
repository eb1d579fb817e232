package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/llm/llmtest"
)

// An editor reviews a plan as a question of permission, and the mode follows the answer.
func TestEditorPlan(t *testing.T) {
	t.Parallel()
	r := openEditor(t, nil, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "exit_plan", ID: "c1", Args: `{"title":"write it","plan":"1. Write a.txt."}`}}},
		{Parts: []llmtest.Part{{Call: "write", ID: "c2", Args: `{"path":"a.txt","content":"x"}`}}},
		{Parts: []llmtest.Part{{Text: "Written."}}},
	}, "--approval", "plan")
	var asked []string
	r.asked = func(_ string, params json.RawMessage) (any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		asked = append(asked, string(params))
		var q proto.PermissionRequest
		if err := json.Unmarshal(params, &q); err != nil {
			t.Error(err)
		}
		i := slices.IndexFunc(q.Options, func(o proto.PermissionOption) bool {
			return o.Name == "Approve and execute in auto-edit mode" && o.Kind == proto.AllowOnce
		})
		if i < 0 {
			t.Errorf("no such option in %s", params)
			return object{"outcome": object{"outcome": "cancelled"}}, nil
		}
		return object{"outcome": object{"outcome": "selected", "optionId": q.Options[i].OptionID}}, nil
	}
	r.hello(object{})
	id := r.begin()
	if stop := r.say(id, "plan it"); stop != proto.StopEndTurn || r.text("agent_message_chunk") != "Written." {
		t.Errorf("it ended for %s; %s", stop, r.told())
	}
	if len(asked) != 1 || !strings.Contains(asked[0], "1. Write a.txt.") || !strings.Contains(asked[0], `"kind":"switch_mode"`) || !strings.Contains(asked[0], `"name":"Keep planning","kind":"reject_once"`) {
		t.Errorf("asked %s", asked)
	}
	if !slices.ContainsFunc(r.updates, func(u editorUpdate) bool {
		return u.Update.Kind == "current_mode_update" && u.Update.Mode == "auto-edit"
	}) {
		t.Errorf("the mode is not told: %s", r.told())
	}
	if !strings.Contains(r.last(), "The user approved this plan") {
		t.Errorf("the model read %s", r.last())
	}
	r.close()
}

// A program reviews a plan by choosing, or with words of its own.
func TestRPCPlan(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	d := drive(t, machine(t, b, rpcConfig), "--mode", "rpc-ui", "--approval", "plan")
	review := func(value string) map[string]any {
		q := d.until("question", func(v map[string]any) bool { return v["method"] == "select" })
		d.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,"value":%q}`, q["id"], value))
		return q
	}
	d.send(`{"id":"1","type":"prompt","message":"plan it"}`)
	q := review("Approve and execute in ask mode")
	if q["title"] != "Plan: all_of-it" || q["message"] != "1. Run touch made." || q["timeout"] != nil {
		t.Errorf("the question is %v", q)
	}
	d.event("agent_settled")
	if sent := b.sent(); !strings.Contains(sent, "The user approved this plan") {
		t.Errorf("the model read %s", sent)
	}
	if got := d.ask("2", `{"id":"2","type":"get_state"}`)["sessionName"]; got != "All of it" {
		t.Errorf("the session is named %v", got)
	}
	d.end(exitDone)
}

// The conversation is compacted before a plan is carried out, and the plan stays whole.
func TestRPCPlanCompacts(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	d := drive(t, machine(t, b, rpcConfig), "--mode", "rpc-ui")
	d.send(`{"id":"0","type":"prompt","message":"say hello"}`) // a compaction keeps the first one
	d.event("agent_settled")
	d.send(fmt.Sprintf(`{"id":"1","type":"prompt","message":"say zebra %s"}`, strings.Repeat("word ", 2000)))
	d.event("agent_settled")
	d.ask("2", `{"id":"2","type":"burin/set_mode","with":{"text":"plan"}}`)
	d.send(`{"id":"3","type":"prompt","message":"plan it"}`)
	q := d.until("question", func(v map[string]any) bool { return v["method"] == "select" })
	d.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,"value":"Approve and compact the context first"}`, q["id"]))
	d.event("agent_settled")
	all := b.srv.Raw()
	sent := string(all[len(all)-1].Body)
	if !strings.Contains(sent, "SUMMARY of what was said") || !strings.Contains(sent, "1. Run touch made.") || strings.Contains(sent, "word word") {
		t.Errorf("the model read %s", sent)
	}
	d.end(exitDone)
}
