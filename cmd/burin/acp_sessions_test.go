package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/acp/acptest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

func say(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }

// fails checks that a call fails with a code.
func (r *editorRig) fails(code int, method string, params any) {
	r.t.Helper()
	err := r.try(method, params, nil)
	var e *proto.Error
	if !errors.As(err, &e) || e.Code != code {
		r.t.Errorf("%s %v fails with %v, want code %d", method, params, err, code)
	}
}

// A session is closed, listed, loaded with its whole conversation, resumed without it,
// forked and deleted.
func TestEditorSessions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	r := openEditor(t, map[string]string{"a.txt": "alpha\n"}, []llmtest.Turn{
		{Parts: []llmtest.Part{{Thinking: "hm", Signature: "s"}, {Text: "Reading. "}, {Call: "read", ID: "c1", Args: `{"path":"a.txt:1-1"}`}}},
		say("It says alpha."), say("Still alpha."), say("In the copy."),
	})
	r.hello(object{})
	id := r.begin()
	r.say(id, "what is in a.txt?")
	live := r.told()
	r.call(proto.MethodSessionClose, object{"sessionId": id}, nil)
	r.fails(proto.CodeNotFound, proto.MethodSessionPrompt, object{"sessionId": id, "prompt": []any{proto.Text("x")}})

	other := filepath.Join(r.home, "other")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	var list proto.ListResponse
	r.call(proto.MethodSessionList, object{"cwd": r.dir}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || list.Sessions[0].CWD != r.dir || list.Sessions[0].Title != "what is in a.txt?" {
		t.Errorf("the list is %+v", list)
	}
	r.call(proto.MethodSessionList, object{"cwd": other}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("another folder has %+v", list)
	}
	var status proto.StatusResponse
	if r.call(proto.MethodSessionStatus, object{"sessionId": id}, &status); status.Status != "saved" {
		t.Errorf("a closed session is %q", status.Status)
	}

	clear := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.updates, r.frames = nil, nil
	}
	clear()
	r.call(proto.MethodSessionLoad, object{"sessionId": id, "cwd": r.dir, "mcpServers": []any{}}, nil)
	r.mu.Lock()
	answered := slices.IndexFunc(r.frames, func(f string) bool { return strings.Contains(f, `"result"`) })
	said := slices.IndexFunc(r.frames, func(f string) bool { return strings.Contains(f, "It says alpha.") })
	r.mu.Unlock()
	if said < 0 || said > answered {
		t.Errorf("the conversation came at %d, the answer at %d", said, answered)
	}
	if got := r.text("user_message_chunk") + "|" + r.text("agent_thought_chunk") + "|" + r.text("agent_message_chunk"); got != "what is in a.txt?|hm|Reading. It says alpha." {
		t.Errorf("the conversation is %q", got)
	}
	calls := r.calls()
	if len(calls) != 2 || calls[0].Update.Kind != "tool_call" || calls[0].Update.Title != "Read a.txt:1-1" || calls[1].Update.Status != "completed" || !strings.Contains(string(calls[1].Update.Content), "alpha") ||
		len(calls[0].Update.Places) != 1 || calls[0].Update.Places[0].Path != filepath.Join(r.dir, "a.txt") || calls[0].Update.Places[0].Line != 1 {
		t.Errorf("the call is %+v, live it was\n%s", calls, live)
	}
	if r.call(proto.MethodSessionStatus, object{"sessionId": id}, &status); status.Status != "open" {
		t.Errorf("a loaded session is %q", status.Status)
	}
	r.call(proto.MethodSessionClose, object{"sessionId": id}, nil)

	clear()
	r.call(proto.MethodSessionResume, object{"sessionId": id, "cwd": r.dir}, nil)
	r.until("the commands", func() bool {
		return slices.ContainsFunc(r.updates, func(u editorUpdate) bool { return u.Update.Kind == "available_commands_update" })
	})
	if got := r.text("agent_message_chunk"); got != "" {
		t.Errorf("a session that was resumed said %q", got)
	}
	if r.say(id, "and now?"); !strings.Contains(r.last(), "It says alpha.") || r.text("agent_message_chunk") != "Still alpha." {
		t.Errorf("the conversation does not go on: %s", r.told())
	}

	var fork proto.SessionResponse
	r.call(proto.MethodSessionFork, object{"sessionId": id, "cwd": r.dir}, &fork)
	if fork.SessionID == id || fork.SessionID == "" {
		t.Errorf("the fork is %q", fork.SessionID)
	}
	if r.say(fork.SessionID, "where are we?"); !strings.Contains(r.last(), "Still alpha.") {
		t.Error("the fork knows nothing of the conversation")
	}
	var titled proto.SetTitleResponse
	if r.call(proto.MethodSessionSetTitle, object{"sessionId": fork.SessionID, "title": "The copy"}, &titled); titled.Title != "The copy" {
		t.Errorf("the title is %q", titled.Title)
	}
	r.until("the title", func() bool {
		return slices.ContainsFunc(r.updates, func(u editorUpdate) bool {
			return u.Update.Kind == "session_info_update" && u.Update.Title == "The copy"
		})
	})
	r.call(proto.MethodSessionDelete, object{"sessionId": id}, nil)
	r.call(proto.MethodSessionList, object{}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != fork.SessionID {
		t.Errorf("after the deletion there are %+v", list)
	}
	r.fails(proto.CodeNotFound, proto.MethodSessionLoad, object{"sessionId": id, "cwd": r.dir, "mcpServers": []any{}})
	if trash, err := filepath.Glob(filepath.Join(r.home, "burin", "trash", "*")); err != nil || len(trash) == 0 {
		t.Errorf("the trash holds %v, %v", trash, err)
	}
}

