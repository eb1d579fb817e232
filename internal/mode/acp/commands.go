package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	proto "github.com/burin-dev/burin/internal/acp"
	said "github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// slashCommand is one of burin's own commands that makes sense without a terminal. run
// returns Markdown for the person.
type slashCommand struct {
	name, hint, help string
	run              func(l *live, ctx context.Context, arg string) (string, error)
	// answers says that the model answers: run returns the id of the message to wait for.
	answers bool
}

func slashCommands() []slashCommand {
	return []slashCommand{
		{name: "compact", hint: "what matters", help: "Condense the conversation", run: (*live).compact},
		{name: "undo", hint: "turn", help: "Undo what the last turn changed", run: (*live).undo},
		{name: "retry", help: "Try again what failed or was stopped", run: (*live).retry, answers: true},
		{name: "btw", hint: "question", help: "Ask a question outside the conversation", run: (*live).aside},
		{name: "model", hint: "name", help: "Show or choose the model", run: (*live).modelCommand},
		{name: "thinking", hint: "level", help: "Show or choose how hard the model thinks", run: (*live).thinkingCommand},
		{name: "mode", hint: "plan, ask, auto-edit or full", help: "Show or choose what runs without a question", run: (*live).modeCommand},
		{name: "rename", hint: "title", help: "Name this session", run: (*live).rename},
		{name: "context", help: "Show what fills the model's window", run: (*live).context},
		{name: "cost", help: "Show what this session has cost", run: (*live).cost},
		{name: "shake", hint: "images", help: "Hide old outputs or images from the model", run: (*live).shake},
		{name: "pin", hint: "text", help: "Keep a text in front of the model, whatever is condensed", run: (*live).pin},
	}
}

// commands lists the available commands: burin's own first, then those defined in files.
func (l *live) commands() proto.Commands {
	u := proto.Commands{Kind: "available_commands_update"}
	add := func(name, help, hint string) {
		c := proto.Command{Name: name, Description: help}
		if hint != "" {
			c.Input = &proto.CommandInput{Hint: hint}
		}
		u.AvailableCommands = append(u.AvailableCommands, c)
	}
	taken := map[string]bool{}
	for _, c := range slashCommands() {
		taken[c.name] = true
		add(c.name, c.help, c.hint)
	}
	for _, c := range l.folder.FileCommands().List() {
		if !taken[c.Name] {
			add(c.Name, c.Description, c.Hint)
		}
	}
	return u
}

// slash finds the command that a prompt calls, if it is one of burin's own.
func (l *live) slash(m llm.Message) (c slashCommand, arg string, ok bool) {
	text, isText := m.Content[0].(llm.Text)
	if !isText || len(m.Content) > 1 || !strings.HasPrefix(text.Text, "/") {
		return c, "", false
	}
	name, arg, _ := strings.Cut(strings.TrimSpace(text.Text[1:]), " ")
	for _, c := range slashCommands() {
		if c.name == name {
			return c, strings.TrimSpace(arg), true
		}
	}
	return c, "", false
}

// carryOut runs a command until it ends or the client cancels the prompt.
func (l *live) carryOut(s *sent, c slashCommand, arg string) (any, error) {
	ctx, stop := context.WithCancel(l.ctx)
	defer stop()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case <-s.cancelled:
			_ = l.handle.Conversation().Abort(l.ctx)
			stop()
		case <-finished:
		}
	}()
	text, err := c.run(l, ctx, arg)
	switch {
	case s.stopped():
		return proto.PromptResponse{StopReason: proto.StopCancelled}, nil
	case err != nil:
		text = "/" + c.name + ": " + said.Error(err)
	case c.answers:
		return l.answered(s, text)
	}
	if err := l.tell(chunk(chunkAgent, text, "")); err != nil {
		return nil, err
	}
	return proto.PromptResponse{StopReason: proto.StopEndTurn}, nil
}

func (l *live) compact(ctx context.Context, arg string) (string, error) {
	before := l.handle.Facts().Stats.Context
	if err := l.handle.Conversation().Compact(ctx, arg); err != nil {
		return "", err
	}
	return fmt.Sprintf("Condensed the conversation from %s to %s tokens.", prose.Tokens(before), prose.Tokens(l.handle.Facts().Stats.Context)), nil
}

