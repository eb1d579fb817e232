package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
)

// Turn is what is different while the model works on one prompt, such as that of a command
// file. It ends with the prompt, or when the model reads the next one.
type Turn struct {
	Model    string    `json:"model,omitempty"`    // a selector
	Thinking llm.Level `json:"thinking,omitempty"` // "" is that of the model
	Tools    []string  `json:"tools,omitempty"`    // the only tools that are offered; nil is all
	Allow    []string  `json:"allow,omitempty"`    // rules for calls that run without a question
	// Files go with the prompt if the model may read them.
	Files []TurnFile `json:"-"`
}

// TurnFile is a file that goes with a prompt.
type TurnFile struct {
	Name string // as it is written, for people
	// Paths are what Read opens, absolute, and the names that lead there by links. The model must be
	// allowed to read all of them: what is written may mean another file to a tool.
	Paths []string
	Read  func() (llm.Block, error)
}

// different reports whether a turn changes anything.
func (t *Turn) different() bool {
	return t != nil && (t.Model != "" || t.Thinking != "" || len(t.Tools) > 0 || len(t.Allow) > 0)
}

// turnWishes puts what prompts want for their turns to work.
type turnWishes struct {
	modelState *modelState
	tools      *ToolSet
	rules      Permissions // nil if there are none
	warn       func(string)

	mu      sync.Mutex
	next    *Turn // of the prompt that the model reads next
	pending bool
	granted []string // ids of the rules of the current turn
	active  bool
}

// read notes that the model reads a prompt.
func (x *turnWishes) read(t *Turn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !t.different() {
		t = nil
	}
	x.next, x.pending = t, t != nil || x.active
}

// prepare puts the turn of the newest prompt to work, before a request.
func (x *turnWishes) prepare(ctx context.Context) {
	x.mu.Lock()
	t, pending := x.next, x.pending
	x.next, x.pending = nil, false
	x.mu.Unlock()
	if !pending {
		return
	}
	x.end(ctx)
	if t == nil {
		return
	}
	x.mu.Lock()
	x.active = true
	x.mu.Unlock()
	x.modelState.command(ctx, t)
	if len(t.Tools) > 0 {
		if err := x.tools.limit(t.Tools); err != nil {
			x.warn("the tools of the command are not used: " + err.Error())
		}
	}
	for _, rule := range t.Allow {
		x.allow(ctx, rule)
	}
}

// allow grants a rule for the turn, unless it holds anyway.
func (x *turnWishes) allow(ctx context.Context, rule string) {
	if x.rules == nil {
		return
	}
	known, err := x.rules.Rules(ctx)
	if err == nil && slices.ContainsFunc(known, func(r permit.Rule) bool { return r.String() == rule }) {
		return
	}
	r, err := x.rules.Grant(ctx, rule, permit.Session)
	if err != nil {
		x.warn("allowed-tools of the command: " + err.Error())
		return
	}
	x.mu.Lock()
	x.granted = append(x.granted, r.ID)
	x.mu.Unlock()
}

// end undoes what the turn has changed.
func (x *turnWishes) end(ctx context.Context) {
	x.mu.Lock()
	active, granted := x.active, x.granted
	x.active, x.granted, x.next, x.pending = false, nil, nil, false
	x.mu.Unlock()
	if !active {
		return
	}
	for _, id := range granted {
		if err := x.rules.Revoke(ctx, id); err != nil {
			x.warn("a rule of the command could not be revoked: " + err.Error())
		}
	}
	if err := x.tools.limit(nil); err != nil {
		x.warn("the tools do not come back: " + err.Error())
	}
	x.modelState.command(ctx, nil)
}

// readTool is the name of the tool that reads files: who may not use it on a file doesn't get the
// file attached.
const readTool = "read"

// enclose gives the files of a turn that the model may read.
func enclose(ctx context.Context, s *Session, files []TurnFile) (blocks []llm.Block) {
	for _, f := range files {
		block, err := enclosed(ctx, s, f)
		if err != nil {
			s.rec.warn("@" + f.Name + " of the command is not attached: " + err.Error())
			continue
		}
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		return nil
	}
	m, err := attach(ctx, s, llm.Message{Role: llm.RoleUser, Content: blocks})
	if err != nil {
		s.rec.warn("files of the command are not attached: " + err.Error())
		return nil
	}
	return m.Content
}

func enclosed(ctx context.Context, s *Session, f TurnFile) (llm.Block, error) {
	offered := s.tools.offered()
	i := slices.IndexFunc(offered, func(t *tool.Tool) bool { return t.Name == readTool })
	if i < 0 {
		return nil, errors.New("the model has no tool to read files")
	}
	for _, path := range f.Paths {
		args, err := json.Marshal(map[string]string{"path": path})
		if err != nil {
			return nil, err
		}
		if err := s.o.Ground.Authorize(ctx, offered[i], tool.Call{Name: readTool, Arguments: args}); err != nil {
			return nil, errors.New(strings.TrimSpace(s.redactor.err(err).Error()))
		}
	}
	return f.Read()
}
