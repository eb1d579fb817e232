package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Names of the tools with which the model sets a checkpoint before it explores, and goes back to
// it with a report.
const (
	CheckpointTool = "checkpoint"
	RewindTool     = "rewind"
)

// CustomRewind is the custom type of the message with the report, which follows the checkpoint.
const CustomRewind = "burin.rewind"

// Rewind says that the model went back to its checkpoint. What it did since is a branch of its
// own, which ends at Left.
type Rewind struct {
	Goal       string `json:"goal,omitempty"` // what the model wanted to find out
	Report     string `json:"report"`
	Checkpoint string `json:"checkpoint"` // the entry from which both branches continue
	Left       string `json:"left"`       // the last entry of the branch that was left
	Messages   int    `json:"messages"`   // how many messages are no longer in the window
}

// Rewinder is where the model sets checkpoints and goes back to them. It is made before its
// session, so that tools can use it; the zero value is for the [Options] of one session.
type Rewinder struct{ marks atomic.Pointer[marks] }

// Mark checks that a checkpoint can be set by the call with that id. The result of the call is
// the checkpoint.
func (r *Rewinder) Mark(call string) error {
	x := r.marks.Load()
	if x == nil {
		return errNotOpen
	}
	if err := x.alone(call, CheckpointTool); err != nil {
		return err
	}
	if at, err := x.find(); err == nil {
		return fmt.Errorf("a checkpoint is already set (%s): rewind to it before you set another", prose.Short(at.goal, 100))
	}
	return nil
}

// Rewind checks that the call with that id can go back. The session does so before its next
// request, to the checkpoint that is set then.
func (r *Rewinder) Rewind(call string) error {
	x := r.marks.Load()
	if x == nil {
		return errNotOpen
	}
	if err := x.alone(call, RewindTool); err != nil {
		return err
	}
	_, err := x.find()
	return err
}

var errNotOpen = errors.New("the session is not open")

// marks are the checkpoints of a session. All of it follows from the transcript: a checkpoint is
// the result of its call, and a result of rewind that no request has followed yet is still to be
// carried out. So a crash in between changes nothing.
type marks struct {
	rec  *record
	loop *agent.Agent
	work *work
	now  func() time.Time
}

// alone returns an error if an answer makes other calls too: their results would be between
// the checkpoint and its result, or would be lost.
func (x *marks) alone(call, name string) error {
	for _, m := range slices.Backward(x.loop.Messages()) {
		calls := m.ToolCalls()
		if !slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return c.ID == call }) {
			continue
		}
		if len(calls) > 1 {
			return fmt.Errorf("%s must be the only call of an answer: call it again, alone", name)
		}
		break
	}
	return nil
}

// marked is the checkpoint to which the model can go back.
type marked struct {
	id, goal string
	since    []transcript.Entry
}

// find returns the current checkpoint, or says why there is none.
func (x *marks) find() (marked, error) {
	leaf := x.rec.log.Leaf()
	e := x.rec.log.Last(leaf,
		func(n transcript.Node) bool {
			return n.Role == llm.RoleToolResult && (n.Name == CheckpointTool || n.Name == "")
		},
		func(e *transcript.Entry) bool {
			return e.Message != nil && e.Message.ToolName == CheckpointTool && !e.Message.IsError
		})
	if e == nil {
		return marked{}, errors.New("no checkpoint is set: set one with checkpoint before you explore")
	}
	since, err := x.rec.log.Beyond(leaf, e.ID)
	if err != nil {
		return marked{}, err
	}
	for i := range since {
		switch entry := &since[i]; {
		case entry.Type == transcript.TypeCompaction:
			return marked{}, errors.New("the conversation was compacted since the checkpoint, which is gone: continue from here")
		case customType(entry) == CustomRewind:
			return marked{}, errors.New("you have already rewound to the last checkpoint: set another one before you explore again")
		case entry.Execution != nil, entry.Message != nil && entry.Message.Role == llm.RoleUser:
			return marked{}, errors.New("the user has spoken since the checkpoint, and their words stay in the conversation, so it can't be rewound. Continue from here; you can set another checkpoint")
		}
	}
	var d struct {
		Goal string `json:"goal"`
	}
	_ = json.Unmarshal(e.Message.Details, &d) // without a goal it is still a checkpoint
	return marked{id: e.ID, goal: d.Goal, since: since}, nil
}

// customType returns the custom type of an entry, or of its message.
func customType(e *transcript.Entry) string {
	if e.Message != nil && e.Message.CustomType != "" {
		return e.Message.CustomType
	}
	return e.CustomType
}

// apply goes back to the checkpoint if the model has just asked for it, and reports whether it
// did. Nothing else may be running.
func (x *marks) apply() bool {
	messages := x.loop.Messages()
	if len(messages) == 0 {
		return false
	}
	last := &messages[len(messages)-1]
	if last.Role != llm.RoleToolResult || last.ToolName != RewindTool || last.IsError {
		return false
	}
	var d struct {
		Report string `json:"report"`
	}
	if json.Unmarshal(last.Details, &d) != nil || d.Report == "" {
		return false
	}
	at, err := x.find()
	if err != nil {
		return false
	}
	r := Rewind{Goal: at.goal, Report: x.rec.redactor.hide(d.Report), Checkpoint: at.id}
	var ok bool
	if r.Left, ok = x.rec.rewind(at); !ok {
		return false
	}
	todos := false
	for i := range at.since {
		if m := at.since[i].Message; m != nil {
			r.Messages++
			todos = todos || m.Role == llm.RoleToolResult && m.ToolName == "todo"
		}
	}
	words := rewindWords(&r)
	if todos {
		phases := x.work.hide(x.work.phases())
		if data, err := json.Marshal(todoEdit{phases}); err == nil { // so that a resume finds it on this branch
			x.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: CustomTodoEdit, Data: data})
		}
		words += "\nThe todo list is as you left it:\n" + todoText(phases)
	}
	m := llm.Message{Role: llm.RoleCustom, CustomType: CustomRewind, Time: x.now(), Content: []llm.Block{llm.Text{Text: words}}}
	id := x.rec.note(m)
	x.rec.emit(Event{Event: agent.Event{Type: Rewound}, EntryID: id, Data: &r})
	return true
}

func rewindWords(r *Rewind) string {
	goal := ""
	if r.Goal != "" {
		goal = " (" + r.Goal + ")"
	}
	return fmt.Sprintf("<rewound>\nYou explored since the checkpoint%s and went back to it. What you read and did meanwhile is no longer in the conversation. Files and programs are as you left them. Your report:\n\n%s\n</rewound>", goal, strings.TrimSpace(r.Report))
}

// rewind moves to a checkpoint. What was set since, such as a model, a mode or a pin, continues
// on the new branch; what the model and its tools said does not.
func (r *record) rewind(at marked) (left string, ok bool) {
	r.writing.Lock()
	left = r.log.Leaf()
	err := r.log.Move(at.id)
	ok = err == nil
	for _, e := range at.since {
		if err == nil && stays(&e) {
			_, err = r.log.Append(e)
		}
	}
	r.writing.Unlock()
	r.written(err)
	return left, ok
}

// stays reports whether an entry still holds after a rewind.
func stays(e *transcript.Entry) bool {
	switch e.Type {
	case transcript.TypeMessage, transcript.TypeCustomMessage:
		return early(customType(e))
	case transcript.TypeTTSR, transcript.TypeBranchSummary: // the model no longer has what they are about
		return false
	case transcript.TypeCustom:
		return e.CustomType != transcript.CustomPrune && e.CustomType != CustomQueue // the newest queue entry counts, wherever it is
	}
	return true
}
