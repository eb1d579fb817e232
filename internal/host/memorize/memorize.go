// Package memorize makes the memory of a project from its sessions, in two steps. First a small
// model reads each session that has changed since the last update and notes what is worth
// knowing; then a model merges these facts, and the notes that were added by hand, into the
// files of package memory. [Keeper.Update] does both.
//
// What it promises:
//
//   - Models get only what the user and the model said, never results of tools, and nothing of
//     an encrypted session. What they answer is data: only files of the memory are written,
//     within its limits, and values that look secret are hidden before.
//   - An update that is interrupted or killed loses at most the answer under way; the next one
//     continues. Two never run at once.
//   - What a person wrote into the files is the base of the next version; what they write while
//     an update runs is not overwritten, and that update is repeated.
//   - What cannot be used is not tried forever: after three failures a session is left out until
//     it changes, and updates in the background wait for one that a person starts.
package memorize

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/customize/memory"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
)

// Limits of what models get and give.
const (
	scanned     = 2000     // newest sessions of all folders that are looked at
	readTokens  = 12_000   // of a session
	factTokens  = 2000     // that an answer about a session may have
	maxFacts    = 8 << 10  // bytes that are kept of it
	mergeBytes  = 48 << 10 // facts that are merged at once; more take another request
	mergeTokens = 16_000   // that an answer with files may have
	maxMerges   = 8        // requests for merging in one update
	maxFailures = 3        // in a row
)

//go:embed extract.md
var extractWords string

//go:embed merge.md
var mergeWords string

// Answer is what a model said.
type Answer struct {
	Text  string
	Cost  llm.USD
	Known bool // the cost is all of it
}

// Sessions are those of this machine.
type Sessions interface {
	List(ctx context.Context, dir string, limit int) ([]index.Info, error)
	Open(ctx context.Context, which string) (file string, l *transcript.Log, err error)
}

// Options of a Keeper. All are required.
type Options struct {
	Memory   memory.Memory
	Sessions Sessions
	// Ask asks the model for such work.
	Ask func(ctx context.Context, system, prompt string, maxTokens int) (Answer, error)
	// Hide takes out what is secret.
	Hide func(string) string
	Now  func() time.Time
	// Idle is how long a session must not have changed, Age how long ago it may have, Most how
	// many are read in an update.
	Idle, Age time.Duration
	Most      int
}

// Keeper makes the memory of one project.
type Keeper struct{ Options }

// Report is what an update did.
type Report struct {
	Read   int // sessions
	Failed int // of them, those that could not be read
	Left   int // that the next update reads
	Merged bool
	Cost   llm.USD
	Known  bool // Cost is all of it
}

// Update reads the sessions that have changed, and merges what is new. by says that a person
// asked for it: then what failed before is tried again. tell is told what happens, a line each.
// If it fails, the report says what was done until then.
func (k *Keeper) Update(ctx context.Context, by bool, tell func(string)) (r Report, err error) {
	project := k.Memory.Project
	unlock, err := project.Lock()
	if err != nil {
		return r, err
	}
	defer unlock()
	st, err := project.State()
	if err != nil {
		return r, err
	}
	if by {
		st.Failed = 0
	}
	u := &update{Keeper: k, state: st, report: Report{Known: true}, tell: tell}
	if st.Failed >= maxFailures {
		return u.report, nil
	}
	err = u.read(ctx)
	if err == nil {
		err = u.merge(ctx)
	}
	return u.report, err
}

// update is one that is under way.
type update struct {
	*Keeper
	state  memory.State
	report Report
	tell   func(string)
}

// ask asks the model, and adds up what it costs.
func (u *update) ask(ctx context.Context, system, prompt string, maxTokens int) (string, error) {
	a, err := u.Ask(ctx, system, u.Hide(prompt), maxTokens)
	u.report.Cost += a.Cost
	u.report.Known = u.report.Known && a.Known
	return u.hidden(a.Text), err
}

// hidden is a text without what is secret. What is recognized late stood in the clear before.
func (u *update) hidden(text string) string { return u.Hide(u.Hide(text)) }

