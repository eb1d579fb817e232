package todo

import (
	"slices"
	"strings"
	"unicode"
)

// minPart is how many letters a text must have to match a longer one that contains it.
const minPart = 6

// Matches reports whether a task is about the work that words describe: both texts are the
// same, or one contains the other, apart from case, spaces and punctuation.
func (t Task) Matches(words string) bool {
	a, b := plain(t.Content), plain(words)
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != "" && (a == b || len([]rune(a)) >= minPart && strings.Contains(" "+b+" ", " "+a+" "))
}

// plain is a text without what makes no difference to Matches.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), " ")
}

// Finish returns a copy of a list in which the open tasks that match words are completed, and
// those tasks; none means that nothing has changed.
func Finish(phases []Phase, words string) (list []Phase, finished []Task) {
	return mark(phases, Completed, words, Task.open)
}

// Begin returns a copy of a list in which the pending tasks that match any of the words are in
// progress.
func Begin(phases []Phase, words ...string) []Phase {
	for _, w := range words {
		phases, _ = mark(phases, InProgress, w, Task.pending)
	}
	return phases
}

func (t Task) open() bool    { return t.Status.Open() }
func (t Task) pending() bool { return t.Status == Pending }

func mark(phases []Phase, as Status, words string, which func(Task) bool) (list []Phase, marked []Task) {
	matches := func(t Task) bool { return which(t) && t.Matches(words) }
	if !slices.ContainsFunc(phases, func(p Phase) bool { return slices.ContainsFunc(p.Tasks, matches) }) {
		return phases, nil
	}
	list = Clone(phases)
	for _, p := range list {
		for i := range p.Tasks {
			if t := &p.Tasks[i]; matches(*t) {
				t.Status = as
				marked = append(marked, *t)
			}
		}
	}
	return list, marked
}
