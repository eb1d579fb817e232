package list

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
)

func TestInput(t *testing.T) {
	f := paneltest.Styled(t, theme.NewStyles(themetest.Theme(), theme.NoStyle))
	var log []string
	in := NewInput(f.Env, InputOptions{
		Title: "A name for this point", Hint: "It is shown in the tree.", Text: "old", Placeholder: "name",
		Validate: func(s string) error {
			if s == "" {
				return errors.New("the name is empty: write one")
			}
			return nil
		},
		OnDone:   func(s string) { log = append(log, "done "+s) },
		OnCancel: func() { log = append(log, "cancel") },
	})
	paneltest.Press(in, "ctrl+u", "enter")
	rows, c := in.Draw(40, 10)
	want := "A name for this point\n> name\nthe name is empty: write one\nIt is shown in the tree.\n"
	if diff := cmp.Diff(want, plain(rows)); diff != "" || c.X != 2 || c.Y != 1 {
		t.Errorf("cursor %+v\n%s", c, diff)
	}
	paneltest.Press(in, "a")
	if rows, _ := in.Draw(40, 10); strings.Contains(plain(rows), "empty") {
		t.Error("the problem is still said after it was put right")
	}
	paneltest.Press(in, "backspace")
	if rows, _ := in.Draw(40, 10); !strings.Contains(plain(rows), "empty") {
		t.Error("after a refusal, each change is checked")
	}
	in.Handle(key.Paste{Text: "two\nlines\\\n"})
	paneltest.Press(in, "enter", "esc")
	if diff := cmp.Diff([]string{`done two lines\`, "cancel"}, log); diff != "" {
		t.Error(diff)
	}
	in.Handle(key.Paste{Text: strings.Repeat("x", MaxInput)})
	if rows, _ := in.Draw(60, 10); !strings.Contains(plain(rows), "Too long") {
		t.Error("it is not said that a paste was refused")
	}
}

func TestSecretIsNotShown(t *testing.T) {
	const key1 = "sk-secret-日本-canary"
	for _, s := range []*theme.Styles{themetest.Styles(), theme.NewStyles(themetest.Theme(), theme.NoStyle).WithSymbols(theme.SymbolsOf(theme.ASCII, nil))} {
		f := paneltest.Styled(t, s)
		done := ""
		in := NewInput(f.Env, InputOptions{
			Title: "Key for anthropic", Secret: true,
			Validate: func(string) error { return errors.New("that is no key of anthropic") },
			OnDone:   func(s string) { done = s },
		})
		in.Handle(key.Paste{Text: key1})
		dot := s.Symbols().Bullets[0]
		rows, c := in.Draw(40, 10)
		if want := "> " + strings.Repeat(dot, 19) + "\n"; !strings.Contains(plain(rows), want) || c.X != 21 {
			t.Errorf("cursor at %d in\n%s", c.X, plain(rows))
		}
		paneltest.Press(in, "left", "left", "enter")
		for _, w := range []int{3, 10, 20} {
			rows, c := in.Draw(w, 10)
			if c.X >= w {
				t.Errorf("width %d: cursor at %d", w, c.X)
			}
			for _, part := range []string{"sk-", "日本", "canary"} {
				if strings.Contains(plain(rows), part) {
					t.Errorf("%q of the secret is shown:\n%s", part, plain(rows))
				}
			}
		}
		if strings.Contains(fmt.Sprintf("%v %+v", in, in), "canary") {
			t.Error("printing the pane prints the secret")
		}
		in.o.Validate = nil
		if paneltest.Press(in, "enter"); done != key1 {
			t.Errorf("done with %q", done)
		}
	}
}

func TestInputFits(t *testing.T) {
	f := paneltest.New(t)
	in := NewInput(f.Env, InputOptions{Title: strings.Repeat("title ", 30), Hint: strings.Repeat("hint\x1b[m ", 40), Text: strings.Repeat("日本 ", 60)})
	in.SetProblem(strings.Repeat("problem ", 40))
	for _, w := range []int{1, 2, 3, 5, 20, 80, 200} {
		for _, h := range []int{1, 2, 3, 5, 24} {
			rows, c := in.Draw(w, h)
			if len(rows) > h || c.Y >= len(rows) || c.X >= w || c.X < 0 {
				t.Errorf("%dx%d: %d rows, cursor %+v", w, h, len(rows), c)
			}
			for _, r := range rows {
				if ansi.StringWidth(r) > w {
					t.Errorf("%dx%d: %q", w, h, r)
				}
			}
		}
	}
}
