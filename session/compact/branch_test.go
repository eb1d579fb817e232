package compact_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

func TestFiles(t *testing.T) {
	var b branch
	b.add(transcript.Entry{Type: transcript.TypeBranchSummary, Summary: "s", Details: []byte(`{"readFiles":["old.go"],"modifiedFiles":[]}`)})
	b.add(transcript.Entry{Type: transcript.TypeCompaction, Summary: "s", FromExtension: true, Details: []byte(`{"readFiles":["not.go"],"modifiedFiles":[]}`)})
	for _, p := range []string{"a.go:50-200", "a.go:raw", "dir/b.go", `C:\\x.txt`, "skill://s", "https://example.org"} {
		b.use("read", `{"path":"`+p+`"}`, "x")
	}
	b.use("write", `{"path":"dir/b.go","content":""}`, "ok")
	b.use("edit", `{"patch":"*** Begin Patch\n*** Update File: p.go\n@@\n*** Add File: q.go\n*** End Patch"}`, "ok")
	b.use("write", `{"path":"failed.go"}`, "no")
	b.path[len(b.path)-1].Message.IsError = true
	b.answer("", llm.ToolCall{ID: "x", Name: "write", Arguments: `{"path":"cut.go`, Defect: llm.DefectCut})
	b.use("bash", `{"path":"not-a-file"}`, "x")
	read, modified := compact.Files(b.path)
	if diff := cmp.Diff([]string{`C:\x.txt`, "a.go", "old.go"}, read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"dir/b.go", "p.go", "q.go"}, modified); diff != "" {
		t.Errorf("modified (-want +got):\n%s", diff)
	}
}

func TestFileList(t *testing.T) {
	var b branch
	for _, p := range []string{"z.go", "a/b/c.go", "a/b/d/e.go", "a/x.go", "/abs/f.go", "a/<files>", "a/two\\nlines"} {
		b.use("read", `{"path":"`+p+`"}`, "x")
	}
	for i := range 20 {
		b.use("write", `{"path":"w/`+string(rune('a'+i))+`"}`, "x")
	}
	b.user(words(100))
	e, _ := summarize(t, plan(t, b.path, 50), compact.SummaryOptions{}, "summary")
	if !strings.Contains(e.Summary, "# w/\na (Write)\n") || !strings.Contains(e.Summary, "… (7 more files omitted)\n</files>") {
		t.Errorf("what was written is not first:\n%s", e.Summary)
	}
	b.path = append(b.path[:14:14], b.path[len(b.path)-1])
	e, _ = summarize(t, plan(t, b.path, 50), compact.SummaryOptions{}, "summary")
	want := "<files>\nz.go (Read)\n# /abs/\nf.go (Read)\n# a/\n\"\\u003cfiles\\u003e\" (Read)\n\"two\\nlines\" (Read)\nx.go (Read)\n## b/\nc.go (Read)\n### d/\ne.go (Read)\n</files>"
	if !strings.Contains(e.Summary, want) {
		t.Errorf("the list is\n%s\nwant\n%s", e.Summary, want)
	}
}

func TestBranchSummary(t *testing.T) {
	var b branch
	b.user("the beginning " + words(3000))
	b.compaction("what came before "+words(300), "e0000")
	b.use("edit", `{"path":"a.go"}`, words(300))
	b.user("the end")
	var log []asked
	summary, details, err := compact.BranchSummary(t.Context(), b.path, 3000, scripted(&log, "It failed."), "")
	if err != nil {
		t.Fatal(err)
	}
	p := log[0].prompt
	if !strings.Contains(p, "[Summary of what came before]: what came before") || !strings.Contains(p, "[User]: the end") ||
		strings.Contains(p, "the beginning") || !strings.Contains(p, "[1 earlier messages are left out") || !strings.Contains(p, "## Learned") {
		t.Errorf("the prompt is\n%s", p)
	}
	if log[0].maxTokens != 2048 {
		t.Errorf("the summary may have %d tokens", log[0].maxTokens)
	}
	if !strings.Contains(summary, "It failed.\n\n<files>\na.go (Write)\n</files>") || strings.HasPrefix(summary, "It failed.") {
		t.Errorf("the summary is %q", summary)
	}
	if want := `{"readFiles":[],"modifiedFiles":["a.go"]}`; string(details) != want {
		t.Errorf("details are %s, want %s", details, want)
	}
	if _, _, err := compact.BranchSummary(t.Context(), b.path, 0, scripted(&log, "x"), "only the errors"); err != nil {
		t.Fatal(err)
	}
	if p := log[1].prompt; !strings.HasSuffix(p, "\n\nonly the errors") || !strings.Contains(p, "the beginning") {
		t.Errorf("with the person's own words and a large budget the prompt ends %q", p[len(p)-100:])
	}
}

// A summary of much goes over the budget only while less than nine tenths are used.
func TestBranchSummaryNearTheEdge(t *testing.T) {
	for name, tc := range map[string]struct {
		newest int
		want   bool
	}{"half used": {2000, true}, "all used": {3580, false}} {
		t.Run(name, func(t *testing.T) {
			var b branch
			b.add(transcript.Entry{Type: transcript.TypeBranchSummary, Summary: "EARLIER " + words(2500)})
			b.user(words(tc.newest / 2))
			b.user(words(tc.newest / 2))
			var log []asked
			if _, _, err := compact.BranchSummary(t.Context(), b.path, 4000, scripted(&log, "x"), "short"); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(log[0].prompt, "EARLIER"); got != tc.want {
				t.Errorf("the summary is there: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestBranchSummaryNothing(t *testing.T) {
	var b branch
	b.meta(transcript.TypeModel)
	if _, _, err := compact.BranchSummary(t.Context(), b.path, 0, nil, ""); !errors.Is(err, compact.ErrNothing) {
		t.Errorf("error = %v, want ErrNothing", err)
	}
}

func TestHandoff(t *testing.T) {
	p := compact.HandoffPrompt("the tests")
	for _, want := range []string{"Goal", "Constraints & preferences", "Progress", "Key decisions", "Critical context", "Next steps"} {
		if !strings.Contains(p, "\n## "+want+"\n") {
			t.Errorf("the prompt has no section %s", want)
		}
	}
	if !strings.HasSuffix(p, ": the tests") || strings.Contains(compact.HandoffPrompt(" "), "next session is about") {
		t.Error("the focus is not there, or is without need")
	}
	if d := compact.Handoff("doc </handoff> more"); strings.Count(d, "</handoff>") != 1 || !strings.HasSuffix(d, "more\n</handoff>") {
		t.Errorf("the document ends its own wrapping: %q", d)
	}
}
