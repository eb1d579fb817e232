package tui

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/clipboard"
	"github.com/burin-dev/burin/internal/mode/tui/complete"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/history"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// composer is where the person writes: the editor, what it proposes, the prompts that were
// sent before, and the pictures that go with the next one.
type composer struct {
	*base
	desktop   *desktop
	editor    *editor.Editor
	history   *history.History
	completer *complete.Completer
	attached  []llm.Block // pictures that go with the next prompt
	unsent    *unsent
	// elsewhere takes what was typed into what stands behind a question instead of the prompt.
	elsewhere func(ev key.Event) bool
	calling   string // the command that is being called, for who must refuse it
}

func newComposer(b *base, desktop *desktop, o *Options) *composer {
	c := &composer{base: b, desktop: desktop}
	c.unsent = &unsent{base: b, state: o.Paths.State, hide: o.Hide, text: func() string { return c.editor.Text() }}
	return c
}

// open makes the editor and what serves it.
func (c *composer) open(o *Options, keys *key.Bindings, styles editor.Styles, commands func() []complete.Command) {
	c.history = history.Open(history.Options{
		Home: o.Paths.Data, Dir: c.dir, Hide: o.Hide,
		Problem: func(err error) { c.inbox.post(func() { c.notice(card.Warning, prose.Line(err.Error())) }) },
	})
	c.completer = complete.New(complete.Options{
		Post: c.inbox.post, Answer: func(generation uint64, p editor.Completion) bool { return c.editor.Completed(generation, p) },
		Files: finder(host.FindFiles(c.dir)), Commands: commands, Resources: resourcesOf(o.Words), Dir: func() string { return c.dir }, Getenv: c.getenv,
	})
	c.editor = editor.New(editor.Options{
		Keys: keys, Placeholder: "Ask anything, / for commands, @ for files, ! for the shell", Styles: styles,
		History: c.history.Prefix, Completer: c.completer, OnProblem: func(err error) { c.notice(card.Warning, err.Error()) },
	})
}

// close ends what serves the editor.
func (c *composer) close() {
	c.completer.Close()
	if err := c.history.Close(); err != nil {
		c.notice(card.Warning, prose.Line(err.Error()))
	}
}

// refuse gives back the command that is being called.
func (c *composer) refuse() { c.giveBack(c.calling) }

// typedOn takes what was typed while a question appeared, which was meant for the prompt,
// and says where it is: the prompt is not to be seen now.
func (c *composer) typedOn(ev key.Event) {
	if c.elsewhere != nil && c.elsewhere(ev) {
		return
	}
	c.unsent.changed()
	c.editor.Handle(ev)
	c.flash("typed into the prompt: " + c.editor.Line())
}

// editOutside gives the prompt to the person's own editor.
func (c *composer) editOutside() {
	text, err := c.desktop.outside(c.editor.Handoff())
	if err != nil {
		c.notice(card.Warning, prose.Line(err.Error()))
		return
	}
	if err := c.editor.Return(text); err != nil {
		c.notice(card.Warning, prose.Line(err.Error()))
	}
}

// letter takes what was written, and the pictures beside it.
func (c *composer) letter(text string, at when) *letter {
	l := &letter{text: text, pictures: c.attached, at: at}
	c.attached = nil
	return l
}

// giveLetters puts letters into the editor, before what stands there, with their
// pictures.
func (c *composer) giveLetters(letters ...*letter) {
	var words []string
	var pictures []llm.Block
	for _, l := range letters {
		words = append(words, l.text)
		pictures = append(pictures, l.pictures...)
	}
	c.giveBack(strings.Join(words, "\n\n"))
	c.attached = append(pictures, c.attached...)
}

// takeLetters takes letters out of the editor that giveLetters has put there, if they stand
// before everything else as they were.
func (c *composer) takeLetters(letters []*letter) bool {
	var words []string
	pictures := 0
	for _, l := range letters {
		words = append(words, l.text)
		pictures += len(l.pictures)
	}
	rest, ok := strings.CutPrefix(c.editor.Text(), strings.Join(words, "\n\n"))
	if ok && rest != "" {
		rest, ok = strings.CutPrefix(rest, "\n\n")
	}
	if !ok || pictures > len(c.attached) || c.editor.SetText(rest) != nil {
		return false
	}
	c.attached = c.attached[pictures:]
	return true
}

// giveBack puts words into the editor, before what stands there.
func (c *composer) giveBack(words string) {
	if strings.TrimSpace(words) == "" {
		return
	}
	if there := c.editor.Text(); there != "" {
		words += "\n\n" + there
	}
	if err := c.editor.SetText(words); err != nil {
		c.notice(card.Warning, err.Error())
	}
	c.unsent.changed() // nobody else has them now
	c.redraw()
}

// addHistory keeps what was sent. Commands without arguments are quicker typed than
// found, and would crowd out the prompts.
func (c *composer) addHistory(text string) {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "/") && !strings.ContainsAny(trimmed, " \n") {
		return
	}
	c.history.Add(text, c.dir, c.env.Now())
}

// pasteFiles attaches pictures whose files were dragged into the terminal, and names
// other files. It is false for a paste that is no list of files.
func (c *composer) pasteFiles(text string) bool {
	paths := clipboard.Paths(text)
	if len(paths) == 0 {
		return false
	}
	var words []string
	for _, p := range paths {
		name := p
		if rel, err := filepath.Rel(c.dir, p); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
		if strings.ContainsAny(name, " \t") {
			words = append(words, `@"`+name+`"`)
		} else {
			words = append(words, "@"+name)
		}
	}
	if err := c.editor.Insert(strings.Join(words, " ") + " "); err != nil {
		c.notice(card.Warning, err.Error())
	}
	return true
}

// pasteImage attaches the picture in the clipboard to the prompt.
func (c *composer) pasteImage() {
	go func() {
		img, err := c.desktop.clipboard.Image(c.ctx)
		c.inbox.post(func() {
			if err != nil {
				c.flash(prose.Line(err.Error()))
				return
			}
			c.attached = append(c.attached, llm.Image{MIME: img.MIME, Data: img.Data})
			c.flash(prose.Count(len(c.attached), "picture") + " attached to the next prompt")
		})
	}()
}

// finder lets the completer look for files.
type finder func(ctx context.Context, query string, limit int) ([]string, error)

// Find is [complete.Files]'s.
func (f finder) Find(ctx context.Context, query string, limit int) ([]string, error) {
	return f(ctx, query, limit)
}
