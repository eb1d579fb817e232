package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/selector"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/change"
	"github.com/burin-dev/burin/tool/permit"
)

// tasks are the commands about what the model does, and has done.
type tasks struct {
	*base
	*current
	facts   *facts
	panes   *panes
	desktop *desktop
	work    *work
	outbox  *outbox
}

// openPermissions shows the rules that hold; Enter takes one back.
func (ts *tasks) openPermissions(string) {
	s := ts.session
	rules := s.Permissions()
	if rules == nil {
		ts.notice(card.Info, "This session has no rules.")
		return
	}
	var items []list.Item
	for i, r := range s.Rules() {
		item := list.Item{ID: fmt.Sprint(i), Label: r.String(), Detail: r.Meaning() + ts.dot() + r.Source, Group: string(r.Verdict) + ", " + string(r.Scope), Dim: r.ID == ""}
		items = append(items, item)
	}
	var p *list.List
	p = list.New(ts.env, list.Options{
		Title: "Permissions", Items: items, Empty: "No rules: burin asks about everything but looking. An answer to a question can add one.",
		Hint: "Enter revokes a rule",
		Preview: func(id string, width, height int) []string {
			return ts.triedRows(s, id, width, height)
		},
		OnChoose: func(id string) {
			r, ok := ruleAt(s, id)
			if !ok {
				return
			}
			if r.ID == "" {
				ts.flash("this rule is in " + r.Source + ": remove it there")
				return
			}
			ts.panes.confirm("Revoke this rule?", r.String()+": "+r.Meaning(), func() {
				if !ts.still(s) {
					ts.panes.remove(p)
					return
				}
				if err := rules.Revoke(ts.ctx, r.ID); err != nil {
					ts.sayError(err)
				}
				ts.panes.remove(p)
				ts.openPermissions("")
			})
		},
		OnCancel: func() { ts.panes.remove(p) },
	})
	ts.panes.push(p)
}

// triedRows are a rule in words, and the calls of this session to which it makes a
// difference.
func (ts *tasks) triedRows(s *opened, id string, width, height int) []string {
	r, ok := ruleAt(s, id)
	if !ok {
		return nil
	}
	var rows []string
	for _, l := range styled.Wrap(nil, styled.Of(prose.Inline(r.Meaning()), theme.Text), width, nil, nil) {
		rows = append(rows, ts.line(l))
	}
	if !r.Expires.IsZero() {
		rows = append(rows, ts.line(styled.Of("until "+r.Expires.Format("2 Jan 2006 15:04"), theme.Muted)))
	}
	tried, err := s.Permissions().Try(ts.ctx, r.String())
	if err != nil {
		return rows
	}
	if len(tried) == 0 {
		for _, l := range styled.Wrap(nil, styled.Of("Revoking it changes no call of this session.", theme.Dim), width, nil, nil) {
			rows = append(rows, ts.line(l))
		}
	}
	for _, t := range tried {
		if len(rows) >= height {
			break
		}
		rows = append(rows, ts.cut(styled.Of(prose.Inline(string(t.Decision.Verdict)+"  "+t.Tool+" "+t.Target), theme.Muted), width))
	}
	return rows
}

// openJobs shows what runs in the background.
func (ts *tasks) openJobs(string) {
	s := ts.session
	jobs := s.Background()
	var items []list.Item
	for _, j := range slices.Backward(jobs) {
		state := fmt.Sprint("exit ", j.ExitCode)
		switch {
		case j.Running:
			state = sinceWords(j.Started, ts.env.Now())
		case j.ExitCode < 0:
			state = "stopped"
		}
		about := j.Command
		if j.Agent != "" {
			about = j.Agent + ": " + about
			if !j.Running {
				state = agentEnd(j.ExitCode)
			}
		}
		items = append(items, list.Item{ID: j.ID, Label: j.ID, Detail: state + "  " + about})
	}
	var p *list.List
	p = list.New(ts.env, list.Options{
		Title: "Background jobs", Items: items, Empty: "Nothing runs in the background. Commands and agents that the model leaves running are listed here.", Hint: "Enter stops a job",
		Preview: func(id string, width, height int) []string {
			out, err := s.Jobs().Output(ts.ctx, id)
			if err != nil {
				out = err.Error()
			}
			return ts.tail(out, width, height)
		},
		OnChoose: func(id string) {
			i := slices.IndexFunc(jobs, func(j session.Job) bool { return j.ID == id })
			if !jobs[i].Running {
				ts.flash("job " + id + " has ended")
				return
			}
			ts.panes.confirm("Stop this job?", jobs[i].Command, func() {
				ts.panes.remove(p)
				go func() { // it may take a moment to end
					if err := s.Jobs().Kill(ts.ctx, id); err != nil {
						ts.inbox.post(func() { ts.sayError(err) })
					}
				}()
			})
		},
		OnCancel: func() { ts.panes.remove(p) },
	})
	ts.panes.push(p)
}

