package tui

import (
	"context"
	"errors"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/question"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
)

// planMode is what runs without a question, and the way into plan mode and out of it.
type planMode struct {
	*base
	*current
	facts    *facts
	panes    *panes
	composer *composer
	work     *work
	outbox   *outbox
	review   *planReview

	before string // the mode that plan mode came after
	told   bool   // how to go on from a plan
}

// chooseMode asks what runs without a question.
func (pm *planMode) chooseMode() {
	s := pm.session
	items := []list.Item{
		{ID: "plan", Label: "plan", Detail: "look only; refuse every change"},
		{ID: "ask", Label: "ask", Detail: "look freely; ask about changes and commands"},
		{ID: "auto-edit", Label: "auto-edit", Detail: "also edit files in this folder; ask about commands"},
		{ID: "full", Label: "full", Detail: "run everything; ask about dangerous calls"},
	}
	for i := range items {
		if items[i].ID == s.Mode() {
			items[i].Mark = pm.env.Styles.Symbols().Done
		}
	}
	var p pane.Pane
	p = list.Choice(pm.env, list.Options{
		Title: "What runs without a question?", Selected: s.Mode(), Items: items,
		OnChoose: func(id string) {
			pm.panes.remove(p)
			if pm.still(s) {
				pm.setMode(id)
			}
		},
		OnCancel: func() { pm.panes.remove(p) },
	})
	pm.panes.push(p)
}

func (pm *planMode) mode(mode string) {
	if mode == "" {
		pm.chooseMode()
		return
	}
	pm.setMode(mode)
}

func (pm *planMode) setMode(mode string) {
	if err := pm.session.SetMode(mode); err != nil {
		pm.sayError(err)
		return
	}
	pm.chosen.Mode = mode
	pm.facts.read()
}

// plan turns plan mode on or off, shows the plan, has it carried out, or asks for one.
func (pm *planMode) plan(args string) {
	planning := pm.session.Mode() == "plan"
	switch args {
	case "":
		if planning && planOf(pm.session).State == session.PlanProposed {
			pm.reviewPlan()
			return
		}
		pm.toggle()
	case "off":
		if planning {
			pm.toggle()
		}
	case "show", "review":
		p := planOf(pm.session)
		switch {
		case p.Text == "":
			pm.notice(card.Info, "No plan yet: /plan and a prompt ask for one.")
		case args == "show":
			pm.panes.report(p.Heading(), p.Text)
		default:
			pm.reviewPlan()
		}
	case "go", "compact":
		pm.carryOut(planning, session.PlanApproval{Compact: args == "compact"})
	default:
		if !planning {
			pm.toggle()
		}
		pm.outbox.prompt(args, steerNow)
	}
}

// reviewPlan shows the plan that was handed over, and does what the person says.
func (pm *planMode) reviewPlan() {
	if pm.work.on || pm.work.busy != "" {
		pm.busy("review")
		return
	}
	s, plan := pm.session, planOf(pm.session)
	q := plan.Question("")
	var p pane.Pane
	p = pm.review.pane(&q, func(r session.Reply) {
		pm.panes.remove(p)
		a, approved := plan.Approval(r)
		switch {
		case !pm.still(s):
		case approved:
			pm.carryOut(true, a)
		case r.Dismissed:
			pm.composer.giveBack(a.Text) // what the person has edited is not lost
		case a.Note != "" || a.Text != "":
			if s.Mode() != "plan" {
				pm.toggle()
			}
			if a.Text != "" {
				a.Note = strings.TrimSpace(a.Note + "\n\nI edited the plan. It is now:\n\n" + a.Text)
			}
			pm.outbox.prompt(a.Note, steerNow)
		}
	})
	pm.panes.push(p)
}

func (pm *planMode) busy(args string) {
	pm.notice(card.Warning, "/plan "+args+" must wait until the work is done; "+pm.keyFor(key.Interrupt)+" stops it.")
	pm.composer.refuse()
}

// carryOut has the plan carried out: that which the model has handed over, else the one it has
// only written.
func (pm *planMode) carryOut(planning bool, a session.PlanApproval) {
	args := "go"
	if a.Compact {
		args = "compact"
	}
	s := pm.session
	switch {
	case pm.work.on || pm.work.busy != "":
		pm.busy(args)
	case planOf(s).Text != "":
		pm.work.task("approving the plan", func(ctx context.Context) (func(), error) {
			_, err := s.Conversation().ApprovePlan(ctx, a)
			return nil, err
		})
	case !planning:
		pm.notice(card.Info, "Not in plan mode: /plan turns it on.")
	case a.Compact:
		pm.work.task("condensing the conversation", func(ctx context.Context) (func(), error) {
			err := s.Conversation().Compact(ctx, "Pass on the newest plan whole, word for word: it is carried out next.")
			if errors.Is(err, compact.ErrNothing) {
				err = nil
			}
			return func() { pm.carryOut(true, session.PlanApproval{}) }, err
		})
	default:
		pm.toggle()
		pm.outbox.deliver(&letter{text: "Carry out the plan."})
	}
}

// hint says, once for each time in plan mode, how to go on from a plan.
func (pm *planMode) hint() {
	if pm.session.Mode() == "plan" && !pm.told {
		pm.told = true
		words := "/plan go carries it out, /plan compact condenses the conversation first."
		if planOf(pm.session).Text == "" {
			words = "once there is a plan, " + words
		} else {
			words = "/plan review shows the plan, " + words
		}
		pm.notice(card.Info, "Plan mode: "+words)
	}
}

// cycle goes to the next mode; full is not among them: nobody gets there by a key too many.
func (pm *planMode) cycle() {
	if pm.session == nil {
		return
	}
	switch pm.session.Mode() {
	case "ask":
		pm.setMode("auto-edit")
	case "auto-edit":
		pm.toggle()
	default:
		pm.setMode("ask")
	}
}

func (pm *planMode) toggle() {
	if pm.session == nil {
		return
	}
	mode := pm.session.Mode()
	if mode != "plan" {
		pm.before, pm.told = mode, false
		pm.setMode("plan")
		return
	}
	if pm.before == "" {
		pm.before = "ask"
	}
	pm.setMode(pm.before)
}

// planOrder stands where the model was told to carry out the plan.
const planOrder = "The plan is approved: the model carries it out."

// planReview shows plans to review.
type planReview struct {
	*base
	desktop  *desktop
	composer *composer
}

// pane shows the plan of a question, which the person can change in their own editor.
func (pr *planReview) pane(q *session.Question, reply func(session.Reply)) pane.Pane {
	text := q.Plan.Text
	var rows []string // as last drawn
	var drawn int
	var styles *theme.Styles
	return question.NewQuestions(pr.env, question.QuestionsOptions{
		Questions: q.Choices, Title: prose.Row(q.Title, 100), Own: "Say what to change", OnTyped: pr.composer.typedOn,
		Body: func(width int) []string {
			if rows == nil || drawn != width || styles != pr.env.Styles {
				drawn, styles = width, pr.env.Styles
				rows = markdown.Render(text, width, markdown.Options{Styles: styles, Links: pr.env.Links})
			}
			return rows
		},
		OnEdit: func() {
			edited, err := pr.desktop.outside(text)
			switch {
			case err != nil:
				pr.sayError(err)
			case strings.TrimSpace(edited) != "":
				text, rows = edited, nil
			}
		},
		OnDone: func(chosen []session.Chosen, err error) {
			reply(session.Reply{Choices: chosen, Text: text, Dismissed: err != nil})
		},
	})
}
