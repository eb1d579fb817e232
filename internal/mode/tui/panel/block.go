package panel

import (
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool/todo"
)

// Waiting are messages that wait for their turn.
type Waiting struct {
	Steering []string // go in after the call that runs now
	FollowUp []string // go in when the work is done
	Key      string   // takes them back into the prompt, as "Alt+Up"; "" says nothing
}

// Queue gives the rows of the messages that wait: those that go in first, first.
func Queue(w Waiting, v View) []string {
	n := len(w.Steering) + len(w.FollowUp)
	if n == 0 {
		return nil
	}
	p := newPainter(v, maxQueue+2)
	shown := 0
	add := func(list []string, when string, fg theme.Token) {
		for _, text := range list[:min(len(list), maxQueue-shown)] {
			shown++
			p.add(styled.Line{
				{Text: "  " + p.sign.Arrow + " ", Look: theme.Look{Fg: fg}},
				{Text: when + " ", Look: theme.Look{Fg: theme.Dim}},
				{Text: brief(text), Look: theme.Look{Fg: theme.Text}},
			})
		}
	}
	add(w.Steering, "next:", theme.Accent)
	add(w.FollowUp, "then:", theme.Muted)
	p.more(n-shown, "message")
	if w.Key != "" {
		what := "them"
		if n == 1 {
			what = "it"
		}
		p.add(styled.Line{{Text: "  " + w.Key, Look: theme.Look{Fg: theme.Muted, Mod: theme.Bold}}, {Text: " takes " + what + " back into the prompt", Look: theme.Look{Fg: theme.Dim}}})
	}
	return p.rows
}

// Job is a command in the background.
type Job struct {
	ID, Command string
	Time        string // how long it runs, or since when
	Output      string // what it wrote last; only its end is looked at
}

// Jobs gives the rows of the jobs that run.
func Jobs(jobs []Job, v View) []string {
	if len(jobs) == 0 {
		return nil
	}
	p := newPainter(v, maxJobs+2)
	p.title("Jobs", "")
	shown := min(len(jobs), maxJobs)
	if len(jobs) == maxJobs+1 { // a row that only says that one is missing is no gain
		shown++
	}
	for _, j := range jobs[:shown] {
		l := styled.Line{
			{Text: "  " + brief(j.ID) + " ", Look: theme.Look{Fg: theme.Accent}},
			{Text: p.firstLine(j.Command), Look: theme.Look{Fg: theme.Text}},
		}
		last := lastLine(j.Output)
		// The command gives way to the time, and both to nothing else.
		l = styled.Truncate(l, max(p.Width*3/5, p.Width-14-styled.Width(last)), p.sign.Ellipsis)
		l = p.facts(l, theme.Muted, j.Time)
		p.add(p.facts(l, theme.Dim, last))
	}
	p.more(len(jobs)-shown, "job")
	return p.rows
}

// Agent is a sub-agent that works.
type Agent struct {
	ID          string
	Description string
	Task        string // is shown where there is no description
	Claim       string // the task of the shared list that it works on; "" is none
	Queued      bool
	Asks        bool // a question of it waits for the person
}

// Agents gives the rows of the sub-agents that work. tasks says how far the list is that they
// share, and key opens them; "" says nothing.
func Agents(agents []Agent, tasks, key string, v View) []string {
	if len(agents) == 0 {
		return nil
	}
	p := newPainter(v, maxAgents+2)
	queued := 0
	for i := range agents {
		if agents[i].Queued {
			queued++
		}
	}
	words := fmt.Sprintf("%s %d running", p.sign.Dot, len(agents)-queued)
	if queued > 0 {
		words += fmt.Sprintf(", %d queued", queued)
	}
	if tasks != "" {
		words += " " + p.sign.Dot + " " + tasks
	}
	if key != "" {
		words += " " + p.sign.Dot + " " + strings.ToLower(key) + " opens them"
	}
	p.title("Agents", words)
	for i := range agents[:min(len(agents), maxAgents)] {
		a := &agents[i]
		dot, about := theme.Look{Fg: theme.Accent}, theme.Look{Fg: theme.Text}
		if a.Queued {
			dot.Fg = theme.Dim
		}
		text := a.Description
		if text == "" {
			text, about.Fg = a.Task, theme.Muted
		}
		l := styled.Line{{Text: "  " + p.sign.Running + " ", Look: dot}, {Text: brief(a.ID), Look: theme.Look{Fg: theme.Text}}}
		if text != "" {
			l = append(l, styled.Span{Text: ": " + p.firstLine(text), Look: about})
		}
		var more styled.Line
		if a.Claim != "" {
			l = append(l, p.facts(nil, theme.Accent, brief(a.Claim))...)
		}
		if a.Asks {
			more = p.facts(nil, theme.Warning, "asks you")
		}
		l = styled.Truncate(l, max(p.Width/2, p.Width-more.Width()), p.sign.Ellipsis)
		p.add(append(l, more...))
	}
	if n := len(agents) - maxAgents; n > 0 {
		p.add(styled.Of(fmt.Sprintf("  +%d more", n), theme.Muted))
	}
	return p.rows
}

