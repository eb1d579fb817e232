package acp

import (
	"context"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/host/slash"
	said "github.com/burin-dev/burin/internal/host/words"
)

// commands lists the available commands: burin's own first, then those defined in files, then skills.
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
	for _, c := range slash.Commands(l.folder.Own()) {
		taken[c.Name] = true
		add(c.Name, c.Help, c.Hint)
	}
	for _, c := range l.folder.FileCommands().List() {
		if !taken[c.Name] {
			add(c.Name, c.Description, c.Hint)
		}
	}
	for _, k := range l.folder.Skills().Callable() {
		add("skill:"+k.Name, k.Description, "what to do")
	}
	return u
}

// carryOut runs a command until it ends or the client cancels the prompt.
func (l *live) carryOut(s *sent, c slash.Command, arg string) (any, error) {
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
	text, err := c.Run(ctx, l.handle, arg)
	switch {
	case s.stopped():
		return proto.PromptResponse{StopReason: proto.StopCancelled}, nil
	case err != nil:
		text = "/" + c.Name + ": " + said.Error(err)
	case c.Answers != nil && c.Answers(arg):
		return l.answered(s, text)
	}
	if err := l.tell(chunk(chunkAgent, text, "")); err != nil {
		return nil, err
	}
	return proto.PromptResponse{StopReason: proto.StopEndTurn}, nil
}

// answered waits for the answer to a message that a command has submitted.
func (l *live) answered(s *sent, id string) (any, error) {
	l.prompts.alias(s, id)
	l.catchUp() // it may have ended before the alias was there
	return l.wait(s, id)
}
