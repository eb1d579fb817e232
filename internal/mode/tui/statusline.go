package tui

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/prose"
)

// lineTime is the least time between two starts of the status line's command.
const lineTime = 300 * time.Millisecond

// lineCommand runs the person's command for the status line when the facts have changed: one
// at a time, and never more often than every lineTime. Nothing runs while nothing happens.
type lineCommand struct {
	*base
	*current
	facts   *facts
	show    *appearance
	host    Host
	version string

	running bool
	again   bool      // the facts have changed since
	began   time.Time // the last one
	said    string    // what was wrong with the last one
}

// refresh has the command run, now or soon.
func (lc *lineCommand) refresh() {
	command := lc.show.config.StatusLine.Command
	if command == "" || lc.session == nil || lc.show.screenReader {
		lc.facts.status.Command = ""
		return
	}
	if lc.running {
		lc.again = true
		return
	}
	lc.running, lc.again = true, false
	wait := lineTime - lc.env.Now().Sub(lc.began)
	if wait <= 0 {
		lc.run()
		return
	}
	time.AfterFunc(wait, func() { lc.inbox.post(lc.run) })
}

// run runs the command, with the facts and the settings as they are now.
func (lc *lineCommand) run() {
	command, of := lc.show.config.StatusLine.Command, lc.session
	if command == "" || of == nil {
		lc.running = false
		return
	}
	lc.began, lc.again = lc.env.Now(), false
	input, err := json.Marshal(lc.input())
	go func() {
		var line string
		if err == nil {
			line, err = lc.host.StatusLine(lc.ctx, command, input)
		}
		lc.inbox.post(func() {
			lc.running = false
			if of == lc.session {
				lc.take(line, err)
			}
			if lc.again {
				lc.refresh()
			}
		})
	}()
}

// take shows what the command has said. What is wrong with it is said once.
func (lc *lineCommand) take(line string, err error) {
	words := ""
	if err != nil && lc.ctx.Err() == nil {
		words = "statusLine.command: " + prose.Line(err.Error())
	}
	if words != lc.said && words != "" {
		lc.notice(card.Warning, words)
	}
	lc.said = words
	lc.facts.status.Command = line
	lc.dirty = true
}

// lineInput is what the command reads: the names are those of Claude Code, whose commands work.
type lineInput struct {
	Event      string `json:"hook_event_name"`
	SessionID  string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	Title      string `json:"session_name,omitempty"`
	Dir        string `json:"cwd"`
	Version    string `json:"version"`
	Mode       string `json:"permission_mode"`
	Thinking   string `json:"thinking,omitempty"`
	Model      struct {
		ID   string `json:"id"`
		Name string `json:"display_name"`
	} `json:"model"`
	Workspace struct {
		Current string `json:"current_dir"`
		Project string `json:"project_dir"`
	} `json:"workspace"`
	Cost struct {
		Dollars  *float64 `json:"total_cost_usd"` // null: a price is not known
		Duration int64    `json:"total_duration_ms"`
	} `json:"cost"`
	Window struct {
		Input     int `json:"total_input_tokens"`
		Output    int `json:"total_output_tokens"`
		Size      int `json:"context_window_size"`
		Used      int `json:"used_percentage"`
		Remaining int `json:"remaining_percentage"`
	} `json:"context_window"`
	Git struct {
		Branch  string `json:"branch"`
		Changed int    `json:"changed"`
	} `json:"git"`
}

// input tells what is known.
func (lc *lineCommand) input() (in lineInput) {
	f := &lc.facts.status
	in.Event, in.SessionID, in.Title, in.Dir, in.Version, in.Mode = "Status", f.SessionID, f.Title, lc.dir, lc.version, f.Mode
	in.Transcript, _ = lc.session.Path()
	in.Thinking = string(f.Thinking)
	in.Model.ID = f.Model[strings.IndexByte(f.Model, '/')+1:]
	in.Model.Name = in.Model.ID
	if m := lc.facts.model; m != nil && m.Name != "" {
		in.Model.Name = m.Name
	}
	in.Workspace.Current, in.Workspace.Project = lc.dir, lc.dir
	if dollars := f.Cost.Float(); f.Known {
		in.Cost.Dollars = &dollars
	}
	in.Cost.Duration = lc.env.Now().Sub(f.Started).Milliseconds()
	in.Window.Input, in.Window.Output, in.Window.Size = f.Usage.Prompt(), f.Usage.Output, f.Window
	if f.Window > 0 {
		in.Window.Used = int(int64(f.Context) * 100 / int64(f.Window))
		in.Window.Remaining = max(0, 100-in.Window.Used)
	}
	in.Git.Branch, in.Git.Changed = f.Git.Branch, f.Git.Staged+f.Git.Modified+f.Git.Untracked+f.Git.Conflicts
	return in
}