// Long lists come in pages.
func TestEditorListPages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	r := openEditor(t, nil, nil)
	for i := range 120 {
		id := fmt.Sprintf("0199%04d", i)
		writeFile(t, filepath.Join(r.home, "burin", "sessions", "p", "2026-01-01T00-00-00_"+id+".jsonl"), fmt.Appendf(nil, `{"type":"session","version":3,"id":%q,"timestamp":"2026-01-01T00:00:00.000Z","cwd":%q}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hi","timestamp":1}}
`, id, r.dir), 0o644)
	}
	r.hello(object{})
	seen, cursor, pages := map[string]bool{}, "", 0
	for {
		var list proto.ListResponse
		r.call(proto.MethodSessionList, object{"cursor": cursor}, &list)
		for _, s := range list.Sessions {
			seen[s.SessionID] = true
		}
		pages++
		if cursor = list.NextCursor; cursor == "" {
			break
		}
	}
	if len(seen) != 120 || pages != 3 {
		t.Errorf("%d sessions on %d pages", len(seen), pages)
	}
	r.fails(proto.CodeInvalidParams, proto.MethodSessionList, object{"cursor": "nonsense"})
}

// What is wrong gets the code for it, and the connection goes on.
func TestEditorErrors(t *testing.T) {
	t.Parallel()
	r := openEditor(t, nil, []llmtest.Turn{say("fine")})
	r.wrong.Store(true)
	r.fails(proto.CodeInvalidRequest, proto.MethodSessionList, object{})
	r.fails(proto.CodeInvalidParams, proto.MethodInitialize, object{})
	r.fails(proto.CodeInvalidParams, proto.MethodInitialize, object{"protocolVersion": 0})
	var newer proto.InitializeResponse
	r.call(proto.MethodInitialize, object{"protocolVersion": 7}, &newer)
	if newer.ProtocolVersion != 1 {
		t.Errorf("a client of version 7 is offered version %d", newer.ProtocolVersion)
	}
	r.hello(object{})
	id := r.begin()
	prompt := func(block object) object { return object{"sessionId": id, "prompt": []any{block}} }
	for _, tt := range []struct {
		code   int
		method string
		params any
	}{
		{proto.CodeMethodNotFound, "session/nonsense", object{}},
		{proto.CodeMethodNotFound, "_zed.dev/unknown", object{}},
		{proto.CodeInvalidParams, proto.MethodSessionNew, object{"cwd": "relative", "mcpServers": []any{}}},
		{proto.CodeInvalidParams, proto.MethodSessionNew, object{"cwd": r.dir + "/none", "mcpServers": []any{}}},
		{proto.CodeInvalidParams, proto.MethodSessionNew, []any{1}},
		{proto.CodeNotFound, proto.MethodSessionPrompt, object{"sessionId": "none", "prompt": []any{proto.Text("x")}}},
		{proto.CodeNotFound, proto.MethodSessionLoad, object{"sessionId": "../../etc/passwd", "cwd": r.dir, "mcpServers": []any{}}},
		{proto.CodeInvalidParams, proto.MethodSessionPrompt, object{"sessionId": id, "prompt": []any{}}},
		{proto.CodeInvalidParams, proto.MethodSessionPrompt, prompt(object{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"})},
		{proto.CodeInvalidParams, proto.MethodSessionPrompt, prompt(object{"type": "image", "data": "?", "mimeType": "image/png"})},
		{proto.CodeInvalidParams, proto.MethodSessionSetMode, object{"sessionId": id, "modeId": "wild"}},
		{proto.CodeInvalidParams, proto.MethodSessionSetOption, object{"sessionId": id, "configId": "color", "value": "red"}},
		{proto.CodeInvalidParams, proto.MethodSessionSetOption, object{"sessionId": id, "configId": "model", "value": "no/such"}},
		{proto.CodeInvalidParams, proto.MethodAuthenticate, object{"methodId": "oauth"}},
	} {
		r.fails(tt.code, tt.method, tt.params)
	}
	if stop := r.say(id, "hello"); stop != proto.StopEndTurn {
		t.Errorf("after all this a prompt ends for %s", stop)
	}
}

// Without a key the editor is told to have its person log in.
func TestEditorWithoutKey(t *testing.T) {
	t.Parallel()
	r := openEditor(t, nil, nil)
	if err := os.RemoveAll(filepath.Join(r.home, "burin")); err != nil {
		t.Fatal(err)
	}
	if is := r.hello(object{}); len(is.AuthMethods) != 1 || is.AuthMethods[0].Type != "" {
		t.Errorf("ways to authenticate: %+v", is.AuthMethods)
	}
	is := r.hello(object{"auth": object{"terminal": true}})
	i := slices.IndexFunc(is.AuthMethods, func(m proto.AuthMethod) bool { return m.Type == "terminal" })
	if i < 0 {
		t.Fatalf("ways to authenticate: %+v", is.AuthMethods)
	}
	r.fails(proto.CodeAuthRequired, proto.MethodSessionNew, object{"cwd": r.dir, "mcpServers": []any{}})
	r.fails(proto.CodeAuthRequired, proto.MethodAuthenticate, object{"methodId": is.AuthMethods[0].ID})

	// What the editor starts in a terminal asks for a provider.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args, cmd.Env, cmd.Dir = []string{"burin", "acp"}, append(r.env, acpLogin+"="+is.AuthMethods[i].Env[acpLogin]), r.home
	cmd.Stdin = strings.NewReader("nobody\n")
	out, err := cmd.CombinedOutput()
	if exitCode(t, err) != exitUsage || !strings.Contains(string(out), "openrouter") || !strings.Contains(string(out), `"nobody" has no login`) {
		t.Errorf("it says %q", out)
	}
}

// All kinds of content reach the model.
func TestEditorContent(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	r := openEditor(t, map[string]string{"sub/b.go": "package b\n"}, []llmtest.Turn{say("seen")})
	r.hello(object{})
	id := r.begin()
	uri := func(name string) string { return (&url.URL{Scheme: "file", Path: filepath.Join(r.dir, name)}).String() }
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	data, err := base64.StdEncoding.DecodeString(png)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(r.dir, "dot.png"), data, 0o644)
	var is proto.PromptResponse
	r.call(proto.MethodSessionPrompt, object{"sessionId": id, "prompt": []any{
		object{"type": "text", "text": "look"},
		object{"type": "image", "data": png, "mimeType": "image/png"},
		object{"type": "resource_link", "uri": uri("sub/b.go"), "name": "b.go"},
		object{"type": "resource_link", "uri": uri("dot.png"), "name": "dot.png"},
		object{"type": "resource_link", "uri": "https://example.com/doc", "name": "the doc"},
		object{"type": "resource", "resource": object{"uri": uri("notes.md"), "text": "unsaved notes"}},
		object{"type": "resource", "resource": object{"uri": "x://blob", "blob": base64.StdEncoding.EncodeToString([]byte("words of a blob")), "mimeType": "text/plain"}},
	}}, &is)
	var body struct {
		Messages []struct {
			Content []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal([]byte(r.last()), &body); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range body.Messages {
		for _, c := range m.Content {
			got = append(got, c.Type+" "+c.Text)
		}
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{"text look", "text @sub/b.go", "text the doc (https://example.com/doc)", "text <file path=\"notes.md\">\nunsaved notes\n</file>", "words of a blob"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in %s", want, all)
		}
	}
	if n := strings.Count(all, "image "); n != 2 {
		t.Errorf("%d images in %s", n, all)
	}
}

// What the editor has open wins over the disk, and the editor writes what it has.
func TestEditorDocuments(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	r := openEditor(t, map[string]string{"a.txt": "saved one\nsaved two\n", "b.txt": "closed\n"}, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "read", ID: "c1", Args: `{"path":"a.txt"}`}, {Call: "read", ID: "c2", Args: `{"path":"b.txt"}`}}},
		{Parts: []llmtest.Part{{Call: "grep", ID: "c3", Args: `{"pattern":"unsaved"}`}}},
		{Parts: []llmtest.Part{{Call: "edit", ID: "c4", Args: `{"path":"a.txt","edits":[{"old":"unsaved one","new":"changed one"}]}`}}},
		{Parts: []llmtest.Part{{Call: "write", ID: "c5", Args: `{"path":"new.txt","content":"new\n"}`}}},
		say("done"),
	}, "--approval", "auto-edit", "--edit-engine", "replace")
	open := map[string]string{"a.txt": "unsaved one\nsaved two\n"}
	var written []string
	r.asked = func(method string, params json.RawMessage) (any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		var q proto.WriteTextFileRequest
		if err := json.Unmarshal(params, &q); err != nil {
			return nil, err
		}
		name, err := filepath.Rel(r.dir, q.Path)
		if err != nil {
			return nil, err
		}
		switch method {
		case proto.MethodReadTextFile:
			if text, ok := open[name]; ok {
				return proto.ReadTextFileResponse{Content: text}, nil
			}
			b, err := os.ReadFile(q.Path)
			if err != nil {
				return nil, proto.Errorf(proto.CodeNotFound, "no such file")
			}
			return proto.ReadTextFileResponse{Content: string(b)}, nil
		case proto.MethodWriteTextFile:
			written = append(written, name)
			delete(open, name)
			return proto.Empty{}, os.WriteFile(q.Path, []byte(q.Content), 0o644)
		}
		return nil, proto.Errorf(proto.CodeMethodNotFound, "no method")
	}
	r.hello(object{"fs": object{"readTextFile": true, "writeTextFile": true}})
	id := r.begin()
	r.say(id, "go")
	output := func(call string) string {
		var s string
		for _, u := range r.calls() {
			if u.Update.Call == call && u.Update.Status == "completed" {
				s = string(u.Update.Content)
			}
		}
		return s
	}
	if s := output("c1"); !strings.Contains(s, "unsaved one") || strings.Contains(s, "saved one\\nsaved two") && !strings.Contains(s, "unsaved") {
		t.Errorf("reading gave %s", s)
	}
	if s := output("c2"); !strings.Contains(s, "closed") {
		t.Errorf("reading a file that is not open gave %s", s)
	}
	if s := output("c3"); !strings.Contains(s, "a.txt") {
		t.Errorf("searching gave %s", s)
	}
	if b, err := os.ReadFile(filepath.Join(r.dir, "a.txt")); err != nil || string(b) != "changed one\nsaved two\n" {
		t.Errorf("the edited file holds %q, %v; %s", b, err, r.told())
	}
	if !slices.Equal(written, []string{"a.txt", "new.txt"}) {
		t.Errorf("the editor wrote %v", written)
	}
	r.say(id, "/undo")
	if b, err := os.ReadFile(filepath.Join(r.dir, "new.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the undo new.txt holds %q, %v; %s", b, err, r.text("agent_message_chunk"))
	}
}

