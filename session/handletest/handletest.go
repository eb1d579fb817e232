// Package handletest is the suite that every [session.Handle] passes: that of a session in
// the same process, and that of a client of another.
package handletest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript"
)

// Open returns a handle of a session, for a face of that name.
type Open func(t *testing.T, s *session.Session, name string, answers bool) session.Handle

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*rig){
		"a prompt":            (*rig).prompt,
		"a retry is harmless": (*rig).retry,
		"the queue":           (*rig).queue,
		"undoing":             (*rig).takeBack,
		"stopping":            (*rig).stopping,
		"questions":           (*rig).questions,
		"terminals":           (*rig).consoles,
		"errors":              (*rig).errors,
		"the transcript":      (*rig).transcript,
		"settings":            (*rig).settings,
		"policies":            (*rig).policies,
		"no more attempts":    (*rig).abortRetry,
		"custom messages":     (*rig).custom,
		"a command":           (*rig).command,
		"an aside":            (*rig).aside,
		"events again":        (*rig).again,
		"the end":             (*rig).end,
	} {
		t.Run(name, func(t *testing.T) { test(&rig{T: t, open: open}) })
	}
}

type rig struct {
	*testing.T
	open Open
	s    *session.Session
	h    session.Handle
	ctx  context.Context
}

// start begins a session over a scripted model, with a handle that answers questions.
func (r *rig) start(change func(*session.Options), turns ...llmtest.Turn) {
	r.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(srv.Close)
	log, err := transcript.Create(new(transcript.Memory), transcript.Header{CWD: "/work"}, transcript.Options{})
	if err != nil {
		r.Fatal(err)
	}
	o := session.Options{
		Client:  anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: srv.URL}}),
		Request: llm.Request{Model: &llm.Model{ID: "m", Provider: "anthropic", API: llm.APIAnthropic, ContextWindow: 200_000, MaxOutput: 1000}},
		Log:     log, Retry: session.Retry{Off: true},
	}
	if change != nil {
		change(&o)
	}
	if r.s, err = session.New(o); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = r.s.Close() }) // it may have been closed
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithTimeout(r.Context(), 30*time.Second)
	r.Cleanup(cancel)
	r.h = r.open(r.T, r.s, "first", true)
}

func say(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }

// gated is an answer that waits; asked is closed when the model was asked.
func gated(text string) (turn llmtest.Turn, asked chan struct{}, free func()) {
	asked, gate := make(chan struct{}), make(chan struct{})
	return llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
		close(asked)
		<-gate
		return llmtest.Say(text)
	}}, asked, func() { close(gate) }
}

func (r *rig) submit(text string, when session.When) session.Receipt {
	r.Helper()
	got, err := r.h.Conversation().Submit(r.ctx, session.Input{Message: llm.UserText(text), When: when})
	if err != nil {
		r.Fatal(err)
	}
	return got
}

func (r *rig) wait(id string, want agent.Reason) agent.Outcome {
	r.Helper()
	out, err := r.h.Conversation().Wait(r.ctx, id)
	if err != nil || out.Reason != want {
		r.Fatalf("%s ended with %q, %v, %v; want %q", id, out.Reason, out.Err, err, want)
	}
	return out
}

// until reads events up to one of a type.
func (r *rig) until(f session.Feed, typ agent.EventType) (all []session.Event) {
	r.Helper()
	for {
		e, err := f.Next(r.ctx)
		if err != nil {
			r.Fatalf("waiting for %s: %v", typ, err)
		}
		if all = append(all, e); e.Type == typ {
			return all
		}
	}
}

func check[T any](r *rig) func(v T, err error) T {
	return func(v T, err error) T {
		r.Helper()
		if err != nil {
			r.Fatal(err)
		}
		return v
	}
}

