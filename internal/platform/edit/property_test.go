package edit_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/edit"
)

// someLines are lines that are easily taken for something else, few enough that
// they repeat.
var someLines = []string{
	"", "a", "a ", "b", "c", "\ta", "\t\tb", "  b", "    c", "}", "-- a", "++ b", "@@ c", "--- a", "+++ b", "*** End Patch", "*** End of File",
	"*** Add File: x", `\ No newline at end of file`, "diff --git a/x b/x", "“q”", `"q"`, "x…", "é", "lone\rcr", "[a#12ab]", "func f() {",
}

// script is a file and a change of it by lines.
type script struct {
	lines  []string // with their endings
	steps  []step   // in order, apart from each other
	bom    string
	ending string // that most lines have
}

type step struct {
	from, to int
	lines    []string // without endings
}

func drawScript(t *rapid.T, distinct bool) script {
	s := script{ending: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "ending")}
	s.bom = rapid.SampledFrom([]string{"", "", "\uFEFF"}).Draw(t, "bom")
	n := rapid.IntRange(1, 30).Draw(t, "n")
	line := rapid.SampledFrom(someLines)
	for i := range n {
		l := line.Draw(t, "line")
		if distinct {
			l = fmt.Sprintf("<%d>%s", i, l)
		}
		s.lines = append(s.lines, l+s.ending)
	}
	if last := &s.lines[n-1]; rapid.Bool().Draw(t, "open") && *last != s.ending {
		*last = strings.TrimSuffix(*last, s.ending)
		if n == 1 {
			s.ending = "\n" // the file shows none
		}
	}
	for at := rapid.IntRange(0, n).Draw(t, "first"); at <= n; {
		st := step{from: at, to: at + rapid.IntRange(0, min(3, n-at)).Draw(t, "removed")}
		for range rapid.IntRange(0, 3).Draw(t, "added") {
			l := line.Draw(t, "new")
			if distinct {
				l = fmt.Sprintf("new %d%s", len(st.lines), l)
			}
			st.lines = append(st.lines, l)
		}
		if st.from < st.to || len(st.lines) > 0 {
			s.steps = append(s.steps, st)
		}
		at = st.to + 1 + rapid.IntRange(0, 9).Draw(t, "gap")
	}
	return s
}

func (s script) before() string { return s.bom + strings.Join(s.lines, "") }

// after makes the change in the simplest way.
func (s script) after() string {
	n := len(s.lines)
	open := !strings.HasSuffix(s.lines[n-1], s.ending)
	var b strings.Builder
	b.WriteString(s.bom)
	at := 0
	for _, st := range s.steps {
		b.WriteString(strings.Join(s.lines[at:st.from], ""))
		if open && st.from == n && len(st.lines) > 0 {
			b.WriteString(s.ending)
		}
		text := strings.Join(st.lines, s.ending)
		if k := len(st.lines); k > 0 && (!open || st.to < n || st.lines[k-1] == "") {
			text += s.ending // an empty line without newline would be none
		}
		b.WriteString(text)
		at = st.to
	}
	return b.String() + strings.Join(s.lines[at:], "")
}

