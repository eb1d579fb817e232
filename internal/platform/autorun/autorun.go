// Package autorun knows the files of a workspace from which other programs run
// something without a question: git, burin itself, editors, shells. A command in a
// sandbox may write in the workspace; what it plants there would run later, outside.
//
// Two kinds are told apart. What git and burin execute is protected: the sandbox keeps
// commands from it ([Watch.Walls]), and where it can't, [Watch.After] puts back what a
// command changed and keeps what the command wrote. Changes to the others can be ordinary
// work; After names them, so that a person sees them.
//
// What remains: repositories that a command makes below the workspace, caches of
// packages outside of it, and ordinary sources and build files, which run when somebody
// builds.
package autorun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/gitconfig"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/platform/wall"
)

// names are what is watched in a workspace: files, and folders with all in them.
var names = []string{
	".burin", ".claude", ".codex", ".cursor", ".gemini", ".mcp.json", ".windsurf", ".clinerules", ".opencode",
	".vscode", ".idea", ".zed", ".fleet", ".devcontainer", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".gdbinit", ".lldbinit",
	".envrc", ".env.local", ".mise.toml", "mise.toml", ".tool-versions", ".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml",
	".npmrc", ".yarnrc.yml", ".pnpmfile.cjs", ".gitattributes", ".gitmodules",
}

// Is reports whether a file of the workspace, named relative to it, makes a program
// that is not the project's own run something.
func Is(name string) bool {
	top, _, _ := strings.Cut(strings.ToLower(filepath.ToSlash(name)), "/")
	return slices.Contains(names, top)
}

const (
	maxFiles = 2000    // that are watched; what comes after is not
	maxDepth = 3       // of folders
	maxKept  = 1 << 20 // bytes of a protected file that could be put back
)

// Watch watches one workspace. It is safe for concurrent use.
type Watch struct {
	root string
	git  string // the folder of the repository, empty without one
	kept string // where what a command wrote is kept

	mu   sync.Mutex
	seen map[string]stamp  // as of the last look; nil before the first
	held map[string][]byte // contents of protected files; nil where walls hold

	config []byte // git's, as of the last look
}

// stamp tells whether a file is as it was.
type stamp struct {
	size int64
	mode fs.FileMode
	time time.Time
	link string
}

// New watches the workspace root, an absolute path without links. Where no walls hold,
// restore is the folder in which versions of protected files are kept that commands
// wrote before they were put back; empty with walls.
func New(root, restore string) *Watch {
	w := &Watch{root: root, git: repository(root), kept: restore}
	if restore != "" {
		w.held = map[string][]byte{}
	}
	return w
}

// repository is the folder of the repository that root is the top of, or in.
func repository(root string) string {
	for dir := root; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		if info, err := os.Lstat(at); err == nil {
			if info.IsDir() {
				return at
			}
			return "" // a link to a repository elsewhere: commands can't write there
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// gitFiles are what git executes, or takes its configuration from, in its folder.
var gitFiles = []string{"config", "config.worktree", "commondir", "info/attributes", "hooks"}

// Walls keep commands from what git and burin execute.
func (w *Watch) Walls() []wall.Wall {
	walls := []wall.Wall{{Glob: ".burin/**", Write: true}}
	add := func(name string) {
		walls = append(walls, wall.Wall{Glob: wall.Quote(filepath.ToSlash(name)) + "/**", Write: true})
	}
	if w.git == "" {
		if info, err := os.Lstat(filepath.Join(w.root, ".git")); err == nil && info.Mode().IsRegular() {
			add(filepath.Join(w.root, ".git")) // says where the repository is
		}
		return walls
	}
	for _, folder := range append([]string{w.git}, modules(w.git)...) {
		for _, name := range gitFiles {
			add(filepath.Join(folder, filepath.FromSlash(name)))
		}
		// Versions of the configuration that the sandbox itself has on the way.
		walls = append(walls, wall.Wall{Glob: wall.Quote(filepath.ToSlash(filepath.Join(folder, "config"))) + ".burin-*", Write: true})
	}
	return walls
}

// Configs are the configuration files of git behind the walls. Versions of them that make
// git execute nothing else can be let through.
func (w *Watch) Configs() (all []string) {
	if w.git == "" {
		return nil
	}
	for _, folder := range append([]string{w.git}, modules(w.git)...) {
		all = append(all, filepath.Join(folder, "config"))
	}
	return all
}

// modules are the repositories of submodules.
func modules(git string) (all []string) {
	root := filepath.Join(git, "modules")
	_ = filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || len(all) >= 100 || strings.Count(name[len(root):], string(filepath.Separator)) > maxDepth {
			return filepath.SkipDir
		}
		if e.Name() == "config" && e.Type().IsRegular() {
			all = append(all, filepath.Dir(name))
			return filepath.SkipDir
		}
		return nil
	})
	return all
}

// protected reports whether a watched file is git's or burin's.
func (w *Watch) protected(name string) bool {
	rel, err := filepath.Rel(w.root, name)
	return err == nil && strings.HasPrefix(filepath.ToSlash(rel)+"/", ".burin/") || w.git != "" && strings.HasPrefix(name, w.git+string(filepath.Separator))
}

