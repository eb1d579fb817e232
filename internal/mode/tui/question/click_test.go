package question

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/panel/paneltest"
	"github.com/burin-dev/burin/session"
)

// click clicks on the first row with text.
func click(t *testing.T, p pane.Pane, text string) {
	t.Helper()
	for y, row := range paneltest.Screen(t, p, 80, 24).Lines() {
		if strings.Contains(row, text) {
			p.Handle(key.Click{X: 4, Y: y})
			return
		}
	}
	t.Fatalf("no %q on the screen", text)
}

// A click selects a choice. It answers nothing, and counts no sooner than a key.
func TestApprovalClicks(t *testing.T) {
	early := NewApproval(paneltest.New(t).Env, goTest())
	click(t, early, "No, and say")
	if early.at != 0 {
		t.Error("a click counts as soon as the question is drawn")
	}
	a, f, got := asked(t, goTest())
	pause(f, a, time.Second)
	for _, text := range []string{"Yes", "Yes", "2 Allow", "2 Allow", "No", "No", "say what", "say what", "Yes"} {
		click(t, a, text)
		pause(f, a, time.Second)
	}
	if len(*got) > 0 {
		t.Errorf("clicks answered %v", *got)
	}
	if a.at != 0 || a.noting {
		t.Errorf("choice %d is selected", a.at)
	}

	// A letter that waits to stand alone is none where a click follows.
	paneltest.Press(a, "y")
	click(t, a, "No, and say")
	pause(f, a, time.Second)
	press(f, a, "wheelup", "wheeldown")
	if len(*got) > 0 {
		t.Errorf("answered %v", *got)
	}
	click(t, a, "4 No")
	press(f, a, "enter")
	if !slices.Equal(*got, []string{"allow false"}) {
		t.Errorf("answered %v", *got)
	}
}

// Of the model's question a click selects an answer, and the second one on it gives it; of several
// answers each click chooses one or takes it back.
func TestQuestionsClicks(t *testing.T) {
	p, f, got := questions(t, []session.Choice{{Text: "Which?", Options: []string{"alpha", "beta"}}})
	pause(f, p, time.Second)
	click(t, p, "alpha")
	press(f, p, "down", "up")
	click(t, p, "alpha")
	if len(*got) > 0 {
		t.Fatalf("one click answered %v", *got)
	}
	click(t, p, "beta")
	click(t, p, "beta")
	if len(*got) != 1 || !strings.Contains((*got)[0], "beta") {
		t.Errorf("answered %v", *got)
	}

	p, f, got = questions(t, []session.Choice{{Text: "Which?", Options: []string{"alpha", "beta", "gamma"}, Multi: true}})
	pause(f, p, time.Second)
	for _, text := range []string{"gamma", "alpha", "beta", "beta"} {
		click(t, p, text)
	}
	press(f, p, "enter")
	if len(*got) != 1 || !strings.Contains((*got)[0], "gamma") || !strings.Contains((*got)[0], "alpha") || strings.Contains((*got)[0], "beta") {
		t.Errorf("answered %v", *got)
	}
}

// Yes is selected by a click and given by Enter.
func TestConfirmClicks(t *testing.T) {
	f := paneltest.New(t)
	var got []bool
	c := NewConfirm(f.Env, ConfirmOptions{Title: "Sure?", OnDone: func(yes bool) { got = append(got, yes) }})
	paneltest.Screen(t, c, 80, 24)
	pause(f, c, time.Second)
	click(t, c, "Yes")
	click(t, c, "Yes")
	if len(got) > 0 || !c.yes {
		t.Errorf("clicks answered %v", got)
	}
	press(f, c, "enter")
	if !slices.Equal(got, []bool{true}) {
		t.Errorf("answered %v", got)
	}
}
