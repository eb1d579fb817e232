// Package review has agents look for problems in changes of a repository: one for each concern and
// part of the changes. What they find is typed, checked and merged; then others verify each
// finding in the code, so that what can't be shown is lowered, and what is wrong is left out.
//
// The package makes the assignments and judges the answers. Who runs the agents gives them the
// tools to read the repository, and no others: what they read may be hostile.
package review

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

//go:embed find.md
var findPrompt string

//go:embed verify.md
var verifyPrompt string

// Concern is something that changes are reviewed for.
type Concern struct{ Name, About string }

// Concerns are all of them, in their order.
func Concerns() []Concern {
	return []Concern{
		{"correctness", "Does it do what it promises? Wrong results and off-by-one errors; errors that are dropped; nil, empty and huge input; races, deadlocks, leaks; lost data and half-done writes; a changed interface whose callers weren't changed; a comment or document that is no longer true."},
		{"security", "What can somebody do with it who shouldn't? Injection into commands, queries, pages and prompts; paths that lead out; missing checks of who may do what; secrets in logs, errors or the repository; hostile input that costs much; unsafe defaults, weak cryptography, dependencies that run code."},
		{"upkeep", "What will it cost to live with? Risky behavior without a test, tests that can't fail or depend on timing; work in a loop that grows with its input, needless copies and requests on a hot path; code that misleads its reader, or a second way to do what the project does already."},
	}
}

func concernRank(name string) int {
	return slices.IndexFunc(Concerns(), func(c Concern) bool { return c.Name == name })
}

// Changes are what is reviewed.
type Changes struct {
	Name  string   // for people: "main..HEAD"
	Diff  string   // as git writes it
	About []string // what their author says: messages of commits, or the text of a pull request
	// Away says that the files that agents can read are not those after the changes.
	Away bool
	// Lines counts the lines of a file after the changes; ok is false if there is no such file.
	// Nil: they aren't known.
	Lines func(name string) (n int, ok bool)
	Notes []string // for people
}

// Options of a review.
type Options struct {
	Concerns []string            // names; none is all
	Hint     string              // what the person says of the changes
	Hide     func(string) string // gives a text without secrets; nil: there are none
	Tell     func(string)        // is told what happens, a line each; nil: nobody is
}

// Kind says what agents do.
type Kind struct {
	Name   string
	Prompt string          // their part
	Output json.RawMessage // JSON schema of what they hand over
}

// Kinds are the agents of a review: those that find, and those that verify.
func Kinds() (find, verify Kind) {
	return Kind{"review-find", findPrompt, findingSchema()}, Kind{"review-verify", verifyPrompt, verdictSchema()}
}

// Order is work for an agent.
type Order struct{ ID, About, Assignment string }

// Answer is what became of an order: what was handed over, or why nothing was.
type Answer struct {
	Output json.RawMessage
	Error  string
}

// Run has agents of a kind work. It gives an answer for each order.
type Run func(ctx context.Context, kind string, orders []Order) ([]Answer, error)

// Report is the outcome.
type Report struct {
	Range    string    `json:"range"`
	Files    int       `json:"files"`
	Added    int       `json:"added"`
	Removed  int       `json:"removed"`
	Findings []Finding `json:"findings"`
	Refuted  []Finding `json:"refuted"` // by the second pass
	Notes    []string  `json:"notes"`
	// Incomplete says that a part was not reviewed, or not by all agents; the notes say why.
	Incomplete bool    `json:"incomplete"`
	Agents     int     `json:"agents"`
	Requests   int     `json:"requests"`
	Cost       llm.USD `json:"cost"`
	CostKnown  bool    `json:"costKnown"`
}

// AtLeast counts the findings that are as severe as that, or more.
func (r *Report) AtLeast(s Severity) (n int) {
	for i := range r.Findings {
		if r.Findings[i].Severity.rank() <= s.rank() {
			n++
		}
	}
	return n
}

// Review is a review that goes on.
type Review struct {
	o        Options
	changes  Changes
	concerns []Concern
	files    []changed
	parts    []string
	report   Report
}

// ErrNothing reports that the changes have no lines to review.
var ErrNothing = errors.New("nothing to review")

