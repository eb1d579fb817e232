package llm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Texts that follow each other are one, with each source once; the index is that of the first.
func TestParagraphs(t *testing.T) {
	a, b := Citation{URL: "https://a"}, Citation{URL: "https://b"}
	call := ToolCall{ID: "1", Name: "read"}
	blocks := []Block{
		Thinking{Text: "hm"},
		Text{Text: "one ", Citations: []Citation{a, a}},
		Text{Text: "two", Citations: []Citation{b, a}},
		Text{Text: "."},
		call,
		Text{Text: "end"},
	}
	type one struct {
		I int
		B Block
	}
	var got []one
	for i, b := range AllParagraphs(blocks) {
		got = append(got, one{i, b})
	}
	want := []one{
		{0, Thinking{Text: "hm"}},
		{1, Text{Text: "one two.", Citations: []Citation{a, b}}},
		{4, call},
		{5, Text{Text: "end"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if t1 := blocks[1].(Text); t1.Text != "one " || len(t1.Citations) != 2 {
		t.Errorf("the message was changed: %+v", t1)
	}
	for range AllParagraphs(blocks) {
		break // who stops early is not asked again
	}
}
