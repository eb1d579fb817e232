package tui

import (
	"context"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/selector"
	"github.com/burin-dev/burin/internal/mode/tui/sessions"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/tree"
	"github.com/burin-dev/burin/internal/mode/tui/viewer"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
)

// viewCommands are about what is seen.
func viewCommands() []command {
	return []command{
		{name: "help", aliases: []string{"commands", "?"}, help: "all commands", run: (*app).openHelp},
		{name: "changelog", aliases: []string{"whatsnew"}, help: "what changed in burin, newest first", run: (*app).openChangelog},
		{name: "hotkeys", aliases: []string{"keys", "keybindings"}, help: "all keys", run: (*app).openHotkeys},
		{name: "history", args: "[words]", help: "search earlier prompts", run: (*app).openHistory},
		{name: "settings", aliases: []string{"config"}, args: "[words]", help: "all settings", run: (*app).openSettings},
		{name: "theme", args: "[name]", help: "choose the colours", run: (*app).openThemes},
	}
}

func (a *app) openHotkeys(string) {
	var p pane.Pane
	p = selector.Hotkeys(a.env, func() { a.remove(p) })
	a.push(p)
}

// openHistory shows earlier prompts.
func (a *app) openHistory(query string) {
	var p pane.Pane
	p = selector.NewPrompts(a.env, selector.PromptOptions{
		Search: a.history.Search, Dir: a.o.Dir, Query: query,
		OnChoose: func(text string) {
			a.remove(p)
			if err := a.editor.SetText(text); err != nil {
				a.say(card.Warning, err.Error())
			}
		},
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

// openThemes shows the themes, each as it looks.
func (a *app) openThemes(name string) {
	use := func(t *theme.Theme) {
		if a.show.colorBlind {
			t = t.ColorBlind()
		}
		a.useTheme(t)
	}
	keep := func(t *theme.Theme) {
		use(t)
		which := "theme.dark"
		if a.show.onLight {
			which = "theme.light"
			a.show.light = t.Name
		} else {
			a.show.dark = t.Name
		}
		a.set(which, t.Name)
	}
	if name != "" {
		t, ok := theme.Builtin(name)
		if !ok {
			var err error
			if t, err = theme.Load(a.themeDir(), name); err != nil {
				a.sayError(err)
				return
			}
		}
		keep(t)
		return
	}
	current := a.show.dark
	if a.show.onLight {
		current = a.show.light
	}
	var p pane.Pane
	p = selector.Themes(a.env, selector.ThemeOptions{
		Current: current, Dir: a.themeDir(), OnMove: use,
		OnChoose: func(t *theme.Theme) { a.remove(p); keep(t) },
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

// openViewer shows the whole conversation.
func (a *app) openViewer(string) {
	var v *viewer.Viewer
	v = viewer.New(a.env, viewer.Options{
		Log: a.session.Log(), Labels: a.talk.labels, Busy: func() bool { return a.work.on },
		OnCopy:  func(text string) { a.copy(text, "it") },
		OnClose: func() { v.Close(); a.remove(v); a.viewer = nil },
	})
	a.viewer = v
	a.push(v)
}

// openTree shows the branches of the session.
func (a *app) openTree(string) {
	s := a.session
	var t *tree.Tree
	t = tree.New(a.env, tree.Options{
		Log: s.Log(), Filter: tree.Filter(a.show.treeFilter), AskSummary: a.show.branchSummary,
		OnSelect: func(id string, o session.Navigation) {
			t.Close()
			a.remove(t)
			if a.still(s) {
				a.navigate(id, o)
			}
		},
		OnLabel: func(id, label string) {
			if err := s.SetLabel(id, label); err != nil {
				a.sayError(err)
			}
			t.Refresh()
		},
		OnCancel: func() { t.Close(); a.remove(t) },
	})
	a.push(t)
}

// navigate moves in the tree. What runs is stopped first.
func (a *app) navigate(id string, o session.Navigation) {
	if a.work.on {
		a.stop()
		a.say(card.Warning, "The work was stopped; choose the point once more.")
		return
	}
	what := "moving"
	if o.Summarize {
		what = "summarising the branch that is left"
	}
	s := a.session
	a.ahead(what, func(ctx context.Context) (func(), error) {
		words, err := s.Navigate(ctx, id, o)
		return func() { a.giveBack(words) }, err
	})
}

// branch begins a session of its own from an earlier prompt.
func (a *app) branch(string) {
	s := a.session
	var t *tree.Tree
	t = tree.New(a.env, tree.Options{
		Log: s.Log(), Filter: tree.Users,
		OnSelect: func(id string, _ session.Navigation) {
			t.Close()
			a.remove(t)
			if !a.still(s) {
				return
			}
			e, err := s.Log().Entry(id)
			if err != nil {
				a.sayError(err)
				return
			}
			words, from := "", id
			if e.Type == transcript.TypeMessage && e.Message != nil && e.Message.Role == llm.RoleUser {
				words, from = e.Message.Text(), ""
				if e.ParentID != nil {
					from = *e.ParentID
				}
			}
			if from == "" { // before the first prompt there is nothing to copy
				a.giveBack(words)
				a.open(Wish{})
				return
			}
			a.goOnInCopy(from, words)
		},
		OnCancel: func() { t.Close(); a.remove(t) },
	})
	a.push(t)
}

// resume shows the sessions, those that fit the words first.
func (a *app) resume(words string) {
	current, here := "", a.session
	if here != nil {
		current, _ = here.Path()
	}
	var p *sessions.Selector
	p = sessions.New(a.env, sessions.Options{
		Root: a.o.Host.Sessions(), Index: a.o.Host.Index(), CWD: a.o.Dir, Folder: a.homePath, Current: current,
		OnOpen: func(info index.Info) {
			p.Close()
			a.remove(p)
			if info.CWD != "" && info.CWD != a.o.Dir {
				a.otherFolder(info)
				return
			}
			a.open(Wish{Resume: info.Path})
		},
		OnDelete: func(info index.Info) error {
			_, err := a.o.Host.Command(a.ctx, "sessions", "delete", "--yes", info.Path)
			return err
		},
		OnRename: func(info index.Info, title string) error {
			if here != nil && info.ID == here.Log().ID() {
				here.SetTitle(title)
				return nil
			}
			return transcript.Rename(info.Path, title)
		},
		OnCancel: func() { p.Close(); a.remove(p); a.beginIfNone() },
	})
	a.push(p)
	a.searchFor(p, words)
}

// otherFolder offers a copy of a session that belongs to another folder.
func (a *app) otherFolder(info index.Info) {
	a.confirm("Copy this session into this folder?", "It belongs to "+a.homePath(info.CWD)+". Its files are not here.", func() {
		a.task("copying the session", func(ctx context.Context) (func(), error) {
			copied, err := a.o.Host.Copy(ctx, info.Path, "")
			return func() { a.open(Wish{Resume: copied}) }, err
		})
	})
}

// openTools shows which tools the model has.
func (a *app) openTools(string) {
	s := a.session
	var p pane.Pane
	states := s.Tools()
	p = selector.Tools(a.env, selector.ToolOptions{
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
			if err := s.SetTools(names); err != nil {
				a.sayError(err)
			}
		},
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
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
