package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/complete"
)

func TestHelpTable(t *testing.T) {
	some := []complete.Command{
		{Name: "help", Help: "all commands"},
		{Name: "theme", Args: "[name]", Help: "choose the colors of everything there is"},
		{Name: "a-file-with-a-very-long-name-indeed", Help: "from\na file"},
	}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{80, `
/help          all commands
/theme [name]  choose the colors of everything there is
/a-file-with-a-very-long-name-indeed
               from a file`},
		{40, `
/help   all commands
/theme  [name] choose the colors of
        everything there is
/a-file-with-a-very-long-name-indeed
        from a file`},
		{20, `
/help
  all commands
/theme
  [name] choose the
  colors of
  everything there
  is
/a-file-with-a-very-
  long-name-indeed
  from a file`},
	} {
		var b strings.Builder
		for _, l := range helpTable(some, tt.width) {
			fmt.Fprintf(&b, "\n%s", strings.TrimRight(l.Text(), " "))
		}
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%d columns: %s", tt.width, diff)
		}
	}
}

// The table of the real commands fits every width, and no word of it is lost.
func TestHelpFits(t *testing.T) {
	a := alone(t)
	for width := 1; width <= 200; width++ {
		var all strings.Builder
		for _, l := range helpTable(a.commands.offered(), width) {
			if w := l.Width(); w > width {
				t.Fatalf("%d columns: a row has %d: %q", width, w, l.Text())
			}
			all.WriteString(strings.ReplaceAll(l.Text(), " ", ""))
		}
		for _, c := range a.commands.table {
			if help := strings.ReplaceAll(c.help, " ", ""); !strings.Contains(all.String(), help) {
				t.Fatalf("%d columns: /%s is not explained", width, c.name)
			}
		}
	}
}

func TestChangelog(t *testing.T) {
	for _, width := range []int{100, 40, 20} {
		a := alone(t, func(o *Options) {
			o.Changelog = "# Changelog\n\nWhat changed, newest first.\n\n## 1.0\n\n- New things\n"
		})
		if !a.commands.call("/changelog") {
			t.Fatal("/changelog is sent to the model")
		}
		rows, _ := a.panes.top().Draw(width, 12)
		text := ansi.Strip(strings.Join(rows, "\n"))
		if !strings.Contains(text, "What changed") || !strings.Contains(text, "New things") || strings.Contains(text, "# ") {
			t.Errorf("%d columns:\n%s", width, text)
		}
		for _, r := range rows {
			if w := ansi.StringWidth(r); w > width {
				t.Errorf("%d columns: a row has %d: %q", width, w, r)
			}
		}
	}
}

func TestPageOf(t *testing.T) {
	in := "# Changelog\n\nWhat changed.\n\n## 1.0\n\n### Added\nWords that\ngo on.\n\n- One item,\n  `code` and\n  [docs/a.md](docs/a.md)\n- Two, [a page](https://example.org/x)\n"
	want := "## 1.0\n\n### Added\nWords that go on.\n\n- One item, `code` and docs/a.md\n- Two, [a page](https://example.org/x)"
	if diff := cmp.Diff(want, pageOf(in)); diff != "" {
		t.Error(diff)
	}
	if got := pageOf(""); got != "" {
		t.Errorf("nothing becomes %q", got)
	}
}
