package todo_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/tool/todo"
)

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		task, words string
		want        bool
	}{
		{"Read the tests", "read  the tests.", true},
		{"Read the tests of auth", "Read the tests", true},
		{"tests", "Read the tests", false}, // too short to be a part
		{"docs", "Docs", true},
		{"auth tests", "run auth tests", true},
		{"author", "authority", false}, // a part of a word
		{"", "", false},
		{"—", "…", false},
		{"Übersetze die Texte", "übersetze die texte", true},
	} {
		if got := (todo.Task{Content: tt.task}).Matches(tt.words); got != tt.want {
			t.Errorf("%q and %q: %v", tt.task, tt.words, got)
		}
	}
}

func TestFinishLeavesTheListItWasGiven(t *testing.T) {
	list := func(a, b todo.Status) []todo.Phase {
		return []todo.Phase{{Name: "A", Tasks: []todo.Task{{Content: "Read the tests", Status: a}, {Content: "read the tests", Status: todo.Abandoned}, {Content: "Write", Status: b}}}}
	}
	before := list(todo.Pending, todo.Pending)
	after, finished := todo.Finish(before, "read the tests")
	if diff := cmp.Diff(list(todo.Completed, todo.Pending), after); diff != "" {
		t.Error(diff)
	}
	if len(finished) != 1 || finished[0].Content != "Read the tests" {
		t.Errorf("finished: %v", finished)
	}
	if diff := cmp.Diff(list(todo.Pending, todo.Pending), before); diff != "" {
		t.Error("the list has changed:\n" + diff)
	}
	if _, finished := todo.Finish(after, "read the tests"); len(finished) > 0 {
		t.Errorf("finished again: %v", finished)
	}
	if diff := cmp.Diff(list(todo.InProgress, todo.InProgress), todo.Begin(before, "write", "read the tests")); diff != "" {
		t.Error(diff)
	}
}
