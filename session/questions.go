package session

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
)

// Errors of questions.
var (
	// ErrUnattended means that nobody is there who could answer.
	ErrUnattended = errors.New("no one can answer here")
	// ErrTimedOut means that nobody answered a question by its time.
	ErrTimedOut = errors.New("no one answered in time")
	// ErrSettled means that a question is no longer open: somebody else has answered it, or
	// nobody waits for the answer any more.
	ErrSettled = errors.New("this question is already settled")
)

// DeskOptions say what happens to a question while nobody is there to answer it.
type DeskOptions struct {
	// Wait lets it wait until somebody comes, at most for Timeout; otherwise it is refused at
	// once.
	Wait    bool
	Timeout time.Duration // 0 is no limit
	// Under is the desk of the session that a sub-agent works for: its questions are asked
	// there, as those of From.
	Under *Desk
	From  string
}

// Desk is where questions wait for the user: those about permission, of the model, and all
// others. Questions are events, and the first answer counts. A desk is made before its
// session, so that tools can use it.
type Desk struct {
	// Screens has the programs that users of the desk can see.
	Screens *Screens

	o DeskOptions

	mu        sync.Mutex
	tell      func(Event) // nil while there is no session
	open      []*asked    // in the order in which they came
	attending int         // faces that can answer
	arrived   chan struct{}
	left      chan struct{}
	ended     bool
}

// asked is an open question.
type asked struct {
	Question
	reply chan Reply // has capacity one
	how   Settlement // "" while it is open
}

// NewDesk makes a desk.
func NewDesk(o DeskOptions) *Desk {
	return &Desk{Screens: &Screens{}, o: o, arrived: make(chan struct{}), left: make(chan struct{})}
}

// Attend says that somebody is there who can answer, until leave is called. leave must be
// called once.
func (d *Desk) Attend() (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.attending++; d.attending == 1 {
		close(d.arrived)
		d.left = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.attending--; d.attending == 0 {
			d.arrived = make(chan struct{})
			close(d.left)
		}
	})
}

// CanAsk reports whether a question could be answered: somebody is there, or it may wait.
func (d *Desk) CanAsk() bool {
	if d.o.Under != nil {
		return d.o.Under.CanAsk()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.ended && (d.attending > 0 || d.o.Wait)
}

// Ask asks a question and waits for the answer. It sets the id of q. The error is
// [ErrUnattended], [ErrTimedOut], or that of ctx.
func (d *Desk) Ask(ctx context.Context, q Question) (Reply, error) {
	if d.o.Under != nil {
		if q.From == "" {
			q.From = d.o.From
		}
		return d.o.Under.Ask(ctx, q)
	}
	q.ID = rand.Text()[:12]
	a := &asked{Question: q, reply: make(chan Reply, 1)}
	d.mu.Lock()
	if d.ended || d.attending == 0 && !d.o.Wait {
		d.mu.Unlock()
		return Reply{}, ErrUnattended
	}
	d.open = append(d.open, a)
	arrived, left := d.arrived, d.left
	alone := d.attending == 0
	d.mu.Unlock()
	d.say(Event{Event: agent.Event{Type: QuestionAsked}, Data: &a.Question})
	var late, over <-chan time.Time
	if !q.Until.IsZero() {
		t := time.NewTimer(time.Until(q.Until))
		defer t.Stop()
		over = t.C
	}
	for {
		var comes, goes <-chan struct{}
		if alone {
			comes = arrived
			if late == nil && d.o.Timeout > 0 {
				t := time.NewTimer(d.o.Timeout)
				defer t.Stop()
				late = t.C
			}
		} else {
			goes, late = left, nil
		}
		how := Withdrawn
		select {
		case r := <-a.reply:
			return r, nil
		case <-comes:
			alone = false
			d.mu.Lock()
			left = d.left
			d.mu.Unlock()
			continue
		case <-goes:
			alone = true
			d.mu.Lock()
			arrived = d.arrived
			d.mu.Unlock()
			if d.o.Wait {
				continue
			}
			how = Unattended
		case <-late:
			how = TimedOut
		case <-over:
			how = TimedOut
		case <-ctx.Done():
		}
		if !d.settle(a, how, "", nil) {
			return <-a.reply, nil // answered at this moment
		}
		switch {
		case how == Withdrawn:
			return Reply{}, ctx.Err()
		case how == TimedOut && late == nil:
			return Reply{}, ErrTimedOut
		}
		return Reply{}, ErrUnattended
	}
}

// Answer answers an open question on behalf of a face. The error is [ErrSettled].
func (d *Desk) Answer(id string, r Reply, by string) error {
	d.mu.Lock()
	i := slices.IndexFunc(d.open, func(a *asked) bool { return a.ID == id })
	if i < 0 {
		d.mu.Unlock()
		return ErrSettled
	}
	a := d.open[i]
	d.mu.Unlock()
	if !d.settle(a, Answered, by, &r) {
		return ErrSettled
	}
	return nil
}

// settle closes a question unless it is closed already.
func (d *Desk) settle(a *asked, how Settlement, by string, r *Reply) bool {
	d.mu.Lock()
	if a.how != "" {
		d.mu.Unlock()
		return false
	}
	a.how = how
	d.open = slices.DeleteFunc(d.open, func(o *asked) bool { return o == a })
	d.mu.Unlock()
	told := &Settled{ID: a.ID, How: how, By: by}
	if r != nil && a.Kind != AskSecret {
		told.Reply = r
	}
	d.say(Event{Event: agent.Event{Type: QuestionSettled}, Data: told})
	if r != nil {
		a.reply <- *r
	}
	return true
}

// Open returns the open questions, in the order in which they came.
func (d *Desk) Open() []Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []Question
	for _, a := range d.open {
		all = append(all, a.Question)
	}
	return all
}

// end settles all questions, because the process that asks ends.
func (d *Desk) end() {
	d.mu.Lock()
	d.ended = true
	open := slices.Clone(d.open)
	d.mu.Unlock()
	for _, a := range open {
		d.settle(a, OwnerEnded, "", &Reply{Dismissed: true})
	}
}

func (d *Desk) bind(tell func(Event)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell = tell
	d.Screens.bind(tell)
}

func (d *Desk) say(e Event) {
	d.mu.Lock()
	tell := d.tell
	d.mu.Unlock()
	if tell != nil {
		tell(e)
	}
}
