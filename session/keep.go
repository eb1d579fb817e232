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

// Custom types of entries that hold words to keep, and that such words are kept no
// longer; and of the messages that tell the model.
const (
	customPin   = "burin.pin"
	customUnpin = "burin.unpin"
)

// ErrNotPinned is that words that were to be unpinned are not pinned.
var ErrNotPinned = errors.New("no such pin")

// work is what the session works on: the list of work, the goal, and words that are kept.
type work struct {
	rec      *record
	veil     veil
	list     Tasks // nil: there is none
	mind     *mind
	total    func() llm.USD // what the session has spent
	outdated func()         // the transcript has what the loop has not

	keeping sync.Mutex // held while what is kept word for word changes: pins, the goal

	mu        sync.Mutex
	goal      Goal
	goalSince llm.USD // of total, when goal was written down
	goalTold  bool    // the person knows that the first prompt is not kept whole
}

var _ Work = (*work)(nil)

// Pin keeps words for the model as they are, whatever is condensed around them. What is
// pinned already stays as it is. With the goal and the open tasks all pinned words may
// have 256 KB; more is refused.
func (w *work) Pin(_ context.Context, text string) error {
	text = strings.TrimSpace(w.veil.hide(text))
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

// Unpin takes back what was pinned, in the words that Pins has. The error of
// words that are not pinned is [ErrNotPinned]. What a summary said of them is overruled,
// and gone with the next one.
func (w *work) Unpin(_ context.Context, text string) error {
	if !slices.Contains(w.keep().pins, text) {
		return ErrNotPinned
	}
	return w.keepTo(customUnpin, text, "You were to keep to the following. It holds no longer:\n"+prose.Clip(text, maxUnpinned))
}

// maxUnpinned is how many bytes of unpinned words the model reads again.
const maxUnpinned = 400

// keepTo writes down that words are kept, or no longer, and tells the model.
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

// Pins are the words that are pinned on this branch, oldest first.
func (w *work) Pins(context.Context) ([]string, error) { return w.keep().pins, nil }

// kept is what a compaction passes on word for word.
type kept struct {
	compact.Keep
	asked string // the entry that the first prompt is from
	goal  Goal
	pins  []string // Pinned without the goal
}

// room is an error if a text is too much to be kept besides.
func (w *work) room(k kept, text string) error {
	k.fitGoal(w.mind.window())
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

// keep is what a compaction passes on word for word: the first prompt of the branch, the
// goal, everything that is pinned on it, and the open tasks.
func (w *work) keep() kept {
	var k kept
	entries, err := w.rec.log.Select(w.rec.log.Leaf(), func(n transcript.Node) bool {
		first := k.asked == "" && n.Role == llm.RoleUser
		if first {
			k.asked = n.ID
		}
		return first || n.Type == transcript.TypeCustom && (n.Name == customPin || n.Name == customUnpin || n.Name == CustomGoal || n.Name == "")
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
		case json.Unmarshal(e.Data, &text) != nil:
		case e.CustomType == customPin:
			k.pin(text)
		case e.CustomType == customUnpin:
			k.Nothing = true // if that was the last, an earlier summary must not bring it back
			k.Pinned = slices.DeleteFunc(k.Pinned, func(p string) bool { return p == text })
		}
	}
	if k.pins = slices.Clone(k.Pinned); k.goal.Text != "" {
		k.pin(k.goal.Text)
	}
	for _, p := range w.hide(w.phases()) {
		p.Tasks = slices.DeleteFunc(p.Tasks, func(t todo.Task) bool { return !t.Status.Open() })
		if len(p.Tasks) > 0 {
			k.Todos = append(k.Todos, p)
		}
	}
	return k
}

// maxGoalShare is the part of the window that a goal may take for good: 1/maxGoalShare.
// A first prompt with a log in it would leave no room in a small window, however often
// the conversation is condensed.
const maxGoalShare = 4

// goalStart is how many bytes stay of a goal that cannot be kept whole.
const goalStart = 4 << 10

// fitGoal leaves of the goal its beginning, and where the rest is, if it is too large to
// be kept whole beside the rest. It returns how large it was then, in bytes, else 0.
func (k *kept) fitGoal(window int) (cut int) {
	n := len(k.Goal)
	if n <= goalStart || k.Size() <= compact.MaxKeep && (window == 0 || textTokens(k.Goal) <= window/maxGoalShare) {
		return 0
	}
	k.Goal = fmt.Sprintf("%s\n[This is the beginning of %d bytes. Read the rest before you rely on it: %s, entry %s.]",
		prose.Head(k.Goal, goalStart), n, HistoryTool, k.asked)
	return n
}

// tellGoal tells the person, once, that the goal is not kept whole.
func (w *work) tellGoal(size int) {
	w.mu.Lock()
	told := w.goalTold
	w.goalTold = true
	w.mu.Unlock()
	if !told {
		w.rec.warn(fmt.Sprintf("the first prompt has %d bytes, too many to keep word for word: the model has the first %d and can read the rest. Pin what matters in it", size, goalStart))
	}
}
