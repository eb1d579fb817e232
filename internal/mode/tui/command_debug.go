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

// debug shows facts, or has the next request to the model written down.
func (vs *views) debug(args string) {
	word, path, _ := strings.Cut(args, " ")
	path = strings.TrimSpace(path)
	switch {
	case args == "":
		vs.openDebug("")
		return
	case word != dumpWord && word != "dump-request" && word != "next-request" || path == "":
		vs.notice(card.Info, "Usage: /debug "+dumpWord+" request.json")
		vs.composer.refuse()
		return
	}
	path = vs.absolute(path)
	err := vs.host.Dump(path, func(err error) {
		vs.inbox.post(func() {
			if err != nil {
				vs.sayError(err)
				return
			}
			vs.notice(card.Info, "The request is in "+vs.homePath(path)+", the answer is next to it. Both contain the conversation; keys are hidden.")
		})
	})
	if err != nil {
		vs.sayError(err)
		return
	}
	vs.notice(card.Info, "The next request to the model will be written to "+vs.homePath(path)+".")
}

// openDebug shows what a report of a fault should say. There are no words of the
// conversation and no keys in it.
func (vs *views) openDebug(string) { vs.panes.reportFacts("For a bug report", vs.debugFacts()) }

func (vs *views) debugFacts() [][2]string {
	width, height := vs.display.screen.Size()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	pictures := picture.Detect(picture.Terminal{Getenv: vs.getenv, Attributes: vs.show.attributes})
	facts := [][2]string{
		{"burin", vs.version},
		{"built by", runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH},
		{"memory", fmt.Sprintf("%d MB of Go, %d goroutines", mem.Sys>>20, runtime.NumGoroutine())},
		{"terminal", vs.terminalNames()},
		{"size", fmt.Sprintf("%d columns, %d rows", width, height)},
		{"colors", colourWords(vs.env.Styles.Profile()) + either(vs.show.onLight, ", on light", ", on dark")},
		{"theme", vs.show.themeName()},
		{"pictures", either(pictures == picture.None, "in words", string(pictures))},
		{"settings", vs.homePath(filepath.Join(vs.show.folder, "config.yml"))},
		{"data", vs.homePath(vs.paths.Data)},
		{"crashes", vs.homePath(filepath.Join(vs.paths.State, "logs", "terminal.log"))},
	}
	if vs.session != nil {
		facts = append(facts, [2]string{"session", vs.session.Log().ID()}, [2]string{"model", vs.session.Stats().Model}, [2]string{"mode", vs.session.Mode()})
	}
	return facts
}

// terminalNames are the variables by which a terminal is known.
func (vs *views) terminalNames() string {
	var names []string
	for _, v := range []string{"TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORTERM", "NO_COLOR"} {
		if value := vs.getenv(v); value != "" {
			names = append(names, v+"="+value)
		}
	}
	if vs.getenv("TMUX") != "" {
		names = append(names, "in tmux")
	}
	if vs.getenv("SSH_CONNECTION") != "" {
		names = append(names, "over ssh")
	}
	return strings.Join(names, " ")
}
