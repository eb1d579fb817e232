package tui

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/status"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// facts are what is told around the conversation. They are read when something happens,
// never by time.
type facts struct {
	status status.Facts
	line   *status.Line
	model  *llm.Model // that is in use; nil: none is known
	cache  *session.CacheInfo
	todos  []card.Phase
	jobs   []session.Job
}

func (f *facts) init(o Options) {
	f.status.Dir, f.status.Home = o.Dir, o.Home
	f.status.Hostname, _ = os.Hostname() // without a name it is not shown
	f.status.Started = time.Now()
}

// readFacts reads the figures of the session.
func (a *app) readFacts() {
	s := a.session
	if s == nil {
		return
	}
	f := &a.facts.status
	f.Stats, f.Mode, f.SessionID = s.Stats(), s.Mode(), s.Log().ID()
	a.facts.model = s.Model()
	if len(a.facts.jobs) > 0 { // what they wrote last
		a.readJobs()
	}
	a.dirty = true
}

// readTodos reads the list of tasks.
func (a *app) readTodos() {
	a.facts.todos = nil
	if a.session == nil {
		return
	}
	a.facts.todos = cardPhases(a.session.Todos())
	a.dirty = true
}

// readJobs reads what runs in the background.
func (a *app) readJobs() {
	a.facts.jobs = nil
	if a.session == nil {
		return
	}
	for _, j := range a.session.Jobs() {
		if j.Running {
			a.facts.jobs = append(a.facts.jobs, j)
		}
	}
	a.facts.status.Jobs = len(a.facts.jobs)
	a.dirty = true
}

// statusRows are the status line, or a hint in its place.
func (a *app) statusRows(width int, now time.Time) []string {
	if a.hint.text != "" {
		return []string{a.cut(styled.Of(styled.Inline(a.hint.text), theme.Warning), max(width-1, 1))}
	}
	if a.show.screenReader || a.facts.line == nil {
		return nil
	}
	a.facts.status.Now = now
	row := a.facts.line.Render(&a.facts.status, a.env.Styles, width)
	if row == "" {
		return nil
	}
	return []string{row}
}

// panels appends what stands between the conversation and the prompt.
func (a *app) panels(rows []string, width int, now time.Time) []string {
	v := panel.View{Width: width, Styles: a.env.Styles}
	rows = append(rows, panel.Todos(a.facts.todos, v)...)
	if len(a.facts.jobs) > 0 {
		jobs := make([]panel.Job, 0, len(a.facts.jobs))
		for _, j := range a.facts.jobs {
			ran := sinceWords(j.Started, now)
			if a.moving() {
				ran = panel.Elapsed(now.Sub(j.Started))
			}
			jobs = append(jobs, panel.Job{ID: j.ID, Command: j.Command, Time: ran, Output: j.LastLine})
		}
		rows = append(rows, panel.Jobs(jobs, v)...)
	}
	w := panel.Waiting{Steering: a.queue.steering, FollowUp: a.queue.followUps, Key: a.keyFor("app.message.dequeue")}
	if len(a.waiting) > 0 {
		w.Steering = slices.Concat(w.Steering, a.waiting)
	}
	rows = append(rows, panel.Queue(w, v)...)
	return a.working(rows, v, now)
}

// sinceWords say when something began that goes on. They stay true while nothing is drawn,
// as a span of time does not.
func sinceWords(began, now time.Time) string {
	began, now = began.Local(), now.Local()
	if began.Format(time.DateOnly) != now.Format(time.DateOnly) {
		return "since " + began.Format("2 Jan 15:04")
	}
	return "since " + began.Format("15:04")
}

// working appends the line that says that something runs.
func (a *app) working(rows []string, v panel.View, now time.Time) []string {
	stop := a.keyFor("app.interrupt")
	switch r := a.work.retry; {
	case r != nil:
		return append(rows, panel.Retry(panel.Retrying{
			In: max(a.work.retryAt.Sub(now), 0), Attempt: r.Attempt, Max: r.Max, Reason: r.Error, Key: stop,
		}, v)...)
	case a.work.busy != "":
		return append(rows, a.workRows(panel.Work{Frame: a.spinFrame(now), Words: sentence(a.work.busy), Elapsed: now.Sub(a.work.since), Key: stop}, v)...)
	case a.work.on && len(a.asks) > 0:
		return rows // a question says enough
	case a.work.on:
		words := "Working"
		if a.work.condensing {
			words = "Condensing the conversation"
		}
		written := a.facts.status.Usage.Output - a.work.before.Usage.Output
		return append(rows, a.workRows(panel.Work{Frame: a.spinFrame(now), Words: words, Elapsed: now.Sub(a.work.began), Tokens: written, Key: stop}, v)...)
	case a.opening && a.env.Now().Sub(a.openSince) > time.Second:
		return append(rows, a.workRows(panel.Work{Words: "Opening the session", Elapsed: now.Sub(a.openSince), Frame: a.spinFrame(now)}, v)...)
	}
	return rows
}

// workRows say that something runs. A screen reader is not told of signs that turn, nor
// of seconds.
func (a *app) workRows(w panel.Work, v panel.View) []string {
	if !a.show.screenReader {
		return panel.Working(w, v)
	}
	words := w.Words
	if w.Key != "" {
		words += ", " + w.Key + " stops it"
	}
	return []string{a.cut(styled.Of(words, theme.Text), v.Width)}
}

func (a *app) spinFrame(now time.Time) int {
	return int(now.UnixMilli() / spinTime.Milliseconds() % 1000)
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// borderToken is the colour of the prompt's border.
func (a *app) borderToken() theme.Token {
	return status.Border(status.Prompt{
		Level: a.facts.status.Thinking, Bash: a.promptSign() == "!", Plan: a.facts.status.Mode == "plan",
	})
}

// promptSign stands before the prompt.
func (a *app) promptSign() string {
	if strings.HasPrefix(a.editor.Line(), "!") {
		return "!"
	}
	if a.env.Styles.Symbols().Arrow == "->" {
		return ">"
	}
	return "›"
}

// promptLabel stands in the border: what is different from every day.
func (a *app) promptLabel() string {
	var parts []string
	switch a.facts.status.Mode {
	case "plan":
		parts = append(parts, "plan mode")
	case "full":
		parts = append(parts, "full access")
	}
	if n := len(a.attached); n > 0 {
		parts = append(parts, counted(n, "picture", "pictures"))
	}
	return strings.Join(parts, a.dot())
}

// homePath is a path with "~" for the home folder.
func (a *app) homePath(path string) string {
	if rest, ok := strings.CutPrefix(path, a.o.Home); ok && a.o.Home != "" && (rest == "" || rest[0] == os.PathSeparator) {
		return "~" + rest
	}
	return path
}
