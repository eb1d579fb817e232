package list

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
)

func TestMatchOrder(t *testing.T) {
	labels := []string{
		"claude-opus-4-5", "claude-sonnet-4-5", "gpt-15.2", "gpt-5.2", "gpt-5.2-codex", "gemini-2.5-flash",
		"glm-4.6", "opus", "devstral", "mistral-large", "o3", "日本の梨",
	}
	items := make([]Item, len(labels))
	for i, s := range labels {
		items[i] = Item{ID: s, Label: s, Search: "model number " + fmt.Sprint(100+i)}
	}
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"opus", []string{"opus", "claude-opus-4-5"}},                 // exact, then a word
		{"OPUS claude", []string{"claude-opus-4-5"}},                  // all words, in any order and case
		{"gpt 5.2", []string{"gpt-5.2", "gpt-5.2-codex", "gpt-15.2"}}, // inside a number comes last
		{"gpt52", []string{"gpt-5.2", "gpt-5.2-codex"}},               // across marks; 15 is not 5
		{"clopus", []string{"claude-opus-4-5"}},                       // pieces that begin words
		{"snnet", []string{"claude-sonnet-4-5"}},                      // a letter left out
		{"stral", []string{"devstral", "mistral-large"}},              // inside, in the items' order
		{"111", []string{"日本の梨"}},                                     // beside the label
		{"の梨", []string{"日本の梨"}},
		{"日梨", nil}, // no letters left out in other scripts
		{"cdx", []string{"gpt-5.2-codex"}},
		{"eoa", nil},             // letters that are there by chance
		{"opus number zzz", nil}, // words must all fit
		{"opus zzz", nil},
	} {
		t.Run(c.query, func(t *testing.T) {
			f := paneltest.New(t)
			l := New(f.Env, Options{Items: items, Query: c.query})
			var got []string
			for i := range l.Len() {
				got = append(got, l.item(i).ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A query that grows letter by letter finds what it finds at once.
func TestGrowingQueriesFindTheSame(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"open", "ai", "-", "gpt", "4", "5", "12", "/", "claude", "son", "net", ".", "x", "日本", "É"}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		return b.String()
	}
	var items []Item
	for i := range 400 {
		items = append(items, Item{ID: fmt.Sprint(i), Label: text(1 + rnd.IntN(6)), Search: text(rnd.IntN(3))})
	}
	for range 200 {
		query := text(1+rnd.IntN(2)) + " " + text(rnd.IntN(2))
		f := paneltest.New(t)
		grown, fresh := New(f.Env, Options{Items: items}), New(f.Env, Options{Items: items, Query: query})
		paneltest.Press(grown, strings.ToLower(query))
		fresh.SetQuery(grown.Query())
		if !slices.Equal(grown.shown, fresh.shown) {
			t.Fatalf("%q: grown %v, at once %v", query, grown.shown, fresh.shown)
		}
	}
}

func TestLongListsAreSearchedBesideTheFace(t *testing.T) {
	f := paneltest.New(t)
	var moves []string
	chosen := ""
	l := New(f.Env, Options{
		Title: "Files", Items: numbered(50_000),
		OnMove: func(id string) { moves = append(moves, id) }, OnChoose: func(id string) { chosen = id },
	})
	paneltest.Press(l, "f")
	if l.Len() != 50_000 || l.find.under == nil {
		t.Fatal("the search was done while the key waited")
	}
	if rows, _ := l.Draw(60, 10); !strings.Contains(rows[0], "searching") {
		t.Errorf("it is not said that a search is under way: %q", rows[0])
	}
	paneltest.Press(l, "ile_49999.go", "enter")
	if chosen != "49999" {
		t.Errorf("Enter chose %q before the search for what was typed was done", chosen)
	}
	if diff := cmp.Diff([]string{"49999"}, moves); diff != "" {
		t.Error(diff)
	}

	// Clearing ends the search; what it posts afterwards changes nothing.
	paneltest.Press(l, "esc", "pack")
	flight := l.find.under
	paneltest.Press(l, "esc")
	<-flight.done
	l.land(flight)
	if l.Len() != 50_000 || l.Selected() != "49999" {
		t.Errorf("%d items, %q selected, after the search was cleared", l.Len(), l.Selected())
	}
}

func TestSearchesArePosted(t *testing.T) {
	f := paneltest.New(t)
	l := New(f.Env, Options{Items: numbered(20_000)})
	paneltest.Press(l, "file_777.go")
	for l.find.under != nil {
		(<-f.Posted)()
	}
	if l.Selected() != "777" {
		t.Errorf("selected %q", l.Selected())
	}
	paneltest.Press(l, "backspace")
	l.SetItems(numbered(10_000)) // the search begins anew with these
	for l.find.under != nil {
		(<-f.Posted)()
	}
	if l.Len() == 0 || l.Selected() != "777" {
		t.Errorf("%d found, selected %q", l.Len(), l.Selected())
	}
}

func TestFilterOfTheOwner(t *testing.T) {
	f := paneltest.New(t)
	l := New(f.Env, Options{Items: fruits(), Filter: func(q string, items []Item) []int { return []int{2, 99, -1, 0} }})
	paneltest.Press(l, "x")
	if l.Len() != 2 || l.Selected() != "c" {
		t.Errorf("%d items, %q first", l.Len(), l.Selected())
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("gpt 5", "openai/gpt-5.2", "rest")
	f.Add("日 x", "日本x", "")
	f.Add("\xff a", "a\xffb", "\x00")
	f.Fuzz(func(t *testing.T, query, label, rest string) {
		label = strings.ToLower(label)
		w := words(query)
		cost, v := match(w, label, strings.ToLower(rest))
		if cost < 0 || cost > maxCost {
			t.Fatalf("cost %d", cost)
		}
		if len(ranges(w, label)) > len(label) {
			t.Fatal("marks beyond the label")
		}
		// What a longer query finds, a shorter one must let through.
		if len(w) > 0 && v != no {
			short := slices.Clone(w)
			last := short[len(short)-1]
			short[len(short)-1] = last[:len(last)-1]
			if strings.ToValidUTF8(short[len(short)-1], "") == short[len(short)-1] {
				if _, v := match(short, label, strings.ToLower(rest)); v == no {
					t.Fatalf("%q fits %q/%q, and %q does not", w, label, rest, short)
				}
			}
		}
	})
}

func BenchmarkDrawAndMove(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := paneltest.New(b)
			l := New(f.Env, Options{Title: "Files", Items: numbered(n)})
			b.ReportAllocs()
			for b.Loop() {
				paneltest.Press(l, "down")
				l.Draw(120, 24)
			}
		})
	}
}

// BenchmarkKeyOfSearch is what a key costs that makes a list of 100,000 search.
func BenchmarkKeyOfSearch(b *testing.B) {
	f := paneltest.New(b)
	l := New(f.Env, Options{Title: "Files", Items: numbered(100_000)})
	b.ReportAllocs()
	for b.Loop() {
		paneltest.Press(l, "f")
		l.Draw(120, 24)
		b.StopTimer()
		l.settle()
		paneltest.Press(l, "backspace")
		for len(f.Posted) > 0 {
			(<-f.Posted)()
		}
		b.StartTimer()
	}
}

// BenchmarkSearch is how long after the key the rows change.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{940, 100_000} {
		for _, q := range []string{"f", "package5", "pkgfile", "zzz"} {
			b.Run(fmt.Sprint(n, "/", q), func(b *testing.B) {
				c := &corpus{items: numbered(n)}
				c.prepare()
				var never atomic.Bool
				b.ReportAllocs()
				for b.Loop() {
					c.run([]string{q}, nil, &never)
				}
			})
		}
	}
	b.Run("100000/first", func(b *testing.B) {
		items := numbered(100_000)
		var never atomic.Bool
		for b.Loop() {
			c := &corpus{items: items}
			c.run([]string{"f"}, nil, &never)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{940, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := paneltest.New(b)
			items := numbered(n)
			b.ReportAllocs()
			for b.Loop() {
				New(f.Env, Options{Items: items}).Draw(120, 24)
			}
		})
	}
}
