package tui

import (
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
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
	compact  func(instructions string) // condenses the conversation

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

// plan turns plan mode on or off, has the plan carried out, or asks for one.
func (pm *planMode) plan(args string) {
	switch planning := pm.session.Mode() == "plan"; {
	case args == "":
		pm.toggle()
	case args != "go" && args != "compact":
		if !planning {
			pm.toggle()
		}
		pm.outbox.prompt(args, steerNow)
	case !planning:
		pm.notice(card.Info, "Not in plan mode: /plan turns it on.")
	case pm.work.on || pm.work.busy != "":
		pm.notice(card.Warning, "/plan "+args+" must wait until the work is done; "+pm.keyFor(key.Interrupt)+" stops it.")
		pm.composer.refuse()
	default:
		pm.toggle()
		if args == "compact" {
			pm.compact("Pass on the newest plan whole, word for word: it is carried out next.")
		}
		pm.outbox.deliver(&letter{text: "Carry out the plan."})
	}
}

// hint says, once for each time in plan mode, how to go on from a plan.
func (pm *planMode) hint() {
	if pm.session.Mode() == "plan" && !pm.told {
		pm.told = true
		pm.notice(card.Info, "Plan mode: /plan go carries out the plan, /plan compact condenses the conversation first.")
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