// Modes, models and levels change by every way to change them, and everybody hears of it.
func TestEditorOptions(t *testing.T) {
	t.Parallel()
	r := openEditor(t, map[string]string{".burin/commands/greet.md": "---\ndescription: Say hello\n---\nGreet $ARGUMENTS warmly.\n"}, []llmtest.Turn{say("Hello Ada"), say("from two"), say("aside")})
	r.hello(object{})
	var is proto.SessionResponse
	r.call(proto.MethodSessionNew, object{"cwd": r.dir, "mcpServers": []any{}}, &is)
	id := is.SessionID
	value := func(options []proto.ConfigOption, id string) string {
		for _, o := range options {
			if o.ID == id {
				return o.CurrentValue
			}
		}
		return ""
	}
	if is.Modes.CurrentModeID != "ask" || value(is.ConfigOptions, "mode") != "ask" || value(is.ConfigOptions, "model") != "script/one" || is.Models.CurrentModelID != "script/one" {
		t.Errorf("a new session is %+v", is)
	}
	r.until("the commands", func() bool {
		for _, u := range r.updates {
			for _, c := range u.Update.Commands {
				if c.Name == "greet" {
					return true
				}
			}
		}
		return false
	})
	r.call(proto.MethodSessionSetMode, object{"sessionId": id, "modeId": "plan"}, nil)
	r.until("the mode", func() bool {
		return slices.ContainsFunc(r.updates, func(u editorUpdate) bool { return u.Update.Kind == "current_mode_update" && u.Update.Mode == "plan" })
	})
	var options proto.ConfigOptions
	r.call(proto.MethodSessionSetOption, object{"sessionId": id, "configId": "mode", "value": "full"}, &options)
	if got := value(options.ConfigOptions, "mode"); got != "full" {
		t.Errorf("the mode is %s", got)
	}
	if r.say(id, "/greet Ada"); !strings.Contains(r.last(), "Greet Ada warmly.") {
		t.Errorf("a command that is a file reached the model as %s", r.last())
	}
	r.call(proto.MethodSessionSetModel, object{"sessionId": id, "modelId": "script/two"}, nil)
	if r.say(id, "who are you?"); !strings.Contains(r.last(), `"model":"two"`) {
		t.Errorf("the other model was not asked: %.100s", r.last())
	}
	asked := len(r.server.Raw())
	for command, want := range map[string]string{
		"/model script/one": "script/one", "/mode": "full", "/rename Greetings": "Renamed", "/cost": "2 requests", "/context": "tokens", "/pin Ada is nice": "Pinned", "/undo": "Nothing to undo", "/model none/such": "no provider",
	} {
		r.mu.Lock()
		r.updates = nil
		r.mu.Unlock()
		if stop := r.say(id, command); stop != proto.StopEndTurn || !strings.Contains(r.text("agent_message_chunk"), want) {
			t.Errorf("%s ends for %s and says %q", command, stop, r.text("agent_message_chunk"))
		}
	}
	if n := len(r.server.Raw()); n != asked {
		t.Errorf("commands of burin's own made %d requests", n-asked)
	}
}

