package edit_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/edit"
)

type lineOp struct {
	Op   string `json:"op"`
	At   string `json:"at"`
	To   string `json:"to,omitempty"`
	Text string `json:"text,omitempty"`
}

// fileTag is the tag in the header of a file.
func fileTag(data string) string {
	h := edit.Header("a.go", []byte(data))
	return h[len(h)-6 : len(h)-2]
}

// named are the edits with line numbers turned into the names that these lines have
// in the text shown.
func named(shown string, ops []lineOp) []lineOp {
	lines := strings.Split(edit.Tagged("a.go", []byte(shown), 1, 0), "\n")
	name := func(s string) string {
		var n int
		if _, err := fmt.Sscanf(s, "=%d", &n); err != nil || n >= len(lines)-1 {
			return s
		}
		tag, _, _ := strings.Cut(lines[n], "|")
		return tag
	}
	out := make([]lineOp, len(ops))
	for i, o := range ops {
		out[i] = lineOp{o.Op, name(o.At), name(o.To), o.Text}
	}
	return out
}

func TestHashline(t *testing.T) {
	abc := "alpha\nbeta\ngamma\n"
	replace := func(at, to, text string) lineOp { return lineOp{"replace", at, to, text} }
	after := func(at, text string) lineOp { return lineOp{"insert_after", at, "", text} }
	before := func(at, text string) lineOp { return lineOp{"insert_before", at, "", text} }
	remove := func(at, to string) lineOp { return lineOp{"delete", at, to, ""} }
	braces := "f {\n}\ng {\n}\nh {\n}\n"
	for _, tt := range []struct {
		name    string
		shown   string
		now     string // the file, if it is not as shown any more
		ops     []lineOp
		want    string
		refusal string
		note    string
	}{
		{name: "replace a line", shown: abc, ops: []lineOp{replace("=2", "", "x")}, want: "alpha\nx\ngamma\n"},
		{name: "replace lines", shown: abc, ops: []lineOp{replace("=1", "=2", "x\ny\nz\n")}, want: "x\ny\nz\ngamma\n"},
		{name: "at and to the same", shown: abc, ops: []lineOp{replace("=2", "=2", "x")}, want: "alpha\nx\ngamma\n"},
		{name: "delete", shown: abc, ops: []lineOp{remove("=1", "=2")}, want: "gamma\n"},
		{name: "delete all", shown: abc, ops: []lineOp{remove("=1", "=3")}, want: ""},
		{name: "insert after", shown: abc, ops: []lineOp{after("=1", "x\n")}, want: "alpha\nx\nbeta\ngamma\n"},
		{name: "insert before", shown: abc, ops: []lineOp{before("=1", "x\n\ny")}, want: "x\n\ny\nalpha\nbeta\ngamma\n"},
		{name: "insert at the top", shown: abc, ops: []lineOp{after("0", "x")}, want: "x\nalpha\nbeta\ngamma\n"},
		{name: "insert into an empty file", shown: "", ops: []lineOp{after("0", "x")}, want: "x\n"},
		{name: "insert at the end", shown: abc, ops: []lineOp{after("=3", "x")}, want: abc + "x\n"},
		{name: "an empty line", shown: abc, ops: []lineOp{replace("=2", "", "\n")}, want: "alpha\n\ngamma\n"},
		{name: "several", shown: abc, ops: []lineOp{remove("=3", ""), replace("=1", "", "x"), after("=2", "y")}, want: "x\nbeta\ny\n"},
		{name: "replace and insert after it", shown: abc, ops: []lineOp{after("=2", "y"), replace("=2", "", "x")}, want: "alpha\nx\ny\ngamma\n"},
		{name: "insert on both sides", shown: abc, ops: []lineOp{after("=2", "y"), before("=2", "x")}, want: "alpha\nx\nbeta\ny\ngamma\n"},
		{name: "two inserts in order", shown: abc, ops: []lineOp{after("=1", "x"), after("=1", "y")}, want: "alpha\nx\ny\nbeta\ngamma\n"},
		{name: "overlap", shown: abc, ops: []lineOp{replace("=1", "=2", "x"), remove("=2", "")}, refusal: "edit 2: overlaps with edit 1: both change line 2"},
		{name: "insert inside of a range", shown: abc, ops: []lineOp{remove("=1", "=3"), after("=1", "x")}, refusal: "overlaps"},
		{name: "number with the bar", shown: abc, ops: []lineOp{replace("=2", "", "x")}, want: "alpha\nx\ngamma\n"},
		// Ends of lines and of files.
		{name: "no newline: replace the last", shown: "alpha\nbeta", ops: []lineOp{replace("=2", "", "x\n")}, want: "alpha\nx"},
		{name: "no newline: insert at the end", shown: "alpha\nbeta", ops: []lineOp{after("=2", "x\ny\n")}, want: "alpha\nbeta\nx\ny"},
		{name: "no newline: delete the last", shown: "alpha\nbeta", ops: []lineOp{remove("=2", "")}, want: "alpha\n"},
		{name: "no newline: delete and insert", shown: "alpha\nbeta", ops: []lineOp{remove("=2", ""), after("=2", "x")}, want: "alpha\nx"},
		{name: "no newline: two inserts", shown: "alpha", ops: []lineOp{after("=1", "x"), after("=1", "y")}, want: "alpha\nx\ny"},
		{name: "CRLF", shown: "alpha\r\nbeta\r\n", ops: []lineOp{replace("=2", "", "x\ny")}, want: "alpha\r\nx\r\ny\r\n"},
		{name: "mixed endings", shown: "alpha\r\nbeta\ngamma\r\n", ops: []lineOp{replace("=2", "", "x"), after("=3", "y")}, want: "alpha\r\nx\ngamma\r\ny\r\n"},
		{name: "CRLF in text", shown: abc, ops: []lineOp{replace("=2", "", "x\r\ny\r\n")}, want: "alpha\nx\ny\ngamma\n"},
		{name: "BOM", shown: "\uFEFFalpha\nbeta\n", ops: []lineOp{replace("=1", "", "x")}, want: "\uFEFFx\nbeta\n"},
		{name: "UTF-16", shown: inUTF16("alpha\nbeta\n", true), ops: []lineOp{replace("=2", "", "ß")}, want: inUTF16("alpha\nß\n", true)},
		{name: "Latin-1", shown: "\xe9t\xe9\nbeta\n", ops: []lineOp{replace("=2", "", "ü")}, want: "\xe9t\xe9\n\xfc\n"},
		{name: "Latin-1 has no such character", shown: "\xe9t\xe9\n", ops: []lineOp{replace("=1", "", "€")}, refusal: "Latin-1"},
		// Names that are wrong.
		{name: "no name", shown: abc, ops: []lineOp{replace("2", "", "x")}, refusal: `"2" names no line`},
		{name: "wrong letters", shown: abc, ops: []lineOp{replace("2:ab1", "", "x")}, refusal: "names no line"},
		{name: "beyond the end", shown: abc, ops: []lineOp{replace("9:abc", "", "x")}, refusal: "no line 9: the file has 3"},
		{name: "another line's hash", shown: abc, ops: []lineOp{replace("2:aaa", "", "x")}, refusal: "line 2 is not the one named 2:aaa"},
		{name: "to before at", shown: abc, ops: []lineOp{replace("=3", "=1", "x")}, refusal: "is before at"},
		{name: "delete with text", shown: abc, ops: []lineOp{{"delete", "=1", "", "x"}}, refusal: "delete takes no text"},
		{name: "insert a range", shown: abc, ops: []lineOp{{"insert_after", "=1", "=2", "x"}}, refusal: "takes one line"},
		{name: "replace at 0", shown: abc, ops: []lineOp{replace("0", "", "x")}, refusal: "at 0 goes with insert_after only"},
		{name: "no text", shown: abc, ops: []lineOp{replace("=1", "", "")}, refusal: "replace needs text"},
		{name: "unknown op", shown: abc, ops: []lineOp{{"append", "=1", "", "x"}}, refusal: `unknown op "append"`},
		{name: "nothing to do", shown: abc, ops: []lineOp{replace("=1", "", "alpha")}, refusal: "changes nothing"},
		{name: "elision", shown: abc, ops: []lineOp{replace("=1", "=3", "x\n# ... rest of file unchanged")}, refusal: "would be lost"},
		{name: "binary", shown: "a\x00b", ops: []lineOp{replace("1:aaa", "", "x")}, refusal: "binary"},
		// Copied names.
		{name: "copied names", shown: abc, ops: []lineOp{replace("=2", "=3", "2:abc|x\n3:def|  y\n")}, want: "alpha\nx\n  y\n", note: "left out"},
		{name: "copied header", shown: abc, ops: []lineOp{replace("=2", "=3", "[a.go#12ab]\n2:abc|x\n\n")}, want: "alpha\nx\n\n", note: "left out"},
		{name: "not on every line", shown: abc, ops: []lineOp{replace("=2", "", "2:abc|x\ny")}, want: "alpha\n2:abc|x\ny\ngamma\n"},
		{name: "the file has such lines", shown: "2:abc|q\n", ops: []lineOp{replace("=1", "", "2:abc|r")}, want: "2:abc|r\n"},
		// Files that have changed.
		{name: "changed elsewhere, moved down", shown: abc, now: "new\nmore\n" + abc, ops: []lineOp{replace("=2", "", "x")}, want: "new\nmore\nalpha\nx\ngamma\n", note: "is line 4 now"},
		{name: "changed elsewhere, moved up", shown: abc, now: "beta\ngamma\n", ops: []lineOp{remove("=2", "=3")}, want: "", note: "is line 1 now"},
		{name: "changed below", shown: abc, now: abc + "new\n", ops: []lineOp{replace("=2", "", "x")}, want: "alpha\nx\ngamma\nnew\n", note: "where they were"},
		{name: "the line changed", shown: abc, now: "alpha\nBETA\ngamma\n", ops: []lineOp{replace("=2", "", "x")}, refusal: "not near its place any more"},
		{name: "an end of the range changed", shown: abc, now: "alpha\nbeta\nGAMMA\n", ops: []lineOp{remove("=1", "=3")}, refusal: "not near its place any more"},
		{name: "the range grew", shown: abc, now: "alpha\nnew\nbeta\ngamma\n", ops: []lineOp{remove("=1", "=3")}, refusal: "not near its place any more"},
		{name: "in two places now", shown: abc, now: "beta\nalpha\nbeta\n", ops: []lineOp{replace("=2", "", "x")}, refusal: "fits 2 lines now"},
		{name: "a brace moved", shown: braces, now: "new\n" + braces, ops: []lineOp{after("=2", "x")}, refusal: "fits 3 lines now"},
		{name: "a brace stands where one stood", shown: braces, now: strings.TrimPrefix(braces, "f {\n}\n"), ops: []lineOp{after("=2", "x")}, refusal: "fits 2 lines now"},
		{name: "one brace is left", shown: braces, now: "f {\n}\n", ops: []lineOp{after("=2", "x")}, refusal: "says too little"},
		{name: "too far away", shown: abc, now: strings.Repeat("\n", 500) + abc, ops: []lineOp{replace("=2", "", "x")}, refusal: "not near its place"},
		{name: "now empty", shown: abc, now: "\n", ops: []lineOp{replace("=2", "", "x")}, refusal: "not near its place"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := tt.now
			if now == "" {
				now = tt.shown
			}
			args := map[string]any{"path": "a.go", "tag": fileTag(tt.shown), "edits": named(tt.shown, tt.ops)}
			expect(t, "hashline", files{"a.go": now}, args, files{"a.go": tt.want}, tt.refusal, tt.note)
		})
	}
}

