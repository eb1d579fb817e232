package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// ScrubOptions say where secrets are looked for: in one session, in those of the working
// directory's folder, or in all, those in the trash included.
type ScrubOptions struct {
	Session string
	All     bool
	Write   bool // take the secrets out
	// Sure is asked before they are taken out, with what was found; its error ends it.
	// Nil: it is sure.
	Sure func(ScrubReport) error
	// Found is told of each place as soon as it is looked into. Nil: nobody is.
	Found func(Secrets)
	// Failed is told why a session could not be freed of its secrets. Nil: nobody is.
	Failed func(error)
}

// Secrets are those of one session, or of one undo journal.
type Secrets struct {
	File    string
	ID      string // of the session; of a journal, its name
	Journal bool
	Kinds   map[string]int // how many of which kind
}

// ScrubReport is what was found, and what was taken out.
type ScrubReport struct {
	Looked        int       // sessions that were looked into
	Sessions      []Secrets // those with secrets
	Journals      []Secrets // undo journals with secrets
	Closed        int       // encrypted sessions that could not be read
	ClosedErr     error     // why the last of them could not
	JournalUnseen bool      // the session is encrypted, and does not say of which folder it is

	Rewritten       bool     // all sessions with secrets were gone through
	Cleaned         int      // those of which the secrets were taken out
	CleanedJournals []string // names of the journals
}

// Clean reports whether no secret was found.
func (r ScrubReport) Clean() bool { return len(r.Sessions)+len(r.Journals) == 0 }

// errStopped ends the rewriting of a session.
var errStopped = errors.New("stopped")

// Scrub looks for secrets in sessions and in what belongs to them, and takes them out if
// that is wanted. No copy with the secrets stays. A session of which a record could not be
// read any more stays as it is.
func (a *Archive) Scrub(ctx context.Context, o ScrubOptions) (ScrubReport, error) {
	files, err := a.files(ctx, o.Session, o.All)
	if err != nil {
		return ScrubReport{}, err
	}
	if o.All {
		trash, err := a.Trash(ctx)
		if err != nil {
			return ScrubReport{}, err
		}
		for _, t := range trash {
			files = append(files, t.Path)
		}
	}
	s := scrubber{archive: a, keys: a.keys(ctx)}
	if s.vault, err = a.Vault(); err != nil {
		return s.report, err
	}
	if err := s.look(ctx, files, o); err != nil {
		return s.report, err
	}
	journals, err := s.journals(ctx, files, o)
	if err != nil || s.report.Clean() || !o.Write {
		return s.report, err
	}
	if o.Sure != nil {
		if err := o.Sure(s.report); err != nil {
			return s.report, err
		}
	}
	if len(s.report.Sessions) > 0 {
		err = s.rewriteAll(ctx, o)
	}
	for _, journal := range journals {
		name := filepath.Base(journal)
		if _, jerr := bench.ScrubJournal(ctx, journal, s.ofJournal(nil, true)); jerr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, jerr))
			continue
		}
		s.report.CleanedJournals = append(s.report.CleanedJournals, name)
	}
	return s.report, err
}

// look looks into the sessions.
func (s *scrubber) look(ctx context.Context, files []string, o ScrubOptions) error {
	for _, file := range files {
		kinds, err := s.session(ctx, file)
		if err != nil && o.Session == "" && ctx.Err() == nil && sealed.Sealed(file) {
			s.report.Closed, s.report.ClosedErr = s.report.Closed+1, err // the others are looked into all the same
			continue
		}
		if err != nil {
			return err
		}
		s.report.Looked++
		if len(kinds) > 0 {
			s.report.Sessions = append(s.report.Sessions, s.found(o, Secrets{File: file, ID: trashID(file), Kinds: kinds}))
		}
	}
	return nil
}

// found tells of secrets, and gives them.
func (s *scrubber) found(o ScrubOptions, secrets Secrets) Secrets {
	if o.Found != nil {
		o.Found(secrets)
	}
	return secrets
}

