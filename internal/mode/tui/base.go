package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// base is what every part of the face stands on: the loop to which other goroutines post,
// the conversation in which it says something, and whether the screen is still right. It
// belongs to the loop's goroutine, but for inbox and ctx.
type base struct {
	ctx    context.Context // of everything that runs beside the loop; ends with it
	inbox  *inbox
	env    *pane.Env
	getenv func(string) string
	dir    string // where burin works
	home   string // of the user; "" if there is none

	talk   *talk
	hint   hint
	dirty  bool // something has to be drawn
	urgent bool // at once
}

// redraw has everything drawn at once.
func (b *base) redraw() { b.dirty, b.urgent = true, true }

// notice says something in the conversation, to the person alone.
func (b *base) notice(l card.Level, text string) {
	b.talk.notice(l, text)
	b.dirty = true
}

// sayError shows an error of a run, once: what the model's answer told already is there.
func (b *base) sayError(err error) {
	if err != nil {
		b.notice(card.Failure, prose.Line(err.Error()))
	}
}

// flash shows a hint for a moment, in place of nothing.
func (b *base) flash(text string) {
	b.hint = hint{text: text, until: b.env.Now().Add(max(hintTime, time.Duration(len(text))*letterTime))}
	b.redraw()
}

// keyFor names the key of an action, for hints.
func (b *base) keyFor(action key.Action) string {
	if keys := b.env.Keys.Keys(action); len(keys) > 0 {
		return keys[0].Text()
	}
	if name, ok := commandOf(action); ok {
		return "/" + name
	}
	return string(action)
}

// line writes a line for the terminal.
func (b *base) line(l styled.Line) string { return styled.Render(b.env.Styles, l) }

// cut writes as much of a line as there is room for.
func (b *base) cut(l styled.Line, width int) string {
	return b.line(styled.Truncate(l, width, b.env.Styles.Symbols().Ellipsis))
}

// dot stands between facts.
func (b *base) dot() string { return " " + b.env.Styles.Symbols().Dot + " " }

// homePath is a path with "~" for the home folder.
func (b *base) homePath(path string) string {
	if rest, ok := strings.CutPrefix(path, b.home); ok && b.home != "" && (rest == "" || rest[0] == os.PathSeparator) {
		return "~" + rest
	}
	return path
}

// absolute is a path as the person wrote it, from the folder of the session.
func (b *base) absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && b.home != "" {
		return filepath.Join(b.home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(b.dir, path)
}