// The model's own questions are a form, or else options; a notice tells what can't be asked.
func TestEditorQuestions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	ask := `{"questions":[{"id":"color","question":"Which color?","options":[{"label":"red"},{"label":"blue"}],"recommended":1}]}`
	for _, tt := range []struct {
		name         string
		capabilities object
		answer       func(t *testing.T, method string, params json.RawMessage) (any, error)
		want         string
	}{
		{"form", object{"elicitation": object{"form": object{}}}, func(t *testing.T, method string, params json.RawMessage) (any, error) {
			if method != proto.MethodElicitation || !strings.Contains(string(params), `"default":"blue"`) {
				t.Errorf("%s %s", method, params)
			}
			return object{"action": "accept", "content": object{"q1": "red", "q1_other": ""}}, nil
		}, "red"},
		{"options", object{}, func(t *testing.T, method string, params json.RawMessage) (any, error) {
			if method != proto.MethodRequestPermission {
				t.Errorf("%s %s", method, params)
			}
			return object{"outcome": object{"outcome": "selected", "optionId": "1"}}, nil
		}, "blue"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openEditor(t, nil, []llmtest.Turn{{Parts: []llmtest.Part{{Call: "ask", ID: "c1", Args: ask}}}, say("ok")})
			r.asked = func(method string, params json.RawMessage) (any, error) { return tt.answer(t, method, params) }
			r.hello(tt.capabilities)
			r.say(r.begin(), "ask me")
			var answer string
			for _, u := range r.calls() {
				if u.Update.Status == "completed" {
					answer = string(u.Update.Content)
				}
			}
			if !strings.Contains(answer, tt.want) {
				t.Errorf("the answer is %s", answer)
			}
		})
	}
}

