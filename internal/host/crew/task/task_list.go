package task

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

//go:embed task_list.md
var listDescription string

// maxClaimWait is how many seconds a claim waits at most.
const maxClaimWait = 600

type listArgs struct {
	Op    string    `json:"op"`
	Tasks []newItem `json:"tasks,omitempty"`
	ID    string    `json:"id,omitempty"`
	Note  string    `json:"note,omitempty"`
	Wait  int       `json:"wait,omitempty" jsonschema:"seconds, up to 600"`
}

type newItem struct {
	Title   string   `json:"title"`
	Details string   `json:"details,omitempty"`
	After   []string `json:"after,omitempty"`
}

// TaskList makes the tool task_list for the session or agent with that name. hide puts placeholders in the place of
// secrets, which must not reach others.
func TaskList(list func() *List, who string, hide func(string) string) *tool.Tool {
	s := shared{list, who, hide}
	return tool.New(tool.Definition[listArgs]{
		Name: "task_list", Label: "Task list", Description: listDescription,
		Adjust: func(schema *tool.Schema) {
			schema.Properties["op"].Enum = []any{"add", "claim", "complete", "release", "list"}
		},
		Access:   func(listArgs) []tool.Access { return nil },
		Together: func(listArgs) bool { return false },
		Run: func(ctx context.Context, _ tool.Call, a listArgs) (*tool.Result, error) {
			text, err := s.run(ctx, a)
			if err != nil {
				return nil, err
			}
			return tool.Text(text), nil
		},
	})
}

// shared is the list for one of those who share it.
type shared struct {
	list func() *List
	who  string
	hide func(string) string
}

func (s *shared) run(ctx context.Context, a listArgs) (string, error) {
	l := s.list()
	switch a.Op {
	case "add":
		return s.add(l, a.Tasks)
	case "claim":
		item, before, err := l.Claim(ctx, s.who, a.ID, time.Duration(min(a.Wait, maxClaimWait))*time.Second)
		switch {
		case errors.Is(err, errNothing), errors.Is(err, errLeft): // which is how the work ends
			text := err.Error()
			return strings.ToUpper(text[:1]) + text[1:] + ".", nil
		case err != nil:
			return "", err
		}
		return claimed(item, before), nil
	case "complete", "release":
		do, did := l.Complete, "done"
		if a.Op == "release" {
			do, did = l.Release, "free again"
		}
		item, err := do(s.who, a.ID, s.hide(a.Note))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Task %s is %s. %s", item.ID, did, progress(l.Items())), nil
	}
	return listed(l.Items()), nil
}

func (s *shared) add(l *List, tasks []newItem) (string, error) {
	items := make([]Item, len(tasks))
	for i, t := range tasks {
		items[i] = Item{Title: prose.Line(s.hide(t.Title)), Details: s.hide(t.Details), After: t.After}
	}
	added, err := l.Add(items)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("Added:\n")
	for _, item := range added {
		fmt.Fprintf(&b, "%s  %s\n", item.ID, item.Title)
	}
	return b.String() + progress(l.Items()), nil
}

// claimed is what the one reads who has claimed a task.
func claimed(item Item, before []Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You have claimed task %s: %s\n", item.ID, item.Title)
	if item.Details != "" {
		b.WriteString("\n" + item.Details + "\n")
	}
	if item.Note != "" {
		fmt.Fprintf(&b, "\nIt was released before: %s\n", item.Note)
	}
	for _, t := range before {
		fmt.Fprintf(&b, "\nTask %s (%s), done by %s: %s\n", t.ID, t.Title, t.Owner, t.Note)
	}
	return b.String()
}

// progress says how many tasks are done.
func progress(items []Item) string {
	done, taken := 0, 0
	for _, item := range items {
		switch item.Status {
		case Done:
			done++
		case Claimed:
			taken++
		}
	}
	return fmt.Sprintf("%d of %d done, %d claimed.", done, len(items), taken)
}

// maxListedNote is how many characters of a note a list shows.
const maxListedNote = 200

// listed is the whole list as a model reads it.
func listed(items []Item) string {
	if len(items) == 0 {
		return "The list is empty."
	}
	var b strings.Builder
	for _, item := range items {
		fmt.Fprintf(&b, "%s  [%s", item.ID, item.Status)
		if item.Owner != "" {
			b.WriteString(" by " + item.Owner)
		}
		b.WriteString("] " + item.Title)
		if len(item.After) > 0 && item.Status == Open {
			b.WriteString(" (after " + strings.Join(item.After, ", ") + ")")
		}
		if item.Note != "" {
			b.WriteString(": " + prose.Short(prose.Line(item.Note), maxListedNote))
		}
		b.WriteString("\n")
	}
	return b.String() + progress(items)
}
