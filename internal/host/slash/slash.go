// Package slash has the commands of burin's own that make sense without a terminal: what a
// person writes as /compact, in an editor or on a command line.
package slash

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Command is one of the commands.
type Command struct {
	Name, Hint, Help string // Hint says what may follow the name
	// Run returns Markdown for the person.
	Run func(ctx context.Context, h session.Handle, arg string) (string, error)
	// Answers reports whether the model answers: Run then returns the id of the message to wait
	// for. nil is never.
	Answers func(arg string) bool
}

// Memory does what a person writes behind /memory, and returns Markdown. The host has it.
type Memory = func(ctx context.Context, arg string) (string, error)

// Own is what the host does for commands. The zero value is enough to list them.
type Own struct {
	Memory Memory
	// Agents does what a person writes behind /agents, and returns Markdown.
	Agents func(ctx context.Context, name string) (string, error)
	// Servers does what a person writes behind /mcp, and returns Markdown.
	Servers func(ctx context.Context, name string) (string, error)
	// Commit does what a person writes behind /commit, and returns Markdown. model is that of the
	// session.
	Commit func(ctx context.Context, model, arg string) (string, error)
	// Review does what a person writes behind /review, and returns Markdown, which the model reads
	// with its next prompt.
	Review func(ctx context.Context, h session.Handle, arg string) (string, error)
	// Shadowed reports whether a command is a file of the person's or the project's, which then wins
	// over the one here, where this package had none before; nil: none is.
	Shadowed func(name string) bool
}

// Commands are all of them.
func Commands(own Own) []Command {
	all := []Command{
		{Name: "compact", Hint: "what matters", Help: "Condense the conversation", Run: compact},
		{Name: "undo", Hint: "turn", Help: "Undo what the last turn changed", Run: undo},
		{Name: "retry", Help: "Try again what failed or was stopped", Run: retry, Answers: func(string) bool { return true }},
		{Name: "btw", Hint: "question", Help: "Ask a question outside the conversation", Run: aside},
		{Name: "model", Hint: "name", Help: "Show or choose the model", Run: model},
		{Name: "thinking", Hint: "level", Help: "Show or choose how hard the model thinks", Run: thinking},
		{Name: "mode", Hint: "plan, ask, auto-edit or full", Help: "Show or choose what runs without a question", Run: approval},
		{Name: "plan", Hint: "go, compact or a prompt", Help: "Show the plan, have it carried out, or ask for one", Run: plan, Answers: func(arg string) bool { return arg != "" }},
		{Name: "rename", Hint: "title", Help: "Name this session", Run: rename},
		{Name: "context", Help: "Show what fills the model's window", Run: window},
		{Name: "cost", Help: "Show what this session has cost", Run: cost},
		{Name: "shake", Hint: "images", Help: "Hide old outputs or images from the model", Run: shake},
		{Name: "pin", Hint: "text", Help: "Keep a text in front of the model, whatever is condensed", Run: pin},
		{Name: "advisor", Hint: "on, quiet, off or status", Help: "Have a second model read what is done", Run: Advisor},
		{Name: "memory", Hint: "view, add TEXT, update or clear", Help: "Show and change what burin remembers", Run: func(ctx context.Context, _ session.Handle, arg string) (string, error) { return own.Memory(ctx, arg) }},
		{Name: "agents", Hint: "name", Help: "List the agents that the model can start, or show one", Run: func(ctx context.Context, _ session.Handle, arg string) (string, error) { return own.Agents(ctx, arg) }},
	}
	for _, c := range []Command{
		{Name: "commit", Hint: "what to say, yes, no or undo", Help: "Divide the changes into commits", Run: func(ctx context.Context, h session.Handle, arg string) (string, error) {
			return own.Commit(ctx, h.Facts().Stats.Model, arg)
		}},
		{Name: "review", Hint: "range, commit or pull request", Help: "Have agents review changes", Run: func(ctx context.Context, h session.Handle, arg string) (string, error) {
			return own.Review(ctx, h, arg)
		}},
		{Name: "mcp", Hint: "name", Help: "List MCP servers and how they are, or show one", Run: func(ctx context.Context, _ session.Handle, arg string) (string, error) {
			return own.Servers(ctx, arg)
		}},
	} {
		if own.Shadowed == nil || !own.Shadowed(c.Name) {
			all = append(all, c)
		}
	}
	return all
}

