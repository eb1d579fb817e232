// Package commit proposes commits for the changes of a repository: a model divides the pieces
// of [split.Changes] and writes the messages, a person may edit the proposal, and [Draft.Make]
// commits it.
//
// What the model hands over is checked: each piece must be in exactly one commit. A wrong answer
// goes back once, with what is wrong; after a second one the commits are made by folders.
// Pieces that hold a secret, and new files that usually do, are not shown to the model: they
// are left out unless the person adds them.
package commit

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/split"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

//go:embed system.md
var system string

// Commit is a commit of a proposal.
type Commit struct {
	Message   string   `json:"message"`
	Changes   []string `json:"changes"`
	Changelog []Entry  `json:"changelog,omitempty"`
}

// Subject is the first line of the message.
func (c *Commit) Subject() string {
	subject, _, _ := strings.Cut(c.Message, "\n")
	return subject
}

// Entry is an entry of the changelog.
type Entry struct {
	Section string `json:"section,omitempty"`
	Text    string `json:"text"`
}

// Options of a draft.
type Options struct {
	Hint        string // what the person says of the changes
	Staged      bool   // only what is staged
	NoChangelog bool
	NoVerify    bool                // run no pre-commit and commit-msg hook
	Hide        func(string) string // gives a text without secrets; nil: there are none
}

// Question is what a model is asked. It answers by calling the tool "result".
type Question struct {
	System, Prompt string
	Tools          []*tool.Tool
}

// Draft is a proposal and what it is made of.
type Draft struct {
	Commits []Commit
	Notes   []string // for people

	o       Options
	repo    *split.Repo
	changes *split.Changes
	log     *changelog // nil: the project keeps none
	leave   []string   // pieces that are left out unless the person says otherwise
}

