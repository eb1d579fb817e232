package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// Purposes of requests, as in the ledger.
const (
	ForTurn       = "turn"
	ForRetry      = "retry"
	ForCompaction = "compaction"
	ForBranch     = "branch_summary"
	ForTitle      = "title"
	ForTranscript = "transcript"
	ForHandoff    = "handoff"
	ForAside      = "aside"
	ForMemory     = "memory"
	ForAgent      = "agent" // a turn of a sub-agent
	ForAdvisor    = "advisor"
	ForSampling   = "sampling" // for an MCP server
)

// Meter applies limits that sessions share, and keeps the ledger. It is asked about every
// request, whatever it is for.
type Meter interface {
	// Reserve is called before a request is sent. An error prevents the request. Reserve may
	// wait for requests of others; it then says so with Planned.Tell, and ends with ctx.
	Reserve(ctx context.Context, p Planned) (Spending, error)
}

// Planned is a request that is about to be sent.
type Planned struct {
	Session      string
	Turn         string // unique within the session, across all processes that continued it
	Purpose      string
	Model        *llm.Model
	PromptTokens int // estimated
	MaxTokens    int // limit of the answer
	// Tell is called with what the user should know about the limits, one line each: that the
	// request has to wait, or that a limit is nearly reached.
	Tell func(line string)
}

// Spending is a request that was allowed. Exactly one of its methods must be called, once.
type Spending interface {
	// Settle reports the answer. The message is nil if there was none before the request
	// ended. If the provider did not report the whole cost, because the answer was stopped or
	// broke off, it may have charged it anyway.
	Settle(m *llm.Message, took, first time.Duration)
	// Release reports that nothing is charged: nothing was sent, or the provider refused it.
	Release()
}

// money keeps the account of a session, and its limits.
type money struct {
	most         llm.USD // limit of the session; 0 is no limit
	meter        Meter   // nil if there is none
	log          *transcript.Log
	process      string // distinguishes turns with the same number in the ledger
	overGoal     func() error
	modelState   *modelState
	tokenCounter *tokenCounter
	redactor     redactor
	warn         func(string)
	now          func() time.Time
	policies     *policies
	requests     *requests
	before       func(context.Context, *llm.Request) bool // Options.BeforeRequest
	answers      *answers
	lender       *Lender // of a sub-agent's session; nil: it is nobody's
	crew         Crew    // nil: there is none

	fallbacks fallbacks

	mu      sync.Mutex
	spent   llm.USD
	guessed llm.USD // for answers whose providers did not report the cost; not in spent
	unknown bool    // there are such answers, or some request had no known price
	usage   llm.Usage
	count   int  // requests
	near    bool // the user was told that most of the limit is spent
	turn    int  // number of the turn

	// For the loop's next request.
	held     Spending
	sender   llm.Client
	retrying bool // it retries one that failed
}

// next counts a turn.
func (x *money) next() (turn string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turn++
	return turnID(x.turn)
}

// total returns what was spent, including estimates of what providers did not report.
func (x *money) total() llm.USD {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.spent + x.guessed
}

// fill sets the cost figures.
func (x *money) fill(s *Stats) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s.Requests, s.Usage, s.Cost, s.Known = x.count, x.usage, x.spent, !x.unknown
}

// again notes that the next request retries one that failed.
func (x *money) again() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.retrying = true
}

// begin sends a request of the loop to the current model, and reserves its money.
func (x *money) begin(ctx context.Context, r *llm.Request) (touched, error) {
	// Model and client must be read together: either may have changed meanwhile.
	request, client := x.modelState.now()
	r.Model, r.Thinking.Level = request.Model, request.Thinking.Level
	if x.before != nil && x.before(ctx, r) {
		r.Messages = x.redactor.messages(r.Messages)
	}
	x.mu.Lock()
	purpose := ForTurn
	if x.retrying {
		purpose = ForRetry
	}
	x.mu.Unlock()
	held, t, err := x.prepare(ctx, r, purpose)
	if err != nil {
		return t, err
	}
	x.mu.Lock()
	x.held, x.sender, x.retrying = held, client, false
	x.mu.Unlock()
	return t, nil
}