func (r *rig) fine(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) same(what string, want, got any) {
	r.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(transcript.Entry{}, "Raw")); diff != "" {
		r.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (r *rig) prompt() {
	r.start(nil, say("Hello there."))
	f := r.h.Events(session.Cursor{})
	before := r.h.Facts()
	got := r.submit("hi", session.Soon)
	if got.ID == "" || !got.Started || got.Again {
		r.Errorf("the receipt is %+v", got)
	}
	out := r.wait(got.ID, agent.ReasonDone)
	if len(out.Messages) != 1 || out.Messages[0].Text() != "Hello there." || out.Turns != 1 {
		r.Errorf("the outcome is %+v", out)
	}
	text, ends, starts := "", 0, 0
	for _, e := range r.until(f, session.AgentSettled) {
		switch e.Type {
		case agent.AgentStart:
			starts++
			if e.Turn != got.ID {
				r.Errorf("the run is of %q", e.Turn)
			}
		case agent.MessageEnd:
			if e.EntryID == "" {
				r.Error("a message without its entry")
			}
			text += e.Message.Text() + ";"
		case session.AgentSettled:
			ends++
			r.same("settled", &session.SettledTurn{IDs: []string{got.ID}, Reason: agent.ReasonDone}, e.Data)
		}
	}
	if text != "hi;Hello there.;" || starts != 1 || ends != 1 {
		r.Errorf("it said %q, began %d times and ended %d times", text, starts, ends)
	}
	after := r.h.Facts()
	if after.Stats.Requests != before.Stats.Requests+1 || after.Stats.Entries <= before.Stats.Entries || after.Working || after.Model.Ref() != "anthropic/m" || after.ID != before.ID {
		r.Errorf("facts before %+v, after %+v", before, after)
	}
}

func (r *rig) retry() {
	turn, asked, free := gated("once")
	r.start(nil, turn)
	in := session.Input{ID: "mine", Message: llm.UserText("hi")}
	check[session.Receipt](r)(r.h.Conversation().Submit(r.ctx, in))
	<-asked
	for range 2 {
		got := check[session.Receipt](r)(r.h.Conversation().Submit(r.ctx, in))
		r.same("again", session.Receipt{ID: "mine", Again: true}, got)
	}
	free()
	r.wait("mine", agent.ReasonDone)
	got := check[session.Receipt](r)(r.h.Conversation().Submit(r.ctx, in))
	if !got.Again || r.h.Facts().Stats.Requests != 1 {
		r.Errorf("after the end: %+v, %d requests", got, r.h.Facts().Stats.Requests)
	}
}

func (r *rig) queue() {
	turn, asked, free := gated("one")
	r.start(nil, turn, say("two"), say("three"))
	f := r.h.Events(session.Cursor{})
	first := r.submit("work", session.Soon)
	<-asked
	after, now := r.submit("then", session.After), r.submit("also", session.Soon)
	if after.Started || now.Started {
		r.Errorf("receipts %+v, %+v", after, now)
	}
	want := session.Queued{Steering: []session.Waiting{{ID: now.ID, Text: "also", By: "first"}}, FollowUps: []session.Waiting{{ID: after.ID, Text: "then", By: "first"}}}
	r.same("what waits", want, check[session.Queued](r)(r.h.Queue().Waiting(r.ctx)))
	for n := 0; n < 2; { // the queue is told of as it is then, which may be later than the messages came
		seen := r.until(f, session.QueueChanged)
		q := seen[len(seen)-1].Data.(*session.Queued)
		n = len(q.Steering) + len(q.FollowUps)
	}
	free()
	for _, id := range []string{first.ID, now.ID, after.ID} {
		r.wait(id, agent.ReasonDone)
	}
	var settled []string
	told := -1
	for len(settled) < 3 {
		for _, e := range r.until(f, session.AgentSettled) {
			switch d := e.Data.(type) {
			case *session.SettledTurn:
				settled = append(settled, d.IDs...)
			case *session.Queued:
				told = len(d.Steering) + len(d.FollowUps)
			}
		}
	}
	slices.Sort(settled)
	all := []string{first.ID, now.ID, after.ID}
	slices.Sort(all)
	r.same("settled", all, settled)
	if told != 0 {
		r.Errorf("the queue had %d messages in the end", told)
	}
}

func (r *rig) takeBack() {
	turn, asked, free := gated("one")
	r.start(func(o *session.Options) {
		o.Expand = func(_ context.Context, text string) (string, error) {
			return strings.ReplaceAll(text, "/x", "expanded"), nil
		}
	}, turn)
	first := r.submit("work", session.Soon)
	<-asked
	picture := llm.Image{MIME: "image/png", Data: []byte("picture")}
	m := llm.UserText("/x and a picture")
	m.Content = append(m.Content, picture)
	check[session.Receipt](r)(r.h.Conversation().Submit(r.ctx, session.Input{ID: "two", Message: m, When: session.After}))
	waits := check[session.Queued](r)(r.h.Queue().Waiting(r.ctx))
	if len(waits.FollowUps) != 1 || waits.FollowUps[0].Text != "/x and a picture" || waits.FollowUps[0].Attached != 1 {
		r.Errorf("what waits: %+v", waits)
	}
	back := check[[]session.Input](r)(r.h.Queue().TakeBack(r.ctx))
	if len(back) != 1 || back[0].ID != "two" || back[0].When != session.After || !cmp.Equal(back[0].Message.Content, m.Content) {
		r.Errorf("taken back: %+v", back)
	}
	if out := r.wait("two", agent.ReasonAborted); !errors.Is(out.Err, session.ErrUnsent) {
		r.Errorf("it ended with %v", out.Err)
	}
	free()
	r.wait(first.ID, agent.ReasonDone)
}

func (r *rig) stopping() {
	turn, asked, free := gated("never")
	defer free()
	r.start(nil, turn, say("later"), say("last"))
	first := r.submit("work", session.Soon)
	<-asked
	second := r.submit("then", session.After)
	r.fine(r.h.Conversation().Abort(r.ctx))
	out := r.wait(first.ID, agent.ReasonAborted)
	if llm.KindOf(out.Err) != llm.ErrAborted {
		r.Errorf("it ended with %v", out.Err)
	}
	if waits := check[session.Queued](r)(r.h.Queue().Waiting(r.ctx)); !waits.Held || len(waits.FollowUps) != 1 {
		r.Errorf("what waits: %+v", waits)
	}
	r.fine(r.h.Queue().Release(r.ctx))
	r.wait(second.ID, agent.ReasonDone)
}

// typewriter is a terminal that writes what is typed, in capital letters.
type typewriter struct {
	out  io.Writer
	size chan [2]int
	stop context.CancelFunc
}

func (t *typewriter) Write(p []byte) (int, error) { return t.out.Write(bytes.ToUpper(p)) }
func (t *typewriter) Resize(cols, rows int) error { t.size <- [2]int{cols, rows}; return nil }
func (t *typewriter) Stop()                       { t.stop() }

func (r *rig) consoles() {
	desk := session.NewDesk(session.DeskOptions{})
	size := make(chan [2]int, 1)
	login := tool.New(tool.Definition[struct{}]{Name: "login", Run: func(ctx context.Context, c tool.Call, _ struct{}) (*tool.Result, error) {
		if !desk.Screens.CanShow() {
			return nil, errors.New("nobody sees it")
		}
		ctx, stop := context.WithCancel(ctx)
		t := &typewriter{size: size, stop: stop}
		out := desk.Screens.Show(c.ID, "login", t)
		t.out = out
		_, _ = io.WriteString(out, "name? \x1b[1m\xff")
		<-ctx.Done()
		return tool.Text("stopped"), out.Close()
	}})
	r.start(func(o *session.Options) { o.Desk, o.Tools = desk, []*tool.Tool{login} }, llmtest.Turn{Parts: []llmtest.Part{{Call: "login", Args: "{}"}}}, say("done"))
	second := r.open(r.T, r.s, "second", true)
	here, there := r.h.Events(session.Cursor{}), second.Events(session.Cursor{})
	id := r.submit("go", session.Soon).ID
	opened := r.until(here, session.ConsoleOpened)
	r.until(there, session.ConsoleOpened)
	c := opened[len(opened)-1].Data.(*session.Console)
	if c.Command != "login" || c.CallID == "" {
		r.Errorf("the program is %+v", c)
	}
	r.same("open", []session.Console{*c}, check[[]session.Console](r)(second.Consoles().List(r.ctx)))
	wrote, followed := make(chan string, 100), make(chan error, 1)
	go func() {
		followed <- second.Consoles().Follow(r.ctx, c.ID, func(b []byte) error { wrote <- string(b); return nil })
	}()
	all := ""
	until := func(want string) {
		for all != want {
			select {
			case b := <-wrote:
				all += b
			case <-r.ctx.Done():
				r.Fatalf("it wrote %q, want %q", all, want)
			}
		}
	}
	until("name? \x1b[1m\xff") // what came before, byte by byte
	r.fine(r.h.Consoles().Type(r.ctx, c.ID, []byte("ada\r")))
	until("name? \x1b[1m\xffADA\r")
	r.fine(second.Consoles().Resize(r.ctx, c.ID, 100, 30))
	r.same("the size", [2]int{100, 30}, <-size)
	if err := second.Consoles().Resize(r.ctx, c.ID, 0, 30); err == nil {
		r.Error("a terminal without columns")
	}
	broken := errors.New("the face is gone")
	if err := second.Consoles().Follow(r.ctx, c.ID, func([]byte) error { return broken }); !errors.Is(err, broken) {
		r.Errorf("a reader that fails: %v", err)
	}
	r.fine(second.Consoles().Stop(r.ctx, c.ID))
	r.until(here, session.ConsoleClosed)
	if err := <-followed; err != nil {
		r.Errorf("at the end: %v", err)
	}
	if err := r.h.Consoles().Type(r.ctx, c.ID, []byte("x")); !errors.Is(err, session.ErrNoProgram) {
		r.Errorf("typed into nothing: %v", err)
	}
	r.wait(id, agent.ReasonDone)
}

func (r *rig) questions() {
	desk := session.NewDesk(session.DeskOptions{})
	answers := make(chan session.Reply, 4)
	ask := tool.New(tool.Definition[struct{}]{Name: "ask", Run: func(ctx context.Context, c tool.Call, _ struct{}) (*tool.Result, error) {
		reply, err := desk.Ask(ctx, session.Question{Kind: session.AskPermission, CallID: c.ID, Permission: &permit.Question{
			Request:  permit.Request{Tool: "bash", Access: []tool.Access{{Kind: tool.AccessExecute, Target: "make"}}},
			Decision: permit.Decision{Verdict: permit.Ask, Offers: []permit.Offer{{Rules: []permit.Rule{{Tool: "bash", Pattern: "make:*", Verdict: permit.Allow}}, Scopes: []permit.Scope{permit.Session}}}},
		}})
		answers <- reply
		return tool.Text("ok"), err
	}})
	call := llmtest.Turn{Parts: []llmtest.Part{{Call: "ask", Args: "{}"}}}
	r.start(func(o *session.Options) { o.Desk, o.Tools = desk, []*tool.Tool{ask} }, call, say("done"), call, say("done"))
	second := r.open(r.T, r.s, "second", true)
	here, there := r.h.Events(session.Cursor{}), second.Events(session.Cursor{})
	id := r.submit("go", session.Soon).ID
	asked := r.until(here, session.QuestionAsked)
	r.until(there, session.QuestionAsked)
	q := asked[len(asked)-1].Data.(*session.Question)
	r.same("open", []session.Question{*q}, check[[]session.Question](r)(second.Questions().Open(r.ctx)))
	if q.Permission == nil || q.Permission.Request.Access[0].Target != "make" || q.CallID == "" {
		r.Errorf("the question is %+v", q)
	}
	reply := session.Reply{Permission: &permit.Answer{Allow: true, Grant: q.Permission.Decision.Offers[0].Rules}}
	r.fine(second.Questions().Answer(r.ctx, q.ID, reply))
	if err := r.h.Questions().Answer(r.ctx, q.ID, session.Reply{}); !errors.Is(err, session.ErrSettled) {
		r.Errorf("the second answer: %v", err)
	}
	r.same("the answer", reply, <-answers)
	for _, f := range []session.Feed{here, there} {
		settled := r.until(f, session.QuestionSettled)
		r.same("settled", &session.Settled{ID: q.ID, How: session.Answered, By: "second", Reply: &reply}, settled[len(settled)-1].Data)
	}
	r.wait(id, agent.ReasonDone)
	id = r.submit("again", session.Soon).ID
	r.until(here, session.QuestionAsked)
	r.fine(r.h.Conversation().Abort(r.ctx))
	settled := r.until(here, session.QuestionSettled)
	if d := settled[len(settled)-1].Data.(*session.Settled); d.How != session.Withdrawn {
		r.Errorf("a question of a run that was stopped: %+v", d)
	}
	r.wait(id, agent.ReasonAborted)
}

func (r *rig) errors() {
	r.start(func(o *session.Options) {
		o.Expand = func(_ context.Context, text string) (string, error) {
			if text == "/bad" {
				return "", errors.New("unknown command bad")
			}
			return text, nil
		}
	}, say("fine"), llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "no"}}})
	if _, err := r.h.Conversation().Submit(r.ctx, session.Input{Message: llm.UserText("/bad")}); err == nil || !strings.Contains(err.Error(), "unknown command bad") {
		r.Errorf("a command that is not there: %v", err)
	}
	r.wait(r.submit("hi", session.Soon).ID, agent.ReasonDone)
	got := check[session.Receipt](r)(r.h.Conversation().Resend(r.ctx))
	if out := r.wait(got.ID, agent.ReasonError); !errors.Is(out.Err, session.ErrAnswered) {
		r.Errorf("nothing to answer again: %v", out.Err)
	}
	out := r.wait(r.submit("more", session.Soon).ID, agent.ReasonError)
	var e *llm.Error
	if !errors.As(out.Err, &e) || e.Kind != llm.ErrAuth || e.Status != 401 {
		r.Errorf("the model's error is %v", out.Err)
	}
	if _, err := r.h.Conversation().Wait(r.ctx, "nobody's"); err == nil {
		r.Error("waiting for what was never submitted")
	}
	if err := r.h.Tools().Force(r.ctx, "nothing"); err == nil {
		r.Error("a tool that is not there was forced")
	}
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if _, err := r.h.Conversation().Wait(ctx, got.ID+"x"); err == nil {
		r.Error("waiting with a context that has ended")
	}
}

