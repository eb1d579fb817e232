package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// Offer is what a server has for the prompts of a person.
type Offer struct {
	Resources []Listed `json:"resources"`
	Prompts   []Prompt `json:"prompts"`
}

// maxOffer is how much of an offer is kept for the next run, in bytes.
const maxOffer = 256 << 10

// Offer is what the server was last known to have, from memory or the file of the last run. Of a
// server that is connected and wasn't asked since, burin begins to ask; who comes later gets the answer.
// Offer itself waits for nothing.
func (l *Link) Offer() Offer {
	l.mu.Lock()
	c, known := l.conn, l.offer
	ask := c != nil && l.offered != c && c.why() == nil
	if ask {
		l.offered = c
	}
	l.mu.Unlock()
	if ask {
		l.besides(func(ctx context.Context) { l.askOffer(ctx, c) })
	}
	return known
}

// askOffer asks what the server has. If it fails, what was known stays.
func (l *Link) askOffer(ctx context.Context, c *conn) {
	resources, err := listResources(ctx, c)
	if err != nil {
		return
	}
	prompts, err := listPrompts(ctx, c)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.offer = Offer{Resources: resources, Prompts: prompts}
	k := kept{At: l.at, Tools: l.tools, Offer: l.offer, Spoke: l.spoke, SpokeAt: l.spokeAt}
	l.mu.Unlock()
	l.keep(k)
}

// Limits of what servers propose.
const (
	proposeTime  = 2 * time.Second        // that a server has
	proposePause = 100 * time.Millisecond // without another key, before it is asked
	maxProposed  = 100                    // values of one answer, as the protocol has it
	maxValue     = 500                    // bytes of one
	maxAnswers   = 200                    // that are remembered
)

// Propose gives the values that the server proposes for what is typed of an argument of a prompt, or of a
// variable of a template of addresses. with are the others, as far as they are known. It waits a
// moment before it asks, so that a newer question can cancel this one; answers are remembered while
// the connection lasts. Of a server that isn't connected, or has no proposals, there are none.
func (l *Link) Propose(ctx context.Context, prompt, template, name, typed string, with map[string]string) []string {
	l.mu.Lock()
	c := l.conn
	if c == nil || !c.completes || c.why() != nil {
		l.mu.Unlock()
		return nil
	}
	if l.proposing != c {
		l.proposing, l.proposed = c, map[string][]string{}
	}
	raw, _ := json.Marshal([]any{prompt, template, name, typed, with}) // of texts: it cannot fail
	known, ok := l.proposed[string(raw)]
	l.mu.Unlock()
	if ok {
		return known
	}
	pause := time.NewTimer(proposePause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, proposeTime)
	defer stop()
	ref := map[string]string{"type": "ref/prompt", "name": prompt}
	if prompt == "" {
		ref = map[string]string{"type": "ref/resource", "uri": template}
	}
	params := map[string]any{"ref": ref, "argument": map[string]string{"name": name, "value": typed}}
	if len(with) > 0 {
		params["context"] = map[string]any{"arguments": with}
	}
	var r struct {
		Completion struct {
			Values []string `json:"values"`
		} `json:"completion"`
	}
	if l.ask(ctx, c, "completion/complete", params, &r) != nil {
		return nil // it is only a proposal
	}
	values := slices.DeleteFunc(r.Completion.Values, func(v string) bool { return v == "" || len(v) > maxValue || prose.Inline(v) != v })
	values = values[:min(len(values), maxProposed)]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.proposing == c {
		if len(l.proposed) >= maxAnswers {
			clear(l.proposed)
		}
		l.proposed[string(raw)] = values
	}
	return values
}

// Links are those in use that aren't switched off, by name.
func (p *Pool) Links() []*Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*Link, 0, len(p.links))
	for _, l := range p.links {
		if !l.Off() {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b *Link) int {
		return cmp.Or(strings.Compare(a.server.Name, b.server.Name), strings.Compare(a.dir, b.dir))
	})
	return all
}