// look takes the stamps of all that is watched.
func (w *Watch) look() map[string]stamp {
	all := map[string]stamp{}
	for _, name := range names {
		w.add(all, filepath.Join(w.root, name), 0)
	}
	if w.git != "" {
		for _, name := range gitFiles {
			w.add(all, filepath.Join(w.git, filepath.FromSlash(name)), 0)
		}
	} else {
		w.add(all, filepath.Join(w.root, ".git"), maxDepth)
	}
	return all
}

func (w *Watch) add(all map[string]stamp, name string, depth int) {
	info, err := os.Lstat(name)
	if err != nil || len(all) >= maxFiles {
		return
	}
	if !info.IsDir() {
		s := stamp{size: info.Size(), mode: info.Mode(), time: info.ModTime()}
		if info.Mode()&fs.ModeSymlink != 0 {
			s.link, _ = os.Readlink(name)
		}
		all[name] = s
		return
	}
	if depth >= maxDepth {
		all[name] = stamp{mode: info.Mode()}
		return
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return
	}
	for _, e := range entries {
		w.add(all, filepath.Join(name, e.Name()), depth+1)
	}
}

// Before is called before a command runs, if no other does: what has changed since
// the last one is a person's own work.
func (w *Watch) Before() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.look()
	for name := range w.differ(now) {
		if w.held != nil && w.protected(name) {
			w.hold(name)
		}
	}
	w.seen, w.config = now, w.readConfig()
}

// After is called after a command. It says in sentences what the command changed of
// what is watched; empty if nothing.
func (w *Watch) After() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		return ""
	}
	now := w.look()
	var changed, restored []string
	var failed error
	for name := range w.differ(now) {
		short := w.short(name)
		if name == filepath.Join(w.git, "config") && w.harmless() {
			continue
		}
		if w.held == nil || !w.protected(name) {
			changed = append(changed, short)
			continue
		}
		if err := w.restore(name, now); err != nil {
			failed = errors.Join(failed, err)
			changed = append(changed, short)
			continue
		}
		restored = append(restored, short)
	}
	w.seen = w.look()
	var said []string
	if len(changed) > 0 {
		said = append(said, "It changed files that make other programs run something: "+list(changed)+". Look at them before you use git, an editor or a shell there.")
	}
	if len(restored) > 0 {
		said = append(said, "It changed what git or burin would execute; burin has put back "+list(restored)+" and kept what was written in "+w.kept+".")
	}
	if failed != nil {
		said = append(said, failed.Error())
	}
	return strings.Join(said, " ")
}

// harmless reports whether a change of git's configuration makes git execute nothing else.
func (w *Watch) harmless() bool {
	fresh := w.readConfig()
	if w.config == nil || fresh == nil || !gitconfig.Harmless(w.config, fresh) {
		return false
	}
	w.config = fresh
	if name := filepath.Join(w.git, "config"); w.held != nil {
		w.held[name] = fresh
	}
	return true
}

// readConfig is git's configuration, nil without one that could be compared.
func (w *Watch) readConfig() []byte {
	if w.git == "" {
		return nil
	}
	text, err := smallfile.Read(filepath.Join(w.git, "config"), gitconfig.MaxSize)
	if err != nil {
		return nil
	}
	return text
}

// differ are the names whose stamps are not those of the last look.
func (w *Watch) differ(now map[string]stamp) map[string]bool {
	names := map[string]bool{}
	for name, s := range now {
		if old, ok := w.seen[name]; !ok || old != s {
			names[name] = true
		}
	}
	for name := range w.seen {
		if _, ok := now[name]; !ok {
			names[name] = true
		}
	}
	return names
}

func (w *Watch) short(name string) string {
	if rel, err := filepath.Rel(w.root, name); err == nil {
		return filepath.ToSlash(rel)
	}
	return name
}

// list names the first of some files.
func list(files []string) string {
	slices.Sort(files)
	if more := len(files) - 8; more > 0 {
		return strings.Join(files[:8], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(files, ", ")
}

// hold remembers what a protected file holds.
func (w *Watch) hold(name string) {
	info, err := os.Lstat(name)
	if err != nil {
		delete(w.held, name)
		return
	}
	if info.Mode().IsRegular() && info.Size() <= maxKept {
		if text, err := smallfile.Read(name, maxKept); err == nil {
			w.held[name] = text
		}
	}
}

// restore puts a protected file back as it was held.
func (w *Watch) restore(name string, now map[string]stamp) error {
	text, known := w.held[name]
	old, existed := w.seen[name]
	if existed && !known {
		return fmt.Errorf("%s was changed and cannot be put back: it is a link or larger than 1 MB", w.short(name))
	}
	if _, there := now[name]; there {
		if err := w.keep(name); err != nil {
			return fmt.Errorf("put back %s: %w", w.short(name), err)
		}
	}
	if !existed {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("put back %s: %w", w.short(name), err)
	}
	if err := os.WriteFile(name, text, old.mode.Perm()); err != nil {
		return fmt.Errorf("put back %s: %w", w.short(name), err)
	}
	return nil
}

// keep moves a file to where versions of commands are kept.
func (w *Watch) keep(name string) error {
	if err := os.MkdirAll(w.kept, 0o700); err != nil {
		return err
	}
	to := filepath.Join(w.kept, time.Now().UTC().Format("20060102T150405.000000000Z-")+strings.ReplaceAll(w.short(name), "/", "_"))
	if text, err := smallfile.Read(name, maxKept); err == nil {
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
		return os.Remove(name)
	}
	return os.Rename(name, to)
}
