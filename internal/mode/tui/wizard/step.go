package wizard

import (
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
)

// step is one of the steps, in order.
type step int

const (
	stepNone step = iota - 1
	stepQuick
	stepFound
	stepImport
	stepProvider
	stepModel
	stepSymbols
	stepTheme
	stepApproval
	stepEnd
)

// name is what a step is called in the first row.
func (s step) name() string {
	return [...]string{"Choose a model provider", "Found on this machine", "Import", "Keys and logins", "Model", "Signs", "Theme", "Permissions", "Done"}[s]
}

// applies says whether there is something to do in a step.
func (w *Wizard) applies(s step) bool {
	if w.o.Quick || s == stepQuick {
		return w.o.Quick && (s == stepQuick || s == stepEnd)
	}
	switch s {
	case stepFound:
		return w.o.Find != nil && (!w.looked || len(w.found) > 0)
	case stepImport:
		return len(w.found.importable()) > 0
	case stepProvider:
		return w.o.Providers != nil
	case stepModel:
		return w.o.Models != nil && w.o.SetModel != nil
	case stepSymbols:
		return w.o.Show != nil && w.o.SetSymbols != nil
	case stepTheme:
		return w.o.Show != nil && w.o.SetTheme != nil
	case stepApproval:
		return w.o.SetApproval != nil
	}
	return true
}

// next goes on to the next step.
func (w *Wizard) next() {
	s := w.step + 1
	for !w.applies(s) {
		s++
	}
	w.enter(s)
}

// before is the step before, or stepNone.
func (w *Wizard) before() step {
	s := w.step - 1
	for s >= 0 && !w.applies(s) {
		s--
	}
	return max(s, stepNone)
}

// back goes to the step before; from the first one there is no way back.
func (w *Wizard) back() {
	if s := w.before(); s >= 0 {
		w.note, w.jumped = "", false
		w.enter(s)
	}
}

// enter begins a step.
func (w *Wizard) enter(s step) {
	w.abandon()
	w.step, w.body, w.unchecked = s, nil, ""
	switch s {
	case stepQuick:
		w.quick.enter()
	case stepFound:
		w.enterFound()
	case stepImport:
		w.enterImport()
	case stepProvider:
		w.enterProvider()
	case stepModel:
		w.enterModel()
	case stepSymbols:
		w.enterSymbols()
	case stepTheme:
		w.enterTheme()
	case stepApproval:
		w.enterApproval()
	case stepEnd:
		if w.o.Quick {
			w.finish()
			return
		}
		w.enterEnd()
	}
}

// put shows a pane as the body.
func (w *Wizard) put(p pane.Pane) { w.body = p }

// skip leaves a step as if it had not been.
func (w *Wizard) skip() {
	w.unshow()
	w.note = ""
	w.next()
}

// jump goes to the end.
func (w *Wizard) jump() {
	w.unshow()
	w.jumped, w.note = true, ""
	w.enter(stepEnd)
}

func (w *Wizard) finish() {
	if w.ended {
		return
	}
	w.abandon()
	w.ended = true
	if w.o.OnDone != nil {
		w.o.OnDone(Result{Finished: !w.jumped, Ready: w.usable || ready(w.providers)})
	}
}

// Handle is [pane.Pane]'s.
func (w *Wizard) Handle(ev key.Event) {
	p, pressed := ev.(key.Press)
	if c, ok := ev.(key.Click); ok {
		ev = c.In(w.head)
	}
	if w.quick.hasty(ev) {
		return
	}
	switch busy := w.task != nil && !w.task.open; {
	case w.ended:
	case pressed && p.Key == "ctrl+c":
		w.interrupt()
	case busy:
		if a, ok := w.env.Keys.Lookup(key.Select, p.Key); pressed && ok && a == key.SelectCancel {
			w.giveUp()
		} else if p.Key == "tab" && !w.task.writes {
			w.skip()
		}
	case pressed && p.Key == "tab" && w.step != stepEnd:
		w.skip()
	case w.body != nil:
		w.body.Handle(ev)
	}
}

// interrupt is Ctrl+C.
func (w *Wizard) interrupt() {
	switch {
	case w.task != nil && w.task.writes && !w.stopped:
		w.giveUp()
	case w.step == stepEnd:
		w.finish()
	default:
		w.jump()
	}
}