// prepare lets the interceptors change a request, and reserves its money.
func (x *money) prepare(ctx context.Context, r *llm.Request, purpose string) (held Spending, t touched, err error) {
	if t, err = x.requests.change(ctx, purpose, r); err != nil {
		return nil, t, err
	}
	held, err = x.reserve(ctx, r, purpose)
	return held, t, err
}

// reserve reserves the money of a request.
func (x *money) reserve(ctx context.Context, r *llm.Request, purpose string) (Spending, error) {
	if err := x.overGoal(); err != nil {
		return nil, err
	}
	if err := x.overLimit(); err != nil {
		return nil, err
	}
	if err := x.lender.check(); err != nil {
		return nil, err
	}
	x.warnNearly(x.total())
	if x.meter == nil {
		return nothing{}, nil
	}
	p := Planned{
		Purpose: purpose, Model: r.Model, PromptTokens: x.tokenCounter.prompt(r), MaxTokens: r.MaxTokens, Tell: x.warn,
	}
	if l := x.lender; l != nil {
		p.Session, p.Turn = l.session, l.turn
		if purpose == ForTurn {
			p.Purpose = ForAgent
		}
	} else {
		x.mu.Lock()
		p.Session, p.Turn = x.log.ID(), x.ledgerTurn()
		x.mu.Unlock()
	}
	return x.meter.Reserve(ctx, p)
}

// ledgerTurn names the turn in the ledger. x.mu must be held.
func (x *money) ledgerTurn() string { return turnID(x.turn) + "-" + x.process }

// overLimit returns an error if the session and its sub-agents have spent the limit.
func (x *money) overLimit() error {
	x.mu.Lock()
	spent, guessed, unknown := x.spent, x.guessed, x.unknown
	x.mu.Unlock()
	if limit := x.most; limit > 0 && spent+guessed >= limit {
		more := ""
		switch {
		case guessed > 0:
			more = fmt.Sprintf(", plus about %s for answers that were cut short", guessed)
		case unknown:
			more = ", and requests of unknown cost"
		}
		return fmt.Errorf("%w: %s of %s spent%s", ErrBudget, spent, limit, more)
	}
	return nil
}

// warnNearly warns once that four fifths of the session's limit are spent.
func (x *money) warnNearly(spent llm.USD) {
	x.mu.Lock()
	say := x.most > 0 && spent >= x.most/5*4 && !x.near
	x.near = x.near || say
	x.mu.Unlock()
	if say {
		x.warn(fmt.Sprintf("%d %% of this session's cost limit is spent: %s of %s (--max-cost)", spent*100/x.most, spent, x.most))
	}
}

// release ends what was prepared for a request: it returns the money of one that was not sent.
func (x *money) release() {
	x.mu.Lock()
	held := x.held
	x.held, x.retrying = nil, false
	x.mu.Unlock()
	if held != nil {
		held.Release()
	}
}

func unpriced(m *llm.Model) error {
	return fmt.Errorf("%s has no known price, so a cost limit cannot be enforced: set its price in models.yml", m.Ref())
}

// spentBefore adds what was spent before this process according to the transcript, on all
// branches: by its first entries, and by the agents of the session. The transcript doesn't know
// the cost of titles and summaries. It ends early, and adds nothing, when ctx ends.
func (x *money) spentBefore(ctx context.Context, entries int) {
	nodes := x.log.Nodes()[:entries]
	all, cut := costOf(ctx, x.log, nodes)
	var guessed llm.USD
	if len(cut) > 0 && x.most > 0 {
		guessed = x.guessBefore(nodes, cut)
	}
	if x.crew != nil {
		for _, a := range x.crew.Spent(ctx) {
			all.Requests, all.Usage, all.Cost, all.Unknown = all.Requests+a.Requests, all.Usage.Add(a.Usage), all.Cost+a.Cost, all.Unknown || a.Unknown
		}
	}
	if ctx.Err() != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.spent, x.guessed, x.usage, x.count = x.spent+all.Cost, x.guessed+guessed, x.usage.Add(all.Usage), x.count+all.Requests
	x.unknown = x.unknown || all.Unknown
}

