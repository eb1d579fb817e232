package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/foreign"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// ImportOptions say what is imported.
type ImportOptions struct {
	Paths  []string       // files and folders
	Format foreign.Format // "": it is detected
	// Told is told of each conversation as soon as it is done. Nil: nobody is.
	Told func(Imported)
}

// ImportState says what became of a conversation of another program.
type ImportState string

const (
	Fresh     ImportState = "new"       // it is a session of its own
	Grown     ImportState = "grown"     // its session has taken in what was new
	Parted    ImportState = "parted"    // as Fresh, beside its session, which was gone on with here
	Unchanged ImportState = "unchanged" // its session had it all
	Failed    ImportState = "failed"    // it could not be read or kept
)

// Imported is what became of one conversation of another program.
type Imported struct {
	ID, File string // of the session; "" if it failed
	State    ImportState
	Report   foreign.Report // what could not be carried over; of a failure it may be empty
	Added    int            // entries, where it has grown
	Older    string         // the id of the session that it has parted from
	Err      error          // why it failed
}

// ImportReport is what was imported.
type ImportReport struct {
	Conversations []Imported // in the order in which they were met
}

// Count is how many conversations are in one of the states.
func (r ImportReport) Count(states ...ImportState) (n int) {
	for i := range r.Conversations {
		if slices.Contains(states, r.Conversations[i].State) {
			n++
		}
	}
	return n
}

// ImportSources are conversations of other programs on this machine.
func ImportSources() ([]foreign.Source, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find the home folder: %w", err)
	}
	return foreign.Default(home), nil
}

// Import brings conversations of other programs here. What cannot be read does not keep the
// rest out. A conversation that has grown since it was imported goes on in its session;
// where that has been gone on with here, it becomes a new one beside it. Secrets are
// hidden unless the settings say that nothing is.
func (a *Archive) Import(ctx context.Context, o ImportOptions) (ImportReport, error) {
	i := importer{archive: a, told: o.Told}
	var err error
	if i.dir, err = WorkDir(); err != nil {
		return i.report, err
	}
	if a.settings.Secrets.Enabled == nil || *a.settings.Secrets.Enabled {
		if i.vault, err = a.Vault(); err != nil {
			return i.report, err
		}
	}
	for _, path := range o.Paths {
		if err := i.path(ctx, path, o.Format); err != nil {
			return i.report, err
		}
	}
	return i.report, nil
}

// tell takes what became of a conversation into the report.
func (i *importer) tell(done Imported) {
	i.report.Conversations = append(i.report.Conversations, done)
	if i.told != nil {
		i.told(done)
	}
}

// importer writes conversations as sessions.
type importer struct {
	archive *Archive
	told    func(Imported)
	vault   *secret.Vault // nil: secrets are not hidden
	dir     string        // for conversations without a folder

	there  map[string]string // files of sessions by id; nil: nobody has looked
	report ImportReport
}

// path imports what is at a path. What cannot be read does not keep the rest out.
func (i *importer) path(ctx context.Context, path string, format foreign.Format) error {
	if _, err := os.Stat(path); err != nil {
		return usagef("import %s: no such file or folder", path)
	}
	for s, err := range foreign.Import(ctx, path, foreign.Options{Format: format}) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			i.tell(Imported{State: Failed, Err: err})
			continue
		}
		if s.Report.Messages == 0 {
			continue
		}
		records, err := i.records(s)
		if err != nil {
			i.tell(Imported{State: Failed, Report: s.Report, Err: err})
			continue
		}
		err = i.take(ctx, s, records)
		if errors.Is(err, errCompare) {
			i.tell(Imported{State: Failed, Report: s.Report, Err: err})
			continue
		}
		if err != nil {
			return fmt.Errorf("import %s: %w", s.Report.Source, err)
		}
	}
	return nil
}

// records are those of a conversation, without secrets.
func (i *importer) records(s *foreign.Session) ([][]byte, error) {
	if s.Header.CWD == "" {
		s.Header.CWD = i.dir
	}
	records, err := s.Records()
	for n := range records {
		if err != nil || i.vault == nil {
			break
		}
		records[n], err = hideRecord(i.vault, records[n])
	}
	return records, err
}

// errCompare is that a session of the same conversation is there and cannot be held against
// what is imported.
var errCompare = errors.New("it was imported before, and that session cannot be looked at")