// Find finds the command that a prompt calls: its only text begins with "/" and the name.
func Find(m llm.Message, own Own) (c Command, arg string, ok bool) {
	if len(m.Content) != 1 {
		return c, "", false
	}
	text, isText := m.Content[0].(llm.Text)
	if !isText || !strings.HasPrefix(text.Text, "/") {
		return c, "", false
	}
	name, arg, _ := strings.Cut(strings.TrimSpace(text.Text[1:]), " ")
	for _, c := range Commands(own) {
		if c.Name == name {
			return c, strings.TrimSpace(arg), true
		}
	}
	return c, "", false
}

func compact(ctx context.Context, h session.Handle, arg string) (string, error) {
	before := h.Facts().Stats.Context
	if err := h.Conversation().Compact(ctx, arg); err != nil {
		return "", err
	}
	return fmt.Sprintf("Condensed the conversation from %s to %s tokens.", prose.Tokens(before), prose.Tokens(h.Facts().Stats.Context)), nil
}

func undo(ctx context.Context, h session.Handle, turn string) (string, error) {
	changes := h.Changes()
	if changes == nil {
		return "", errors.New("this session keeps no undo journal")
	}
	if turn == "" {
		turns, err := changes.Turns(ctx)
		if err != nil {
			return "", err
		}
		for _, t := range turns {
			if t.Session == h.Facts().ID && !t.Undone {
				turn = t.ID
				break
			}
		}
		if turn == "" {
			return "Nothing to undo.", nil
		}
	}
	done, err := changes.Undo(ctx, turn)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Undid turn %s: %s restored.", turn, prose.Count(len(done.Restored), "file"))
	for _, k := range done.Kept {
		fmt.Fprintf(&b, "\n- left alone: `%s` (%s)", k.Path, k.Reason)
	}
	return b.String(), nil
}

func retry(ctx context.Context, h session.Handle, _ string) (string, error) {
	r, err := h.Conversation().Resend(ctx)
	return r.ID, err
}

func aside(ctx context.Context, h session.Handle, question string) (string, error) {
	if question == "" {
		return "", errors.New("needs a question, such as /btw what does this function do?")
	}
	return h.Conversation().Aside(ctx, question, func(string) {})
}

func model(ctx context.Context, h session.Handle, name string) (string, error) {
	if name != "" {
		if err := h.Models().SetModel(ctx, name); err != nil {
			return "", err
		}
	}
	return "The model is `" + h.Facts().Stats.Model + "`.", nil
}

func thinking(ctx context.Context, h session.Handle, level string) (string, error) {
	if level != "" {
		parsed, err := llm.ParseLevel(level)
		if err != nil {
			return "", err
		}
		if err := h.Models().SetThinking(ctx, parsed); err != nil {
			return "", err
		}
	}
	now := h.Facts().Stats.Thinking
	if m := h.Facts().Model; m != nil {
		now = m.Thinking.Clamp(now)
	}
	return "Thinking is " + string(now) + ".", nil
}

func approval(ctx context.Context, h session.Handle, mode string) (string, error) {
	if mode != "" {
		if err := h.Models().SetMode(ctx, mode); err != nil {
			return "", err
		}
	}
	return "The mode is " + h.Facts().Mode + ".", nil
}

// plan shows the plan, has it carried out, or has the model make one.
func plan(ctx context.Context, h session.Handle, arg string) (string, error) {
	switch arg {
	case "":
		p, err := h.Work().Plan(ctx)
		if err != nil || p.Text == "" {
			return "There is no plan yet: write what to plan after /plan.", err
		}
		return p.Heading() + "\n\n" + p.Text, nil
	case "go", "compact":
		r, err := h.Conversation().ApprovePlan(ctx, session.PlanApproval{Compact: arg == "compact"})
		return r.ID, err
	}
	if err := h.Models().SetMode(ctx, "plan"); err != nil {
		return "", err
	}
	r, err := h.Conversation().Submit(ctx, session.Input{Message: llm.UserText(arg)})
	return r.ID, err
}