// journals are the undo journals in which there are secrets, of those that belong to the
// folders of the sessions. The report says what is in them.
func (s *scrubber) journals(ctx context.Context, files []string, o ScrubOptions) ([]string, error) {
	dir := ""
	switch {
	case o.Session != "":
		info, err := index.Read(files[0])
		if err != nil {
			return nil, err
		}
		if dir = info.CWD; dir == "" { // it is encrypted
			s.report.JournalUnseen = true
			return nil, nil
		}
	case !o.All:
		var err error
		if dir, err = WorkDir(); err != nil {
			return nil, err
		}
	}
	all, err := bench.Journals(s.archive.paths.Data, dir)
	if err != nil {
		return nil, fmt.Errorf("look for undo journals: %w", err)
	}
	var dirty []string
	for _, journal := range all {
		kinds := map[string]int{}
		if _, err := bench.ScrubJournal(ctx, journal, s.ofJournal(kinds, false)); err != nil {
			return nil, err
		}
		if len(kinds) > 0 {
			dirty = append(dirty, journal)
			s.report.Journals = append(s.report.Journals, s.found(o, Secrets{File: journal, ID: filepath.Base(journal), Journal: true, Kinds: kinds}))
		}
	}
	return dirty, nil
}

// ofJournal finds secrets in an undo journal, and counts them in kinds if that is not nil.
func (s *scrubber) ofJournal(kinds map[string]int, write bool) bench.Scrubber {
	holds := func(text string) bool {
		found := s.vault.Report(text)
		for _, one := range found {
			if kinds != nil {
				kinds[one.Kind]++
			}
		}
		return len(found) > 0
	}
	return bench.Scrubber{
		Secret: func(data []byte) bool { return holds(string(data)) },
		Hide: func(text string) string {
			if !holds(text) {
				return text
			}
			return s.vault.Hide(text)
		},
		Write: write,
	}
}

// scrubber finds secrets in the files of sessions.
type scrubber struct {
	archive *Archive
	vault   *secret.Vault
	keys    place.Keys
	report  ScrubReport
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
		rest, whole, err := readLine(r, maxScrubLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		s.text(append(piece, rest...), records, found)
		for ; !whole && err == nil; piece = rest {
			// The rest of a line that is too long is text. Pieces overlap, so that a
			// secret between two of them is found.
			piece = rest[max(0, len(rest)-scrubOverlap):]
			if rest, whole, err = readLine(r, pieceSize); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			s.text(slices.Concat(piece, rest), false, found)
		}
	}
}

const (
	maxScrubLine = 64 << 20  // a longer line is looked through as text
	scrubOverlap = 128 << 10 // longer than a secret
)

// readLine reads up to the end of a line, or the given number of bytes. whole is that
// the line has ended.
func readLine(r *bufio.Reader, most int) (line []byte, whole bool, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, true, err
		}
		if len(line) >= most {
			return line, false, nil
		}
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
		return Explain(file, err)
	}
	err = store.Records(func(_ transcript.Ref, record []byte) error {
		s.text(record, true, found)
		return ctx.Err()
	})
	return errors.Join(err, store.Close())
}

// rewriteAll takes the secrets out of the sessions that have some.
func (s *scrubber) rewriteAll(ctx context.Context, o ScrubOptions) error {
	for _, dirty := range s.report.Sessions {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.rewrite(dirty.File); err != nil {
			if o.Failed != nil {
				o.Failed(Explain(dirty.File, err))
			}
			continue
		}
		s.report.Cleaned++
	}
	// The search index has copies of what was said. It is made again when needed.
	if err := s.archive.dropIndex(); err != nil {
		return err
	}
	s.report.Rewritten = true
	if left := len(s.report.Sessions) - s.report.Cleaned; left > 0 {
		return fmt.Errorf("secrets are still in %s; see above", prose.Count(left, "session"))
	}
	return nil
}

// rewrite takes the secrets out of a session and of what belongs to it.
func (s *scrubber) rewrite(file string) error {
	if strings.HasSuffix(file, ".draft") {
		return fmt.Errorf("session %s is a draft: continue it or delete it", file)
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
			if transcript.TooLong(record) {
				return transcript.ErrTooLong
			}
			hidden, err := hideRecord(s.vault, bytes.Clone(record))
			if err == nil && !yield(hidden) {
				err = errStopped
			}
			return err
		})
		if failed != nil && !errors.Is(failed, errStopped) {
			yield(nil) // which no store takes: the session stays as it was
		}
	})
	if failed != nil && !errors.Is(failed, errStopped) {
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
		line, whole, err := readLine(r, maxScrubLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !whole {
			if err := s.cleanLong(w, line, r); err != nil {
				return err
			}
			continue
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

// cleanLong takes the secrets out of a line that is too long for a record, as text.
func (s *scrubber) cleanLong(w io.Writer, line []byte, r *bufio.Reader) error {
	out := s.vault.Writer(w)
	for whole := false; ; {
		if _, err := out.Write(line); err != nil {
			return err
		}
		if whole {
			return out.Close()
		}
		var err error
		if line, whole, err = readLine(r, pieceSize); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}
