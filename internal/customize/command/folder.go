package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// program is another program, or burin, and where it keeps commands.
type program struct {
	name    string
	project []string // below a folder of the project
	user    []string
	kind    kind
	flat    bool // sub-folders mean nothing to it
	renames bool // "name" in the head of a file counts
}

// programs are the sources in the order in which they win.
func programs(o Options) []program {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	home := func(variable, standard string) string {
		if dir := getenv(variable); variable != "" && filepath.IsAbs(dir) {
			return dir
		}
		if o.UserHome == "" {
			return ""
		}
		return filepath.Join(o.UserHome, filepath.FromSlash(standard))
	}
	in := func(dir string, names ...string) []string {
		if dir == "" {
			return nil
		}
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = filepath.Join(dir, n)
		}
		return out
	}
	both := func(dir string) []string { return in(dir, "commands", "prompts") }
	opencode := home("", ".config/opencode")
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		opencode = filepath.Join(dir, "opencode")
	}
	return []program{
		{name: "burin", project: []string{".burin/commands", ".burin/prompts"}, user: both(o.ConfigDir), renames: true},
		{name: "oh-my-pi", project: []string{".omp/commands", ".omp/prompts"}, user: both(home("", ".omp/agent")), renames: true},
		{name: "pi", project: []string{".pi/commands", ".pi/prompts"}, user: both(home("PI_CODING_AGENT_DIR", ".pi/agent")), renames: true},
		{name: "arcane", project: []string{".arcane/commands", ".arcane/prompts"}, user: both(home("", ".arcane/agent")), renames: true},
		{name: "gajae", project: []string{".gjc/commands", ".gjc/prompts"}, user: both(home("GJC_CODING_AGENT_DIR", ".gjc/agent")), renames: true},
		{name: "Claude Code", project: []string{".claude/commands"}, user: in(home("CLAUDE_CONFIG_DIR", ".claude"), "commands")},
		{name: "Codex", project: []string{".codex/prompts"}, user: in(home("CODEX_HOME", ".codex"), "prompts"), flat: true, renames: true},
		{name: "Gemini", project: []string{".gemini/commands"}, user: in(home("", ".gemini"), "commands"), kind: toml},
		{name: "opencode", project: []string{".opencode/command", ".opencode/commands"}, user: in(opencode, "command", "commands")},
		{name: "Cursor", project: []string{".cursor/commands"}, user: in(home("", ".cursor"), "commands")},
	}
}

// finder collects commands.
type finder struct {
	found    []Command
	seen     map[string]bool // folders
	warnings []string
	looked   int
	full     bool
}

// Discover looks for commands. Folders that are not there are no mistake; warnings, at
// most 50, say in one line each what was left out.
func Discover(o Options) (*Set, []string) {
	f := &finder{seen: map[string]bool{}}
	folders := upward(o.Dir, o.Root)
	for _, p := range programs(o) {
		for _, dir := range folders {
			for _, sub := range p.project {
				f.folder(p, filepath.Join(dir, filepath.FromSlash(sub)), folders[len(folders)-1])
			}
		}
		for _, dir := range p.user {
			f.folder(p, dir, "")
		}
	}
	return newSet(f.found), f.warnings
}

// upward lists dir and the folders above it up to root, the nearest first.
func upward(dir, root string) []string {
	if dir = cmp.Or(dir, root); dir == "" {
		return nil
	}
	dir = filepath.Clean(dir)
	folders := []string{dir}
	rel, err := filepath.Rel(root, dir)
	if root == "" || err != nil || !filepath.IsLocal(rel) {
		return folders
	}
	for at := dir; at != filepath.Clean(root) && len(folders) < 100; {
		at = filepath.Dir(at)
		folders = append(folders, at)
	}
	return folders
}

func (f *finder) warn(format string, args ...any) {
	switch {
	case len(f.warnings) < maxWarnings-1:
		f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
	case len(f.warnings) < maxWarnings:
		f.warnings = append(f.warnings, "there are more problems with commands, which are not listed")
	}
}

