package styled

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
	"github.com/burin-dev/burin/internal/prose"
)

func texts(lines []Line) []string {
	var all []string
	for _, l := range lines {
		all = append(all, l.Text())
	}
	return all
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		line        Line
		width       int
		first, rest string
		want        []string
	}{
		{Of("one two three", theme.Text), 7, "", "", []string{"one two", "three"}},
		{Of("one  two", theme.Text), 4, "", "", []string{"one", "two"}},
		{Of("abcdefghij kl", theme.Text), 4, "", "", []string{"abcd", "efgh", "ij", "kl"}},
		{Line{{Text: "ab"}, {Text: "cd ef", Look: theme.Look{Fg: theme.Error}}}, 5, "", "", []string{"abcd", "ef"}},
		{Of("one two three", theme.Text), 15, "* ", "  ", []string{"* one two three"}},
		{Of("one two three four", theme.Text), 16, "* ", "  ", []string{"* one two three", "  four"}},
		{Of("日本語テキスト", theme.Text), 7, "", "", []string{"日本語", "テキス", "ト"}},
		{Of("日本、語", theme.Text), 4, "", "", []string{"日", "本、", "語"}},
		{Of("👍🏽👍🏽", theme.Text), 3, "", "", []string{"👍🏽", "👍🏽"}},
		{Of("日", theme.Text), 1, "", "", []string{"…"}},
		{nil, 5, "", "", []string{""}},
		{Of("text", theme.Text), 5, "a prefix that is too long ", "", []string{"text"}},
	} {
		got := texts(Wrap(nil, tt.line, tt.width, Of(tt.first, theme.Muted), Of(tt.rest, theme.Muted)))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q at %d (-want +got):\n%s", tt.line.Text(), tt.width, diff)
		}
	}
}

func TestBreakKeepsAll(t *testing.T) {
	got := texts(Break(nil, Of("ab  cd   ef", theme.Text), 4, nil, nil))
	if diff := cmp.Diff([]string{"ab  ", "cd  ", " ef"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTruncate(t *testing.T) {
	l := Line{{Text: "日本"}, {Text: "語 text"}}
	for width, want := range map[int]string{20: "日本語 text", 5: "日本…", 6: "日本…", 7: "日本語…", 1: "…", 0: ""} {
		if got := Truncate(l, width, "…").Text(); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
}

func TestOutput(t *testing.T) {
	if got, want := Output("\x1b[1mbold\x1b[0m\n10%\r20%\r\nend\x1b]0;t\a", 4), "bold\n20%\nend"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAppend(t *testing.T) {
	red := theme.Look{Fg: theme.Error, Mod: theme.Bold}
	line := Line{{Text: "a"}, {Text: "b", Look: red}, {Text: "c", Look: red, Link: "https://x"}, {Text: ""}, {Text: "d"}}
	if got, want := themetest.Dump(Render(themetest.Styles(), line)), "a‹bold error›b‹link https://x›c‹link ›‹›d"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Render(theme.NewStyles(themetest.Theme(), theme.NoStyle), line); got != "abcd" {
		t.Errorf("%q", got)
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("some words 日本語 👍🏽 and more", uint8(7))
	f.Add(" \ufe0f e\u0301 🇩🇪🇩 \u200d \t", uint8(2))
	f.Fuzz(func(t *testing.T, text string, width uint8) {
		text = prose.Inline(text)
		w := int(width%60) + 1
		half := len(text) / 2
		for half > 0 && text[half]&0xc0 == 0x80 {
			half--
		}
		for _, line := range []Line{Of(text, theme.Text), {{Text: text[:half]}, {Text: prose.Inline(text[half:]), Look: theme.Look{Fg: theme.Error}}}} {
			for _, l := range append(Wrap(nil, line, w, nil, nil), Break(nil, line, w, nil, nil)...) {
				if got := l.Width(); got > w {
					t.Fatalf("%d cells at %d: %q", got, w, l.Text())
				}
				if got := ansi.StringWidth(Render(themetest.Styles(), l)); got > w {
					t.Fatalf("written it has %d cells at %d: %q", got, w, l.Text())
				}
			}
			if got := Truncate(line, w, "…"); got.Width() > w {
				t.Fatalf("cut to %d it has %d cells: %q", w, got.Width(), got.Text())
			}
		}
	})
}

func BenchmarkWrap(b *testing.B) {
	styles := themetest.Styles()
	line := Of(strings.Repeat("some words of a paragraph, ", 20), theme.Text)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range Wrap(nil, line, 80, nil, nil) {
			out = Append(out[:0], styles, l)
		}
	}
}
