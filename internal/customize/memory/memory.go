// Package memory keeps what burin remembers from session to session, as Markdown files that
// people read and edit like any other.
//
// A [Memory] has two parts: a [Store] for the project, which all worktrees of a repository
// share ([Root]), and one for the user, which holds everywhere. In the folder of a store are
//
//	MEMORY.md             everything that is worth knowing
//	summary.md            the short form, which each new session is given
//	notes.md              what was added by hand since MEMORY.md was written, a line each
//	skills/NAME/SKILL.md  playbooks for work that comes again
//	raw/SESSION.md        what was found in each session
//
// A folder beside it has the state of the updates and old versions of the files. The model gets
// [Memory.Section] in its system prompt and reads and writes the files by address
// ([Memory.Read], [Memory.Stores]). Package memorize, which asks models, makes them.
//
// What it promises: nothing is read or written before a method is called; a file is the old or
// the new one at any time; a file that somebody changed since it was read is not replaced, and
// of one that is replaced a copy stays; links lead nowhere outside of the store.
package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
)

// Files of a store.
const (
	Long    = "MEMORY.md"
	Summary = "summary.md"
	Notes   = "notes.md"
	skills  = "skills"
	raw     = "raw"
)

// Limits. What is longer is refused, or left out where that is said.
const (
	MaxNote   = 1000     // characters of a note
	maxNotes  = 32 << 10 // bytes of notes.md
	MaxFile   = 64 << 10 // bytes of MEMORY.md and of the summary
	MaxSkill  = 32 << 10 // bytes of a playbook
	MaxSkills = 30       // playbooks; more are not shown
	MaxRaw    = 200      // sessions whose facts are kept; those of the oldest go first
	maxOld    = 10       // updates whose old files are kept
)

// Memory is what burin remembers in a folder.
type Memory struct{ Project, User Store }

// Open gives the memory for work in dir, which is kept in home, the folder of burin's data. It
// reads nothing but what says which repository dir belongs to.
func Open(home, dir string) Memory {
	root := Root(dir)
	sum := sha256.Sum256([]byte(root))
	name := strings.Trim(notInNames().ReplaceAllString(filepath.Base(root), "-"), "-.")
	key := strings.TrimPrefix(prose.Head(name, 40)+"-"+hex.EncodeToString(sum[:6]), "-")
	all := filepath.Join(home, "memory")
	return Memory{
		Project: Store{name: "root", dir: filepath.Join(all, "projects", key), own: filepath.Join(all, "state", key), root: root},
		User:    Store{name: "user", dir: filepath.Join(all, "user"), own: filepath.Join(all, "state", "user")},
	}
}

