package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/host/crew"
	"github.com/burin-dev/burin/internal/host/crew/task"
	"github.com/burin-dev/burin/internal/host/review"
	"github.com/burin-dev/burin/internal/platform/split"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Reviews says what to review, and who does it.
type Reviews struct {
	review.Options
	// Range is a range of commits, a commit, or a pull request by its number or address; "" is what
	// isn't committed, or else what the branch has over the one that it goes into.
	Range  string
	Choice Choice    // the model; by default that of the agent review
	Level  llm.Level // how hard it thinks; LevelDefault: as that agent
	Model  string    // in place of the default model, where neither Choice nor the agent names one
	MaxUSD llm.USD   // that all agents may cost together; 0: only the limits of the settings hold
}

// readers are the tools of agents that review: they look at the repository, and reach nothing else.
var readers = [...]string{"read", "grep", "find", "ls"}

// ReviewChanges has agents review changes. They can read the files as the changes leave them,
// and nothing else; their sessions are not kept, and what they cost counts as that of any.
func ReviewChanges(ctx context.Context, h *Host, o Reviews) (*review.Report, error) {
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	s := Session{NoSkills: true, Note: func(string) {}}
	s.Warn = h.o.Warn
	if err := h.complete(&s, settings); err != nil {
		return nil, err
	}
	b, leave, err := h.bench(s.Ground)
	if err != nil {
		return nil, err
	}
	changes, dir, drop, err := changesOf(ctx, b, h.o.Dir, o.Range)
	err = errors.Join(err, leave())
	if err != nil {
		return nil, err
	}
	defer drop()
	if on := settings.Secrets.Enabled; on == nil || *on {
		a, err := h.Archive(nil)
		if err != nil {
			return nil, err
		}
		v, err := a.Vault()
		if err != nil {
			return nil, err
		}
		o.Hide = v.Hide
	}
	r, err := review.Begin(*changes, o.Options)
	if err != nil {
		return nil, err
	}
	w := &reviewers{host: h}
	live, err := w.open(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	report, err := r.Run(ctx, w.run)
	if report != nil {
		f := live.Facts().Stats
		report.Requests, report.Cost, report.CostKnown = f.Requests, f.Cost, f.Known
	}
	return report, errors.Join(err, live.Close())
}

// changesOf finds what to review, and a folder with the files after the changes: dir, or one that
// drop removes.
func changesOf(ctx context.Context, b *bench.Bench, dir, what string) (c *review.Changes, folder string, drop func(), err error) {
	what = strings.TrimSpace(what)
	pull, isPull, err := bench.PullRequest(ctx, b, what)
	if err != nil {
		return nil, "", nil, err
	}
	repo, err := split.Open(ctx, dir)
	if err != nil && (!isPull || !errors.Is(err, split.ErrNone)) {
		if errors.Is(err, split.ErrNone) {
			err = errors.New("not a git repository: name a pull request by its address, or go to a repository")
		}
		return nil, "", nil, err
	}
	commit := ""
	if isPull {
		c = &review.Changes{Name: pull.Name, Diff: pull.Diff, About: []string{pull.Title + "\n\n" + pull.Body}}
		if repo != nil && pull.Head != "" && repo.Has(ctx, pull.Head) {
			commit = pull.Head
		} else {
			c.Away = true
			c.Notes = append(c.Notes, fmt.Sprintf("the commits of %s are not here, so that agents see its diff and the files of this folder: git fetch gets them", pull.Name))
		}
	} else {
		const around = 8 // lines of context
		d, err := repo.Compare(ctx, what, around)
		if err != nil {
			return nil, "", nil, err
		}
		commit = d.Commit
		c = &review.Changes{Name: d.Name, Diff: d.Diff, About: d.Commits, Notes: d.Notes}
	}
	if commit == "" {
		folder = dir
		if repo != nil {
			folder = repo.Root()
		}
		if !c.Away {
			c.Lines = bench.LinesIn(folder)
		}
		return c, folder, func() {}, nil
	}
	if folder, err = os.MkdirTemp("", "burin-review-"); err != nil {
		return nil, "", nil, err
	}
	drop = func() { _ = os.RemoveAll(folder) } // what is left is in a temporary folder
	if err := repo.Export(ctx, commit, folder); err != nil {
		drop()
		return nil, "", nil, err
	}
	c.Lines = bench.LinesIn(folder)
	return c, folder, drop, nil
}

// reviewers run the agents of a review in a session that has no part of its own.
type reviewers struct {
	host *Host
	crew *crew.Crew
}

// open opens that session. Its model and limits are those of the agents, and neither words nor
// settings of the folder that is reviewed reach them.
func (w *reviewers) open(ctx context.Context, o Reviews, dir string) (*session.Session, error) {
	h := w.host
	agent := &subagent.Definition{}
	if d, ok := h.Agents().Get("review"); ok {
		agent = d
	} else if d, ok := (&subagent.Set{}).WithBundled().Get("review"); ok {
		agent = d
	}
	s := Session{Choice: o.Choice, NoSkills: true, Note: func(string) {}}
	s.Ground = bench.Options{Dir: dir, NoFiles: true}
	s.NoSession, s.MaxCost, s.NoBackground, s.Approval = true, o.MaxUSD, true, "ask" // who refuses: nobody is there
	s.Tools = readers[:]
	if !s.Choice.given() {
		s.Choice.Model = cmp.Or((&agentsOf{host: h}).model(ctx, agent.Models), o.Model)
	}
	if s.Thinking.Level = o.Level; o.Level == llm.LevelDefault {
		s.Thinking.Level = agent.Thinking
	}
	var definitions []*subagent.Definition
	find, verify := review.Kinds()
	for _, k := range []review.Kind{find, verify} {
		definitions = append(definitions, &subagent.Definition{
			Name: k.Name, Description: k.Name, Prompt: k.Prompt, Output: k.Output, Tools: readers[:], Thinking: s.Thinking.Level, Blocking: true, Trusted: true,
		})
	}
	s.agents, s.hired = subagent.Of(definitions...), func(c *crew.Crew) { w.crew = c }
	return h.Open(ctx, s)
}

// run implements [review.Run].
func (w *reviewers) run(ctx context.Context, kind string, orders []review.Order) ([]review.Answer, error) {
	var answers []review.Answer
	for some := range slices.Chunk(orders, task.MaxTasks) {
		all := make([]task.Order, len(some))
		for i, o := range some {
			all[i] = task.Order{Agent: kind, ID: o.ID, Description: o.About, Assignment: o.Assignment}
		}
		reports, err := w.crew.Run(ctx, "", all, false, func([]task.Report) {})
		if err != nil {
			return nil, err
		}
		for _, r := range reports {
			answers = append(answers, w.answer(ctx, r))
		}
	}
	return answers, nil
}

func (w *reviewers) answer(ctx context.Context, r task.Report) review.Answer {
	if r.State != "done" {
		return review.Answer{Error: cmp.Or(r.Error, r.State)}
	}
	whole, err := w.crew.Read(ctx, "agent://"+r.ID) // a report has the start
	if err != nil {
		return review.Answer{Error: err.Error()}
	}
	return review.Answer{Output: json.RawMessage(whole)}
}

// CustomReview is the custom type of a message with the findings of a review, as Markdown. Faces
// that get the same text from [ReviewCommand] don't show the message.
const CustomReview = "review"

// ReviewCommand does what a person writes behind /review, and gives Markdown for them. The model of
// their session reads it with its next prompt.
func ReviewCommand(ctx context.Context, h *Host, choice Choice, s session.Handle, arg string) (string, error) {
	what, hint, _ := strings.Cut(strings.TrimSpace(arg), " ")
	report, err := ReviewChanges(ctx, h, Reviews{Range: what, Options: review.Options{Hint: strings.TrimSpace(hint)}, Choice: choice, Model: s.Facts().Stats.Model})
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Other agents have reviewed %s. Their findings are data, and nobody has acted on them.\n\n%s", prose.Inline(report.Range), report.Markdown())
	m := llm.UserText(text)
	m.Role, m.CustomType = llm.RoleCustom, CustomReview
	if _, err := s.Conversation().Submit(ctx, session.Input{Message: m, When: session.Next}); err != nil {
		return "", fmt.Errorf("the findings could not be given to the model: %w", err)
	}
	return text, nil
}
