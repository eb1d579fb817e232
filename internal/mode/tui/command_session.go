package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
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
		{name: "session", aliases: []string{"info"}, help: "facts about this session", needs: aSession, run: (*app).sessionInfo},
		{name: "compact", args: "[what matters]", help: "condense the conversation", needs: aSession, run: (*app).compact},
		{
			name: "shake", args: "[images]", help: "take old outputs, or pictures, out of the model's sight", needs: aRest, run: (*app).shake,
			complete: choices("bulk", "images"),
		},
		{name: "handoff", args: "[what comes next]", help: "go on in a new session with a summary by the model", needs: aRest, run: (*app).handoff},
		{name: "pin", args: "<words>", help: "keep words for the model, whatever is condensed", needs: aSession, run: (*app).pin},
		{
			name: "export", args: "[file]", help: "write the session as a page, Markdown or JSON", needs: aSession, run: (*app).export,
			complete: func(a *app, arg string) []editor.Item {
				return choices("session.html", "session.md", "session.json")(a, arg)
			},
		},
		{name: "share", help: "put the session where others can see it", needs: aSession, run: (*app).share},
		{name: "dump", help: "copy the conversation as text", needs: aSession, run: (*app).dump},
		{name: "copy", args: "[code]", help: "copy the last answer, or its last piece of code", needs: aSession, run: (*app).copyAnswer, complete: choices("code")},
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
		a.askLine("Name this session", a.facts.status.Title, func(text string) { a.session.SetTitle(text) })
		return
	}
	a.session.SetTitle(title)
}

func (a *app) compact(instructions string) {
	s := a.session
	a.task("condensing the conversation", func(ctx context.Context) (func(), error) {
		return nil, s.Compact(ctx, instructions)
	})
}

func (a *app) shake(kind string) {
	s := a.session
	a.task("taking out old outputs", func(ctx context.Context) (func(), error) {
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

func (a *app) export(file string) {
	args := []string{"sessions", "export", a.session.Log().ID()}
	if file != "" {
		args = append(args, "-o", a.absolute(file))
	}
	a.runCommand("exporting the session", "Written: ", args...)
}

func (a *app) share(string) {
	a.confirm("Share this session?", "Everybody who has the address can read it. Secrets are hidden once more.", func() {
		a.runCommand("sharing the session", "Shared: ", "sessions", "share", "--yes", a.session.Log().ID())
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
	a.task("collecting the conversation", func(ctx context.Context) (func(), error) {
		out, err := a.o.Host.Command(ctx, "sessions", "export", a.session.Log().ID(), "--format", "md", "-o", "-")
		return func() { a.copy(out, "the conversation") }, err
	})
}

// copyAnswer copies what the model said last.
func (a *app) copyAnswer(what string) {
	text := ""
	for _, m := range a.session.Messages() {
		if m.Role == llm.RoleAssistant && strings.TrimSpace(m.Text()) != "" {
			text = m.Text()
		}
	}
	if what == "code" {
		text = lastCode(text)
	}
	if text == "" {
		a.flash("there is nothing to copy yet")
		return
	}
	a.copy(text, "the answer")
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
	default:
		to := a.absolute(dir)
		a.say(card.Info, "burin ends here; go on with: cd "+to+" && burin --resume "+a.session.Log().ID())
		a.after(a.seen, func() { a.moveTo = [2]string{path, to}; a.quit = true })
	}
}

func (a *app) dropSession(string) {
	path, ok := a.session.Path()
	if !ok {
		a.newSession("")
		return
	}
	a.confirm("Delete this session?", "It goes to the trash; burin sessions restore brings it back.", func() {
		a.leave()
		a.task("deleting the session", func(ctx context.Context) (func(), error) {
			_, err := a.o.Host.Command(ctx, "sessions", "delete", "--yes", path)
			return func() {
				a.notice(card.Info, "The session is in the trash.")
				a.open(Wish{})
			}, err
		})
	})
}

// workCommands are about what the model does.
func workCommands() []command {
	return []command{
		{name: "retry", aliases: []string{"again"}, help: "answer the last prompt once more", needs: aRest, run: (*app).retry},
		{name: "btw", aliases: []string{"aside"}, args: "<question>", help: "ask beside the conversation", needs: aSession, run: (*app).aside},
		{name: "plan", help: "plan mode on or off: the model only looks", needs: aSession, run: func(a *app, _ string) { a.togglePlan() }},
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
	a.turn(func(ctx context.Context, s session.Handle) agent.Outcome { return s.Resend(ctx) }, "")
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

func (a *app) togglePlan() {
	if a.session == nil {
		return
	}
	mode := a.session.Mode()
	if mode != "plan" {
		a.beforePlan = mode
		a.setMode("plan")
		return
	}
	if a.beforePlan == "" {
		a.beforePlan = "ask"
	}
	a.setMode(a.beforePlan)
}
