package workspace

import (
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// asSpelled gives the name of a file that exists for one that does not, if they
// differ only in what looks the same: composed and decomposed letters (macOS),
// curly apostrophes, and the narrow space in the names of screenshots. Models
// write what they see.
func (w *Workspace) asSpelled(name string) string {
	if isPlain(name) {
		// A plain name can still stand for one with a curly apostrophe or a narrow
		// space in it.
		if !strings.ContainsAny(name, "' ") {
			return name
		}
	}
	if _, err := w.files.Lstat(name); err == nil {
		return name
	}
	want := plainName(path.Base(name))
	entries, err := w.files.ReadDir(path.Dir(name))
	if err != nil {
		return name
	}
	found := ""
	for _, e := range entries {
		if plainName(e.Name()) != want {
			continue
		}
		if found != "" {
			return name // two of them: a guess would be wrong half the time
		}
		found = e.Name()
	}
	if found == "" {
		return name
	}
	return path.Join(path.Dir(name), found)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func plainName(s string) string {
	return strings.NewReplacer("\u2019", "'", "\u2018", "'", "\u202f", " ", "\u00a0", " ").Replace(norm.NFC.String(s))
}
