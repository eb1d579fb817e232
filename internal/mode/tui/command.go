package tui

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/complete"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// command is something that is called by "/" and its name.
type command struct {
	name    string
	aliases []string
	args    string // what may follow, for people; "": nothing may
	help    string
	needs   need
	waits   bool // for what runs ahead of it, as prompts do; what follows builds on both
	run     func(a *app, args string)
	// complete proposes arguments; nil proposes none.
	complete func(a *app, arg string) []editor.Item
}

// need is what must be there for a command.
type need uint8

const (
	nothing need = iota
	aSession
	aRest // a session in which nothing runs
)

// commandOf are the commands that keys call.
func commandOf(action key.Action) (string, bool) {
	name, ok := map[key.Action]string{
		key.SelectModel: "model", key.TemporaryModel: "model", key.SearchHistory: "history",
		key.OpenTranscript: "transcript", key.OpenTree: "tree", key.NewSession: "new",
		key.ForkSession: "fork", key.ResumeSession: "resume",
	}[action]
	return name, ok
}

// commands are all commands of the face, as /help lists them.
func commands() []command {
	return slices.Concat(sessionCommands(), modelCommands(), viewCommands(), workCommands(), pursuitCommands(), programCommands())
}

// known finds a command by name or alias.
func (a *app) known(name string) (command, bool) {
	for _, c := range a.commands {
		if c.name == name || slices.Contains(c.aliases, name) {
			return c, true
		}
	}
	return command{}, false
}

// command runs what begins with "/". It is false for what is a prompt: a path, or a
// name that nobody knows and that the person sends a second time.
func (a *app) command(text string) bool {
	name, args, _ := strings.Cut(text[1:], " ")
	name, more, lines := strings.Cut(name, "\n")
	if lines {
		args = more + " " + args
	}
	if name == "" || strings.Contains(name, "/") {
		return false
	}
	c, ok := a.known(strings.ToLower(name))
	if !ok {
		return !a.expands(name) && !a.insists(text, name)
	}
	args = strings.TrimSpace(args)
	switch {
	case c.args == "" && args != "":
		a.giveBack(text)
		a.flash("/" + c.name + " takes nothing after its name")
	case c.needs != nothing && a.opening:
		a.waiting = append(a.waiting, text)
	case a.work.first && c.waits && (args != "" || c.needs != nothing): // /model alone opens a list
		a.waiting = append(a.waiting, text)
	case !a.allowed(c):
		a.giveBack(text)
	default:
		a.words = text
		c.run(a, args)
		a.words = ""
	}
	a.dirty, a.urgent = true, true
	return true
}

// act does what a key calls a command for.
func (a *app) act(name string) {
	if c, ok := a.known(name); ok && a.allowed(c) {
		c.run(a, "")
	}
	a.dirty, a.urgent = true, true
}

// allowed reports whether there is what a command needs, or says what is missing.
func (a *app) allowed(c command) bool {
	switch {
	case c.needs != nothing && a.opening:
		a.flash("the session is being opened; one moment")
	case c.needs != nothing && a.session == nil:
		a.say(card.Warning, "There is no session yet: choose a model with /model, or log in with /login.")
	case c.needs == aRest && (a.work.on || a.work.busy != ""):
		a.say(card.Warning, "/"+c.name+" has to wait until the work is done; "+a.keyFor(key.Interrupt)+" stops it.")
	default:
		return true
	}
	return false
}

// insists reports whether the person sends an unknown command a second time: then it is
// a prompt. Otherwise it stands in the editor again, with what to do.
func (a *app) insists(text, name string) bool {
	if a.unknown == text {
		a.unknown = ""
		return true
	}
	a.unknown = text
	a.giveBack(text)
	say := "There is no command /" + name + "."
	if near := a.nearest(name); near != "" {
		say += " Did you mean /" + near + "?"
	}
	a.flash(say + " Enter sends it to the model as it is.")
	return false
}

// nearest is the command whose name begins like a wrong one.
func (a *app) nearest(name string) string {
	best, most := "", 1
	for _, c := range a.commands {
		n := 0
		for n < len(name) && n < len(c.name) && name[n] == c.name[n] {
			n++
		}
		if n > most {
			best, most = c.name, n
		}
	}
	return best
}

// completeCommand reports whether the text is a command that needs nothing more, so
// that Enter on its completion sends it.
func (a *app) completeCommand() bool {
	text := strings.TrimSpace(a.editor.Text())
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \n") {
		return false
	}
	c, ok := a.known(text[1:])
	return ok && !strings.HasPrefix(c.args, "<")
}

// keyFor names the key of an action, for hints.
func (a *app) keyFor(action key.Action) string {
	if keys := a.env.Keys.Keys(action); len(keys) > 0 {
		return keys[0].Text()
	}
	if name, ok := commandOf(action); ok {
		return "/" + name
	}
	return string(action)
}

// offered are the commands for the completion of "/". They are put together once: each
// key asks for them.
func (a *app) offered() []complete.Command {
	if a.offers == nil {
		a.offers = a.offer()
	}
	return a.offers
}

func (a *app) offer() []complete.Command {
	var out []complete.Command
	for _, c := range a.commands {
		o := complete.Command{Name: c.name, Aliases: c.aliases, Help: c.help, Args: c.args}
		if c.complete != nil {
			f := c.complete
			o.Complete = func(arg string) []editor.Item { return f(a, arg) }
		}
		out = append(out, o)
	}
	return append(out, a.fileCommands()...)
}

// choices proposes those words that begin with what was typed.
func choices(words ...string) func(*app, string) []editor.Item {
	return func(_ *app, arg string) []editor.Item {
		var items []editor.Item
		for _, w := range words {
			if strings.HasPrefix(w, arg) {
				items = append(items, editor.Item{Label: w})
			}
		}
		return items
	}
}

// expands reports whether a file is the command of that name. While the files are looked
// for, which takes a moment once, it waits.
func (a *app) expands(name string) bool {
	_, ok := a.o.Host.FileCommands().Lookup(name)
	return ok
}

// fileCommands are the commands that are files, once they were looked for; the first
// call begins to.
func (a *app) fileCommands() []complete.Command {
	if !a.lookedFor {
		a.lookedFor = true
		go func() {
			set := a.o.Host.FileCommands()
			a.inbox.post(func() {
				for _, c := range set.List() {
					a.fromFiles = append(a.fromFiles, complete.Command{Name: c.Name, Help: c.Description + " (" + c.Source + ")", Args: c.Hint})
				}
				a.offers = nil
			})
		}()
	}
	return a.fromFiles
}
