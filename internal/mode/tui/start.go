package tui

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// terminalOf is what the face uses of its terminal.
type terminalOf interface {
	io.ReadWriter
	Start() error
	Stop()
	Guard(report string) error
	Reply(key.Reply) (last bool)
	Alternate(on bool)
	Mouse(terminal.Mouse)
	Size() (width, height int)
	SetReadDeadline(time.Time) error
	Hurry()
	Foreground() bool
	Lend() (in, out *os.File, err error)
	LendRaw() (in, out *os.File, back func(), err error)
}

// start takes the terminal and makes what the first picture needs.
func (a *app) start() error {
	a.follower.start()
	a.show.readLine()
	a.talk.look.HideThinking = a.show.hideThinking
	a.show.chooseStyles(theme.DetectBackground("", a.getenv("COLORFGBG")))
	if err := a.display.term.Start(); err != nil {
		return err
	}
	a.facts.watch()
	w, h := a.display.term.Size()
	a.display.screen = screen.New(a.display.term, screen.Options{Width: w, Height: h, Sync: true, Reflow: screen.Reflows(a.getenv), Now: a.env.Now, Hidden: a.display.hidden})
	a.composer.open(&a.o, a.env.Keys, a.show.editorStyles(), a.commands.offered)
	a.display.watchSize()
	return nil
}

// afterFirstPaint starts what the first picture did not need.
func (a *app) afterFirstPaint() {
	if err := a.display.term.Guard(a.crashReport()); err != nil {
		a.notice(card.Warning, fmt.Sprintf("the terminal cannot be restored after a crash: %v", err))
	}
	if a.o.Prompt != "" {
		a.outbox.wait(a.o.Prompt, enclosed{})
	}
	if a.o.Choose {
		a.groups.archives.resume("")
	} else {
		a.switcher.open(Wish{})
	}
	a.facts.repo.Refresh()
	a.follower.watch()
	a.composer.history.Load()
	go a.composer.unsent.find(a.composer.giveBack)
	if a.o.News != nil {
		go func() {
			if line := a.o.News(a.ctx); line != "" {
				a.inbox.post(func() { a.notice(card.Info, line) })
			}
		}()
	}
}
