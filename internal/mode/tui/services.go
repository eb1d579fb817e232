package tui

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/clipboard"
	"github.com/burin-dev/burin/internal/mode/tui/complete"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/history"
	"github.com/burin-dev/burin/internal/mode/tui/notify"
	"github.com/burin-dev/burin/internal/mode/tui/picture"
	"github.com/burin-dev/burin/internal/mode/tui/status"
	"github.com/burin-dev/burin/llm"
)

// services are what serves the prompt.
type services struct {
	history   *history.History
	completer *complete.Completer
	clipboard *clipboard.Clipboard
	repo      *status.Repo
	attached  []llm.Block // pictures that go with the next prompt
}

// finder lets the completer look for files.
type finder func(ctx context.Context, query string, limit int) ([]string, error)

// Find is [complete.Files]'s.
func (f finder) Find(ctx context.Context, query string, limit int) ([]string, error) {
	return f(ctx, query, limit)
}

func (a *app) startServices() {
	a.history = history.Open(history.Options{
		Home: a.o.Paths.Data, Dir: a.o.Dir, Hide: a.o.Hide,
		Problem: func(err error) { a.inbox.post(func() { a.notice(card.Warning, oneLine(err.Error())) }) },
	})
	a.clipboard = clipboard.New(clipboard.Options{Getenv: a.o.Getenv, Terminal: func(sequence []byte) error {
		a.inbox.post(func() { a.raw(string(sequence)) })
		return nil
	}})
	a.repo = status.NewRepo(a.o.Dir, func(g status.Git) {
		a.inbox.post(func() { a.facts.status.Git = g })
	})
	a.completer = complete.New(complete.Options{
		Post: a.inbox.post, Answer: func(generation uint64, c editor.Completion) bool { return a.editor.Completed(generation, c) },
		Files: finder(burin.FindFiles(a.o.Dir)), Commands: a.offered, Dir: func() string { return a.o.Dir }, Getenv: a.o.Getenv,
	})
}

func (a *app) endServices() {
	a.completer.Close()
	a.repo.Close()
	if err := a.history.Close(); err != nil {
		a.notice(card.Warning, oneLine(err.Error()))
	}
}

// addHistory keeps what was sent. Commands without arguments are quicker typed than
// found, and would crowd out the prompts.
func (a *app) addHistory(text string) {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "/") && !strings.ContainsAny(trimmed, " \n") {
		return
	}
	a.history.Add(text, a.o.Dir, a.env.Now())
}

// pasteFiles attaches pictures whose files were dragged into the terminal, and names
// other files. It is false for a paste that is no list of files.
func (a *app) pasteFiles(text string) bool {
	paths := clipboard.Paths(text)
	if len(paths) == 0 {
		return false
	}
	var words []string
	for _, p := range paths {
		name := p
		if rel, err := filepath.Rel(a.o.Dir, p); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
		if strings.ContainsAny(name, " \t") {
			words = append(words, `@"`+name+`"`)
		} else {
			words = append(words, "@"+name)
		}
	}
	if err := a.editor.Insert(strings.Join(words, " ") + " "); err != nil {
		a.say(card.Warning, err.Error())
	}
	return true
}

// pasteImage attaches the picture in the clipboard to the prompt.
func (a *app) pasteImage() {
	go func() {
		img, err := a.clipboard.Image(a.ctx)
		a.inbox.post(func() {
			if err != nil {
				a.flash(oneLine(err.Error()))
				return
			}
			a.attached = append(a.attached, llm.Image{MIME: img.MIME, Data: img.Data})
			a.flash(counted(len(a.attached), "picture goes", "pictures go") + " with the next prompt")
		})
	}()
}

// copy puts text into the clipboard.
func (a *app) copy(text, what string) {
	if text == "" {
		a.flash("there is nothing to copy")
		return
	}
	go func() {
		err := a.clipboard.Copy(a.ctx, text)
		a.inbox.post(func() {
			if err != nil {
				a.say(card.Warning, oneLine(err.Error()))
				return
			}
			a.flash("copied " + what)
		})
	}()
}

// raw writes a sequence that shows nothing.
func (a *app) raw(sequence string) {
	if _, err := a.term.Write([]byte(sequence)); err != nil {
		a.failed(err)
	}
}

// attention tells a person who looks elsewhere.
func (a *app) attention(mode notify.Mode, text string) {
	if b := notify.Bytes(a.o.Getenv, mode, a.focus, "burin", text); len(b) > 0 {
		a.raw(string(b))
	}
}

// showPicture shows a picture where the terminal can; elsewhere the cards say in words
// what it is.
func (a *app) showPicture(img llm.Image) {
	protocol := picture.Detect(picture.Terminal{Getenv: a.o.Getenv, Attributes: a.show.attributes})
	if protocol == picture.None || !a.show.images || a.show.screenReader || len(img.Data) == 0 {
		return
	}
	_, height := a.screen.Size()
	o := picture.Options{
		Protocol: protocol, Cols: min(a.show.imageCols, a.talk.look.Width-2), Rows: min(a.show.imageRows, height-4),
		CellWidth: a.show.cellWidth, CellHeight: a.show.cellHeight,
	}
	b := &shownPicture{img: img}
	a.talk.add(b)
	go func() {
		p, err := picture.Render(img, o)
		if err != nil {
			p = picture.Picture{} // the words stay
		}
		a.inbox.post(func() { b.picture, b.ready = p, true })
	}()
}