// patch writes the change in the apply-patch format with some lines of context.
func (s script) patch(context int) string {
	bare := func(l string) string { return strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r") }
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Update File: a.go\n")
	at, open := 0, false
	for i, st := range s.steps {
		if from := max(st.from-context, 0); from >= at && (i == 0 || from > at || !open) {
			b.WriteString("@@\n")
			at = from
		}
		for ; at < st.from; at++ {
			b.WriteString(" " + bare(s.lines[at]) + "\n")
		}
		for ; at < st.to; at++ {
			b.WriteString("-" + bare(s.lines[at]) + "\n")
		}
		for _, l := range st.lines {
			b.WriteString("+" + l + "\n")
		}
		end := min(at+context, len(s.lines))
		if i+1 < len(s.steps) {
			end = min(end, s.steps[i+1].from)
		}
		for ; at < end; at++ {
			b.WriteString(" " + bare(s.lines[at]) + "\n")
		}
		open = true
	}
	return b.String() + "*** End Patch\n"
}

// slip takes the space off the context of a patch, if that leaves lines that are not
// taken for something else.
func slip(patch string, distinct bool) string {
	if !distinct {
		return patch
	}
	return strings.ReplaceAll(patch, "\n <", "\n<")
}

// ops writes the change for the hashline engine.
func (s script) ops() map[string]any {
	var ops []lineOp
	for _, st := range s.steps {
		text := strings.Join(st.lines, "\n") + "\n"
		switch name := func(i int) string { return fmt.Sprintf("=%d", i) }; {
		case st.from == st.to && st.from == 0:
			ops = append(ops, lineOp{"insert_after", "0", "", text})
		case st.from == st.to:
			ops = append(ops, lineOp{"insert_after", name(st.from), "", text})
		case len(st.lines) == 0:
			ops = append(ops, lineOp{"delete", name(st.from + 1), name(st.to), ""})
		default:
			ops = append(ops, lineOp{"replace", name(st.from + 1), name(st.to), text})
		}
	}
	return map[string]any{"path": "a.go", "tag": fileTag(s.before()), "edits": named(s.before(), ops)}
}

// replacements writes the change for the replace engine: the line before, what is
// removed, and the line after.
func (s script) replacements() map[string]any {
	lf := func(lines []string) string { return strings.ReplaceAll(strings.Join(lines, ""), "\r\n", "\n") }
	var pairs []pair
	for _, st := range s.steps {
		from, to := max(st.from-1, 0), min(st.to+1, len(s.lines))
		fresh := strings.Join(st.lines, "\n") + "\n"
		if len(st.lines) == 0 {
			fresh = ""
		}
		pairs = append(pairs, pair{Old: lf(s.lines[from:to]), New: lf(s.lines[from:st.from]) + fresh + lf(s.lines[st.to:to])})
	}
	return replaceArgs(pairs...)
}

// Whatever a file and a change look like, an engine makes exactly this change or
// refuses. Where lines are all different it does not refuse.
func TestExactlyOrNotAtAll(t *testing.T) {
	for _, distinct := range []bool{true, false} {
		t.Run(fmt.Sprintf("distinct=%v", distinct), func(t *testing.T) {
			applied, refused := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				s := drawScript(rt, distinct)
				want := s.after()
				for _, tt := range []struct {
					name, engine string
					args         map[string]any
					sure         bool
				}{
					{"whole patch", "patch", patchArgs(s.patch(100)), true},
					{"patch", "patch", patchArgs(s.patch(2)), distinct},
					{"patch without spaces", "patch", patchArgs(slip(s.patch(2), distinct)), false},
					{"hashline", "hashline", s.ops(), true},
					{"whole", "whole", map[string]any{"path": "a.go", "content": strings.ReplaceAll(want, "\r\n", "\n")}, true},
				} {
					got, _, r := apply(t, tt.engine, files{"a.go": s.before()}, tt.args)
					switch {
					case r != nil && want != s.before() && tt.sure:
						rt.Fatalf("%s refused: %v\n%q", tt.name, r, tt.args)
					case r != nil:
						refused++
					case got["a.go"] != want:
						rt.Fatalf("%s: %q\n(-want +got):\n%s", tt.name, tt.args, cmp.Diff(want, got["a.go"]))
					default:
						applied++
					}
				}
			})
			if applied < 100 && !testing.Short() { // then it is tried less often
				t.Errorf("%d applied, %d refused: the test says nothing", applied, refused)
			}
		})
	}
}

