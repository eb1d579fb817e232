package tui

import (
	"context"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/rule"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/selector"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/quota"
	"github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// views are the commands about what is seen: pages to read, settings and colours.
type views struct {
	*base
	*current
	show     *appearance
	display  *display
	panes    *panes
	composer *composer
	work     *work
	models   *models
	commands *commands
	host     viewHost
	paths    config.Paths
	version  string
	changes  string // the change log
}

// viewHost is what they need of the program.
type viewHost interface {
	Models() (*connect.Models, error)
	Dump(path string, done func(error)) error
	Ledger() (*usage.Ledger, error)
	Rules() (set *rule.Set, warnings []string, err error)
	Skills() *skill.Set
	Own() slash.Own
}

func (vs *views) openHotkeys(string) {
	var p pane.Pane
	p = selector.Hotkeys(vs.env, keysFile(vs.show.folder), func() { vs.panes.remove(p) })
	vs.panes.push(p)
}

// openSkills lists the skills: where each is from, and what is wrong with some.
func (vs *views) openSkills(string) {
	go func() {
		set := vs.host.Skills()
		vs.inbox.post(func() {
			vs.panes.reportLines("Skills", func(width int, _ *theme.Styles) []styled.Line { return skillLines(set, width) })
		})
	}()
}

func skillLines(set *skill.Set, width int) []styled.Line {
	var out []styled.Line
	indent := styled.Line{{Text: "  "}}
	add := func(text string, color theme.Token) {
		out = styled.Wrap(out, styled.Of(prose.Inline(text), color), width, indent, indent)
	}
	for _, k := range set.List() {
		name := styled.Of(prose.Inline(k.Name), theme.Accent)
		note := ""
		switch {
		case k.Unlisted && k.Uncallable:
			note = ", switched off by its author"
		case k.Unlisted:
			note = ", only for you: /skill:" + k.Name
		case k.Uncallable:
			note = ", only for the model"
		}
		out = styled.Wrap(out, append(name, styled.Span{Text: "  " + k.Source + note, Look: theme.Look{Fg: theme.Muted}}), width, nil, indent)
		add(k.Description, theme.Text)
		if !k.Bundled() {
			add(k.Path, theme.Muted)
		}
	}
	if out == nil {
		out = append(out, styled.Of("No skills found.", theme.Muted))
	}
	for _, k := range set.Shadowed() {
		add(k.Path+": not used, "+k.ShadowedBy+" has the same name", theme.Muted)
	}
	for _, w := range set.Warnings() {
		add(w, theme.Warning)
	}
	return out
}

// openHistory shows earlier prompts.
func (vs *views) openHistory(query string) {
	var p pane.Pane
	p = selector.NewPrompts(vs.env, selector.PromptOptions{
		Search: vs.composer.history.Search, Dir: vs.dir, Query: query,
		OnChoose: func(text string) {
			vs.panes.remove(p)
			if err := vs.composer.editor.SetText(text); err != nil {
				vs.notice(card.Warning, err.Error())
			}
		},
		OnCancel: func() { vs.panes.remove(p) },
	})
	vs.panes.push(p)
}

// openThemes shows the themes, each as it looks.
func (vs *views) openThemes(name string) {
	use := func(t *theme.Theme) {
		if vs.show.colorBlind {
			t = t.ColorBlind()
		}
		vs.show.useTheme(t)
	}
	keep := func(t *theme.Theme) {
		use(t)
		which := "theme.dark"
		if vs.show.onLight {
			which = "theme.light"
			vs.show.light = t.Name
		} else {
			vs.show.dark = t.Name
		}
		vs.show.set(which, t.Name)
	}
	if name != "" {
		t, ok := theme.Builtin(name)
		if !ok {
			var err error
			if t, err = theme.Load(vs.show.themeDir(), name); err != nil {
				vs.sayError(err)
				return
			}
		}
		keep(t)
		return
	}
	current := vs.show.dark
	if vs.show.onLight {
		current = vs.show.light
	}
	var p pane.Pane
	p = selector.Themes(vs.env, selector.ThemeOptions{
		Current: current, Dir: vs.show.themeDir(), OnMove: use,
		OnChoose: func(t *theme.Theme) { vs.panes.remove(p); keep(t) },
		OnCancel: func() { vs.panes.remove(p) },
	})
	vs.panes.push(p)
}

func toolRows(states []session.ToolState) []selector.Tool {
	var rows []selector.Tool
	for _, t := range states {
		rows = append(rows, selector.Tool{
			Tool:   &tool.Tool{Name: t.Name, Label: t.Label, Description: t.Description, Effects: t.Effects},
			Tokens: t.Tokens, On: t.Enabled,
		})
	}
	return rows
}

// openContext shows what fills the window.
func (vs *views) openContext(string) {
	b := vs.session.Breakdown()
	c := panel.Context{Window: b.Window, Reserve: b.Reserve, Note: "Estimates, scaled to the provider's count."}
	tools := panel.Part{Name: "tools", Detail: prose.Count(len(b.Tools), "tool")}
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
	p = panel.NewContext(vs.env, c, func() { vs.panes.remove(p) })
	vs.panes.push(p)
}

// openRules lists the rules for the model, by where they come from.
func (vs *views) openRules(string) {
	vs.work.task("looking for rules", func(context.Context) (func(), error) {
		set, warnings, err := vs.host.Rules()
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		b.WriteString(set.Count() + "\n")
		for _, g := range set.Groups() {
			b.WriteString("\n" + g.Source + "\n")
			for _, r := range g.Rules {
				b.WriteString("  " + r + "\n")
			}
		}
		if len(warnings) > 0 {
			b.WriteString("\nProblems\n")
		}
		for _, w := range warnings {
			b.WriteString("  " + prose.Inline(w) + "\n")
		}
		return func() {
			vs.panes.reportLines("Rules", func(int, *theme.Styles) []styled.Line { return textLines(b.String()) })
		}, nil
	})
}

// memory shows and changes what burin remembers.
func (vs *views) memory(arg string) {
	remember := func() {
		vs.work.task("looking at the memory", func(ctx context.Context) (func(), error) {
			text, err := vs.host.Own().Memory(ctx, arg)
			return func() {
				if strings.Contains(text, "\n") {
					vs.panes.reportText("Memory", text)
				} else {
					vs.notice(card.Info, text)
				}
			}, err
		})
	}
	if word, _, _ := strings.Cut(arg, " "); word == "clear" || word == "reset" {
		vs.panes.confirm("Clear the memory?", "What burin remembers is deleted, old versions too. Sessions stay.", remember)
		return
	}
	remember()
}

// commit shows commits for the changes and makes them once the person says yes, or takes back those
// that were made last.
func (vs *views) commit(arg string) {
	model := vs.session.Facts().Stats.Model
	call := func(what, arg string, done func(text string)) {
		vs.work.task(what, func(ctx context.Context) (func(), error) {
			text, err := vs.host.Own().Commit(ctx, model, arg)
			return func() { done(text) }, err
		})
	}
	show := func(text string) { vs.panes.report("Commits", text) }
	if arg == "undo" || arg == "yes" || arg == "no" {
		call("changing the commits", arg, show)
		return
	}
	call("dividing the changes", arg, func(text string) {
		text, _, _ = strings.Cut(text, "\n\n/commit yes") // the question says it
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, "```") {
				lines = append(lines, line)
			}
		}
		vs.panes.confirm("Make these commits?", strings.Join(lines, "\n"), func() { call("committing", "yes", show) })
	})
}

