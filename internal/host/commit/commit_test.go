package commit

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/split"
	"github.com/burin-dev/burin/tool"
)

// repository makes one with a commit, and changes in it.
func repository(t *testing.T, first, then map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, ".none"))
	write := func(files map[string]string) {
		for name, text := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(first)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "A"}, {"config", "user.email", "a@b"}, {"add", "."}, {"commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write(then)
	return dir
}

var (
	twice  = strings.Repeat("same\n", 20)
	before = map[string]string{"a/x.txt": twice, "b/y.txt": "y\n", "CHANGELOG.md": "## Unreleased\n"}
	after  = map[string]string{"a/x.txt": "top\n" + twice + "end\n", "b/y.txt": "Y\n"}
)

func begin(t *testing.T) *Draft {
	t.Helper()
	d, err := Begin(t.Context(), repository(t, before, after), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// answering is a model that hands over one answer after the other, and how it fared.
func answering(t *testing.T, told *[]string, answers ...string) func(context.Context, Question) error {
	return func(ctx context.Context, q Question) error {
		i := slices.IndexFunc(q.Tools, func(x *tool.Tool) bool { return x.Name == "result" })
		for _, a := range answers {
			r, err := q.Tools[i].Run(ctx, tool.Call{Arguments: json.RawMessage(a)})
			if err != nil {
				t.Fatal(err)
			}
			*told = append(*told, toolText(r))
			if r.Final {
				break
			}
		}
		return nil
	}
}

func toolText(r *tool.Result) string {
	raw, _ := json.Marshal(r.Content)
	return string(raw)
}

func TestWrongAnswersGoBackOnce(t *testing.T) {
	d := begin(t)
	var told []string
	long := strings.Repeat("long ", 20)
	err := d.Propose(t.Context(), answering(t, &told,
		`{"commits":[{"message":"`+long+`","changes":["1","2"]},{"message":"","changes":["2","9"]},{"message":"none","changes":[]}]}`,
		`{"commits":[{"message":"`+long+`","changes":["1.2","2"]},{"message":"b","changes":["1.1"],"changelog":[{"text":"An entry."}]}]}`,
		`never read`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"99 characters", "commit 2 has no message", "change 2 is in commit 1 and in commit 2", `no change \"9\"`, "commit 3 has no changes"} {
		if !strings.Contains(told[0], want) {
			t.Errorf("%q isn't told:\n%s", want, told[0])
		}
	}
	if len(told) != 2 || len(d.Commits) != 2 || len(d.Notes) != 0 {
		t.Errorf("told %q, commits %v, notes %q", told, d.Commits, d.Notes)
	}
}

func TestByFolderWhereNothingAddsUp(t *testing.T) {
	d := begin(t)
	var told []string
	if err := d.Propose(t.Context(), answering(t, &told, `{"commits":[]}`, `{"commits":[{"message":"x","changes":["1"]}]}`)); err != nil {
		t.Fatal(err)
	}
	want := []Commit{{Message: "a: update x.txt", Changes: []string{"1.1", "1.2"}}, {Message: "b: update y.txt", Changes: []string{"2"}}}
	if diff := cmp.Diff(want, d.Commits); diff != "" || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "no commit has 2") {
		t.Error(diff, d.Notes)
	}
}

func TestSecretsStayOut(t *testing.T) {
	dir := repository(t, before, map[string]string{"a/x.txt": "hunter2\n" + twice, "b/y.txt": "Y\n"})
	hide := func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	d, err := Begin(t.Context(), dir, Options{Hide: hide})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	err = d.Propose(t.Context(), func(ctx context.Context, q Question) error {
		if strings.Contains(q.Prompt, "hunter2") {
			t.Error("the model is told a secret")
		}
		return answering(t, &told, `{"commits":[{"message":"set hunter2","changes":["2"]}]}`, `{"commits":[{"message":"y","changes":["2"]}]}`)(ctx, q)
	})
	if err != nil || !strings.Contains(told[0], "holds a password") || len(d.LeftOut()) != 1 {
		t.Errorf("%v, told %q", err, told)
	}
}

func TestPlanIsEdited(t *testing.T) {
	d := begin(t)
	d.Commits = []Commit{
		{Message: "a\n\nWhy: #7", Changes: []string{"1.1"}, Changelog: []Entry{{Text: "An entry."}}},
		{Message: "b", Changes: []string{"1.2", "2"}},
	}
	want := slices.Clone(d.Commits)
	plan := d.Plan()
	if err := d.Edit(plan); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, d.Commits); diff != "" {
		t.Errorf("not the same:\n%s\n%s", diff, plan)
	}
	for edited, wrong := range map[string]string{
		"x\n": "line 1: write", "=== commit\nm\n--- changes\n9 x\n": `line 4: no change "9"`,
		"=== commit\nm\n--- changes\n2\n2\n": "line 5: change 2 is in commit 1", "=== commit\n--- changes\n2\n": "commit 1 has no message",
		"# all gone\n": "no commits left",
	} {
		if err := d.Edit(edited); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v", edited, err)
		}
	}
	if err := d.Edit("=== commit\r\nonly y\r\n--- changes\r\n2 b/y.txt\r\n=== left out\r\n1.1 x\r\n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Commit{{Message: "only y", Changes: []string{"2"}}}, d.Commits); diff != "" || len(d.LeftOut()) != 2 {
		t.Error(diff)
	}
	if made, err := d.Make(t.Context()); err != nil || len(made) != 1 {
		t.Error(made, err)
	}
}

