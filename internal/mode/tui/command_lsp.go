package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// openLanguages shows the language servers of the session with the ends of their logs; Enter
// restarts one.
func openLanguages(ts *tasks) {
	s := ts.session
	ts.work.task("asking the language servers", func(ctx context.Context) (func(), error) {
		all, err := s.Languages().List(ctx)
		return func() {
			if ts.still(s) {
				listLanguages(ts, all)
			}
		}, err
	})
}

func listLanguages(ts *tasks, all []session.LanguageServer) {
	s := ts.session
	var items []list.Item
	for i := range all {
		items = append(items, list.Item{ID: all[i].ID, Label: all[i].ID, Detail: languageState(&all[i], ts.dot())})
	}
	var p *list.List
	p = list.New(ts.env, list.Options{
		Title: "Language servers", Items: items, Empty: "No language servers for this folder. burin lsp lists those that could be used, docs/lsp.md says how to get them.",
		Hint: "Enter restarts a server",
		Preview: func(id string, width, height int) []string {
			log, err := s.Languages().Log(ts.ctx, id)
			if err != nil {
				log = err.Error()
			}
			return ts.tail(cmp.Or(log, "Its log is empty."), width, height)
		},
		OnChoose: func(id string) {
			ts.panes.remove(p)
			ts.work.task("ending "+prose.Inline(id), func(ctx context.Context) (func(), error) {
				err := s.Languages().Restart(ctx, id)
				return func() { ts.flash(prose.Inline(id) + " ended: it starts with the next edit or request") }, err
			})
		},
		OnCancel: func() { ts.panes.remove(p) },
	})
	ts.panes.push(p)
}

// languageState says in a line how a server is.
func languageState(s *session.LanguageServer, dot string) string {
	parts := []string{s.State}
	if s.Memory > 0 {
		parts = append(parts, fmt.Sprintf("%d MB", (s.Memory+1<<19)>>20))
	}
	if s.Errors > 0 {
		parts = append(parts, prose.Count(s.Errors, "error"))
	}
	if s.Starts > 1 && s.State != "on call" {
		parts = append(parts, fmt.Sprintf("started %d times", s.Starts))
	}
	if s.Error != "" {
		parts = append(parts, s.Error)
	}
	return strings.Join(append(parts, s.Work...), dot)
}
