package wizard

import (
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// enterEnd shows what was done and what is missing. Providers are asked for again: keys
// may have come from an import, and who left early was never shown them.
func (w *Wizard) enterEnd() {
	if !w.failed {
		w.note = "" // what was done stands below
	}
	w.put(&page{env: w.env, lines: w.summary, onEnter: w.finish, onCancel: w.leaveEnd})
	if w.o.Providers != nil {
		w.start(task{what: "Checking what is missing", open: true, run: w.askProviders(func() {})})
	}
}

// leaveEnd is Esc at the end: to the step before, or, where there is none, out.
func (w *Wizard) leaveEnd() {
	if w.before() < 0 {
		w.finish()
		return
	}
	w.back()
}

// summary is what was done and what is missing, in this order.
func (w *Wizard) summary() []paragraph {
	sign := w.env.Styles.Symbols()
	var out []paragraph
	did := w.did[max(0, len(w.did)-maxDid):]
	for _, d := range did {
		out = append(out, paragraph{mark: sign.Bullets[0] + " ", text: d.text, token: theme.Muted})
	}
	if len(did) > 0 {
		out = append(out, paragraph{})
	}
	if w.o.Providers == nil || !w.known {
		return append(out, paragraph{text: "/setup opens this again; /settings lists every setting.", token: theme.Muted})
	}
	if ready(w.providers) {
		if w.o.Model == "" {
			out = append(out, paragraph{text: "burin picks a model by the keys you have; /model changes it.", token: theme.Muted})
		}
		return append(
			out, paragraph{mark: sign.Done + " ", text: "Ready. Ask anything.", token: theme.Success},
			paragraph{text: "/setup opens this again; /settings lists every setting.", token: theme.Muted},
		)
	}
	return append(
		out, paragraph{mark: sign.Failed + " ", text: "No model yet. One of these is enough:", token: theme.Warning},
		paragraph{mark: "  " + sign.Bullets[0] + " ", text: "an API key, such as one from " + keyPages["anthropic"] + ": type /login and paste it,", token: theme.Text},
		paragraph{mark: "  " + sign.Bullets[0] + " ", text: "a key in a variable such as ANTHROPIC_API_KEY, set before burin starts,", token: theme.Text},
		paragraph{mark: "  " + sign.Bullets[0] + " ", text: "a model on this machine: start Ollama or LM Studio, then type /model.", token: theme.Text},
	)
}

// maxDid is how many of the things that were done are shown; the oldest are not.
const maxDid = 30
