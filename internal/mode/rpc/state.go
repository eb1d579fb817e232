package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// stateJSON is the answer to get_state. It has the field names of all programs of the family.
type stateJSON struct {
	Model          *modelJSON          `json:"model,omitempty"`
	Thinking       llm.Level           `json:"thinkingLevel"`
	Streaming      bool                `json:"isStreaming"`
	Condensing     bool                `json:"isCompacting"`
	Steering       agent.QueueMode     `json:"steeringMode"`
	FollowUp       agent.QueueMode     `json:"followUpMode"`
	Interrupt      agent.InterruptMode `json:"interruptMode"`
	File           string              `json:"sessionFile,omitempty"`
	ID             string              `json:"sessionId"`
	Name           string              `json:"sessionName,omitempty"`
	AutoCompaction bool                `json:"autoCompactionEnabled"`
	AutoRetry      bool                `json:"autoRetryEnabled"`
	Messages       int                 `json:"messageCount"`
	Queued         int                 `json:"queuedMessageCount"`
	Pending        int                 `json:"pendingMessageCount"`
	Mode           string              `json:"burin/mode,omitempty"` // of permission
}

func stateCommands() []command {
	return []command{
		of("get_state", "Facts, Policies.Policy, Queue.Waiting", inOrder, func(ctx context.Context, c *call) (any, error) {
			facts := c.s.h.Facts()
			p, err := c.s.h.Policies().Policy(ctx)
			if err != nil {
				return nil, err
			}
			q, err := c.s.h.Queue().Waiting(ctx)
			if err != nil {
				return nil, err
			}
			waiting := len(q.Steering) + len(q.FollowUps)
			return stateJSON{
				Model: c.f.model(facts.Model), Thinking: thinking(&facts), Streaming: c.s.streams(), Condensing: c.s.condensing.Load(),
				Steering: p.Steering, FollowUp: p.FollowUp, Interrupt: p.Interrupt, AutoCompaction: p.AutoCompaction, AutoRetry: p.AutoRetry,
				File: facts.Path, ID: facts.ID, Name: facts.Stats.Title, Messages: countMessages(c.s.h.Transcript()),
				Queued: waiting, Pending: waiting, Mode: facts.Mode,
			}, nil
		}),
		of("get_messages", "Transcript", inOrder, func(_ context.Context, c *call) (any, error) {
			messages, err := conversation(c.s.h.Transcript())
			return map[string]any{"messages": messages}, err
		}),
		of("get_session_stats", "Facts, Transcript", beside, func(_ context.Context, c *call) (any, error) {
			return stats(c.s.h)
		}),
		of("get_last_assistant_text", "Transcript", inOrder, func(_ context.Context, c *call) (any, error) {
			text, err := lastText(c.s.h.Transcript())
			return map[string]any{"text": text}, err
		}),
	}
}

// modelJSON is a model in the family's format. Unknown prices are 0.
type modelJSON struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	API       llm.API  `json:"api"`
	Provider  string   `json:"provider"`
	BaseURL   string   `json:"baseUrl"` // "" is the vendor's own
	Reasoning bool     `json:"reasoning"`
	Input     []string `json:"input"`
	Window    int      `json:"contextWindow"`
	MaxTokens int      `json:"maxTokens"`
	Cost      struct {
		Input      float64 `json:"input"`
		Output     float64 `json:"output"`
		CacheRead  float64 `json:"cacheRead"`
		CacheWrite float64 `json:"cacheWrite"`
	} `json:"cost"`
}

// model returns a model for clients; nil: there is none.
func (f *face) model(m *llm.Model) *modelJSON {
	if m == nil {
		return nil
	}
	if models, err := f.o.Host.Models(); err == nil { // only for the base URL
		if known, ok := models.Catalog.Registry.Lookup(m.Provider, m.ID); ok {
			return modelOf(m, known.BaseURL)
		}
	}
	return modelOf(m, "")
}

