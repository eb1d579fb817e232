package wizard

import (
	"context"
	"errors"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
)

// login logs in to a provider, and shows meanwhile where to go.
func (a access) login(id string) {
	w := a.w
	w.note = ""
	var notice *oauth.Notice
	p := &page{env: w.env}
	p.lines = func() []paragraph { return loginLines(id, notice, w.env.Links) }
	w.put(p)
	ui := oauth.UI{
		Show: func(n oauth.Notice) { w.env.Post(func() { notice = &n }) },
		Paste: func(ctx context.Context, problem string) (string, error) {
			answer := make(chan string, 1)
			w.env.Post(func() { a.askAddress(p, problem, answer) })
			select {
			case s := <-answer:
				return s, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
	}
	p.onCancel = func() {
		w.abandon()
		a.backFromKey()
	}
	w.start(task{what: "Waiting for the login", open: true, run: func(ctx context.Context) func() {
		err := w.o.Login(ctx, id, ui)
		return func() {
			switch {
			case err == nil:
				w.done("Logged in to " + id + ".")
			case errors.Is(err, context.Canceled):
				a.backFromKey()
			default:
				w.say(brief(err), true)
				a.backFromKey()
			}
		}
	}})
}

// loginLines are what to do.
func loginLines(id string, n *oauth.Notice, links bool) []paragraph {
	if n == nil {
		return []paragraph{{text: "Starting the login to " + id + ".", token: theme.Muted}}
	}
	address := paragraph{text: n.URL, token: theme.MdLink}
	if links && !strings.ContainsFunc(n.URL, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		address.link = n.URL
	}
	lines := []paragraph{{text: "Log in to " + id + " in your browser. If it has not opened, go to:", token: theme.Text}, address}
	if n.UserCode != "" {
		lines = append(lines, paragraph{}, paragraph{text: "and enter this code: " + n.UserCode, token: theme.Accent})
	}
	return lines
}

// askAddress asks for the address at which the browser ended, for those whose browser
// is on another machine.
func (a access) askAddress(p *page, problem string, answer chan<- string) {
	w := a.w
	in := list.NewInput(w.env, list.InputOptions{
		Title:    "Browser elsewhere? Paste the address where it ended:",
		OnCancel: func() { p.onCancel() },
		OnDone: func(text string) {
			if text = strings.TrimSpace(text); text == "" {
				return
			}
			select {
			case answer <- text:
			default: // it was answered
			}
		},
	})
	in.SetProblem(problem)
	p.below = in
}
