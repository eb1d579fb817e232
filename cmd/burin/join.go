package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// ownersFlags say how a session works. One that another process owns works as that one was
// told, and to pass over what such a flag forbids would be worse than to refuse.
var ownersFlags = []string{
	"approval", "allow", "deny", "sandbox", "allow-host", "add-dir", "tools", "no-tools", "edit-engine", "max-turns", "max-cost",
	"json-schema", "append-system-prompt", "no-context-files", "skills", "no-skills", "no-lsp", "no-secrets", "thinking", "base-url", "api", "system-prompt", "max-tokens",
	"smol", "slow", "plan", "temperature", "top-p", "service-tier", "web-search",
}

// askOwner asks in a session that another process has open.
func (p *program) askOwner(ctx context.Context, around *host.Host, a *askFlags, o host.Session, po print.Options, prompt llm.Message) error {
	o.Emit = nil    // its events come as those of any other
	po.Live = false // pieces of answers may be missing there
	h, err := owner.Place{Data: around.Paths().Data, Getenv: p.getenv}.Join(ctx, o.Resume, "script", po.Asker != nil, func() (*session.Session, error) { return around.Open(ctx, o) })
	if errors.Is(err, transcript.ErrLocked) {
		return fmt.Errorf("%w, or ask without it, with --no-session", archive.GoingOn(o.Resume, err))
	}
	if err != nil {
		return err
	}
	defer h.Close() //nolint:errcheck // where it owns the session after all, its warnings say what is wrong
	name := words.ShortPath(o.Resume)
	if i := slices.IndexFunc(ownersFlags, a.given); i >= 0 && !h.Owns() {
		return usage("session %s is open in another burin, which --%s can't change: leave it out, or ask without the session, with --no-session", name, ownersFlags[i])
	}
	wanted, err := wantedModel(ctx, around, a)
	if err != nil {
		return err
	}
	if uses := h.Facts().Model.Ref(); wanted != "" && uses != wanted {
		return usage("session %s is open in another burin and uses %s: leave out the model, or ask without the session, with --no-session", name, uses)
	}
	outcome, err := print.New(po).Join(ctx, h, prompt)
	return p.ended(outcome, err, nil)
}

// wantedModel is the model that the flags ask for; "" if they ask for none.
func wantedModel(ctx context.Context, around *host.Host, a *askFlags) (string, error) {
	if a.model == "" && len(a.models) == 0 {
		return "", nil
	}
	models, err := around.Models()
	if err != nil {
		return "", err
	}
	choice, err := models.Choose(ctx, catalog.Wish{Selector: a.model, Models: a.models})
	if err != nil {
		return "", err
	}
	return choice.Model.Ref(), nil
}
