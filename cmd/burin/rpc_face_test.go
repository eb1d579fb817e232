package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
)

// again is another burin in the same home and folder.
func again(cmd *exec.Cmd) *exec.Cmd {
	next := exec.Command(cmd.Path)
	next.Args, next.Dir, next.Env = []string{"burin"}, cmd.Dir, cmd.Env
	return next
}

// A person's answers to questions of permission, and to those of the model, have their
// effect; a client that is not known to have a person is given a time.
func TestRPCQuestions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	d := drive(t, machine(t, b, rpcConfig), "--mode", "rpc")
	asked := func() map[string]any {
		return d.until("question", func(v map[string]any) bool {
			return v["type"] == "extension_ui_request" && v["method"] != "setTitle" && v["method"] != "notify"
		})
	}
	answer := func(q map[string]any, field string, value any) {
		raw, _ := json.Marshal(map[string]any{"type": "extension_ui_response", "id": q["id"], field: value})
		d.send(string(raw))
	}
	made := func(name string) bool {
		_, err := os.Stat(filepath.Join(d.cmd.Dir, name))
		return err == nil
	}

	d.send(`{"id":"1","type":"prompt","message":"run touch one"}`)
	q := asked()
	if q["timeout"] != 300_000.0 || !strings.Contains(q["title"].(string), "touch one") {
		t.Errorf("the question is %v", q)
	}
	answer(map[string]any{"id": "nothing"}, "value", "Yes, this once") // nobody asked that
	answer(q, "value", "No")
	d.event("agent_settled")
	if made("one") {
		t.Error("a refused call has run")
	}

	d.send(`{"id":"2","type":"prompt","message":"run touch two"}`)
	q = asked()
	if q["timeout"] != nil {
		t.Errorf("a client that answers has no more time than %v", q["timeout"])
	}
	always := ""
	for _, o := range q["options"].([]any) {
		if s := o.(string); strings.HasSuffix(s, " in this session") {
			always = s
		}
	}
	answer(q, "value", always)
	d.event("agent_settled")
	d.send(`{"id":"3","type":"prompt","message":"run touch two"}`) // the grant holds
	d.event("agent_settled")
	if !made("two") {
		t.Error("an allowed call has not run")
	}

	d.send(`{"id":"4","type":"prompt","message":"run cp go.mod three"}`)
	answer(asked(), "value", "use the other folder")
	d.event("agent_settled")
	if !strings.Contains(b.sent(), "use the other folder") {
		t.Error("the model did not read what to do instead")
	}

	d.send(`{"id":"5","type":"prompt","message":"ask"}`)
	q = asked()
	if fmt.Sprint(q["options"]) != "[blue red Other: type your own answer]" {
		t.Errorf("options: %v", q["options"])
	}
	answer(q, "value", "Other: type your own answer")
	q = asked()
	if q["method"] != "input" {
		t.Errorf("own words are asked for with %v", q)
	}
	answer(q, "value", "mauve")
	d.event("agent_settled")
	if !strings.Contains(b.sent(), "mauve") {
		t.Error("the model did not read the answer")
	}

	d.send(`{"id":"6","type":"prompt","message":"run cp go.mod six"}`)
	answer(asked(), "cancelled", true)
	d.event("agent_settled")
	if made("six") {
		t.Error("a cancelled call has run")
	}
	d.end(exitDone)
}

