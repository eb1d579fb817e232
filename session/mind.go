package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// mind is the model that answers, and how it is asked.
type mind struct {
	opener    Opener // nil: there is one model only
	noPromote bool
	priced    func() bool // whether the price of a model must be known
	ground    Ground
	tools     *ToolSet
	rec       *record
	loop      *agent.Agent
	changed   func() // hears that the model has changed

	current atomic.Pointer[llm.Model] // it changes under mu, with the client

	mu      sync.Mutex
	request llm.Request // as set, but for the model
	client  llm.Client
	bare    bool // the branch does not say which model is used
}

// now is what requests are made of at this moment.
func (m *mind) now() (llm.Request, llm.Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.request
	r.Model = m.current.Load()
	return r, m.client
}

func (m *mind) model() *llm.Model { return m.current.Load() }

func (m *mind) window() int { return m.model().ContextWindow }

func (m *mind) system() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.request.System
}

// chosen is the model and how hard it thinks.
func (m *mind) chosen() (*llm.Model, llm.Level) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current.Load(), m.request.Thinking.Level
}

// unnamed is the model, if the branch does not say that it is used. It says so then.
func (m *mind) unnamed() (ref string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok, m.bare = m.bare, false
	return m.current.Load().Ref(), ok
}

// choose goes on with another model from the next request on.
func (m *mind) choose(ctx context.Context, selector string) error {
	model, client, err := m.open(ctx, selector)
	if err != nil {
		return err
	}
	m.use(ModelChanged, model, client, "", "chosen", true)
	return nil
}

// open finds a model that may be used.
func (m *mind) open(ctx context.Context, selector string) (*llm.Model, llm.Client, error) {
	if m.opener == nil {
		return nil, nil, errors.New("this session has one model only")
	}
	model, client, err := m.opener.Open(ctx, selector)
	if err == nil && m.priced() && !model.Price.Known() {
		err = unpriced(model)
	}
	return model, client, err
}

// use changes the model. A change for the person's sake is kept in the transcript; one
// that gets around a failure holds for this process only.
func (m *mind) use(typ agent.EventType, model *llm.Model, client llm.Client, role, why string, keep bool) {
	m.mu.Lock()
	from := m.current.Swap(model)
	m.client = client
	m.bare = m.bare && !keep
	m.mu.Unlock()
	m.changed()
	m.loop.Update(func(o *agent.Options) { o.Request.Model = model })
	if err := m.tools.adapt(m.ground.Adapt(model)); err != nil {
		m.rec.warn("the tools do not follow the model: " + err.Error())
	}
	if keep {
		m.rec.append(transcript.Entry{Type: transcript.TypeModel, Model: model.Ref()})
	}
	m.rec.emit(Event{Event: agent.Event{Type: typ}, Data: &Change{From: from.Ref(), To: model.Ref(), Role: role, Why: why}})
	if from.Accepts(llm.ModalityImage) && !model.Accepts(llm.ModalityImage) && slices.ContainsFunc(m.loop.Messages(), hasImage) {
		m.rec.warn(model.Ref() + " does not read images: it gets words in the place of those in the conversation")
	}
}

// attach makes what a person attaches fit the model, and tells the person what had to be
// changed for that. Messages keep it as it is sent.
func (m *mind) attach(ctx context.Context, message llm.Message) llm.Message {
	if !slices.ContainsFunc(message.Content, isMedia) {
		return message
	}
	var notes []string
	message.Content, notes = m.ground.Attach(ctx, m.model(), message.Content)
	for _, n := range notes {
		m.rec.warn(n)
	}
	return message
}

// promote goes on with a larger model, if there is one.
func (m *mind) promote(ctx context.Context, reason string) bool {
	current := m.model()
	target := current.PromotionTarget
	if m.noPromote || m.opener == nil {
		return false
	}
	if target == "" {
		target = m.opener.Larger(current)
	}
	if target == "" {
		return false
	}
	if _, _, ok := llm.SplitRef(target); !ok {
		target = current.Provider + "/" + target
	}
	model, client, err := m.open(ctx, target)
	if err != nil || model.ContextWindow <= current.ContextWindow {
		return false // there is no key for it, or nothing is gained
	}
	m.use(Promoted, model, client, "default", reason, false)
	return true
}

// think says how hard the model thinks from the next request on. A change for the person's
// sake is kept in the transcript.
func (m *mind) think(level llm.Level, keep bool) {
	m.mu.Lock()
	m.request.Thinking.Level = level
	m.mu.Unlock()
	m.loop.Update(func(o *agent.Options) { o.Request.Thinking.Level = level })
	if keep {
		m.rec.append(transcript.Entry{Type: transcript.TypeThinking, ThinkingLevel: string(level)})
	}
	m.rec.emit(Event{Event: agent.Event{Type: ThinkingChanged}, Text: string(level)})
}