// Advisor says whether a second model reads what is done, and changes that.
func Advisor(ctx context.Context, h session.Handle, arg string) (string, error) {
	var p session.Policy
	var err error
	switch arg {
	case "", "status":
		p, err = h.Policies().Policy(ctx)
	case "on", "quiet", "off":
		p, err = h.Policies().Change(ctx, session.PolicyChange{Advisor: session.AdvisorMode(arg)})
	default:
		return "", fmt.Errorf("%q is not on, quiet, off or status", prose.Short(arg, 40))
	}
	if err != nil {
		return "", err
	}
	return advisorFact(p), nil
}

// advisorFact says in a line what the advisor does and what it has cost.
func advisorFact(p session.Policy) string {
	words := "The advisor is " + string(p.Advisor)
	if p.Advisor == session.AdvisorQuiet {
		words = "The advisor only warns of mistakes"
	}
	switch {
	case p.AdvisorBudget > 0:
		return fmt.Sprintf("%s. %s of %s spent in this session.", words, p.AdvisorSpent, p.AdvisorBudget)
	case p.AdvisorSpent > 0:
		return fmt.Sprintf("%s. %s spent in this session.", words, p.AdvisorSpent)
	}
	return words + "."
}

func rename(ctx context.Context, h session.Handle, title string) (string, error) {
	if title == "" {
		return "", errors.New("needs a title, such as /rename fix the parser")
	}
	if err := h.Conversation().SetTitle(ctx, title); err != nil {
		return "", err
	}
	return "Renamed the session.", nil
}

func window(ctx context.Context, h session.Handle, _ string) (string, error) {
	b, err := h.Conversation().Breakdown(ctx)
	if err != nil {
		return "", err
	}
	return breakdown(b), nil
}

func cost(_ context.Context, h session.Handle, _ string) (string, error) {
	s := h.Facts().Stats
	spent := s.Cost.String()
	if !s.Known && s.Cost == 0 {
		spent = "Unknown cost"
	}
	text := fmt.Sprintf("%s in %s: %s tokens in, %s out.", spent, prose.Count(s.Requests, "request"), prose.Tokens(s.Usage.Input+s.Usage.CacheRead+s.Usage.CacheWrite), prose.Tokens(s.Usage.Output))
	if !s.Known && s.Cost > 0 {
		text += " The price of some requests is unknown and left out."
	}
	return text, nil
}

func shake(ctx context.Context, h session.Handle, kind string) (string, error) {
	freed, err := h.Conversation().Shake(ctx, kind)
	if err != nil {
		return "", err
	}
	return "Freed about " + prose.Tokens(freed) + " tokens.", nil
}

func pin(ctx context.Context, h session.Handle, text string) (string, error) {
	if text == "" {
		pins, err := h.Work().Pins(ctx)
		if err != nil || len(pins) == 0 {
			return "Nothing is pinned.", err
		}
		return "- " + strings.Join(pins, "\n- "), nil
	}
	if err := h.Work().Pin(ctx, text); err != nil {
		return "", err
	}
	return "Pinned.", nil
}

// breakdown lists what fills the context window.
func breakdown(b session.Breakdown) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s tokens", prose.Tokens(b.Total))
	if b.Window > 0 {
		fmt.Fprintf(&out, " of %s; %s free", prose.Tokens(b.Window), prose.Tokens(b.Free))
	}
	for _, part := range []struct {
		name   string
		shares []session.Share
	}{{"system prompt", b.System}, {"tools", b.Tools}, {"messages", b.Messages}} {
		n := 0
		for _, s := range part.shares {
			n += s.Tokens
		}
		fmt.Fprintf(&out, "\n- %s: %s", part.name, prose.Tokens(n))
	}
	return out.String()
}
