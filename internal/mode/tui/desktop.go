package tui

import (
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/clipboard"
	"github.com/burin-dev/burin/internal/mode/tui/external"
	"github.com/burin-dev/burin/internal/prose"
)

// desktop is what surrounds the terminal: the clipboard, and the person's own editor.
type desktop struct {
	*base
	display   *display
	clipboard *clipboard.Clipboard
	data      string          // the folder for files that are handed over
	writable  func() []string // the folders that commands may write
}

func newDesktop(b *base, d *display, data string, writable func() []string) *desktop {
	k := &desktop{base: b, display: d, data: data, writable: writable}
	k.clipboard = clipboard.New(clipboard.Options{Getenv: b.getenv, Writable: writable(), Terminal: func(sequence []byte) error {
		b.inbox.post(func() { d.raw(string(sequence)) })
		return nil
	}})
	return k
}

// outside gives a text to the person's own editor, with the terminal.
func (k *desktop) outside(text string) (edited string, err error) {
	k.display.handOver(func() {
		in, out, lendErr := k.display.term.Lend()
		if lendErr != nil {
			edited, err = text, lendErr
			return
		}
		defer in.Close()
		defer out.Close()
		edited, err = external.Edit(k.ctx, external.Options{Getenv: k.getenv, Folder: k.data, Writable: k.writable(), Stdin: in, Stdout: out, Stderr: out}, text)
	})
	return edited, err
}

// copy puts text into the clipboard.
func (k *desktop) copy(text, what string) {
	if text == "" {
		k.flash("nothing to copy")
		return
	}
	go func() {
		err := k.clipboard.Copy(k.ctx, text)
		k.inbox.post(func() {
			if err != nil {
				k.notice(card.Warning, prose.Line(err.Error()))
				return
			}
			k.flash("copied " + what)
		})
	}()
}
