package question

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/session"
)

// types is a person who types words, some five letters a second.
func types(f *paneltest.Face, p pane.Pane, keys ...string) {
	for _, k := range keys {
		paneltest.Press(p, k)
		p.Draw(80, 40)
		pause(f, p, 200*time.Millisecond)
	}
}

// letters are words as keys.
func letters(words string) []string { return strings.Split(words, "") }

// A message that is typed while a question stands answers nothing, however it begins. It
// is the note of a no, and Enter sends that and never a grant.
func TestMessageIsNoAnswer(t *testing.T) {
	for _, words := range []string{"yes but why do you want that", "no", "always", "1. why", "33", "do stall", "why", "Yo", "aaa", "so?"} {
		a, f, got := asked(t, goTest())
		types(f, a, letters(words)...)
		if len(*got) > 0 {
			t.Errorf("%q answered %q", words, *got)
			continue
		}
		if shown := text(a, 80, 40); !strings.Contains(shown, "No: "+words) {
			t.Errorf("%q is not to be seen:\n%s", words, shown)
		}
		types(f, a, "enter")
		if want := []string{"allow false note " + words}; !slices.Equal(*got, want) {
			t.Errorf("%q and Enter: %q, want %q", words, *got, want)
		}
		if left := a.Unsent(); left != "" {
			t.Errorf("%q was sent, and %q is left", words, left)
		}
	}
}

// A letter answers when nothing follows it, and not before; Enter right behind it adds
// nothing, and Enter behind the letter of a grant does not grant.
func TestLetterAlone(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"y", "allow true"},
		{"n", "allow false"},
		{"1", "allow true"},
		{"4", "allow false"},
		{"y enter", "allow true"},
		{"n enter enter", "allow false"},
		{"a enter", ""},
		{"3 enter", ""},
		{"y down", ""},
		{"y left", ""},
		{"y pagedown", ""},
		{"y esc", "error: " + ErrStopped.Error()},
		{"9", ""},
		{"space", ""},
	} {
		a, f, got := asked(t, goTest())
		for i, k := range strings.Fields(tt.keys) {
			if i > 0 {
				pause(f, a, 50*time.Millisecond)
			}
			paneltest.Press(a, k)
			a.Draw(80, 40)
		}
		if k := strings.Fields(tt.keys); k[len(k)-1] != "esc" && len(*got) > 0 {
			t.Errorf("%s answered %q at once", tt.keys, *got)
		}
		pause(f, a, quiet-51*time.Millisecond)
		early := len(*got)
		pause(f, a, time.Second)
		if late := strings.Join(*got, "|"); late != tt.want || tt.want != "" && early > 0 && !strings.HasSuffix(tt.keys, "esc") && !strings.Contains(tt.keys, "enter") {
			t.Errorf("%s: %q, %d of it early; want %q", tt.keys, late, early, tt.want)
		}
		if due := a.Due(); !due.IsZero() {
			t.Errorf("%s: it wakes the face for nothing, at %v", tt.keys, due)
		}
	}
}

// On a machine that pauses the clock is looked at late; letters that came before that
// belong together all the same.
func TestLettersOfASlowMachine(t *testing.T) {
	a, f, got := asked(t, goTest())
	paneltest.Press(a, "y")
	f.Time = f.Time.Add(time.Minute)
	paneltest.Press(a, "e", "s")
	pause(f, a, time.Minute)
	if len(*got) > 0 || a.Unsent() != "yes" {
		t.Errorf("answered %q, and the note has %q", *got, a.Unsent())
	}
}

// Enter right behind words, also behind such that were taken for something else, is their
// end and no answer.
func TestEnterBehindWords(t *testing.T) {
	a, f, got := asked(t, goTest())
	types(f, a, "w", "h", "y")
	paneltest.Press(a, "up", "up", "enter")
	a.Draw(80, 40)
	if len(*got) > 0 {
		t.Errorf("answered %q", *got)
	}
	pause(f, a, quiet)
	paneltest.Press(a, "enter")
	if want := []string{"allow true bash(go test:*) for session"}; !slices.Equal(*got, want) {
		t.Errorf("after a pause %q, want %q", *got, want)
	}
}

