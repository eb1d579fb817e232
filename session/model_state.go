package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Roles of models.
const (
	roleDefault    = "default"
	roleSmol       = "smol"
	rolePlan       = "plan"
	roleVision     = "vision"
	roleTranscribe = "transcribe"
	roleAdvisor    = "advisor"
)

// modelState is the current model and how it is asked, and the models that replace it for a time.
type modelState struct {
	opener    Opener            // nil if there is only one model
	roles     map[string]string // selectors
	noPromote bool
	priced    func() bool // reports whether the price of a model must be known
	ground    Ground
	tools     *ToolSet
	rec       *record
	loop      *agent.Agent
	changed   func() // called when the model has changed

	current  atomic.Pointer[llm.Model] // changes under mu, together with the client
	unusable atomic.Pointer[string]    // why it can't be asked; nil: it can

	mu      sync.Mutex
	request llm.Request // as it is sent, except for the model
	client  llm.Client
	bare    bool              // the branch does not say which model is used
	person  Opened            // what the user chose
	plans   *Opened           // of the role plan, during plan mode
	turn    *Opened           // of a command, for its turn
	sees    *Opened           // of the role vision, while a run has images for it
	stands  map[string]*stand // what replaces a model, by its provider/id
	blind   bool              // the model of the role vision turned out to be unusable
}

// stand is a model that temporarily replaces another one.
type stand struct {
	Opened
	until time.Time // zero means as long as the session is open
}

// now returns what the next request uses.
func (m *modelState) now() (llm.Request, llm.Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.request
	r.Model = m.current.Load()
	return r, m.client
}

func (m *modelState) model() *llm.Model { return m.current.Load() }

func (m *modelState) window() int { return m.model().ContextWindow }

func (m *modelState) system() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.request.System
}

// chosen returns the model and its thinking level.
func (m *modelState) chosen() (*llm.Model, llm.Level) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current.Load(), m.request.Thinking.Level
}

// unnamed returns the model if the branch does not say yet that it is used, and notes that it
// does.
func (m *modelState) unnamed() (ref string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok, m.bare = m.bare, false
	return m.person.Model.Ref(), ok
}

// choose switches to another model from the next request on.
func (m *modelState) choose(ctx context.Context, selector string) error {
	o, err := m.open(ctx, selector)
	if err != nil {
		return err
	}
	m.adopt(o)
	if o.Level != "" {
		m.think(o.Level, true)
	}
	return nil
}

// adopt switches to the model that the user has chosen, whichever answered before.
func (m *modelState) adopt(o Opened) {
	m.mu.Lock()
	if o.Level == "" {
		o.Level = m.person.Level
	}
	m.person, m.plans, m.turn, m.sees, m.stands = o, nil, nil, nil, nil
	m.mu.Unlock()
	from := m.model()
	m.use(ModelChanged, o, roleDefault, "chosen", true)
	m.warnBlind(from, o.Model)
}

// preferred returns the user's model.
func (m *modelState) preferred() Opened {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.person
}

// prefer is adopt for the model of a branch to which the user moves. Other roles stay in
// effect.
func (m *modelState) prefer(o Opened, now time.Time) {
	m.mu.Lock()
	m.person, m.stands = o, nil
	m.mu.Unlock()
	from := m.model()
	m.follow(now, "the branch's model")
	m.warnBlind(from, m.model())
}

// open opens a model that may be used.
func (m *modelState) open(ctx context.Context, selector string) (Opened, error) {
	if m.opener == nil {
		return Opened{}, errors.New("this session has only one model")
	}
	o, err := m.opener.Open(ctx, selector)
	if err == nil && m.priced() && !o.Model.Price.Known() {
		err = unpriced(o.Model)
	}
	return o, err
}

// wanted returns the model that should answer, and its role. The caller holds mu.
func (m *modelState) wanted() (Opened, string) {
	o, role := m.person, roleDefault
	for _, p := range []struct {
		*Opened
		role string
	}{{m.plans, rolePlan}, {m.turn, roleDefault}, {m.sees, roleVision}} {
		if p.Opened == nil {
			continue
		}
		level := o.Level
		if o, role = *p.Opened, p.role; o.Level == "" {
			o.Level = level
		}
	}
	return o, role
}

// acting returns the model that should answer, and its role.
func (m *modelState) acting() (ref, role string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, role := m.wanted()
	return o.Model.Ref(), role
}