func (r *rig) transcript() {
	r.start(nil, say("one"), say("two"))
	f := r.h.Events(session.Cursor{})
	r.wait(r.submit("first", session.Soon).ID, agent.ReasonDone)
	t, own := r.h.Transcript(), r.s.Log()
	r.same("the header", own.Header(), t.Header())
	r.same("nodes", own.Nodes(), t.Nodes())
	for _, n := range t.Nodes() {
		want, err := own.Entry(n.ID)
		r.fine(err)
		r.same("entry "+n.Type, want, check[*transcript.Entry](r)(t.Entry(n.ID)))
	}
	leaf := t.Leaf()
	r.fine(r.h.Tree().SetLabel(r.ctx, leaf, "here"))
	r.until(f, session.LabelChanged)
	if t.Label(leaf) != "here" || t.Len() != own.Len() {
		r.Errorf("the label is %q, %d entries of %d", t.Label(leaf), t.Len(), own.Len())
	}
	r.wait(r.submit("second", session.Soon).ID, agent.ReasonDone)
	r.same("nodes that were added", own.Nodes(), t.Nodes())
	var user string
	for _, n := range t.Nodes() {
		if n.Role == llm.RoleUser {
			user = n.ID
		}
	}
	edit := check[string](r)(r.h.Tree().Navigate(r.ctx, user, session.Navigation{}))
	r.until(f, session.TreeMoved)
	if edit != "second" || t.Leaf() != own.Leaf() {
		r.Errorf("moved to %s (want %s), to edit: %q", t.Leaf(), own.Leaf(), edit)
	}
	if _, err := t.Entry("nowhere"); err == nil {
		r.Error("an entry that is not there")
	}
}

