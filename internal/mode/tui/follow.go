package tui

import (
	"bytes"
	"errors"
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/watch"
	"github.com/burin-dev/burin/internal/prose"
)

// follower takes over what a person changes in files while burin runs: settings, key bindings
// and the theme. A file that cannot be used is said once, and what held before still holds.
type follower struct {
	*base
	*current
	show     *appearance
	composer *composer
	host     Host

	watcher *watch.Watcher // nil: the system cannot watch files
	keys    boundKeys
	said    string // what is wrong with the settings
}

// start uses the key bindings.
func (f *follower) start() {
	f.useKeys(readBindings(f.show.folder))
}

// watch follows the files from now on. Where the system can't tell of changes, as with too
// many watchers, they are read when the terminal gets the focus.
func (f *follower) watch() {
	watcher, err := watch.New(f.read)
	if err != nil {
		return
	}
	f.watcher = watcher
	f.setPaths()
}

func (f *follower) setPaths() {
	if f.watcher == nil {
		return
	}
	paths := append(f.show.config.Files(), config.File(f.show.folder), keysFile(f.show.folder), f.show.themeDir())
	go f.watcher.Set(paths...) // the disk may be slow
}

// focused reads the files where nothing watches them.
func (f *follower) focused() {
	if f.watcher == nil && f.host != nil {
		go f.read()
	}
}

func (f *follower) close() {
	if f.watcher != nil {
		f.watcher.Close()
	}
}

// read reads the files beside the loop.
func (f *follower) read() {
	c, err := f.host.Settings()
	keys := readBindings(f.show.folder)
	f.inbox.post(func() {
		var news []string
		if f.takeSettings(c, err) {
			news = append(news, "settings")
		}
		if !bytes.Equal(keys.text, f.keys.text) && f.useKeys(keys) {
			news = append(news, "key bindings")
		}
		if f.show.followTheme() {
			news = append(news, "theme")
		}
		if len(news) > 0 {
			f.flash("reloaded: " + strings.Join(news, ", "))
		}
		f.setPaths()
	})
}

// useKeys takes key bindings over, unless nothing of the file can be used.
func (f *follower) useKeys(k boundKeys) bool {
	first := f.env.Keys == nil
	for _, p := range k.problems {
		if first && errors.As(p, new(key.Taken)) {
			continue // who wrote it was told then
		}
		words := p.Error()
		if k.unusable && !first {
			words += "; the keys stay as they were"
		}
		f.notice(card.Warning, prose.Line(words))
	}
	f.keys = k
	if k.unusable && !first {
		return false
	}
	f.env.Keys = k.bindings
	if !first {
		editor.Rebind(f.composer.editor, k.bindings)
		f.show.restyle() // hints name keys
	}
	return true
}

// takeSettings takes settings over, and says which of them a session keeps as it was opened.
func (f *follower) takeSettings(c *config.Config, err error) (changed bool) {
	if err != nil {
		if words := err.Error(); words != f.said {
			f.said = words
			f.notice(card.Warning, prose.Line(words)+"; the settings stay as they were")
		}
		return false
	}
	f.said = ""
	names := config.Changed(f.show.config, c)
	if c != f.show.config {
		f.show.take(c)
	}
	var later []string
	for _, name := range names {
		if f.show.spread(name) {
			later = append(later, name)
		}
	}
	if len(later) > 0 && f.session != nil {
		f.notice(card.Info, "In the next session: "+strings.Join(later, ", ")+". /new starts one.")
	}
	return len(names) > len(later)
}
