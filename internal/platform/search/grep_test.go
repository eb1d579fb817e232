package search_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/search"
)

// oneFile is a file system with the file f.
func oneFile(text string) fs.FS { return fstest.MapFS{"f": {Data: []byte(text)}} }

func grepFS(t testing.TB, fsys fs.FS, o search.GrepOptions) ([]search.Match, search.Summary) {
	t.Helper()
	var all []search.Match
	sum, err := search.Grep(context.Background(), fsys, o, func(m search.Match) bool {
		all = append(all, m)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, sum
}

// show writes matches as ripgrep prints them.
func show(matches []search.Match, context bool) string {
	var b strings.Builder
	path, last := "", 0
	for _, m := range matches {
		first := m.Line - len(m.Before)
		if context && path != "" && (m.Path != path || first > last+1) {
			b.WriteString("--\n")
		}
		for i, l := range m.Before {
			fmt.Fprintf(&b, "%s-%d-%s\n", m.Path, first+i, l)
		}
		last = m.Line - 1
		for _, l := range strings.Split(m.Text, "\n") {
			last++
			fmt.Fprintf(&b, "%s:%d:%s\n", m.Path, last, l)
		}
		for _, l := range m.After {
			last++
			fmt.Fprintf(&b, "%s-%d-%s\n", m.Path, last, l)
		}
		path = m.Path
	}
	return b.String()
}

// What ripgrep prints for random texts and options is what is found.
func TestGrepAgainstRipgrep(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("no ripgrep here")
	}
	seed := rand.Uint64()
	for round := range rounds(t, 40) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		of := func(s ...string) string { return s[r.IntN(len(s))] }
		files := map[string]string{}
		for _, name := range []string{"a", "b/c", "c.x"} {
			var b strings.Builder
			for range r.IntN(30) {
				b.WriteString(of("foo", "bar foo", "x", "", "Foo", "foobar", "func x()", "ends foo.", "é foo", "(", "a_foo foo-b"))
				b.WriteString(of("\n", "\n", "\n\n", "\nx\nx\n"))
			}
			files[name] = b.String() + of("", "last foo")
		}
		o := search.GrepOptions{Pattern: of("foo", "x|foo", "^foo", "foo$", "o+b?", `\bfoo\b`, `func \w+\(`, "(foo).*", "^$", "[A-F]oo")}
		args := []string{"-n", "--no-heading", "--with-filename", "--sort", "path", "-e", o.Pattern}
		flag := func(on *bool, arg string) {
			if *on = r.IntN(4) == 0; *on {
				args = append(args, arg)
			}
		}
		flag(&o.IgnoreCase, "-i")
		flag(&o.SmartCase, "-S")
		flag(&o.Word, "-w")
		if o.IgnoreCase && o.SmartCase { // the last one counts for ripgrep
			continue
		}
		if flag(&o.Multiline, "-U"); o.Multiline {
			o.Pattern = of(`foo\nx`, `(?s-m:x.*?foo)`, `\n\nx`, "foo", "x\nx\nx")
			args[6] = o.Pattern
			o.Word = false
		}
		if o.Before = r.IntN(4); o.Before > 0 {
			args = append(args, "-B", fmt.Sprint(o.Before))
		}
		if o.After = r.IntN(4); o.After > 0 {
			args = append(args, "-A", fmt.Sprint(o.After))
		}
		tree := makeTree(t, files)
		if o.Multiline {
			args = remove(args, "-w")
		}
		want := tool(t, tree.dir, "rg", args...)
		got, _ := grepFS(t, tree, o)
		if diff := cmp.Diff(want, show(got, o.Before+o.After > 0)); diff != "" {
			t.Fatalf("round %d of seed %d, rg %q: %s", round, seed, args, diff)
		}
	}
}

func remove(args []string, arg string) []string {
	var out []string
	for _, a := range args {
		if a != arg {
			out = append(out, a)
		}
	}
	return out
}

// A file that is read in many pieces gives what a file in one piece would.
func TestGrepPieces(t *testing.T) {
	seed := rand.Uint64()
	for round := range rounds(t, 30) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		var lines []string
		for size := 0; size < 600<<10; size += len(lines[len(lines)-1]) {
			n := r.IntN(200)
			switch r.IntN(300) {
			case 0:
				n = r.IntN(300 << 10)
			case 1, 2, 3:
				n = 8000
			}
			line := strings.Repeat("x", n)
			if r.IntN(200) == 0 {
				line += "needle"
			}
			lines = append(lines, line)
		}
		o := search.GrepOptions{Pattern: "needle$", Before: r.IntN(4), After: r.IntN(4), MaxColumns: 20}
		if round%3 == 0 {
			o.Pattern = "[m-o]e{2}d[k-m]e" // no literal to look for
		}
		end := []string{"\n", "\r\n"}[r.IntN(2)]
		got, _ := grepFS(t, oneFile(strings.Join(lines, end)), o)
		if diff := cmp.Diff(naive(lines, "needle", o), got); diff != "" {
			t.Fatalf("round %d of seed %d, %+v: %s", round, seed, o, diff)
		}
		o.Mode = search.GrepCount
		counted, _ := grepFS(t, oneFile(strings.Join(lines, end)), o)
		if n := len(got); n > 0 && counted[0].Count != n {
			t.Fatalf("round %d of seed %d: %d matches counted as %d", round, seed, n, counted[0].Count)
		}
	}
}