func (r *rig) settings() {
	todos := []todo.Phase{{Name: "A", Tasks: []todo.Task{{Content: "b", Status: "pending"}}}}
	r.start(func(o *session.Options) {
		o.Mode, On(o).OnSetMode = "ask", func(string) (string, error) { return "words", nil }
		o.Tasks = Tasks{Phases: &todos}
		o.Tools = []*tool.Tool{tool.New(tool.Definition[struct{}]{Name: "look", Label: "Look", Effects: tool.Reads, Run: func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text(""), nil }})}
		o.Jobs = Background{
			OnList: func() []session.Job {
				return []session.Job{{ID: "1", Command: "make", Started: time.Unix(7, 0), Running: true}}
			},
			OnKill:   func(id string) error { return errors.New("no job " + id) },
			OnOutput: func(string) (string, error) { return "so far", nil },
		}
	})
	f := r.h.Events(session.Cursor{})
	r.fine(r.h.Models().SetThinking(r.ctx, llm.LevelHigh))
	r.fine(r.h.Models().SetMode(r.ctx, "plan"))
	r.fine(r.h.Conversation().SetTitle(r.ctx, "A title"))
	r.until(f, session.TitleChanged)
	if got := r.h.Facts(); got.Mode != "plan" || got.Stats.Title != "A title" || got.Stats.Thinking != llm.LevelHigh {
		r.Errorf("facts %+v", got)
	}
	if err := r.h.Models().SetModel(r.ctx, "other"); err == nil {
		r.Error("another model where there is none")
	}
	r.same("todos", todos, check[[]todo.Phase](r)(r.h.Work().Todos(r.ctx)))
	changed := []todo.Phase{{Name: "B", Tasks: []todo.Task{{Content: "c", Status: "completed"}}}}
	r.fine(r.h.Work().SetTodos(r.ctx, changed))
	r.same("todos", changed, check[[]todo.Phase](r)(r.h.Work().Todos(r.ctx)))
	r.fine(r.h.Work().SetGoal(r.ctx, session.Goal{Text: "win", State: session.GoalPaused}))
	r.same("goal", session.Goal{Text: "win", State: session.GoalPaused, Criteria: []session.Criterion{{Text: "win"}}}, check[session.Goal](r)(r.h.Work().Goal(r.ctx)))
	if p := check[session.Plan](r)(r.h.Work().Plan(r.ctx)); p.Text != "" {
		r.Errorf("a plan that nobody made: %+v", p)
	}
	if _, err := r.h.Conversation().ApprovePlan(r.ctx, session.PlanApproval{}); err == nil {
		r.Error("nothing was approved")
	}
	r.fine(r.h.Work().Pin(r.ctx, "keep this"))
	r.same("pins", []string{"keep this"}, check[[]string](r)(r.h.Work().Pins(r.ctx)))
	r.fine(r.h.Work().Unpin(r.ctx, "keep this"))
	list := check[[]session.ToolState](r)(r.h.Tools().List(r.ctx))
	r.same("tools", check[[]session.ToolState](r)(r.s.Tools().List(r.ctx)), list)
	r.fine(r.h.Tools().Offer(r.ctx, nil))
	if list = check[[]session.ToolState](r)(r.h.Tools().List(r.ctx)); list[0].Enabled {
		r.Error("the tool is still offered")
	}
	r.same("jobs", []session.Job{{ID: "1", Command: "make", Started: time.Unix(7, 0), Running: true}}, check[[]session.Job](r)(r.h.Jobs().List(r.ctx)))
	if out := check[string](r)(r.h.Jobs().Output(r.ctx, "1")); out != "so far" {
		r.Errorf("the job wrote %q", out)
	}
	if err := r.h.Jobs().Kill(r.ctx, "2"); err == nil || err.Error() != "no job 2" {
		r.Errorf("killed: %v", err)
	}
	r.same("breakdown", r.s.Breakdown(), check[session.Breakdown](r)(r.h.Conversation().Breakdown(r.ctx)))
	if r.h.Permissions() != nil || r.h.Changes() != nil {
		r.Error("there are rules, or something to undo")
	}
}