// firstLine is the first line of a text of others, with a sign where there are more.
func (p *painter) firstLine(text string) string {
	text = strings.Trim(text, " \n")
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return brief(text[:i]) + " " + p.sign.Ellipsis
	}
	return brief(text)
}

// Todos gives the rows of the list of tasks above the prompt: of the phase that is
// under way, five open tasks. There are none when nothing is open.
func Todos(phases []todo.Phase, v View) []string {
	var active *todo.Phase
	open := 0
	for i := range phases {
		ph := &phases[i]
		done, all := todo.Progress(phases[i : i+1])
		if n := all - done; n > 0 && (active == nil || ph.Active() && !active.Active()) {
			active, open = ph, n
		}
	}
	if active == nil {
		return nil
	}
	done, all := todo.Progress(phases)
	p := newPainter(v, openTasks+2)
	name := ""
	if len(phases) > 1 {
		name = p.sign.Dot + " " + brief(active.Name) + " "
	}
	p.title("Todos", fmt.Sprintf("%s%s %d of %d done", name, p.sign.Dot, done, all))
	p.tasks(active, open)
	return p.rows
}

func (p *painter) tasks(ph *todo.Phase, open int) {
	shown := 0
	for _, t := range ph.Tasks {
		if !t.Status.Open() {
			continue
		}
		if shown++; shown > openTasks {
			break
		}
		box, look := p.sign.TaskOpen, theme.Look{Fg: theme.Text}
		boxLook := theme.Look{Fg: theme.Muted}
		if t.Status == todo.InProgress {
			box, look.Mod, boxLook.Fg = p.sign.TaskPart, theme.Bold, theme.Accent
		}
		p.add(styled.Line{{Text: "  " + box + " ", Look: boxLook}, {Text: brief(t.Content), Look: look}})
	}
	if n := open - openTasks; n > 0 {
		p.add(styled.Of(fmt.Sprintf("  +%d more", n), theme.Muted))
	}
}

// Retrying is a request that is repeated after a while.
type Retrying struct {
	In           time.Duration
	Attempt, Max int
	Reason       string
	Key          string // stops it
}

// Retry gives the row of a retry that is coming.
func Retry(r Retrying, v View) []string {
	p := newPainter(v, 1)
	words := "retrying now"
	if s := (r.In + time.Second - 1) / time.Second; s > 0 {
		words = "retrying in " + Elapsed(s*time.Second)
	}
	l := styled.Line{{Text: words, Look: theme.Look{Fg: theme.Warning}}}
	if r.Max > 0 {
		l = append(l, styled.Span{Text: fmt.Sprintf(" (%d of %d)", r.Attempt, r.Max), Look: theme.Look{Fg: theme.Muted}})
	}
	stop := p.stop(r.Key)
	if r.Reason != "" { // the reason is cut before the key that stops it
		l = append(l, styled.Span{Text: ": " + brief(r.Reason), Look: theme.Look{Fg: theme.Muted}})
		l = styled.Truncate(l, max(p.Width*3/5, p.Width-stop.Width()), p.sign.Ellipsis)
	}
	p.add(append(l[:len(l):len(l)], stop...))
	return p.rows
}

// stop is the end of a row: the key that ends what is under way.
func (p *painter) stop(key string) styled.Line {
	if key == "" {
		return nil
	}
	return styled.Line{
		{Text: " " + p.sign.Dot + " ", Look: theme.Look{Fg: theme.Dim}},
		{Text: strings.ToLower(key), Look: theme.Look{Fg: theme.Muted, Mod: theme.Bold}},
		{Text: " stops", Look: theme.Look{Fg: theme.Dim}},
	}
}

// Work is what the model does.
type Work struct {
	Frame   int    // of the spinner
	Words   string // "Working" where empty
	Elapsed time.Duration
	Tokens  int    // written so far in this turn; 0 is not shown
	Key     string // stops it
}

// Working gives the row that says that the model works.
func Working(w Work, v View) []string {
	p := newPainter(v, 1)
	words := brief(w.Words)
	if words == "" {
		words = "Working"
	}
	l := styled.Line{{Text: Spinner(p.sign, w.Frame) + " ", Look: theme.Look{Fg: theme.Accent}}, {Text: words, Look: theme.Look{Fg: theme.Text}}}
	var tokens string
	if w.Tokens > 0 {
		tokens = prose.Tokens(w.Tokens) + " tokens"
	}
	end := append(p.facts(nil, theme.Muted, Elapsed(w.Elapsed), tokens), p.stop(w.Key)...)
	if l.Width()+end.Width() > p.Width { // the count goes before the key does
		end = append(p.facts(nil, theme.Muted, Elapsed(w.Elapsed)), p.stop(w.Key)...)
	}
	l = styled.Truncate(l, max(p.Width/3, p.Width-end.Width()), p.sign.Ellipsis)
	p.add(append(l, end...))
	return p.rows
}
