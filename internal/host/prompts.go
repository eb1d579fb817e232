package host

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/customize/source"
)

// Files with which people change what models are told. SYSTEM.md and TITLE_SYSTEM.md are read
// from the user's folder only: what they replace says, among other things, that a repository's
// words are data, and no repository can take that away.
const (
	systemFile = "SYSTEM.md"        // in place of burin's own words
	appendFile = "APPEND_SYSTEM.md" // at the end of the instructions; a project's is one of its instruction files
	titleFile  = "TITLE_SYSTEM.md"  // in place of the words that ask for a session's title
)

// givePrompts sets what such files say. Flags come first, and what they add comes last.
func givePrompts(o *Session) {
	if o.Ground.NoFiles || o.Ground.Files != nil {
		return
	}
	read := func(dir, name string) string {
		text, err := readIn(dir, name)
		if err != nil && !source.Missing(err) {
			o.Warn(filepath.Join(dir, name) + ": left out: " + source.Reason(err))
		}
		return strings.TrimSpace(text)
	}
	own := o.Ground.ConfigDir
	o.System = cmp.Or(o.System, read(own, systemFile))
	o.TitleSystem = cmp.Or(o.TitleSystem, read(own, titleFile))
	var all []string
	for _, text := range []string{read(own, appendFile), o.Append} {
		if text != "" {
			all = append(all, text)
		}
	}
	o.Append = strings.Join(all, "\n\n")
}

func readIn(dir, name string) (string, error) {
	if dir == "" {
		return "", os.ErrNotExist
	}
	if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
		return "", err
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return source.Read(r, name, source.MaxFile)
}