// take keeps one conversation. A session that holds it all stays as it is; one that holds
// an earlier state and nothing of its own takes in what is new. Beside others it becomes a
// session of its own, whose header names the last of them.
func (i *importer) take(ctx context.Context, s *foreign.Session, records [][]byte) error {
	now, err := logOf(records)
	if err != nil {
		return err
	}
	id := sessionName(s.Header.ID)
	versions, free, err := i.versions(ctx, id)
	if err != nil {
		return err
	}
	older, grows := "", ""
	for _, v := range versions {
		l, _, err := i.archive.read(ctx, i.there[v])
		if errors.Is(err, transcript.ErrNotSession) && isDraft(i.there[v]) {
			if err := dropDraft(i.there[v]); err != nil {
				return err
			}
			delete(i.there, v)
			return i.take(ctx, s, records)
		}
		if err != nil {
			return fmt.Errorf("%w: session %s: %w", errCompare, v, Explain(i.there[v], err))
		}
		missing, own := compare(l, now)
		whole := !isDraft(i.there[v]) && !untitled(l, now)
		_ = l.Close() // it was only read
		switch {
		case len(missing) == 0 && (own || whole):
			i.tell(Imported{ID: v, File: i.there[v], State: Unchanged, Report: s.Report})
			return nil
		case own:
			older = v
		default:
			grows = v
		}
	}
	if grows != "" {
		return i.grow(ctx, grows, s, records, now)
	}
	if older == "" && free == id {
		return i.write(ctx, s, id, records, Imported{State: Fresh})
	}
	s.Header.ID = free
	done := Imported{State: Fresh}
	if older != "" {
		s.Header.ParentSession = older
		done = Imported{State: Parted, Older: older}
	}
	if records, err = i.records(s); err != nil {
		return err
	}
	return i.write(ctx, s, free, records, done)
}

// sessionName is an id as it can stand in the name of a file.
func sessionName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r < ' ' || strings.ContainsRune(`/\:*?"<>|[]`, r) {
			return '-'
		}
		return r
	}, id)
}

// versions are the sessions that have that id, alone or with a number behind it, and the
// first such id that is free.
func (i *importer) versions(ctx context.Context, id string) (there []string, free string, err error) {
	if i.there == nil {
		files, err := i.archive.chosen(ctx, "", true)
		if err != nil {
			return nil, "", err
		}
		i.there = map[string]string{}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".draft")
			id := strings.TrimSuffix(name[strings.LastIndexByte(name, '_')+1:], ".jsonl")
			if was := i.there[id]; was == "" || isDraft(was) {
				i.there[id] = file
			}
		}
	}
	free = id
	for n := 2; i.there[free] != ""; n++ {
		there = append(there, free)
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return there, free, nil
}

// isDraft reports whether a file is a draft: the import that wrote it did not end.
func isDraft(file string) bool { return strings.HasSuffix(file, ".draft") }

// dropDraft removes a draft in which there is nothing, unless a process is about to write it.
func dropDraft(file string) error {
	store, err := transcript.OpenFile(file)
	if err != nil {
		return Explain(file, err)
	}
	return errors.Join(store.Close(), os.Remove(file))
}

// logOf is a session of records.
func logOf(records [][]byte) (*transcript.Log, error) {
	store := new(transcript.Memory)
	if _, err := store.Append(records...); err != nil {
		return nil, err
	}
	l, _, err := transcript.Open(store, transcript.Options{})
	return l, err
}

// compare holds a session against what is imported now: the ids of the entries that it
// lacks, and whether it has some of its own. Ids follow from what entries say.
func compare(old, now *transcript.Log) (missing map[string]bool, own bool) {
	type place struct{ parent, typ string }
	places := func(nodes []transcript.Node) map[string]place {
		all := map[string]place{}
		for _, n := range nodes {
			p := place{typ: n.Type}
			if n.Parent >= 0 {
				p.parent = nodes[n.Parent].ID
			}
			all[n.ID] = p
		}
		return all
	}
	has, wants := places(old.Nodes()), places(now.Nodes())
	missing = map[string]bool{}
	for id := range wants {
		if _, ok := has[id]; !ok {
			missing[id] = true
		}
	}
	var times map[string]bool // at which the other program has written
	for id, p := range has {
		if other, ok := wants[id]; ok {
			own = own || other != p
			continue
		}
		if times == nil {
			times = timesOf(now)
		}
		e, err := old.Entry(id)
		own = own || err != nil || !aside(e) && !times[e.Timestamp]
	}
	return missing, own
}

