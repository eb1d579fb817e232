package owner

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/ipc"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// State is what a running session does.
type State string

// The states of a running session.
const (
	Working State = "working"
	Waiting State = "waiting" // for an answer
	AtRest  State = "idle"
)

// Running is a session that a process of this user has open.
type Running struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Dir   string `json:"folder"`
	Path  string `json:"path,omitempty"`
	State State  `json:"state"`
	// Since is when the prompt began, for a session at rest when something was said last.
	Since      time.Time `json:"since,omitzero"`
	Question   string    `json:"question,omitempty"` // the first one that waits
	Cost       llm.USD   `json:"cost"`
	Known      bool      `json:"costKnown"` // false: it has cost more
	Faces      int       `json:"faces"`     // how many have joined it
	Background bool      `json:"background"`
	PID        int       `json:"pid"`
	// Agents are those that work or will, Jobs the commands that run in the background.
	Agents []session.Agent `json:"agents,omitempty"`
	Jobs   []session.Job   `json:"jobs,omitempty"`
}

// lookTime is how long an owner has to describe its session. One that is stopped is left out.
const lookTime = 2 * time.Second

// Running returns the sessions that are open, those that wait for an answer first, then the
// newest. closed is how many can't be asked from here: this process belongs to one of them,
// or their process does not answer.
func (p Place) Running(ctx context.Context) (list []Running, closed int, err error) {
	addresses, err := ipc.List(p.Data, p.Getenv)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	room := make(chan struct{}, 32)
	for _, address := range addresses {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			r, err := look(ctx, address)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				list = append(list, r)
			case !errors.Is(err, ErrNobody):
				closed++
			}
		})
	}
	all.Wait()
	sorting.Stable(list, func(a, b Running) int {
		if w := cmp.Compare(rank(b), rank(a)); w != 0 {
			return w
		}
		return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.ID, b.ID))
	})
	return list, closed, nil
}

func rank(r Running) int {
	if r.State == Waiting {
		return 1
	}
	return 0
}

// look asks the owner at an address about its session.
func look(ctx context.Context, address string) (Running, error) {
	h, err := Dial(ctx, address, glance, remote.Watch)
	if err != nil {
		return Running{}, err
	}
	defer h.Close() //nolint:errcheck // it only leaves
	return running(ctx, h, h.(*remote.Client).Owner())
}

// running describes a session and its owner.
func running(ctx context.Context, h session.Handle, o remote.Owner) (Running, error) {
	f, head := h.Facts(), h.Transcript().Header()
	r := Running{
		ID: f.ID, Title: cmp.Or(f.Stats.Title, o.First), Dir: head.CWD, Path: f.Path, State: AtRest, Since: o.Since,
		Cost: f.Stats.Cost, Known: f.Stats.Known, Faces: o.Faces, Background: o.Background, PID: o.PID,
	}
	if f.Working {
		r.State, r.Since = Working, f.Since
	} else if e, err := h.Transcript().Entry(f.Leaf); err == nil && e.Time().After(r.Since) {
		r.Since = e.Time()
	}
	open, err := h.Questions().Open(ctx)
	if err != nil {
		return Running{}, err
	}
	if len(open) > 0 {
		r.State, r.Question = Waiting, Asked(open[0])
	}
	agents, err := h.Agents().List(ctx)
	if err != nil {
		return Running{}, err
	}
	for i := range agents {
		if agents[i].Active() {
			r.Agents = append(r.Agents, agents[i])
		}
	}
	jobs, err := h.Jobs().List(ctx)
	if err != nil {
		return Running{}, err
	}
	for _, j := range jobs {
		if j.Running && j.Agent == "" { // agents are listed already
			r.Jobs = append(r.Jobs, j)
		}
	}
	return r, nil
}

// Asked is a question in a few words, which may be the model's, with who asks.
func Asked(q session.Question) string { return q.Titled(words(q)) }

func words(q session.Question) string {
	switch {
	case q.Permission != nil:
		return "may run " + q.Permission.Request.Tool + "?"
	case q.Plan != nil:
		return "review the plan"
	case len(q.Choices) > 0:
		return q.Choices[0].Text
	}
	return cmp.Or(q.Title, "a question")
}

// Glance connects to the owner of the session in a file to look at it, which is no company for
// a background session. The error is [ErrNobody] if nobody has it open.
func (p Place) Glance(ctx context.Context, path string) (session.Handle, error) {
	return p.Attach(ctx, path, glance, remote.Watch)
}