// naive finds the lines that end with a word.
func naive(lines []string, word string, o search.GrepOptions) []search.Match {
	var out []search.Match
	cut := func(s string) string { return s[:min(len(s), o.MaxColumns)] }
	shown := 0
	for i, line := range lines {
		if !strings.HasSuffix(line, word) {
			if n := len(out); n > 0 && i < out[n-1].Line+o.After {
				out[n-1].After = append(out[n-1].After, cut(line))
				shown = i + 1
			}
			continue
		}
		m := search.Match{Path: "f", Line: i + 1, Text: line, Spans: [][2]int{{len(line) - len(word), len(line)}}}
		if len(line) > o.MaxColumns {
			m.Cut = true
			m.From = len(line) - len(word) - o.MaxColumns/4
			m.Text = line[m.From:]
			m.Spans = [][2]int{{o.MaxColumns / 4, o.MaxColumns/4 + len(word)}}
		}
		for k := max(i-o.Before, shown); k < i; k++ {
			m.Before = append(m.Before, cut(lines[k]))
		}
		shown = i + 1
		out = append(out, m)
	}
	return out
}

func utf16Text(order interface{ AppendUint16([]byte, uint16) []byte }, text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestGrepText(t *testing.T) {
	match := func(line int, text string, spans ...[2]int) search.Match {
		return search.Match{Path: "f", Line: line, Text: text, Spans: spans}
	}
	cut := func(m search.Match, from int) search.Match {
		m.Cut, m.From = true, from
		return m
	}
	for _, tt := range []struct {
		name, text string
		o          search.GrepOptions
		want       []search.Match
	}{
		{"UTF-8 with a mark", "\xef\xbb\xbféa", search.GrepOptions{Pattern: "^é"}, []search.Match{match(1, "éa", [2]int{0, 2})}},
		{"UTF-16, little end first", utf16Text(binary.LittleEndian, "x\r\né😀"), search.GrepOptions{Pattern: "😀$"}, []search.Match{match(2, "é😀", [2]int{2, 6})}},
		{"UTF-16, big end first", utf16Text(binary.BigEndian, "é"), search.GrepOptions{Pattern: `\pL`, Multiline: true}, []search.Match{match(1, "é", [2]int{0, 2})}},
		{"UTF-16 with half a character", "\xff\xfea\x00\x3d\xd8b\x00c", search.GrepOptions{Pattern: "a.b."}, []search.Match{match(1, "a\ufffdb\ufffd", [2]int{0, 8})}},
		{"Windows-1252", "caf\xe9 \x80\n", search.GrepOptions{Pattern: "é €"}, []search.Match{match(1, "café €", [2]int{3, 9})}},
		{"CR LF", "a\r\nab\r\n", search.GrepOptions{Pattern: "a$"}, []search.Match{match(1, "a", [2]int{0, 1})}},
		{"CR LF over lines", "a\r\nb\r\nc\r\n", search.GrepOptions{Pattern: `a\nb$`, Multiline: true}, []search.Match{match(1, "a\nb", [2]int{0, 3})}},
		{"matches that share a line", "ab\nba\nx", search.GrepOptions{Pattern: `b\n?b|a`, Multiline: true}, []search.Match{match(1, "ab\nba", [2]int{0, 1}, [2]int{1, 4}, [2]int{4, 5})}},
		{"a match that begins with the end of a line", "a\nb\nc", search.GrepOptions{Pattern: `a|\nb`, Multiline: true}, []search.Match{match(1, "a\nb", [2]int{0, 1}, [2]int{1, 3})}},
		{"binary", "a\x00\na", search.GrepOptions{Pattern: "a"}, nil},
		{"the end of a line is none", "a\n", search.GrepOptions{Pattern: "^$"}, nil},
		{"nothing in an empty file", "", search.GrepOptions{Pattern: "^$"}, nil},
		{"nothing in an empty file, over lines", "", search.GrepOptions{Pattern: "^", Multiline: true}, nil},
		{"a long line", "0123456789", search.GrepOptions{Pattern: "[18]", MaxColumns: 5}, []search.Match{cut(match(1, "01234", [2]int{1, 2}), 0)}},
		{"a long line with a match behind", "äöüß89äöüß", search.GrepOptions{Pattern: "9", MaxColumns: 4}, []search.Match{cut(match(1, "89äö", [2]int{1, 2}), 8)}},
		{"a line that is just as long", "äöü", search.GrepOptions{Pattern: "ü", MaxColumns: 3}, []search.Match{match(1, "äöü", [2]int{4, 6})}},
		{"stray braces", "${name} {2}\n", search.GrepOptions{Pattern: "${name} ({2})"}, []search.Match{match(1, "${name} {2}", [2]int{0, 11})}},
		{"a limit with context", "a\nb\na\nb\n", search.GrepOptions{Pattern: "a", After: 1, Limit: 1}, []search.Match{{Path: "f", Line: 1, Text: "a", Spans: [][2]int{{0, 1}}, After: []string{"b"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := grepFS(t, oneFile(tt.text), tt.o)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGrepRefuses(t *testing.T) {
	for want, o := range map[string]search.GrepOptions{
		`missing closing )`:                   {Pattern: "a(b"},
		`look-around`:                         {Pattern: "a(?=b)"},
		`back-references`:                     {Pattern: `(a)\1`},
		`multiline`:                           {Pattern: `a\nb`},
		`not valid UTF-8`:                     {Pattern: "\xff"},
		`repeat`:                              {Pattern: "(a{1000}){1000}"},
		`unknown file type "gooo"`:            {Filter: search.Filter{Types: []string{"gooo"}}},
		`unclosed [`:                          {Filter: search.Filter{Globs: []string{"[a"}}},
		`more than 1000 patterns`:             {Filter: search.Filter{Globs: []string{strings.Repeat("{a,b}", 11)}}},
		`search nowhere: file does not exist`: {Filter: search.Filter{Paths: []string{"f", "nowhere"}}},
		`search f/x: file does not exist`:     {Filter: search.Filter{Paths: []string{"f/x"}}},
		`outside`:                             {Filter: search.Filter{Paths: []string{"a/../.."}}},
		`limit must not be negative`:          {Limit: -1},
		`unknown mode "words"`:                {Mode: "words"},
	} {
		for name, fsys := range map[string]fs.FS{"plain": oneFile("x"), "rooted": makeTree(t, map[string]string{"f": "x"})} {
			_, err := search.Grep(context.Background(), fsys, o, func(search.Match) bool { return true })
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %+v: error %v, want one with %q", name, o, err, want)
			}
		}
	}
}

// Offset and limit count over all files, whatever the workers do.
func TestGrepWindow(t *testing.T) {
	files := map[string]string{}
	var all []string
	for i := range 300 {
		name := fmt.Sprintf("d%d/f%03d", i%7, i)
		files[name] = strings.Repeat("hit\nmiss\n", i%4)
	}
	tree := makeTree(t, files)
	every, sum := grepFS(t, tree, search.GrepOptions{Pattern: "hit"})
	if sum.Matches != 450 || sum.Files != 225 || sum.Searched != 300 || sum.LimitReached {
		t.Errorf("all: %+v", sum)
	}
	for _, m := range every {
		all = append(all, fmt.Sprint(m.Path, m.Line))
	}
	for _, w := range []struct{ offset, limit int }{{0, 1}, {3, 5}, {449, 1}, {449, 2}, {450, 3}, {0, 450}, {100, 0}} {
		got, sum := grepFS(t, tree, search.GrepOptions{Pattern: "hit", Offset: w.offset, Limit: w.limit})
		end := len(all)
		if w.limit > 0 {
			end = min(end, w.offset+w.limit)
		}
		names := []string{}
		for _, m := range got {
			names = append(names, fmt.Sprint(m.Path, m.Line))
		}
		if diff := cmp.Diff(append([]string{}, all[w.offset:end]...), names); diff != "" {
			t.Errorf("%+v: %s", w, diff)
		}
		if sum.LimitReached != (end < len(all)) || sum.Matches != end-w.offset {
			t.Errorf("%+v: %+v", w, sum)
		}
	}
	first, sum := grepFS(t, tree, search.GrepOptions{Pattern: "hit", Limit: 1, Mode: search.GrepCount})
	if len(first) != 1 || first[0].Path != "d0/f007" || first[0].Count != 3 || first[0].Line != 0 || !sum.LimitReached || sum.Searched != 3 {
		t.Errorf("the first file: %+v, %+v", first, sum)
	}
}
