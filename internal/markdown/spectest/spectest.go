// Package spectest holds the examples of CommonMark's specification, for the tests of
// what reads and shows Markdown.
package spectest

import (
	_ "embed"
	"encoding/json"
)

// Example is a text and the HTML that it makes.
type Example struct {
	Number   int `json:"example"`
	Section  string
	Markdown string
	HTML     string
	// Tags says which HTML of the text itself is part of the result, "" for none. It is
	// the one thing that is not read as the specification says: what a model writes is
	// shown as text and never becomes part of a page.
	Tags string `json:"-"`
}

//go:embed commonmark-0.31.2.json
var examples []byte

// Examples are those of version 0.31.2.
func Examples() []Example {
	var all []Example
	if err := json.Unmarshal(examples, &all); err != nil {
		panic(err) // the file is part of the program
	}
	for _, e := range [...]struct {
		from, to int
		tags     string
	}{
		{21, 21, "a tag with a backslash"},
		{31, 31, "a tag with entities"},
		{148, 191, "HTML blocks"},
		{201, 201, "a tag behind what is no definition"},
		{308, 309, "a comment between lists"},
		{344, 344, "a tag with a backtick"},
		{475, 477, "tags with delimiters of emphasis"},
		{491, 491, "a tag over two lines in what is no link"},
		{494, 494, "a tag in what is no link"},
		{524, 524, "a tag that holds the end of a link"},
		{536, 536, "a tag that holds the end of a link"},
		{613, 617, "open tags"},
		{623, 623, "closing tags"},
		{625, 631, "comments, instructions, declarations, CDATA, attributes"},
		{642, 643, "line breaks in a tag"},
	} {
		for i := e.from; i <= e.to; i++ {
			all[i-1].Tags = e.tags
		}
	}
	return all
}
