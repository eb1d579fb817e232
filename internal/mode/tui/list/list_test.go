package list

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

var update = flag.Bool("update", false, "write the golden files anew")

func plain(rows []string) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.TrimRight(ansi.Strip(r), " ") + "\n")
	}
	return b.String()
}

func fruits() []Item {
	return []Item{
		{ID: "a", Label: "apple", Detail: "round and red", Group: "Trees"},
		{ID: "b", Label: "banana", Detail: "long", Group: "Shrubs", Mark: "*"},
		{ID: "c", Label: "blackberry", Detail: "small", Group: "Shrubs", Dim: true},
		{ID: "d", Label: "日本の梨", Detail: "crisp", Group: "Trees", Search: "nashi pear"},
		{ID: "e", Label: "evil \x1b[31m\u202ename\nof two lines", Detail: "\x07"},
	}
}

func numbered(n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{ID: strconv.Itoa(i), Label: fmt.Sprintf("internal/package%d/file_%d.go", i%97, i), Detail: "1.2 KB"}
	}
	return items
}

func TestMoves(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		keys []string
		want string
	}{
		{"begins at the first", 5, nil, "0"},
		{"down and up", 5, []string{"down", "down", "up"}, "1"},
		{"round at the start", 5, []string{"up"}, "4"},
		{"round at the end", 5, []string{"end", "down"}, "0"},
		{"a page", 100, []string{"pagedown"}, "7"},
		{"a page beyond the end", 3, []string{"pagedown"}, "2"},
		{"pages back", 100, []string{"end", "pageup", "pageup"}, "85"},
		{"home", 100, []string{"end", "home"}, "0"},
		{"wheel", 100, []string{"wheeldown", "wheeldown", "wheelup"}, "3"},
		{"nothing to move in", 0, []string{"down", "up", "end", "pagedown", "enter"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := paneltest.New(t)
			l := New(f.Env, Options{Title: "Files", Items: numbered(c.n)})
			l.Draw(40, 10)
			paneltest.Press(l, c.keys...)
			if got := l.Selected(); got != c.want {
				t.Errorf("selected %q, want %q", got, c.want)
			}
		})
	}
}