func (r *rig) command() {
	started := make(chan struct{}, 1)
	r.start(func(o *session.Options) {
		On(o).OnRun = func(ctx context.Context, line string, _ bool, output func(string)) (session.CommandResult, error) {
			output("a piece\n")
			if line == "wait" {
				started <- struct{}{}
				<-ctx.Done()
				return session.CommandResult{ExitCode: -1, Cancelled: true}, nil
			}
			return session.CommandResult{Output: "a piece\nall", ExitCode: 3, Dir: "/work"}, nil
		}
	})
	f := r.h.Events(session.Cursor{})
	var pieces string
	got := check[session.CommandResult](r)(r.h.Conversation().Run(r.ctx, "make", false, func(s string) { pieces += s }))
	if pieces != "a piece\n" || got.Output != "a piece\nall" || got.ExitCode != 3 || got.EntryID == "" {
		r.Errorf("pieces %q, result %+v", pieces, got)
	}
	heard := r.until(f, session.CommandEnd)
	if heard[len(heard)-1].EntryID != got.EntryID {
		r.Errorf("the end: %+v", heard)
	}
	ctx, cancel := context.WithCancel(r.ctx)
	go func() { <-started; cancel() }()
	got, err := r.h.Conversation().Run(ctx, "wait", true, func(string) {})
	if err != nil || !got.Cancelled {
		r.Errorf("a command that was stopped: %+v, %v", got, err)
	}
	other := r.open(r.T, r.s, "second", false)
	aborted := make(chan error, 1)
	go func() { <-started; aborted <- other.Conversation().AbortCommand(r.ctx) }()
	got, err = r.h.Conversation().Run(r.ctx, "wait", true, func(string) {})
	if err != nil || !got.Cancelled {
		r.Errorf("a command that another face stopped: %+v, %v", got, err)
	}
	r.fine(<-aborted)
}