func (m *modelState) role() string {
	_, role := m.acting()
	return role
}

// follow switches to the model that should answer, or to its replacement.
func (m *modelState) follow(now time.Time, why string) {
	m.mu.Lock()
	o, role := m.wanted()
	if s := m.stands[o.Model.Ref()]; s != nil {
		if s.until.IsZero() || now.Before(s.until) {
			level := o.Level
			if o = s.Opened; o.Level == "" {
				o.Level = level
			}
		} else {
			delete(m.stands, o.Model.Ref())
		}
	}
	same := o.Model.Ref() == m.current.Load().Ref() && o.Level == m.request.Thinking.Level
	m.mu.Unlock()
	if !same {
		m.use(ModelChanged, o, role, why, false)
	}
}

// replace switches to a model that replaces the one that should answer. A zero until means as
// long as the session is open.
func (m *modelState) replace(typ agent.EventType, o Opened, until time.Time, why string) {
	m.mu.Lock()
	of, role := m.wanted()
	if m.stands == nil {
		m.stands = map[string]*stand{}
	}
	m.stands[of.Model.Ref()] = &stand{o, until}
	if o.Level == "" {
		o.Level = of.Level
	}
	m.mu.Unlock()
	from := m.model()
	m.use(typ, o, role, why, false)
	m.warnBlind(from, o.Model)
}

// use changes the model. The transcript keeps a change by the user; one that works around a
// failure, or is for a task, lasts only for this process.
func (m *modelState) use(typ agent.EventType, o Opened, role, why string, keep bool) {
	m.mu.Lock()
	from := m.current.Swap(o.Model)
	m.client = o.Client
	m.unusable.Store(nil)
	m.bare = m.bare && !keep
	leveled := m.request.Thinking.Level != o.Level
	m.request.Thinking.Level = o.Level
	m.mu.Unlock()
	m.changed()
	m.loop.Update(func(a *agent.Options) { a.Request.Model, a.Request.Thinking.Level = o.Model, o.Level })
	if err := m.tools.adapt(m.ground.Adapt(o.Model)); err != nil {
		m.rec.warn("the tools do not follow the model: " + err.Error())
	}
	if keep {
		m.rec.append(transcript.Entry{Type: transcript.TypeModel, Model: o.Model.Ref()})
	}
	if from.Ref() != o.Model.Ref() || keep || typ != ModelChanged {
		m.rec.emit(Event{Event: agent.Event{Type: typ}, Data: &Change{From: from.Ref(), To: o.Model.Ref(), Role: role, Why: why}})
	}
	if leveled {
		m.rec.emit(Event{Event: agent.Event{Type: ThinkingChanged}, Text: string(o.Level)})
	}
}

// warnBlind warns that a model doesn't see what the previous one saw.
func (m *modelState) warnBlind(from, to *llm.Model) {
	if from.Accepts(llm.ModalityImage) && !to.Accepts(llm.ModalityImage) && slices.ContainsFunc(m.loop.Messages(), hasImage) {
		m.rec.warn(to.Ref() + " does not read images: it gets a note for each one in the conversation")
	}
}

// planning switches to the model of the role plan, or back. A model that the user chooses
// meanwhile stays.
func (m *modelState) planning(ctx context.Context, on bool, now time.Time) {
	if on && m.roles[rolePlan] == "" {
		return
	}
	why := "plan mode is over"
	var plans *Opened
	if on {
		why = "plan mode"
		o, err := m.open(ctx, m.roles[rolePlan])
		if err != nil {
			m.rec.warn("the model of the plan role cannot be used, " + m.model().Ref() + " plans: " + err.Error())
			return
		}
		plans = &o
	}
	m.mu.Lock()
	had := m.plans != nil
	m.plans = plans
	m.mu.Unlock()
	if on || had {
		m.follow(now, why)
	}
}

