package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// sessionCommands are about the conversation as a whole.
func sessionCommands() []command {
	return []command{
		{name: "new", aliases: []string{"clear"}, help: "begin a new session", run: (*app).newSession},
		{name: "resume", aliases: []string{"sessions"}, args: "[id or words]", help: "go on with another session", run: (*app).resume},
		{name: "tree", help: "move to another point of this session", needs: aSession, run: (*app).openTree},
		{name: "branch", help: "a session of its own from an earlier prompt", needs: aRest, run: (*app).branch},
		{name: "fork", help: "go on in a copy of this session", needs: aRest, run: (*app).fork},
		{name: "rename", aliases: []string{"name", "title"}, args: "<title>", help: "name this session", needs: aSession, run: (*app).rename},
		{name: "transcript", aliases: []string{"view"}, help: "read and search the whole conversation", needs: aSession, run: (*app).openViewer},
		{name: "session", aliases: []string{"info", "status"}, args: "[delete]", help: "facts about this session", needs: aSession, run: (*app).sessionCommand, complete: choices("info", "delete")},
		{name: "compact", args: "[what matters]", help: "condense the conversation", needs: aRest, waits: true, run: (*app).compact},
		{
			name: "shake", args: "[images]", help: "take old outputs, or pictures, out of the model's sight", needs: aRest, waits: true, run: (*app).shake,
			complete: choices("images"),
		},
		{name: "handoff", args: "[what comes next]", help: "go on in a new session with a summary by the model", needs: aRest, run: (*app).handoff},
		{name: "pin", args: "<words>", help: "keep words for the model, whatever is condensed", needs: aSession, run: (*app).pin},
		{name: "unpin", args: "[words]", help: "see what is pinned, and take it back", needs: aSession, run: (*app).unpin},
		{
			name: "export", args: "[file]", help: "write the session as a page, Markdown or JSON", needs: aSession, run: (*app).export,
			complete: func(a *app, arg string) []editor.Item {
				return choices("session.html", "session.md", "session.json")(a, arg)
			},
		},
		{name: "share", help: "put the session where others can see it", needs: aSession, run: (*app).share},
		{name: "dump", help: "copy the conversation as text", needs: aSession, run: (*app).dump},
		{
			name: "copy", args: "[code, prompt, command or all]", help: "copy the last answer; or its code, or more", needs: aSession, run: (*app).copyCommand,
			complete: choices("code", "prompt", "command", "all"),
		},
		{name: "move", args: "<folder>", help: "go on in another folder", needs: aRest, run: (*app).move},
		{name: "drop", help: "delete this session (to the trash)", needs: aRest, run: (*app).dropSession},
	}
}

func (a *app) newSession(string) {
	if a.work.on {
		a.stop()
	}
	a.open(Wish{})
}

func (a *app) rename(title string) {
	if title == "" {
		s := a.session
		a.askLine("Name this session", a.facts.status.Title, func(text string) {
			if a.still(s) {
				s.SetTitle(text)
			}
		})
		return
	}
	a.session.SetTitle(title)
}

func (a *app) compact(instructions string) {
	s := a.session
	a.ahead("condensing the conversation", func(ctx context.Context) (func(), error) {
		return nil, s.Compact(ctx, instructions)
	})
}

func (a *app) shake(kind string) {
	s := a.session
	if kind == "elide" { // as the family calls it
		kind = session.ShakeBulk
	}
	a.ahead("taking out old outputs", func(ctx context.Context) (func(), error) {
		freed, err := s.Shake(ctx, kind)
		return func() {
			if freed == 0 {
				a.notice(card.Info, "There is nothing to take out.")
				return
			}
			a.notice(card.Info, fmt.Sprintf("About %s tokens are free again.", thousands(freed)))
			a.readFacts()
		}, err
	})
}

// fork goes on in a copy.
func (a *app) fork(string) { a.goOnInCopy("", "") }

// goOnInCopy copies the session up to an entry and opens the copy; words go into the
// editor.
func (a *app) goOnInCopy(entry, words string) {
	s := a.session
	path, ok := s.Path()
	if !ok {
		a.say(card.Warning, "There is nothing to copy yet.")
		return
	}
	a.task("copying the session", func(ctx context.Context) (func(), error) {
		copied, err := a.o.Host.Copy(ctx, path, entry)
		return func() {
			a.giveBack(words)
			a.open(Wish{Resume: copied})
		}, err
	})
}