// The replace engine against the simplest replacement there is.
func TestReplaceExactlyOrNotAtAll(t *testing.T) {
	applied := 0
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt, rapid.Bool().Draw(rt, "distinct"))
		text := strings.TrimPrefix(s.before(), s.bom)
		plain := strings.ReplaceAll(text, "\r\n", "\n")
		from := rapid.IntRange(0, len(plain)-1).Draw(rt, "from")
		old := strings.ToValidUTF8(plain[from:rapid.IntRange(from+1, min(len(plain), from+20)).Draw(rt, "to")], "")
		fresh := strings.Join(rapid.SliceOfN(rapid.SampledFrom(someLines), 0, 3).Draw(rt, "new"), "\n")
		got, res, r := apply(t, "replace", files{"a.go": s.before()}, replaceArgs(pair{Old: old, New: fresh}))
		places := 0
		for i := range plain {
			if strings.HasPrefix(plain[i:], old) {
				places++
			}
		}
		at := strings.Index(plain, old)
		line := strings.LastIndexByte(plain[:at], '\n') + 1
		inner := line < at && strings.Trim(plain[line:at], " \t") == "" // behind an indentation
		if r != nil && inner && strings.Contains(r.Error(), "not clear how to indent") {
			return
		}
		if r != nil {
			if places == 1 && old != "" && old != fresh && !strings.HasSuffix(old, "\r") {
				rt.Fatalf("refused %q: %v", old, r)
			}
			return
		}
		applied++
		rest, _, _ := strings.Cut(plain[at+len(old):], "\n")
		whole := fresh == "" && (strings.HasSuffix(old, "\n") || strings.Trim(rest, " \t") == "")
		first, _, _ := strings.Cut(old, "\n")
		switch {
		case inner && strings.Trim(first, " \t") != "" && (whole || strings.HasPrefix(fresh, "\n")):
			at, old = line, plain[line:at]+old
		case inner && (strings.Contains(fresh, "\n") || strings.Contains(old+"\n", "\n"+fresh+"\n")), strings.Contains(strings.Join(res.Notes, ""), "it was indented"):
			return // TestReplaceWithoutIndentation and TestReplace have these
		}
		want := s.bom + strings.ReplaceAll(plain[:at]+fresh+plain[at+len(old):], "\n", s.ending)
		if places != 1 || got["a.go"] != want {
			rt.Fatalf("%q for %q in %d places\n(-want +got):\n%s", fresh, old, places, cmp.Diff(want, got["a.go"]))
		}
	})
	if applied < 20 && !testing.Short() {
		t.Errorf("%d applied: the test says nothing", applied)
	}
}

// Hunks that fit several places are applied if, in their order and apart from each
// other, they fit in one way only, and refused if they fit in several.
func TestPatchOrderIsUnique(t *testing.T) {
	applied, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "x"}), 2, 9).Draw(rt, "lines")
		type place struct{ from, to, before, after int } // removed lines, and lines of context
		var hunks []place
		var patch, want strings.Builder
		at := 0
		for from := rapid.IntRange(0, len(lines)-1).Draw(rt, "first"); from < len(lines) && len(hunks) < 4; {
			p := place{from: from, to: from + rapid.IntRange(1, min(2, len(lines)-from)).Draw(rt, "removed")}
			p.before = rapid.IntRange(0, min(1, p.from)).Draw(rt, "before")
			p.after = rapid.IntRange(0, min(1, len(lines)-p.to)).Draw(rt, "after")
			patch.WriteString("@@\n")
			for i := p.from - p.before; i < p.to+p.after; i++ {
				sign := " "
				if i >= p.from && i < p.to {
					sign = "-"
				}
				patch.WriteString(sign + lines[i] + "\n")
				if i == p.to-1 {
					fmt.Fprintf(&patch, "+new %d\n", len(hunks))
				}
			}
			want.WriteString(strings.Join(append(lines[at:p.from:p.from], fmt.Sprintf("new %d", len(hunks)), ""), "\n"))
			hunks, at = append(hunks, p), p.to
			from = p.to + rapid.IntRange(0, 3).Draw(rt, "gap")
		}
		want.WriteString(strings.Join(append(lines[at:len(lines):len(lines)], ""), "\n"))
		var ways func(i, from int) int
		ways = func(i, from int) int {
			if i == len(hunks) {
				return 1
			}
			h, n := hunks[i], 0
			old := lines[h.from-h.before : h.to+h.after]
			for at := 0; at+len(old) <= len(lines); at++ {
				if at+h.before >= from && slices.Equal(lines[at:at+len(old)], old) {
					n += ways(i+1, at+h.before+h.to-h.from)
				}
			}
			return n
		}
		n := ways(0, 0)
		got, _, r := apply(t, "patch", files{"a.go": strings.Join(lines, "\n") + "\n"}, patchArgs(updating(strings.TrimSuffix(patch.String(), "\n"))))
		switch {
		case (r == nil) != (n == 1):
			rt.Fatalf("%d ways for\n%s in %q: %v", n, patch.String(), lines, r)
		case r != nil:
			refused++
		case got["a.go"] != want.String():
			rt.Fatalf("%s in %q: %q, want %q", patch.String(), lines, got["a.go"], want.String())
		default:
			applied++
		}
	})
	if (applied < 10 || refused < 10) && !testing.Short() {
		t.Errorf("%d applied, %d refused: the test says nothing", applied, refused)
	}
}

