// Package checkup looks whether burin can work on this machine: settings, keys, network,
// sandbox, git, disk, locks, stores. It changes nothing of the user's, and reports what to do.
//
// [Run] runs checks in parallel, each for a bounded time: one that does not come back is a
// result, too. No result has a secret in it: keys are named by where they come from, and
// addresses are told without user and password.
package checkup

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// State is how something is.
type State string

// The states, from good to bad.
const (
	OK      State = "ok"
	Note    State = "note"    // nothing to do
	Warning State = "warning" // burin works, with less than it could
	Problem State = "problem" // burin does not work until it is solved
)

// Result is what a check found.
type Result struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Text  string `json:"text"`         // one line
	Do    string `json:"do,omitempty"` // what to do about it
}

// Check looks at one thing. Run may be called from any goroutine and gives at least one
// result, whose name is filled in where it has none.
type Check struct {
	Name  string
	Run   func(ctx context.Context) []Result
	Limit time.Duration // 0 is the usual
	Late  string        // what to do where it takes longer; "" is nothing
}

// usual is how long a check may take.
const usual = 4 * time.Second

// Run runs all checks at once and gives their results in the order of the checks.
func Run(ctx context.Context, checks []Check) []Result {
	all := make([][]Result, len(checks))
	var running sync.WaitGroup
	for i, c := range checks {
		running.Go(func() { all[i] = c.bounded(ctx) })
	}
	running.Wait()
	var out []Result
	for i, results := range all {
		for _, r := range results {
			if r.Check == "" {
				r.Check = checks[i].Name
			}
			r.Text, r.Do = prose.Inline(prose.Line(r.Text)), prose.Inline(prose.Line(r.Do))
			out = append(out, r)
		}
	}
	return out
}

// bounded runs the check as long as it may take, and leaves it to itself after that.
func (c Check) bounded(ctx context.Context) []Result {
	limit := c.Limit
	if limit == 0 {
		limit = usual
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan []Result, 1)
	go func() { done <- c.Run(ctx) }()
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
	}
	select { // a check that heeds its context has something to say
	case r := <-done:
		return r
	case <-time.After(limit / 4):
		return []Result{{State: Warning, Text: fmt.Sprintf("not done after %s", limit), Do: c.Late}}
	}
}

// Problems is how many results stop burin from working.
func Problems(results []Result) (n int) {
	for _, r := range results {
		if r.State == Problem {
			n++
		}
	}
	return n
}

func one(s State, text, do string) []Result { return []Result{{State: s, Text: text, Do: do}} }
