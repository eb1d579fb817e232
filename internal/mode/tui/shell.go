package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/llm"
)

// maxShown is how much of the output of a command is kept for its card while it runs.
const maxShown = 64 << 10

// shell runs a person's own command: "!cmd", which the model reads, or "!!cmd", which
// it does not.
func (a *app) shell(text string) {
	line, private := strings.CutPrefix(text, "!!")
	if !private {
		line = strings.TrimPrefix(text, "!")
	}
	line = strings.TrimSpace(line)
	s := a.session
	switch {
	case line == "":
		return
	case s == nil || a.opening:
		a.waiting = append(a.waiting, text)
		if !a.opening {
			a.open(Wish{})
		}
		return
	case a.work.busy != "":
		a.giveBack(text)
		a.flash(a.work.busy + " is under way; " + a.keyFor("app.interrupt") + " stops it")
		return
	}
	b := &call{id: "!" + fmt.Sprint(len(a.talk.blocks)), card: ownCommand(line, private)}
	a.talk.add(b)
	shown := &tail{}
	a.beside("the command", func(ctx context.Context) (func(), error) {
		r, err := s.Run(ctx, line, private, func(chunk string) {
			if shown.add(chunk) {
				a.inbox.post(func() {
					b.update(func(c *card.Call) { c.Content = []llm.Block{llm.Text{Text: shown.take()}} })
				})
			}
		})
		finish := func() {
			out := r.Output
			if err != nil {
				out = err.Error()
			}
			if r.Cancelled {
				out = strings.TrimRight(out, "\n") + "\n(stopped)"
			}
			b.result(err != nil || r.ExitCode != 0, []llm.Block{llm.Text{Text: out}}, exitDetails(r.ExitCode))
			a.repo.Refresh()
		}
		return finish, nil
	})
}

// ownCommand is the card of a command of the person's.
func ownCommand(line string, private bool) card.Call {
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		args = nil // no text fails to be JSON
	}
	label := "You"
	if private {
		label = "You, for yourself"
	}
	return card.Call{Name: "bash", Label: label, Args: args}
}

func exitDetails(code int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"exitCode":%d}`, code))
}

// beside runs something that the person can stop, next to what the model does.
func (a *app) beside(what string, run func(ctx context.Context) (func(), error)) {
	if a.work.on {
		ctx, cancel := context.WithCancel(a.ctx)
		go func() {
			defer cancel()
			if done, _ := run(ctx); done != nil { // it says itself how it ended
				a.inbox.post(done)
			}
		}()
		return
	}
	a.ahead(what, run)
}
