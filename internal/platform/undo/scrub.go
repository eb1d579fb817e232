package undo

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// Scrubber says what must not stay in a journal.
type Scrubber struct {
	// Secret reports whether contents hold a secret. It is asked about each once.
	Secret func(data []byte) bool
	// Hide is a text without its secrets: the label of a turn, or where a link leads.
	Hide func(text string) string
	// Write takes out what was found. Otherwise it is only counted.
	Write bool
}

// Scrubbed is what was found in a journal.
type Scrubbed struct {
	Contents int // of files, that hold a secret
	Lines    int // of the journal, that do
}

// scrubbedFile is the file that lists which contents were taken out, a hash a line.
const scrubbedFile = "scrubbed"

// errScrubbed is why contents are not there.
var errScrubbed = errors.New("its contents were taken out of the journal, because a secret stood in them")

// Scrub finds secrets in the journal in dir, and takes them out: contents with a secret
// go as a whole, so that an undo leaves the files that had them as they are and says so.
// All others can be restored as before. A process that is killed meanwhile leaves a
// journal that is sound, and of which the next Scrub takes out the rest. While another
// process has the journal open nothing can be taken out.
func Scrub(ctx context.Context, dir string, s Scrubber) (found Scrubbed, err error) {
	if s.Write {
		unlock, err := alone(dir)
		if err != nil {
			return found, err
		}
		defer unlock()
	}
	if found.Lines, err = s.lines(dir); err != nil {
		return found, fmt.Errorf("look for secrets in the undo journal: %w", err)
	}
	kept := newStore(dir)
	stores := []*store{kept}
	if kept.plain != nil {
		stores = append(stores, kept.plain)
	}
	bad := map[string]bool{}
	for _, kept := range stores {
		if err := s.contents(ctx, kept, bad); err != nil {
			return found, fmt.Errorf("look for secrets in the undo journal: %w", err)
		}
	}
	if found.Contents = len(bad); !s.Write || found == (Scrubbed{}) {
		return found, nil
	}
	if err := drop(stores, bad); err != nil {
		return found, fmt.Errorf("take secrets out of the undo journal: %w", err)
	}
	return found, nil
}

// alone takes the journal for this process.
func alone(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "users"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the undo journal: %w", err)
	}
	ok, err := filelock.Try(f)
	if err == nil && !ok {
		err = errors.New("take secrets out of the undo journal: a session works in its folder; end it first")
	}
	if err != nil {
		_ = filelock.Close(f)
		return nil, err
	}
	return func() { _ = filelock.Close(f) }, nil
}

// lines counts the lines of the journal with a secret in a label or a link, and writes
// the journal without them.
func (s Scrubber) lines(dir string) (n int, err error) {
	name := linesFile(dir)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	for text := range bytes.Lines(data) {
		l, ok := parseLine(text)
		if !ok {
			continue // nobody reads it, and nobody can say what is in it
		}
		if !s.line(&l) {
			out.Write(append(bytes.TrimSuffix(text, []byte("\n")), '\n'))
			continue
		}
		n++
		b, err := json.Marshal(l)
		if err != nil {
			return n, err
		}
		out.Write(append(b, '\n'))
	}
	if n == 0 || !s.Write {
		return n, nil
	}
	return n, replaceFile(dir, "journal-", name, out.Bytes())
}

// line hides what is secret in a line, and reports whether something was.
func (s Scrubber) line(l *line) (changed bool) {
	hide := func(text *string) {
		if h := s.Hide(*text); h != *text {
			*text, changed = h, true
		}
	}
	hide(&l.Label)
	for i := range l.Changes {
		for _, state := range []*State{&l.Changes[i].Before, &l.Changes[i].After} {
			if state.Kind == "link" {
				hide(&state.Link)
			}
		}
	}
	return changed
}