func TestLargeDiffsAreCut(t *testing.T) {
	big := map[string]string{"b/y.txt": "Y\n"}
	for _, name := range []string{"1", "2", "3"} {
		big["big/"+name] = strings.Repeat("a line that is new\n", 9000)
	}
	d, err := Begin(t.Context(), repository(t, before, big), Options{})
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := d.prompt(t.Context())
	if err != nil || len(prompt) > promptSize+10_000 || strings.Count(prompt, "show_change shows the rest") != 3 || !strings.Contains(prompt, "+Y") {
		t.Errorf("%d bytes, %v", len(prompt), err)
	}
	if text, err := d.show(d.changes.Pieces[1].ID); err != nil || len(text) < 50_000 {
		t.Errorf("shown: %d bytes, %v", len(text), err)
	}
}

func TestChangelogEntries(t *testing.T) {
	add := []Entry{{Section: "Fixed", Text: "One."}, {Section: "Added", Text: "Two."}}
	for name, c := range map[string]struct{ text, want string }{
		"sections": {
			"# C\n\n## [Unreleased]\n\n### Fixed\n\n- Old.\n  more\n\n## 1.0\n\n### Added\n\n- X.\n",
			"# C\n\n## [Unreleased]\n\n### Fixed\n\n- Old.\n  more\n- One.\n\n### Added\n\n- Two.\n\n## 1.0\n\n### Added\n\n- X.\n",
		},
		"none": {"## Unreleased\n* Old.\n## 1.0\n* X.\n", "## Unreleased\n* Old.\n* One.\n* Two.\n\n## 1.0\n* X.\n"},
		"empty, with the line ends of Windows and links": {
			"## Unreleased\r\n\r\n[Unreleased]: https://example.org\r\n", "## Unreleased\r\n\r\n- One.\r\n- Two.\r\n\r\n[Unreleased]: https://example.org\r\n",
		},
		"no line end": {"## Unreleased\n- Old.", "## Unreleased\n- Old.\n- One.\n- Two.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			repo, err := split.Open(t.Context(), repository(t, map[string]string{"CHANGELOG.md": c.text}, nil))
			if err != nil {
				t.Fatal(err)
			}
			log, err := readChangelog(t.Context(), repo, &split.Changes{})
			if err != nil || log == nil {
				t.Fatal(log, err)
			}
			if got := string(log.insert(log.text, add)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
