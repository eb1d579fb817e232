package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/session"
)

// programCommands are about burin itself.
func programCommands() []command {
	return []command{
		{name: "setup", help: "keys, model and looks, step by step", run: (*app).openSetup},
		{name: "doctor", help: "look whether all sessions are sound", run: func(a *app, _ string) {
			a.runReport("looking at the sessions", "Doctor", "sessions", "doctor")
		}},
		{name: "import", args: "[path]", help: "sessions of other programs: which there are, or one", run: (*app).importSessions},
		{
			name: "debug", aliases: []string{"version"}, args: "[dump-next-request <file>]", help: "facts about burin and this terminal, for reports of faults", run: (*app).debug,
			complete: choices(dumpWord),
		},
		{name: "quit", aliases: []string{"exit", "q"}, help: "leave", run: func(a *app, _ string) { a.quit = true }},
	}
}

func (a *app) importSessions(path string) {
	what := "--from-all" // lists what there is
	if path != "" {
		what = a.absolute(path)
	}
	a.runReport("looking for sessions", "Import", "sessions", "import", what)
}

// runReport runs a command of the program and shows what it prints as a report.
func (a *app) runReport(what, title string, args ...string) {
	a.task(what, func(ctx context.Context) (func(), error) {
		out, err := a.o.Host.Command(ctx, args...)
		return func() { a.reportText(title, out) }, err
	})
}

// reportText shows plain text.
func (a *app) reportText(title, text string) {
	lines := textLines(text)
	a.reportLines(title, func(int, *theme.Styles) []styled.Line { return lines })
}

// textLines are the lines of plain text.
func textLines(text string) (lines []styled.Line) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		lines = append(lines, styled.Of(styled.Inline(strings.TrimRight(line, "\n")), theme.Text))
	}
	return lines
}

// absolute is a path as the person wrote it, from the folder of the session.
func (a *app) absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && a.o.Home != "" {
		return filepath.Join(a.o.Home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.o.Dir, path)
}

// openContext shows what fills the window.
func (a *app) openContext(string) {
	b := a.session.Breakdown()
	c := panel.Context{Window: b.Window, Reserve: b.Reserve, Note: "Estimates, scaled to what the vendor counted."}
	tools := panel.Part{Name: "tools", Detail: counted(len(b.Tools), "tool", "tools")}
	for _, s := range b.Tools {
		tools.Tokens += s.Tokens
		c.Largest = append(c.Largest, panel.Part{Name: "tool " + s.Name, Tokens: s.Tokens})
	}
	for _, s := range b.System {
		c.Parts = append(c.Parts, panel.Part{Name: shareName(s), Tokens: s.Tokens})
	}
	c.Parts = append(c.Parts, tools)
	for _, s := range b.Messages {
		c.Parts = append(c.Parts, panel.Part{Name: shareName(s), Tokens: s.Tokens, Detail: shareDetail(s)})
	}
	for _, big := range b.Largest {
		c.Largest = append(c.Largest, panel.Part{Name: string(big.Kind), Tokens: big.Tokens, Detail: big.Text})
	}
	var p pane.Pane
	p = panel.NewContext(a.env, c, func() { a.remove(p) })
	a.push(p)
}

// shareName says in words what a share is.
func shareName(s session.Share) string {
	switch s.Kind {
	case session.KindWords:
		return "instructions of burin"
	case session.KindFile:
		return s.Name
	case session.KindResult:
		return "output of " + s.Name
	case session.KindUser:
		return "your messages"
	case session.KindAssistant:
		return "answers"
	case session.KindCall:
		return "calls"
	case session.KindImage:
		return "pictures"
	case session.KindSummary:
		return "summaries"
	case session.KindPin:
		return "pinned words"
	case session.KindCustom:
		return "notes of burin"
	}
	return string(s.Kind)
}

func shareDetail(s session.Share) string {
	if s.Count > 1 {
		return thousands(s.Count) + " entries"
	}
	return ""
}