// Rejected calls do not run; what is always allowed is not asked about again.
func TestEditorPermission(t *testing.T) {
	t.Parallel()
	touch := func(id, name string) llmtest.Turn {
		return llmtest.Turn{Parts: []llmtest.Part{{Call: "bash", ID: id, Args: `{"command":"touch ` + name + `"}`}}}
	}
	r := openEditor(t, nil, []llmtest.Turn{touch("c1", "a"), touch("c2", "b"), touch("c3", "b"), touch("c4", "d"), touch("c5", "d"), say("done")})
	kinds := []string{proto.RejectOnce, proto.AllowAlways, proto.RejectAlways}
	var asked []string
	r.asked = func(_ string, params json.RawMessage) (any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		var q proto.PermissionRequest
		if err := json.Unmarshal(params, &q); err != nil {
			return nil, err
		}
		asked = append(asked, q.ToolCall.ToolCallID)
		if len(asked) > len(kinds) {
			return nil, proto.Errorf(1, "too many questions")
		}
		return choose(t, params, kinds[len(asked)-1]), nil
	}
	r.hello(object{})
	r.say(r.begin(), "go")
	if want := []string{"c1", "c2", "c4"}; !slices.Equal(asked, want) {
		t.Errorf("questions about %v, want %v", asked, want)
	}
	for name, want := range map[string]bool{"a": false, "b": true, "d": false} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
}

