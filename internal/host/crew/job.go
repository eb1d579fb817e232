package crew

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/host/crew/task"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// delivery says who gives the result of an agent in the background to the model: a message, or
// a call that waits for it. It is never both.
type delivery struct {
	mu      sync.Mutex // held while the result is given
	calls   int        // that wait for it
	skipped bool       // no message was sent because of them
	given   bool       // the model has it
	receipt string     // of the message that has it
}

// worker is an agent in the background as a job of its session.
type worker struct {
	crew *Crew
	m    *member
}

var _ bench.Worker = worker{}

// keptWorkers is how many agents that have ended are listed as jobs.
const keptWorkers = 100

// Workers returns the crew's own agents in the background, oldest first; of those that ended, the
// last ones.
func (c *Crew) Workers() []bench.Worker {
	c.family.mu.Lock()
	members := slices.Clone(c.members)
	c.family.mu.Unlock()
	var all []bench.Worker
	ended := 0
	for _, m := range slices.Backward(members) {
		row := m.row()
		if !row.Background || !c.below(m.id) {
			continue
		}
		if !row.Active() {
			if ended++; ended > keptWorkers {
				continue
			}
		}
		all = append(all, worker{c, m})
	}
	slices.Reverse(all)
	return all
}

// ID implements [bench.Worker].
func (w worker) ID() string { return w.m.id }

// About implements [bench.Worker].
func (w worker) About() string {
	row := w.m.row()
	about := row.Description
	if about == "" {
		about = row.Task
	}
	return row.Agent + ": " + about
}

// State implements [bench.Worker].
func (w worker) State() string {
	a, r := w.m.row(), w.m.report()
	cost := prose.Count(a.Requests, "request")
	switch {
	case a.Known && a.Cost > 0:
		cost += ", " + a.Cost.String()
	case a.Cost > 0:
		cost += ", at least " + a.Cost.String()
	}
	switch {
	case a.State == session.AgentQueued:
		return "queued"
	case a.State == session.AgentRunning && r.State != "running":
		return r.State + ", works on a message, " + cost
	case r.State != "running":
		return r.State + ", " + cost
	}
	text := "running for " + w.m.crew.o.Now().Sub(a.Started).Round(time.Second).String() + ", " + cost
	if a.Tool != "" {
		text += ", " + a.Tool
	}
	return text
}

// Follow implements [bench.Worker].
func (w worker) Follow() (done <-chan struct{}, leave func()) {
	d := &w.m.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	return w.m.over(), sync.OnceFunc(func() {
		d.mu.Lock()
		d.calls--
		late := d.calls == 0 && d.skipped && !d.given
		d.mu.Unlock()
		if late { // the call was stopped: the result arrives as a message after all
			w.m.crew.hand(w.m)
		}
	})
}

// Await implements [bench.Worker].
func (w worker) Await(ids []string) (leave func()) { return w.crew.waits.session(w.crew, ids...) }

// Take implements [bench.Worker].
func (w worker) Take() (text string, failed bool) {
	m, d := w.m, &w.m.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	r := m.report()
	if r.Output == "" && m.file != "" { // of an agent that an earlier process has run
		if all, err := m.wholeOutput(); err == nil {
			r.Output = prose.Head(all, maxPreview)
			r.More = len(r.Output) < len(all)
		}
	}
	again := d.given
	if !again && d.receipt != "" {
		again = !m.crew.withdraw(d.receipt)
	}
	d.given = true
	m.crew.drop(m)
	if again && r.Output != "" && r.Kept {
		return fmt.Sprintf("[Job %s: %s. Its result is in this conversation already; agent://%s is all of it.]", m.id, w.State(), m.id), false
	}
	return task.Words([]task.Report{r}), r.State != "done"
}

// Kill implements [bench.Worker].
func (w worker) Kill(ctx context.Context) error {
	if a := w.m.row(); !a.Active() {
		return nil
	}
	if err := w.crew.Stop(ctx, w.m.id); err != nil {
		return err
	}
	select {
	case <-w.m.over():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hand gives the result of an agent in the background to the session, unless a call waits for it.
func (c *Crew) hand(m *member) {
	d := &m.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.skipped = d.calls > 0; d.skipped || d.given || d.receipt != "" {
		return
	}
	c.mu.Lock()
	live := c.live
	c.mu.Unlock()
	if live == nil || c.o.Awaits || c.of != "" {
		c.mu.Lock()
		c.results = append(c.results, m)
		c.mu.Unlock()
		select {
		case c.arrived <- struct{}{}:
		default:
		}
		return
	}
	receipt, err := live.Submit(c.life, session.Input{Message: resultMessage([]task.Report{m.report()}), When: session.After})
	if err != nil {
		if c.life.Err() == nil {
			c.o.Warn(fmt.Sprintf("the result of agent %s could not be given to the model: %v", m.id, err))
		}
		return
	}
	d.receipt = receipt.ID
}

// withdraw takes back a message that the session has not read.
func (c *Crew) withdraw(receipt string) bool {
	c.mu.Lock()
	live := c.live
	c.mu.Unlock()
	return live != nil && session.Withdraw(live, receipt)
}

// drop takes a result out of those that the session is still to read.
func (c *Crew) drop(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = slices.DeleteFunc(c.results, func(o *member) bool { return o == m })
}

// numbered reports whether a name is only a number, as those of commands in the background are.
func numbered(name string) bool { return strings.Trim(name, "0123456789") == "" }
