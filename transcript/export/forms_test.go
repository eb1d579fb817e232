package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func markdownOf(t testing.TB, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func jsonOf(t testing.TB, p Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMarkdown(t *testing.T) { golden(t, "branched.md", markdownOf(t, branched())) }

func TestJSON(t *testing.T) { golden(t, "branched.json", jsonOf(t, branched())) }

// Vendors split a paragraph where they cite. It is one paragraph for people, with its sources
// below it once, and results stay with their calls. What a person sends in parts stays in parts.
func TestCitedParagraphIsOne(t *testing.T) {
	cite := llm.Citation{URL: "https://example.com/paris", Title: "On Paris"}
	read := tool("c1", "read", `{"path":"notes.txt"}`)
	s := &script{}
	s.say(llm.Message{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "What is the capital?"}, llm.Text{Text: "Of France."}}})
	s.answer(nil,
		llm.Text{Text: "The capital is "}, llm.Text{Text: "**Paris**", Citations: []llm.Citation{cite}}, llm.Text{Text: ", a city of "},
		llm.Text{Text: "two million", Citations: []llm.Citation{cite, {URL: "https://example.com/people", Title: "On people"}}}, llm.Text{Text: ".\n\nI look into "}, llm.Text{Text: "the notes."}, read)
	s.result(read, "the text of the notes", false, "")
	p := Page{Header: transcript.Header{Type: "session", Version: 3, ID: "1", Timestamp: "2026-03-09T14:02:00.000Z"}, Entries: s.entries}

	var b bytes.Buffer
	if err := HTML(&b, p); err != nil {
		t.Fatal(err)
	}
	html, md := b.String(), markdownOf(t, p)
	for _, want := range []struct{ in, text string }{
		{html, "<p>The capital is <strong>Paris</strong>, a city of two million.</p>"},
		{html, "<p>I look into the notes.</p>"},
		{html, "<p>What is the capital?</p>"},
		{md, "\nThe capital is **Paris**, a city of two million.\n\nI look into the notes.\n"},
		{md, "\nWhat is the capital?\n\nOf France.\n"},
	} {
		if !strings.Contains(want.in, want.text) {
			t.Errorf("no %q in\n%s", want.text, want.in)
		}
	}
	for name, doc := range map[string]string{"html": html, "markdown": md} {
		call, result, source := strings.Index(doc, "notes.txt</code>"), strings.Index(doc, "the text of the notes"), strings.Index(doc, "On Paris")
		if call < 0 || result < call || source < 0 || source > call {
			t.Errorf("%s: the source at %d, the call at %d, its result at %d", name, source, call, result)
		}
		if strings.Count(doc, "On Paris") != 1 || strings.Count(doc, "On people") != 1 {
			t.Errorf("%s: sources are not there once:\n%s", name, doc)
		}
	}
	if line := excerpt(&s.entries[1]); line != "The capital is **Paris**, a city of two million." && !strings.HasPrefix(line, "The capital is **Paris**, a city") {
		t.Errorf("in the tree it is %q", line)
	}
}

