package tui

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/picture"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// dumpWord has the next request written to a file; it is called so elsewhere.
const dumpWord = "dump-next-request"

// debug shows facts, or has the next request to the model written down.
func (a *app) debug(args string) {
	word, path, _ := strings.Cut(args, " ")
	path = strings.TrimSpace(path)
	switch {
	case args == "":
		a.openDebug("")
		return
	case word != dumpWord && word != "dump-request" && word != "next-request" || path == "":
		a.say(card.Info, "Write: /debug "+dumpWord+" request.json")
		a.giveBack(a.words)
		return
	}
	path = a.absolute(path)
	err := a.o.Host.Dump(path, func(err error) {
		a.inbox.post(func() {
			if err != nil {
				a.sayError(err)
				return
			}
			a.notice(card.Info, "The request is in "+a.homePath(path)+", its answer beside it. Both hold what was said; keys are hidden.")
		})
	})
	if err != nil {
		a.sayError(err)
		return
	}
	a.say(card.Info, "The next request to the model will be written to "+a.homePath(path)+".")
}

// openDebug shows what a report of a fault should say. There are no words of the
// conversation and no keys in it.
func (a *app) openDebug(string) { a.reportFacts("For a report of a fault", a.debugFacts()) }

func (a *app) debugFacts() [][2]string {
	width, height := a.screen.Size()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	pictures := picture.Detect(picture.Terminal{Getenv: a.o.Getenv, Attributes: a.show.attributes})
	facts := [][2]string{
		{"burin", a.o.Version},
		{"built by", runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH},
		{"memory", fmt.Sprintf("%d MB of Go, %d goroutines", mem.Sys>>20, runtime.NumGoroutine())},
		{"terminal", a.terminalNames()},
		{"size", fmt.Sprintf("%d columns, %d rows", width, height)},
		{"colours", colourWords(a.env.Styles.Profile()) + either(a.show.onLight, ", on light", ", on dark")},
		{"theme", a.themeName()},
		{"pictures", either(pictures == picture.None, "in words", string(pictures))},
		{"settings", a.homePath(filepath.Join(a.o.Paths.Config, "config.yml"))},
		{"data", a.homePath(a.o.Paths.Data)},
		{"crashes", a.homePath(filepath.Join(a.o.Paths.State, "logs", "terminal.log"))},
	}
	if a.session != nil {
		facts = append(facts, [2]string{"session", a.session.Log().ID()}, [2]string{"model", a.session.Stats().Model}, [2]string{"mode", a.session.Mode()})
	}
	return facts
}

// terminalNames are the variables by which a terminal is known.
func (a *app) terminalNames() string {
	var names []string
	for _, v := range []string{"TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "NO_COLOR"} {
		if value := a.o.Getenv(v); value != "" {
			names = append(names, v+"="+value)
		}
	}
	if a.o.Getenv("TMUX") != "" {
		names = append(names, "in tmux")
	}
	if a.o.Getenv("SSH_CONNECTION") != "" {
		names = append(names, "over ssh")
	}
	return strings.Join(names, " ")
}

func colourWords(p theme.Profile) string {
	switch p {
	case theme.NoStyle:
		return "none, no styles"
	case theme.Mono:
		return "none"
	case theme.ANSI16:
		return "16"
	case theme.ANSI256:
		return "256"
	}
	return "all"
}
