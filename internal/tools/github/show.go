package github

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/sorting"
)

type user struct{ Login string }

// item is an issue or a pull request, as the API gives it.
type item struct {
	Number       int
	Title, State string
	StateReason  string `json:"state_reason"`
	User         user
	CreatedAt    time.Time `json:"created_at"`
	HTMLURL      string    `json:"html_url"`
	Body         string
	Labels       []struct{ Name string }
	Assignees    []user
	Comments     int
	Milestone    struct{ Title string }
	PullRequest  *struct{} `json:"pull_request"`

	Draft        bool
	MergedAt     *time.Time `json:"merged_at"`
	Base, Head   struct{ Ref, Label, SHA string }
	Additions    int
	Deletions    int
	ChangedFiles int `json:"changed_files"`
}

// comment is a comment, a review, or a comment of a review.
type comment struct {
	User        user
	CreatedAt   time.Time `json:"created_at"`
	SubmittedAt time.Time `json:"submitted_at"`
	Body        string
	State       string
	Path        string
	Line        int
}

func (c *comment) at() time.Time {
	if c.CreatedAt.IsZero() {
		return c.SubmittedAt
	}
	return c.CreatedAt
}

// get asks for something and decodes it.
func (r *Reader) decode(ctx context.Context, repo Repo, path string, into any) error {
	body, err := r.ask(ctx, repo, path, asJSON)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		return fmt.Errorf("the answer for %s is not what GitHub documents: %w", path, err)
	}
	return nil
}