func (r *rig) policies() {
	r.start(nil)
	f := r.h.Events(session.Cursor{})
	want := session.Policy{AutoCompaction: true, Steering: agent.OneAtATime, FollowUp: agent.OneAtATime, Interrupt: agent.Immediate, Advisor: session.AdvisorOff}
	r.same("policy", want, check[session.Policy](r)(r.h.Policies().Policy(r.ctx)))
	yes, no := true, false
	want = session.Policy{AutoRetry: true, Steering: agent.All, FollowUp: agent.OneAtATime, Interrupt: agent.Wait, Advisor: session.AdvisorOff}
	got := check[session.Policy](r)(r.h.Policies().Change(r.ctx, session.PolicyChange{
		AutoRetry: &yes, AutoCompaction: &no, Steering: agent.All, Interrupt: agent.Wait,
	}))
	r.same("changed policy", want, got)
	heard := r.until(f, session.PolicyChanged)
	if told, _ := heard[len(heard)-1].Data.(*session.Policy); told == nil || *told != want {
		r.Errorf("told %+v, want %+v", told, want)
	}
	if _, err := r.h.Policies().Change(r.ctx, session.PolicyChange{Steering: "some"}); err == nil || !strings.Contains(err.Error(), `"some" (want one-at-a-time or all)`) {
		r.Errorf("a mode that is none: %v", err)
	}
	r.same("policy", want, check[session.Policy](r)(r.h.Policies().Policy(r.ctx)))
}

