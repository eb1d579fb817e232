package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript"
)

// Custom types of entries that add and remove pins, and of the messages about them for the
// model.
const (
	customPin   = "burin.pin"
	customUnpin = "burin.unpin"
)

// ErrNotPinned means that a text to unpin is not pinned.
var ErrNotPinned = errors.New("no such pin")

// work is what the session works on: the todos, the goal, and the pins.
type work struct {
	rec        *record
	redactor   redactor
	list       Tasks // nil if there is none
	modelState *modelState
	total      func() llm.USD // returns what the session has spent
	before     func() string  // returns the mode that plan mode came after
	noGoals    bool
	outdated   func() // notes that the transcript has something that the loop doesn't have

	keeping sync.Mutex // held while pins or the goal change

	mu        sync.Mutex
	goal      Goal
	goalSince llm.USD // total when goal was recorded
	goalTold  bool    // the user knows that the first prompt is not kept completely
}

var _ Work = (*work)(nil)

// Pin keeps a text for the model word for word across compactions. Pinning it again changes
// nothing. Pins, goal and open todos may have 256 KB in all; Pin refuses more.
func (w *work) Pin(_ context.Context, text string) error {
	text = strings.TrimSpace(w.redactor.hide(text))
	if text == "" {
		return errors.New("nothing to pin")
	}
	w.keeping.Lock()
	defer w.keeping.Unlock()
	if err := w.room(w.keep(), text); err != nil {
		return fmt.Errorf("this cannot be pinned: %w", err)
	}
	return w.keepTo(customPin, text, "Keep to this from now on:\n"+text)
}

// Unpin removes a pin, by the text that Pins returns. If the text is not pinned, the error is
// [ErrNotPinned]. A later message overrules what a summary says about it, and the next summary
// drops it.
func (w *work) Unpin(_ context.Context, text string) error {
	if !slices.Contains(w.keep().pins, text) {
		return ErrNotPinned
	}
	return w.keepTo(customUnpin, text, "You were to keep to the following. It holds no longer:\n"+prose.Clip(text, maxUnpinned))
}

// maxUnpinned is how many bytes of an unpinned text the model reads again.
const maxUnpinned = 400

// keepTo records that a text is pinned or unpinned, and tells the model.
func (w *work) keepTo(customType, text, words string) error {
	data, err := json.Marshal(text)
	if err != nil {
		return err
	}
	content, err := json.Marshal(words)
	if err != nil {
		return err
	}
	w.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: customType, Data: data})
	w.rec.append(transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: customType, Content: content, Display: true, Attribution: "user"})
	w.outdated()
	return nil
}

// Plan returns the plan of this branch.
func (w *work) Plan(context.Context) (Plan, error) { return w.latestPlan(), nil }

// latestPlan returns the plan of this branch. The mode in which it is carried out is the one of this
// process: a file must not choose it.
func (w *work) latestPlan() Plan {
	p := w.keep().plan
	if p.Text != "" {
		p.Mode = w.before()
	}
	return p
}

// Pins returns the pinned texts of this branch, oldest first.
func (w *work) Pins(context.Context) ([]string, error) { return w.keep().pins, nil }

// kept is what a compaction keeps word for word.
type kept struct {
	compact.Keep
	asked string // the entry of the first prompt
	goal  Goal
	plan  Plan
	pins  []string // Pinned without the goal and the plan
}

// room returns an error if a text is too large to be kept in addition.
func (w *work) room(k kept, text string) error {
	k.fitGoal(w.modelState.window())
	k.pin(text)
	n := k.Size()
	if n <= compact.MaxKeep {
		return nil
	}
	return fmt.Errorf("it has %d bytes and %d are pinned already, of at most %d: pin less, or unpin something",
		len(text), n-len(text), compact.MaxKeep)
}

func (k *kept) pin(text string) {
	if !slices.Contains(k.Pinned, text) {
		k.Pinned = append(k.Pinned, text)
	}
}

// keep returns what a compaction keeps word for word: the first prompt of the branch, the
// goal, the pins, and the open todos.
func (w *work) keep() kept {
	var k kept
	entries, err := w.rec.log.Select(w.rec.log.Leaf(), func(n transcript.Node) bool {
		first := k.asked == "" && n.Role == llm.RoleUser
		if first {
			k.asked = n.ID
		}
		return first || n.Type == transcript.TypeCustom && (n.Name == customPin || n.Name == customUnpin || n.Name == CustomGoal || n.Name == CustomPlan || n.Name == "")
	})
	if err != nil {
		return k
	}
	for i := range entries {
		e := &entries[i]
		var text string
		switch {
		case e.Message != nil:
			k.Goal = e.Message.Text()
		case e.CustomType == CustomGoal:
			var g Goal
			if json.Unmarshal(e.Data, &g) == nil {
				k.Nothing = k.Nothing || g.Text != k.goal.Text // as below
				k.goal = g
			}
		case e.CustomType == CustomPlan:
			var p Plan
			if json.Unmarshal(e.Data, &p) == nil {
				k.Nothing = k.Nothing || p.Text != k.plan.Text || !p.open()
				k.plan = p
			}
		case json.Unmarshal(e.Data, &text) != nil:
		case e.CustomType == customPin:
			k.pin(text)
		case e.CustomType == customUnpin:
			k.Nothing = true // if that was the last one, an earlier summary must not bring it back
			k.Pinned = slices.DeleteFunc(k.Pinned, func(p string) bool { return p == text })
		}
	}
	if k.pins = slices.Clone(k.Pinned); k.goal.Text != "" {
		k.pin(k.goal.Text)
	}
	if k.plan.open() {
		k.pin(keptPlan(k.plan, w.modelState.window()))
	}
	for _, p := range w.hide(w.phases()) {
		p.Tasks = slices.DeleteFunc(p.Tasks, func(t todo.Task) bool { return !t.Status.Open() })
		if len(p.Tasks) > 0 {
			k.Todos = append(k.Todos, p)
		}
	}
	return k
}

// maxGoalShare limits the share of the window that a first prompt may keep to 1/maxGoalShare.
// A first prompt that contains a log would leave no room in a small window, however often the
// conversation is compacted.
const maxGoalShare = 4

// goalStart is how many bytes are kept of a first prompt that can't be kept completely.
const goalStart = 4 << 10

// fitGoal replaces a first prompt that is too large with its start and a note where the rest
// is. It then returns the original size in bytes, otherwise 0.
func (k *kept) fitGoal(window int) (cut int) {
	n := len(k.Goal)
	if n <= goalStart || k.Size() <= compact.MaxKeep && (window == 0 || textTokens(k.Goal) <= window/maxGoalShare) {
		return 0
	}
	k.Goal = fmt.Sprintf("%s\n[This is the beginning of %d bytes. Read the rest before you rely on it: %s, entry %s.]",
		prose.Head(k.Goal, goalStart), n, HistoryTool, k.asked)
	return n
}

// tellGoal tells the user, once, that the first prompt is not kept completely.
func (w *work) tellGoal(size int) {
	w.mu.Lock()
	told := w.goalTold
	w.goalTold = true
	w.mu.Unlock()
	if !told {
		w.rec.warn(fmt.Sprintf("the first prompt has %d bytes, too many to keep word for word: the model has the first %d and can read the rest. Pin what matters in it", size, goalStart))
	}
}
