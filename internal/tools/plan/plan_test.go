package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

func named(t *testing.T, name string, o plan.Options) *tool.Tool {
	t.Helper()
	for _, one := range plan.New(o) {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

func run(t *testing.T, one *tool.Tool, args string) (string, *tool.Result, error) {
	t.Helper()
	r, err := one.Run(context.Background(), tool.Call{Arguments: json.RawMessage(args), Update: func(tool.Result) {}})
	if err != nil {
		return "", nil, err
	}
	return r.Content[0].(llm.Text).Text, r, nil
}

const start = `{"ops":[{"op":"init","list":[{"phase":"Find","items":["read the log","bisect"]},{"phase":"Fix","items":["write a test"]}]}]}`

func TestTodo(t *testing.T) {
	tests := []struct {
		name, ops string
		want      string // list, or the beginning of it if failed
		failed    string
		completed []string
	}{
		{"view", `{"op":"view"}`, "Find (0 of 2)\n  → read the log\n  ○ bisect\nFix (0 of 1)\n  ○ write a test\n3 left.", "", nil},
		{"done starts the next", `{"op":"done","task":"read the log"}`, "Find (1 of 2)\n  ✓ read the log\n  → bisect\nFix (0 of 1)\n  ○ write a test\n2 left.", "", []string{"read the log"}},
		{"start demotes", `{"op":"start","task":"write a test"}`, "Find (0 of 2)\n  ○ read the log\n  ○ bisect\nFix (0 of 1)\n  → write a test\n3 left.", "", nil},
		{"reopen", `{"op":"done","phase":"Find"},{"op":"start","task":"bisect"}`, "Find (1 of 2)\n  ✓ read the log\n  → bisect\nFix (0 of 1)\n  ○ write a test\n2 left.", "", []string{"read the log"}},
		{"drop all", `{"op":"done","task":"bisect"},{"op":"drop"}`, "Find (2 of 2)\n  ✗ read the log\n  ✓ bisect\nFix (1 of 1)\n  ✗ write a test\nNothing left to do.", "", []string{"bisect"}},
		{"append", `{"op":"append","phase":"Ship","items":["push"]},{"op":"rm","phase":"Find"}`, "Fix (0 of 1)\n  → write a test\nShip (0 of 1)\n  ○ push\n2 left.", "", nil},
		{"remove a task", `{"op":"rm","task":"bisect"},{"op":"rm","phase":"Fix"}`, "Find (0 of 1)\n  → read the log\n1 left.", "", nil},
		{"remove all", `{"op":"rm"}`, "The list is empty.", "", nil},
		{"a failure leaves the rest", `{"op":"done","task":"read the book"},{"op":"done","task":"bisect"}`, "Find (1 of 2)\n  → read the log\n  ✓ bisect\nFix (0 of 1)\n  ○ write a test\n2 left.", `op 1 (done): no task "read the book": name it by its exact text`, []string{"bisect"}},
		{"append is all or none", `{"op":"append","phase":"Fix","items":["new","bisect"]}`, "Find (0 of 2)\n  → read the log\n  ○ bisect\nFix (0 of 1)\n  ○ write a test\n3 left.", `op 1 (append): task "bisect" already exists`, nil},
		{"init is all or none", `{"op":"init","list":[{"phase":"A","items":["x"]},{"phase":"A","items":["y"]}]}`, "Find (0 of 2)\n  → read the log\n  ○ bisect\nFix (0 of 1)\n  ○ write a test\n3 left.", `op 1 (init): phase "A" is listed twice`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			todo := named(t, "todo", plan.Options{})
			if _, _, err := run(t, todo, start); err != nil {
				t.Fatal(err)
			}
			got, r, err := run(t, todo, `{"ops":[`+tt.ops+`]}`)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if tt.failed != "" {
				want = "Failed: " + tt.failed + "\n\n" + tt.want
			}
			if diff := cmp.Diff(want, got); diff != "" || r.IsError != (tt.failed != "") {
				t.Errorf("error %v: %s", r.IsError, diff)
			}
			var d struct {
				plan.State
				CompletedTasks []string
			}
			if err := json.Unmarshal(r.Details, &d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.completed, d.CompletedTasks); diff != "" {
				t.Error(diff)
			}
			// A session that goes on has the same list.
			again, _, err := run(t, named(t, "todo", plan.Options{Todo: d.State}), `{"ops":[{"op":"view"}]}`)
			if err != nil || again != tt.want {
				t.Errorf("from its details the list is %q", again)
			}
		})
	}
}

// A model that stops is told of the tasks that are open, and of those only.
func TestUnfinished(t *testing.T) {
	const goOn = ". Go on with them, mark what is done or no longer wanted, or say what you wait for."
	for name, tt := range map[string]struct {
		ops, want string
	}{
		"all":     {`{"op":"view"}`, "Open in the todo list: read the log; bisect; write a test" + goOn},
		"some":    {`{"op":"done","task":"read the log"},{"op":"drop","task":"bisect"}`, "Open in the todo list: write a test" + goOn},
		"none":    {`{"op":"done"}`, ""},
		"no list": {`{"op":"rm"}`, ""},
		"many":    {`{"op":"append","phase":"Fix","items":["d\n e","f","g","h"]}`, "Open in the todo list: read the log; bisect; write a test; d e; f; and 2 more" + goOn},
	} {
		t.Run(name, func(t *testing.T) {
			var state plan.State
			todo := named(t, "todo", plan.Options{Changed: func(s plan.State) { state = s }})
			for _, args := range []string{start, `{"ops":[` + tt.ops + `]}`} {
				if _, _, err := run(t, todo, args); err != nil {
					t.Fatal(err)
				}
			}
			if got := state.Unfinished(); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

type person struct {
	asked   []plan.Question
	replies []plan.Reply
	err     error
}

func (p *person) AskQuestions(_ context.Context, _ string, q []plan.Question) ([]plan.Reply, error) {
	p.asked = q
	return p.replies, p.err
}

func TestAsk(t *testing.T) {
	p := &person{replies: []plan.Reply{{Selected: []string{"b", "a"}, Custom: "and c"}, {Custom: "none of these"}}}
	ask := named(t, "ask", plan.Options{Asker: p})
	got, r, err := run(t, ask, `{"questions":[
		{"id":"lib","question":"Which?","options":[{"label":"a"},{"label":"b"}],"multi":true,"recommended":1},
		{"id":"how","question":"How?","options":[{"label":"x"}],"recommended":7}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if want := "lib: The user chose: b, a; and wrote: and c\nhow: The user wrote: none of these"; got != want {
		t.Errorf("got %q", got)
	}
	want := []plan.Question{
		{ID: "lib", Text: "Which?", Options: []string{"a", "b"}, Multi: true, Recommended: 1},
		{ID: "how", Text: "How?", Options: []string{"x"}, Recommended: -1},
	}
	if diff := cmp.Diff(want, p.asked); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(r.Details), `"selectedOptions":["b","a"],"customInput":"and c"`) {
		t.Errorf("details %s", r.Details)
	}
}

func TestAskFails(t *testing.T) {
	for name, tt := range map[string]struct {
		args  string
		err   error
		want  string
		abort bool
	}{
		"none":      {`{"questions":[]}`, nil, "questions is empty", false},
		"no text":   {`{"questions":[{"id":"a","question":" ","options":[]}]}`, nil, "question 1 has no text", false},
		"twice":     {`{"questions":[{"id":"a","question":"b","options":[]},{"id":"a","question":"c","options":[]}]}`, nil, `two questions have the id "a"`, false},
		"label":     {`{"questions":[{"id":"a","question":"b","options":[{"label":"x"},{"label":"x"}]}]}`, nil, "each needs a label of its own", false},
		"dismissed": {`{"questions":[{"id":"a","question":"b","options":[]}]}`, plan.ErrDismissed, "dismissed", true},
		"gone":      {`{"questions":[{"id":"a","question":"b","options":[]}]}`, context.Canceled, "canceled", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t, named(t, "ask", plan.Options{Asker: &person{err: tt.err}}), tt.args)
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, tool.ErrAbort) != tt.abort {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestAskNeedsAPerson(t *testing.T) {
	for _, one := range plan.New(plan.Options{}) {
		if one.Name == "ask" {
			t.Error("ask is offered although nobody can answer")
		}
	}
}
