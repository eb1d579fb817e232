package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// MaxFile is how many bytes a file may have.
const MaxFile = 256 << 10

// maxEntries is how many names of a folder are looked at.
const maxEntries = 10_000

// Errors of files.
var (
	ErrTooLarge = fmt.Errorf("it is larger than %d KB", MaxFile>>10)
	ErrNotText  = errors.New("it is not a text file")
)

// Open opens a place that is a folder. That of a project must not lead out of the
// repository; one of the user's may be a link to wherever the user keeps such files.
func (p Place) Open() (*os.Root, error) { return p.open(p.Path) }

func (p Place) open(dir string) (*os.Root, error) {
	if p.Repository == "" {
		return os.OpenRoot(dir)
	}
	outer, err := os.OpenRoot(p.Repository)
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	rel, err := filepath.Rel(p.Repository, dir)
	if err != nil {
		return nil, err
	}
	return outer.OpenRoot(rel)
}

// Refused says why the model must not get a file of a project, by its absolute path; "" if it
// may. It asks about files that the repository chooses, by a name or by a link, since it could
// choose what the user has there and never shows to a model.
func (p Place) Refused(file string, named bool) string {
	if p.Repository == "" || p.withheld == nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "" // it cannot be read, which is said in other words
	}
	if !named && !p.linked(file, real) {
		return ""
	}
	for _, name := range []string{file, real} {
		if reason := p.withheld(name); reason != "" {
			return reason
		}
	}
	return ""
}

// linked reports whether a link in the repository leads from a path to its real one.
func (p Place) linked(path, real string) bool {
	root, err := filepath.EvalSymlinks(p.Repository)
	if err != nil {
		return true
	}
	rel, err := filepath.Rel(p.Repository, path)
	return err != nil || filepath.Join(root, rel) != real
}

// ReadFile reads a place that is a file, as [Read] does.
func (p Place) ReadFile() (string, error) {
	if reason := p.Refused(p.Path, p.Named); reason != "" {
		return "", errors.New(reason)
	}
	r, err := p.open(filepath.Dir(p.Path))
	if err != nil {
		return "", err
	}
	defer r.Close()
	return Read(r, filepath.Base(p.Path), MaxFile)
}

// Read reads at most limit bytes of a file that is a text and not larger than [MaxFile]. A
// character that the limit cuts is left out; what is not UTF-8 becomes U+FFFD.
func Read(r *os.Root, name string, limit int64) (string, error) { return ReadFS(r.FS(), name, limit) }

// ReadFS is Read for any file system.
func ReadFS(files fs.FS, name string, limit int64) (string, error) {
	info, err := fs.Stat(files, name) // before it is opened: a pipe would wait
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", ErrNotText
	case info.Size() > MaxFile:
		return "", ErrTooLarge
	}
	file, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	b := make([]byte, min(info.Size(), limit)) // what is added meanwhile is not read
	n, err := io.ReadFull(file, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	text := string(b[:n])
	if strings.IndexByte(text, 0) >= 0 {
		return "", ErrNotText
	}
	if int64(len(text)) == limit {
		for i := 0; i < utf8.UTFMax && len(text) > 0; i++ {
			if last, _ := utf8.DecodeLastRuneInString(text); last != utf8.RuneError {
				break
			}
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(text, "\uFEFF"), "\uFFFD"), nil
}

// List gives what a folder has, by name. Of a very large one it gives a part.
func List(r *os.Root, at string) ([]fs.DirEntry, error) {
	d, err := r.Open(at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(maxEntries)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Walk calls file for each file of a place that is a folder, by name and with slashes, and of its
// sub-folders down to a depth. skip says which sub-folders to leave out; nil is none. What begins
// with a dot and links to folders are left out. A false of file ends the walk. found is false
// where there is no such folder; warnings get what cannot be read.
func (p Place) Walk(w *Warnings, depth int, skip func(name string) bool, file func(r *os.Root, name string) bool) (found bool) {
	if _, err := os.Lstat(p.Path); err != nil {
		return false // most places are empty
	}
	r, err := p.Open()
	if err != nil {
		if !Missing(err) {
			w.Add("%s: left out: %s", p.Path, Reason(err))
		}
		return false
	}
	defer r.Close()
	chosen := p.Named
	if real, err := filepath.EvalSymlinks(p.Path); p.Repository != "" && !chosen && err == nil {
		chosen = p.linked(p.Path, real)
	}
	var walk func(at string, depth int) bool
	walk = func(at string, depth int) bool {
		entries, err := List(r, at)
		if err != nil {
			w.Add("%s: left out: %s", filepath.Join(p.Path, at), Reason(err))
			return true
		}
		for _, e := range entries {
			name := path.Join(at, e.Name())
			switch {
			case strings.HasPrefix(e.Name(), "."):
			case e.IsDir():
				if depth > 0 && (skip == nil || !skip(name)) && !walk(name, depth-1) {
					return false
				}
			default:
				if chosen || e.Type()&fs.ModeSymlink != 0 {
					if reason := p.Refused(filepath.Join(p.Path, filepath.FromSlash(name)), chosen); reason != "" {
						w.Add("%s: left out: %s", filepath.Join(p.Path, filepath.FromSlash(name)), reason)
						continue
					}
				}
				if !file(r, name) {
					return false
				}
			}
		}
		return true
	}
	walk(".", depth)
	return true
}

// Missing reports that there is nothing to read at a place, which is no mistake: nothing
// at all, or something of another kind that is no concern of ours.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) ||
		strings.HasSuffix(err.Error(), "not a directory") // os.Root's own
}

// Reason says in a few words why a file was refused, without repeating its path.
func Reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "it cannot be read; check its permissions"
	case strings.Contains(err.Error(), "escapes"): // os.Root has no error of its own for it
		return "it is a link that leads out of its folder; put the file itself there"
	case errors.Is(err, fs.ErrNotExist):
		return "it is a link to nothing"
	}
	return err.Error()
}

// DecodeTOML reads a file of TOML into v. An error comes with its line.
func DecodeTOML(text string, v any) (line int, err error) {
	var syntax toml.ParseError
	switch err := toml.Unmarshal([]byte(text), v); {
	case errors.As(err, &syntax):
		return max(1, syntax.Position.Line), errors.New(syntax.Message) // it may not know the line
	case err != nil:
		return 1, err
	}
	return 0, nil
}

// maxWarnings is how many warnings are kept.
const maxWarnings = 50

// Warnings collects what a person should know about files that were left out, a line each,
// and at most 50.
type Warnings struct {
	About string // "commands", for the last line
	lines []string
}

// Add adds a line.
func (w *Warnings) Add(format string, args ...any) {
	switch {
	case len(w.lines) < maxWarnings-1:
		w.lines = append(w.lines, fmt.Sprintf(format, args...))
	case len(w.lines) < maxWarnings:
		w.lines = append(w.lines, fmt.Sprintf("there are more problems with %s, which are not listed", w.About))
	}
}

// Lines are the warnings so far.
func (w *Warnings) Lines() []string { return w.lines }