func modelOf(m *llm.Model, baseURL string) *modelJSON {
	j := &modelJSON{
		ID: m.ID, Name: cmp.Or(m.Name, m.ID), API: m.API, Provider: m.Provider, BaseURL: baseURL,
		Reasoning: m.Thinking.Mode != llm.ThinkingNone, Input: []string{}, Window: m.ContextWindow, MaxTokens: m.MaxOutput,
	}
	for _, in := range m.Input {
		if in == llm.ModalityText || in == llm.ModalityImage { // the family has no others
			j.Input = append(j.Input, string(in))
		}
	}
	j.Cost.Input, j.Cost.Output = m.Price.Input.Dollars(), m.Price.Output.Dollars()
	j.Cost.CacheRead, j.Cost.CacheWrite = m.Price.CacheRead.Dollars(), m.Price.CacheWrite.Dollars()
	return j
}

// thinking returns the thinking level. If the provider decides, it is what the family shows
// then: medium, or off for a model that does not think.
func thinking(f *session.Facts) llm.Level {
	l := f.Stats.Thinking
	if f.Model != nil && l == llm.LevelDefault {
		l = f.Model.Thinking.Clamp(l)
	}
	return cmp.Or(l, llm.LevelMedium)
}

// levels returns the thinking levels of a model, lowest first.
func levels(m *llm.Model) []llm.Level {
	if m == nil || m.Thinking.Mode == llm.ThinkingNone {
		return []llm.Level{llm.LevelOff}
	}
	return slices.DeleteFunc(llm.Levels(), func(l llm.Level) bool { return m.Thinking.Clamp(l) != l })
}

// usable returns the available models.
func (f *face) usable() ([]*catalog.Model, error) {
	models, err := f.o.Host.Models()
	if err != nil {
		return nil, err
	}
	known := models.Catalog.Registry
	return slices.DeleteFunc(slices.Clone(known.All()), func(m *catalog.Model) bool { return !known.Available(m) }), nil
}

// round returns the models that cycle_model switches between.
func (f *face) round() (all []*catalog.Model, scoped bool, err error) {
	if len(f.o.Scope) == 0 {
		all, err = f.usable()
		return all, false, err
	}
	models, err := f.o.Host.Models()
	if err != nil {
		return nil, true, err
	}
	choices, _ := models.Catalog.Resolver.Match(f.o.Scope)
	for _, c := range choices {
		if models.Catalog.Registry.Available(c.Model) {
			all = append(all, c.Model)
		}
	}
	return all, true, nil
}

type setModelJSON struct {
	Provider string `json:"provider"`
	Model    string `json:"modelId"`
}

type levelJSON struct {
	Level llm.Level `json:"level"`
}