// Begin reads the changes.
func Begin(c Changes, o Options) (*Review, error) {
	if o.Hide == nil {
		o.Hide = func(s string) string { return s }
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	r := &Review{o: o, changes: c, files: parse(c.Diff)}
	for _, k := range Concerns() {
		if len(o.Concerns) == 0 || slices.Contains(o.Concerns, k.Name) {
			r.concerns = append(r.concerns, k)
		}
	}
	for _, name := range o.Concerns {
		if concernRank(name) < 0 {
			return nil, fmt.Errorf("no concern %q: there are correctness, security and upkeep", prose.Short(name, 40))
		}
	}
	r.report = Report{Range: c.Name, Files: len(r.files), Findings: []Finding{}, Refuted: []Finding{}, Notes: append([]string{}, c.Notes...)}
	lines := false
	for i := range r.files {
		f := &r.files[i]
		r.report.Added += f.added
		r.report.Removed += f.removed
		lines = lines || len(f.hunks) > 0 && !f.bulk
	}
	if !lines {
		return nil, fmt.Errorf("%w: %s changes no lines of text but those that programs write", ErrNothing, c.Name)
	}
	var left int
	if r.parts, left = divide(r.files, partSize); left > 0 {
		r.report.Incomplete = true
		r.note("%s of %d not reviewed: the changes have more than %d KB; review a smaller range too", prose.Count(left, "file"), len(r.files), partSize*maxParts/1000)
	}
	return r, nil
}

func (r *Review) note(format string, args ...any) {
	r.report.Notes = append(r.report.Notes, fmt.Sprintf(format, args...))
}

// Run has agents find and verify. It fails if no agent could review anything.
func (r *Review) Run(ctx context.Context, run Run) (*Report, error) {
	found, err := r.find(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := r.verify(ctx, run, merge(found)); err != nil {
		return nil, err
	}
	order(r.report.Findings)
	order(r.report.Refuted)
	for i := range r.report.Findings {
		r.report.Findings[i].Number = i + 1
	}
	return &r.report, nil
}

func (r *Review) find(ctx context.Context, run Run) ([]Finding, error) {
	find, _ := Kinds()
	var orders []Order
	var concerns []string
	for p := range r.parts {
		for _, k := range r.concerns {
			id := k.Name
			if len(r.parts) > 1 {
				id = fmt.Sprintf("%s-%d", k.Name, p+1)
			}
			orders = append(orders, Order{id, "review: " + strings.ReplaceAll(id, "-", " "), r.assignment(k, p)})
			concerns = append(concerns, k.Name)
		}
	}
	r.o.Tell(fmt.Sprintf("%s look at %s: %s, +%d -%d", prose.Count(len(orders), "agent"), r.changes.Name, prose.Count(len(r.files), "file"), r.report.Added, r.report.Removed))
	answers, err := r.ask(ctx, run, find, orders)
	if err != nil {
		return nil, err
	}
	var found []Finding
	var failed []string
	nowhere := 0
	for i, a := range answers {
		var out struct{ Findings []handed }
		if a.Error == "" && json.Unmarshal(a.Output, &out) != nil {
			a.Error = "it handed over no findings that can be read"
		}
		if a.Error != "" {
			failed = append(failed, a.Error)
			r.report.Incomplete = true
			r.note("not reviewed: %s (%s)", orders[i].ID, prose.Short(prose.Line(a.Error), 300))
			continue
		}
		for _, h := range out.Findings[:min(len(out.Findings), perAgent)] {
			f, err := r.finding(concerns[i], h)
			if errors.Is(err, errNowhere) {
				nowhere++
				continue
			}
			if err != nil {
				r.note("left out: a finding of %s: %v", orders[i].ID, err)
				continue
			}
			found = append(found, f)
		}
	}
	if nowhere > 0 {
		r.note("left out: %s named lines that don't exist", prose.Count(nowhere, "finding"))
	}
	if len(failed) == len(orders) {
		return nil, fmt.Errorf("no agent could review the changes: %s", prose.Line(failed[0]))
	}
	return found, nil
}

func (r *Review) ask(ctx context.Context, run Run, k Kind, orders []Order) ([]Answer, error) {
	r.report.Agents += len(orders)
	answers, err := run(ctx, k.Name, orders)
	if err == nil && len(answers) != len(orders) {
		err = fmt.Errorf("%d of %d agents answered", len(answers), len(orders))
	}
	return answers, err
}

// Bounds of what agents read about the changes, in bytes.
const (
	maxAbout = 6000
	maxHint  = 2000
)

// assignment is what an agent that finds is given.
func (r *Review) assignment(k Concern, part int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Review these changes for %s. %s\n\n", k.Name, k.About)
	r.place(&b)
	about := prose.Head(strings.Join(r.changes.About, "\n\n"), maxAbout)
	if about != "" {
		fmt.Fprintf(&b, "What their author says of them:\n%s\n", quoted(about))
	}
	if r.o.Hint != "" {
		fmt.Fprintf(&b, "The person who asked for the review says: %s\n\n", prose.Head(prose.Clean(r.o.Hint, 4), maxHint))
	}
	of := ""
	if len(r.parts) > 1 {
		of = fmt.Sprintf(" Part %d of %d; others review the rest.", part+1, len(r.parts))
		var names []string
		for i := range r.files {
			names = append(names, prose.Inline(r.files[i].path))
		}
		fmt.Fprintf(&b, "All changed files: %s\n\n", prose.Head(strings.Join(names, ", "), maxAbout))
	}
	fmt.Fprintf(&b, "The changes, with the line numbers after them.%s\n\n%s", of, r.parts[part])
	return b.String()
}

// place says which files can be read.
func (r *Review) place(b *strings.Builder) {
	if r.changes.Away {
		b.WriteString("The files that you can read are not those after the changes: they may lack them. Judge changed lines by the diff.\n\n")
		return
	}
	b.WriteString("The files that you can read are those after the changes.\n\n")
}

// quoted marks each line of somebody else's text.
func quoted(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(prose.Clean(s, 4), "\n") {
		b.WriteString("> " + line + "\n")
	}
	return b.String()
}
