package prompt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// File is a file of instructions.
type File struct {
	Name string // as it is shown: relative to the repository, or from the home folder
	Text string
}

// Block is the file as the model reads it.
func (f File) Block() string {
	return f.Marker() + "\n" + strings.TrimSpace(f.Text) + "\n</instructions>"
}

// Marker is the line that begins it.
func (f File) Marker() string { return fmt.Sprintf("<instructions from=%q>", f.Name) }

// names are the files that are looked for in a folder. Of one folder the first that
// exists is taken: the others say the same for other programs.
func names() []string {
	return []string{
		"AGENTS.md", "AGENT.md", "CLAUDE.md", "GEMINI.md", ".burin/AGENTS.md", ".claude/CLAUDE.md",
		".github/copilot-instructions.md", ".cursorrules", ".windsurfrules", "CONVENTIONS.md",
	}
}

// Limits of instruction files. What is longer is cut, and says so.
const (
	MaxFile = 32 << 10
	MaxAll  = 96 << 10
)

// Discover gives the instruction files for dir: the user's own from the folders
// in user, then from the root of the repository down to dir. A file that another one
// imports follows it. Warnings name what was cut or could not be read. A link that leads
// out of the repository is not followed.
func Discover(dir, repository string, user []string) (files []File, warnings []string) {
	d := newDiscoverer()
	for _, folder := range user {
		d.folder(folder, ".", folder, []string{"AGENTS.md", "CLAUDE.md"})
	}
	if repository == "" {
		repository = dir
	}
	rel, err := filepath.Rel(repository, dir)
	if err != nil || !filepath.IsLocal(rel) {
		repository, rel = dir, "."
	}
	at := "."
	d.folder(repository, at, "", names())
	if rel != "." {
		for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
			at = path.Join(at, part)
			d.folder(repository, at, "", names())
		}
	}
	return d.files, d.warnings
}

// InFolder gives the instruction file of one folder below the repository, with what it
// imports.
func InFolder(repository, folder string) (files []File, warnings []string) {
	d := newDiscoverer()
	d.folder(repository, filepath.ToSlash(folder), "", names())
	return d.files, d.warnings
}

type discoverer struct {
	files    []File
	warnings []string
	left     int
	seen     map[string]bool // texts, so that a link or copy counts once
	imported map[string]bool // by their full names
}

func newDiscoverer() *discoverer {
	return &discoverer{left: MaxAll, seen: map[string]bool{}, imported: map[string]bool{}}
}

// folder takes the first of the names in the folder at, below root.
func (d *discoverer) folder(root, at, shown string, names []string) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return
	}
	defer r.Close()
	for _, name := range names {
		p := path.Join(at, name)
		text, err := readText(r, p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotText) {
			continue
		}
		full := p
		if shown != "" {
			full = filepath.Join(shown, name)
		}
		if err != nil {
			d.warnings = append(d.warnings, fmt.Sprintf("%s: %v", full, err))
			continue
		}
		d.add(full, text)
		if strings.HasSuffix(p, ".md") {
			d.imported[full] = true
			d.imports(r, shown, p, text, 1)
		}
		return
	}
}

func (d *discoverer) add(name, text string) {
	if text = strings.TrimSpace(text); text == "" || d.seen[text] {
		return
	}
	d.seen[text] = true
	if d.left < 1<<10 {
		d.warnings = append(d.warnings, fmt.Sprintf("%s: left out: the files before it fill the %d KB there are for instructions", name, MaxAll>>10))
		return
	}
	if limit := min(MaxFile, d.left); len(text) > limit {
		d.warnings = append(d.warnings, fmt.Sprintf("%s: only the first %d KB are given to the model", name, limit>>10))
		text = prose.Head(text, limit) + "\n[cut]"
	}
	d.left = max(d.left-len(text), 0)
	d.files = append(d.files, File{Name: name, Text: text})
}

var errNotText = errors.New("not a text file")

func readText(r *os.Root, name string) (string, error) {
	info, err := r.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotText
	}
	f, err := r.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return "", err
	}
	if strings.IndexByte(string(b), 0) >= 0 {
		return "", errNotText
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}