// timesOf are the times of the entries of a conversation. What a session has of one of them
// was imported, as an answer of which there is more now; so was what has no time: burin
// writes one into all that is said here.
func timesOf(l *transcript.Log) map[string]bool {
	times := map[string]bool{"": true}
	for e, err := range l.All() {
		if err == nil {
			times[e.Timestamp] = true
		}
	}
	return times
}

// aside reports whether an entry says nothing in the conversation.
func aside(e *transcript.Entry) bool {
	return e.Type == transcript.TypeInfo || e.Type == transcript.TypeLabel || e.CustomType == transcript.CustomLeaf
}

// untitled reports whether a session lacks the title that the conversation has got.
func untitled(old, now *transcript.Log) bool { return old.Title() == "" && now.Title() != "" }

// grow adds to a session what the conversation has more than it.
func (i *importer) grow(ctx context.Context, id string, s *foreign.Session, records [][]byte, now *transcript.Log) (err error) {
	file := i.there[id]
	store, err := place.Store(file, i.archive.keys(ctx))
	if err != nil {
		return fmt.Errorf("%w: session %s: %w", errCompare, id, Explain(file, err))
	}
	l, _, err := transcript.Open(store, transcript.Options{})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	missing, own := compare(l, now)
	if own {
		return errors.Join(fmt.Errorf("%w: session %s has just changed", errCompare, id), store.Close())
	}
	var more [][]byte
	for n := range s.Entries {
		if missing[s.Entries[n].ID] {
			record := records[n+1]
			if !sealed.Sealed(file) {
				record = i.kept(record)
			}
			more = append(more, record)
		}
	}
	if len(more) > 0 {
		_, err = store.Append(more...)
	}
	if err != nil {
		return errors.Join(err, store.Close())
	}
	if d, ok := store.(place.Draft); ok {
		if err := d.Publish(); err != nil {
			return errors.Join(err, store.Close())
		}
		i.there[id] = strings.TrimSuffix(file, ".draft")
	}
	if l, _, err = transcript.Open(store, transcript.Options{}); err != nil {
		return errors.Join(err, store.Close())
	}
	// What was added last need not be what the other program is at.
	if l.Leaf() != now.Leaf() {
		err = l.Move(now.Leaf())
	}
	if untitled(l, now) {
		err = errors.Join(err, l.Rename(now.Title()))
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	i.tell(Imported{ID: id, File: i.there[id], State: Grown, Report: s.Report, Added: len(more)})
	return nil
}

// write keeps a conversation as a session of its own.
func (i *importer) write(ctx context.Context, s *foreign.Session, id string, records [][]byte, done Imported) error {
	at, err := time.Parse(time.RFC3339Nano, s.Header.Timestamp)
	if err != nil {
		at = time.Now()
	}
	path, _ := transcript.NewPath(i.archive.root, s.Header.CWD, at)
	name := filepath.Base(path)
	path = filepath.Join(filepath.Dir(path), name[:strings.LastIndexByte(name, '_')+1]+id+".jsonl")
	store, err := i.archive.newSession(ctx, path, "")
	if err != nil {
		return err
	}
	for _, r := range records {
		if _, err = store.Append(i.kept(r)); err != nil {
			break
		}
	}
	if err == nil {
		err = store.Publish()
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if at.Before(time.Now()) {
		_ = os.Chtimes(path, at, at) // it only decides the place in lists
	}
	i.there[id] = path
	done.ID, done.File, done.Report = id, path, s.Report
	i.tell(done)
	return nil
}

// kept is a record as it is kept: with large pictures and texts in blobs, unless it is
// encrypted. A disk that takes no blob may still take the record.
func (i *importer) kept(record []byte) []byte {
	if i.archive.settings.Sessions.Encrypt {
		return record
	}
	kept, err := transcript.OutsourceRecord(i.archive.blobs(), record)
	if err != nil {
		i.archive.warn(words.Error(err) + "; it stays in the session")
	}
	return kept
}
