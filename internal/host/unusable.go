package host

import (
	"context"
	"errors"
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
)

// absent is the client of a model that can't be asked.
type absent string

// Stream implements [llm.Client].
func (a absent) Stream(_ context.Context, r *llm.Request) llm.Stream {
	return llm.Failed(llm.Message{Role: llm.RoleAssistant, Provider: r.Model.Provider, Model: r.Model.ID}, &llm.Error{Kind: llm.ErrInvalidRequest, Message: string(a)})
}

// findPresentModel is findModel for a session that opens without its model, too: that was removed, or its key was. It
// says what is missing, can be read, and continues with another model. check gives the error of a message that is sent
// before.
func findPresentModel(ctx context.Context, h *Host, o *Session, settings *config.Config) (check func(context.Context) error, err error) {
	models, err := h.Models()
	if err != nil {
		return nil, err
	}
	o.Keyless = func(none *credential.NotFoundError) { o.Unusable = words.Error(none) }
	if err = h.findModel(ctx, o, settings); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		o.Unusable = words.Error(err)
		o.Model, o.Client = nameless(o.Choice.Model), absent(o.Unusable)
		if o.Cache.Retention == "" { // for the model that is chosen then
			o.Cache.Retention, _ = models.CacheRetention()
		}
		if o.Models == nil {
			o.Models = opener{models: models, blind: settings.Images.BlockImages}
			assign(h, o, models, settings)
		}
		if o.Thinking.Level == llm.LevelDefault {
			o.Thinking.Level = settings.DefaultThinkingLevel
		}
	}
	if o.Unusable == "" {
		return func(context.Context) error { return nil }, nil
	}
	why, own := o.Unusable, o.Model
	return func(ctx context.Context) error { return stillMissing(ctx, models, own, why) }, nil
}

// stillMissing says why a model can't be asked, unless its key has come meanwhile.
func stillMissing(ctx context.Context, models *connect.Models, m *llm.Model, why string) error {
	if known, ok := models.Catalog.Registry.Lookup(m.Provider, m.ID); ok {
		models.KeysChanged()
		if models.Missing(ctx, known) == nil {
			return nil
		}
	}
	return errors.New("the model of this chat can't be used, choose another one: " + why)
}

// nameless is a model whose selector is all that is known.
func nameless(selector string) *llm.Model {
	provider, id, ok := llm.SplitRef(selector)
	if !ok {
		provider, id = "unknown", selector
	}
	if i := strings.LastIndexByte(id, ':'); i > 0 {
		if _, err := llm.ParseLevel(id[i+1:]); err == nil {
			id = id[:i]
		}
	}
	if id == "" {
		id = "model"
	}
	return &llm.Model{Provider: provider, ID: id}
}