// openUsage shows what was spent.
func (a *app) openUsage(string) {
	a.task("adding up", func(ctx context.Context) (func(), error) {
		account, err := a.o.Host.Ledger()
		if err != nil {
			return nil, err
		}
		since := a.env.Now().AddDate(0, 0, -29)
		var tables []usage.Table
		for _, by := range []usage.By{usage.ByDay, usage.ByModel, usage.ByProject} {
			table, err := account.Report(ctx, usage.Query{Since: since, By: by})
			if err != nil {
				return nil, err
			}
			tables = append(tables, table)
		}
		return func() {
			a.reportLines("What was spent", func(width int, _ *theme.Styles) []styled.Line {
				return textLines(spent(tables, usage.Style{Width: width, Unicode: !a.show.screenReader, NoBars: a.show.screenReader}))
			})
		}, nil
	})
}

// spent is what was spent by day, by model and by project.
func spent(tables []usage.Table, s usage.Style) string {
	var text strings.Builder
	for i, name := range []string{"By day, the last 30 days", "By model", "By project"} {
		fmt.Fprintf(&text, "%s\n\n", name)
		if len(tables[i].Rows) == 0 {
			text.WriteString("nothing yet\n\n")
			continue
		}
		fmt.Fprintf(&text, "%s\n", tables[i].Text(s))
	}
	return text.String()
}

// sessionCommand shows facts about the session, or deletes it.
func (a *app) sessionCommand(what string) {
	switch what {
	case "", "info":
		a.sessionInfo()
	case "delete":
		if a.work.on || a.work.busy != "" {
			a.say(card.Warning, "The session is at work; "+a.keyFor(key.Interrupt)+" stops it.")
			return
		}
		a.dropSession("")
	default:
		a.say(card.Warning, "/session knows no "+oneLine(what)+": delete, or nothing for the facts")
	}
}

// sessionInfo shows facts about the session.
func (a *app) sessionInfo() {
	s := a.session
	st := s.Stats()
	path, ok := s.Path()
	if !ok {
		path = either(st.Requests == 0, "not kept yet: no answer has come", "not kept")
	}
	cost := st.Cost.String()
	if !st.Known {
		cost = "at least " + cost + ", the price of some requests is not known"
	}
	window := thousands(st.Context) + " tokens"
	if st.Window > 0 {
		window = thousands(st.Context) + " of " + thousands(st.Window) + " tokens"
	}
	a.reportFacts("This session", [][2]string{
		{"title", st.Title},
		{"id", s.Log().ID()},
		{"file", a.homePath(path)},
		{"folder", a.homePath(a.o.Dir)},
		{"model", st.Model},
		{"thinking", string(st.Thinking)},
		{"mode", s.Mode()},
		{"entries", thousands(st.Entries)},
		{"requests", thousands(st.Requests)},
		{"tokens", fmt.Sprintf("%s in, %s from the cache, %s out", thousands(st.Usage.Prompt()), thousands(st.Usage.CacheRead), thousands(st.Usage.Output))},
		{"cost", cost},
		{"window", window},
		{"cache", cacheWords(a.facts.cache)},
		{"goal", goalFact(s.Goal())},
	})
}

// reportFacts shows facts with their names in front; those without a word are left out.
func (a *app) reportFacts(title string, facts [][2]string) {
	const column = 10
	indent := styled.Of(strings.Repeat(" ", column), theme.Plain)
	a.reportLines(title, func(width int, _ *theme.Styles) (lines []styled.Line) {
		for _, f := range facts {
			if f[1] != "" {
				name := styled.Pad(styled.Of(f[0], theme.Muted), column, theme.Look{})
				lines = styled.Wrap(lines, styled.Of(styled.Inline(f[1]), theme.Text), width, name, indent)
			}
		}
		return lines
	})
}

// cacheWords say what the vendor's cache did for the last request.
func cacheWords(c *session.CacheInfo) string {
	switch {
	case c == nil || c.Read+c.Write+c.Fresh == 0:
		return ""
	case c.Missed != "":
		return fmt.Sprintf("%s tokens of the last request read, %s not; missed: %s", thousands(c.Read), thousands(c.Fresh), c.Missed)
	}
	return fmt.Sprintf("%s tokens of the last request read, %s written, %s neither", thousands(c.Read), thousands(c.Write), thousands(c.Fresh))
}