// The answer to a stale name is enough to do it again.
func TestHashlineStaleShowsNames(t *testing.T) {
	shown, now := "alpha\nbeta\ngamma\n", "alpha\nBETA\ngamma\n"
	args := map[string]any{"path": "a.go", "tag": fileTag(shown), "edits": named(shown, []lineOp{{"replace", "=2", "", "x"}})}
	_, _, r := apply(t, "hashline", files{"a.go": now}, args)
	if r == nil || !strings.Contains(r.Error(), "The tag is "+fileTag(now)) {
		t.Fatalf("no tag: %v", r)
	}
	name := regexp.MustCompile(`(?m)^(2:\w{3})\|BETA$`).FindStringSubmatch(r.Nearest)
	if name == nil {
		t.Fatalf("no names: %s", r.Nearest)
	}
	args = map[string]any{"path": "[a.go#" + fileTag(now) + "]", "tag": "", "edits": []lineOp{{"replace", name[1] + "|BETA", "", "x"}}}
	expect(t, "hashline", files{"a.go": now}, args, files{"a.go": "alpha\nx\ngamma\n"}, "", "")
}

func TestHashlineHeader(t *testing.T) {
	op := []lineOp{{"insert_after", "0", "", "x"}}
	for _, tt := range []struct{ path, tag, refusal string }{
		{"a.go", "12ab", ""},
		{"a.go#12ab", "12ab", ""},
		{"a.go", "#12AB", ""},
		{"a.go", "", "the tag is missing"},
		{"b.go", "12ab", "does not exist"},
	} {
		args := map[string]any{"path": tt.path, "tag": tt.tag, "edits": op}
		expect(t, "hashline", files{"a.go": "y\n"}, args, files{"a.go": "x\ny\n"}, tt.refusal, "")
	}
}

