package acp

import (
	"context"
	"encoding/json"
	"slices"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript/index"
)

type info = index.Info

// Options that a client can set.
const (
	optionMode     = "mode"
	optionModel    = "model"
	optionThinking = "thinking"
)

// maxModels is how many models are listed; gateways have thousands. /model reaches the others
// by name.
const maxModels = 300

// modes are the permission modes.
func modes() []proto.Mode {
	return []proto.Mode{
		{ID: "plan", Name: "Plan", Description: "Read only; change nothing"},
		{ID: "ask", Name: "Ask", Description: "Ask before changing files and running commands"},
		{ID: "auto-edit", Name: "Auto-edit", Description: "Change files in the workspace without asking; ask before running commands"},
		{ID: "full", Name: "Full", Description: "Run everything without asking"},
	}
}

// models returns the available models, and always the current one.
func (l *live) models() []proto.Model {
	current := l.handle.Facts().Stats.Model
	all := []proto.Model{}
	if models, err := l.folder.Models(); err == nil {
		registry := models.Catalog.Registry
		for _, m := range registry.All() {
			if len(all) == maxModels {
				break
			}
			if registry.Available(m) {
				name := m.Name
				if name == "" {
					name = m.ID
				}
				all = append(all, proto.Model{ModelID: m.Ref(), Name: name + " (" + m.Provider + ")"})
			}
		}
	}
	if !slices.ContainsFunc(all, func(m proto.Model) bool { return m.ModelID == current }) {
		all = append([]proto.Model{{ModelID: current, Name: current}}, all...)
	}
	return all
}

// levels returns the thinking levels of the model.
func (l *live) levels() []llm.Level {
	m := l.handle.Facts().Model
	if m == nil {
		return nil
	}
	var all []llm.Level
	for _, level := range llm.Levels() {
		if m.Thinking.Clamp(level) == level {
			all = append(all, level)
		}
	}
	return all
}

// configOptions returns the options with their current values.
func (l *live) configOptions(models []proto.Model) []proto.ConfigOption {
	f := l.handle.Facts()
	mode := proto.ConfigOption{Type: "select", ID: optionMode, Name: "Mode", Description: "What runs without asking", Category: "mode", CurrentValue: f.Mode}
	for _, m := range modes() {
		mode.Options = append(mode.Options, proto.ConfigChoice{Value: m.ID, Name: m.Name, Description: m.Description})
	}
	model := proto.ConfigOption{Type: "select", ID: optionModel, Name: "Model", Category: "model", CurrentValue: f.Stats.Model}
	for _, m := range models {
		model.Options = append(model.Options, proto.ConfigChoice{Value: m.ModelID, Name: m.Name})
	}
	all := []proto.ConfigOption{mode, model}
	if levels := l.levels(); len(levels) > 1 {
		level := f.Stats.Thinking
		if f.Model != nil {
			level = f.Model.Thinking.Clamp(level)
		}
		thinking := proto.ConfigOption{Type: "select", ID: optionThinking, Name: "Thinking", Description: "How hard the model thinks", Category: "thought_level", CurrentValue: string(level)}
		for _, one := range levels {
			thinking.Options = append(thinking.Options, proto.ConfigChoice{Value: string(one), Name: string(one)})
		}
		all = append(all, thinking)
	}
	return all
}

// options is the update with all options.
func (l *live) options() proto.ConfigUpdate {
	return proto.ConfigUpdate{Kind: "config_option_update", ConfigOptions: l.configOptions(l.models())}
}

// described describes an opened session for the client.
func (l *live) described() proto.SessionResponse {
	f, models := l.handle.Facts(), l.models()
	return proto.SessionResponse{
		Modes:         &proto.Modes{CurrentModeID: f.Mode, AvailableModes: modes()},
		Models:        &proto.Models{CurrentModelID: f.Stats.Model, AvailableModels: models},
		ConfigOptions: l.configOptions(models),
	}
}

func (a *face) setMode(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SetModeRequest](params)
	if err != nil {
		return nil, err
	}
	return a.set(p.SessionID, optionMode, p.ModeID, func(*live) any { return proto.Empty{} })
}

func (a *face) setModel(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SetModelRequest](params)
	if err != nil {
		return nil, err
	}
	return a.set(p.SessionID, optionModel, p.ModelID, func(*live) any { return proto.Empty{} })
}

func (a *face) setOption(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SetOptionRequest](params)
	if err != nil {
		return nil, err
	}
	value, ok := p.Value.(string)
	if !ok {
		return nil, proto.Invalid("the option %s takes a string", p.ConfigID)
	}
	return a.set(p.SessionID, p.ConfigID, value, func(l *live) any {
		return proto.ConfigOptions{ConfigOptions: l.configOptions(l.models())}
	})
}

// set sets an option of a session.
func (a *face) set(id, option, value string, result func(*live) any) (proto.Work, error) {
	l, err := a.session(id)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		if err := l.set(ctx, option, value); err != nil {
			return nil, err
		}
		return result(l), nil
	}, nil
}

func (l *live) set(ctx context.Context, option, value string) error {
	switch option {
	case optionMode:
		if !slices.ContainsFunc(modes(), func(m proto.Mode) bool { return m.ID == value }) {
			return proto.Invalid("no mode %q: plan, ask, auto-edit or full", value)
		}
		return l.handle.Models().SetMode(ctx, value)
	case optionModel:
		if err := l.handle.Models().SetModel(ctx, value); err != nil {
			return proto.Invalid("%s", err)
		}
		return nil
	case optionThinking:
		level, err := llm.ParseLevel(value)
		if err != nil {
			return proto.Invalid("%s", err)
		}
		return l.handle.Models().SetThinking(ctx, level)
	}
	return proto.Invalid("no option %q: mode, model or thinking", option)
}
