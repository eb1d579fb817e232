// Package search finds text and files in a tree: [Grep], [Glob] and [Find].
//
// All three walk the tree with several workers, leave out what the ignore rules
// of git and ripgrep leave out, and give what they find in an order that does not
// depend on which worker was faster. They differ in what they do with an entry.
//
// A search of a [Rooted] file system opens folders and files itself, each by its
// name in the open folder above it. It never follows a symbolic link, except one
// that is itself a path to search and that the file system resolves. Any other
// fs.FS is searched through its interface, from several goroutines at once.
//
// Which files count:
//   - never ".git", unless a path to search leads into it;
//   - not what .gitignore, .ignore and .rgignore files, .git/info/exclude or the
//     user's global file for git exclude. Those in parents of the root count up to
//     the root of the repository. Without a repository .gitignore files count too,
//     which ripgrep holds differently: projects that are not under version control
//     yet have them for the same reason;
//   - no hidden files, unless a rule ("!.github") or a glob names them.
//
// A file that is itself a path to search is searched whatever the rules say.
//
// Text is UTF-8, or UTF-16 with a byte order mark; bytes that are not UTF-8 are
// read as Windows-1252. A file with a NUL byte is binary: the search of it ends
// there. Memory is bounded: a file is read in pieces, a line may have 16 MB, a
// file for matches of several lines 32 MB. What is not searched for such a reason
// is in [Summary.Skipped].
//
// When a context ends, a search ends within some milliseconds with its error.
package search

import (
	"io/fs"
	"time"
)

// Rooted is a file system with a real directory behind it. Searches of it go
// past the fs.FS interface, but for absolute names and for links among the paths
// to search.
type Rooted interface {
	fs.FS
	Dir() string // absolute
}

// Layered is a file system that is a real directory but for some names. Searches go past
// the interface where nothing differs.
type Layered interface {
	fs.FS
	Beneath() string          // absolute; "" is none: all goes through the interface
	Differs(name string) bool // whether a name, or anything below it, isn't as in the directory
}

// dirOf is the real directory behind a file system, "" if there is none.
func dirOf(fsys fs.FS) string {
	switch d := fsys.(type) {
	case Rooted:
		return d.Dir()
	case Layered:
		return d.Beneath()
	}
	return ""
}

// Owner is a file system in which some files are burin's own: no search opens or lists
// them.
type Owner interface {
	fs.FS
	IsOwn(name string) bool // slash-separated, within the file system
}

// Filter chooses files.
type Filter struct {
	Paths   []string // files and folders to search, slash-separated within the file system; empty is the whole
	Globs   []string // only files that match one; a leading "!" excludes; the last match wins, as with ripgrep's -g
	Types   []string // and only files of these kinds: "go", "ts", ... as ripgrep names them; see Kinds
	Hidden  bool     // also files whose name begins with "."
	Ignored bool     // also files that ignore rules exclude
	MaxSize int64    // skip larger files; 0 is no limit

	// Withheld reports whether a file must not be opened; nil: none. [Grep] asks it about
	// each file that it finds in a folder, from several goroutines. A file that is
	// itself a path to search isn't asked about.
	Withheld func(name string) bool

	// Cache, if it is not nil, remembers which files there are. [Find] fills it, all
	// searches of one path without Globs use it.
	Cache *Cache
}

// GrepOptions say what to look for and what to report.
type GrepOptions struct {
	Filter
	Pattern    string // RE2 syntax; stray braces are literal; \w, \d and \b know ASCII only
	Literal    bool   // Pattern is no regular expression
	IgnoreCase bool
	SmartCase  bool // ignore case unless Pattern has an upper-case letter
	Word       bool // only whole words, of letters of any script
	Multiline  bool // "." and the pattern may span lines
	Before     int  // lines of context, of GrepLines
	After      int
	Mode       GrepMode
	Offset     int // matches to skip, over all files
	Limit      int // most matches to report, over all files; 0 is no limit
	MaxColumns int // cut longer lines to this many characters; 0 is no limit
}

// GrepMode says what is reported.
type GrepMode string

const (
	GrepLines GrepMode = ""      // each match with its line and context
	GrepFiles GrepMode = "files" // each file that has a match
	GrepCount GrepMode = "count" // each file with its number of matching lines
)

// Match is a matching line with its context, or in the other modes a file. In a
// multiline search it is all the lines of a match, and of those that share a line
// with it.
//
// No line is shown twice: After ends before the next match, and Before begins
// behind what the match before shows. One after the other, Before, Text and After
// of the matches of a file are what ripgrep prints.
type Match struct {
	Path   string
	Line   int      // 1-based; 0 in the other modes
	Text   string   // without the line end
	Spans  [][2]int // byte ranges of the matches in Text that are not empty, at most 256
	Count  int      // of GrepCount
	Before []string
	After  []string
	Cut    bool // Text was cut to MaxColumns
	From   int  // byte of the line with which Text begins; not 0 only if Cut
}

// Summary says what a search went through.
type Summary struct {
	Matches      int      // matches reported
	Files        int      // files with reported matches
	Searched     int      // files read; those behind the last match do not count if the search ended with it
	LimitReached bool     // there are more than Limit
	Skipped      []string // what could not be read, with the reason; at most 20
	Withheld     int      // files left out by Filter.Withheld, whether or not they match
}

// Entry is a file or folder found.
type Entry struct {
	Path    string
	Dir     bool
	Size    int64
	ModTime time.Time
}

// GlobOptions choose files by name.
type GlobOptions struct {
	Filter
	Pattern string // doublestar; without a slash it matches at any depth
	Dirs    bool   // also folders
	Limit   int    // the newest so many; 0 is no limit
}

// FindOptions look for a path of which someone remembers a part.
type FindOptions struct {
	Filter
	Query string
	Dirs  bool
	Limit int
}

// Scored is an entry with how well it fits, higher is better.
type Scored struct {
	Entry
	Score int
}