func TestTagged(t *testing.T) {
	data := "\uFEFFone\r\n\ttwo\r\nthree"
	got := edit.Tagged("d/a.go", []byte(data), 2, 99)
	want := edit.Header("d/a.go", []byte(data)) + edit.LineTag(2, "\ttwo") + "|\ttwo\n" + edit.LineTag(3, "three") + "|three\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !regexp.MustCompile(`^\[d/a\.go#[0-9a-f]{4}\]\n2:[a-z2-9]{3}\|\ttwo\n`).MatchString(got) {
		t.Errorf("form: %q", got)
	}
	if got := edit.Tagged("a", nil, 1, 0); got != edit.Header("a", nil) {
		t.Errorf("empty file: %q", got)
	}
	if got := edit.Tagged("a", []byte("a\x00"), 1, 0); strings.Contains(got, "|") {
		t.Errorf("binary: %q", got)
	}
	// A line that is cut cannot come back.
	long := strings.Repeat("é", 2000) + "\n"
	_, text, _ := strings.Cut(edit.Tagged("a.go", []byte(long), 1, 1), "|")
	if len(text) > 2100 {
		t.Errorf("%d bytes of a line are shown", len(text))
	}
	args := map[string]any{"path": "a.go", "tag": fileTag(long), "edits": named(long, []lineOp{{"replace", "=1", "", text}})}
	expect(t, "hashline", files{"a.go": long}, args, nil, "line cut at 2000 bytes", "")
	// Hashes of lines that are nearly the same differ, and do not repeat too often.
	seen := map[string]bool{}
	for i := range 2000 {
		seen[strings.Split(edit.LineTag(1, fmt.Sprintf("\treturn %d", i)), ":")[1]] = true
	}
	if len(seen) < 1900 {
		t.Errorf("%d hashes of 2000 lines", len(seen))
	}
}
