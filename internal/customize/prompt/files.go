package prompt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/prose"
)

// File is a file of instructions.
type File struct {
	Name string // as it is shown: relative to the repository, or from the home folder
	Text string
	Path string // absolute
	// Source says whose it is, for people: "Claude Code, project".
	Source string
	// ShadowedBy is the name of the file that is read instead.
	ShadowedBy string
}

// Block is the file as the model reads it.
func (f File) Block() string {
	return f.Marker() + "\n" + strings.TrimSpace(f.Text) + "\n</instructions>"
}

// Marker is the line that begins it.
func (f File) Marker() string { return fmt.Sprintf("<instructions from=%q>", f.Name) }

// Limits of instruction files. What is longer is cut, and says so.
const (
	MaxFile = 32 << 10
	MaxAll  = 96 << 10
)

// Found are the instruction files that were found.
type Found struct {
	Files    []File // general ones first
	Shadowed []File // that another one hides; without a text
	Warnings []string
}

// Discover gives the instruction files: the user's own, then those of the folders from the root
// of the repository down to the working directory. Of the user's, and of each folder, the first
// one counts in the order of package source, since the others say the same for other programs;
// additions always do. A file that another one imports follows it. Warnings name what was cut or
// could not be read. A link that leads out of the repository is not followed.
func Discover(o source.Options) Found {
	d := newDiscoverer()
	main, more := source.Places(o, source.Instructions), source.Places(o, source.Additions)
	d.folder("", main, more)
	var bases []string // the nearest first
	for _, p := range slices.Concat(main, more) {
		if p.Base != "" && !slices.Contains(bases, p.Base) {
			bases = append(bases, p.Base)
		}
	}
	slices.SortFunc(bases, func(a, b string) int { return len(a) - len(b) }) // one is above the other
	for _, base := range bases {
		d.folder(base, main, more)
	}
	return d.Found
}

// InFolder gives the instruction files of one folder of the repository, with what they import.
func InFolder(o source.Options, folder string) []File {
	d := newDiscoverer()
	o.Dir = folder
	d.folder(folder, source.Places(o, source.Instructions), source.Places(o, source.Additions))
	return d.Files
}

type discoverer struct {
	Found
	left     int
	seen     map[string]bool // texts, so that a link or copy counts once
	imported map[string]bool // by their full names
}

func newDiscoverer() *discoverer {
	return &discoverer{left: MaxAll, seen: map[string]bool{}, imported: map[string]bool{}}
}

// folder takes the first file of a folder that there is, and all additions. "" is the user's.
func (d *discoverer) folder(base string, main, more []source.Place) {
	first := ""
	for _, p := range main {
		if p.Base != base {
			continue
		}
		switch name, ok := d.place(p, first); {
		case ok && first != "":
			d.Shadowed = append(d.Shadowed, File{Name: name, Path: p.Path, Source: p.Owner(), ShadowedBy: first})
		case ok:
			first = name
		}
	}
	for _, p := range more {
		if p.Base == base {
			d.place(p, "")
		}
	}
}

// place takes the file of a place, unless another one is read instead of it. ok reports whether
// it is there.
func (d *discoverer) place(p source.Place, instead string) (name string, ok bool) {
	if _, err := os.Lstat(p.Path); err != nil {
		return "", false // most are not there
	}
	root, shown := p.Repository, ""
	if root == "" { // the user's, which may lie anywhere
		root, shown = filepath.Dir(p.Path), filepath.Dir(p.Path)
	}
	at, err := filepath.Rel(root, p.Path)
	if err != nil {
		return "", false
	}
	at = filepath.ToSlash(at)
	name = filepath.Join(shown, at)
	if shown == "" {
		name = at
	}
	if reason := refused(p); reason != "" {
		if instead == "" {
			d.warn("%s: left out: %s", name, reason)
		}
		return "", false
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return "", false
	}
	defer r.Close()
	text, err := readText(r, at)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotText):
		return "", false
	case err != nil && instead == "":
		d.warn("%s: %v", name, err)
		return "", false
	case err != nil || instead != "":
		return name, err == nil
	}
	d.add(File{Name: name, Text: text, Path: p.Path, Source: p.Owner()})
	if strings.HasSuffix(at, ".md") {
		d.imported[name] = true
		d.imports(r, p, shown, at, text, 1)
	}
	return name, true
}

// refused says why a place is not read, though it is there; "" if it is.
func refused(p source.Place) string {
	if p.Named {
		switch strings.ToLower(filepath.Ext(p.Path)) {
		case "", ".md", ".mdc", ".markdown", ".txt":
		default:
			return "instructions that settings name are .md, .mdc, .markdown or .txt files"
		}
	}
	return p.Refused(p.Path, p.Named)
}

func (d *discoverer) add(f File) {
	text, name := strings.TrimSpace(f.Text), f.Name
	if text == "" || d.seen[text] {
		return
	}
	d.seen[text] = true
	if d.left < 1<<10 {
		d.warn("%s: left out: the files before it fill the %d KB there are for instructions", name, MaxAll>>10)
		return
	}
	if limit := min(MaxFile, d.left); len(text) > limit {
		d.warn("%s: only the first %d KB are given to the model", name, limit>>10)
		text = prose.Head(text, limit) + "\n[cut]"
	}
	d.left = max(d.left-len(text), 0)
	f.Text = text
	d.Files = append(d.Files, f)
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
