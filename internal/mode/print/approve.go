package print

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/burin-dev/burin"
)

// Terminal asks a person whether calls may run, a question at a time.
type Terminal struct {
	In  io.Reader // lines that the person types
	Out io.Writer

	once  sync.Once
	typed chan string
}

var (
	_ burin.Approver   = (*Terminal)(nil)
	_ burin.Questioner = (*Terminal)(nil)
)

// ErrNoAnswer is that the terminal was closed instead of an answer.
var ErrNoAnswer = errors.New("the terminal is closed")

// Ask shows what wants to run, why it is a question, and what can be granted.
func (t *Terminal) Ask(ctx context.Context, r burin.Request, d burin.Decision) (burin.Answer, error) {
	fmt.Fprintf(t.Out, "\n%s wants to run:\n", r.Tool)
	for _, a := range r.Access {
		fmt.Fprintf(t.Out, "  %s %s\n", a.Kind, printable(a.Target, 400))
	}
	if d.Dangerous != "" {
		fmt.Fprintf(t.Out, "  Careful: %s\n", printable(d.Dangerous, 200))
	} else if d.Reason != "" {
		fmt.Fprintf(t.Out, "  %s\n", printable(d.Reason, 200))
	}
	fmt.Fprintf(t.Out, "  y  yes, this once\n  n  no (or say what to do instead)\n")
	for i, offer := range d.Offers {
		fmt.Fprintf(t.Out, "  %d  %s\n", i+1, printable(offer.Words, 200))
		for _, e := range offer.Examples {
			fmt.Fprintf(t.Out, "       would also run: %s\n", printable(e, 120))
		}
	}
	if slices.ContainsFunc(d.Offers, func(o burin.Offer) bool { return len(o.Scopes) > 1 }) {
		fmt.Fprintf(t.Out, "  A number holds until burin ends; with p (1p) in this project, with u (1u) everywhere, until it is taken back with burin permissions.\n")
	}
	for {
		fmt.Fprint(t.Out, "> ")
		line, err := t.line(ctx)
		if err != nil {
			return burin.Answer{}, err
		}
		switch answer := strings.TrimSpace(line); strings.ToLower(answer) {
		case "":
			continue
		case "y", "yes":
			return burin.Answer{Allow: true}, nil
		case "n", "no":
			return burin.Answer{}, nil
		default:
			n, scope, ok := choice(answer)
			switch {
			case !ok:
				return burin.Answer{Note: answer}, nil
			case n < 1 || n > len(d.Offers):
				fmt.Fprintf(t.Out, "y, n, or a number from 1 to %d\n", len(d.Offers))
			case scope == burin.ScopeSession:
				return burin.Answer{Allow: true, Grant: d.Offers[n-1].Rules}, nil
			case !slices.Contains(d.Offers[n-1].Scopes, scope):
				fmt.Fprintf(t.Out, "that can be granted until burin ends, but not for good\n")
			default:
				return burin.Answer{Allow: true, Grant: d.Offers[n-1].In(scope)}, nil
			}
		}
	}
}

// choice reads the number of an offer, with the letter of a scope behind it.
func choice(answer string) (n int, scope burin.Scope, ok bool) {
	scope = burin.ScopeSession
	for letter, s := range map[string]burin.Scope{"p": burin.ScopeProject, "u": burin.ScopeUser} {
		if rest, cut := strings.CutSuffix(strings.ToLower(answer), letter); cut {
			answer, scope = rest, s
		}
	}
	n, err := strconv.Atoi(answer)
	return n, scope, err == nil
}

// line waits for a line or the end of ctx. A read of a terminal cannot be broken
// off, so one goroutine reads for as long as the process lives.
func (t *Terminal) line(ctx context.Context) (string, error) {
	t.once.Do(func() {
		t.typed = make(chan string)
		go func() {
			defer close(t.typed)
			for s := bufio.NewScanner(t.In); s.Scan(); {
				t.typed <- s.Text()
			}
		}()
	})
	select {
	case s, ok := <-t.typed:
		if !ok {
			return "", ErrNoAnswer
		}
		return s, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// AskQuestions puts the model's questions, one after the other.
func (t *Terminal) AskQuestions(ctx context.Context, questions []burin.Question) ([]burin.Reply, error) {
	var replies []burin.Reply
	for _, q := range questions {
		fmt.Fprintf(t.Out, "\n%s\n", clean(q.Text))
		for i, o := range q.Options {
			mark := ""
			if i == q.Recommended {
				mark = " (recommended)"
			}
			fmt.Fprintf(t.Out, "  %d  %s%s\n", i+1, printable(o, 200), mark)
		}
		hint := "a number, or your own words; an empty line dismisses the question"
		if q.Multi {
			hint = "numbers with commas, or your own words; an empty line dismisses the question"
		}
		fmt.Fprintf(t.Out, "(%s)\n> ", hint)
		line, err := t.line(ctx)
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line == "" {
			return nil, burin.ErrDismissed
		}
		replies = append(replies, reply(q, line))
	}
	return replies, nil
}

// reply reads an answer: numbers of options, or else words.
func reply(q burin.Question, line string) burin.Reply {
	parts := []string{line}
	if q.Multi {
		parts = strings.Split(line, ",")
	}
	var r burin.Reply
	for _, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(q.Options) {
			return burin.Reply{Custom: line}
		}
		if option := q.Options[n-1]; !slices.Contains(r.Selected, option) {
			r.Selected = append(r.Selected, option)
		}
	}
	return r
}
