package session

import (
	"context"
	"errors"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// Navigation says how to move in the tree.
type Navigation struct {
	Summarize    bool   `json:"summarize"`    // leave a summary of the branch
	Instructions string `json:"instructions"` // what to focus on
}

// Navigate moves to an entry; what is said next follows it. From a message of the user's or a
// program's, it moves before the message and returns its text, to be edited and sent again.
func (s *Session) Navigate(ctx context.Context, id string, o Navigation) (edit string, err error) {
	ctx, end, err := s.stage.wake(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	e, err := s.log.Entry(id)
	if err != nil {
		return "", err
	}
	target := id
	switch {
	case e.Type == transcript.TypeCustomMessage, e.Message != nil && e.Message.Role == llm.RoleUser:
		target = ""
		if e.ParentID != nil {
			target = *e.ParentID
		}
		edit = textOf(e)
	}
	if target == s.log.Leaf() {
		return edit, nil
	}
	summary, err := s.summarizeLeft(ctx, target, o)
	if err != nil {
		return "", err // the leaf is unchanged
	}
	if err := s.log.Move(target); err != nil {
		return "", err
	}
	if summary != nil {
		summary.FromID = target
		if target == "" {
			summary.FromID = "root"
		}
		s.rec.append(*summary)
	}
	s.compactor.reload()
	s.restoreState(ctx)
	s.work.restoreGoal()
	s.rec.emit(Event{Event: agent.Event{Type: TreeMoved}, EntryID: s.log.Leaf(), Text: edit})
	return edit, nil
}

func textOf(e *transcript.Entry) string {
	if e.Message != nil {
		return e.Message.Text()
	}
	words, err := e.Words()
	if err != nil {
		return ""
	}
	m := llm.Message{Content: words}
	return m.Text()
}

// summarizeLeft summarizes what is left behind when moving to target; nil if that is nothing,
// or nobody asked for it.
func (s *Session) summarizeLeft(ctx context.Context, target string, o Navigation) (*transcript.Entry, error) {
	if !o.Summarize {
		return nil, nil
	}
	left, err := s.log.Beyond(s.log.Leaf(), target)
	if err != nil {
		return nil, err
	}
	window := s.modelState.window()
	budget := window - min(s.o.Compaction.BranchReserveTokens, window/2)
	summary, details, err := compact.BranchSummary(ctx, left, budget, s.money.asker(ForBranch), o.Instructions)
	if errors.Is(err, compact.ErrNothing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &transcript.Entry{Type: transcript.TypeBranchSummary, Summary: summary, Details: details}, nil
}

// restoreState takes model and thinking level from the branch that was moved to.
func (s *Session) restoreState(ctx context.Context) {
	c, err := s.log.Context(s.log.Leaf())
	if err != nil {
		return
	}
	was := s.modelState.preferred()
	next := was
	if ref := c.Models[roleDefault]; ref != "" && ref != was.Model.Ref() && s.o.Models != nil {
		if o, err := s.modelState.open(ctx, ref); err == nil {
			next = o
		} else {
			s.rec.warn("the model of this branch cannot be used; using " + was.Model.Ref() + ": " + err.Error())
		}
	}
	if next.Level = c.Thinking; next.Level == "" { // nobody changed it on this branch
		next.Level = s.o.Request.Thinking.Level
	}
	if next.Model.Ref() != was.Model.Ref() || next.Level != was.Level {
		s.modelState.prefer(next, s.o.Now())
	}
}

// Handoff has the model write a document with which another session can continue.
func (s *Session) Handoff(ctx context.Context, focus string) (document string, err error) {
	ctx, end, err := s.stage.wake(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	s.compactor.refresh()
	if len(s.agent.Messages()) < 2 {
		return "", errors.New("nothing to hand off: the conversation is empty")
	}
	return s.handoff(ctx, focus)
}

// handoff asks for the document. As a compaction strategy it stays in the session, so that its
// faces, queue and undo stay too; the pi family starts a new file.
func (s *Session) handoff(ctx context.Context, focus string) (document string, err error) {
	r, client := s.modelState.now()
	// The same prefix as the conversation's: it is in the provider's cache.
	r.Tools, r.ToolChoice = s.tools.definitions(), llm.ToolChoice{Mode: llm.ToolNone}
	r.Messages = append(s.agent.Messages(), llm.Message{
		Role: llm.RoleCustom, CustomType: "handoff", Time: s.o.Now(),
		Content: []llm.Block{llm.Text{Text: compact.HandoffPrompt(s.redactor.hide(focus))}},
	})
	err = s.o.Retry.repeat(ctx, s.o.Now, false, func() (err error) {
		document, err = s.money.ask(ctx, ForHandoff, client, &r)
		return err
	})
	if err == nil && strings.TrimSpace(document) == "" {
		err = errors.New("the model wrote no handoff document")
	}
	return document, err
}