func modelCommands() []command {
	return []command{
		on("set_model", "Models.SetModel", inOrder, func(ctx context.Context, c *call, p setModelJSON) (any, error) {
			ref := p.Provider + "/" + p.Model
			if p.Provider == "" || p.Model == "" {
				return nil, errors.New(`set_model needs "provider" and "modelId"`)
			}
			if err := c.s.h.Models().SetModel(ctx, ref); err != nil {
				if errors.As(err, new(*catalog.NotFoundError)) {
					err = fmt.Errorf("model not found: %s", ref) // suggestions are for people
				}
				return nil, err
			}
			return c.f.model(c.s.h.Facts().Model), nil
		}),
		of("cycle_model", "Models.SetModel; the host's Models", inOrder, func(ctx context.Context, c *call) (any, error) {
			all, scoped, err := c.f.round()
			if err != nil {
				return nil, err
			}
			now := c.s.h.Facts()
			at := slices.IndexFunc(all, func(m *catalog.Model) bool { return m.Ref() == now.Stats.Model })
			if len(all) == 0 || at >= 0 && len(all) == 1 {
				return json.RawMessage("null"), nil
			}
			next := all[(at+1)%len(all)]
			if err := c.s.h.Models().SetModel(ctx, next.Ref()); err != nil {
				return nil, err
			}
			now = c.s.h.Facts()
			return map[string]any{"model": modelOf(&next.Model, next.BaseURL), "thinkingLevel": thinking(&now), "isScoped": scoped}, nil
		}),
		of("get_available_models", "the host's Models", inOrder, func(_ context.Context, c *call) (any, error) {
			all, err := c.f.usable()
			if err != nil {
				return nil, err
			}
			out := make([]*modelJSON, len(all))
			for i, m := range all {
				out[i] = modelOf(&m.Model, m.BaseURL)
			}
			return map[string]any{"models": out}, nil
		}),
		on("set_thinking_level", "Models.SetThinking", inOrder, func(ctx context.Context, c *call, p levelJSON) (any, error) {
			if p.Level == "max" { // some clients' name for the highest level
				p.Level = llm.LevelXHigh
			}
			level, err := llm.ParseLevel(string(p.Level))
			if err == nil {
				err = c.s.h.Models().SetThinking(ctx, level)
			}
			return nil, err
		}),
		of("cycle_thinking_level", "Models.SetThinking", inOrder, func(ctx context.Context, c *call) (any, error) {
			now := c.s.h.Facts()
			all := levels(now.Model)
			if len(all) < 2 {
				return json.RawMessage("null"), nil
			}
			next := all[(slices.Index(all, thinking(&now))+1)%len(all)]
			return levelJSON{next}, c.s.h.Models().SetThinking(ctx, next)
		}),
		of("get_available_thinking_levels", "Facts", inOrder, func(_ context.Context, c *call) (any, error) {
			return map[string]any{"levels": levels(c.s.h.Facts().Model)}, nil
		}),
	}
}

type queueModeJSON struct {
	Mode agent.QueueMode `json:"mode"`
}

type interruptJSON struct {
	Mode agent.InterruptMode `json:"mode"`
}

type enabledJSON struct {
	Enabled *bool `json:"enabled"`
}

func (c *call) change(ctx context.Context, given bool, change session.PolicyChange) (any, error) {
	if !given {
		return nil, fmt.Errorf("%s has no value to set", c.Type)
	}
	_, err := c.s.h.Policies().Change(ctx, change)
	return nil, err
}

func policyCommands() []command {
	const does = "Policies.Change"
	return []command{
		on("set_steering_mode", does, inOrder, func(ctx context.Context, c *call, p queueModeJSON) (any, error) {
			return c.change(ctx, p.Mode != "", session.PolicyChange{Steering: p.Mode})
		}),
		on("set_follow_up_mode", does, inOrder, func(ctx context.Context, c *call, p queueModeJSON) (any, error) {
			return c.change(ctx, p.Mode != "", session.PolicyChange{FollowUp: p.Mode})
		}),
		on("set_interrupt_mode", does, inOrder, func(ctx context.Context, c *call, p interruptJSON) (any, error) {
			return c.change(ctx, p.Mode != "", session.PolicyChange{Interrupt: p.Mode})
		}),
		on("set_auto_compaction", does, inOrder, func(ctx context.Context, c *call, p enabledJSON) (any, error) {
			return c.change(ctx, p.Enabled != nil, session.PolicyChange{AutoCompaction: p.Enabled})
		}),
		on("set_auto_retry", does, inOrder, func(ctx context.Context, c *call, p enabledJSON) (any, error) {
			return c.change(ctx, p.Enabled != nil, session.PolicyChange{AutoRetry: p.Enabled})
		}),
		of("abort_retry", "Conversation.AbortRetry", beside, func(ctx context.Context, c *call) (any, error) {
			return nil, c.s.h.Conversation().AbortRetry(ctx)
		}),
		on("compact", "Conversation.Compact", beside, func(ctx context.Context, c *call, p struct {
			Instructions string `json:"customInstructions"`
		},
		) (any, error) {
			if err := c.s.h.Conversation().Compact(ctx, p.Instructions); err != nil {
				return nil, err
			}
			return condensed(c.s.h), nil
		}),
	}
}