// CostOf returns what a transcript says its session has cost, without its agents.
func CostOf(l *transcript.Log) AgentCost {
	all, _ := costOf(context.Background(), l, l.Nodes())
	return all
}

// costOf adds up the answers of nodes; cut are those that broke off. It ends early when ctx
// ends.
func costOf(ctx context.Context, l *transcript.Log, nodes []transcript.Node) (all AgentCost, cut []int) {
	for i, n := range nodes {
		if n.Role != llm.RoleAssistant {
			continue
		}
		if ctx.Err() != nil {
			return all, cut
		}
		all.Requests++
		e, err := l.Entry(n.ID)
		if err != nil || e.Message == nil || uncharged(e.Message) {
			continue
		}
		if unsettled(e.Message) {
			all.Unknown = true
			// The transcript doesn't report whether a request found a connection.
			if m := e.Message; brokenOff(m) && (m.Error.Kind != llm.ErrTransport || len(m.Content) > 0) {
				cut = append(cut, i)
			}
		}
		if u := e.Message.Usage; u != nil {
			all.Usage = all.Usage.Add(*u)
			if u.Cost != nil {
				all.Cost += u.Cost.Total
			}
		}
	}
	return all, cut
}

// guessBefore estimates the cost of answers that broke off. The size of their prompts follows
// from the answers before them.
func (x *money) guessBefore(nodes []transcript.Node, cut []int) (guessed llm.USD) {
	tokenizer := x.tokenCounter.tokenizer()
	system := tokenizer.Text(x.modelState.system())
	sizes := make([]int, len(nodes)) // tokens of the conversation up to each entry
	index := make(map[string]int, len(nodes))
	before := func(i int) int {
		if i < 0 || nodes[i].Parent < 0 {
			return system
		}
		return sizes[nodes[i].Parent]
	}
	for i, n := range nodes {
		index[n.ID] = i
		sizes[i] = before(i)
		e, err := x.log.Entry(n.ID)
		switch {
		case err != nil:
		case e.Type == transcript.TypeCompaction:
			kept := 0
			if first, ok := index[e.FirstKeptID]; ok {
				kept = max(0, sizes[i]-before(first))
			}
			sizes[i] = system + tokenizer.Text(e.Summary) + kept
		case e.Message != nil:
			m := e.Message
			if len(cut) > 0 && cut[0] == i {
				guessed += guess(x.modelState.model(), m, sizes[i])
				cut = cut[1:]
			}
			if m.Usage != nil && m.Usage.Prompt() > 0 {
				sizes[i] = m.Usage.Prompt()
			}
			sizes[i] += tokenizer.Tokens(m)
		}
	}
	return guessed
}

type nothing struct{}

func (nothing) Settle(*llm.Message, time.Duration, time.Duration) {}
func (nothing) Release()                                          {}

// Stream implements [llm.Client] for the loop: it uses the current model, and counts every
// answer.
func (x *money) Stream(ctx context.Context, r *llm.Request) llm.Stream {
	x.mu.Lock()
	held, client := x.held, x.sender
	x.held = nil
	x.mu.Unlock()
	return x.answers.watch(ctx, r, func(ctx context.Context) llm.Stream { return x.counting(client.Stream(ctx, r), r, held) })
}

// counting accounts for the stream that answers a request.
func (x *money) counting(stream llm.Stream, r *llm.Request, held Spending) llm.Stream {
	if held == nil {
		held = nothing{}
	}
	return &counted{Stream: stream, money: x, model: r.Model, messages: r.Messages, held: held, began: x.now()}
}

