package crew

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/host/crew/task"
	"github.com/burin-dev/burin/session"
)

// tasks returns the list of tasks that the family shares. It is read from the session's transcript
// when somebody first asks for it: most sessions have none.
func (f *family) tasks() *task.List {
	f.listing.Lock()
	defer f.listing.Unlock()
	if f.shared != nil {
		return f.shared
	}
	live := f.top()
	var kept []task.Change
	if live != nil {
		for _, raw := range session.KeptTasks(live) {
			var c task.Change
			if json.Unmarshal(raw, &c) == nil {
				kept = append(kept, c)
			}
		}
	}
	f.shared = task.NewList(kept, func(c task.Change) {
		if err := session.KeepTasks(live, c); err != nil {
			f.o.Warn("a change of the task list is not kept: " + err.Error())
		}
	})
	f.shared.Free(func(owner string) bool { return !f.works(owner) }) // those of an earlier process don't work
	return f.shared
}

// top returns the session that the family works for.
func (f *family) top() *session.Session {
	f.mu.Lock()
	root := f.crews[""]
	f.mu.Unlock()
	root.mu.Lock()
	defer root.mu.Unlock()
	return root.live
}

// works reports whether the session with that name in messages may still work on a task.
func (f *family) works(name string) bool {
	f.mu.Lock()
	m := f.byID[strings.ToLower(name)]
	f.mu.Unlock()
	if m == nil {
		return name == task.Main
	}
	row := m.row()
	return row.Active()
}

// hide puts placeholders in the place of secrets.
func (f *family) hide(text string) string {
	f.mu.Lock()
	root := f.crews[""]
	f.mu.Unlock()
	root.mu.Lock()
	lent := root.lent
	root.mu.Unlock()
	if lent == nil {
		return text
	}
	return lent.Hide(text)
}

// freeTasks releases what an agent that has ended had claimed.
func (m *member) freeTasks() {
	f := m.crew.family
	f.listing.Lock()
	list := f.shared
	f.listing.Unlock()
	if list == nil || m.crew.life.Err() != nil {
		return
	}
	for _, item := range list.Free(func(owner string) bool { return owner == m.id }) {
		m.mu.Lock()
		m.notes = append(m.notes, fmt.Sprintf("It had claimed task %s and not completed it: the task is free again.", item.ID))
		m.mu.Unlock()
	}
}

// Tasks implements [session.Agents].
func (c *Crew) Tasks(context.Context) ([]session.SharedTask, error) {
	if c.of != "" || c.top() == nil {
		return nil, nil
	}
	items := c.tasks().Items()
	all := make([]session.SharedTask, len(items))
	for i, item := range items {
		all[i] = session.SharedTask{ID: item.ID, Title: item.Title, State: session.SharedTaskState(item.Status), Owner: item.Owner, After: item.After, Note: item.Note}
	}
	return all, nil
}