// Two folders have two sessions: instructions and files are those of each.
func TestEditorTwoFolders(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	r := openEditor(t, map[string]string{"AGENTS.md": "FIRST RULES", "x": "of one"}, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "read", ID: "c1", Args: `{"path":"x"}`}}},
		say("one"),
		{Parts: []llmtest.Part{{Call: "read", ID: "c2", Args: `{"path":"x"}`}}},
		say("two"),
	})
	second := filepath.Join(r.home, "second")
	writeFile(t, filepath.Join(second, "AGENTS.md"), []byte("SECOND RULES"), 0o644)
	writeFile(t, filepath.Join(second, "x"), []byte("of two"), 0o644)
	r.hello(object{})
	one := r.begin()
	var is proto.SessionResponse
	r.call(proto.MethodSessionNew, object{"cwd": second, "mcpServers": []any{object{"name": "m", "command": "/bin/true", "args": []any{}, "env": []any{}}}}, &is)
	r.say(one, "read")
	if body := r.last(); !strings.Contains(body, "FIRST RULES") || strings.Contains(body, "SECOND RULES") || !strings.Contains(body, "of one") {
		t.Error("the first session is not of the first folder")
	}
	r.say(is.SessionID, "read")
	if body := r.last(); !strings.Contains(body, "SECOND RULES") || strings.Contains(body, "FIRST RULES") || !strings.Contains(body, "of two") {
		t.Error("the second session is not of the second folder")
	}
	select {
	case <-r.stderr.seen: // the server that ends at once is tried more than once
	case <-time.After(time.Minute):
	}
	r.close()
	if err := <-r.ended; err != nil || !strings.Contains(r.stderr.String(), "MCP") {
		t.Errorf("it ended with %v and said %q", err, r.stderr)
	}
	r.ended <- nil
}

