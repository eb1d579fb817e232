package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The topics of the help are pages and sections that there are, and each says what it is about.
func TestHelpTopics(t *testing.T) {
	pages, err := readHandbook()
	if err != nil {
		t.Fatal(err)
	}
	all := topicsOf(pages)
	groups := map[string]int{}
	for _, topic := range all {
		groups[topic.Group]++
		if topic.Title == "" || topic.About == "" && topic.Page != "README" && topic.Page != "howto/budgets" { // which begins with code
			t.Errorf("%+v has no title, or says nothing", topic)
		}
	}
	if n := len(strings.Fields(helpTopics)) - len(groups); len(groups) != 4 || groups[""] > 0 || len(all) != n {
		t.Errorf("%d of %d topics are in the handbook, in the groups %v", len(all), n, groups)
	}
}

// A search finds pages that have all words, by headings first, and names the section.
func TestHelpSearch(t *testing.T) {
	pages := map[string][]helpSection{
		"cats":   sections("# Cats\n\nThey sleep.\n\n## Food of `cats`\n\nFish, and *more* fish.\n\n```\n# no heading: fish\n```\n"),
		"fish":   sections("# Fish\n\n| food | of fish |\n"),
		"README": sections("# Pages\n\nFish and food.\n"),
		"none":   sections("no heading: fish food"),
	}
	got := findHelp(pages, []string{"fish", "food", "fish"})
	want := []HelpTopic{
		{Page: "fish", Title: "Fish", About: "food of fish"},
		{Page: "cats", Section: "food-of-cats", Title: "Cats", About: "Food of cats: Fish, and more fish. # no heading: fish"},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(HelpTopic{})); d != "" {
		t.Errorf("found (-want +got):\n%s", d)
	}
	for _, words := range [][]string{nil, {"fish", "dog"}} {
		if got := findHelp(pages, words); len(got) > 0 {
			t.Errorf("%v finds %v", words, got)
		}
	}
}

func BenchmarkHelpSearch(b *testing.B) {
	for b.Loop() {
		pages, err := readHandbook()
		if err != nil || len(findHelp(pages, []string{"password", "key"})) == 0 {
			b.Fatal(err)
		}
	}
}