// What the session says keeps its place: no heading, HTML, picture or fence of it
// changes the document around it.
func TestMarkdownContainsText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"headings", "# a\n#### b\n#c", "### a\n###### b\n#c"},
		{"underlines", "a\n===\nb\n---\n\n---", "a\n\\===\nb\n***\n\n***"},
		{"html", "<details> <!-- </b> a<b 1 < 2 <https://x.example>", "&lt;details> &lt;!-- &lt;/b> a&lt;b 1 < 2 <https://x.example>"},
		{"html in code", "`<b>` ``a`<b>`` <b>", "`<b>` ``a`<b>`` &lt;b>"},
		{"a torn code span", "`\n`<b>`\n\n`<b>`", "`\n`&lt;b>`\n\n`<b>`"},
		{"picture", "![x](https://evil.example/p)", "\\![x](https://evil.example/p)"},
		{"escaped", `\![x](y) \<b>`, `\\![x](y) \&lt;b>`},
		{"open fence", "```go\n# a <b>\n~~~", "> ```go\n> # a <b>\n> ~~~"},
		{"fence in a list", "1. a\n   ```\n   <b>\n   ```\n<b>", "1. a\n   ```\n   <b>\n   ```\n&lt;b>"},
		{"fence after a bullet", "- ```\n  a\n  ```\n<b>", "- ```\n  a\n  ```\n&lt;b>"},
		{"fence that its list ends", "- ```\n<b>\n```\nc", "> - ```\n> <b>\n> ```\n> c"},
		{"closed fence", "````\n```\n````\n# a", "````\n```\n````\n### a"},
		{"reordering", "a\u202eb", "a⟨U+202E⟩b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, contained(tt.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The stored record goes out as it came in, unknown fields and odd numbers included.
func TestJSONKeepsRecords(t *testing.T) {
	raw := json.RawMessage(`{"type":"message","id":"a","parentId":null,"big":12345678901234567890,"text":"<b> & </script>","x":{"y":1.0}}`)
	p := Page{Entries: []transcript.Entry{
		{Type: "message", ID: "a", Raw: raw},
		{Type: "custom", ID: "b", CustomType: "x", Raw: json.RawMessage(`{torn`)},
	}}
	out := jsonOf(t, p)
	if !strings.Contains(out, string(raw)) {
		t.Errorf("the record is not in %s", out)
	}
	var got struct {
		Leaf    string
		Branch  []string
		Entries []struct{ ID, CustomType string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Leaf != "b" || len(got.Entries) != 2 || got.Entries[1].CustomType != "x" {
		t.Errorf("got %+v", got)
	}
}

func TestEmptySession(t *testing.T) {
	if out := jsonOf(t, Page{}); !json.Valid([]byte(out)) || !strings.Contains(out, `"leaf": null`) {
		t.Errorf("JSON of nothing is %s", out)
	}
	if out := render(t, Page{}); !strings.Contains(out, "Nothing was said") {
		t.Error("the page of nothing does not say so")
	}
	markdownOf(t, Page{})
}

func TestUnknownLeaf(t *testing.T) {
	p := branched()
	p.Leaf = "nobody"
	for name, write := range map[string]func(io.Writer, Page) error{"HTML": HTML, "Markdown": Markdown, "JSON": JSON} {
		if err := write(io.Discard, p); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Parents that do not exist, come later or are the entry itself make roots, not loops.
func TestDamagedTree(t *testing.T) {
	id := func(s string) *string { return &s }
	m := llm.UserText("hello")
	p := Page{Entries: []transcript.Entry{
		{Type: "message", ID: "a", ParentID: id("b"), Message: &m},
		{Type: "message", ID: "b", ParentID: id("b"), Message: &m},
		{Type: "message", ID: "b", ParentID: id("b")},
		{Type: "message", ID: "c", ParentID: id("gone")},
		{Type: "message", ID: "d", ParentID: id("b"), Message: &llm.Message{Role: llm.RoleToolResult, ToolCallID: "x"}},
		{},
		{Type: "label", ID: "e", ParentID: id("d"), TargetID: "none"},
	}}
	tr, err := newTree(&p)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, 2, 4, 6}; !slices.Equal(tr.path, want) {
		t.Errorf("the branch is %v, want %v", tr.path, want)
	}
	render(t, p)
	markdownOf(t, p)
	jsonOf(t, p)
}

func TestTotals(t *testing.T) {
	p := branched()
	tr, err := newTree(&p)
	if err != nil {
		t.Fatal(err)
	}
	got := tr.all
	got.Usage = llm.Usage{}
	if diff := cmp.Diff(Totals{Messages: 19, Prompts: 4, Answers: 9, ToolCalls: 6, ToolErrors: 1, Compactions: 1, Unpriced: 3}, got); diff != "" {
		t.Error(diff)
	}
	if tr.active.Answers != 7 || tr.active.Unpriced != 2 {
		t.Errorf("the branch has %d answers, %d of unknown price", tr.active.Answers, tr.active.Unpriced)
	}
	for _, tt := range []struct {
		cost     *llm.Cost
		unpriced int
		want     string
	}{
		{nil, 1, "unknown cost"},
		{&llm.Cost{}, 2, "unknown cost"},
		{&llm.Cost{}, 0, "$0.00"},
		{nil, 0, "$0.00"},
		{&llm.Cost{Total: llm.Dollars(1.5)}, 1, "≥ $1.50"},
		{&llm.Cost{Total: llm.Dollars(0.0123), Unreliable: true}, 0, "≈ $0.0123"},
	} {
		if got := costWords(tt.cost, tt.unpriced); got != tt.want {
			t.Errorf("cost %v with %d unpriced is %q, want %q", tt.cost, tt.unpriced, got, tt.want)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteFailure(t *testing.T) {
	for name, write := range map[string]func(io.Writer, Page) error{"HTML": HTML, "Markdown": Markdown, "JSON": JSON} {
		if err := write(broken{}, branched()); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A page is cut at its limits and says so.
func TestLimits(t *testing.T) {
	s := &script{}
	s.user(strings.Repeat("x", maxText+5000))
	s.say(llm.Message{Role: llm.RoleUser, Content: []llm.Block{llm.Image{Data: append(pictureFile("shot.png"), make([]byte, maxImage)...)}}})
	out := render(t, Page{Entries: s.entries})
	if len(out) > maxText+200_000 || !strings.Contains(out, "5.0 kB more are not in this page") || !strings.Contains(out, "too large for this page: 16.8 MB") {
		t.Errorf("the page has %d bytes and does not say what is left out", len(out))
	}
}

func FuzzContained(f *testing.F) {
	for _, s := range attacks {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = s[:min(len(s), 4096)]
		out := contained(s)
		if strings.Contains(out, "\u202e") || strings.Contains(out, "<script") && !strings.ContainsAny(s, "`~") {
			t.Errorf("%q became %q", s, out)
		}
	})
}