// folder adds the commands of a folder. That of a project must not lead out of the
// repository; the user's may be a link to wherever the user keeps such files.
func (f *finder) folder(p program, dir, repository string) {
	if dir == "" || f.seen[dir] || f.full {
		return
	}
	f.seen[dir] = true
	r, err := openFolder(dir, repository)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !notFolder(err) {
			f.warn("%s: left out: %s", dir, reason(err))
		}
		return
	}
	defer r.Close()
	base := Command{root: dir, link: repository, kind: p.kind, Source: p.name + ", user"}
	if repository != "" {
		base.Source = p.name + ", project"
	}
	f.walk(r, p, base, ".", 0)
}

// openFolder opens a folder of commands, inside the repository where there is one.
func openFolder(dir, repository string) (*os.Root, error) {
	if repository == "" {
		return os.OpenRoot(dir)
	}
	outer, err := os.OpenRoot(repository)
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	rel, err := filepath.Rel(repository, dir)
	if err != nil {
		return nil, err
	}
	return outer.OpenRoot(rel)
}

func (f *finder) walk(r *os.Root, p program, base Command, at string, depth int) {
	entries, err := readDir(r, at)
	if err != nil {
		f.warn("%s: left out: %s", filepath.Join(base.root, at), reason(err))
		return
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		switch {
		case f.full:
			return
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir(): // a link to a folder is none
			if !p.flat && depth < maxDepth {
				f.walk(r, p, base, name, depth+1)
			}
		case strings.EqualFold(path.Ext(name), extension(p.kind)):
			f.file(r, p, base, name)
		}
	}
}

func extension(k kind) string {
	if k == toml {
		return ".toml"
	}
	return ".md"
}

// readDir reads at most one folder's share of files, by name.
func readDir(r *os.Root, at string) ([]fs.DirEntry, error) {
	d, err := r.Open(at)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var entries []fs.DirEntry
	entries, err = d.ReadDir(10 * MaxCommands)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	sortEntries(entries)
	return entries, err
}

// file adds the command of a file.
func (f *finder) file(r *os.Root, p program, c Command, name string) {
	if f.looked++; f.looked > MaxCommands {
		f.full = true
		f.warn("%s: left out with all that follow: %d files of commands were found before", filepath.Join(c.root, name), MaxCommands)
		return
	}
	c.file, c.Path = name, filepath.Join(c.root, filepath.FromSlash(name))
	text, err := read(r, name, maxHead)
	if err != nil {
		f.warn("%s: left out: %s", c.Path, reason(err))
		return
	}
	c.Name = strings.ReplaceAll(strings.TrimSuffix(name, path.Ext(name)), "/", ":")
	d := parse(text, c.kind)
	if d.name != "" && p.renames {
		c.Name = d.name
	}
	if c.Name = strings.TrimPrefix(c.Name, "/"); !validName(c.Name) {
		f.warn("%s: left out: %q cannot be a command's name; use letters, digits and -_.:", c.Path, prose.Cut(c.Name, 40))
		return
	}
	c.Description, c.Hint, c.Model, c.Tools = d.description, d.hint, d.model, d.tools
	f.found = append(f.found, c)
}

// errors of files, as they are told.
var (
	errTooLarge = fmt.Errorf("it is larger than %d KB", MaxFile>>10)
	errNotText  = errors.New("it is not a text file")
)

// read reads at most limit bytes of a file that is small enough and a text.
func read(r *os.Root, name string, limit int64) (string, error) {
	info, err := r.Stat(name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errNotText
	case info.Size() > MaxFile:
		return "", errTooLarge
	}
	file, err := r.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return "", err
	}
	text := string(b)
	if strings.IndexByte(text, 0) >= 0 {
		return "", errNotText
	}
	if int64(len(text)) == limit { // a character may be cut
		for i := 0; i < utf8.UTFMax && len(text) > 0; i++ {
			if last, _ := utf8.DecodeLastRuneInString(text); last != utf8.RuneError {
				break
			}
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(text, "\uFEFF"), "\uFFFD"), nil
}

// validName keeps names that can be written after "/" and told apart from paths.
func validName(name string) bool {
	if name == "" || len(name) > maxName || strings.Trim(name, ".:-_") == "" {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_.:", r)
	})
}