// handoff goes on in a new session, with what the model writes for it.
func (a *app) handoff(focus string) {
	s := a.session
	a.task("writing the handoff", func(ctx context.Context) (func(), error) {
		document, err := s.Handoff(ctx, focus)
		if err != nil {
			return nil, err
		}
		file, _ := s.Path()
		path, err := a.o.Host.Handoff(file, s.Log().Header(), s.Stats().Title, document)
		return func() { a.open(Wish{Resume: path}) }, err
	})
}

func (a *app) pin(words string) {
	if words == "" {
		a.say(card.Info, "Write what the model must not forget: /pin never touch the generated files")
		return
	}
	if err := a.session.Pin(words); err != nil {
		a.sayError(err)
		return
	}
	a.say(card.Info, "Pinned: "+oneLine(words))
}

// unpin takes back the one pin that has the words, or shows the pins to choose from.
func (a *app) unpin(words string) {
	s := a.session
	pins := s.Pins()
	take := func(text string) {
		if err := s.Unpin(text); err != nil {
			a.sayError(err)
			return
		}
		a.say(card.Info, "No longer pinned: "+beginning(text))
	}
	var items []list.Item
	fits := -1
	for i, p := range pins {
		items = append(items, list.Item{ID: fmt.Sprint(i), Label: beginning(p), Search: p})
		switch {
		case words == "" || !strings.Contains(strings.ToLower(p), strings.ToLower(words)):
		case fits < 0:
			fits = i
		default:
			fits = len(pins) // several
		}
	}
	if fits >= 0 && fits < len(pins) {
		take(pins[fits])
		return
	}
	var p *list.List
	p = list.New(a.env, list.Options{
		Title: "Pinned", Items: items, Query: words, Hint: "Enter takes it back",
		Empty: "Nothing is pinned. /pin keeps words for the model, whatever is condensed.", NoMatch: "No pin has these words.",
		OnChoose: func(id string) {
			a.remove(p)
			if i, err := strconv.Atoi(id); err == nil && a.still(s) {
				take(pins[i])
			}
		},
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

// beginning is the beginning of a text, for a place of one line.
func beginning(text string) string {
	const most = 200
	line := []rune(oneLine(strings.ToValidUTF8(text[:min(len(text), 4*most)], "")))
	if len(line) <= most && len(text) <= 4*most {
		return string(line)
	}
	return string(line[:min(len(line), most)]) + "…"
}

func (a *app) export(file string) {
	switch file {
	case "copy", "--copy", "clipboard": // as other programs call it; a file of that name is "./copy"
		a.dump("")
		return
	}
	path, ok := a.kept("export")
	if !ok {
		return
	}
	args := []string{"sessions", "export", path}
	if file != "" {
		args = append(args, "-o", a.absolute(file))
	}
	a.runCommand("exporting the session", "Written: ", args...)
}

// kept is the file of the session, wherever it is. Where there is none it says so.
func (a *app) kept(to string) (path string, ok bool) {
	if path, ok = a.session.Path(); !ok {
		a.say(card.Warning, "There is nothing to "+to+": no answer has come yet, or the session is not kept. /copy copies what was said.")
	}
	return path, ok
}

func (a *app) share(string) {
	path, ok := a.kept("share")
	if !ok {
		return
	}
	a.confirm("Share this session?", "Everybody who has the address can read it. Secrets are hidden once more.", func() {
		a.runCommand("sharing the session", "Shared: ", "sessions", "share", "--yes", path)
	})
}

// runCommand runs a command of the program and shows what it prints.
func (a *app) runCommand(what, prefix string, args ...string) {
	a.task(what, func(ctx context.Context) (func(), error) {
		out, err := a.o.Host.Command(ctx, args...)
		return func() {
			if out = strings.TrimSpace(out); out != "" {
				a.notice(card.Info, prefix+out)
			}
		}, err
	})
}

func (a *app) dump(string) {
	path, ok := a.kept("dump")
	if !ok {
		return
	}
	a.task("collecting the conversation", func(ctx context.Context) (func(), error) {
		out, err := a.o.Host.Command(ctx, "sessions", "export", path, "--format", "md", "-o", "-")
		return func() { a.copy(out, "the conversation") }, err
	})
}

// copyCommand copies a part of the conversation.
func (a *app) copyCommand(what string) {
	messages := a.session.Messages()
	switch what {
	case "", "answer", "last":
		a.copyPart(lastText(messages, llm.RoleAssistant), "the answer")
	case "code":
		a.copyPart(lastCode(lastText(messages, llm.RoleAssistant)), "the code")
	case "prompt":
		a.copyPart(lastText(messages, llm.RoleUser), "the prompt")
	case "command", "cmd":
		a.copyPart(lastCommand(messages), "the command")
	case "all":
		a.dump("")
	default:
		a.say(card.Warning, "/copy knows no "+oneLine(what)+": code, prompt, command or all, or nothing for the last answer")
	}
}

func (a *app) copyPart(text, what string) {
	if text == "" {
		a.flash("there is nothing of that to copy yet")
		return
	}
	a.copy(text, what)
}

// lastText is the last message of a role that has words.
func lastText(messages []llm.Message, role llm.Role) string {
	for i := range slices.Backward(messages) {
		if text := messages[i].Text(); messages[i].Role == role && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// lastCommand is the last command that the model ran.
func lastCommand(messages []llm.Message) string {
	for i := range slices.Backward(messages) {
		for _, b := range slices.Backward(messages[i].Content) {
			c, ok := b.(llm.ToolCall)
			if !ok || c.Name != "bash" {
				continue
			}
			var args struct{ Command string }
			object, _, err := c.Object()
			if err != nil || json.Unmarshal(object, &args) != nil {
				continue // it was cut, and did not run
			}
			if args.Command != "" {
				return args.Command
			}
		}
	}
	return ""
}

// lastCode is the last fenced piece of code in a text.
func lastCode(text string) string {
	code, open, piece := "", "", strings.Builder{}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " ")
		fence := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
		switch {
		case open == "" && fence >= 3:
			open = trimmed[:fence]
			piece.Reset()
		case open != "" && strings.TrimSpace(trimmed) == open:
			code, open = piece.String(), ""
		case open != "":
			piece.WriteString(line)
		}
	}
	return code
}

func (a *app) move(dir string) {
	path, ok := a.session.Path()
	switch {
	case dir == "":
		a.say(card.Info, "Name the folder: /move ../other")
	case !ok:
		a.say(card.Warning, "There is nothing to move yet: go to the folder and start burin there.")
	case !isFolder(a.absolute(dir)):
		a.say(card.Warning, "There is no folder "+a.homePath(a.absolute(dir))+": make it first.")
	default:
		to := a.absolute(dir)
		a.say(card.Info, "burin ends here; go on with: cd "+to+" && burin --resume "+a.session.Log().ID())
		a.after(a.seen, func() { a.moveTo = [2]string{path, to}; a.quit = true })
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (a *app) dropSession(string) {
	path, ok := a.session.Path()
	if !ok {
		a.newSession("")
		return
	}
	s := a.session
	a.confirm("Delete this session?", "It goes to the trash, from which it can be taken back.", func() {
		if a.still(s) {
			a.leave(func() { a.deleteSession(path) })
		}
	})
}

// deleteSession moves a session that is closed to the trash.
func (a *app) deleteSession(path string) {
	a.task("deleting the session", func(ctx context.Context) (func(), error) {
		said, err := a.o.Host.Command(ctx, "sessions", "delete", "--yes", path)
		return func() {
			if err == nil {
				a.notice(card.Info, oneLine(said)) // it names what brings the session back
			}
			a.sayError(err)
			a.beginIfNone() // a prompt may have begun one meanwhile
		}, nil
	})
}

// workCommands are about what the model does.
func workCommands() []command {
	return []command{
		{name: "retry", aliases: []string{"again"}, help: "try again what failed or was stopped", needs: aRest, run: (*app).retry},
		{name: "init", args: "[what matters]", help: "let the model write AGENTS.md for this folder", needs: aSession, run: (*app).writeInstructions},
		{name: "btw", aliases: []string{"aside"}, args: "<question>", help: "ask beside the conversation", needs: aSession, run: (*app).aside},
		{
			name: "plan", args: "[go, compact or a prompt]", help: "plan mode on or off: the model only looks", needs: aSession, run: (*app).plan,
			complete: choices("go", "compact"),
		},
		{
			name: "mode", aliases: []string{"approval", "approvals"}, args: "[plan, ask, auto-edit or full]", help: "what runs without a question", needs: aSession, run: (*app).mode,
			complete: choices("plan", "ask", "auto-edit", "full"),
		},
		{name: "permissions", aliases: []string{"allow"}, help: "rules for calls: look, try and revoke", needs: aSession, run: (*app).openPermissions},
		{name: "tools", help: "which tools the model has", needs: aSession, run: (*app).openTools},
		{
			name: "todo", args: "[edit, done, start, drop, rm, append, export, import, copy]", help: "the list of tasks", needs: aSession, run: (*app).todoCommand,
			complete: choices("edit", "copy", "export", "import", "append", "start", "done", "drop", "rm"),
		},
		{name: "jobs", help: "commands that run in the background", needs: aSession, run: (*app).openJobs},
		{name: "undo", args: "[turn]", help: "take back what a turn changed", needs: aRest, run: (*app).openUndo},
		{name: "queue", help: "take what waits back into the prompt", needs: aSession, run: func(a *app, _ string) { a.unqueue() }},
	}
}

func (a *app) retry(string) {
	a.turn(func(ctx context.Context, s session.Handle) agent.Outcome { return s.Resend(ctx) }, nil)
}

// initWords ask for the file of instructions that agents read.
const initWords = `Write AGENTS.md in the root of this repository: what someone who never saw it must know to work in it.

Look first: the build files, scripts and CI, the layout, some code and its tests. Where AGENTS.md, CLAUDE.md, .cursorrules or the like are there, keep what still holds and mend what does not.

It says, as far as there is something to say: what this is, in a sentence or two; the exact commands to build, test, check and run it, one test alone included; where things are; rules that the code follows and that are easily broken; what is generated or must not be touched.

Write only what you have seen to be so. Leave out what every reader of the code knows anyway. A hundred lines are plenty.`

// writeInstructions has the model write AGENTS.md.
func (a *app) writeInstructions(wish string) {
	words := initWords
	if wish != "" {
		words += "\n\nIn particular: " + wish
	}
	a.deliver(&letter{text: words}) // pictures wait for the prompt that is being written
}

// aside asks beside the conversation; the answer is shown and kept nowhere.
func (a *app) aside(question string) {
	if question == "" {
		a.say(card.Info, "Write the question: /btw what does this flag mean?")
		return
	}
	s := a.session
	a.task("asking beside the conversation", func(ctx context.Context) (func(), error) {
		answer, err := s.Aside(ctx, question, nil)
		if err == nil && strings.TrimSpace(answer) == "" {
			err = errors.New("the model had nothing to say")
		}
		return func() { a.report("By the way: "+oneLine(question), answer) }, err
	})
}

func (a *app) mode(mode string) {
	if mode == "" {
		a.chooseMode()
		return
	}
	a.setMode(mode)
}

func (a *app) setMode(mode string) {
	if err := a.session.SetMode(mode); err != nil {
		a.sayError(err)
		return
	}
	a.readFacts()
}

// plan turns plan mode on or off, has the plan carried out, or asks for one.
func (a *app) plan(args string) {
	switch planning := a.session.Mode() == "plan"; {
	case args == "":
		a.togglePlan()
	case args != "go" && args != "compact":
		if !planning {
			a.togglePlan()
		}
		a.prompt(args, steerNow)
	case !planning:
		a.say(card.Info, "This is not plan mode: /plan begins it.")
	case a.work.on || a.work.busy != "":
		a.say(card.Warning, "/plan "+args+" has to wait until the work is done; "+a.keyFor(key.Interrupt)+" stops it.")
		a.giveBack(a.words)
	default:
		a.togglePlan()
		if args == "compact" {
			a.compact("Pass on the newest plan whole, word for word: it is carried out next.")
		}
		a.deliver(&letter{text: "Carry out the plan."})
	}
}

// hintPlan says, once for each time in plan mode, how to go on from a plan.
func (a *app) hintPlan() {
	if a.session.Mode() == "plan" && !a.planTold {
		a.planTold = true
		a.notice(card.Info, "Plan mode: /plan go has the plan carried out, /plan compact condenses the conversation first.")
	}
}

func (a *app) togglePlan() {
	if a.session == nil {
		return
	}
	mode := a.session.Mode()
	if mode != "plan" {
		a.beforePlan, a.planTold = mode, false
		a.setMode("plan")
		return
	}
	if a.beforePlan == "" {
		a.beforePlan = "ask"
	}
	a.setMode(a.beforePlan)
}
