package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// permitted are the models that somebody may use.
type permitted struct {
	catalog func() *catalog.Catalog                   // as it is now
	lists   func(context.Context) ([][]string, error) // nil: all
}

// fixed gives one catalog.
func fixed(c *catalog.Catalog) func() *catalog.Catalog { return func() *catalog.Catalog { return c } }

// notPermitted says why a model may not be used.
type notPermitted string

func (e notPermitted) Error() string { return string(e) }

// Is makes it a [session.ErrDenied].
func (notPermitted) Is(target error) bool { return target == session.ErrDenied }

// check reports with a [session.ErrDenied] that a model is not one of them.
func (p permitted) check(ctx context.Context, m *llm.Model) error {
	if p.lists == nil {
		return nil
	}
	lists, err := p.lists(ctx)
	if err != nil {
		return err
	}
	for _, list := range lists {
		if !p.catalog().Resolver.Fits(m, list) {
			return notPermitted(fmt.Sprintf("your groups may use %s, and %s is not among them: choose another model, or ask an admin", strings.Join(list, ", "), m.Ref()))
		}
	}
	return nil
}

// all are the models that can be used and may be.
func (p permitted) all(ctx context.Context) ([]*catalog.Model, error) {
	var lists [][]string
	var err error
	if p.lists != nil {
		lists, err = p.lists(ctx)
	}
	now := p.catalog()
	return slices.DeleteFunc(slices.Clone(now.Registry.All()), func(m *catalog.Model) bool {
		return slices.ContainsFunc(lists, func(list []string) bool { return !now.Resolver.Fits(&m.Model, list) }) || !now.Registry.Available(m)
	}), err
}

// first is the choice where nobody has chosen: a default, unless it is none of those that may be used.
func (p permitted) first(ctx context.Context, to Choice) (Choice, error) {
	if p.lists == nil || to.BaseURL != "" {
		return to, nil
	}
	if lists, err := p.lists(ctx); err != nil || len(lists) == 0 {
		return to, err
	}
	is, err := p.catalog().Resolver.Initial(catalog.Wish{Selector: to.Model, Models: to.Models})
	if err == nil && p.check(ctx, &is.Model.Model) == nil {
		return to, nil
	}
	all, err := p.all(ctx)
	if err != nil || len(all) == 0 {
		return to, err // what it asks is refused
	}
	return Choice{Model: all[0].Ref()}, nil
}

// bind has a session open none of the others.
func (p permitted) bind(ctx context.Context, o *Session) error {
	if p.lists == nil {
		return nil
	}
	for role, selector := range o.Roles {
		if is, err := p.catalog().Resolver.Resolve(selector); err == nil && p.check(ctx, &is.Model.Model) != nil {
			delete(o.Roles, role)
		}
	}
	o.Models = permittedOpener{o.Models, p}
	return nil
}

type permittedOpener struct {
	session.Opener
	p permitted
}

// Open implements [session.Opener].
func (o permittedOpener) Open(ctx context.Context, selector string) (session.Opened, error) {
	is, err := o.Opener.Open(ctx, selector)
	if err == nil {
		err = o.p.check(ctx, is.Model)
	}
	return is, err
}

// metered asks a meter before that of this machine, and refuses models that may not be used.
type metered struct {
	may   permitted
	first session.Meter // nil: there is none
	then  session.Meter
}

// Reserve implements [session.Meter].
func (m metered) Reserve(ctx context.Context, p session.Planned) (session.Spending, error) {
	if err := m.may.check(ctx, p.Model); err != nil {
		return nil, err
	}
	if m.first == nil {
		return m.then.Reserve(ctx, p)
	}
	one, err := m.first.Reserve(ctx, p)
	if err != nil {
		return nil, err
	}
	two, err := m.then.Reserve(ctx, p)
	if err != nil {
		one.Release()
		return nil, err
	}
	return spendings{one, two}, nil
}

type spendings [2]session.Spending

// Settle implements [session.Spending].
func (s spendings) Settle(m *llm.Message, took, first time.Duration) {
	s[0].Settle(m, took, first)
	s[1].Settle(m, took, first)
}

// Release implements [session.Spending].
func (s spendings) Release() {
	s[0].Release()
	s[1].Release()
}

// Usable is a model that somebody may use.
type Usable struct {
	ID     string   `json:"id"` // provider/id, a selector
	Name   string   `json:"name,omitempty"`
	Icon   string   `json:"icon,omitempty"`   // of its provider: an emoji or a letter
	From   string   `json:"from,omitempty"`   // what models.yml calls its provider
	Window int      `json:"window,omitempty"` // tokens; missing: unknown
	Images bool     `json:"images,omitempty"` // it sees them
	Input  *float64 `json:"input,omitempty"`  // dollars of a million tokens; missing: unknown
	Output *float64 `json:"output,omitempty"`
	// Unreliable says that the price was taken from a similar model.
	Unreliable bool `json:"unreliable,omitempty"`
}

// UsableModels lists the models of a host that can be used and fit one selector of each list.
func UsableModels(ctx context.Context, h *Host, lists [][]string) ([]Usable, error) {
	m, err := h.Models()
	if err != nil {
		return nil, err
	}
	m.KeysChanged() // a terminal may have stored one
	found, err := permitted{fixed(m.Catalog), func(context.Context) ([][]string, error) { return lists, nil }}.all(ctx)
	all, registry := []Usable{}, m.Catalog.Registry
	for _, m := range found {
		u := Usable{ID: m.Ref(), Name: m.Name, Window: m.ContextWindow, Images: slices.Contains(m.Input, llm.ModalityImage)}
		if p, ok := registry.Own(m.Provider); ok {
			u.Icon, u.From = p.Icon, p.Name
		}
		if m.Price.Known() {
			in, out := m.Price.Input.Dollars(), m.Price.Output.Dollars()
			u.Input, u.Output, u.Unreliable = &in, &out, m.Price.Unreliable
		}
		all = append(all, u)
	}
	return all, err
}

// MayUse reports with a [session.ErrDenied] that the model of a selector doesn't fit one selector of each list.
// What names no model may be used: it is refused when it is opened.
func MayUse(ctx context.Context, h *Host, selector string, lists [][]string) error {
	m, err := h.Models()
	if err != nil {
		return err
	}
	is, err := m.Catalog.Resolver.Resolve(selector)
	if err != nil {
		return nil
	}
	return permitted{fixed(m.Catalog), func(context.Context) ([][]string, error) { return lists, nil }}.check(ctx, &is.Model.Model)
}