// Words that were written and not sent are there to be taken on.
func TestWordsAreKept(t *testing.T) {
	a, f, got := asked(t, goTest())
	types(f, a, letters("why that")...)
	types(f, a, "esc")
	if shown := text(a, 80, 40); !strings.Contains(shown, "5 No, and say what to do instead: why that") {
		t.Errorf("the words are not shown:\n%s", shown)
	}
	pause(f, a, quiet)
	press(f, a, "y")
	if want := []string{"allow true"}; !slices.Equal(*got, want) {
		t.Fatalf("answered %q, want %q", *got, want)
	}
	if left := a.Unsent(); left != "why that" {
		t.Errorf("left is %q", left)
	}

	q, f, replies := questions(t, someQuestions[:1])
	types(f, q, letters("none of them")...)
	press(f, q, "esc")
	if want := []string{ErrDismissed.Error()}; !slices.Equal(*replies, want) || q.Unsent() != "none of them" {
		t.Errorf("%q, and %q is left", *replies, q.Unsent())
	}
}

// A paste is no answer: it is the note, or one's own words.
func TestPasteIsWords(t *testing.T) {
	a, f, got := asked(t, goTest())
	paneltest.Press(a, "y")
	a.Handle(key.Paste{Text: "ou\n1"})
	pause(f, a, time.Second)
	if len(*got) > 0 || a.Unsent() != "you\n1" {
		t.Errorf("answered %q, and the note has %q", *got, a.Unsent())
	}
	q, f, replies := questions(t, someQuestions[:1])
	q.Handle(key.Paste{Text: "MySQL"})
	press(f, q, "enter")
	if want := []string{"/MySQL"}; !slices.Equal(*replies, want) {
		t.Errorf("replied %q, want %q", *replies, want)
	}
}

// What is typed before keys count is for the prompt.
func TestTypedBeforeItCounts(t *testing.T) {
	f := paneltest.New(t)
	var typed []string
	on := func(ev key.Event) {
		switch ev := ev.(type) {
		case key.Press:
			typed = append(typed, string(ev.Key))
		case key.Paste:
			typed = append(typed, ev.Text)
		}
	}
	for name, p := range map[string]pane.Pane{
		"approval":  NewApproval(f.Env, ApprovalOptions{Request: bash("ls"), OnTyped: on}),
		"questions": NewQuestions(f.Env, QuestionsOptions{Questions: someQuestions[:1], OnTyped: on}),
		"confirm":   NewConfirm(f.Env, ConfirmOptions{OnTyped: on}),
	} {
		typed = nil
		p.Draw(80, 30)
		paneltest.Press(p, "y", "backspace", "1", "enter", "up", "space", "ctrl+a")
		p.Handle(key.Paste{Text: "words"})
		p.Handle(key.Focus{})
		if diff := cmp.Diff([]string{"y", "backspace", "1", "space", "words"}, typed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The model's question is answered by a digit alone; what goes on is one's own words.
func TestWordsForTheModel(t *testing.T) {
	one, multi := someQuestions[:1], someQuestions[1:2]
	for _, tt := range []struct {
		list  []session.Choice
		words string
		want  string
	}{
		{one, "3 of them", "/3 of them"},
		{one, "MySQL", "/MySQL"},
		{one, "11", "/11"},
		{multi, "2 of them", "/2 of them"},
		{multi, "none", "/none"},
	} {
		p, f, got := questions(t, tt.list)
		types(f, p, letters(tt.words)...)
		if len(*got) > 0 {
			t.Errorf("%q answered %q", tt.words, *got)
			continue
		}
		types(f, p, "enter")
		if want := []string{tt.want}; !slices.Equal(*got, want) {
			t.Errorf("%q and Enter: %q, want %q", tt.words, *got, want)
		}
	}
	p, f, got := questions(t, multi)
	types(f, p, "1", "3", "enter") // Enter right behind: it may be the end of a message
	if len(*got) > 0 {
		t.Errorf("answered %q", *got)
	}
	pause(f, p, quiet)
	types(f, p, "enter")
	if want := []string{"Linux+Windows/"}; !slices.Equal(*got, want) {
		t.Errorf("several digits: %q, want %q", *got, want)
	}
}

// A yes that goes on is none, and goes where words belong.
func TestConfirmIsNotTyped(t *testing.T) {
	f := paneltest.New(t)
	got, typed := "", ""
	c := NewConfirm(f.Env, ConfirmOptions{
		OnDone: func(yes bool) { got += "answered" },
		OnTyped: func(ev key.Event) {
			switch ev := ev.(type) {
			case key.Press:
				typed += ev.Text
			case key.Paste:
				typed += ev.Text
			}
		},
	})
	c.Draw(80, 10)
	f.Time = f.Time.Add(quiet)
	types(f, c, letters("you may")...)
	types(f, c, "enter")
	pause(f, c, time.Minute)
	if got != "" || typed != "you may" {
		t.Errorf("%q, typed %q", got, typed)
	}
}
