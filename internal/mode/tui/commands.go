package tui

import (
	"slices"
	"strings"

	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/fuzzy"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/complete"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// commands is what begins with "/": the face's own commands, and those that are files.
type commands struct {
	*base
	*current
	composer *composer
	work     *work
	outbox   *outbox
	shell    *shell
	host     interface {
		FileCommands() *files.Set
		Skills() *skill.Set
	}

	words     *host.ServerWords // nil: there are no MCP servers
	table     []command
	offers    []complete.Command // all of them, for completion
	fromFiles []complete.Command
	lookedFor bool   // commands that are files
	unknown   string // a command that nobody knows, and that was sent once
}

// known finds a command by name or alias.
func (cs *commands) known(name string) (command, bool) {
	for _, c := range cs.table {
		if c.name == name || slices.Contains(c.aliases, name) {
			return c, true
		}
	}
	return command{}, false
}

// call runs what begins with "/". It is false for what is a prompt: a path, or a
// name that nobody knows and that the person sends a second time.
func (cs *commands) call(text string) bool {
	name, args, _ := strings.Cut(text[1:], " ")
	name, more, lines := strings.Cut(name, "\n")
	if lines {
		args = more + " " + args
	}
	if text == "/" {
		cs.composer.giveBack(text)
		cs.flash("type the name of a command, or choose one with the arrow keys")
		return true
	}
	if name == "" || strings.Contains(name, "/") {
		return false
	}
	c, ok := cs.known(strings.ToLower(name))
	if ok && c.yields && cs.expands(c.name) {
		return false
	}
	if !ok {
		if cs.expands(name) {
			return false
		}
		begun := cs.begun(name)
		if len(begun) == 1 {
			c, ok = cs.known(begun[0])
		}
		if !ok {
			if len(begun) == 0 && cs.session != nil && cs.session.Facts().Model.API == llm.APIAgent {
				return false // it may be one of the agent's
			}
			return !cs.insists(text, name, begun)
		}
	}
	args = strings.TrimSpace(args)
	switch {
	case c.args == "" && args != "":
		cs.composer.giveBack(text)
		cs.flash("/" + c.name + " takes no arguments")
	case c.needs != nothing && cs.opening:
		cs.outbox.wait(text, enclosed{})
	case cs.work.first && c.waits && (args != "" || c.needs != nothing): // /model alone opens a list
		cs.outbox.wait(text, enclosed{})
	case !cs.allowed(c):
		cs.composer.giveBack(text)
	default:
		cs.composer.calling = text
		c.run(args)
		cs.composer.calling = ""
	}
	cs.redraw()
	return true
}

// act does what a key calls a command for.
func (cs *commands) act(name string) {
	if c, ok := cs.known(name); ok && cs.allowed(c) {
		c.run("")
	}
	cs.redraw()
}

// allowed reports whether there is what a command needs, or says what is missing.
func (cs *commands) allowed(c command) bool {
	switch {
	case c.needs != nothing && cs.opening:
		cs.flash("the session is still opening")
	case c.needs != nothing && cs.session == nil:
		cs.notice(card.Warning, "No session yet: choose a model with /model, or log in with /login.")
	case c.needs == aRest && (cs.work.on || cs.work.busy != ""):
		cs.notice(card.Warning, "/"+c.name+" must wait until the work is done; "+cs.keyFor(key.Interrupt)+" stops it.")
	default:
		return true
	}
	return false
}

// insists reports whether the person sends an unknown command a second time: then it is
// a prompt. Otherwise it stands in the editor again, with what to do. begun are the
// commands whose names begin so.
func (cs *commands) insists(text, name string, begun []string) bool {
	if cs.unknown == text && len(begun) == 0 {
		cs.unknown = ""
		return true
	}
	cs.unknown = text
	cs.composer.giveBack(text)
	if len(begun) > 0 {
		shown := begun[:min(len(begun), 4)]
		say := "/" + name + " is the beginning of /" + strings.Join(shown, ", /")
		if len(shown) < len(begun) {
			say += " …"
		}
		cs.flash(say + ": type more, or press Tab")
		return false
	}
	if words := elsewhere(name); words != "" {
		cs.flash(words + " Enter again sends /" + name + " to the model as it is.")
		return false
	}
	say := "Unknown command /" + name + "."
	if near := cs.nearest(name); near != "" {
		say += " Did you mean /" + near + "?"
	}
	cs.flash(say + " Enter again sends it to the model as it is.")
	return false
}

// elsewhere says what does here what a command of another program does; "" if it is none
// that people type often.
func elsewhere(name string) string {
	switch strings.ToLower(name) {
	case "add-dir", "directory":
		return "Add folders when you start burin: --add-dir FOLDER."
	case "diff":
		return "!git diff shows all changes, /undo those of the model."
	case "editor", "vim":
		return "Ctrl+G opens the prompt in your editor."
	case "mention":
		return "@ mentions a file."
	case "output-style":
		return "Write the style into AGENTS.md, which the model reads."
	case "redo":
		return "/undo also redoes what it undid."
	case "reload":
		return "A new session (/new) reads changed settings, keys and commands."
	case "review", "security-review", "pr-comments":
		return "Ask for it: review the changes."
	case "sandbox":
		return "--sandbox and sandbox.mode confine commands; /mode says what runs without a question."
	case "scoped-models":
		return "enabledModels in /settings lists the models that Ctrl+P goes through."
	case "statusline":
		return "statusLine in /settings arranges the status line."
	case "terminal-setup":
		return "Shift+Enter, Alt+Enter or Ctrl+J begins a new line; burin doctor checks the terminal."
	case "hooks", "trust":
		return "burin trust, in a shell, lists the hooks of this folder and decides about them."
	case "plugins":
		return "burin has no " + strings.ToLower(name) + " yet."
	case "plugin":
		return "burin has no plugins yet."
	}
	return ""
}

// begun are the names of the commands that begin so, or have an alias that does.
func (cs *commands) begun(name string) (names []string) {
	low := strings.ToLower(name)
	for _, c := range cs.offered() {
		begins := func(name string) bool { return strings.HasPrefix(strings.ToLower(name), low) }
		if begins(c.Name) || slices.ContainsFunc(c.Aliases, begins) {
			names = append(names, c.Name)
		}
	}
	return names
}

// nearest is the command whose name is the most like a wrong one.
func (cs *commands) nearest(name string) string {
	const most = 2 // letters that are wrong
	best, least := "", most+1
	for _, c := range cs.table {
		for _, known := range append([]string{c.name}, c.aliases...) {
			if d := fuzzy.Distance(strings.ToLower(name), known, most); d < least {
				best, least = c.name, d
			}
		}
	}
	if best != "" {
		return best
	}
	longest := 1
	for _, c := range cs.table {
		n := 0
		for n < len(name) && n < len(c.name) && name[n] == c.name[n] {
			n++
		}
		if n > longest {
			best, longest = c.name, n
		}
	}
	return best
}

// means reports whether Enter takes what is proposed for a command's name: what a person
// has gone to, or what is the only one that begins so. A guess needs Tab.
func (cs *commands) means(popup editor.Popup) bool {
	name, isCommand := strings.CutPrefix(strings.TrimSpace(cs.composer.editor.Text()), "/")
	if !isCommand || strings.ContainsAny(name, " \n") || popup.Selected != 0 {
		return true
	}
	begun := cs.begun(name)
	return len(begun) == 1 && popup.Items[0].Label == "/"+begun[0]
}

// complete reports whether the text is a command that needs nothing more, so
// that Enter on its completion sends it.
func (cs *commands) complete() bool {
	text := strings.TrimSpace(cs.composer.editor.Text())
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \n") {
		return false
	}
	c, ok := cs.known(text[1:])
	return ok && !strings.HasPrefix(c.args, "<")
}

