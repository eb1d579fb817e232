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
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/permit"
)

// Terminal asks a person what a session wants to know, a question at a time.
type Terminal struct {
	In  io.Reader // lines that the person types
	Out io.Writer

	once   sync.Once
	typed  chan string
	asking sync.Mutex // held while a question is on the screen
}

// Answer asks the person, and gives what they say. The error is [ErrNoAnswer], or that of
// ctx.
func (t *Terminal) Answer(ctx context.Context, q *session.Question) (r session.Reply, err error) {
	t.asking.Lock()
	defer t.asking.Unlock()
	switch q.Kind {
	case session.AskPermission:
		a, err := t.ask(ctx, q)
		return session.Reply{Permission: &a}, err
	case session.AskChoice:
		if q.Plan != nil {
			fmt.Fprintf(t.Out, "\n%s\n\n%s\n", prose.Row(q.Title, 200), prose.Clean(q.Plan.Text, 4))
		}
		chosen, err := t.choose(ctx, q)
		return session.Reply{Choices: chosen, Dismissed: chosen == nil}, err
	}
	return r, ErrNoAnswer
}

// ErrNoAnswer means that the terminal was closed before an answer came.
var ErrNoAnswer = errors.New("the terminal is closed")

// ask shows what wants to run, why it is a question, and what can be granted.
func (t *Terminal) ask(ctx context.Context, q *session.Question) (permit.Answer, error) {
	r, d := q.Permission.Request, q.Permission.Decision
	fmt.Fprintf(t.Out, "\n%s\n", q.Titled(r.Tool+" wants to run:"))
	for _, a := range r.Access {
		fmt.Fprintf(t.Out, "  %s %s\n", a.Kind, prose.Row(a.Target, 400))
	}
	if d.Dangerous != "" {
		fmt.Fprintf(t.Out, "  Careful: %s\n", prose.Row(d.Dangerous, 200))
	} else if d.Reason != "" {
		fmt.Fprintf(t.Out, "  %s\n", prose.Row(d.Reason, 200))
	}
	now := time.Now()
	fmt.Fprintf(t.Out, "  y  %s\n  n  %s (or type what to do instead)\n", permit.Yes, permit.No)
	lasting := map[permit.Scope]string{} // where and how long, of all offers together
	for i, offer := range d.Offers {
		fmt.Fprintf(t.Out, "  %d  %s\n", i+1, offer.Label(permit.Session, now))
		for _, s := range offer.Scopes {
			lasting[s] = offer.Where(s, now)
		}
	}
	if where := lasting[permit.Project]; where != "" {
		fmt.Fprintf(t.Out, "  p after a number: %s\n", where)
	}
	if where := lasting[permit.User]; where != "" {
		fmt.Fprintf(t.Out, "  u after a number: %s\n", where)
	}
	fmt.Fprintf(t.Out, "  ?  details\n")
	return t.answer(ctx, d)
}

// answer reads lines until one is an answer.
func (t *Terminal) answer(ctx context.Context, d permit.Decision) (permit.Answer, error) {
	detailed := false
	for {
		fmt.Fprint(t.Out, "> ")
		line, err := t.line(ctx)
		if err != nil {
			return permit.Answer{}, err
		}
		switch answer := strings.TrimSpace(line); strings.ToLower(answer) {
		case "":
			continue
		case "?":
			t.details(d)
			detailed = true
		case "y", "yes":
			return permit.Answer{Allow: true}, nil
		case "n", "no":
			return permit.Answer{}, nil
		default:
			n, scope, ok := choice(answer)
			switch {
			case !ok:
				return permit.Answer{Note: answer}, nil
			case n < 1 || n > len(d.Offers):
				fmt.Fprintf(t.Out, "type y, n, or a number from 1 to %d\n", len(d.Offers))
			case !slices.Contains(d.Offers[n-1].Scopes, scope):
				fmt.Fprintf(t.Out, "%d can't be granted for that long\n", n)
			case len(d.Offers[n-1].Rules) > 1 && !detailed: // one line may not name all of them
				t.details(d)
				detailed = true
				fmt.Fprintf(t.Out, "several rules: type %s again to grant them\n", answer)
			default:
				return permit.Answer{Allow: true, Grant: d.Offers[n-1].In(scope)}, nil
			}
		}
	}
}

// details is the fine print of all answers.
func (t *Terminal) details(d permit.Decision) {
	show := func(key string, lines []permit.Detail) {
		for _, x := range lines {
			fmt.Fprintf(t.Out, "  %-2s %-7s%s\n", key, x.Name, prose.Row(x.Text, 4000))
			key = ""
		}
	}
	show("y", permit.Answer{Allow: true}.Details(d))
	show("n", permit.Answer{}.Details(d))
	for i, offer := range d.Offers {
		show(strconv.Itoa(i+1), offer.Details(permit.Session, d))
	}
}

// choice reads the number of an offer, with the letter of a scope behind it.
func choice(answer string) (n int, scope permit.Scope, ok bool) {
	scope = permit.Session
	for letter, s := range map[string]permit.Scope{"p": permit.Project, "u": permit.User} {
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

// choose puts the model's questions, one after the other; nil: the person dismissed them.
func (t *Terminal) choose(ctx context.Context, asked *session.Question) ([]session.Chosen, error) {
	var replies []session.Chosen
	for _, q := range asked.Choices {
		fmt.Fprintf(t.Out, "\n%s\n", prose.Clean(asked.Titled(q.Text), 4))
		for i, o := range q.Options {
			mark := ""
			if i == q.Recommended {
				mark = " (recommended)"
			}
			fmt.Fprintf(t.Out, "  %d  %s%s\n", i+1, prose.Row(o, 200), mark)
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
			return nil, nil
		}
		replies = append(replies, reply(q, line))
	}
	return replies, nil
}

// reply reads an answer: numbers of options, or else words.
func reply(q session.Choice, line string) session.Chosen {
	parts := []string{line}
	if q.Multi {
		parts = strings.Split(line, ",")
	}
	var r session.Chosen
	for _, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(q.Options) {
			return session.Chosen{Custom: line}
		}
		if option := q.Options[n-1]; !slices.Contains(r.Selected, option) {
			r.Selected = append(r.Selected, option)
		}
	}
	return r
}