// review has agents review changes. What they find is part of the conversation.
func (vs *views) review(arg string) {
	s := vs.session
	vs.work.task("reviewing", func(ctx context.Context) (func(), error) {
		_, err := vs.host.Own().Review(ctx, s, arg)
		return func() {}, err
	})
}

// openCost shows what was spent.
func (vs *views) openCost(string) { vs.openSpent("adding up", "What was spent", nil) }

// openUsage shows what the providers say of plans and limits, and what was spent.
func (vs *views) openUsage(string) {
	vs.openSpent("asking the providers", "Usage", func(ctx context.Context) (string, error) {
		models, err := vs.host.Models()
		if err != nil {
			return "", err
		}
		limits := "Your providers tell no limits, or none yet.\n"
		if reports := models.Limits(ctx); len(reports) > 0 {
			limits = quota.Text(reports, vs.env.Now())
		}
		return "Plans and limits\n\n" + limits + "\n", nil
	})
}

// openSpent shows what was spent, below what before gives if it is not nil.
func (vs *views) openSpent(doing, title string, before func(context.Context) (string, error)) {
	vs.work.task(doing, func(ctx context.Context) (func(), error) {
		head := ""
		if before != nil {
			var err error
			if head, err = before(ctx); err != nil {
				return nil, err
			}
		}
		account, err := vs.host.Ledger()
		if err != nil {
			return nil, err
		}
		since := vs.env.Now().AddDate(0, 0, -29)
		var tables []usage.Table
		for _, by := range []usage.By{usage.ByDay, usage.ByModel, usage.ByProject} {
			table, err := account.Report(ctx, usage.Query{Since: since, By: by})
			if err != nil {
				return nil, err
			}
			tables = append(tables, table)
		}
		return func() {
			vs.panes.reportLines(title, func(width int, _ *theme.Styles) []styled.Line {
				return textLines(head + spent(tables, usage.Style{Width: width, Unicode: !vs.show.screenReader, NoBars: vs.show.screenReader}))
			})
		}, nil
	})
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
		return "pins"
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
