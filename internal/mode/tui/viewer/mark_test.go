package viewer

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/mode/tui/viewer/scan"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

func testStyles(p theme.Profile) *theme.Styles {
	th, _ := theme.Builtin(theme.DefaultLight)
	return theme.NewStyles(th, p)
}

// Marking changes no text and no look but the places', whatever colours and links a
// row has.
func TestMarkKeepsTheRest(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	pieces := []string{"a", "b", "ab", "BA", "ä", "Ä", "日本", " ", "İ", "e\u0301"}
	for _, p := range []theme.Profile{theme.NoStyle, theme.Mono, theme.TrueColor} {
		s := testStyles(p)
		for range 400 {
			var l styled.Line
			for range r.IntN(8) {
				text := ""
				for range r.IntN(5) {
					text += pieces[r.IntN(len(pieces))]
				}
				span := styled.Span{Text: text, Look: theme.Look{Fg: theme.Token(r.IntN(theme.Count)), Mod: theme.Mod(r.IntN(4))}}
				if r.IntN(4) == 0 {
					span.Link = "https://example.org/ab"
				}
				l = append(l, span)
			}
			row := styled.Render(s, l)
			query := scan.Fold(pieces[r.IntN(len(pieces))] + pieces[r.IntN(len(pieces))])
			got, hit := mark(row, query, s)
			if want := strings.Contains(scan.Fold(l.Text()), query); hit != want {
				t.Fatalf("%q in %q: %v", query, l.Text(), hit)
			}
			if ansi.Strip(got) != ansi.Strip(row) {
				t.Fatalf("the text changed:\n%q\n%q", row, got)
			}
			compareCells(t, row, got, query)
		}
	}
}

// compareCells checks that rows differ only where the query stands.
func compareCells(t *testing.T, row, marked, query string) {
	t.Helper()
	a, b := vt.New(vt.Options{Width: 100, Height: 1}), vt.New(vt.Options{Width: 100, Height: 1})
	a.WriteString(row)
	b.WriteString(marked + "|")
	var lit strings.Builder
	for x := range 100 {
		before, after := a.Cell(x, 0), b.Cell(x, 0)
		if after.Style.Attr&vt.Reverse != 0 {
			lit.WriteString(after.Text)
			continue
		}
		if after.Text == "|" {
			if after.Style != (vt.Style{}) {
				t.Fatalf("the look goes on behind the row: %q", marked)
			}
			continue
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("cell %d of %q for %q: %s", x, row, query, diff)
		}
	}
	if n := strings.Count(scan.Fold(ansi.Strip(row)), query); strings.Contains(marked, "\x1b") && len(scan.Fold(lit.String())) < n*len(query) {
		t.Fatalf("%q is lit for %d times %q in %q", lit.String(), n, query, marked)
	}
}

func TestSetFindsNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 60 {
		var s set
		has := map[int]bool{}
		for range r.IntN(20) {
			i := r.IntN(300)
			s.add(i)
			has[i] = true
		}
		if s.n != len(has) {
			t.Fatalf("%d members, want %d", s.n, len(has))
		}
		for i := -1; i <= 400; i++ {
			next, previous := -1, -1
			for k := range 300 {
				if has[k] && k < i {
					previous = k
				}
				if has[k] && k > i && next < 0 {
					next = k
				}
			}
			if got := [2]int{s.next(i), s.previous(i)}; got != [2]int{next, previous} {
				t.Fatalf("around %d: %v, want %v", i, got, [2]int{next, previous})
			}
		}
	}
}

func TestCode(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{
		{"no code", "", false},
		{"```go\na\n```\ntext\n~~~\nb\n```\nc\n~~~\n", "b\n```\nc", true},
		{"```\nnever closed", "", false},
		{"```\nfirst\n```\n```\nopen", "first", true},
		{"```\n```", "", true},
	} {
		if got, ok := code(tt.text); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %q, %v", tt.text, got, ok)
		}
	}
}

func TestNumber(t *testing.T) {
	var got []string
	for _, n := range []int{0, 999, 1000, 1234567} {
		got = append(got, number(n))
	}
	if diff := cmp.Diff("0 999 1,000 1,234,567", strings.Join(got, " ")); diff != "" {
		t.Error(diff)
	}
}

// The cache holds what is on the screen and little more, whatever one scrolls over.
func TestCacheIsBounded(t *testing.T) {
	var c cache
	row := strings.Repeat("x", 1000)
	for i := range 100_000 {
		c.begin()
		c.put(i, []string{row, row})
		c.trim()
		if c.bytes > 2*maxCache {
			t.Fatalf("%d bytes are kept", c.bytes)
		}
	}
	n := 0
	for _, d := range c.rows {
		n += d.bytes
	}
	if n != c.bytes || len(c.rows) == 0 {
		t.Errorf("%d bytes are counted, %d are there", c.bytes, n)
	}
	c.begin()
	for i := range 3 * maxCache / 2000 { // one frame may need more
		c.put(-1-i, []string{row, row})
	}
	if _, ok := c.get(-1); !ok {
		t.Error("what the frame uses was forgotten")
	}
}

func FuzzMark(f *testing.F) {
	f.Add("\x1b[1mab\x1b[0m", "b")
	f.Add("\x1b]8;;x\x1b\\a\x1b]8;;\x1b\\", "a")
	s := testStyles(theme.Mono)
	f.Fuzz(func(t *testing.T, row, query string) {
		if strings.Contains(plain(row), "\x1b") {
			t.Skip("rows have no sequences but for looks and links")
		}
		got, hit := mark(row, scan.Fold(query), s)
		if !hit && got != row {
			t.Errorf("%q became %q", row, got)
		}
		if plain(got) != plain(row) {
			t.Errorf("the text of %q changed: %q", row, got)
		}
	})
}
