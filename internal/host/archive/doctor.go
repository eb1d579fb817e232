package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/host/sessionkey"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// DoctorOptions say what is examined: one session, those of the working directory's
// folder, or all, with what they share.
type DoctorOptions struct {
	Session string
	All     bool
	Fix     bool // repair what can be repaired
	// Delete is asked before pieces that nothing uses are deleted, which are named. Nil:
	// they stay.
	Delete func(pieces string) (bool, error)
	// Found is told of each finding as soon as it is made. Nil: nobody is.
	Found func(Finding)
}

// FindingKind says how much a finding matters.
type FindingKind string

const (
	Problem FindingKind = "problem"
	Note    FindingKind = "note" // something to know, of what is sound
)

// Finding is what an examination found.
type Finding struct {
	File     string // a session, or a folder of what belongs to sessions; "": the text names it
	Kind     FindingKind
	Text     string // what is found, on one line
	Repaired bool
	Err      error // why a problem could not be repaired; nil: nobody tried, or it was
}

// DoctorReport is what an examination found.
type DoctorReport struct {
	Sessions int // that were to be examined
	Closed   int // of them, those that nobody has the key of
	Findings []Finding
}

// Left is how many problems are not repaired.
func (r DoctorReport) Left() (n int) {
	for i := range r.Findings {
		if r.Findings[i].Kind == Problem && !r.Findings[i].Repaired {
			n++
		}
	}
	return n
}

// Doctor looks for damage in sessions, and repairs it if that is wanted. What it finds is
// no error. The file as it was is kept beside one that is repaired.
func (a *Archive) Doctor(ctx context.Context, o DoctorOptions) (DoctorReport, error) {
	files, err := examined(ctx, a, o.Session, o.All)
	if err != nil {
		return DoctorReport{}, err
	}
	d := doctor{archive: a, o: o, keys: a.keys(ctx), ids: map[string]string{}}
	d.report.Sessions = len(files)
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return d.report, err
		}
		if err := d.session(ctx, file); err != nil {
			return d.report, err
		}
	}
	if o.Session == "" {
		if err := d.orphans(files); err != nil {
			return d.report, err
		}
	}
	if o.All {
		err = d.blobs(ctx)
	}
	return d.report, err
}

// examined are the sessions that are looked at: the chosen ones, or all of a database.
func examined(ctx context.Context, a *Archive, which string, all bool) ([]string, error) {
	files, err := a.chosen(ctx, which, all)
	if err != nil || which == "" {
		return files, err
	}
	n := place.Parse(files[0])
	if !n.SQL || n.Session != "" {
		return files, nil
	}
	list, err := place.List(ctx, n.File)
	if err != nil {
		return nil, Explain(n.String(), err)
	}
	files = nil
	for _, l := range list {
		files = append(files, l.Name.String())
	}
	return files, nil
}

// doctor examines sessions.
type doctor struct {
	archive *Archive
	o       DoctorOptions
	keys    place.Keys
	ids     map[string]string // of sessions, and their files
	report  DoctorReport
}

// found reports a problem and repairs it, if that is wanted and possible.
func (d *doctor) found(what, problem string, fix func() error) {
	f := Finding{File: what, Kind: Problem, Text: problem}
	if d.o.Fix && fix != nil {
		if err := fix(); err != nil {
			f.Err = Explain(what, err)
		} else {
			f.Repaired = true
		}
	}
	d.tell(f)
}

// note reports what is no problem.
func (d *doctor) note(what, text string) { d.tell(Finding{File: what, Kind: Note, Text: text}) }

func (d *doctor) tell(f Finding) {
	d.report.Findings = append(d.report.Findings, f)
	if d.o.Found != nil {
		d.o.Found(f)
	}
}

