package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// PlanTool is the name of the tool with which the model hands over a plan in plan mode.
const PlanTool = "exit_plan"

// CustomPlan is the custom type of the entries that store the plan.
const CustomPlan = "burin.plan"

// CustomPlanApproved is the custom type of the message that tells the model to carry out the
// plan.
const CustomPlanApproved = "plan-approved"

// Plan is what the model proposes in plan mode. A compaction keeps it word for word until it is
// carried out.
type Plan struct {
	Title string    `json:"title,omitempty"`
	Text  string    `json:"text"`           // Markdown; "" means no plan
	File  string    `json:"file,omitempty"` // the address at which the model can read it; "" if the session keeps no files
	State PlanState `json:"state,omitempty"`
	// Mode is the approval mode in which it is carried out, unless the user chooses another.
	Mode string `json:"mode,omitempty"`
}

// PlanState is the state of a plan.
type PlanState string

const (
	PlanProposed PlanState = "proposed" // it waits for the user
	PlanApproved PlanState = "approved" // the model carries it out
	PlanDone     PlanState = "done"     // the model has come to an end with it
)

// Heading says in a line which plan this is, and how it stands.
func (p Plan) Heading() string {
	head := "Plan"
	if p.Title != "" {
		head += ": " + p.Title
	}
	if p.File != "" {
		head += " · " + p.File
	}
	return head + " · " + string(p.State)
}

// open reports whether the model still needs the plan.
func (p Plan) open() bool { return p.State == PlanProposed || p.State == PlanApproved }

// PlanApproval says how the plan is carried out.
type PlanApproval struct {
	Mode    string `json:"mode,omitempty"`    // the approval mode; "" is the current one, after plan mode that of the plan
	Compact bool   `json:"compact,omitempty"` // compact the conversation first
	Text    string `json:"text,omitempty"`    // the plan as the user has changed it; "" is unchanged
	Note    string `json:"note,omitempty"`    // what the user adds
}

// PlanOption is a way to approve a plan.
type PlanOption struct {
	Label string
	PlanApproval
}

// KeepPlanning is the option that approves nothing.
const KeepPlanning = "Keep planning"

// PlanOptions returns the ways to approve a plan, the usual one first. mode is that of the
// plan.
func PlanOptions(mode string) []PlanOption {
	var all []PlanOption
	for _, m := range []string{mode, modeAsk, modeAutoEdit} {
		if !slices.ContainsFunc(all, func(o PlanOption) bool { return o.Mode == m }) {
			all = append(all, PlanOption{"Approve and execute in " + m + " mode", PlanApproval{Mode: m}})
		}
	}
	return append(all, PlanOption{"Approve and compact the context first", PlanApproval{Mode: mode, Compact: true}})
}

// Question returns the question whether the plan is carried out. call is the call that waits for
// the answer.
func (p *Plan) Question(call string) Question {
	c := Choice{ID: "plan", Text: "Carry out this plan?"}
	for _, o := range PlanOptions(p.Mode) {
		c.Options = append(c.Options, o.Label)
	}
	c.Options = append(c.Options, KeepPlanning)
	return Question{Kind: AskChoice, CallID: call, Title: "Plan: " + p.Title, Choices: []Choice{c}, Plan: p}
}

// Approval reads the answer to that question. Words of the user's own, in the note, and a changed
// text go with either answer.
func (p *Plan) Approval(r Reply) (a PlanApproval, approved bool) {
	if !r.Dismissed && len(r.Choices) == 1 {
		for _, o := range PlanOptions(p.Mode) {
			if slices.Contains(r.Choices[0].Selected, o.Label) {
				a, approved = o.PlanApproval, true
			}
		}
		a.Note = strings.TrimSpace(r.Choices[0].Custom)
	}
	if a.Text = r.Text; a.Text == p.Text {
		a.Text = ""
	}
	return a, approved
}

// Planner is where the model hands over plans. It is made before its session, so that a tool can
// use it; the zero value is for the [Options] of one session.
type Planner struct{ plans atomic.Pointer[plans] }