// one shows an issue or a pull request.
func (r *Reader) one(ctx context.Context, a *address) (string, error) {
	var it item
	if err := r.decode(ctx, a.repo, a.path(), &it); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s (#%d)\n\n%s\n", it.Title, it.Number, strings.Join(it.facts(), " · "))
	if it.Head.Ref != "" {
		fmt.Fprintf(&b, "%s into %s: %d files, +%d -%d; the changes are %s://%s/%d/diff\n", cmp.Or(it.Head.Label, it.Head.Ref), it.Base.Ref, it.ChangedFiles, it.Additions, it.Deletions, a.scheme, a.repo, it.Number)
	}
	if it.PullRequest != nil {
		fmt.Fprintf(&b, "It is a pull request: pr://%s/%d has its reviews and changes.\n", a.repo, it.Number)
	}
	fmt.Fprintf(&b, "%s\n\n%s\n", it.HTMLURL, cmp.Or(lines(it.Body), "(no text)"))
	if !a.comments {
		return b.String(), nil
	}
	all, cut, err := r.comments(ctx, a)
	if err != nil {
		return "", err
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", c.head(), lines(c.Body))
	}
	if cut {
		fmt.Fprintf(&b, "\n[Only the first %d comments of each kind are shown.]\n", maxLimit)
	}
	return b.String(), nil
}

// facts are what is known of it, but for the text.
func (it *item) facts() []string {
	state := it.State
	switch {
	case it.MergedAt != nil:
		state = "merged"
	case it.Draft:
		state += ", draft"
	case it.StateReason == "not_planned":
		state += ", not planned"
	}
	all := []string{state, "by " + it.User.Login, it.CreatedAt.Format(time.DateOnly)}
	var names []string
	for _, l := range it.Labels {
		names = append(names, l.Name)
	}
	if len(names) > 0 {
		all = append(all, "labels: "+strings.Join(names, ", "))
	}
	names = nil
	for _, u := range it.Assignees {
		names = append(names, u.Login)
	}
	if len(names) > 0 {
		all = append(all, "assigned to "+strings.Join(names, ", "))
	}
	if it.Milestone.Title != "" {
		all = append(all, "milestone "+it.Milestone.Title)
	}
	return all
}

// head says whose comment it is, on what.
func (c *comment) head() string {
	words := c.User.Login
	if c.State != "" {
		words += " (" + strings.ToLower(strings.ReplaceAll(c.State, "_", " ")) + ")"
	}
	if c.Path != "" {
		words += " on " + c.Path
		if c.Line > 0 {
			words += ":" + strconv.Itoa(c.Line)
		}
	}
	return words + ", " + c.at().Format("2006-01-02 15:04")
}

// comments are all comments in the order in which they were written; cut says that some are
// missing.
func (r *Reader) comments(ctx context.Context, a *address) (all []comment, cut bool, err error) {
	number := strconv.Itoa(a.number)
	kinds := []string{"issues/" + number + "/comments"}
	if a.scheme == "pr" {
		kinds = append(kinds, "pulls/"+number+"/reviews", "pulls/"+number+"/comments")
	}
	for _, kind := range kinds {
		var some []comment
		if err := r.decode(ctx, a.repo, "repos/"+a.repo.String()+"/"+kind+"?per_page="+strconv.Itoa(maxLimit), &some); err != nil {
			return nil, false, err
		}
		cut = cut || len(some) == maxLimit
		all = append(all, some...)
	}
	all = slices.DeleteFunc(all, func(c comment) bool { return c.Body == "" && (c.State == "COMMENTED" || c.State == "") })
	sorting.Stable(all, func(a, b comment) int { return a.at().Compare(b.at()) })
	return all, cut, nil
}

// list shows which issues or pull requests there are.
func (r *Reader) list(ctx context.Context, a *address) (string, error) {
	var found []item
	if err := r.decode(ctx, a.repo, a.path(), &found); err != nil {
		return "", err
	}
	more := len(found) == maxLimit
	found = slices.DeleteFunc(found, func(it item) bool {
		return a.scheme == "issue" && it.PullRequest != nil || a.state == "merged" && it.MergedAt == nil ||
			a.author != "" && !strings.EqualFold(it.User.Login, a.author) ||
			a.label != "" && !slices.ContainsFunc(it.Labels, func(l struct{ Name string }) bool { return strings.EqualFold(l.Name, a.label) })
	})
	var b strings.Builder
	for i, it := range found {
		if i == a.limit {
			more = true
			break
		}
		fmt.Fprintf(&b, "%s://%s/%d  %s  (%s)\n", a.scheme, a.repo, it.Number, it.Title, strings.Join(it.facts(), " · "))
	}
	switch {
	case b.Len() == 0 && more:
		b.WriteString("None of the newest 100 is like that.\n")
	case b.Len() == 0:
		b.WriteString("There are none.\n")
	case more:
		b.WriteString("[There may be more: narrow it with state, author, label, or raise limit, as ?state=all&limit=100.]\n")
	}
	return b.String(), nil
}

// diff shows the changes of a pull request: which files, one of them, or all.
func (r *Reader) diff(ctx context.Context, a *address) (string, error) {
	text, err := r.ask(ctx, a.repo, a.path(), asDiff)
	if err != nil || a.all {
		return text, err
	}
	files := splitDiff(text)
	if a.file > 0 {
		if a.file > len(files) {
			return "", fmt.Errorf("the diff has %d files", len(files))
		}
		return files[a.file-1], nil
	}
	var b strings.Builder
	for i, f := range files {
		added, removed := 0, 0
		for line := range strings.Lines(f) {
			switch {
			case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			case line[0] == '+':
				added++
			case line[0] == '-':
				removed++
			}
		}
		fmt.Fprintf(&b, "%d. %s  +%d -%d\n", i+1, nameOf(f), added, removed)
	}
	fmt.Fprintf(&b, "[Read one as pr://%s/%d/diff/1, all as pr://%[1]s/%[2]d/diff/all.]\n", a.repo, a.number)
	return b.String(), nil
}

// splitDiff gives the part of each file.
func splitDiff(text string) (files []string) {
	start := -1
	offset := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "diff --git ") {
			if start >= 0 {
				files = append(files, text[start:offset])
			}
			start = offset
		}
		offset += len(line)
	}
	if start >= 0 {
		files = append(files, text[start:])
	}
	return files
}

// nameOf is the file that a part of a diff is of.
func nameOf(part string) string {
	first, _, _ := strings.Cut(part, "\n")
	for line := range strings.Lines(part) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			return strings.TrimSpace(name)
		}
		if strings.HasPrefix(line, "@@") {
			break
		}
	}
	if _, name, ok := strings.Cut(first, " b/"); ok {
		return name
	}
	return strings.TrimPrefix(first, "diff --git ")
}

// lines is a text with the line ends of files.
func lines(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
