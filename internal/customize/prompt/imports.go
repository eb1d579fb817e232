package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/customize/source"
)

// Limits of imports. What lies beyond is left out, and a warning says so.
const (
	MaxDepth   = 5  // files that import files
	MaxImports = 50 // in all
)

// imports adds the files that a file imports, and those that they import. They must be in the
// folder r, as the file is: a repository must not bring other files of the user's into a
// prompt. Nor does it import what rules keep from the model, or what usually holds secrets.
func (d *discoverer) imports(r *os.Root, p source.Place, shown, from, text string, depth int) {
	for _, written := range mentions(text) {
		name := path.Join(path.Dir(from), written)
		full := name
		if shown != "" {
			full = filepath.Join(shown, filepath.FromSlash(name))
		}
		likely := strings.Contains(written, "/") || strings.HasSuffix(written, ".md") // else it may be a person
		switch {
		case d.imported[full]:
			continue
		case strings.HasPrefix(written, "~") || path.IsAbs(written) || !filepath.IsLocal(filepath.FromSlash(name)):
			if likely && (strings.HasPrefix(written, "~/") || strings.HasPrefix(written, ".") || strings.HasSuffix(written, ".md")) {
				d.warn("%s: @%s is not imported: it is outside of %s", from, written, cmp.Or(shown, "the repository"))
			}
			continue
		}
		place := filepath.Join(r.Name(), filepath.FromSlash(name))
		if reason := p.Refused(place, true); reason != "" {
			d.warn("%s: @%s is not imported: %s", from, written, reason)
			continue
		}
		imported, err := readText(r, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if likely && strings.HasSuffix(written, ".md") {
				d.warn("%s: @%s is not imported: there is no such file", from, written)
			}
			continue
		case errors.Is(err, errNotText):
			continue // a folder, or a picture
		case err != nil:
			d.warn("%s: @%s is not imported: %v", from, written, err)
			continue
		case depth > MaxDepth:
			d.warn("%s: @%s is not imported: imports are followed %d files deep", from, written, MaxDepth)
			continue
		case len(d.imported) >= MaxImports:
			d.warn("%s: @%s is not imported: %d files were imported before", from, written, MaxImports)
			return
		}
		d.imported[full] = true
		d.add(File{Name: full, Text: imported, Path: place})
		d.imports(r, p, shown, name, imported, depth+1)
	}
}

func (d *discoverer) warn(format string, args ...any) {
	if len(d.Warnings) < 50 {
		d.Warnings = append(d.Warnings, fmt.Sprintf(format, args...))
	}
}

// mentions are the paths after "@" in a text of Markdown, without those in code.
func mentions(text string) (paths []string) {
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
			continue
		}
		if n := len(trimmed) - len(strings.TrimLeft(trimmed, "`")); n >= 3 {
			fence = trimmed[:n]
			continue
		}
		if n := len(trimmed) - len(strings.TrimLeft(trimmed, "~")); n >= 3 {
			fence = trimmed[:n]
			continue
		}
		if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
			continue
		}
		for i, part := range strings.Split(trimmed, "`") {
			if i%2 == 1 { // between backticks
				continue
			}
			for _, word := range strings.Fields(part) {
				word = strings.TrimLeft(word, "([<\"'*_-")
				if name, ok := strings.CutPrefix(word, "@"); ok {
					if name = strings.TrimRight(name, ".,;:!?)]>\"'*_"); name != "" && !strings.ContainsAny(name, "@\x00") {
						paths = append(paths, name)
					}
				}
			}
		}
	}
	return paths
}
