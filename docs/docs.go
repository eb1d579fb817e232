// Package docs has burin's documentation, so that a model can read it and answer questions
// about burin. The files are embedded as they are: an archive of them would have to be made
// again with every change of a page, and save a two-hundredth of the binary.
package docs

import (
	"embed"
	"io/fs"
)

//go:embed *.md howto/*.md
var files embed.FS

// Files are the pages, as they lie in this folder. README.md is their index.
func Files() fs.FS { return files }