func TestCallbacks(t *testing.T) {
	f := paneltest.New(t)
	var log []string
	note := func(s string) func(string) { return func(id string) { log = append(log, s+" "+id) } }
	l := New(f.Env, Options{
		Items: fruits(), Selected: "b", Toggle: true,
		OnChoose: note("choose"), OnMove: note("move"), OnQuery: note("query"),
		OnCancel: func() { log = append(log, "cancel") },
		OnToggle: func(id string, on bool) { log = append(log, fmt.Sprint("toggle ", id, " ", on)) },
		OnKey: func(p key.Press, id string) bool {
			if p.Key != "tab" {
				return false
			}
			log = append(log, "tab "+id)
			return true
		},
	})
	paneltest.Press(l, "enter", "down", "tab", "space", "space", "pear", "enter", "esc", "esc", "q", "ctrl+c", "alt+x")
	want := []string{
		"choose b", "move c", "tab c", "toggle c true", "toggle c false",
		// c is not among what "p" finds, "a" is; "pe" leaves the pear.
		"query p", "move a", "query pe", "move d", "query pea", "query pear", "choose d",
		"query ", "cancel", "query q", "move ", "cancel",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}

func TestKeepsTheSelection(t *testing.T) {
	f := paneltest.New(t)
	l := New(f.Env, Options{Items: numbered(50), Selected: "30"})
	l.SetItems(numbered(50)[20:])
	if l.Selected() != "30" {
		t.Errorf("selected %q after the items changed, want 30", l.Selected())
	}
	l.SetItems(numbered(5))
	if l.Selected() != "4" {
		t.Errorf("selected %q, want the last, for 30 is gone", l.Selected())
	}
	if l.SetSelected("49") || !l.SetSelected("2") || l.Selected() != "2" {
		t.Error("SetSelected")
	}
	l.SetQuery("file_3.go")
	if l.Selected() != "3" || l.Query() != "file_3.go" {
		t.Errorf("selected %q by the query %q, want 3", l.Selected(), l.Query())
	}
	l.SetItems(numbered(40))
	if got := l.Len(); got != 1 || l.Selected() != "3" {
		t.Errorf("%d items, %q selected; want the search to go on with the new items", got, l.Selected())
	}
}

func TestToggleLeavesTheCallersItems(t *testing.T) {
	f := paneltest.New(t)
	items := fruits()
	l := New(f.Env, Options{Items: items, Toggle: true})
	paneltest.Press(l, "space", "down", "enter")
	if diff := cmp.Diff([]string{"a", "b"}, l.On()); diff != "" {
		t.Error(diff)
	}
	if items[0].On {
		t.Error("the caller's items were changed")
	}
}

// The window follows the selection, with headings, whatever the height.
func TestSelectedIsAlwaysInView(t *testing.T) {
	f := paneltest.New(t)
	items := numbered(60)
	for i := range items {
		items[i].Group = fmt.Sprint("group ", i/4)
	}
	for _, height := range []int{1, 2, 3, 4, 5, 9, 20, 100} {
		l := New(f.Env, Options{Title: "T", Hint: "H", Items: items})
		for _, k := range strings.Fields(strings.Repeat("down ", 70) + strings.Repeat("up ", 70) + "end home pagedown pagedown down up pageup") {
			paneltest.Press(l, k)
			rows, _ := l.Draw(60, height)
			if len(rows) > height {
				t.Fatalf("height %d: %d rows", height, len(rows))
			}
			want := themetest.Styles().Symbols().Arrow + " " + l.item(l.at).Label
			if !strings.Contains(plain(rows), want) {
				t.Fatalf("height %d, after %s: no %q in\n%s", height, k, want, plain(rows))
			}
			if height >= 4 && len(rows) < min(height, 60) {
				t.Fatalf("height %d: only %d rows:\n%s", height, len(rows), plain(rows))
			}
		}
	}
}

func TestALargerWindowIsFilled(t *testing.T) {
	f := paneltest.New(t)
	l := Choice(f.Env, Options{Items: numbered(40)})
	paneltest.Press(l, "end")
	l.Draw(60, 3)
	rows, _ := l.Draw(60, 10)
	if !strings.Contains(rows[0], "file_30.go") {
		t.Errorf("the first of ten rows is %q", ansi.Strip(rows[0]))
	}
}

func TestChips(t *testing.T) {
	f := paneltest.Styled(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	var got []int
	l := New(f.Env, Options{Title: "T", Chips: []string{"one", "two", "three"}, Chip: 1, Items: fruits(), OnChip: func(i int) { got = append(got, i) }})
	paneltest.Press(l, "tab", "tab", "shift+tab")
	if diff := cmp.Diff([]int{2, 0, 2}, got); diff != "" {
		t.Error(diff)
	}
	if rows, _ := l.Draw(60, 10); rows[0] != "T  one   two  [three]" {
		t.Errorf("%q", rows[0])
	}
}

func TestEverythingFits(t *testing.T) {
	preview := func(id string, w, h int) []string {
		return []string{strings.Repeat("x", w), strings.Repeat("too long ", 40), "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}
	}
	for _, s := range []*theme.Styles{
		themetest.Styles(), theme.NewStyles(themetest.Theme(), theme.NoStyle),
		themetest.Styles().WithSymbols(theme.SymbolsOf(theme.ASCII, nil)),
	} {
		f := paneltest.Styled(t, s)
		for _, toggle := range []bool{false, true} {
			for _, query := range []string{"", "a", "zzz", "日本", strings.Repeat("long query ", 10)} {
				l := New(f.Env, Options{Title: "A title of some length", Hint: "Tab scope · Ctrl+D delete", Items: fruits(), Toggle: toggle, Query: query, Preview: preview})
				for _, w := range []int{1, 2, 5, 8, 20, 40, 99, 100, 200} {
					for _, h := range []int{1, 2, 3, 5, 12, 24, 80} {
						rows, c := l.Draw(w, h)
						if len(rows) > h || len(rows) == 0 {
							t.Fatalf("%dx%d: %d rows", w, h, len(rows))
						}
						for _, r := range rows {
							if got := ansi.StringWidth(r); got > w {
								t.Fatalf("%dx%d: a row of %d cells: %q", w, h, got, r)
							}
							if strings.ContainsAny(ansi.Strip(r), "\n\x07\u202e") {
								t.Fatalf("text of an item came through: %q", r)
							}
						}
						if !c.Hidden && (c.X < 0 || c.X >= w || c.Y < 0 || c.Y >= len(rows)) {
							t.Fatalf("%dx%d: cursor at %d,%d", w, h, c.X, c.Y)
						}
					}
				}
			}
		}
	}
}

func TestCursorIsTheCaretOfTheQuery(t *testing.T) {
	f := paneltest.New(t)
	l := New(f.Env, Options{Title: "Fruits", Items: fruits()})
	at := func() int {
		_, c := l.Draw(40, 12)
		if c.Hidden || c.Y != 1 {
			t.Fatalf("cursor %+v", c)
		}
		return c.X
	}
	steps := []struct {
		key  string
		want int
	}{{"日本a", 7}, {"left", 6}, {"left", 4}, {"ctrl+a", 2}, {"ctrl+e", 7}, {"backspace", 6}, {"ctrl+u", 2}}
	for _, s := range steps {
		paneltest.Press(l, s.key)
		if got := at(); got != s.want {
			t.Errorf("after %s: column %d, want %d", s.key, got, s.want)
		}
	}
	l.Handle(key.Paste{Text: "black\nberry\n"})
	if got := l.Query(); got != "black berry" {
		t.Errorf("a paste of two lines gave %q", got)
	}
	l.Handle(key.Paste{Text: strings.Repeat("x", maxQuery)})
	if got := l.Query(); got != "black berry" {
		t.Errorf("a paste beyond the limit was taken: %d bytes", len(got))
	}
}

func TestNoSearchLeavesLetters(t *testing.T) {
	f := paneltest.New(t)
	var got []string
	l := Choice(f.Env, Options{Items: fruits(), OnKey: func(p key.Press, id string) bool {
		got = append(got, string(p.Key)+id)
		return true
	}})
	paneltest.Press(l, "yn", "down", "y")
	if diff := cmp.Diff([]string{"ya", "na", "yb"}, got); diff != "" {
		t.Error(diff)
	}
	if _, c := l.Draw(40, 10); !c.Hidden {
		t.Error("there is a cursor and nothing to write in")
	}
}

func TestGolden(t *testing.T) {
	preview := func(id string, w, h int) []string { return []string{"about " + id, "", fmt.Sprint(w, " by ", h)} }
	for _, c := range []struct {
		name          string
		width, height int
		profile       theme.Profile
		o             Options
		keys          []string
	}{
		{"groups", 40, 12, theme.TrueColor, Options{Title: "Fruits", Hint: "Tab does more", Items: fruits()}, []string{"down"}},
		{"search", 40, 12, theme.TrueColor, Options{Title: "Fruits", Items: fruits()}, []string{"b rr"}},
		{"boxes", 40, 8, theme.Mono, Options{Title: "Fruits", Items: fruits(), Toggle: true}, []string{"space"}},
		{"side", 110, 14, theme.TrueColor, Options{Title: "Fruits", Items: fruits(), Preview: preview}, nil},
		{"below", 60, 18, theme.NoStyle, Options{Title: "Fruits", Items: fruits(), Preview: preview}, nil},
		{"small", 20, 5, theme.NoStyle, Options{Title: "Files", Items: numbered(940), Hint: "Ctrl+D deletes the file"}, []string{"down"}},
		{"empty", 20, 6, theme.NoStyle, Options{Title: "Sessions", Empty: "No sessions yet. Write a prompt to begin one."}, nil},
		{"nothing", 30, 10, theme.NoStyle, Options{Title: "Fruits", Items: fruits()}, []string{"qqq"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := paneltest.Styled(t, theme.NewStyles(themetest.Theme(), c.profile))
			l := New(f.Env, c.o)
			paneltest.Press(l, c.keys...)
			paneltest.File(t, *update, c.name, dump(l, c.width, c.height))
		})
	}
}

// dump draws a pane on a terminal and says what is seen.
func dump(p pane.Pane, width, height int) string {
	rows, c := p.Draw(width, height)
	term := vt.New(vt.Options{Width: width, Height: height})
	_, _ = term.WriteString(strings.Join(rows, "\r\n"))
	out := term.Dump()
	if c.Hidden {
		return out + "no cursor\n"
	}
	return out + fmt.Sprintf("wants the cursor at %d,%d\n", c.X, c.Y)
}

// Who has the screen read out gets one row after the other: no line across, and nothing
// beside the rows.
func TestListIsReadOut(t *testing.T) {
	f := paneltest.New(t)
	f.Styles = f.Styles.WithSymbols(theme.SymbolsOf(theme.Spoken, nil))
	l := New(f.Env, Options{Title: "Fruits", Items: fruits(), Preview: func(id string, _, _ int) []string { return []string{"about " + id} }})
	for _, width := range []int{80, 200} {
		rows, _ := l.Draw(width, 24)
		shown := plain(rows)
		if strings.Contains(shown, "--") || strings.Contains(shown, "| ") || !strings.Contains(shown, "\nabout a\n") {
			t.Errorf("at %d columns it shows\n%s", width, shown)
		}
	}
}