// replaceFile puts data in the place of a file.
func replaceFile(dir, pattern, name string, data []byte) error {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// contents adds to bad the hashes of contents with a secret, and the paths of packs that
// cannot be read as such but hold one. Encrypted contents that cannot be read hold none
// that anybody can read.
func (s Scrubber) contents(ctx context.Context, kept *store, bad map[string]bool) error {
	if err := kept.box.open(); errors.Is(err, errNoKey) {
		return nil
	} else if err != nil {
		return err
	}
	return filepath.WalkDir(kept.objects(), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return skippable(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if filepath.Dir(name) != kept.packDir() {
			hash := filepath.Base(filepath.Dir(name)) + d.Name()
			data, err := os.ReadFile(name)
			if err == nil && s.bad(kept, data, hash) {
				bad[hash] = true
			}
			return err
		}
		if !strings.HasSuffix(name, ".pack") {
			return nil
		}
		return s.pack(ctx, kept, name, bad)
	})
}

// bad reports whether contents as they were written hold a secret. Encrypted ones that are
// damaged may: nothing can be restored from them, so they go where something is taken out.
func (s Scrubber) bad(kept *store, data []byte, hash string) bool {
	clear, whole := kept.box.reveal(data, hash)
	return s.Secret(clear) || s.Write && !whole && kept.box.path != ""
}

// pack looks into the contents of a pack, or, where its index cannot be read, into all
// of it: nothing can be restored from it then.
func (s Scrubber) pack(ctx context.Context, kept *store, name string, bad map[string]bool) error {
	entries, err := readIndex(indexOf(name))
	if err != nil {
		data, err := os.ReadFile(name)
		if err == nil && (s.Secret(data) || s.Write && kept.box.path != "") { // what is encrypted may be one
			bad[name] = true
		}
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := e.read(name)
		if err != nil {
			return err
		}
		hash := hex.EncodeToString(e.hash[:])
		if s.bad(kept, data, hash) {
			bad[hash] = true
		}
	}
	return nil
}

// drop removes contents, and says in the journal that they are gone, first.
func drop(stores []*store, bad map[string]bool) error {
	dir := stores[0].dir
	if err := stores[0].noteScrubbed(bad); err != nil {
		return err
	}
	// What is known of the tree says that these contents are kept.
	gone := []string{treeFile(dir)}
	for _, pattern := range []string{"journal-*", "tree-*", "scrubbed-*"} { // of killed processes
		left, _ := filepath.Glob(filepath.Join(globbed(dir), pattern))
		gone = append(gone, left...)
	}
	if err := removeAll(gone); err != nil {
		return err
	}
	for _, s := range stores {
		if err := s.drop(bad); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes files that may be gone already.
func removeAll(names []string) error {
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// drop removes contents, of which some may be packs that cannot be read as such.
func (s *store) drop(bad map[string]bool) error {
	var gone []string
	for hash := range bad {
		if isPack(hash) {
			gone = append(gone, indexOf(hash), hash)
		} else {
			gone = append(gone, s.object(hash))
		}
	}
	if err := removeAll(gone); err != nil {
		return err
	}
	for _, index := range s.indexes() {
		entries, err := readIndex(index)
		if err != nil {
			continue // looked into as a whole
		}
		var kept []packed
		for _, e := range entries {
			if !bad[hex.EncodeToString(e.hash[:])] {
				kept = append(kept, e)
			}
		}
		if len(kept) == len(entries) {
			continue
		}
		if err := s.repack(packOf(index), kept); err != nil {
			return err
		}
		if err := errors.Join(os.Remove(index), os.Remove(packOf(index))); err != nil {
			return err
		}
	}
	return nil
}

// isPack reports whether what holds a secret is the path of a pack, not a hash.
func isPack(hash string) bool { return strings.ContainsRune(hash, filepath.Separator) }

// noteScrubbed adds contents to those that were taken out.
func (s *store) noteScrubbed(bad map[string]bool) error {
	all := s.scrubbed()
	for hash := range bad {
		all[hash] = true
	}
	var list bytes.Buffer
	for hash := range all {
		if !isPack(hash) {
			list.WriteString(hash + "\n")
		}
	}
	return replaceFile(s.dir, "scrubbed-", filepath.Join(s.dir, scrubbedFile), list.Bytes())
}

// scrubbed are the hashes of contents that were taken out.
func (s *store) scrubbed() map[string]bool {
	data, _ := os.ReadFile(filepath.Join(s.dir, scrubbedFile)) // mostly there is none
	all := map[string]bool{}
	for hash := range strings.FieldsSeq(string(data)) {
		all[hash] = true
	}
	return all
}
