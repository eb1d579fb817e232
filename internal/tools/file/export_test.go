package file

import "github.com/burin-dev/burin/llm"

// Internals that tests look at.
var Untagged = untagged

// Declarations calls yield with the declarations of a text in each language.
func Declarations(text string, yield func(line int, text string)) {
	lines := splitLines(text)
	for _, l := range languages() {
		for _, d := range outer(l.declarations(lines)) {
			yield(d.line, d.text)
		}
	}
}

// Outline makes the outline of a long text.
func Outline(name, text string) { outlined(name, text, selection{}) }

// Fit is the text of a result that is too long.
func Fit(text string) string { return (&files{}).fit(text).Content[0].(llm.Text).Text }