// counted is a stream that settles its cost when it ends.
type counted struct {
	llm.Stream
	money    *money
	model    *llm.Model
	messages []llm.Message // of the request
	held     Spending
	began    time.Time
	first    time.Duration
	settled  bool
}

func (c *counted) Next() (llm.Event, bool) {
	e, ok := c.Stream.Next()
	switch {
	case !ok:
		c.settle(nil)
	case e.Type.Terminal():
		*e.Message = c.money.redactor.message(*e.Message)
		if u := e.Message.Usage; u != nil && u.Cost == nil {
			cost := c.model.Price.Cost(*u)
			cost.Unknown = cost.Unknown || brokenOff(e.Message)
			u.Cost = &cost
		}
		c.settle(e.Message)
	case c.first == 0 && e.Type.Delta():
		c.first = c.money.now().Sub(c.began)
	}
	if ok && !e.Type.Terminal() && e.Block != nil {
		e.Block = c.money.redactor.block(e.Block)
	}
	return e, ok
}

func (c *counted) Close() error {
	c.settle(nil)
	return c.Stream.Close()
}

func (c *counted) settle(m *llm.Message) {
	if c.settled {
		return
	}
	c.settled = true
	if m != nil && uncharged(m) {
		c.held.Release()
	} else {
		c.held.Settle(m, c.money.now().Sub(c.began), c.first)
	}
	c.money.account(m, c.model, c.messages)
}

// account adds the cost of an answer, here and to the sessions that this one works for.
func (x *money) account(m *llm.Message, model *llm.Model, asked []llm.Message) {
	var u llm.Usage
	var spent, guessed llm.USD
	unknown := false
	if m == nil || !uncharged(m) {
		if unknown = unsettled(m); unknown {
			guessed = guess(model, m, x.tokenCounter.tokens(asked))
		}
		if m != nil && m.Usage != nil {
			u = *m.Usage
			if u.Cost != nil {
				spent = u.Cost.Total
			}
		}
	}
	(&Lender{money: x}).add(1, u, spent, guessed, unknown)
}

// uncharged reports whether a provider charges nothing for an answer: the request was refused
// before the model read it, or never sent. If an answer was stopped, or broke off before its
// first visible piece, nobody knows what the model did.
func uncharged(m *llm.Message) bool {
	if m.Error == nil || m.Usage != nil || len(m.Content) > 0 {
		return false
	}
	switch m.Error.Kind {
	case llm.ErrAuth, llm.ErrRateLimit, llm.ErrUsageLimit, llm.ErrContextOverflow, llm.ErrInvalidRequest:
		return true
	case llm.ErrAborted, llm.ErrStalled:
		return false
	case llm.ErrTransport:
		var dial *net.OpError
		if errors.As(m.Error, &dial) && dial.Op == "dial" {
			return true // there was no connection
		}
	}
	// An error instead of an answer, not within one. A gateway that waited too long did pass
	// the request on.
	return m.Error.Status != 0 && m.Error.Status != http.StatusGatewayTimeout
}

// brokenOff reports whether an answer ended before its provider ended it. The cost it reported
// until then is incomplete.
func brokenOff(m *llm.Message) bool {
	if m.Error == nil {
		return false
	}
	switch m.Error.Kind {
	case llm.ErrAborted, llm.ErrStalled, llm.ErrTransport, llm.ErrAnswerLimit:
		return true
	}
	return false
}

// unsettled reports whether the cost of an answer is unknown or incomplete. nil is an answer
// of which nothing arrived.
func unsettled(m *llm.Message) bool {
	return m == nil || m.Usage == nil || m.Usage.Cost == nil || m.Usage.Cost.Unknown || brokenOff(m)
}

// guess estimates the unreported cost of an answer: the prompt, and as much output as arrived.
// It doesn't include hidden thinking.
func guess(model *llm.Model, m *llm.Message, prompt int) llm.USD {
	var u llm.Usage
	var known llm.USD
	if m != nil {
		if m.Usage != nil {
			u = *m.Usage
		}
		if u.Cost != nil {
			known = u.Cost.Total
		}
		u.Output = max(u.Output, compact.Tokens(m))
	}
	if u.Prompt() == 0 {
		u.Input = prompt
	}
	return max(0, model.Price.Cost(u).Total-known)
}