// Begin reads the changes of the repository that a folder is in.
func Begin(ctx context.Context, dir string, o Options) (*Draft, error) {
	if o.Hide == nil {
		o.Hide = func(s string) string { return s }
	}
	repo, err := split.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	changes, err := repo.Read(ctx, o.Staged)
	if err != nil {
		return nil, err
	}
	d := &Draft{o: o, repo: repo, changes: changes, Notes: changes.Notes}
	for i := range changes.Pieces {
		p := &changes.Pieces[i]
		why := ""
		if p.Secret {
			why = "files of this name usually hold keys or passwords"
		} else if added := added(p.Text); o.Hide(added) != added {
			why = "it holds a password, token or key"
		}
		if why != "" {
			d.leave = append(d.leave, p.ID)
			d.Notes = append(d.Notes, fmt.Sprintf("left out: %s %s (%s)", p.ID, p.Path, why))
		}
	}
	if len(d.leave) == len(changes.Pieces) {
		return nil, fmt.Errorf("nothing to commit: %s", strings.Join(d.Notes, "; "))
	}
	if !o.NoChangelog {
		if d.log, err = readChangelog(ctx, repo, changes); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// added are the lines that a diff adds.
func added(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		if text, ok := strings.CutPrefix(line, "+"); ok {
			b.WriteString(text)
		}
	}
	return b.String()
}

// offered are the pieces that the model is shown.
func (d *Draft) offered() (all []*split.Piece) {
	for i := range d.changes.Pieces {
		if p := &d.changes.Pieces[i]; !slices.Contains(d.leave, p.ID) {
			all = append(all, p)
		}
	}
	return all
}

// Staged reports whether only what is staged is committed.
func (d *Draft) Staged() bool { return d.changes.Staged }

// Changes is how many pieces there are to commit.
func (d *Draft) Changes() int { return len(d.changes.Pieces) - len(d.leave) }

// Propose has a model divide the changes. ask runs it until it has called the tool, or has ended
// without.
func (d *Draft) Propose(ctx context.Context, ask func(context.Context, Question) error) error {
	prompt, err := d.prompt(ctx)
	if err != nil {
		return err
	}
	wrong, tries := "the model has handed over nothing", 0
	type answer struct {
		Commits []Commit `json:"commits" jsonschema:"in the order to make them"`
	}
	result := tool.New(tool.Definition[answer]{
		Name: session.ResultTool, Label: "Commits", Description: "Hand over all commits, once, when everything else is done. It ends the work.",
		Run: func(_ context.Context, _ tool.Call, in answer) (*tool.Result, error) {
			tries++
			commits, problems := d.check(in.Commits, tries == 1)
			if len(problems) == 0 {
				d.Commits = commits
			} else {
				wrong = strings.Join(problems, "; ")
				if tries == 1 {
					return tool.Failure("These commits can't be made:\n- " + strings.Join(problems, "\n- ") + "\nCorrect this and hand over all commits again."), nil
				}
			}
			r := tool.Text("Accepted.")
			r.Final = true
			return r, nil
		},
	})
	show := tool.Func("show_change", "Show the whole diff of a piece.", 0, func(_ context.Context, in struct {
		ID string `json:"id"`
	},
	) (string, error) {
		return d.show(in.ID)
	})
	if err := ask(ctx, Question{System: system, Prompt: prompt, Tools: []*tool.Tool{show, result}}); err != nil {
		return err
	}
	if d.Commits == nil {
		d.Notes = append(d.Notes, "the model's division can't be used ("+prose.Short(wrong, 200)+"): these commits are by folder, edit their messages")
		d.Commits = d.byFolder()
	}
	return nil
}

// show gives the diff of a piece.
func (d *Draft) show(id string) (string, error) {
	var b strings.Builder
	for _, p := range d.offered() {
		if p.ID == id || strings.HasPrefix(p.ID, id+".") {
			b.WriteString(p.Text)
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("change %q has no text", id)
	}
	const most = 60_000
	if b.Len() > most {
		return prose.Head(b.String(), most) + "\n[cut]", nil
	}
	return b.String(), nil
}

// maxSubject is how many characters a subject has at most.
const maxSubject = 72

// check says what is wrong with commits, and gives them with all ids in full. A first answer is also
// judged by its form.
func (d *Draft) check(in []Commit, form bool) (out []Commit, problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	where := map[string]int{}
	offered := d.offered()
	for i, c := range in {
		n := i + 1
		c.Message = strings.TrimSpace(prose.Clean(c.Message, 4))
		switch subject := c.Subject(); {
		case subject == "":
			bad("commit %d has no message", n)
		case form && len([]rune(subject)) > maxSubject:
			bad("the subject of commit %d has %d characters, more than %d", n, len([]rune(subject)), maxSubject)
		case d.o.Hide(c.Message) != c.Message:
			bad("the message of commit %d holds a password, token or key", n)
		}
		var ids []string
		for _, id := range c.Changes {
			found := false
			for _, p := range offered {
				if p.ID != id && !strings.HasPrefix(p.ID, id+".") {
					continue
				}
				found = true
				if at := where[p.ID]; at == n {
					continue
				} else if at != 0 {
					bad("change %s is in commit %d and in commit %d", p.ID, at, n)
					continue
				}
				where[p.ID] = n
				ids = append(ids, p.ID)
			}
			if !found {
				bad("commit %d: no change %q", n, prose.Short(id, 40))
			}
		}
		if len(c.Changes) == 0 {
			bad("commit %d has no changes", n)
		}
		if c.Changes = ids; d.log == nil {
			c.Changelog = nil
		}
		for i := range c.Changelog {
			e := &c.Changelog[i]
			e.Section, e.Text = prose.Inline(strings.TrimSpace(e.Section)), strings.TrimSpace(prose.Inline(e.Text))
			if d.o.Hide(e.Text) != e.Text {
				bad("the changelog of commit %d holds a password, token or key", n)
			}
		}
		c.Changelog = slices.DeleteFunc(c.Changelog, func(e Entry) bool { return e.Text == "" })
		out = append(out, c)
	}
	var missing []string
	for _, p := range offered {
		if where[p.ID] == 0 {
			missing = append(missing, p.ID)
		}
	}
	if len(missing) > 0 {
		bad("no commit has %s", prose.Short(strings.Join(missing, ", "), 300))
	}
	return out, problems
}

// byFolder makes a commit for the files of each folder.
func (d *Draft) byFolder() (commits []Commit) {
	at := map[string]int{}
	names := map[string][]string{}
	for _, p := range d.offered() {
		dir := path.Dir(p.Path)
		if _, ok := at[dir]; !ok {
			at[dir] = len(commits)
			commits = append(commits, Commit{})
		}
		c := &commits[at[dir]]
		c.Changes = append(c.Changes, p.ID)
		if name := path.Base(p.Path); !slices.Contains(names[dir], name) {
			names[dir] = append(names[dir], name)
		}
	}
	for dir, i := range at {
		files := names[dir]
		subject := "Update " + strings.Join(files, ", ")
		if len(subject) > maxSubject || len(files) > 3 {
			subject = "Update " + prose.Count(len(files), "file")
		}
		if dir != "." {
			subject = dir + ": " + strings.ToLower(subject[:1]) + subject[1:]
		}
		commits[i].Message = prose.Inline(subject)
	}
	return commits
}

// Made is a commit that was made, or is proposed.
type Made struct {
	Hash    string   `json:"hash,omitempty"`
	Message string   `json:"message"`
	Changes []Change `json:"changes"`
	Entries []Entry  `json:"changelog,omitempty"`
}

// Change is a piece as programs read it.
type Change struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	What    string `json:"what"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// Subject is the first line of the message.
func (m *Made) Subject() string {
	subject, _, _ := strings.Cut(m.Message, "\n")
	return prose.Inline(subject)
}

// Short is the hash as people read it.
func (m *Made) Short() string { return m.Hash[:min(len(m.Hash), 9)] }

// Report is the proposal for programs.
func (d *Draft) Report() []Made { return d.report(nil) }

func (d *Draft) report(made []split.Made) []Made {
	all := make([]Made, len(d.Commits))
	for i, c := range d.Commits {
		all[i] = Made{Message: c.Message, Entries: c.Changelog, Changes: []Change{}}
		if i < len(made) {
			all[i].Hash, all[i].Message = made[i].Hash, strings.TrimSpace(made[i].Message)
		}
		for _, id := range c.Changes {
			p := d.piece(id)
			all[i].Changes = append(all[i].Changes, Change{p.ID, p.Path, p.What, p.Added, p.Removed})
		}
	}
	return all
}

func (d *Draft) piece(id string) *split.Piece {
	i := slices.IndexFunc(d.changes.Pieces, func(p split.Piece) bool { return p.ID == id })
	return &d.changes.Pieces[i]
}

// LeftOut are the pieces that are in no commit.
func (d *Draft) LeftOut() (all []*split.Piece) {
	in := map[string]bool{}
	for _, c := range d.Commits {
		for _, id := range c.Changes {
			in[id] = true
		}
	}
	for i := range d.changes.Pieces {
		if p := &d.changes.Pieces[i]; !in[p.ID] {
			all = append(all, p)
		}
	}
	return all
}

// Make makes the commits.
func (d *Draft) Make(ctx context.Context) ([]Made, error) {
	commits := make([]split.Commit, len(d.Commits))
	o := split.Options{NoVerify: d.o.NoVerify}
	var text []byte
	if d.log != nil {
		text = d.log.text
		o.Before = map[string][]byte{d.log.path: text}
	}
	for i, c := range d.Commits {
		commits[i] = split.Commit{Message: c.Message, Pieces: c.Changes}
		if d.log != nil && len(c.Changelog) > 0 {
			text = d.log.insert(text, c.Changelog)
			commits[i].Put = map[string][]byte{d.log.path: text}
		}
	}
	made, err := d.repo.Make(ctx, d.changes, commits, o)
	if err != nil {
		return nil, err
	}
	return d.report(made), nil
}

// Push pushes the branch.
func (d *Draft) Push(ctx context.Context) error { return d.repo.Push(ctx) }

// Undo takes back what was made last in the repository that a folder is in, and gives the
// subjects.
func Undo(ctx context.Context, dir string) ([]string, error) {
	repo, err := split.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return repo.Undo(ctx)
}

const (
	logCommits = 15      // that show the style
	promptSize = 120_000 // bytes of diffs; what is longer is cut piece by piece
	pieceSize  = 400     // bytes of a piece that are shown however many there are
	outline    = 600     // pieces from which on only the heads of most are shown
)

// prompt tells the model of the changes.
func (d *Draft) prompt(ctx context.Context) (string, error) {
	recent, err := d.repo.Recent(ctx, logCommits)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("<log>\n")
	for i, m := range recent {
		if i >= 4 { // a few whole messages show how bodies look
			m, _, _ = strings.Cut(m, "\n")
		}
		fmt.Fprintf(&b, "%s\n\n", prose.Head(m, 800))
	}
	b.WriteString("</log>\n\n")
	if d.log != nil {
		fmt.Fprintf(&b, "<changelog file=%q sections=%q>\n%s\n</changelog>\n\n", d.log.path, strings.Join(d.log.sections, ", "), prose.Head(d.log.unreleased(), 2000))
	}
	if d.o.Hint != "" {
		fmt.Fprintf(&b, "The person says: %s\n\n", d.o.Hint)
	}
	pieces := d.offered()
	total := 0
	for _, p := range pieces {
		total += len(p.Text)
	}
	limit := promptSize
	if total > promptSize {
		limit = max(pieceSize, promptSize/len(pieces))
	}
	for i, p := range pieces {
		fmt.Fprintf(&b, "<change id=%q file=%q what=%q added=\"%d\" removed=\"%d\">\n", p.ID, p.Path, p.What, p.Added, p.Removed)
		switch {
		case p.Bulk:
			b.WriteString("[a lock file, or generated: its lines are not shown]\n")
		case i >= outline:
			b.WriteString("[not shown]\n")
		case len(p.Text) > limit:
			b.WriteString(prose.Head(p.Text, limit) + "\n[cut: show_change shows the rest]\n")
		default:
			b.WriteString(p.Text)
		}
		b.WriteString("</change>\n")
	}
	return b.String(), nil
}
