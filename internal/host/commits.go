package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/host/commit"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Commits says which commits to propose, and who divides the changes.
type Commits struct {
	commit.Options
	Choice Choice       // the model; by default that of the role commit
	Level  llm.Level    // how hard it thinks; LevelDefault: as the settings say
	Model  string       // in place of the default model, where neither Choice nor the role names one
	MaxUSD llm.USD      // that the proposal may cost; 0: only the limits of the settings hold
	Tell   func(string) // is told what happens, a line each; nil: nobody is
}

// ProposeCommits proposes commits for the changes of a host's folder. The model can read the
// repository and nothing else; its session is not kept, and what it costs counts as that of any.
func ProposeCommits(ctx context.Context, h *Host, o Commits) (*commit.Draft, error) {
	a, err := h.Archive(nil)
	if err != nil {
		return nil, err
	}
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	if on := settings.Secrets.Enabled; on == nil || *on {
		v, err := a.Vault()
		if err != nil {
			return nil, err
		}
		o.Hide = v.Hide
	}
	d, err := commit.Begin(ctx, h.o.Dir, o.Options)
	if err != nil {
		return nil, err
	}
	s := Session{Choice: o.Choice, NoSkills: true, Note: func(string) {}}
	if !s.Choice.given() {
		models, err := h.Models()
		if err != nil {
			return nil, err
		}
		s.Choice.Model = o.Model
		if role := "burin/" + catalog.RoleCommit; !models.Catalog.Resolver.Unset(role) {
			s.Choice.Model = role
		}
	}
	s.NoSession, s.MaxTurns, s.MaxCost, s.Approval = true, 20, o.MaxUSD, "ask" // who refuses: nobody is there
	s.Thinking.Level = o.Level
	s.Tools = []string{"read", "grep", "find", "ls"}
	err = d.Propose(ctx, func(ctx context.Context, q commit.Question) error {
		s.System, s.ExtraTools = q.System, q.Tools
		live, err := h.Open(ctx, s)
		if err != nil {
			return err
		}
		if o.Tell != nil {
			o.Tell(fmt.Sprintf("%s divides %s", live.Facts().Stats.Model, prose.Count(d.Changes(), "change")))
		}
		out := live.Prompt(ctx, llm.UserText(q.Prompt))
		return errors.Join(out.Err, live.Close())
	})
	return d, err
}

// pending is a proposal that waits for a person's yes.
type pending struct {
	mu    sync.Mutex
	draft *commit.Draft // nil: there is none
}

// CommitCommand does what a person writes behind /commit, and gives Markdown for them. model is that
// of their session.
func (h *Host) CommitCommand(ctx context.Context, choice Choice, model, arg string) (string, error) {
	p := &h.commit
	p.mu.Lock()
	defer p.mu.Unlock()
	switch arg = strings.TrimSpace(arg); strings.ToLower(arg) {
	case "yes", "no":
		d := p.draft
		if d == nil {
			return "", errors.New("no proposal here: /commit makes one, and burin commit --yes commits without showing it first")
		}
		p.draft = nil
		if arg = strings.ToLower(arg); arg == "no" {
			return "Nothing is committed.", nil
		}
		made, err := d.Make(ctx)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		for _, m := range made {
			fmt.Fprintf(&b, "- `%s` %s\n", m.Short(), m.Subject())
		}
		return b.String() + "\n/commit undo takes them back.", nil
	case "undo":
		subjects, err := commit.Undo(ctx, h.o.Dir)
		if err != nil {
			return "", err
		}
		return "Took back " + prose.Count(len(subjects), "commit") + ". The files are as they were.", nil
	}
	p.draft = nil
	d, err := ProposeCommits(ctx, h, Commits{Options: commit.Options{Hint: arg}, Choice: choice, Model: model})
	if err != nil {
		return "", err
	}
	p.draft = d
	return proposed(d), nil
}

// proposed shows a proposal as Markdown.
func proposed(d *commit.Draft) string {
	text := d.Text()
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	var b strings.Builder
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "- %s\n", prose.Inline(n))
	}
	if len(d.Notes) > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%stext\n%s%s\n\n/commit yes makes %s, /commit no drops %s.", fence, text, fence,
		map[bool]string{true: "this commit", false: "these commits"}[len(d.Commits) == 1],
		map[bool]string{true: "it", false: "them"}[len(d.Commits) == 1])
	return b.String()
}