// session examines one session file. What is no session is an error where it was asked for
// by name, and a problem among others.
func (d *doctor) session(ctx context.Context, file string) error {
	l, damage, err := d.archive.read(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it went meanwhile
	}
	if keyless, ok := errors.AsType[sessionkey.Error](err); ok {
		d.report.Closed++
		d.note(file, "it is encrypted, and not examined: "+words.Error(keyless))
		return nil
	}
	if errors.Is(err, sealed.ErrKey) {
		d.report.Closed++
		d.note(file, "it is encrypted with another key, and not examined")
		return nil
	}
	if err != nil && d.o.Session != "" {
		return Explain(file, err)
	}
	if err != nil {
		d.found(file, strings.TrimPrefix(words.Error(Explain(file, err)), "session "+file+": "), nil)
		return nil
	}
	unread := 0
	var lost []transcript.Lost
	for e, err := range l.All() {
		if err != nil {
			unread++
			continue
		}
		lost = append(lost, e.Lost...)
	}
	id := l.ID()
	_ = l.Close() // it was only read
	if strings.HasSuffix(file, ".draft") {
		d.draft(file)
	}
	if other, ok := d.ids[id]; ok {
		d.found(file, "it has the id of "+words.ShortPath(other)+": delete one of them", nil)
	}
	d.ids[id] = file
	var repair func() error
	if !strings.HasSuffix(file, ".draft") && !place.Parse(file).SQL { // what a repair leaves out stays in a copy, and a database has no place for one
		repair = func() error { return mend(file, d.keys) }
	}
	switch {
	case damage.Serious():
		d.found(file, damage.String(), repair)
	case damage.Newer > 0:
		d.note(file, fmt.Sprintf("a newer program wrote it (version %d); what is new in it is kept", damage.Newer))
	case damage.Torn:
		d.note(file, damage.String()+", as after a crash; nothing that was kept is lost")
	}
	if unread > 0 && !damage.Serious() { // a repair leaves them out as well
		d.found(file, "cannot be read, and left out: "+prose.Count(unread, "message"), nil)
	}
	d.lost(file, lost)
	return nil
}

// maxLost is how many lost pieces of a session are told of one by one.
const maxLost = 20

// lost tells of large pieces that are not there any more, or damaged. Nothing is there to
// repair them with; the session can be gone on with.
func (d *doctor) lost(file string, lost []transcript.Lost) {
	for i, p := range lost {
		if i == maxLost {
			d.found(file, fmt.Sprintf("%d further large pieces are like that", len(lost)-i), nil)
			return
		}
		blob := words.ShortPath(d.archive.blobs().Path(p.Ref))
		left := blob + " is gone"
		switch {
		case p.Size > 0:
			left = fmt.Sprintf("of %s only %d bytes are left", blob, p.Size)
		case !errors.Is(p.Err, transcript.ErrNoBlob):
			left = "look at " + blob
		}
		d.found(file, fmt.Sprintf("the %s of entry %s %s: %s; a copy of that file, put there again, brings it back", p.What, p.EntryID, p.Why(), left), nil)
	}
}

// draft says what a draft is there for. It is no damage.
func (d *doctor) draft(file string) {
	store, err := transcript.OpenFileReadOnly(file)
	if err != nil {
		return // it was published meanwhile
	}
	_ = store.Close() // it was only read
	info, err := os.Stat(file)
	if err == nil && time.Since(info.ModTime()) > time.Minute {
		d.note(file, "a draft that no model has answered; --continue or --session continues it, burin sessions delete removes it")
	}
}

// mend rewrites a session without what cannot be read in it. The file as it was is
// kept beside it.
func mend(file string, keys place.Keys) error {
	store, err := place.Store(file, keys)
	if err != nil {
		return err
	}
	l, _, err := transcript.Open(store, transcript.Options{})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	head, err := l.HeaderRecord()
	if err == nil {
		err = store.Replace(mended(head, l))
	}
	return errors.Join(err, store.Close())
}

// mended are the records of a session as a tree without gaps.
func mended(head []byte, l *transcript.Log) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !yield(head) {
			return
		}
		nodes := l.Nodes()
		behind := map[string]*string{} // what stands in the place of parents that are left out
		at := -1
		for e, err := range l.All() {
			if at++; err != nil { // it is in the file as it was
				var parent *string
				if p := nodes[at].Parent; p >= 0 {
					parent = survivor(behind, &nodes[p].ID)
				}
				behind[nodes[at].ID] = parent
				continue
			}
			e.ParentID = survivor(behind, e.ParentID)
			record, err := inPlace(e)
			if err == nil && !yield(record) {
				return
			}
		}
	}
}

// survivor is the parent that an entry has once others are left out.
func survivor(behind map[string]*string, parent *string) *string {
	if parent == nil {
		return nil
	}
	if other, out := behind[*parent]; out {
		return other
	}
	return parent
}