// Propose keeps a plan and asks the user to review it. It returns what the model reads, and
// whether the run ends with it. Without anyone to review the plan, it stays as it is, and the run
// ends.
func (p *Planner) Propose(ctx context.Context, call, title, text string) (reply string, final bool, err error) {
	x := p.plans.Load()
	if x == nil {
		return "", false, errors.New("the session is not open")
	}
	return x.propose(ctx, call, title, text)
}

// plans is the plan of a session, from its proposal until it is carried out.
type plans struct {
	rec     *record
	desk    *Desk
	modes   *modes
	ground  Ground
	latest  func() Plan // returns the plan of this branch
	compact func(ctx context.Context, reason, instructions string) error
	now     func() time.Time

	mu       sync.Mutex
	approved *PlanApproval // during the run that has proposed it
	carried  bool          // the model carries it out
}

func (x *plans) propose(ctx context.Context, call, title, text string) (string, bool, error) {
	if x.modes.current() != modePlan {
		return "", false, errors.New("plan mode is off, and the user wants the work done: do it")
	}
	p := x.keep(Plan{Title: title, Text: text, State: PlanProposed, Mode: x.modes.before()})
	reply, err := x.desk.Ask(ctx, p.Question(call))
	switch {
	case errors.Is(err, ErrUnattended), errors.Is(err, ErrTimedOut):
		return "The plan is saved. Nobody is here to review it, so your work ends here.", true, nil
	case err != nil:
		return "", false, err
	}
	a, approved := p.Approval(reply)
	switch {
	case approved:
		if err := x.approve(p, a); err != nil {
			return "", false, err
		}
		x.mu.Lock()
		x.approved = &a
		x.mu.Unlock()
		return "The user approved the plan.", true, nil
	case a.Text != "":
		p.Text = a.Text
		p = x.keep(p)
		if !reply.Dismissed {
			a.Note = strings.TrimSpace("The user edited the plan. It is now:\n\n" + p.Text + "\n\n" + a.Note)
		}
	}
	if a.Note != "" {
		return "The user did not approve the plan yet. " + x.rec.redactor.hide(a.Note) + "\n\nWork this in and hand over the whole plan again.", false, nil
	}
	return "The user keeps planning and will say what to change.", true, nil
}

// keep records a plan, with a file that the model can read when it is no longer in its window.
func (x *plans) keep(p Plan) Plan {
	p.Title, p.Text = x.rec.redactor.hide(prose.Line(p.Title)), x.rec.redactor.hide(strings.TrimSpace(p.Text))
	ref, err := x.ground.Artifact("plan", p.Text)
	if p.File = ref; err != nil && !errors.Is(err, errors.ErrUnsupported) {
		x.rec.warn("the plan has no file of its own: " + err.Error())
	}
	x.note(p)
	if data, err := json.Marshal(modeData{p.File, p.Title}); err == nil && p.State == PlanProposed {
		x.rec.append(transcript.Entry{Type: transcript.TypeMode, Mode: modePlan, Data: data})
	}
	return p
}

// modeData are the data of an entry of a mode, as other programs of the family write them.
type modeData struct {
	PlanFile string `json:"planFile,omitempty"`
	Title    string `json:"title,omitempty"`
}

// note records the state of a plan and tells faces.
func (x *plans) note(p Plan) {
	data, err := json.Marshal(p)
	if err != nil {
		x.rec.warn("the plan was not saved: " + err.Error())
		return
	}
	x.rec.append(transcript.Entry{Type: transcript.TypeCustom, CustomType: CustomPlan, Data: data})
	x.rec.emit(Event{Event: agent.Event{Type: PlanChanged}, Text: string(p.State), Data: &p})
}

// approve names the session after the plan, unless the user has named it, and leaves plan mode.
func (x *plans) approve(p Plan, a PlanApproval) error {
	mode := a.Mode
	if mode == "" {
		mode = p.Mode
		if now := x.modes.current(); now != modePlan { // the user has left plan mode already
			mode = now
		}
	}
	if mode == "" || mode == modePlan {
		mode = modeAsk
	}
	if a.Text != "" {
		p.Text = a.Text
	}
	if err := x.modes.set(mode); err != nil {
		return err
	}
	p.State = PlanApproved
	if a.Text != "" {
		p = x.keep(p)
	} else {
		x.note(p)
	}
	if title := planTitle(p.Title); title != "" && !x.rec.named() {
		x.rec.setTitle(title, titleAuto)
	}
	x.mu.Lock()
	x.carried = true
	x.mu.Unlock()
	return nil
}