// abortRetry has the error at once that would otherwise have been waited out.
func (r *rig) abortRetry() {
	r.start(func(o *session.Options) { o.Retry = session.Retry{Base: time.Hour, Limit: time.Hour} },
		llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrOverload, Message: "too much to do"}}})
	f := r.h.Events(session.Cursor{})
	got := r.submit("hi", session.Soon)
	r.until(f, session.RetryStart)
	r.fine(r.h.Conversation().AbortRetry(r.ctx))
	if out := r.wait(got.ID, agent.ReasonError); !strings.Contains(out.Err.Error(), "too much to do") {
		r.Errorf("ended with %v", out.Err)
	}
	r.fine(r.h.Conversation().AbortRetry(r.ctx)) // nothing is waited for: nothing happens
}

// custom messages are read by the model as a user's, and begin a turn or none.
func (r *rig) custom() {
	var asked []string // the newest texts that the model read as a user's
	answer := llmtest.Turn{Reply: func(q *llm.Request) []llm.Event {
		asked = nil
		for _, b := range q.Messages[len(q.Messages)-1].Content { // one message, as providers want it
			asked = append(asked, b.(llm.Text).Text)
		}
		return llmtest.Say("yes")
	}}
	r.start(nil, answer, answer)
	note := func(text string) llm.Message {
		return llm.Message{Role: llm.RoleCustom, CustomType: "build", Content: []llm.Block{llm.Text{Text: text}}}
	}
	quiet := check[session.Receipt](r)(r.h.Conversation().Submit(r.ctx, session.Input{Message: note("the build is red"), When: session.Next}))
	if quiet.Started || r.h.Facts().Working {
		r.Errorf("a message for the next request began something: %+v", quiet)
	}
	r.wait(r.submit("why?", session.Soon).ID, agent.ReasonDone)
	r.same("what the model read", []string{"the build is red", "why?"}, asked)
	begun := check[session.Receipt](r)(r.h.Conversation().Submit(r.ctx, session.Input{Message: note("the build is green")}))
	r.wait(begun.ID, agent.ReasonDone)
	r.same("what the model read", []string{"the build is green"}, asked)
	for _, m := range []llm.Message{
		{Role: llm.RoleAssistant, Content: llm.UserText("I said this").Content},
		{Role: llm.RoleCustom, Content: llm.UserText("untyped").Content},
		{Role: llm.RoleCustom, CustomType: "burin.pin", Content: llm.UserText("keep").Content},
		{Role: llm.RoleUser},
	} {
		if _, err := r.h.Conversation().Submit(r.ctx, session.Input{Message: m}); err == nil {
			r.Errorf("taken: %+v", m)
		}
	}
}