// inPlace is the record of an entry with its place in the tree.
func inPlace(e *transcript.Entry) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Raw, &fields); err != nil {
		return nil, err
	}
	var was string
	_ = json.Unmarshal(fields["parentId"], &was) // null and nothing are ""
	parent := ""
	if e.ParentID != nil {
		parent = *e.ParentID
	}
	if _, there := fields["parentId"]; there && was == parent && fields["id"] != nil {
		return e.Raw, nil
	}
	for key, value := range map[string]any{"id": e.ID, "parentId": e.ParentID} {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[key] = raw
	}
	return json.Marshal(fields)
}

// orphans looks for outputs whose session is gone, and for what a rewriting that
// broke off has left, in the folders of files.
func (d *doctor) orphans(files []string) error {
	dirs := map[string]bool{}
	for _, f := range files {
		dirs[filepath.Dir(f)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("look for outputs without a session: %w", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !e.IsDir() || slices.ContainsFunc([]string{".jsonl", ".jsonl.draft"}, func(s string) bool { return exists(path + s) }) {
				continue
			}
			d.found(path, "outputs that belong to no session", func() error { return d.toTrash(path) })
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// toTrash moves a folder to the trash.
func (d *doctor) toTrash(path string) error {
	dir := filepath.Join(d.archive.trash, "outputs-"+time.Now().UTC().Format("20060102T150405.000"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Rename(path, filepath.Join(dir, filepath.Base(path)))
}

// blobs looks for large pieces that nothing refers to.
func (d *doctor) blobs(ctx context.Context) error {
	store := d.archive.blobs()
	report, err := store.Collect(ctx, d.roots(), transcript.CollectOptions{DryRun: true, Open: d.sealedRoot})
	if err != nil {
		return err
	}
	for _, err := range report.Blocked {
		d.tell(Finding{Kind: Problem, Text: words.Error(err) + "; no unused piece can be told while it is so"})
	}
	if len(report.Blocked) > 0 || report.Removed == 0 {
		return nil
	}
	problem := fmt.Sprintf("large pieces that no session uses: %d of %d (%d KB)", report.Removed, report.Blobs, (report.RemovedBytes+1023)/1024)
	var fix func() error
	if d.o.Fix && d.o.Delete != nil {
		ok, err := d.o.Delete(problem)
		if err != nil {
			return err
		}
		if ok {
			fix = func() error {
				r, err := store.Collect(ctx, d.roots(), transcript.CollectOptions{Open: d.sealedRoot})
				return errors.Join(append([]error{err}, r.Blocked...)...)
			}
		}
	}
	d.found(filepath.Join(d.archive.paths.Data, "blobs"), problem, fix)
	return nil
}

// sealedRoot opens an encrypted file that may refer to blobs.
func (d *doctor) sealedRoot(file string) (transcript.Store, error) {
	if !sealed.Sealed(file) {
		return nil, nil
	}
	return place.View(file, d.keys)
}

// roots are all files that may refer to blobs: sessions, drafts, what was kept of
// them, those of sub-agents, and those in the trash, wherever sessions are kept, also
// behind links. What cannot be followed is given as an error: there may be sessions.
func (d *doctor) roots() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		w := rootWalk{yield: yield, seen: map[string]bool{}}
		for _, place := range []string{d.archive.root, filepath.Join(d.archive.paths.Data, "sessions"), d.archive.trash} {
			if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !w.follow(place) {
				return
			}
		}
	}
}

// rootWalk goes through folders of sessions once each.
type rootWalk struct {
	yield func(string, error) bool
	seen  map[string]bool // folders, by where they are without links
}

// follow walks through what path leads to. Like yield it reports whether to go on.
func (w *rootWalk) follow(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return w.yield(path, err)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return w.yield(path, err)
	case !info.IsDir():
		return w.file(path, info.Mode())
	case w.seen[real]:
		return true
	}
	w.seen[real] = true
	entries, err := os.ReadDir(real)
	if err != nil && !w.yield(path, err) {
		return false
	}
	for _, e := range entries {
		in := filepath.Join(path, e.Name())
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			if !w.follow(in) {
				return false
			}
		} else if !w.file(in, e.Type()) {
			return false
		}
	}
	return true
}

// file gives a file that is called as sessions are.
func (w *rootWalk) file(path string, mode fs.FileMode) bool {
	switch {
	case !strings.Contains(filepath.Base(path), ".jsonl"):
		return true
	case !mode.IsRegular():
		return w.yield(path, errors.New("not a file; its contents are unknown"))
	}
	return w.yield(path, nil)
}
