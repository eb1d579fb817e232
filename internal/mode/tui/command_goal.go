package tui

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
)

// pursuitCommands are about work that goes on over more than one answer.
func pursuitCommands() []command {
	return []command{
		{
			name: "goal", args: "[words, pause, resume, drop, budget]", help: "what the model works towards until it is reached", needs: aSession, run: (*app).goal,
			complete: choices("show", "pause", "resume", "drop", "budget", "set"),
		},
		{name: "loop", args: "[times] <prompt>", help: "send a prompt again whenever it is done", needs: aSession, run: (*app).loopCommand, complete: choices("stop")},
		{name: "force", args: "<tool> <prompt>", help: "a prompt whose first answer must call that tool", needs: aRest, run: (*app).force, complete: offeredTools},
	}
}

// goal shows or changes the goal.
func (a *app) goal(args string) {
	g := a.session.Goal()
	verb, rest, _ := strings.Cut(args, " ")
	rest = strings.TrimSpace(rest)
	alone := rest == ""
	switch {
	case verb == "" || verb == "show" && alone:
		a.showGoal(g)
		return
	case verb == "set" && !alone:
		a.newGoal(rest)
		return
	case verb != "pause" && verb != "resume" && verb != "drop" && verb != "budget" || verb != "budget" && !alone:
		a.newGoal(args)
		return
	case g.Text == "":
		a.say(card.Info, "There is no goal yet: "+goalUsage)
		return
	}
	switch verb {
	case "pause":
		g.State = session.GoalPaused
	case "resume":
		g.State = session.GoalActive
	case "drop":
		g = session.Goal{}
	case "budget":
		limit, err := parseDollars(rest)
		if err != nil {
			a.say(card.Warning, "A budget is an amount in dollars, or off: /goal budget 2.50")
			return
		}
		g.Budget = limit
	}
	if err := a.session.SetGoal(g); err != nil {
		a.sayError(err)
		return
	}
	switch {
	case verb == "drop":
		a.say(card.Info, "The goal is dropped.")
	case verb == "budget":
		a.showGoal(a.session.Goal())
	case verb == "resume" && !a.work.on:
		a.deliver(&letter{text: "Go on with the goal: " + g.Text})
	}
}

const goalUsage = "/goal all tests pass on main. Then the model goes on until it has nothing more to do for it."

// newGoal sets a goal and begins with it.
func (a *app) newGoal(words string) {
	if err := a.session.SetGoal(session.Goal{Text: words, State: session.GoalActive}); err != nil {
		a.sayError(err)
		return
	}
	a.prompt(words, steerNow)
}

// showGoal says in a line how it stands.
func (a *app) showGoal(g session.Goal) {
	if g.Text == "" {
		a.say(card.Info, "There is no goal: "+goalUsage)
		return
	}
	a.say(card.Info, "The goal is "+goalFact(g))
}

// goalFact says how a goal stands; "" if there is none.
func goalFact(g session.Goal) string {
	if g.Text == "" {
		return ""
	}
	words := fmt.Sprintf("%s: %s", g.State, beginning(g.Text))
	if g.Budget > 0 || g.Spent > 0 {
		words += fmt.Sprintf(" · %s", g.Spent)
		if g.Budget > 0 {
			words += fmt.Sprintf(" of %s", g.Budget)
		}
		words += " spent"
	}
	return words
}

// parseDollars reads an amount; "off" is none.
func parseDollars(text string) (llm.USD, error) {
	if text == "off" {
		return 0, nil
	}
	d, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	if err != nil || !(d > 0 && d < 1e9) { // and no NaN
		return 0, errors.New("no amount")
	}
	return llm.Dollars(d), nil
}

// goalCheck stands where the model was asked about the goal.
const goalCheck = "asked whether the goal is reached"

// onGoal tells what became of the goal by itself.
func (a *app) onGoal(state session.GoalState) {
	switch state {
	case session.GoalDone:
		a.notice(card.Info, "The model has nothing more to do for the goal: it is reached, or it needs you. /goal resume has it go on.")
	case session.GoalPaused:
		a.notice(card.Warning, "The goal is paused. /goal resume goes on with it.")
	}
}