// thousands is a number with its digits in groups.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// chooseMode asks what runs without a question.
func (a *app) chooseMode() {
	s := a.session
	items := []list.Item{
		{ID: "plan", Label: "plan", Detail: "the model only looks; nothing is changed"},
		{ID: "ask", Label: "ask", Detail: "looking runs; changes and commands are asked about"},
		{ID: "auto-edit", Label: "auto-edit", Detail: "files of this folder are changed; commands are asked about"},
		{ID: "full", Label: "full", Detail: "everything runs but what is refused or dangerous"},
	}
	for i := range items {
		if items[i].ID == s.Mode() {
			items[i].Mark = a.env.Styles.Symbols().Done
		}
	}
	var p pane.Pane
	p = list.Choice(a.env, list.Options{
		Title: "What runs without a question?", Selected: s.Mode(), Items: items,
		OnChoose: func(id string) {
			a.remove(p)
			if a.still(s) {
				a.setMode(id)
			}
		},
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

// openPermissions shows the rules that hold; Enter takes one back.
func (a *app) openPermissions(string) {
	s := a.session
	rules := s.Permissions()
	if rules == nil {
		a.say(card.Info, "This session has no rules.")
		return
	}
	var items []list.Item
	for i, r := range rules.Rules() {
		item := list.Item{ID: fmt.Sprint(i), Label: r.Text, Detail: r.Words + a.dot() + r.Source, Group: r.Verdict + ", " + r.Scope, Dim: r.ID == ""}
		items = append(items, item)
	}
	var p *list.List
	p = list.New(a.env, list.Options{
		Title: "Permissions", Items: items, Empty: "There are no rules: everything but looking is asked about. An answer to such a question can make one.",
		Hint: "Enter takes a rule back",
		Preview: func(id string, width, height int) []string {
			return a.triedRows(rules, id, width, height)
		},
		OnChoose: func(id string) {
			r, ok := ruleAt(rules, id)
			if !ok {
				return
			}
			if r.ID == "" {
				a.flash("this rule stands in " + r.Source + " and is taken back there")
				return
			}
			a.confirm("Take this rule back?", r.Text+": "+r.Words, func() {
				if !a.still(s) {
					a.remove(p)
					return
				}
				if err := rules.Revoke(r.ID); err != nil {
					a.sayError(err)
				}
				a.remove(p)
				a.openPermissions("")
			})
		},
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

func ruleAt(rules session.Permissions, id string) (session.Rule, bool) {
	all := rules.Rules()
	for i := range all {
		if fmt.Sprint(i) == id {
			return all[i], true
		}
	}
	return session.Rule{}, false
}

// triedRows are a rule in words, and the calls of this session to which it makes a
// difference.
func (a *app) triedRows(rules session.Permissions, id string, width, height int) []string {
	r, ok := ruleAt(rules, id)
	if !ok {
		return nil
	}
	var rows []string
	for _, l := range styled.Wrap(nil, styled.Of(styled.Inline(r.Words), theme.Text), width, nil, nil) {
		rows = append(rows, a.line(l))
	}
	if !r.Expires.IsZero() {
		rows = append(rows, a.line(styled.Of("until "+r.Expires.Format("2 Jan 2006 15:04"), theme.Muted)))
	}
	tried, err := rules.Try(r.Text)
	if err != nil {
		return rows
	}
	if len(tried) == 0 {
		for _, l := range styled.Wrap(nil, styled.Of("No call of this session would have gone another way without it.", theme.Dim), width, nil, nil) {
			rows = append(rows, a.line(l))
		}
	}
	for _, t := range tried {
		if len(rows) >= height {
			break
		}
		rows = append(rows, a.cut(styled.Of(styled.Inline(t.Verdict+"  "+t.Tool+" "+t.Target), theme.Muted), width))
	}
	return rows
}

// openJobs shows what runs in the background.
func (a *app) openJobs(string) {
	s := a.session
	jobs := s.Jobs()
	var items []list.Item
	for _, j := range slices.Backward(jobs) {
		state := fmt.Sprint("exit ", j.ExitCode)
		switch {
		case j.Running:
			state = sinceWords(j.Started, a.env.Now())
		case j.ExitCode < 0:
			state = "stopped"
		}
		items = append(items, list.Item{ID: j.ID, Label: j.ID, Detail: state + "  " + j.Command})
	}
	var p *list.List
	p = list.New(a.env, list.Options{
		Title: "Background jobs", Items: items, Empty: "Nothing runs in the background. Commands that the model leaves running are listed here.", Hint: "Enter stops a job",
		Preview: func(id string, width, height int) []string {
			out, err := s.JobOutput(id)
			if err != nil {
				out = err.Error()
			}
			return a.tail(out, width, height)
		},
		OnChoose: func(id string) {
			i := slices.IndexFunc(jobs, func(j session.Job) bool { return j.ID == id })
			if !jobs[i].Running {
				a.flash("job " + id + " has ended")
				return
			}
			a.confirm("Stop this job?", jobs[i].Command, func() {
				a.remove(p)
				go func() { // it may take a moment to end
					if err := s.KillJob(id); err != nil {
						a.inbox.post(func() { a.sayError(err) })
					}
				}()
			})
		},
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

// tail is the end of a text.
func (a *app) tail(text string, width, height int) []string {
	lines := strings.Split(strings.TrimRight(styled.Output(text, 4), "\n"), "\n")
	lines = lines[max(0, len(lines)-height):]
	rows := make([]string, 0, len(lines))
	for _, l := range lines {
		rows = append(rows, a.cut(styled.Of(l, theme.ToolOutput), width))
	}
	return rows
}

// openUndo shows the turns that changed something, with what an undo would do.
func (a *app) openUndo(turn string) {
	changes := a.session.Changes()
	if changes == nil {
		a.say(card.Warning, "Nothing is kept to undo here.")
		return
	}
	if turn != "" {
		a.undoTurn(changes, turn)
		return
	}
	a.task("looking at what was changed", func(context.Context) (func(), error) {
		turns, err := changes.Turns()
		return func() { a.listTurns(changes, turns) }, err
	})
}

func (a *app) listTurns(changes session.Changes, turns []session.Turn) {
	var items []list.Item
	for _, t := range turns {
		what := counted(len(t.Paths), "path", "paths") + ", " + t.Time.Local().Format("2 Jan 15:04")
		if t.Undone {
			what += ", undone"
		}
		items = append(items, list.Item{ID: t.ID, Label: t.Label, Detail: what})
	}
	previews := map[string][]string{}
	var p *list.List
	p = list.New(a.env, list.Options{
		Title: "Undo", Items: items, Empty: "There is nothing to take back. What the model changes in this folder is listed here.", Hint: "Enter takes back what a turn changed, or brings it back",
		Preview: func(id string, width, height int) []string {
			words, ok := previews[id]
			if !ok {
				previews[id] = nil
				go func() {
					planned, err := changes.Preview(a.ctx, id)
					a.inbox.post(func() { previews[id] = undoWords(planned, err) })
				}()
			}
			var rows []string
			for _, w := range words[:min(len(words), height)] {
				rows = append(rows, a.cut(styled.Of(styled.Inline(w), theme.Muted), width))
			}
			return rows
		},
		OnChoose: func(id string) { a.remove(p); a.undoTurn(changes, id) },
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

func undoWords(planned []session.PlannedUndo, err error) []string {
	if err != nil {
		return []string{oneLine(err.Error())}
	}
	var words []string
	for _, u := range planned {
		words = append(words, strings.TrimSpace(u.Action+" "+u.Path+" "+u.Reason))
	}
	return words
}

func (a *app) undoTurn(changes session.Changes, turn string) {
	a.ahead("taking back", func(ctx context.Context) (func(), error) {
		done, err := changes.Undo(ctx, turn)
		return func() {
			a.notice(card.Info, "Restored: "+counted(len(done.Restored), "path", "paths")+".")
			for _, k := range done.Kept {
				a.notice(card.Warning, "Left as it is: "+k.Path+" "+k.Reason)
			}
			a.repo.Refresh()
		}, err
	})
}
