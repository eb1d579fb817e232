package tui

import (
	"os"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/status"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/todo"
)

// facts are what is told around the conversation. They are read when something happens,
// never by time.
type facts struct {
	*base
	*current
	show   *appearance
	repo   *status.Repo
	status status.Facts
	model  *llm.Model // that is in use; nil: none is known
	cache  *session.CacheInfo
	todos  []todo.Phase
	// shownTodos are todos, with those in progress that agents work on.
	shownTodos []todo.Phase
	jobs       []session.Job
	agents     agentList
	shared     sharedTasks
	told       func() // is called when they have changed
}

func newFacts(b *base, now *current, show *appearance) *facts {
	fs := &facts{base: b, current: now, show: show}
	fs.status.Dir, fs.status.Home = b.dir, b.home
	fs.status.Hostname, _ = os.Hostname() // without a name it is not shown
	fs.status.Started = time.Now()
	return fs
}

// watch begins to look at the repository.
func (fs *facts) watch() {
	fs.repo = status.NewRepo(fs.dir, func(g git.Status) {
		fs.inbox.post(func() { fs.status.Git = g; fs.told() })
	})
}

// read reads the figures of the session.
func (fs *facts) read() {
	s := fs.session
	if s == nil {
		return
	}
	f := &fs.status
	f.Stats, f.Mode, f.SessionID = s.Stats(), s.Mode(), s.Log().ID()
	fs.model = s.Facts().Model
	if len(fs.jobs) > 0 { // what they wrote last
		fs.readJobs()
	}
	fs.dirty = true
	fs.told()
}

// readGoal reads what the session works toward.
func (fs *facts) readGoal() {
	var g session.Goal
	if fs.session != nil {
		g = fs.session.Goal()
	}
	fs.goalChanged(g)
}

// goalChanged takes the goal as it is now.
func (fs *facts) goalChanged(g session.Goal) {
	fs.status.Goal, fs.status.GoalFrom = g, fs.status.Cost
	fs.told()
}

// readTodos reads the list of tasks.
func (fs *facts) readTodos() {
	fs.todos = nil
	if fs.session != nil {
		fs.todos = fs.session.Todos()
	}
	fs.markTodos()
}

// markTodos shows which tasks agents work on.
func (fs *facts) markTodos() {
	fs.shownTodos = todo.Begin(fs.todos, fs.agents.at()...)
	fs.dirty = true
}

// readAgents reads the sub-agents of the session.
func (fs *facts) readAgents() {
	var all []session.Agent
	if fs.session != nil {
		all = fs.session.SubAgents()
	}
	fs.agents.set(all)
	fs.countAgents()
	fs.readShared()
}

// readShared reads the tasks that the session shares with its agents.
func (fs *facts) readShared() {
	fs.shared = nil
	if fs.session != nil {
		fs.shared = asks(fs.session, fs.session.Agents().Tasks)
	}
	fs.dirty = true
}

// agentChanged takes a sub-agent as it is now.
func (fs *facts) agentChanged(a *session.Agent) {
	before, _ := fs.agents.get(a.ID)
	fs.agents.put(a)
	if a.Requests != before.Requests { // the session has paid for them
		fs.read()
	}
	fs.countAgents()
}

func (fs *facts) countAgents() {
	if n := len(fs.agents.active); n != fs.status.Subagents {
		fs.status.Subagents = n
		fs.told()
	}
	fs.markTodos()
}

// readJobs reads which commands run in the background. Agents have a list of their own.
func (fs *facts) readJobs() {
	fs.jobs = nil
	if fs.session == nil {
		return
	}
	for _, j := range fs.session.Background() {
		if j.Running && j.Agent == "" {
			fs.jobs = append(fs.jobs, j)
		}
	}
	fs.status.Jobs = len(fs.jobs)
	fs.dirty = true
}

// statusRows are the status line, or a hint in its place, which may need a few.
func (fs *facts) statusRows(width, height int, now time.Time) []string {
	if fs.hint.text != "" {
		return fs.hintRows(max(width-1, 1), min(max(height/8, 1), 3))
	}
	if fs.show.screenReader || fs.show.line == nil {
		return nil
	}
	fs.status.Now = now
	row := fs.show.line.Render(&fs.status, fs.env.Styles, width)
	if row == "" {
		return nil
	}
	return []string{row}
}

// hintRows are the hint in at most so many rows.
func (fs *facts) hintRows(width, most int) (rows []string) {
	lines := styled.Wrap(nil, styled.Of(prose.Inline(fs.hint.text), theme.Warning), width, nil, nil)
	for _, l := range lines[min(most, len(lines)):] { // what is too much is cut
		lines[most-1] = append(append(lines[most-1], styled.Span{Text: " "}), l...)
	}
	for _, l := range lines[:min(most, len(lines))] {
		rows = append(rows, fs.cut(l, width))
	}
	return rows
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

// spinFrame is which sign of those that turn is shown.
func spinFrame(now time.Time) int {
	return int(now.UnixMilli() / spinTime.Milliseconds() % 1000)
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