// Several edits with their neighbouring lines, in files whose lines differ.
func TestReplaceLines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt, true)
		args := s.replacements()
		got, _, r := apply(t, "replace", files{"a.go": s.before()}, args)
		open := !strings.HasSuffix(s.lines[len(s.lines)-1], s.ending)
		atEnd := s.steps != nil && s.steps[len(s.steps)-1].to >= len(s.lines)-1
		switch {
		case r != nil && strings.Contains(r.Error(), "no edits"), r != nil && strings.Contains(r.Error(), "overlaps"):
		case open && atEnd: // what is meant there is another test's
		case r != nil:
			rt.Fatalf("refused: %v\n%q", r, args)
		case got["a.go"] != s.after():
			rt.Fatalf("%q\n(-want +got):\n%s", args, cmp.Diff(s.after(), got["a.go"]))
		}
	})
}

// In files with both line endings, every line that does not change keeps its own.
func TestUntouchedLines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt, true)
		for i := range s.lines {
			if text, ok := strings.CutSuffix(s.lines[i], s.ending); ok {
				s.lines[i] = text + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "mixed")
			}
		}
		var want []string // with the ending for lines that stay
		at := 0
		for _, st := range s.steps {
			want = append(append(want, s.lines[at:st.from]...), st.lines...)
			at = st.to
		}
		want = append(want, s.lines[at:]...)
		content := ""
		for _, w := range want {
			content += strings.TrimRight(w, "\r\n") + "\n"
		}
		if n := len(want); n > 0 && at < len(s.lines) && !strings.HasSuffix(want[n-1], "\n") {
			content = strings.TrimSuffix(content, "\n")
		}
		for engine, args := range map[string]map[string]any{
			"patch": patchArgs(s.patch(3)), "hashline": s.ops(), "whole": {"path": "a.go", "content": content},
		} {
			got, _, r := apply(t, engine, files{"a.go": s.before()}, args)
			if r != nil {
				if len(s.steps) > 0 {
					rt.Fatalf("%s: %v", engine, r)
				}
				continue
			}
			lines := strings.SplitAfter(strings.TrimPrefix(got["a.go"], s.bom), "\n")
			if lines[len(lines)-1] == "" {
				lines = lines[:len(lines)-1]
			}
			if len(lines) != len(want) {
				rt.Fatalf("%s: %q, want %q", engine, lines, want)
			}
			for i, w := range want {
				stays := strings.HasPrefix(w, "<")
				opened := i < len(want)-1 && stays && !strings.HasSuffix(w, "\n") // got an ending, as lines follow
				if stays && !opened && lines[i] != w || strings.TrimRight(lines[i], "\r\n") != strings.TrimRight(w, "\r\n") {
					rt.Fatalf("%s: line %d is %q, want %q", engine, i+1, lines[i], w)
				}
			}
		}
	})
}

// The diff of a result, given to git, to patch and to the patch engine, makes the
// same file.
func TestDiffApplies(t *testing.T) {
	pacetest.Costly(t)
	for _, tool := range []string{"git", "patch"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt, rapid.Bool().Draw(rt, "distinct"))
		_, res, r := apply(t, "hashline", files{"a.go": s.before()}, s.ops())
		if r != nil {
			return
		}
		want := files{"a.go": s.after()}
		got, _, r := apply(t, "patch", files{"a.go": s.before()}, patchArgs(res.Diff))
		if r != nil || cmp.Diff(want, got) != "" {
			rt.Fatalf("the patch engine: %v\n%s\n%s", r, cmp.Diff(want, got), res.Diff)
		}
		for _, command := range [][]string{{"git", "apply", "--whitespace=nowarn", "-"}, {"patch", "-s", "-p1", "--binary", "-F0"}} {
			if got := applyWith(t, command, s.before(), res.Diff); got != want["a.go"] {
				rt.Fatalf("%s:\n%s\n%s", command[0], cmp.Diff(want["a.go"], got), res.Diff)
			}
		}
		diff, added, removed := edit.Diff("a.go", []byte(s.before()), []byte(s.after()))
		if got := applyWith(t, []string{"git", "apply", "--whitespace=nowarn", "-"}, s.before(), diff); got != want["a.go"] {
			rt.Fatalf("Diff, +%d -%d:\n%s\n%s", added, removed, cmp.Diff(want["a.go"], got), diff)
		}
	})
}

// applyWith runs a command that reads a diff in a folder with the file a.go.
func applyWith(t *testing.T, command []string, before, diff string) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "a.go")
	if err := os.WriteFile(name, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", command[0], err, out, diff)
	}
	after, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(after)
}