// offered are the commands for the completion of "/". They are put together once: each
// key asks for them.
func (cs *commands) offered() []complete.Command {
	if cs.offers == nil {
		cs.offers = cs.offer()
	}
	return append(cs.offers[:len(cs.offers):len(cs.offers)], serverCommands(cs.words)...)
}

func (cs *commands) offer() []complete.Command {
	var out []complete.Command
	for _, c := range cs.table {
		o := complete.Command{Name: c.name, Aliases: c.aliases, Help: c.help, Args: c.args}
		if c.complete != nil {
			o.Complete = c.complete
		}
		out = append(out, o)
	}
	return append(out, cs.fileCommands()...)
}

// expands reports whether a file is the command of that name. While the files are looked
// for, which takes a moment once, it waits.
func (cs *commands) expands(name string) bool {
	if _, ok := cs.host.FileCommands().Lookup(name); ok {
		return true
	}
	if cs.words != nil && cs.words.Calls(name) {
		return true
	}
	called, ok := strings.CutPrefix(name, "skill:")
	return ok && called != "" && cs.host.Skills().Callable() != nil // who sends it hears of a wrong name
}

// prepare looks for the commands that are files and the skills of a session that has begun.
func (cs *commands) prepare() {
	cs.lookedFor = false
	cs.fileCommands()
}

// fileCommands are the commands that are files, and skills, once they were looked for; the
// first call begins to.
func (cs *commands) fileCommands() []complete.Command {
	if !cs.lookedFor {
		cs.lookedFor = true
		go func() {
			set, skills := cs.host.FileCommands(), cs.host.Skills()
			cs.inbox.post(func() {
				cs.fromFiles = nil
				for _, c := range set.List() {
					cs.fromFiles = append(cs.fromFiles, complete.Command{Name: c.Name, Help: c.Description + " (" + c.Source + ")", Args: c.Hint})
				}
				for _, k := range skills.Callable() {
					cs.fromFiles = append(cs.fromFiles, complete.Command{Name: "skill:" + k.Name, Help: prose.Short(k.Description, 100) + " (" + k.Source + ")", Args: "[what to do]"})
				}
				cs.offers = nil
				if strings.HasPrefix(cs.composer.editor.Text(), "/") { // somebody is choosing one
					editor.Refresh(cs.composer.editor)
					cs.redraw()
				}
			})
		}()
	}
	return cs.fromFiles
}

// understood does what words mean that are no prompt.
func (cs *commands) understood(text string) bool {
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(trimmed, "/"):
		return cs.call(trimmed)
	case strings.HasPrefix(trimmed, "!"):
		cs.shell.run(trimmed)
		return true
	case strings.HasPrefix(trimmed, "# ") && !strings.Contains(trimmed, "\n"):
		return cs.remembers(text)
	}
	return false
}

// remembers says what to do for who expects that # adds to the memory, as it did in Claude
// Code. Sent a second time it is a prompt.
func (cs *commands) remembers(text string) bool {
	if cs.unknown == text {
		return false
	}
	cs.unknown = text
	cs.composer.giveBack(text)
	cs.flash("AGENTS.md holds what the model should remember: write it there, or ask the model to; /memory add is for you alone. Enter again sends this as it is.")
	return true
}