// ask sends one request outside the conversation and returns the text of its answer.
func (x *money) ask(ctx context.Context, purpose string, client llm.Client, r *llm.Request) (string, error) {
	m, err := x.collect(ctx, purpose, client, r)
	if err != nil {
		return "", err
	}
	return m.Text(), nil
}

// collect sends one request outside the conversation and returns its answer.
func (x *money) collect(ctx context.Context, purpose string, client llm.Client, r *llm.Request) (*llm.Message, error) {
	held, _, err := x.prepare(ctx, r, purpose)
	if err != nil {
		return nil, err
	}
	return llm.Collect(x.counting(client.Stream(ctx, r), r, held))
}

// asker sends requests of package compact to a model for small tasks.
func (x *money) asker(purpose string) compact.Asker {
	return func(ctx context.Context, system, prompt string, maxTokens int) (string, error) {
		prompt = x.redactor.hide(prompt)
		size := textTokens(system) + textTokens(prompt) + maxTokens
		return x.delegate(ctx, purpose, size, func(r *llm.Request) {
			r.System, r.MaxTokens, r.Messages = system, maxTokens, []llm.Message{llm.UserText(prompt)}
		})
	}
}

// delegate asks a model for small tasks: that of the role smol if the prompt fits its window,
// then its fallbacks, then the session's own and its fallbacks. It reports the failure of each
// but the last.
func (x *money) delegate(ctx context.Context, purpose string, size int, write func(*llm.Request)) (string, error) {
	own, client := x.modelState.now()
	first := Opened{Model: own.Model, Client: client, Level: own.Thinking.Level}
	var selectors []string
	if s := x.modelState.roles[roleSmol]; s != "" {
		selectors = append([]string{s}, x.fallbacks.of(roleSmol, "")...)
	}
	selectors = append(append(selectors, ""), x.fallbacks.of(x.modelState.role(), own.Model.Ref())...)
	var failure error
	for i, selector := range selectors {
		o, err := first, error(nil)
		if selector != "" {
			o, err = x.modelState.open(ctx, selector)
		}
		if err == nil {
			if w := o.Model.ContextWindow; selector != "" && w > 0 && size > w*9/10 {
				continue
			}
			r := llm.Request{Model: o.Model, Thinking: own.Thinking, Cache: llm.CacheHint{Retention: llm.CacheOff}}
			r.Thinking.Level = o.Level
			write(&r)
			var text string
			err = x.policies.repeats().repeat(ctx, x.now, i+1 < len(selectors), func() (err error) {
				text, err = x.ask(ctx, purpose, o.Client, &r)
				return err
			})
			if err == nil || ctx.Err() != nil || errors.Is(err, ErrBudget) {
				return text, err
			}
			selector = o.Model.Ref()
		}
		if failure = err; i+1 < len(selectors) {
			x.warn(fmt.Sprintf("%s could not be asked for a %s: %v", selector, strings.ReplaceAll(purpose, "_", " "), err))
		}
	}
	return "", failure
}

// listen sends a request outside the conversation and passes its text on as it streams.
func (x *money) listen(ctx context.Context, client llm.Client, r *llm.Request, delta func(string)) (string, error) {
	held, _, err := x.prepare(ctx, r, ForAside)
	if err != nil {
		return "", err
	}
	stream := x.counting(client.Stream(ctx, r), r, held)
	var last *llm.Message
	for e := range llm.Events(stream) {
		switch {
		case e.Type.Terminal():
			last = e.Message
		case e.Type == llm.EventTextDelta:
			delta(e.Delta)
		}
	}
	switch {
	case last == nil:
		return "", errors.New("the stream ended without a last event")
	case last.Error != nil:
		return last.Text(), last.Error
	}
	return last.Text(), nil
}
