// Package mention finds the files and folders that a prompt names with "@".
package mention

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	maxMentions = 64
	maxLookups  = 256 // of files, for the mentions of one prompt
	// maxPunctuation is how many characters after a path are taken for punctuation,
	// and one more.
	maxPunctuation = 5
)

// Mention is a file or folder that a prompt names.
type Mention struct {
	Start, End int    // in the text, from "@" to the end of the path or its quote
	Name       string // as it is written, without "@" and quotes
	Path       string // absolute
	Dir        bool
}

// Find finds "@path" and `@"path with spaces"` in a prompt, for files and folders
// that exist below dir. Punctuation after a path is no part of it unless the file's
// name has it. A word that begins with "@@" stands for itself, as on the command line;
// what does not exist is text.
//
// An address, such as local://a, is no path. A relative path must stay below dir, links resolved. An absolute one, or one that
// begins with "~/", may be anywhere: a person wrote it. Each path is given once, at
// most 64 of them, and at most 256 are looked for.
func Find(text, dir string) (found []Mention) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	l := lookup{root: root, left: maxLookups, seen: map[string]bool{}}
	offset := 0
	for line := range strings.Lines(text) {
		at := 0
		for strings.Contains(line[at:], "@") && len(found) < maxMentions && l.left > 0 {
			w := Next(line, at)
			at = w.End
			if w.Quoted && (!w.At || !w.Closed) {
				at = w.Start + strings.IndexByte(line[w.Start:], '"') + 1 // there may be some within
				continue
			}
			if !w.At {
				continue
			}
			if m, ok := l.find(w); ok && !l.seen[m.Path] {
				l.seen[m.Path] = true
				m.Start, m.End = offset+m.Start, offset+m.End
				found = append(found, m)
			}
		}
		offset += len(line)
	}
	return found
}

type lookup struct {
	root string
	left int
	seen map[string]bool
}

// find looks for the file that a word names: with its punctuation, then without the
// last of it, and so on.
func (l *lookup) find(w Word) (Mention, bool) {
	name, end := w.Text, w.End
	for range maxPunctuation {
		if name == "" || name == "." || name == "/" || name[0] == '@' || l.left == 0 {
			break
		}
		l.left--
		if path, folder, ok := l.resolve(name); ok {
			return Mention{Start: w.Start, End: end, Name: name, Path: path, Dir: folder}, true
		}
		last, n := utf8.DecodeLastRuneInString(name)
		if w.Quoted || !strings.ContainsRune(".,;:!?)]}>'\"`…”’", last) {
			break
		}
		name, end = name[:len(name)-n], end-n
	}
	return Mention{}, false
}

// resolve gives the absolute path of a name that exists and may be mentioned.
func (l *lookup) resolve(name string) (path string, folder, ok bool) {
	if strings.Contains(name, "://") {
		return "", false, false // an address: cleaned it would be some file
	}
	path = filepath.FromSlash(name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", false, false
		}
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		if !filepath.IsLocal(path) {
			return "", false, false
		}
		path = filepath.Join(l.root, path)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", false, false
		}
		if rel, err := filepath.Rel(l.root, real); err != nil || !filepath.IsLocal(rel) {
			return "", false, false
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode()&fs.ModeType&^fs.ModeDir != 0 {
		return "", false, false // devices and pipes are not attached
	}
	return filepath.Clean(path), info.IsDir(), true
}