// A program that watches the session and the editor see the same events.
func TestEditorEvents(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	r := openEditor(t, nil, []llmtest.Turn{say("first"), {Parts: []llmtest.Part{{Text: "and "}, {Call: "calc", ID: "c1", Args: `{"expression":"6*7"}`}}}, say("42")})
	r.hello(object{"_meta": object{"burin": object{"events": true}}})
	id := r.begin()
	r.say(id, "hello") // the session has a file now
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	watch := exec.Command(self)
	watch.Args, watch.Env, watch.Dir = []string{"burin", "attach", id, "--mode", "json"}, r.env, r.dir
	out, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	lines, heard := make(chan string, 1000), false
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	for i := 0; !heard; i++ { // it is attached when it hears something
		if i == 200 {
			t.Fatal("the other one hears nothing")
		}
		r.call(proto.MethodSessionSetTitle, object{"sessionId": id, "title": fmt.Sprint("title ", i)}, nil)
		select {
		case <-lines:
			heard = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	r.say(id, "what is 6*7?")
	r.call(proto.MethodSessionClose, object{"sessionId": id}, nil)
	watched := map[string]string{}
	for raw := range lines {
		var e struct{ Seq json.Number }
		if json.Unmarshal([]byte(raw), &e) == nil {
			watched[e.Seq.String()] = raw
		}
	}
	_ = watch.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	same := 0
	for _, raw := range r.raw {
		var e struct {
			SessionID, Epoch string
			Event            json.RawMessage
		}
		if err := json.Unmarshal(raw, &e); err != nil || e.SessionID != id || e.Epoch == "" {
			t.Fatalf("%v: %s", err, raw)
		}
		var seq struct {
			Seq  json.Number
			Type string
		}
		if err := json.Unmarshal(e.Event, &seq); err != nil {
			t.Fatal(err)
		}
		if other, ok := watched[seq.Seq.String()]; ok && other != string(e.Event) {
			t.Errorf("event %s is\n%s\nfor the editor and\n%s\nfor the other", seq.Seq, e.Event, other)
		} else if ok {
			same++
		}
	}
	if same < 10 {
		t.Errorf("%d events are the same, of %d and %d", same, len(r.raw), len(watched))
	}
}

// second is another editor, in a process of its own, at the same sessions.
func (r *editorRig) second() *editorRig {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	other := &editorRig{t: r.t, check: acptest.New(r.t), server: r.server, home: r.home, dir: r.dir, env: r.env, changed: make(chan struct{}), ended: make(chan error, 1)}
	cmd := exec.Command(self)
	cmd.Args, cmd.Env, cmd.Dir = []string{"burin", "acp"}, r.env, r.home
	other.serve(cmd)
	return other
}

// Two editors have one session: both see all, the first answer to a question counts and the
// other is told, and a prompt while the model works steers it.
func TestEditorsShareSession(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	steered := make(chan bool)
	r := openEditor(t, nil, []llmtest.Turn{
		say("hello"),
		{Parts: []llmtest.Part{{Call: "bash", ID: "c1", Args: `{"command":"touch x"}`}}},
		{Reply: func(*llm.Request) []llm.Event {
			<-steered
			return llmtest.Call("c2", "calc", `{"expression":"1+1"}`)
		}},
		say("done, and noted"),
	})
	r.asked = func(string, json.RawMessage) (any, error) { return nil, nil } // it never answers
	r.hello(object{})
	id := r.begin()
	r.say(id, "hello")
	other := r.second()
	answered := make(chan bool, 1)
	other.asked = func(_ string, params json.RawMessage) (any, error) {
		answered <- true
		return choose(t, params, proto.AllowOnce), nil
	}
	other.hello(object{})
	other.call(proto.MethodSessionLoad, object{"sessionId": id, "cwd": r.dir, "mcpServers": []any{}}, nil)
	if got := other.text("user_message_chunk") + "|" + other.text("agent_message_chunk"); got != "hello|hello" {
		t.Errorf("the second editor loads %q", got)
	}
	stops := make(chan string, 2)
	prompt := func(r *editorRig, text string) {
		var is proto.PromptResponse
		if err := r.try(proto.MethodSessionPrompt, object{"sessionId": id, "prompt": []any{proto.Text(text)}}, &is); err != nil {
			t.Error(err)
		}
		stops <- is.StopReason
	}
	go prompt(r, "touch it")
	<-answered
	r.until("the end of the question", func() bool {
		return slices.ContainsFunc(r.frames, func(f string) bool { return strings.Contains(f, proto.MethodCancelRequest) })
	})
	other.until("the words of the first editor", func() bool {
		return slices.ContainsFunc(other.updates, func(u editorUpdate) bool {
			return u.Update.Kind == "user_message_chunk" && strings.Contains(string(u.Update.Content), "touch it")
		})
	})
	r.until("the command's end", func() bool {
		return slices.ContainsFunc(r.updates, func(u editorUpdate) bool { return u.Update.Call == "c1" && u.Update.Status == "completed" })
	})
	go prompt(other, "and note this")
	waits := func() bool { // the steering message is on the disk before the model goes on
		found, _ := filepath.Glob(filepath.Join(r.home, "burin", "sessions", "*", "*.jsonl"))
		for _, f := range found {
			if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), "and note this") {
				return true
			}
		}
		return false
	}
	for late := time.After(20 * time.Second); !waits(); {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-late:
			t.Fatal("the second prompt does not arrive")
		}
	}
	close(steered)
	for range 2 {
		if stop := <-stops; stop != proto.StopEndTurn {
			t.Errorf("a prompt ended for %s", stop)
		}
	}
	if !strings.Contains(r.last(), "and note this") {
		t.Error("the model did not read what was said while it worked")
	}
	for _, e := range []*editorRig{r, other} {
		if !strings.HasSuffix(e.text("agent_message_chunk"), "done, and noted") {
			t.Errorf("an editor hears %q", e.text("agent_message_chunk"))
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "x")); err != nil {
		t.Error(err)
	}
}