func (r *rig) aside() {
	r.start(nil, say("an answer beside"))
	var pieces string
	got := check[string](r)(r.h.Conversation().Aside(r.ctx, "what?", func(s string) { pieces += s }))
	if got != "an answer beside" || pieces != got {
		r.Errorf("got %q in pieces %q", got, pieces)
	}
}

func (r *rig) again() {
	r.start(nil, say("one"), say("two"))
	f := r.h.Events(session.Cursor{})
	from := f.Cursor()
	r.wait(r.submit("hi", session.Soon).ID, agent.ReasonDone)
	first := r.until(f, session.AgentSettled)
	var want, got []uint64
	for _, e := range first {
		if e.Type != agent.MessageUpdate {
			want = append(want, e.Seq)
		}
	}
	late := r.open(r.T, r.s, "late", false)
	for _, e := range r.until(late.Events(from), session.AgentSettled) {
		got = append(got, e.Seq)
	}
	r.same("from the same place", want, got)
	other := session.Cursor{Epoch: "another", Seq: 3}
	e, err := r.h.Events(other).Next(r.ctx)
	o, ok := e.Data.(*session.Owner)
	if err != nil || !ok || o.Epoch != from.Epoch {
		r.Errorf("from another epoch: %+v, %v", e, err)
	}
	r.wait(r.submit("more", session.Soon).ID, agent.ReasonDone)
	r.until(f, session.AgentSettled)
	if now := f.Cursor(); now.Epoch != from.Epoch || now.Seq <= from.Seq {
		r.Errorf("the cursor went from %+v to %+v", from, now)
	}
}

func (r *rig) end() {
	turn, asked, free := gated("never")
	defer free()
	r.start(nil, turn)
	f := r.h.Events(session.Cursor{})
	r.submit("go", session.Soon)
	<-asked
	r.fine(r.s.Close())
	for {
		_, err := f.Next(r.ctx)
		if errors.Is(err, session.ErrClosed) || errors.Is(err, session.ErrOwnerGone) {
			break
		}
		if err != nil {
			r.Fatal(err)
		}
	}
	if _, err := r.h.Conversation().Submit(r.ctx, session.Input{Message: llm.UserText("x")}); err == nil {
		r.Error("a session that has ended took a message")
	}
}
