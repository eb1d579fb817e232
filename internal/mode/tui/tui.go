// Package tui is the terminal: the face most people use all day.
//
// # How it draws
//
// What is finished goes into the terminal's own scrollback, once (package screen). The
// live part below it holds what may still change: the end of an answer, calls without
// a result, then panels, the prompt and the status line. Where something asks for an
// answer, its pane stands in place of the prompt (package pane); a pane that wants the
// whole screen gets the alternate one.
//
// # How it runs
//
// One goroutine, the loop (loop.go), owns all state. It waits for keys, for what other
// goroutines post, for events of the session and for at most one timer, which runs only
// while something moves. Keys are drawn at once; events of the session at most every
// thirtieth of a second, all that came in between at once. What takes time runs beside
// the loop and ends with a post.
//
//	loop.go         waiting, drawing, the life of the program
//	event.go        what the session says; in talk.go it becomes blocks (block.go)
//	input.go        keys become actions
//	draw.go         blocks, panels, prompt and status become rows
//	command_*.go    what begins with "/"
//
// # What it is made of
//
// app conducts: it has the parts and the loop. Each part owns its fields and has what it
// needs of others in fields of its own (build.go joins them); none of them knows app. All
// of them stand on base: the loop to post to, and the ways to say something.
//
//	display     the terminal: reading keys, the screen, who else has it
//	panes       what stands in the prompt's place
//	appearance  settings, theme and status line
//	composer    the editor, its completion and history, pictures, what was not sent
//	facts       what is told around the conversation
//	work        what goes on, and what the person waits for
//	outbox      prompts on their way to the session, and what waits
//	questions   what a person has to answer
//	switcher    opens and leaves sessions; it alone changes current
//	shell       the person's own commands
//	groups      the commands, by what they are about
//
// # What is promised
//
//   - Neither a key nor a piece of an answer costs more in a long session than in a
//     short one.
//   - Nothing runs while nothing happens.
//   - The terminal is given back as it was, also after a crash (package terminal).
//   - What was typed is never lost: a prompt that could not be sent is in the editor
//     again, with the pictures that were pasted to it, and every prompt is in the history.
//   - The loop waits for no session and no disk: closing a session, and reading what a
//     prompt names, happen beside it.
package tui

import (
	"context"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Wish says which session to open.
type Wish struct {
	Resume   string    // the file of a session to go on with; "" is a new one
	Model    string    // selector; "" is as flags, settings and the session say
	Thinking llm.Level // "" the same
	Mode     string    // of permission; "" the same
	after    string    // the last entry that is shown already

	Warn func(string)
	Note func(string) // is told what is worth knowing and no reason to worry
	// Secret asks for a line that is not shown.
	Secret func(ctx context.Context, question string) (string, error)
}

// Options are what the face needs of the program around it.
type Options struct {
	Terminal *terminal.Terminal
	Getenv   func(string) string
	Settings *config.Config
	Paths    config.Paths
	Dir      string // where burin works, without symbolic links
	Home     string // of the user; "" if there is none
	Version  string
	// Changelog is what changed for users, newest first, as Markdown.
	Changelog string

	Resume bool   // the session that is opened first is one to go on with
	Choose bool   // it is chosen by the person
	Prompt string // to be sent at once; "" is none
	// OpenPage asks the desktop to show a page in the browser.
	OpenPage func(url string) error
	// Hide takes secrets out of what is kept of prompts; nil changes nothing. It is called
	// from another goroutine.
	Hide func(string) string

	// News is a line about a newer burin; "" is none. It is called once the first screen is
	// there, in a goroutine of its own; nil is never.
	News func(context.Context) string

	// Running lists the sessions that processes of this user have open. It is called in a
	// goroutine of its own; nil is none.
	Running func(context.Context) ([]owner.Running, error)

	// Open opens a session. It is called in a goroutine of its own.
	Open func(ctx context.Context, w Wish) (session.Handle, error)
	// Host is the rest of the program: what the commands of the face stand on.
	Host Host
	// Words completes what MCP servers have; nil: there are none.
	Words *host.ServerWords
	// Agents are the definitions of agents in the folder.
	Agents AgentDefinitions
	// Servers are the MCP servers of the folder.
	Servers ServerDesk
}

// Main runs the guard of the terminal if this process was started as one, and then does
// not return.
func Main() { terminal.Main() }

// Ended says what is left when the face ends.
type Ended struct {
	Last  string // the file of the session that was open last; "" if there is none
	Moved string // the file of a session that the person moved; the face begins anew in MovedTo
	// MovedTo is the folder of Moved.
	MovedTo string
	Demo    bool // the person wants to see the demo
	// Detached is set if the session shall continue in the background.
	Detached *Detached
}

// Detached is what a session did when the person sent it to the background.
type Detached struct {
	Mode    string // of approval
	Working bool   // a prompt ran or agents worked, which the end of the face interrupts
}

// Run shows the face until the person leaves.
func Run(ctx context.Context, o Options) (Ended, error) {
	a := newApp(o)
	return a.run(ctx)
}
