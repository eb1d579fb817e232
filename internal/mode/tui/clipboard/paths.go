package clipboard

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
)

const (
	maxPaste = 32 << 10 // bytes of a paste that is looked at
	maxPaths = 100
)

// Paths recognizes a paste that is nothing but files that exist, as terminals write
// them when files are dragged into them: absolute paths or file:// URLs, separated by
// spaces or line ends, in quotes or with backslashes before what a shell would take
// apart. It is nil for every other text, for one of more than 32 KB, and for more than
// 100 files. Folders count as files.
//
// A relative path is text: a word that happens to be the name of a file is meant as a
// word.
func Paths(paste string) (paths []string) {
	if len(paste) > maxPaste {
		return nil
	}
	paste = strings.TrimSpace(paste)
	if path, ok := existing(paste); ok { // as it is, with spaces and all
		return []string{path}
	}
	words, ok := split(paste, runtime.GOOS == "windows")
	if !ok || len(words) == 0 || len(words) > maxPaths {
		return nil
	}
	for _, w := range words { // before the disk is asked for any
		if _, ok := absolute(w); !ok {
			return nil
		}
	}
	for _, w := range words {
		path, ok := existing(w)
		if !ok {
			return nil
		}
		paths = append(paths, path)
	}
	return paths
}

// existing gives the path of a word if there is such a file.
func existing(word string) (string, bool) {
	path, ok := absolute(word)
	if !ok {
		return "", false
	}
	if _, err := os.Stat(path); err != nil {
		return "", false
	}
	return filepath.Clean(path), true
}

// absolute gives the path that a word names, if it is an absolute one.
func absolute(word string) (string, bool) {
	if word == "" || strings.ContainsFunc(word, unicode.IsControl) {
		return "", false
	}
	if len(word) > len("file://") && strings.EqualFold(word[:len("file://")], "file://") {
		u, err := url.Parse(word)
		if err != nil || u.Host != "" && u.Host != "localhost" || u.RawQuery != "" {
			return "", false
		}
		word = u.Path
		if runtime.GOOS == "windows" {
			word = strings.TrimPrefix(word, "/") // /C:/…
		}
		if strings.ContainsFunc(word, unicode.IsControl) {
			return "", false
		}
	}
	path := filepath.FromSlash(word)
	if rest, ok := strings.CutPrefix(path, "~"+string(filepath.Separator)); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", false
		}
		path = filepath.Join(home, rest)
	}
	return path, filepath.IsAbs(path)
}

// split takes a paste apart into words. It is false where a quote is not closed.
func split(paste string, windows bool) (words []string, ok bool) {
	var word strings.Builder
	var quote rune
	in, escaped := false, false
	for _, r := range paste {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'' && !windows:
			escaped, in = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'' && !windows):
			quote, in = r, true
		case quote == 0 && unicode.IsSpace(r):
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words, quote == 0 && !escaped
}
