package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

type scrubOptions struct {
	choice
	write bool
}

func (p *program) sessionsScrubCommand() *cobra.Command {
	var o scrubOptions
	cmd := o.command(&cobra.Command{
		Use:   "scrub [ID]",
		Short: "Find secrets in sessions that were kept earlier, and take them out",
		Long: `Find tokens and passwords in sessions, in the outputs that belong to them, and in what was
kept of them when they were repaired. Without an id it looks at the sessions of this
folder; with --all at those of all folders and of the trash. Not looked into are pictures,
those of a condensed history among them, texts so large that they lie in blobs, and the
undo journal.

--write puts placeholders in their place. No copy with the secrets stays, so that this
cannot be taken back; a disk may still hold what files said before. A session of which a
record could not be read any more stays as it is. Change a secret that was found: who read
the session may have it.

  burin sessions scrub --all`,
	}, "sessions of all folders, and of the trash", func(ctx context.Context) error { return p.scrubSessions(ctx, o) })
	cmd.Flags().BoolVar(&o.write, "write", false, "take the secrets out")
	return cmd
}

// archiveOf is the archive with the session files that a command is about.
func (p *program) archiveOf(ctx context.Context, which string, all bool) (*archive, []string, error) {
	a, err := p.archive()
	if err != nil {
		return nil, nil, err
	}
	files, err := a.chosen(ctx, which, all)
	if err == nil && which != "" {
		err = inDatabase(files[0])
	}
	return a, files, err
}

// chosen are the session files that a command is about: one, those of this folder, or
// all, the drafts included.
func (a *archive) chosen(ctx context.Context, which string, all bool) ([]string, error) {
	if which != "" {
		if all {
			return nil, usage("--all and an id contradict each other")
		}
		file, err := a.find(ctx, which)
		return []string{file}, err
	}
	pattern := "*"
	if !all {
		dir, err := workDir()
		if err != nil {
			return nil, err
		}
		pattern = transcript.EncodeDir(dir)
	}
	entries, err := os.ReadDir(a.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for sessions: %w", err)
	}
	var files []string
	for _, d := range entries {
		if !d.IsDir() || pattern != "*" && d.Name() != pattern {
			continue
		}
		names, err := os.ReadDir(filepath.Join(a.root, d.Name()))
		if err != nil {
			return nil, fmt.Errorf("look for sessions: %w", err)
		}
		for _, e := range names {
			if e.Type().IsRegular() && isSession(e.Name()) {
				files = append(files, filepath.Join(a.root, d.Name(), e.Name()))
			}
		}
	}
	return files, nil
}

func (p *program) scrubSessions(ctx context.Context, o scrubOptions) error {
	a, files, err := p.archiveOf(ctx, o.which, o.all)
	if err != nil {
		return err
	}
	if o.all {
		trash, err := index.List(ctx, a.trash, index.ListOptions{})
		if err != nil {
			return err
		}
		for _, t := range trash {
			files = append(files, t.Path)
		}
	}
	vault, err := p.vault(a)
	if err != nil {
		return err
	}
	s := scrubber{program: p, vault: vault, keys: a.keys(ctx)}
	var dirty []string
	passed := 0
	var closed error // why the last of those could not be read
	for _, file := range files {
		found, err := s.session(ctx, file)
		if err != nil && o.which == "" && ctx.Err() == nil && sealed.Sealed(file) {
			passed, closed = passed+1, err // the others are looked into all the same
			continue
		}
		if err != nil {
			return err
		}
		if len(found) > 0 {
			dirty = append(dirty, file)
			fmt.Fprintf(p.out, "%s  %s\n", trashID(file), counts(found))
		}
	}
	if passed > 0 {
		fmt.Fprintf(p.err, "%s not looked into: %s\n", counted(passed, "encrypted session"), oneLine(closed))
	}
	looked := counted(len(files)-passed, "session")
	switch {
	case len(dirty) == 0:
		fmt.Fprintf(p.err, "no secrets were found in %s\n", looked)
		return nil
	case !o.write:
		fmt.Fprintf(p.err, "secrets in %d of %s; --write takes them out\n", len(dirty), looked)
		return nil
	}
	question := fmt.Sprintf("Put placeholders in place of these secrets in %s? No copy stays.", counted(len(dirty), "session"))
	if err := p.sure(ctx, o.yes, question); err != nil {
		return err
	}
	return s.rewriteAll(ctx, a, dirty)
}

