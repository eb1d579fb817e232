package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// kept are the changes of a list, as a file has them.
type kept struct{ changes []Change }

func (k *kept) keep(c Change) { k.changes = append(k.changes, c) }

func (k *kept) again(t *testing.T) *List {
	t.Helper()
	raw, err := json.Marshal(k.changes)
	if err != nil {
		t.Fatal(err)
	}
	var all []Change
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return NewList(all, func(Change) {})
}

func claim(t *testing.T, l *List, who string) string {
	t.Helper()
	item, _, err := l.Claim(t.Context(), who, "", 0)
	if err != nil {
		return err.Error()
	}
	return item.ID
}

// Each task is claimed once, in the order of the list, after those it depends on; what is kept makes
// the same list again.
func TestListOrder(t *testing.T) {
	var k kept
	l := NewList(nil, k.keep)
	if got := claim(t, l, "a"); got != "nothing to claim: the list is empty" {
		t.Error(got)
	}
	if _, err := l.Add([]Item{{Title: "one"}, {Title: "two", After: []string{"1"}}, {Title: "three", After: []string{" #1", "2"}}, {Title: "four"}}); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		do   func() string
		want string
	}{
		{func() string { return claim(t, l, "a") }, "1"},
		{func() string { return claim(t, l, "a") }, "you have claimed task 1: complete or release it first"},
		{func() string { return claim(t, l, "b") }, "4"},
		{func() string { return claim(t, l, "c") }, "no task is free; claimed: 1 (a), 4 (b); waiting for others: 2, 3"},
		{func() string { return end(l.Complete("b", "1", "")) }, "task 1 is claimed by a"},
		{func() string { return end(l.Complete("a", "2", "")) }, "task 2 is not claimed: claim it first"},
		{func() string { return end(l.Release("b", "4", "too hard")) }, ""},
		{func() string { return claim(t, l, "b") }, "no task is free; claimed: 1 (a); waiting for others: 2, 3; released by you: 4"},
		{func() string { return claim(t, l, "c") }, "4"},
		{func() string { return end(l.Complete("b", "", "")) }, "you have claimed no task"},
		{func() string { return end(l.Complete("a", "", "it was easy")) }, ""},
		{func() string { return claim(t, l, "b") }, "2"},
		{func() string { return end(l.Complete("b", "9", "")) }, `no task "9": there are 1 to 4`},
		{func() string { return end(l.Complete("b", "2", "")) }, ""},
		{func() string { return end(l.Complete("b", "2", "")) }, "task 2 is done already, by b"},
		{func() string { return fmt.Sprint(len(l.Free(func(who string) bool { return who == "c" }))) }, "1"},
		{func() string { return end(l.Complete(Main, "4", "not needed")) }, ""},
		{func() string { return claim(t, l, "b") }, "3"},
		{func() string { return end(l.Release(Main, "3", "")) }, ""},
		{func() string { return claim(t, l, "b") }, "3"},
		{func() string { return end(l.Complete("b", "3", "")) }, ""},
		{func() string { return claim(t, l, "a") }, "nothing to claim: all 4 tasks are done"},
	}
	for i, s := range steps {
		if got := s.do(); got != s.want {
			t.Errorf("step %d: %q, want %q", i, got, s.want)
		}
		if got, want := listed(k.again(t).Items()), listed(l.Items()); got != want {
			t.Fatalf("step %d: kept is\n%s\nand it is\n%s", i, got, want)
		}
	}
	// All are done: a new list begins, whose ids count on. What is done need not be waited for.
	added, err := l.Add([]Item{{Title: "five", After: []string{"2"}}})
	if err != nil || len(l.Items()) != 1 || added[0].ID != "5" || claim(t, l, "a") != "5" {
		t.Errorf("%+v, %v", added, err)
	}
	if got, want := listed(k.again(t).Items()), listed(l.Items()); got != want {
		t.Errorf("kept is\n%s\nand it is\n%s", got, want)
	}
}

func end(_ Item, err error) string { return words(err) }

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Who claims at the same time never gets the same task, and who waits is woken.
func TestListIsClaimedOnce(t *testing.T) {
	l := NewList(nil, func(Change) {})
	const n = 100
	items := make([]Item, n)
	for i := range items {
		items[i].Title = fmt.Sprint("task ", i)
		if i > 0 && i%3 == 0 {
			items[i].After = []string{fmt.Sprint(i)}
		}
	}
	if _, err := l.Add(items); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	got := map[string]string{}
	var all sync.WaitGroup
	for w := range 8 {
		who := fmt.Sprint("agent", w)
		all.Go(func() {
			for {
				item, _, err := l.Claim(t.Context(), who, "", time.Minute)
				if err != nil {
					if !errors.Is(err, errLeft) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				if other := got[item.ID]; other != "" {
					t.Errorf("%s was claimed by %s and %s", item.ID, other, who)
				}
				got[item.ID] = who
				mu.Unlock()
				if _, err := l.Complete(who, "", ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(got) != n {
		t.Errorf("%d of %d were claimed", len(got), n)
	}
}

// A wait ends with its time, and with its context.
func TestListWait(t *testing.T) {
	l := NewList(nil, func(Change) {})
	if _, err := l.Add([]Item{{Title: "one"}}); err != nil {
		t.Fatal(err)
	}
	claim(t, l, "a")
	if _, _, err := l.Claim(t.Context(), "b", "", time.Millisecond); !errors.Is(err, errNothing) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.Claim(ctx, "b", "", time.Minute); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A list has limits, and what goes beyond them adds nothing.
func TestListLimits(t *testing.T) {
	l := NewList(nil, func(Change) {})
	many := make([]Item, MaxItems+1)
	for i := range many {
		many[i].Title = "x"
	}
	for want, items := range map[string][]Item{
		"the list has 0 tasks and may have 200":                  many,
		"tasks is missing":                                       nil,
		"task 1 has no title":                                    {{Title: " "}},
		"the title of task 2 has 201 characters, at most 200":    {{Title: "a"}, {Title: strings.Repeat("ä", MaxTitle+1)}},
		"the details of task 1 has 4001 characters, at most 400": {{Title: "a", Details: strings.Repeat("x", MaxDetails+1)}},
		`task 1 comes after "2", which is neither on the list`:   {{Title: "a", After: []string{"2"}}, {Title: "b"}},
		"task 1 comes after 51 tasks, at most 50":                {{Title: "a", After: make([]string, maxAfter+1)}},
	} {
		if _, err := l.Add(items); !strings.Contains(words(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if n := len(l.Items()); n != 0 {
		t.Fatalf("%d were added", n)
	}
	if _, err := l.Add(many[:MaxItems]); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Complete(Main, "1", strings.Repeat("x", MaxNote+1)); !strings.Contains(words(err), "the note has 2001 characters, at most 2000") {
		t.Error(err)
	}
}
