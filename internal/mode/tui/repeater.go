package tui

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session/compact"
)

// rounds is a prompt that is sent again whenever it is done.
type rounds struct {
	words      string
	done, most int
	of         *opened // nil: the session that is being opened for the next
}

// defaultRounds is how often a loop sends its prompt where nobody says it; more would
// surprise who has to pay.
const (
	defaultRounds = 10
	maxRounds     = 1000
)

// repeater sends a prompt again whenever it is done: /loop.
type repeater struct {
	*base
	*current
	show      *appearance
	composer  *composer
	work      *work
	outbox    *outbox
	open      func(Wish)             // opens a session
	isCommand func(name string) bool // of the face's own
	rounds    *rounds                // nil: there is no loop
}

// command begins, shows or ends a loop.
func (p *repeater) command(args string) {
	most := defaultRounds
	first, rest, _ := strings.Cut(args, " ")
	if n, err := strconv.Atoi(first); err == nil {
		if n < 1 || n > maxRounds {
			p.notice(card.Warning, fmt.Sprintf("A loop has 1 to %d rounds.", maxRounds))
			return
		}
		most, args = n, strings.TrimSpace(rest)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(args, "/"), " ")
	builtin := p.isCommand(name)
	switch {
	case args == "stop" || args == "off":
		if p.rounds == nil {
			p.notice(card.Info, "No loop is running.")
			return
		}
		p.end("is stopped")
	case args == "" && p.rounds != nil:
		p.notice(card.Info, fmt.Sprintf("Round %d of %d of the loop: %s · /loop stop ends it", p.rounds.done, p.rounds.most, prose.Line(p.rounds.words)))
	case args == "":
		p.notice(card.Info, "Say what to repeat: /loop 5 find a bug and fix it")
	case strings.HasPrefix(args, "!") || strings.HasPrefix(args, "/") && builtin:
		p.notice(card.Warning, "A loop repeats prompts, not commands.")
	case p.rounds != nil:
		p.notice(card.Warning, "A loop is already running: /loop stop ends it.")
	case p.work.on || p.work.busy != "":
		p.notice(card.Warning, "/loop must wait until the work is done; "+p.keyFor(key.Interrupt)+" stops it.")
		p.composer.refuse()
	default:
		p.rounds = &rounds{words: args, most: most, of: p.session}
		p.send()
	}
}

// end ends a loop, with a word about why.
func (p *repeater) end(how string) {
	r := p.rounds
	p.rounds = nil
	p.notice(card.Info, fmt.Sprintf("The loop %s after %s of %d.", how, prose.Count(r.done, "round"), r.most))
}

// leave ends a loop whose session is left; that of the next round is not.
func (p *repeater) leave() {
	if p.rounds != nil && p.rounds.of != nil {
		p.end("has ended with its session")
	}
}

// next goes on with a loop when a prompt of its session has ended.
func (p *repeater) next(s *opened, reason agent.Reason) {
	r := p.rounds
	if r == nil || p.work.on || len(p.outbox.outgoing) > 0 { // what a person sent goes first
		return
	}
	r.of = s
	switch {
	case reason != agent.ReasonDone:
		p.end("has ended")
	case r.done == r.most:
		p.end("is done")
	default:
		p.send()
	}
}

// send sends the prompt of a loop.
func (p *repeater) send() {
	r := p.rounds
	r.done++
	p.notice(card.Info, fmt.Sprintf("Round %d of %d", r.done, r.most))
	switch {
	case r.done == 1:
	case p.show.loopMode == "compact":
		s := p.session
		p.work.ahead("condensing the conversation", func(ctx context.Context) (func(), error) {
			err := s.Conversation().Compact(ctx, "")
			if errors.Is(err, compact.ErrNothing) {
				err = nil // it is short enough
			}
			return nil, err
		})
	case p.show.loopMode == "reset":
		r.of = nil
		p.open(Wish{})
	}
	p.outbox.deliver(&letter{text: r.words})
}