// waiting are the sessions to read: the newest, the oldest of them first, so that in the end the
// latest word counts.
func (u *update) waiting(ctx context.Context) ([]index.Info, error) {
	all, err := u.Sessions.List(ctx, "", scanned)
	if err != nil {
		return nil, err
	}
	now, roots := u.Now(), map[string]string{}
	maps.DeleteFunc(u.state.Sessions, func(_ string, seen memory.Seen) bool {
		return !seen.Facts && now.Sub(seen.Modified) > u.Age // it isn't read again
	})
	var list []index.Info
	for _, info := range all {
		seen := u.state.Sessions[info.ID]
		changed := info.Size != seen.Size || !info.Modified.Equal(seen.Modified)
		switch age := now.Sub(info.Modified); {
		case info.Sealed, info.Draft, info.Damaged, info.CWD == "", info.ID == "":
		case age < u.Idle, age > u.Age, !info.Modified.After(u.state.Since):
		case !changed && (seen.Failed == 0 || seen.Failed >= maxFailures):
		default:
			if _, ok := roots[info.CWD]; !ok {
				roots[info.CWD] = memory.Root(info.CWD)
			}
			if roots[info.CWD] == u.Memory.Project.Root() {
				list = append(list, info)
			}
		}
	}
	u.report.Left = max(len(list)-u.Most, 0)
	list = list[:min(len(list), u.Most)]
	slices.Reverse(list)
	return list, nil
}

// read has the model note what is worth knowing of each session.
func (u *update) read(ctx context.Context) error {
	list, err := u.waiting(ctx)
	if err != nil {
		return err
	}
	failures := 0
	for i, info := range list {
		u.tell(fmt.Sprintf("reading session %d of %d: %s", i+1, len(list), prose.Row(info.Title, 60)))
		seen := memory.Seen{Size: info.Size, Modified: info.Modified}
		facts, err := u.facts(ctx, info)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			if before := u.state.Sessions[info.ID]; before.Size == seen.Size && before.Modified.Equal(seen.Modified) {
				seen.Failed = before.Failed
			}
			seen.Failed++
			seen.Facts, seen.Merged = u.state.Sessions[info.ID].Facts, u.state.Sessions[info.ID].Merged
			u.report.Failed++
			failures++
		default:
			failures, seen.Facts = 0, facts != ""
			u.report.Read++
			if err := u.Memory.Project.SetRaw(info.ID, facts); err != nil {
				return err
			}
		}
		u.state.Sessions[info.ID] = seen
		if err := u.Memory.Project.SetState(u.state); err != nil {
			return err
		}
		if err != nil && (failures == maxFailures || stops(err)) {
			u.report.Left += len(list) - i - 1
			return fmt.Errorf("read session %s: %w", info.ID, err)
		}
	}
	return nil
}

// stops reports whether an error will meet the next request, too.
func stops(err error) bool {
	switch llm.KindOf(err) {
	case llm.ErrInvalidRequest, llm.ErrContextOverflow, llm.ErrAnswerLimit, llm.ErrStalled:
		return false
	}
	return !errors.Is(err, errUnusable) && !errors.Is(err, os.ErrNotExist)
}

// facts are what is worth knowing of a session, with a head that says which it is; "" is nothing.
func (u *update) facts(ctx context.Context, info index.Info) (string, error) {
	_, l, err := u.Sessions.Open(ctx, info.Path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnusable, err)
	}
	defer l.Close()
	var entries []transcript.Entry
	for e, err := range l.All() {
		if err == nil { // what is damaged is left out
			entries = append(entries, *e)
		}
	}
	said := compact.Said(entries, readTokens)
	if said == "" {
		return "", nil
	}
	day := info.Modified.Local().Format(time.DateOnly)
	text, err := u.ask(ctx, extractWords, fmt.Sprintf("Session of %s in %s.\n\n%s", day, filepath.Base(u.Memory.Project.Root()), said), factTokens)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if fact := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "Synopsis:"); fact && b.Len()+len(line) < maxFacts {
			b.WriteString(prose.Inline(line) + "\n")
		}
	}
	if b.Len() == 0 {
		return "", nil
	}
	title := u.hidden(prose.Row(compact.Opening(entries), 80)) // the session's own may be the text of a command
	return fmt.Sprintf("# %s: %s\n\nSession %s\n\n%s", day, title, info.ID, b.String()), nil
}

// errUnusable means that what a model or a session gives can't be used.
var errUnusable = errors.New("not usable")
