package burin

import _ "embed" // of the change log

//go:embed CHANGELOG.md
var changelog string

// Changelog is what changed for users, newest first, as Markdown.
func Changelog() string { return changelog }
