package selector

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

const selectModel = key.SelectModel

// keyText is the preferred key of an action, as it is shown; its id where it has none.
func keyText(env *pane.Env, a key.Action) string {
	if keys := env.Keys.Keys(a); len(keys) > 0 {
		return keys[0].Text()
	}
	return string(a)
}

// Hotkeys is a pane that lists what keys do, those of the user and of extensions
// included, and where they come from. Nothing can be changed there; it says how: file is the
// user's.
func Hotkeys(env *pane.Env, file string, onCancel func()) *list.List {
	help := env.Keys.Help()
	about := make(map[string]key.Binding, len(help))
	items := make([]list.Item, 0, len(help))
	for _, b := range help {
		about[string(b.Action)] = b
		it := list.Item{ID: string(b.Action), Label: texts(b.Keys), Detail: b.Help, Group: contextName(b.Context), Search: string(b.Action)}
		if len(b.Keys) == 0 {
			it.Label, it.Dim = "no key", true
		}
		if b.File != "" {
			it.Mark = env.Styles.Symbols().Bullets[0] // as settings mark what a person has changed
		}
		items = append(items, it)
	}
	return list.New(env, list.Options{
		Title: "Keys", Items: items, OnCancel: onCancel,
		Preview: func(id string, width, height int) []string {
			b := about[id]
			s := newSheet(env.Styles, width, height)
			s.title(b.Help)
			s.fact("Keys", texts(b.Keys))
			s.fact("Where", contextName(b.Context))
			s.fact("Action", id)
			if b.File != "" {
				s.fact("From", fmt.Sprintf("%s:%d", b.File, b.Line))
				s.fact("Default", cmp.Or(texts(b.Default), "no key"))
			}
			s.blank()
			s.text("To change it, write \""+id+"\": [\"ctrl+x\"] into "+file+".", theme.Muted)
			return s.lines
		},
	})
}

func texts(keys []key.Key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Text()
	}
	return strings.Join(names, ", ")
}

func contextName(c key.Context) string {
	switch c {
	case key.App:
		return "Everywhere"
	case key.Editor:
		return "In the prompt"
	case key.Select:
		return "In lists"
	case key.Tree:
		return "In the session tree"
	}
	return string(c)
}
