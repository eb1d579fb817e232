package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/tool/change"
)

func (p place) begin(id string) {
	p.Helper()
	if err := p.ws.BeginTurn(id, "a label"); err != nil {
		p.Fatal(err)
	}
}

func (p place) commit(changes ...workspace.Change) {
	p.Helper()
	if err := p.ws.Commit(context.Background(), changes); err != nil {
		p.Fatal(err)
	}
}

func (p place) undo(id string) *change.Undone {
	p.Helper()
	u, err := p.ws.Undo(context.Background(), id)
	if err != nil {
		p.Fatal(err)
	}
	return u
}

// What a user writes between two changes of one turn is not the agent's.
func TestUndoKeepsEditsWithinATurn(t *testing.T) {
	p := newPlace(t)
	p.put("a", "one")
	p.begin("1")
	p.commit(workspace.Change{Path: "a", Before: []byte("one"), After: []byte("two")})
	p.put("a", "the user's")
	if _, err := p.ws.Watch(context.Background(), func() error { p.put("a", "the user's, formatted"); return nil }); err != nil {
		t.Fatal(err)
	}
	if u := p.undo("1"); p.text("a") != "the user's" || len(u.Kept) != 1 || u.Kept[0].Path != "a" {
		t.Errorf("%+v left %q", u, p.text("a"))
	}
	if p.undo("1"); p.text("a") != "the user's, formatted" {
		t.Errorf("redo left %q", p.text("a"))
	}
}

// Sessions number their turns from 1. Each undoes its own.
func TestTurnsOfTwoSessions(t *testing.T) {
	p := newPlace(t)
	p.put("a", "one")
	p.begin("1")
	p.commit(workspace.Change{Path: "a", Before: []byte("one"), After: []byte("two")})
	second, err := workspace.Open(p.dir, workspace.Options{StateDir: p.stateDir})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	later := p
	later.ws = second
	later.begin("1")
	later.commit(workspace.Change{Path: "b", After: []byte("b")})
	turns, err := second.Turns()
	if err != nil || len(turns) != 2 || turns[0].ID != "1" || !strings.HasPrefix(turns[1].ID, "1@") {
		t.Fatalf("turns %+v, %v", turns, err)
	}
	if diff := cmp.Diff(&change.Undone{Restored: []string{"b"}}, later.undo("1")); diff != "" || p.text("a") != "two" {
		t.Errorf("%sa is %q", diff, p.text("a"))
	}
	if later.undo(turns[1].ID); p.text("a") != "one" {
		t.Errorf("undo of the first session's turn left %q", p.text("a"))
	}
}

// What a command did before it failed can be undone, in the turn that it began in.
func TestWatchOfAFailure(t *testing.T) {
	p := newPlace(t)
	p.put("a", "one")
	p.begin("1")
	failure := errors.New("failed")
	changed, err := p.ws.Watch(context.Background(), func() error {
		p.put("a", "two")
		p.begin("2")
		return failure
	})
	if !errors.Is(err, failure) || cmp.Diff([]string{"a"}, changed) != "" {
		t.Errorf("changed %v, %v", changed, err)
	}
	if p.undo("1"); p.text("a") != "one" {
		t.Errorf("a is %q", p.text("a"))
	}
}

func TestOneChangeForEachFile(t *testing.T) {
	p := newPlace(t)
	p.put("a", "one")
	err := p.ws.Commit(context.Background(), []workspace.Change{
		{Path: "a", Before: []byte("one"), After: []byte("two")},
		{Path: "a", Before: []byte("one"), After: []byte("three")},
	})
	if err == nil || p.text("a") != "one" {
		t.Errorf("a is %q, %v", p.text("a"), err)
	}
}

func TestUndoThroughALink(t *testing.T) {
	p := newPlace(t)
	p.put("d/a", "one")
	p.link("d/a", "link")
	p.begin("1")
	p.commit(workspace.Change{Path: "link", Before: []byte("one"), After: []byte("two")})
	if p.undo("1"); p.text("d/a") != "one" {
		t.Errorf("the file behind the link is %q", p.text("d/a"))
	}
}

func TestLongNamesAreRefusedAtOnce(t *testing.T) {
	p := newPlace(t)
	if err := p.ws.Files().WriteFile(strings.Repeat("d/", 100_000)+"x", nil, 0o644); err == nil {
		t.Error("wrote it")
	}
}

func TestResolveFollowsALinkToTheRoot(t *testing.T) {
	p := newPlace(t)
	around := filepath.Join(t.TempDir(), "way")
	if err := os.Symlink(p.dir, around); err != nil {
		t.Fatal(err)
	}
	if got, err := p.ws.Resolve(around); err != nil || got != "." {
		t.Errorf("%q, %v", got, err)
	}
}
