package burin

import _ "embed" // for the changelog

//go:embed CHANGELOG.md
var changelog string

// Changelog returns what changed for users, newest first, as Markdown.
func Changelog() string { return changelog }
