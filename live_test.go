package burin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/change"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// call is a turn of one call.
func call(name, args string) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Call: name, Args: args}}}
}

func say(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }

// todosOf is the list of work of a session.
func todosOf(t *testing.T, s *session.Session) []todo.Phase {
	t.Helper()
	list, err := s.Handle("test", false).Work().Todos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// lastResult is the newest result of a tool.
func lastResult(s *session.Session) llm.Message {
	messages := s.Messages()
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == llm.RoleToolResult {
			return messages[i]
		}
	}
	return llm.Message{}
}

// In each mode the rules, the files and the commands hold what the mode says, in one
// session, and the shell keeps its folder and variables.
func TestModes(t *testing.T) {
	dir := project(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := call("write", `{"path":"new.txt","content":"x"}`)
	script := llmtest.Script{Turns: []llmtest.Turn{
		call("bash", `{"command":"cd sub && export MARK=kept"}`), say("a"),
		write, say("b"),
		call("bash", `{"command":"ls"}`), say("c"),
		write, call("bash", `{"command":"pwd; echo $MARK"}`), say("d"),
	}}
	s, srv := start(t, "anthropic", script, burin.Options{Dir: dir, Approval: "plan", StateDir: t.TempDir()})
	prompt := func(mode string) llm.Message {
		t.Helper()
		if err := s.Handle("test", false).Models().SetMode(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		if out := s.Prompt(t.Context(), llm.UserText("go")); out.Reason != agent.ReasonDone {
			t.Fatalf("in %s it ended with %s, %v, %v", mode, out.Reason, out.Err, srv.Err())
		}
		return lastResult(s)
	}
	made := filepath.Join(dir, "new.txt")
	if r := prompt("full"); r.IsError {
		t.Errorf("cd: %s", r.Text())
	}
	if r := prompt("plan"); !r.IsError {
		t.Errorf("in plan mode a file was written: %s", r.Text())
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the file is there")
	}
	if r := prompt("plan"); r.IsError || sandbox.Available().Files != strings.Contains(r.Text(), "The sandbox has changed") {
		t.Errorf("a command in plan mode: %s", r.Text())
	}
	r := prompt("full")
	if r.IsError || !strings.Contains(r.Text(), filepath.Join(dir, "sub")) || !strings.Contains(r.Text(), "kept") {
		t.Errorf("the shell after all that: %s", r.Text())
	}
	if _, err := os.Stat(made); err != nil {
		t.Errorf("in full mode: %v", err)
	}
	asked := srv.Requests()
	for i := range asked {
		if asked[i].System != asked[0].System {
			t.Errorf("request %d has another system prompt", i+1)
		}
	}
	last := asked[len(asked)-1]
	var told strings.Builder
	for _, m := range last.Messages {
		told.WriteString(m.Text())
	}
	if !strings.Contains(told.String(), "set the permission mode to plan") || !strings.Contains(told.String(), "set the permission mode to full") {
		t.Errorf("the model is told %s", told.String())
	}
	if err := s.Handle("test", false).Models().SetMode(t.Context(), "reckless"); err == nil || s.Facts().Mode != "full" {
		t.Errorf("an unknown mode: %v, now %s", err, s.Facts().Mode)
	}
}

// A session that was left in plan mode goes on in it where that is wanted; any other
// mode is that of the options.
func TestKeepPlan(t *testing.T) {
	for _, tt := range []struct {
		left, asked string
		keep        bool
		want        string
	}{
		{"plan", "full", true, "plan"},
		{"plan", "full", false, "full"},
		{"full", "ask", true, "ask"},
	} {
		dir, state := project(t), t.TempDir()
		o := burin.Options{Dir: dir, Approval: "auto-edit", StateDir: state}
		s, _ := start(t, "anthropic", llmtest.Script{Turns: []llmtest.Turn{say("hello")}}, o)
		s.Prompt(t.Context(), llm.UserText("hi"))
		if err := s.Handle("test", false).Models().SetMode(t.Context(), tt.left); err != nil {
			t.Fatal(err)
		}
		path, _ := s.Path()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		o.Resume, o.Approval, o.KeepPlan = path, tt.asked, tt.keep
		again, _ := start(t, "anthropic", llmtest.Script{Turns: []llmtest.Turn{call("write", `{"path":"a","content":"x"}`), say("ok")}}, o)
		if again.Facts().Mode != tt.want {
			t.Errorf("left in %s, started with %s: it is %s, want %s", tt.left, tt.asked, again.Facts().Mode, tt.want)
		}
		again.Prompt(t.Context(), llm.UserText("go"))
		if _, err := os.Stat(filepath.Join(dir, "a")); (err == nil) != (tt.want == "full") {
			t.Errorf("in %s the file: %v", tt.want, err)
		}
	}
}

// A person's command is not held by mode or sandbox, brings its folder back, can be
// undone by itself, and is read by the model; all while the session lives.
func TestCommand(t *testing.T) {
	dir := project(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := llmtest.Script{Turns: []llmtest.Turn{call("bash", `{"command":"pwd"}`), say("seen")}}
	s, srv := start(t, "anthropic", script, burin.Options{
		Dir: dir, Approval: "plan", StateDir: t.TempDir(), Environ: []string{"DEPLOY_TOKEN=hV7qLz2Xw9TbR4mK8sYc3NfJ"},
	})
	var shown strings.Builder
	r, err := s.Run(t.Context(), "cd sub && echo mine > made.txt && echo out; echo hV7qLz2Xw9TbR4mK8sYc3NfJ; exit_code() { return 4; }; exit_code", false, func(c string) { shown.WriteString(c) })
	if err != nil || r.ExitCode != 4 || r.Dir != filepath.Join(dir, "sub") || !strings.HasPrefix(r.Output, "out\n") {
		t.Errorf("%+v, %v", r, err)
	}
	if strings.Contains(r.Output+shown.String(), "hV7qLz") || !strings.Contains(shown.String(), "out") {
		t.Errorf("shown is %q, the output %q", shown.String(), r.Output)
	}
	made := filepath.Join(dir, "sub", "made.txt")
	if _, err := os.Stat(made); err != nil {
		t.Fatal(err)
	}
	if out := s.Prompt(t.Context(), llm.UserText("where?")); out.Reason != agent.ReasonDone {
		t.Fatalf("it ended with %s, %v", out.Reason, out.Err)
	}
	if got := lastResult(s); !strings.Contains(got.Text(), filepath.Join(dir, "sub")) {
		t.Errorf("the model's shell is in %s", got.Text())
	}
	var told strings.Builder
	for _, m := range srv.Requests()[0].Messages {
		told.WriteString(m.Text())
	}
	if !strings.Contains(told.String(), "echo mine > made.txt") || strings.Contains(told.String(), "hV7qLz") {
		t.Errorf("the model reads %s", told.String())
	}
	turns, err := s.Handle("test", false).Changes().Turns(t.Context())
	if err != nil || len(turns) != 1 || !strings.HasPrefix(turns[0].Label, "!cd sub") || !cmp.Equal(turns[0].Paths, []string{"sub/made.txt"}) {
		t.Fatalf("turns %+v, %v", turns, err)
	}
	planned, err := s.Handle("test", false).Changes().Preview(t.Context(), turns[0].ID)
	if err != nil || len(planned) != 1 || planned[0].Action != "delete" {
		t.Errorf("planned %+v, %v", planned, err)
	}
	// It can be undone here, in plan mode, and again by another reader of the journal.
	if done, err := s.Handle("test", false).Changes().Undo(t.Context(), turns[0].ID); err != nil || len(done.Restored) != 1 {
		t.Errorf("undone %+v, %v", done, err)
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

// The journal of a session that runs can be opened beside it.
func TestChangesBesideSession(t *testing.T) {
	dir, state := project(t), t.TempDir()
	s, _ := start(t, "anthropic", task(), burin.Options{Dir: dir, Approval: "full", StateDir: state})
	if out := s.Prompt(t.Context(), llm.UserText("fix it")); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err)
	}
	c, err := bench.OpenChanges(dir, state)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	turns, err := c.Turns(t.Context())
	if err != nil || len(turns) != 1 {
		t.Fatalf("turns %+v, %v", turns, err)
	}
	if _, err := c.Undo(t.Context(), turns[0].ID); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "sum.sh")); !strings.Contains(string(text), "$1 - $2") {
		t.Errorf("the file holds %s", text)
	}
	if mine, err := s.Handle("test", false).Changes().Turns(t.Context()); err != nil || len(mine) != 1 || !mine[0].Undone {
		t.Errorf("the session sees %+v, %v", mine, err)
	}
}

// Of an encrypted session nothing that was said lies anywhere in the clear: not in the
// undo journal either, which lists its turns all the same.
func TestEncryptedSessionsLeaveNoWords(t *testing.T) {
	pacetest.Costly(t)
	key, err := sealed.NewKey(bytes.Repeat([]byte{1}, sealed.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"file", "database"} {
		t.Run(kind, func(t *testing.T) {
			dir, state := project(t), t.TempDir()
			o := burin.Options{
				Dir: dir, Approval: "full", StateDir: state, Seal: true,
				Keys: func(place.Wanted) (sealed.Key, error) { return key, nil },
			}
			if kind == "database" {
				o.Resume = filepath.Join(state, "t.db#one")
			}
			work := func(s *session.Session) {
				t.Helper()
				if out := s.Prompt(t.Context(), llm.UserText("quince: fix it")); out.Reason != agent.ReasonDone {
					t.Fatal(out.Err)
				}
				if _, err := s.Run(t.Context(), "echo fig >>fruit.txt; : quince", true, nil); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			s, _ := start(t, "anthropic", task(), o)
			work(s)
			o.Seal = false
			o.Resume, _ = s.Path()
			resumed, _ := start(t, "anthropic", llmtest.Script{Turns: []llmtest.Turn{call("write", `{"path":"new.sh","content":"echo\n"}`), say("Done.")}}, o)
			work(resumed)

			c, err := bench.OpenChanges(dir, state)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			turns, err := c.Turns(t.Context())
			if err != nil || len(turns) != 4 {
				t.Errorf("%d turns can be undone, %v", len(turns), err)
			}
			for _, turn := range turns {
				if turn.Label != "(of an encrypted session)" {
					t.Errorf("turn %s is called %q", turn.ID, turn.Label)
				}
			}
			err = filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				text, err := os.ReadFile(path)
				if bytes.Contains(text, []byte("quince")) {
					t.Errorf("%s: %.200q", path, text[max(0, bytes.Index(text, []byte("quince"))-100):])
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestJobs(t *testing.T) {
	dir := project(t)
	changed := make(chan struct{}, 100)
	script := llmtest.Script{Turns: []llmtest.Turn{call("bash", `{"command":"echo one; echo two; cat","background":true}`), say("started")}}
	s, _ := start(t, "anthropic", script, burin.Options{Dir: dir, Approval: "full", Emit: func(e session.Event) {
		if e.Type == session.JobsChanged {
			changed <- struct{}{}
		}
	}})
	if out := s.Prompt(t.Context(), llm.UserText("go")); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err)
	}
	<-changed
	ctx, cancel := context.WithTimeout(t.Context(), 10e9)
	defer cancel()
	h := s.Handle("test", false).Jobs()
	for ctx.Err() == nil { // its output comes when it comes
		if tail, err := h.Output(ctx, "1"); err != nil || strings.Contains(tail, "two") {
			break
		}
	}
	jobs, _ := h.List(ctx)
	if len(jobs) != 1 || !jobs[0].Running || jobs[0].LastLine != "two" || jobs[0].ID != "1" || !strings.HasPrefix(jobs[0].Command, "echo one") {
		t.Fatalf("%+v", jobs)
	}
	if err := h.Kill(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	<-changed
	if jobs, _ := h.List(ctx); len(jobs) != 1 || jobs[0].Running {
		t.Errorf("after its end: %+v", jobs)
	}
	if err := h.Kill(ctx, "9"); err == nil {
		t.Error("a job that is not there was ended")
	}
	if _, err := h.Output(ctx, "9"); err == nil {
		t.Error("a job that is not there has output")
	}
	if n := len(changed); n != 0 {
		t.Errorf("%d events more than a start and an end", n)
	}
}

// A person's change to the list of work reaches the model, its tool, and the next
// process.
func TestSetTodos(t *testing.T) {
	dir, state := project(t), t.TempDir()
	script := llmtest.Script{Turns: []llmtest.Turn{
		call("todo", `{"ops":[{"op":"init","list":[{"phase":"Work","items":["a","b"]}]},{"op":"done","task":"a"},{"op":"done","task":"b"}]}`), say("listed"),
		call("todo", `{"ops":[{"op":"done","task":"mine"}]}`), say("done"),
	}}
	o := burin.Options{Dir: dir, Approval: "full", StateDir: state}
	s, srv := start(t, "anthropic", script, o)
	s.Prompt(t.Context(), llm.UserText("go"))
	mine := []todo.Phase{{Name: "Mine", Tasks: []todo.Task{{Content: "mine", Status: "in_progress"}, {Content: "old", Status: "abandoned"}}}}
	if err := s.Handle("test", false).Work().SetTodos(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]todo.Phase{
		{{Name: " ", Tasks: mine[0].Tasks}},
		{{Name: "x", Tasks: []todo.Task{{Content: "y", Status: "odd"}}}},
		{{Name: "x", Tasks: []todo.Task{{Content: "y", Status: "pending"}, {Content: "y", Status: "pending"}}}},
		{{Name: "x", Tasks: make([]todo.Task, 1)}},
	} {
		if err := s.Handle("test", false).Work().SetTodos(t.Context(), bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	path, _ := s.Path()
	if diff := cmp.Diff(mine, todosOf(t, s)); diff != "" {
		t.Error(diff)
	}
	if out := s.Prompt(t.Context(), llm.UserText("more")); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err, srv.Err())
	}
	want := []todo.Phase{{Name: "Mine", Tasks: []todo.Task{{Content: "mine", Status: "completed"}, {Content: "old", Status: "abandoned"}}}}
	if diff := cmp.Diff(want, todosOf(t, s)); diff != "" {
		t.Errorf("after the model's call:\n%s", diff)
	}
	var told strings.Builder
	for _, m := range srv.Requests()[2].Messages {
		told.WriteString(m.Text())
	}
	if !strings.Contains(told.String(), "The user changed the todo list") || !strings.Contains(told.String(), "[in_progress] mine") {
		t.Errorf("the model reads %s", told.String())
	}
	for _, last := range [][]todo.Phase{want, mine} {
		if diff := cmp.Diff(last, todosOf(t, s)); diff != "" {
			t.Errorf("the list is\n%s", diff)
		}
		if err := s.Handle("test", false).Work().SetTodos(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		o.Resume = path
		s, _ = start(t, "anthropic", llmtest.Script{}, o)
	}
	if diff := cmp.Diff(mine, todosOf(t, s)); diff != "" {
		t.Errorf("in the next process:\n%s", diff)
	}
}

func TestLivePermissions(t *testing.T) {
	dir := project(t)
	script := llmtest.Script{Turns: []llmtest.Turn{
		call("bash", `{"command":"touch one"}`), say("no"), call("bash", `{"command":"touch two"}`), say("yes"), call("bash", `{"command":"touch three"}`), say("no"),
	}}
	s, _ := start(t, "anthropic", script, burin.Options{Dir: dir, Deny: []string{"bash(rm:*)"}})
	rules := s.Handle("test", false).Permissions()
	made := func(name string) bool {
		t.Helper()
		if out := s.Prompt(t.Context(), llm.UserText("go")); out.Reason != agent.ReasonDone {
			t.Fatal(out.Err)
		}
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	if made("one") {
		t.Error("a command ran that nobody allowed")
	}
	tried, err := rules.Try(t.Context(), "bash(touch:*)")
	if err != nil || len(tried) != 1 || tried[0].Target != "touch one" || tried[0].Decision.Verdict != "allow" {
		t.Errorf("tried %+v, %v", tried, err)
	}
	r, err := rules.Grant(t.Context(), "bash(touch:*)", "session")
	if err != nil || r.ID == "" || r.String() != "bash(touch:*)" || r.Words == "" {
		t.Errorf("granted %+v, %v", r, err)
	}
	if !made("two") {
		t.Error("the grant does not hold")
	}
	if all, _ := rules.Rules(t.Context()); len(all) != 2 || all[0].Verdict != "deny" || all[0].Source != "--deny" {
		t.Errorf("rules %+v", all)
	}
	if err := rules.Revoke(t.Context(), r.ID); err != nil || made("three") {
		t.Errorf("revoked: %v", err)
	}
	if _, err := rules.Grant(t.Context(), "bash(", ""); err == nil {
		t.Error("a bad rule was granted")
	}
}

// A session that is kept in the workspace, as a file or in a database, is the model's
// business only through its conversation: no search finds it, no turn has it.
func TestSessionInTheWorkspace(t *testing.T) {
	for kind, keep := range map[string]func(o *burin.Options){
		"database": func(o *burin.Options) { o.Resume = filepath.Join(o.Dir, "talk.db") + "#review" },
		"folder":   func(o *burin.Options) { o.SessionDir = filepath.Join(o.Dir, "talk") },
	} {
		t.Run(kind, func(t *testing.T) {
			dir := project(t)
			script := llmtest.Script{Turns: []llmtest.Turn{
				call("bash", `{"command":"seq 100000 >new; cat new"}`), call("grep", `{"pattern":"unmistakable"}`), say("Done."),
			}}
			o := burin.Options{Dir: dir, Approval: "full", StateDir: t.TempDir()}
			keep(&o)
			s, srv := start(t, "anthropic", script, o)
			if out := s.Prompt(t.Context(), llm.UserText("Some unmistakable words.")); out.Reason != agent.ReasonDone || srv.Err() != nil {
				t.Fatalf("it ended with %s, %v, %v", out.Reason, out.Err, srv.Err())
			}
			asked := srv.Requests()
			if last := asked[len(asked)-1].Messages; strings.Contains(last[len(last)-1].Text(), "talk") {
				t.Errorf("the search found %s", last[len(last)-1].Text())
			}
			turns, err := s.Handle("test", false).Changes().Turns(t.Context())
			if err != nil || len(turns) != 1 {
				t.Fatalf("turns: %+v, %v", turns, err)
			}
			undone, err := s.Handle("test", false).Changes().Undo(t.Context(), turns[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&change.Undone{Restored: []string{"new"}}, undone); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What allowed a job allows its input; to a shell, input is commands.
func TestJobInput(t *testing.T) {
	dir := project(t)
	var refused []error
	said := func(want string, answer llmtest.Part) llmtest.Turn {
		return llmtest.Turn{Check: func(r *llm.Request) error {
			if last := r.Messages[len(r.Messages)-1].Text(); !strings.Contains(last, want) {
				return fmt.Errorf("the result is %q, want %q", last, want)
			}
			return nil
		}, Parts: []llmtest.Part{answer}}
	}
	s, srv := start(t, "anthropic", llmtest.Script{Turns: []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "bash", Args: `{"command":"tee out.txt","background":true}`}}},
		said("Started job 1.", llmtest.Part{Call: "job_write", Args: `{"job":"1","input":"print(6*7)\n"}`}),
		said("Sent 11 bytes", llmtest.Part{Call: "bash", Args: `{"command":"bash -i","background":true,"tty":true}`}),
		said("Started job 2.", llmtest.Part{Call: "job_write", Args: `{"job":"2","input":"touch made.txt\n"}`}),
		said("refused", llmtest.Part{Call: "job_write", Args: `{"job":"2","input":"\u0003"}`}),
		said("Sent 1 byte", llmtest.Part{Text: "Done."}),
	}}, burin.Options{Dir: dir, Allow: []string{"bash(tee:*)", "bash(bash -i)"}, Refused: func(err error) { refused = append(refused, err) }})
	if out := s.Prompt(t.Context(), llm.UserText("talk to them")); out.Reason != agent.ReasonDone {
		t.Error(out.Err)
	}
	if err := srv.Err(); err != nil {
		t.Error(err)
	}
	if len(refused) != 1 || !strings.Contains(refused[0].Error(), "touch made.txt") {
		t.Errorf("refused: %v", refused)
	}
	if _, err := os.Stat(filepath.Join(dir, "made.txt")); err == nil {
		t.Error("it ran")
	}
}