func (l *live) undo(ctx context.Context, turn string) (string, error) {
	changes := l.handle.Changes()
	if changes == nil {
		return "", errors.New("this session keeps no undo journal")
	}
	if turn == "" {
		turns, err := changes.Turns(ctx)
		if err != nil {
			return "", err
		}
		for _, t := range turns {
			if t.Session == l.id && !t.Undone {
				turn = t.ID
				break
			}
		}
		if turn == "" {
			return "Nothing to undo.", nil
		}
	}
	done, err := changes.Undo(ctx, turn)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Undid turn %s: %s restored.", turn, prose.Count(len(done.Restored), "file"))
	for _, k := range done.Kept {
		fmt.Fprintf(&b, "\n- left alone: `%s` (%s)", k.Path, k.Reason)
	}
	return b.String(), nil
}

func (l *live) retry(ctx context.Context, _ string) (string, error) {
	r, err := l.handle.Conversation().Resend(ctx)
	return r.ID, err
}

// answered waits for the answer to a message that a command has submitted.
func (l *live) answered(s *sent, id string) (any, error) {
	l.prompts.alias(s, id)
	l.catchUp() // it may have ended before the alias was there
	return l.wait(s, id)
}

func (l *live) aside(ctx context.Context, question string) (string, error) {
	if question == "" {
		return "", errors.New("needs a question, such as /btw what does this function do?")
	}
	return l.handle.Conversation().Aside(ctx, question, func(string) {})
}

func (l *live) modelCommand(ctx context.Context, name string) (string, error) {
	if name != "" {
		if err := l.set(ctx, optionModel, name); err != nil {
			return "", err
		}
	}
	return "The model is `" + l.handle.Facts().Stats.Model + "`.", nil
}

func (l *live) thinkingCommand(ctx context.Context, level string) (string, error) {
	if level != "" {
		if err := l.set(ctx, optionThinking, level); err != nil {
			return "", err
		}
	}
	now := l.handle.Facts().Stats.Thinking
	if m := l.handle.Facts().Model; m != nil {
		now = m.Thinking.Clamp(now)
	}
	return "Thinking is " + string(now) + ".", nil
}

func (l *live) modeCommand(ctx context.Context, mode string) (string, error) {
	if mode != "" {
		if err := l.set(ctx, optionMode, mode); err != nil {
			return "", err
		}
	}
	return "The mode is " + l.handle.Facts().Mode + ".", nil
}

func (l *live) rename(ctx context.Context, title string) (string, error) {
	if title == "" {
		return "", errors.New("needs a title, such as /rename fix the parser")
	}
	if err := l.handle.Conversation().SetTitle(ctx, title); err != nil {
		return "", err
	}
	return "Renamed the session.", nil
}

func (l *live) context(ctx context.Context, _ string) (string, error) {
	b, err := l.handle.Conversation().Breakdown(ctx)
	if err != nil {
		return "", err
	}
	return breakdown(b), nil
}

func (l *live) cost(context.Context, string) (string, error) {
	s := l.handle.Facts().Stats
	text := fmt.Sprintf("%s in %s: %s tokens in, %s out.", s.Cost, prose.Count(s.Requests, "request"), prose.Tokens(s.Usage.Input+s.Usage.CacheRead+s.Usage.CacheWrite), prose.Tokens(s.Usage.Output))
	if !s.Known {
		text += " The price of some requests is unknown and left out."
	}
	return text, nil
}

func (l *live) shake(ctx context.Context, kind string) (string, error) {
	freed, err := l.handle.Conversation().Shake(ctx, kind)
	if err != nil {
		return "", err
	}
	return "Freed about " + prose.Tokens(freed) + " tokens.", nil
}

func (l *live) pin(ctx context.Context, text string) (string, error) {
	if text == "" {
		pins, err := l.handle.Work().Pins(ctx)
		if err != nil || len(pins) == 0 {
			return "Nothing is pinned.", err
		}
		return "- " + strings.Join(pins, "\n- "), nil
	}
	if err := l.handle.Work().Pin(ctx, text); err != nil {
		return "", err
	}
	return "Pinned.", nil
}

// breakdown lists what fills the context window.
func breakdown(b session.Breakdown) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s tokens", prose.Tokens(b.Total))
	if b.Window > 0 {
		fmt.Fprintf(&out, " of %s; %s free", prose.Tokens(b.Window), prose.Tokens(b.Free))
	}
	for _, part := range []struct {
		name   string
		shares []session.Share
	}{{"system prompt", b.System}, {"tools", b.Tools}, {"messages", b.Messages}} {
		n := 0
		for _, s := range part.shares {
			n += s.Tokens
		}
		fmt.Fprintf(&out, "\n- %s: %s", part.name, prose.Tokens(n))
	}
	return out.String()
}