var (
	notInNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]+`) })
	skillFile  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^skills/[a-z0-9][a-z0-9-]{0,63}/SKILL\.md$`) })
	sessionID  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`) })
)

// Stores are both parts.
func (m Memory) Stores() []Store { return []Store{m.Project, m.User} }

// Store is one part of the memory.
type Store struct {
	name, dir string
	own       string // the folder of what burin needs for itself
	root      string // of the project
}

// Dir is the folder of the store. It may not be there.
func (s Store) Dir() string { return s.dir }

// Root is the folder of the project; "" for the user's store.
func (s Store) Root() string { return s.root }

// Key names the store among all of this machine.
func (s Store) Key() string { return filepath.Base(s.dir) }

// Address is how the model names a file of the store.
func (s Store) Address(file string) string {
	return scheme + strings.TrimSuffix(s.name+"/"+file, "/")
}

// Path is the path of a file of the store.
func (s Store) Path(file string) string { return filepath.Join(s.dir, filepath.FromSlash(file)) }

// open gives the files of the store to use. Where there is no store they are none.
func (s Store) open(use func(fs.FS) error) error {
	r, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer r.Close()
	return use(r.FS())
}

// read reads a file; one that is not there is empty.
func (s Store) read(name string) (text string, err error) {
	err = s.open(func(files fs.FS) (err error) {
		text, err = source.ReadFS(files, name, MaxFile)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %s", s.Path(name), source.Reason(err))
	}
	return text, nil
}

// Files are the texts that an update may change, by name: MEMORY.md, the summary and playbooks.
func (s Store) Files() (map[string]string, error) {
	names := append([]string{Long, Summary}, s.Skills()...)
	all := map[string]string{}
	for _, name := range names {
		text, err := s.read(name)
		if err != nil {
			return nil, err
		}
		if text != "" {
			all[name] = text
		}
	}
	return all, nil
}

// Skills are the names of the playbooks' files.
func (s Store) Skills() (names []string) {
	entries, _ := os.ReadDir(s.Path(skills)) // none where there is no such folder
	for _, e := range entries {
		if name := path.Join(skills, e.Name(), "SKILL.md"); e.IsDir() && skillFile().MatchString(name) && len(names) < MaxSkills {
			names = append(names, name)
		}
	}
	return names
}

// Check says what is wrong with a file that an update wants to write.
func Check(name, text string) error {
	limit := MaxFile
	switch {
	case skillFile().MatchString(name):
		limit = MaxSkill
	case name != Long && name != Summary:
		return fmt.Errorf("%q is not a file of the memory", prose.Short(name, 80))
	}
	if len(text) > limit {
		return fmt.Errorf("%s would have %d bytes, more than %d", name, len(text), limit)
	}
	return nil
}

// ErrChanged means that somebody changed a file while an update was at work.
var ErrChanged = errors.New("changed while memory was updated; the next update takes the change in")

// Replace writes files that were made from base, which [Store.Files] gave; an empty text
// removes one. Either all files are still as they were and old versions are kept, or nothing
// is written. Whoever calls it has the lock.
func (s Store) Replace(base, next map[string]string, now time.Time) error {
	old := map[string]string{}
	for name, text := range next {
		if err := Check(name, text); err != nil {
			return err
		}
		is, err := s.read(name)
		switch {
		case err != nil:
			return err
		case is != base[name]:
			return fmt.Errorf("%s: %w", s.Path(name), ErrChanged)
		case text == is:
			delete(next, name)
		case is != "":
			old[name] = is
		}
	}
	if err := s.keep(old, now); err != nil {
		return fmt.Errorf("keep a copy of the memory: %w", err)
	}
	for name, text := range next {
		if err := s.write(name, text); err != nil {
			return err
		}
	}
	return nil
}

// keep puts old versions of files aside, and removes those of the oldest updates.
func (s Store) keep(old map[string]string, now time.Time) error {
	if len(old) == 0 {
		return nil
	}
	all := filepath.Join(s.own, "old")
	for name, text := range old {
		if err := write(filepath.Join(all, now.UTC().Format("2006-01-02T15-04-05.000"), filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(all) // by name, and so by time
	for i := 0; err == nil && i < len(entries)-maxOld; i++ {
		err = os.RemoveAll(filepath.Join(all, entries[i].Name()))
	}
	return err
}

// write writes a file, or removes it where there is no text.
func (s Store) write(name, text string) error {
	if text != "" {
		return write(s.Path(name), strings.TrimRight(text, "\n")+"\n")
	}
	err := os.Remove(s.Path(name))
	if skillFile().MatchString(name) {
		_ = os.Remove(filepath.Dir(s.Path(name))) // what a person put beside it stays
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return smallfile.Replace(path, []byte(text))
}

// SetRaw keeps what was found in a session, under the session's id; "" removes it.
func (s Store) SetRaw(id, text string) error {
	if !sessionID().MatchString(id) {
		return fmt.Errorf("session %q: its id can't name a file", prose.Short(id, 80))
	}
	return s.write(path.Join(raw, id+".md"), text)
}

// Raw is what was found in a session; "" is nothing.
func (s Store) Raw(id string) (string, error) {
	if !sessionID().MatchString(id) {
		return "", nil
	}
	return s.read(path.Join(raw, id+".md"))
}

// AddNote adds a line to the notes.
func (s Store) AddNote(text string) error {
	text = strings.Join(strings.Fields(prose.Inline(text)), " ")
	switch n := len([]rune(text)); {
	case text == "":
		return errors.New("say what to remember")
	case n > MaxNote:
		return fmt.Errorf("a note has at most %d characters, this one has %d: shorten it, or write it into %s", MaxNote, n, s.Path(Long))
	}
	return s.changeNotes(func(notes string) (string, error) {
		if len(notes)+len(text) > maxNotes {
			return "", fmt.Errorf("%s is full: run burin memory update, which merges the notes into %s", s.Path(Notes), Long)
		}
		if notes != "" && !strings.HasSuffix(notes, "\n") {
			notes += "\n"
		}
		return notes + "- " + text + "\n", nil
	})
}

// Notes are the notes as they are.
func (s Store) Notes() (string, error) { return s.read(Notes) }

// TakeNotes removes the lines of notes that [Store.Notes] gave, and leaves what came since.
func (s Store) TakeNotes(notes string) error {
	gone := map[string]int{}
	for line := range strings.Lines(notes) {
		gone[strings.TrimSpace(line)]++
	}
	return s.changeNotes(func(now string) (string, error) {
		var left strings.Builder
		for line := range strings.Lines(now) {
			if key := strings.TrimSpace(line); gone[key] > 0 {
				gone[key]--
				continue
			}
			left.WriteString(line)
		}
		return left.String(), nil
	})
}

// changeNotes changes the notes, one process after the other.
func (s Store) changeNotes(change func(string) (string, error)) error {
	if err := os.MkdirAll(s.own, 0o700); err != nil {
		return err
	}
	ctx, stop := briefly()
	defer stop()
	lock, err := filelock.Take(ctx, filepath.Join(s.own, "notes.lock"))
	if err != nil {
		return err
	}
	defer filelock.Close(lock)
	now, err := s.read(Notes)
	if err != nil {
		return err
	}
	next, err := change(now)
	if err != nil || next == now {
		return err
	}
	return s.write(Notes, next)
}

// Size is how many bytes a file has; ok is false if it is not there.
func (s Store) Size(name string) (n int64, ok bool) {
	info, err := os.Stat(s.Path(name))
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}
