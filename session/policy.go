package session

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
)

// Policy is what a session does automatically, and how it takes messages while the model
// works.
type Policy struct {
	AutoRetry      bool                `json:"autoRetry"`      // retry requests that fail for a temporary reason
	AutoCompaction bool                `json:"autoCompaction"` // compact a conversation that outgrows the model
	Steering       agent.QueueMode     `json:"steering"`
	FollowUp       agent.QueueMode     `json:"followUp"`
	Interrupt      agent.InterruptMode `json:"interrupt"`
	Advisor        AdvisorMode         `json:"advisor"`
	// AdvisorSpent is what the advisor has cost, and AdvisorBudget what it may cost; 0 is no
	// limit of its own.
	AdvisorSpent  llm.USD `json:"advisorSpent,omitempty"`
	AdvisorBudget llm.USD `json:"advisorBudget,omitempty"`
}

// PolicyChange changes a part of a [Policy]. Nil and empty fields change nothing.
type PolicyChange struct {
	AutoRetry      *bool               `json:"autoRetry,omitempty"`
	AutoCompaction *bool               `json:"autoCompaction,omitempty"`
	Steering       agent.QueueMode     `json:"steering,omitempty"`
	FollowUp       agent.QueueMode     `json:"followUp,omitempty"`
	Interrupt      agent.InterruptMode `json:"interrupt,omitempty"`
	Advisor        AdvisorMode         `json:"advisor,omitempty"`
}

// policies holds the policy of a session until the session ends. The next session starts from
// the settings again.
type policies struct {
	rec      *record
	loop     *agent.Agent
	retry    Retry            // at the start of the session
	settings compact.Settings // likewise
	advice   func() (spent, budget llm.USD)

	mu  sync.Mutex
	now Policy
}

func newPolicies(o *Options, rec *record) *policies {
	p := &policies{rec: rec, retry: o.Retry, settings: o.Compaction}
	p.now = Policy{
		AutoRetry: !o.Retry.Off, AutoCompaction: o.Compaction.Enabled && o.Compaction.Strategy != compact.Off,
		Steering: o.Steering, FollowUp: o.FollowUp, Interrupt: o.Interrupt,
	}
	if p.now.Steering == "" {
		p.now.Steering = agent.OneAtATime
	}
	if p.now.FollowUp == "" {
		p.now.FollowUp = agent.OneAtATime
	}
	if p.now.Interrupt == "" {
		p.now.Interrupt = agent.Immediate
	}
	p.now.Advisor = cmp.Or(o.Advisor, AdvisorOff)
	return p
}

// Policy implements [Policies].
func (p *policies) Policy(context.Context) (Policy, error) {
	p.mu.Lock()
	now := p.now
	p.mu.Unlock()
	now.AdvisorSpent, now.AdvisorBudget = p.advice()
	return now, nil
}

// advisor returns the advisor's mode.
func (p *policies) advisor() AdvisorMode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now.Advisor
}

// Change implements [Policies].
func (p *policies) Change(_ context.Context, c PolicyChange) (Policy, error) {
	for _, mode := range []agent.QueueMode{c.Steering, c.FollowUp} {
		if mode != "" && mode != agent.OneAtATime && mode != agent.All {
			return Policy{}, fmt.Errorf("unknown queue mode %[3]q (want %[1]s or %[2]s)", agent.OneAtATime, agent.All, mode)
		}
	}
	if c.Interrupt != "" && c.Interrupt != agent.Immediate && c.Interrupt != agent.Wait {
		return Policy{}, fmt.Errorf("unknown interrupt mode %[3]q (want %[1]s or %[2]s)", agent.Immediate, agent.Wait, c.Interrupt)
	}
	switch c.Advisor {
	case "", AdvisorOff, AdvisorOn, AdvisorQuiet:
	default:
		return Policy{}, fmt.Errorf("unknown advisor mode %q (want %s, %s or %s)", c.Advisor, AdvisorOff, AdvisorOn, AdvisorQuiet)
	}
	p.mu.Lock()
	before := p.now
	if c.AutoRetry != nil {
		p.now.AutoRetry = *c.AutoRetry
	}
	if c.AutoCompaction != nil {
		p.now.AutoCompaction = *c.AutoCompaction
	}
	if c.Steering != "" {
		p.now.Steering = c.Steering
	}
	if c.FollowUp != "" {
		p.now.FollowUp = c.FollowUp
	}
	if c.Interrupt != "" {
		p.now.Interrupt = c.Interrupt
	}
	p.now.Advisor = cmp.Or(c.Advisor, p.now.Advisor)
	now := p.now
	p.loop.Update(func(o *agent.Options) {
		o.Steering, o.FollowUp, o.Interrupt = now.Steering, now.FollowUp, now.Interrupt
	})
	p.mu.Unlock()
	changed := now != before
	now.AdvisorSpent, now.AdvisorBudget = p.advice()
	if changed {
		p.rec.emit(Event{Event: agent.Event{Type: PolicyChanged}, Data: &now})
	}
	return now, nil
}

// repeats returns the current retry settings.
func (p *policies) repeats() *Retry {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.retry
	r.Off = !p.now.AutoRetry
	return &r
}

// compaction returns the current compaction settings.
func (p *policies) compaction() compact.Settings {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.settings
	c.Enabled = p.now.AutoCompaction
	if c.Enabled && c.Strategy == compact.Off { // somebody wants it after all
		c.Strategy = compact.Full
	}
	return c
}