// agentEnd says how an agent ended that is a job.
func agentEnd(code int) string {
	switch {
	case code < 0:
		return "stopped"
	case code > 0:
		return "failed"
	}
	return "done"
}

// tail is the end of a text.
func (ts *tasks) tail(text string, width, height int) []string {
	lines := strings.Split(strings.TrimRight(styled.Output(text, 4), "\n"), "\n")
	lines = lines[max(0, len(lines)-height):]
	rows := make([]string, 0, len(lines))
	for _, l := range lines {
		rows = append(rows, ts.cut(styled.Of(l, theme.ToolOutput), width))
	}
	return rows
}

// openUndo shows the turns that changed something, with what an undo would do.
func (ts *tasks) openUndo(turn string) {
	changes := ts.session.Changes()
	if changes == nil {
		ts.notice(card.Warning, "Nothing to undo here.")
		return
	}
	if turn != "" {
		ts.undoTurn(changes, turn)
		return
	}
	ts.work.task("reading the changes", func(ctx context.Context) (func(), error) {
		turns, err := changes.Turns(ctx)
		return func() { ts.listTurns(changes, turns) }, err
	})
}

func (ts *tasks) listTurns(changes session.Changes, turns []change.Turn) {
	var items []list.Item
	for _, t := range turns {
		what := prose.Count(len(t.Paths), "path") + ", " + t.Time.Local().Format("2 Jan 15:04")
		if t.Undone {
			what += ", undone"
		}
		items = append(items, list.Item{ID: t.ID, Label: t.Label, Detail: what})
	}
	previews := map[string][]string{}
	var p *list.List
	p = list.New(ts.env, list.Options{
		Title: "Undo", Items: items, Empty: "Nothing to undo. Changes that the model makes in this folder are listed here.", Hint: "Enter undoes what a turn changed, or redoes it",
		Preview: func(id string, width, height int) []string {
			words, ok := previews[id]
			if !ok {
				previews[id] = nil
				go func() {
					planned, err := changes.Preview(ts.ctx, id)
					ts.inbox.post(func() { previews[id] = undoWords(planned, err) })
				}()
			}
			var rows []string
			for _, w := range words[:min(len(words), height)] {
				rows = append(rows, ts.cut(styled.Of(prose.Inline(w), theme.Muted), width))
			}
			return rows
		},
		OnChoose: func(id string) { ts.panes.remove(p); ts.undoTurn(changes, id) },
		OnCancel: func() { ts.panes.remove(p) },
	})
	ts.panes.push(p)
}

func (ts *tasks) undoTurn(changes session.Changes, turn string) {
	ts.work.ahead("undoing", func(ctx context.Context) (func(), error) {
		done, err := changes.Undo(ctx, turn)
		return func() {
			ts.notice(card.Info, "Restored: "+prose.Count(len(done.Restored), "path")+".")
			for _, k := range done.Kept {
				ts.notice(card.Warning, "Unchanged: "+k.Path+" "+k.Reason)
			}
			ts.facts.repo.Refresh()
		}, err
	})
}

func (ts *tasks) retry(string) {
	ts.work.resend()
}

// aside asks beside the conversation; the answer is shown and kept nowhere.
func (ts *tasks) aside(question string) {
	if question == "" {
		ts.notice(card.Info, "Add a question: /btw what does this flag mean?")
		return
	}
	s := ts.session
	ts.work.task("asking a side question", func(ctx context.Context) (func(), error) {
		answer, err := s.Conversation().Aside(ctx, question, nil)
		if err == nil && strings.TrimSpace(answer) == "" {
			err = errors.New("the model had nothing to say")
		}
		return func() { ts.panes.report("By the way: "+prose.Line(question), answer) }, err
	})
}

// openTools shows which tools the model has.
func (ts *tasks) openTools(string) {
	s := ts.session
	var p pane.Pane
	states := s.Tooling()
	p = selector.Tools(ts.env, selector.ToolOptions{
		Tools: toolRows(states),
		OnToggle: func(name string, on bool) {
			for i := range states {
				if states[i].Name == name {
					states[i].Enabled = on
				}
			}
			var names []string
			for _, t := range states {
				if t.Enabled {
					names = append(names, t.Name)
				}
			}
			if err := s.Offer(names); err != nil {
				ts.sayError(err)
			}
		},
		OnCancel: func() { ts.panes.remove(p) },
	})
	ts.panes.push(p)
}

func ruleAt(s *opened, id string) (permit.Rule, bool) {
	all := s.Rules()
	for i := range all {
		if fmt.Sprint(i) == id {
			return all[i], true
		}
	}
	return permit.Rule{}, false
}

func undoWords(planned []change.Planned, err error) []string {
	if err != nil {
		return []string{prose.Line(err.Error())}
	}
	var words []string
	for _, u := range planned {
		words = append(words, strings.TrimSpace(string(u.Action)+" "+u.Path+" "+u.Reason))
	}
	return words
}
