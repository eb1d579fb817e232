// Package web has the built files of the chat app, which is written in TypeScript and Svelte in
// this folder. They are committed, so that who builds burin needs no npm; npm run build makes
// them, and CI checks that they are fresh.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist
var files embed.FS

//go:embed parts
var parts embed.FS

// Parts are files that most builds don't have in the program, since they are large: what
// web/extra/build has put into parts before.
func Parts() fs.FS {
	dir, err := fs.Sub(parts, "parts")
	if err != nil {
		panic(err) // the pattern names it
	}
	return dir
}

// Page is the name of the page that all addresses of the app show.
const Page = "index.html"

// File gives a built file, compressed with gzip. Names of all but [Page] change with what is in them.
func File(name string) (packed []byte, ok bool) {
	if !fs.ValidPath(name) {
		return nil, false
	}
	packed, err := files.ReadFile("dist/" + name + ".gz")
	return packed, err == nil
}