// force sends a prompt whose first answer must call a tool.
func (a *app) force(args string) {
	name, words, _ := strings.Cut(args, " ")
	if words = strings.TrimSpace(words); words == "" {
		a.say(card.Info, "Write the tool and the prompt: /force grep where is the timeout set?")
		return
	}
	if err := a.session.Force(name); err != nil {
		a.say(card.Warning, sentence(err.Error()))
		a.giveBack(a.words)
		return
	}
	a.prompt(words, steerNow)
}

// offeredTools proposes the tools that the model has.
func offeredTools(a *app, arg string) []editor.Item {
	if a.session == nil || strings.Contains(arg, " ") {
		return nil
	}
	var items []editor.Item
	for _, t := range a.session.Tools() {
		if t.Enabled && strings.HasPrefix(t.Name, arg) {
			items = append(items, editor.Item{Label: t.Name, Insert: t.Name + " "})
		}
	}
	return items
}

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

// loopCommand begins, shows or ends a loop.
func (a *app) loopCommand(args string) {
	most := defaultRounds
	first, rest, _ := strings.Cut(args, " ")
	if n, err := strconv.Atoi(first); err == nil {
		if n < 1 || n > maxRounds {
			a.say(card.Warning, fmt.Sprintf("A loop has 1 to %d rounds.", maxRounds))
			return
		}
		most, args = n, strings.TrimSpace(rest)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(args, "/"), " ")
	_, builtin := a.known(name)
	switch {
	case args == "stop" || args == "off":
		if a.rounds == nil {
			a.say(card.Info, "There is no loop.")
			return
		}
		a.endRounds("is stopped")
	case args == "" && a.rounds != nil:
		a.say(card.Info, fmt.Sprintf("Round %d of %d of the loop: %s · /loop stop ends it", a.rounds.done, a.rounds.most, oneLine(a.rounds.words)))
	case args == "":
		a.say(card.Info, "Write what to repeat: /loop 5 find a bug and mend it")
	case strings.HasPrefix(args, "!") || strings.HasPrefix(args, "/") && builtin:
		a.say(card.Warning, "A loop repeats prompts, not commands.")
	case a.rounds != nil:
		a.say(card.Warning, "There is a loop already: /loop stop ends it.")
	case a.work.on || a.work.busy != "":
		a.say(card.Warning, "/loop has to wait until the work is done; "+a.keyFor(key.Interrupt)+" stops it.")
		a.giveBack(a.words)
	default:
		a.rounds = &rounds{words: args, most: most, of: a.session}
		a.round()
	}
}

// endRounds ends a loop, with a word about why.
func (a *app) endRounds(how string) {
	r := a.rounds
	a.rounds = nil
	a.notice(card.Info, fmt.Sprintf("The loop %s after %s of %d.", how, counted(r.done, "round", "rounds"), r.most))
}

// leaveRounds ends a loop whose session is left; that of the next round is not.
func (a *app) leaveRounds() {
	if a.rounds != nil && a.rounds.of != nil {
		a.endRounds("has ended with its session")
	}
}

// nextRound goes on with a loop when a prompt of its session has ended.
func (a *app) nextRound(s *opened, reason agent.Reason) {
	r := a.rounds
	if r == nil || a.work.on || len(a.outgoing) > 0 { // what a person sent goes first
		return
	}
	r.of = s
	switch {
	case reason != agent.ReasonDone:
		a.endRounds("has ended")
	case r.done == r.most:
		a.endRounds("is done")
	default:
		a.round()
	}
}

// round sends the prompt of a loop.
func (a *app) round() {
	r := a.rounds
	r.done++
	a.notice(card.Info, fmt.Sprintf("Round %d of %d", r.done, r.most))
	switch {
	case r.done == 1:
	case a.show.loopMode == "compact":
		s := a.session
		a.ahead("condensing the conversation", func(ctx context.Context) (func(), error) {
			err := s.Compact(ctx, "")
			if errors.Is(err, compact.ErrNothing) {
				err = nil // it is short enough
			}
			return nil, err
		})
	case a.show.loopMode == "reset":
		r.of = nil
		a.open(Wish{})
	}
	a.deliver(&letter{text: r.words})
}
