package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// pursuit are the commands about work that goes on over more than one answer.
type pursuit struct {
	*base
	*current
	composer *composer
	work     *work
	outbox   *outbox
}

// goal shows or changes the goal.
func (pu *pursuit) goal(args string) {
	g := pu.session.Goal()
	verb, rest, _ := strings.Cut(args, " ")
	rest = strings.TrimSpace(rest)
	alone := rest == ""
	if alone {
		switch verb { // as other programs call it
		case "status":
			verb = "show"
		case "clear":
			verb = "drop"
		}
	}
	switch {
	case verb == "" || verb == "show" && alone:
		pu.showGoal(g)
		return
	case verb == "set" && !alone:
		pu.newGoal(rest)
		return
	case verb != "pause" && verb != "resume" && verb != "drop" && verb != "budget" || verb != "budget" && !alone:
		pu.newGoal(args)
		return
	case g.Text == "":
		pu.notice(card.Info, "No goal yet: "+goalUsage)
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
			pu.notice(card.Warning, "A budget is an amount in dollars, or off: /goal budget 2.50")
			return
		}
		g.Budget = limit
	}
	if err := pu.session.SetGoal(g); err != nil {
		pu.sayError(err)
		return
	}
	switch {
	case verb == "drop":
		pu.notice(card.Info, "Goal dropped.")
	case verb == "budget":
		pu.showGoal(pu.session.Goal())
	case verb == "resume" && !pu.work.on:
		pu.outbox.deliver(&letter{text: "Continue with the goal: " + g.Text})
	}
}

// advisor shows or changes what the advisor does.
func (pu *pursuit) advisor(args string) {
	ctx, cancel := pu.session.brief()
	defer cancel()
	text, err := slash.Advisor(ctx, pu.session.Handle, args)
	if err != nil {
		pu.sayError(err)
		return
	}
	pu.notice(card.Info, text)
}

const goalUsage = "/goal all tests pass on main. The model then works until it is shown to be reached. List items are its criteria."

// newGoal sets a goal and begins with it.
func (pu *pursuit) newGoal(words string) {
	if err := pu.session.SetGoal(session.Goal{Text: words, State: session.GoalActive}); err != nil {
		pu.sayError(err)
		return
	}
	pu.outbox.prompt(words, steerNow)
}

// showGoal says how it stands, with what was found of its criteria.
func (pu *pursuit) showGoal(g session.Goal) {
	if g.Text == "" {
		pu.notice(card.Info, "No goal: "+goalUsage)
		return
	}
	pu.notice(card.Info, "The goal is "+goalFact(g)+criteriaFacts(g))
}

// goalFact says how a goal stands; "" if there is none.
func goalFact(g session.Goal) string {
	if g.Text == "" {
		return ""
	}
	words := fmt.Sprintf("%s: %s", g.State, prose.Short(g.Text, 200))
	if g.Budget > 0 || g.Spent > 0 {
		words += fmt.Sprintf(" · %s", g.Spent)
		if g.Budget > 0 {
			words += fmt.Sprintf(" of %s", g.Budget)
		}
		words += " spent"
	}
	return words
}

// criteriaFacts are the criteria of a goal, one a line, with what was found of them; "" before a
// check of a goal that is its only criterion.
func criteriaFacts(g session.Goal) string {
	if len(g.Criteria) == 1 && g.Criteria[0].State == "" {
		return ""
	}
	var b strings.Builder
	for _, c := range g.Criteria {
		state := "not checked"
		if c.State != "" {
			state = string(c.State)
		}
		fmt.Fprintf(&b, "\n%s: %s", state, prose.Short(c.Text, 200))
		if c.Evidence != "" {
			b.WriteString(" — " + c.Evidence)
		}
	}
	return b.String()
}

// notShown says which criteria a check did not find shown.
func notShown(criteria []session.Criterion) string {
	g := session.Goal{Criteria: criteria}
	var missing []string
	for _, c := range criteria {
		if c.State != session.CriterionShown {
			missing = append(missing, fmt.Sprintf("\n%s — %s", prose.Short(c.Text, 200), c.Evidence))
		}
	}
	return fmt.Sprintf("The goal is not reached yet, %d of %d shown. Missing:%s", g.Shown(), len(criteria), strings.Join(missing, ""))
}

// parseDollars reads an amount; "off" is none.
func parseDollars(text string) (llm.USD, error) {
	if text == "off" {
		return 0, nil
	}
	d, err := strconv.ParseFloat(strings.TrimPrefix(text, "$"), 64)
	if err != nil || !(d > 0 && d < 1e9) { // and no NaN
		return 0, errors.New("not an amount")
	}
	return llm.Dollars(d), nil
}

// criteriaOf are the criteria that a message about a goal carries.
func criteriaOf(m *llm.Message) (all []session.Criterion) {
	_ = json.Unmarshal(m.Details, &all) // what cannot be read says nothing
	return all
}

// goalCheck stands where the model was asked about the goal.
const goalCheck = "asked whether the goal is reached"

// onGoal tells what became of the goal by itself.
func (pu *pursuit) onGoal(g session.Goal) {
	switch {
	case g.State == session.GoalDone && g.Shown() > 0:
		pu.notice(card.Info, fmt.Sprintf("The goal is reached: %d of %d shown. /goal shows the evidence.", g.Shown(), len(g.Criteria)))
	case g.State == session.GoalDone:
		pu.notice(card.Info, "The model has nothing more to do for the goal: it is reached, or the model needs you. /goal resume continues.")
	case g.State == session.GoalPaused:
		pu.notice(card.Warning, "The goal is paused. /goal resume continues it.")
	}
}

// force sends a prompt whose first answer must call a tool.
func (pu *pursuit) force(args string) {
	name, words, _ := strings.Cut(args, " ")
	if words = strings.TrimSpace(words); words == "" {
		pu.notice(card.Info, "Name the tool and the prompt: /force grep where is the timeout set?")
		return
	}
	if err := pu.session.Force(name); err != nil {
		pu.notice(card.Warning, sentence(err.Error()))
		pu.composer.refuse()
		return
	}
	pu.outbox.prompt(words, steerNow)
}

// offeredTools proposes the tools that the model has.
func (pu *pursuit) offeredTools(arg string) []editor.Item {
	if pu.session == nil || strings.Contains(arg, " ") {
		return nil
	}
	var items []editor.Item
	for _, t := range pu.session.Tooling() {
		if t.Enabled && strings.HasPrefix(t.Name, arg) {
			items = append(items, editor.Item{Label: t.Name, Insert: t.Name + " "})
		}
	}
	return items
}