// command switches to the model and the thinking level of a turn; nil switches back. A model
// that the user chooses meanwhile stays.
func (m *modelState) command(ctx context.Context, t *Turn) {
	now := time.Now()
	if t == nil {
		m.mu.Lock()
		had := m.turn != nil
		m.turn = nil
		m.mu.Unlock()
		if had {
			m.follow(now, "the command is done")
		}
		return
	}
	if t.Model == "" && t.Thinking == "" {
		return
	}
	m.mu.Lock()
	o, _ := m.wanted()
	m.mu.Unlock()
	if t.Model != "" {
		opened, err := m.open(ctx, t.Model)
		if err != nil {
			m.rec.warn("the model of the command cannot be used, " + o.Model.Ref() + " answers: " + err.Error())
		} else {
			o = opened
		}
	}
	if t.Thinking != "" {
		o.Level = t.Thinking
	}
	m.mu.Lock()
	m.turn = &o
	m.mu.Unlock()
	m.follow(now, "the command wants it")
}

// eyes returns a model of the role vision that sees; nil if there is none.
func (m *modelState) eyes(ctx context.Context) *Opened {
	m.mu.Lock()
	useless := m.blind || m.roles[roleVision] == ""
	m.mu.Unlock()
	if useless {
		return nil
	}
	o, err := m.open(ctx, m.roles[roleVision])
	if err == nil && !o.Model.Accepts(llm.ModalityImage) {
		err = errors.New(o.Model.Ref() + " does not read images")
	}
	if err == nil {
		return &o
	}
	if ctx.Err() == nil {
		m.mu.Lock()
		m.blind = true
		m.mu.Unlock()
		m.rec.warn("the model of the vision role cannot be used: " + err.Error())
	}
	return nil
}

// look switches to the model of the role vision if there are images since the last finished
// prompt that the model can't see.
func (m *modelState) look(ctx context.Context, now time.Time) {
	if m.roles[roleVision] == "" || m.model().Accepts(llm.ModalityImage) || !pictured(m.loop.Messages()) {
		return
	}
	o := m.eyes(ctx)
	if o == nil {
		return
	}
	m.mu.Lock()
	m.sees = o
	m.mu.Unlock()
	m.follow(now, "it sees the pictures")
}

// lookAway undoes look at the end of a prompt.
func (m *modelState) lookAway(now time.Time) {
	m.mu.Lock()
	had := m.sees != nil
	m.sees = nil
	m.mu.Unlock()
	if had {
		m.follow(now, "the pictures were looked at")
	}
}

// pictured reports whether there are images after the last answer that ended a prompt.
func pictured(messages []llm.Message) bool {
	for i := range slices.Backward(messages) {
		m := &messages[i]
		switch {
		case m.Role == llm.RoleAssistant && m.Error == nil && len(m.ToolCalls()) == 0 && m.StopReason == llm.StopEnd:
			return false
		case hasImage(*m):
			return true
		}
	}
	return false
}

// attach makes attachments fit the model, and tells the user what had to be changed. Messages
// keep the changed form.
func (m *modelState) attach(ctx context.Context, message llm.Message) (llm.Message, error) {
	if !slices.ContainsFunc(message.Content, isMedia) {
		return message, nil
	}
	model := m.model()
	if !model.Accepts(llm.ModalityImage) && hasImage(message) {
		if o := m.eyes(ctx); o != nil {
			model = o.Model
		}
	}
	fitted, notes, err := m.ground.Attach(ctx, model, message.Content)
	if err != nil {
		return message, err
	}
	message.Content = fitted
	for _, n := range notes {
		m.rec.warn(n)
	}
	return message, nil
}

// promote switches to a larger model, if there is one.
func (m *modelState) promote(ctx context.Context, reason string) bool {
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
	o, err := m.open(ctx, target)
	if err != nil || o.Model.ContextWindow <= current.ContextWindow {
		return false // there is no key for it, or it isn't larger
	}
	m.replace(Promoted, o, time.Time{}, reason)
	return true
}

// think sets the thinking level from the next request on. With keep, which is for changes by
// the user, the transcript records it.
func (m *modelState) think(level llm.Level, keep bool) {
	m.mu.Lock()
	m.request.Thinking.Level = level
	acting := &m.person
	for _, o := range []*Opened{m.plans, m.turn, m.sees} {
		if o != nil && o.Level != "" {
			acting = o // its role sets its level, and the others don't follow
		}
	}
	acting.Level = level
	m.mu.Unlock()
	m.loop.Update(func(o *agent.Options) { o.Request.Thinking.Level = level })
	if keep {
		m.rec.append(transcript.Entry{Type: transcript.TypeThinking, ThinkingLevel: string(level)})
	}
	m.rec.emit(Event{Event: agent.Event{Type: ThinkingChanged}, Text: string(level)})
}