// next returns what the model continues with if a plan was approved during the run: the order
// to carry it out. Before that, the conversation is compacted if the user wants it.
func (x *plans) next(ctx context.Context) (llm.Message, bool) {
	x.mu.Lock()
	a := x.approved
	x.approved = nil
	x.mu.Unlock()
	if a == nil {
		return llm.Message{}, false
	}
	if a.Compact {
		if err := x.compact(ctx, "manual", ""); err != nil && !errors.Is(err, compact.ErrNothing) && ctx.Err() == nil {
			x.rec.warn("the conversation was not compacted before the plan: " + err.Error())
		}
	}
	return x.order(a.Note), true
}

// order is the message that tells the model to carry out the plan.
func (x *plans) order(note string) llm.Message {
	p := x.latest()
	var b strings.Builder
	b.WriteString("<plan-approved>\nThe user approved this plan")
	if p.File != "" {
		b.WriteString(", which is also in " + p.File)
	}
	b.WriteString(". Carry it out now. Keep to it, and say where you have to depart from it.\n\n" + p.Text + "\n")
	if note != "" {
		b.WriteString("\nThe user adds: " + x.rec.redactor.hide(note) + "\n")
	}
	b.WriteString("</plan-approved>")
	return llm.Message{Role: llm.RoleCustom, CustomType: CustomPlanApproved, Time: x.now(), Content: []llm.Block{llm.Text{Text: b.String()}}}
}

// end notes that the model has come to an end with a plan. One that was stopped, or failed, may
// go on with it.
func (x *plans) end(out agent.Outcome) {
	x.mu.Lock()
	x.approved = nil
	done := x.carried && out.Reason == agent.ReasonDone
	x.carried = x.carried && !done
	x.mu.Unlock()
	if !done {
		return
	}
	if p := x.latest(); p.State == PlanApproved {
		p.State = PlanDone
		x.note(p)
	}
}

// restore takes up a plan that the model was carrying out.
func (x *plans) restore() { x.carried = x.latest().State == PlanApproved }

// reviewing reports whether a run ended because a plan waits for the user.
func reviewing(messages []llm.Message) bool {
	for i := range slices.Backward(messages) {
		m := &messages[i]
		if m.Role != llm.RoleToolResult {
			return false
		}
		if m.ToolName == PlanTool && !m.IsError {
			return true
		}
	}
	return false
}

// planTitle makes the name of a session of the title of a plan.
func planTitle(title string) string {
	words := strings.FieldsFunc(title, func(r rune) bool { return r == '-' || r == '_' || unicode.IsSpace(r) })
	name := strings.Join(words, " ")
	r, n := utf8.DecodeRuneInString(name)
	if n == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + name[n:]
}

// keptPlan is what a compaction keeps of a plan: all of it, or where it is if it would take too
// much of the window.
func keptPlan(p Plan, window int) string {
	head := "The plan"
	if p.Title != "" {
		head += fmt.Sprintf(" %q", p.Title)
	}
	if p.State == PlanProposed {
		head += ", which the user has not approved yet"
	}
	if p.File != "" && window > 0 && textTokens(p.Text) > window/maxGoalShare {
		return head + " is in " + p.File + ". Read it before you go on with it."
	}
	return head + ":\n" + p.Text
}

// approvePlan has the plan carried out.
func approvePlan(ctx context.Context, s *Session, a PlanApproval, by string) (Receipt, error) {
	p := s.plans.latest()
	if p.Text == "" {
		return Receipt{}, errors.New("there is no plan yet: ask for one in plan mode")
	}
	if working, _ := s.stage.working(); working {
		return Receipt{}, ErrBusy
	}
	if a.Compact {
		if err := s.Compact(ctx, ""); err != nil && !errors.Is(err, compact.ErrNothing) {
			return Receipt{}, err
		}
	}
	if err := s.plans.approve(p, a); err != nil {
		return Receipt{}, err
	}
	return s.submit(ctx, Input{Message: s.plans.order(a.Note)}, by)
}