// Two clients share a session: both are sent the same events, either answers what is asked,
// and a client that goes to another session ends it for nobody.
func TestRPCSharedSession(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	first := drive(t, cmd, "--mode", "rpc-ui")
	first.send(`{"id":"1","type":"prompt","message":"say hello"}`)
	first.event("agent_settled")
	path := first.ask("2", `{"id":"2","type":"get_state"}`)["sessionFile"].(string)
	second := drive(t, again(cmd), "--mode", "rpc", "--resume", path)
	if got := second.ask("2", `{"id":"2","type":"get_last_assistant_text"}`)["text"]; got != "hello" {
		t.Fatalf("the other client reads %v", got)
	}
	follow := func(d *driven) { d.ask("f", `{"id":"f","type":"burin/follow"}`) }
	follow(first)
	follow(second)
	raw := func(d *driven) (all []string) {
		d.until("the end", func(v map[string]any) bool {
			return v["type"] == "burin/event" && v["event"].(map[string]any)["type"] == "agent_settled"
		})
		for _, line := range d.seen {
			if strings.HasPrefix(line, `{"type":"burin/event"`) && !strings.Contains(line, `"event":{"type":"message_update"`) && !strings.Contains(line, `"event":{"type":"tool_execution_update"`) {
				all = append(all, line)
			}
		}
		return all
	}
	second.send(`{"id":"3","type":"prompt","message":"run touch shared"}`)
	q := first.until("question", func(v map[string]any) bool { return v["method"] == "select" })
	if q["timeout"] != nil {
		t.Errorf("rpc-ui has a timeout: %v", q)
	}
	first.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,"value":"Yes, this once"}`, q["id"]))
	one, two := raw(first), raw(second)
	if strings.Join(one, "\n") != strings.Join(two, "\n") {
		t.Errorf("the clients were sent different events:\n%s\n\n%s", strings.Join(one, "\n"), strings.Join(two, "\n"))
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "shared")); err != nil {
		t.Error(err)
	}

	// The first one owns the session, and goes on in another.
	first.ask("4", `{"id":"4","type":"new_session"}`)
	second.send(`{"id":"5","type":"prompt","message":"say still here"}`)
	second.until("the answer", func(v map[string]any) bool {
		return v["type"] == "message_end" && strings.Contains(v["\x00"].(string), `"text":"still here"`)
	})
	if got := first.ask("6", `{"id":"6","type":"get_messages"}`)["messages"]; len(got.([]any)) != 0 {
		t.Errorf("the new session has %v", got)
	}
	// It goes back to the one that it has left.
	first.ask("7", fmt.Sprintf(`{"id":"7","type":"switch_session","sessionPath":%q}`, path))
	if got := first.ask("8", `{"id":"8","type":"get_last_assistant_text"}`)["text"]; got != "still here" {
		t.Errorf("back in the session it reads %v", got)
	}
	// When the owner ends, the session continues in the other.
	first.end(exitDone)
	for late := time.Now().Add(time.Minute); ; {
		second.send(`{"id":"9","type":"prompt","message":"say alone","streamingBehavior":"steer"}`)
		v := second.response("9")
		if v["success"] == true {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the session does not go on here: %v", v)
		}
		<-time.After(20 * time.Millisecond)
	}
	second.event("agent_settled")
	second.end(exitDone)
}

// A client that does not read holds up neither the session nor another client.
func TestRPCStalledReader(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	owner := again(cmd)
	owner.Args = append(owner.Args, "--mode", "rpc")
	in, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, unread, err := os.Pipe() // nobody reads it after the first line
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	owner.Stdout = unread
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	_ = unread.Close()
	t.Cleanup(func() { _ = owner.Process.Kill() })
	_, _ = in.Write([]byte(`{"id":"1","type":"prompt","message":"say hello"}` + "\n" + `{"id":"2","type":"get_state"}` + "\n"))
	path, dec := "", json.NewDecoder(out)
	for settled := false; path == "" || !settled; {
		var v map[string]any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		settled = settled || v["type"] == "agent_settled"
		if data, ok := v["data"].(map[string]any); ok {
			path = data["sessionFile"].(string)
		}
	}
	other := drive(t, again(cmd), "--mode", "rpc", "--resume", path)
	long := strings.Repeat("many words ", 20_000)
	for i := range 5 {
		id := fmt.Sprint("p", i)
		other.ask(id, fmt.Sprintf(`{"id":%q,"type":"prompt","message":"say %s"}`, id, long))
		other.event("agent_settled")
	}
	other.end(exitDone)
	_ = owner.Process.Signal(os.Interrupt)
	done := make(chan error, 1)
	go func() { done <- owner.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("the process whose output nobody reads does not end")
	}
}

// SIGTERM ends burin in order, while the model works.
func TestRPCSignal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	b := newBrain(t)
	d := drive(t, machine(t, b, rpcConfig), "--mode", "rpc")
	d.send(`{"id":"1","type":"prompt","message":"hold"}`)
	d.event("turn_start")
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	d.end(exitDone)
}

// What a client sends in one go is done in its order: an abort stops the prompt before it, a
// model counts for the prompt behind it, and long commands hold up nothing.
func TestRPCOrder(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	d := drive(t, machine(t, b, rpcConfig), "--mode", "rpc")
	d.send(`{"id":"1","type":"bash","command":"sleep 30"}
{"id":"2","type":"set_model","provider":"box","modelId":"two"}
{"id":"3","type":"get_state"}
{"id":"4","type":"abort_bash"}`)
	data := map[any]map[string]any{}
	d.until("both responses", func(v map[string]any) bool {
		if v["type"] == "response" {
			data[v["id"]], _ = v["data"].(map[string]any)
		}
		return data["1"] != nil && data["3"] != nil
	})
	if data["1"]["cancelled"] != true {
		t.Errorf("the command goes on: %v", data["1"])
	}
	state := data["3"]
	if state["model"].(map[string]any)["id"] != "two" {
		t.Errorf("the model is %v", state["model"])
	}
	d.send(`{"id":"5","type":"prompt","message":"hold"}
{"id":"6","type":"abort"}
{"id":"7","type":"get_state"}`)
	d.response("6")
	if state := d.ask("8", `{"id":"8","type":"get_state"}`); state["isStreaming"] != false {
		t.Error("the prompt before the abort goes on")
	}
	d.send(`{"id":"9","type":"prompt","message":"say by two"}`)
	d.until("the answer", func(v map[string]any) bool {
		return v["type"] == "message_end" && strings.Contains(v["\x00"].(string), `"text":"by two"`)
	})
	if body := b.sent(); !strings.Contains(body, `"model":"two"`) {
		t.Errorf("the model was asked: %s", body)
	}
	d.end(exitDone)
}

// With a schema the model hands over a result of it; one that does not fit goes back to it.
func TestRPCResult(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	d := drive(t, machine(t, b, rpcConfig), "--mode", "rpc", "--json-schema", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	handed := func(message string) (failed bool) {
		t.Helper()
		d.send(fmt.Sprintf(`{"type":"prompt","message":%q}`, message))
		v := d.until("a result", func(v map[string]any) bool { return v["type"] == "tool_execution_end" && v["toolName"] == "result" })
		d.event("agent_settled")
		return v["isError"] == true
	}
	if handed(`result {"n":1}`) {
		t.Error("a result by the schema is refused")
	}
	if !handed(`result {"n":"one"}`) || !strings.Contains(b.sent(), "integer") {
		t.Error("a result that does not fit was taken, or the model not told what is wrong")
	}
}
