package checkup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// onlineTime is how long a provider may take to answer the cheapest request.
const onlineTime = 20 * time.Second

// Settings looks whether config.yml and models.yml can be read. models is the error of
// opening the models.
func Settings(h *host.Host, models error) Check {
	return Check{Name: "settings", Run: func(context.Context) []Result {
		settings, err := h.Settings()
		if err != nil {
			return one(Problem, err.Error(), "correct the file; burin help config explains it")
		}
		if models != nil {
			return one(Problem, models.Error(), "correct the file; burin help models explains it")
		}
		out := one(OK, "config.yml and models.yml can be read", "")
		for _, w := range settings.Warnings() {
			out = append(out, Result{State: Warning, Text: w})
		}
		return out
	}}
}

// Keys looks which providers have a credential, and whether those that are stored can be used.
func Keys(m *connect.Models) Check {
	return Check{Name: "keys", Late: "the system's keyring does not answer: unlock it, or set BURIN_NO_KEYRING", Run: func(ctx context.Context) []Result {
		stored, err := m.Keys.List(ctx)
		if err != nil {
			return one(Problem, err.Error(), "move burin.db away and store the keys again")
		}
		var out []Result
		for _, c := range stored {
			id := fmt.Sprintf("key %d of %s", c.ID, c.Provider)
			switch {
			case c.Problem != "":
				out = append(out, Result{State: Problem, Text: id + " can't be opened: " + c.Problem, Do: fmt.Sprintf("burin keys remove %d, then burin keys add %s", c.ID, c.Provider)})
			case c.Disabled != "":
				out = append(out, Result{State: Warning, Text: id + " is disabled: " + c.Disabled, Do: fmt.Sprintf("burin keys add %s stores another; burin keys enable %d tries it again", c.Provider, c.ID)})
			case time.Now().Before(c.Blocked):
				out = append(out, Result{State: Note, Text: id + " has reached a limit until " + c.Blocked.Local().Format("15:04 on 2 January")})
			}
		}
		found, err := m.Keys.Available(ctx, m.Catalog.Registry.Providers()...)
		if err != nil && out == nil {
			out = one(Warning, err.Error(), "")
		}
		ids := make([]string, 0, len(found))
		for id, f := range found {
			ids = append(ids, id+" ("+f.Source+")")
		}
		slices.Sort(ids)
		if len(ids) > 0 {
			out = append(out, Result{State: OK, Text: strings.Join(ids, ", ")})
		} else if out == nil {
			out = one(Note, "none", "")
		}
		return out
	}}
}

// Model looks which model would answer.
func Model(m *connect.Models) Check {
	return Check{Name: "model", Late: "a model server of this machine does not answer: restart it", Run: func(ctx context.Context) []Result {
		choice, err := m.Choose(ctx, catalog.Wish{})
		var none *credential.NotFoundError
		switch {
		case errors.As(err, &none):
			return one(Problem, "no model can be used", "run burin login or burin keys add anthropic, or start a local model server; burin help keys")
		case err != nil:
			return one(Problem, err.Error(), "burin models lists the models you can use")
		}
		return one(OK, choice.Model.Ref(), "")
	}}
}

// Online asks each provider with a credential the cheapest thing, all at once.
func Online(m *connect.Models) []Check {
	found, _ := m.Keys.Available(context.Background(), m.Catalog.Registry.Providers()...) // Keys reports the error
	var out []Check
	for _, provider := range m.Catalog.Registry.Providers() {
		if _, ok := found[provider]; !ok {
			continue
		}
		out = append(out, Check{Name: "request", Limit: onlineTime, Late: provider + " does not answer: check the network and the proxy", Run: func(ctx context.Context) []Result {
			return ask(ctx, m, provider)
		}})
	}
	return out
}

// ask has a provider's cheapest model say a word.
func ask(ctx context.Context, m *connect.Models, provider string) []Result {
	model := m.Catalog.Registry.Cheapest(provider)
	if model == nil {
		return one(Note, provider+": it has no model to ask", "")
	}
	client, err := m.Client(model, "")
	if err == nil {
		_, err = llm.Collect(client.Stream(ctx, &llm.Request{Model: &model.Model, MaxTokens: 16, Messages: []llm.Message{llm.UserText("Say yes.")}}))
	}
	if err == nil {
		return one(OK, model.Ref()+" answers", "")
	}
	switch llm.KindOf(err) {
	case llm.ErrAuth:
		return one(Problem, model.Ref()+": "+err.Error(), "burin keys add "+provider+" stores another key")
	case llm.ErrTransport:
		return one(Problem, model.Ref()+": "+err.Error(), "check the network, and HTTPS_PROXY if you need a proxy")
	}
	// The provider has answered, and took the key: others of its models may work.
	return one(Warning, model.Ref()+": "+err.Error(), "")
}

// Sessions looks for damage in the sessions of all folders.
func Sessions(h *host.Host) Check {
	return Check{Name: "sessions", Late: "there are many: run burin sessions doctor --all", Run: func(ctx context.Context) []Result {
		if _, err := h.Settings(); err != nil {
			return one(Note, "not looked at: they say where sessions are; see settings", "")
		}
		a, err := h.Archive(func(string) {})
		if err != nil {
			return one(Problem, err.Error(), "")
		}
		r, err := a.Doctor(ctx, archive.DoctorOptions{All: true})
		switch left := r.Left(); {
		case ctx.Err() != nil:
			return one(Note, "too many to look at here", "run burin sessions doctor --all")
		case err != nil:
			return one(Problem, err.Error(), "run burin sessions doctor --all")
		case left > 0:
			return one(Warning, prose.Count(left, "damaged session part"), "run burin sessions doctor --all, then with --fix")
		}
		return one(OK, prose.Count(r.Sessions, "session"), "")
	}}
}