// counts says how many secrets of which kind there are.
func counts(found map[string]int) string {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		words = append(words, fmt.Sprintf("%d %s", found[kind], kind))
	}
	return strings.Join(words, ", ")
}

// scrubber finds secrets in the files of sessions.
type scrubber struct {
	*program
	vault *secret.Vault
	keys  place.Keys
}

// belongings are the files of a session beside its own: its artifacts, and what was
// kept of it when it was repaired.
func belongings(file string) ([]string, error) {
	final := strings.TrimSuffix(file, ".draft")
	found, err := filepath.Glob(strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(final) + ".*")
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(found, func(f string) bool { return f == file || f == final+".draft" })
	err = filepath.WalkDir(transcript.ArtifactDir(file), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return files, err
}

// ofRecords reports whether a file that belongs to a session has records, as the session
// and what was kept of it have, and not the text of an artifact.
func ofRecords(session, file string) bool {
	return filepath.Dir(file) == filepath.Dir(session)
}

// session counts the secrets of a session by kind. It looks twice: what is known for a
// secret only late stood somewhere before.
func (s *scrubber) session(ctx context.Context, file string) (found map[string]int, err error) {
	more, err := belongings(file)
	if err != nil {
		return nil, fmt.Errorf("look for secrets: %w", err)
	}
	for range 2 {
		found = map[string]int{}
		for _, f := range append([]string{file}, more...) {
			if err := s.file(ctx, f, ofRecords(file, f), found); err != nil {
				return nil, fmt.Errorf("look for secrets: %w", err)
			}
		}
	}
	return found, nil
}

// pieceSize is how much of a file is looked at in one go; a piece ends with a line.
const pieceSize = 4 << 20

func (s *scrubber) file(ctx context.Context, file string, records bool, found map[string]int) error {
	if sealed.Sealed(file) {
		return s.sealed(ctx, file, found)
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece, err := io.ReadAll(io.LimitReader(r, pieceSize))
		if err != nil {
			return err
		}
		if len(piece) == 0 {
			return nil
		}
		rest, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		s.text(append(piece, rest...), records, found)
	}
}

// text counts the secrets of a text, which may be the records of a session.
func (s *scrubber) text(text []byte, records bool, found map[string]int) {
	if !records {
		for _, one := range s.vault.Report(string(text)) {
			found[one.Kind]++
		}
		return
	}
	for line := range bytes.Lines(text) {
		for _, one := range s.vault.ReportJSON(line) {
			found[one.Kind]++
		}
	}
}

// sealed looks into the records of an encrypted session.
func (s *scrubber) sealed(ctx context.Context, file string, found map[string]int) error {
	store, err := place.View(file, s.keys)
	if err != nil {
		return explain(file, err)
	}
	err = store.Records(func(_ transcript.Ref, record []byte) error {
		s.text(record, true, found)
		return ctx.Err()
	})
	return errors.Join(err, store.Close())
}

func (s *scrubber) rewriteAll(ctx context.Context, a *archive, files []string) error {
	done := 0
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.rewrite(file); err != nil {
			fmt.Fprintf(s.err, "burin: %s\n", oneLine(explain(file, err)))
			continue
		}
		done++
	}
	// The search index has copies of what was said. It is made again when needed.
	if err := a.dropIndex(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Took the secrets out of %s.\n", counted(done, "session"))
	if done < len(files) {
		return fmt.Errorf("secrets are still in %s; see above", counted(len(files)-done, "session"))
	}
	return nil
}

// rewrite takes the secrets out of a session and of what belongs to it.
func (s *scrubber) rewrite(file string) error {
	if strings.HasSuffix(file, ".draft") {
		return fmt.Errorf("session %s is a draft: go on with it, or delete it", file)
	}
	store, err := place.Store(file, s.keys)
	if err != nil {
		return err
	}
	before, err := belongings(file)
	if err == nil {
		err = s.replace(store)
	}
	if err != nil {
		return errors.Join(err, store.Close())
	}
	after, err := belongings(file)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	for _, f := range after {
		switch {
		case !slices.Contains(before, f): // the copy that Replace has kept
			err = os.Remove(f)
		case sealed.Sealed(f):
			err = s.removeSealed(f)
		default:
			err = s.clean(f, ofRecords(file, f))
		}
		if err != nil {
			return fmt.Errorf("take secrets out of %s: %w", f, err)
		}
	}
	return nil
}

// removeSealed removes an encrypted copy of a session if there are secrets in it.
func (s *scrubber) removeSealed(file string) error {
	found := map[string]int{}
	if err := s.sealed(context.Background(), file, found); err != nil || len(found) == 0 {
		return err
	}
	return os.Remove(file)
}

// replace puts the records of a session in its place, without secrets. If one of them
// cannot be hidden, the session stays as it was.
func (s *scrubber) replace(store transcript.Store) error {
	var failed error
	err := store.Replace(func(yield func([]byte) bool) {
		failed = store.Records(func(_ transcript.Ref, record []byte) error {
			hidden, err := hideRecord(s.vault, bytes.Clone(record))
			if err == nil && !yield(hidden) {
				err = errDeclined
			}
			return err
		})
		if failed != nil && !errors.Is(failed, errDeclined) {
			yield(nil) // which no store takes: the session stays as it was
		}
	})
	if failed != nil && !errors.Is(failed, errDeclined) {
		return failed
	}
	return err
}

// hideRecord is a record of a session without secrets. It is an error if it could not
// be read as the same entry any more: if a secret is the name of a field, for instance.
// What is no record, a damaged line, is hidden as text.
func hideRecord(v *secret.Vault, record []byte) ([]byte, error) {
	hidden := v.HideJSON(record)
	var was, is transcript.Entry
	if bytes.Equal(hidden, record) || json.Unmarshal(record, &was) != nil {
		return hidden, nil
	}
	if json.Unmarshal(hidden, &is) != nil || !sameEntry(&was, &is) {
		return nil, fmt.Errorf("a secret in entry %q cannot be hidden: it stands where burin needs what it says", was.ID)
	}
	return hidden, nil
}

// sameEntry reports whether two records have the same place in a session and are of the
// same kind.
func sameEntry(a, b *transcript.Entry) bool {
	parent := func(e *transcript.Entry) string {
		if e.ParentID == nil {
			return ""
		}
		return *e.ParentID
	}
	return a.Type == b.Type && a.ID == b.ID && parent(a) == parent(b) && (a.Message == nil) == (b.Message == nil) &&
		(a.Message == nil || a.Message.Role == b.Message.Role)
}

// clean takes the secrets out of a file beside a session, which may have records.
func (s *scrubber) clean(file string, records bool) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(file, true, func(w io.Writer) error {
		if records {
			return s.cleanRecords(w, in)
		}
		out := s.vault.Writer(w)
		_, err := io.Copy(out, in)
		return errors.Join(err, out.Close())
	})
}

func (s *scrubber) cleanRecords(w io.Writer, in io.Reader) error {
	for r := bufio.NewReader(in); ; {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		hidden, hideErr := hideRecord(s.vault, line)
		if hideErr != nil {
			return hideErr
		}
		if _, err := w.Write(hidden); err != nil {
			return err
		}
		if err != nil {
			return nil
		}
	}
}

// sealedSession reports whether nothing can be seen of a session.
func sealedSession(file string) bool {
	info, err := index.Read(file)
	return err == nil && info.Sealed
}
