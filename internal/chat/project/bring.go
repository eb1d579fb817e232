package project

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/chatfile"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Limits of an archive of an account.
const (
	maxArchiveFiles = 50_000
	maxArchiveBytes = 1 << 30  // of all that is in it, unpacked
	maxArchiveFile  = 64 << 20 // bytes of one file
	maxArchiveJSON  = 8 << 20  // bytes of settings
	maxArchiveSets  = 64 << 20 // bytes of the settings of all projects, which are in memory
	// A message may name an attachment many times, and many messages the same one.
	maxMessagePieces = 128 << 20           // bytes of the attachments of a message
	maxArchivePieces = 4 * maxArchiveBytes // and of all messages
)

// ErrArchive means that the archive of an account can't be imported. Nothing of it was.
var ErrArchive = errors.New("the archive can't be imported")

// Archive is what [Export] has written, looked through.
type Archive struct {
	Chats int // how many chats it has

	projects    []*archived
	attachments map[string]*zip.File // by their ids
	preferences *Preferences         // nil: there are none
	settings    int64                // bytes of what is in memory of projects
	held, read  int64                // bytes of attachments that were unpacked for a message, and for all
}

// archived is a project of an archive.
type archived struct {
	is    *Project // nil: its file hasn't come yet
	root  string   // of the files
	files []*zip.File
	chats []*zip.File          // what stands around them
	logs  map[string]*zip.File // by the names of chats
}

// IsArchive says whether a file means to be the archive of an account.
func IsArchive(data []byte) bool {
	if !bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.Count(data, []byte("PK\x01\x02")) > maxArchiveFiles {
		return false
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return bytes.Contains(data[:min(len(data), 200)], []byte("account.json")) // the first file of one that was cut off
	}
	for _, f := range z.File {
		if f.Name == "account.json" || strings.HasPrefix(f.Name, "projects/") && path.Base(f.Name) == "project.json" {
			return true
		}
	}
	return false
}

// OpenArchive looks through an archive: all of it is unpacked once, so that one that is damaged, too large, or has
// names that lead out of it is refused as a whole, with an [ErrArchive].
func OpenArchive(ctx context.Context, data []byte) (*Archive, error) {
	a := &Archive{attachments: map[string]*zip.File{}}
	if err := a.open(ctx, data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	return a, nil
}

func (a *Archive) open(ctx context.Context, data []byte) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	left, folders, seen := int64(maxArchiveBytes), map[string]*archived{}, map[string]bool{}
	for _, f := range z.File {
		err := cmp.Or(ctx.Err(), vfs.MayImport(f))
		if name := strings.TrimSuffix(f.Name, "/"); err == nil && seen[name] {
			err = errors.New("the name is there twice")
		} else {
			seen[name] = true
		}
		if err == nil {
			var n int64
			n, err = unpack(f, min(left, maxArchiveFile), io.Discard)
			left -= n
		}
		if err == nil {
			err = a.sort(f, folders)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
	}
	for _, p := range a.projects {
		if p.is == nil {
			return fmt.Errorf("%q has no project.json", path.Dir(p.root))
		}
		a.Chats += len(p.chats)
	}
	if len(a.projects) == 0 && a.preferences == nil {
		return errors.New("no project is in it")
	}
	return nil
}

// sort puts a file of the archive to what it belongs to. What isn't known is left out.
func (a *Archive) sort(f *zip.File, folders map[string]*archived) error {
	if f.Name == "preferences.json" {
		a.preferences = &Preferences{}
		if err := unpackJSON(f, a.preferences); err != nil {
			return err
		}
		return a.preferences.check()
	}
	parts := strings.SplitN(f.Name, "/", 4)
	if parts[0] == "attachments" && len(parts) == 2 {
		id, _, _ := strings.Cut(parts[1], ".")
		a.attachments[id] = f
	}
	shared := parts[0] == "shared" // chats in projects of others
	if parts[0] != "projects" && !shared || len(parts) < 3 || parts[1] == "" {
		return nil
	}
	folder := path.Join(parts[:2]...)
	p := folders[folder]
	if p == nil {
		p = &archived{root: path.Join(folder, "files"), logs: map[string]*zip.File{}}
		if shared {
			p.is = &Project{ID: defaultID("", 1), Unreadable: "shared"}
		}
		folders[folder], a.projects = p, append(a.projects, p)
	}
	switch {
	case shared && parts[2] != "chats":
	case parts[2] == "project.json" && len(parts) == 3:
		if a.settings += int64(f.UncompressedSize64); a.settings > maxArchiveSets {
			return fmt.Errorf("the settings of its projects are larger than %d MB", maxArchiveSets>>20)
		}
		p.is = &Project{}
		if err := unpackJSON(f, p.is); err != nil || p.is.Unreadable != "" {
			return err
		}
		return p.is.check()
	case parts[2] == "files" && len(parts) == 4 && parts[3] != "":
		p.files = append(p.files, f)
	case parts[2] == "chats" && len(parts) == 4 && strings.HasSuffix(parts[3], ".json"):
		if err := unpackJSON(f, &Chat{}); err != nil {
			return err
		}
		p.chats = append(p.chats, f)
	case parts[2] == "chats" && len(parts) == 4 && strings.HasSuffix(parts[3], ".jsonl"):
		p.logs[strings.TrimSuffix(parts[3], ".jsonl")] = f
	}
	return nil
}

// unpack unpacks a file, and no more of it than so many bytes.
func unpack(f *zip.File, most int64, to io.Writer) (int64, error) {
	if f.FileInfo().IsDir() {
		return 0, nil
	}
	r, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n, err := io.Copy(to, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it is too large: a file has at most %d MB, and all of them %d MB", maxArchiveFile>>20, maxArchiveBytes>>20)
	}
	return n, err
}

func unpackJSON(f *zip.File, v any) error {
	var b bytes.Buffer
	if _, err := unpack(f, maxArchiveJSON, &b); err != nil {
		return err
	}
	return json.Unmarshal(b.Bytes(), v)
}

// ImportArchive brings in the projects of an archive with their settings, files and chats, and what of the preferences isn't
// set yet. A project without an id is a new one. What was imported before, or comes from here, is left as it is: of a project come the chats and files that
// are missing. What was in the trash doesn't come. progress is told after each chat. If the error isn't nil, what came in
// before it stays, and is in the report.
func ImportArchive(ctx context.Context, s *Store, person string, a *Archive, progress func(done int)) (is Imported, err error) {
	is.Failures = []ImportFailure{}
	there, err := sources(ctx, s, person)
	if err != nil {
		return is, err
	}
	defer Changed(s, person)
	if a.preferences != nil {
		if err := importPreferences(ctx, s, person, a.preferences); err != nil {
			return is, err
		}
	}
	done := 0
	for _, p := range a.projects {
		if !p.is.Trashed.IsZero() {
			is.Trashed += len(p.chats)
			done += len(p.chats)
			continue
		}
		to, made, err := importProject(ctx, s, person, p.is)
		if err != nil {
			return is, fmt.Errorf("import the project %q: %w", p.is.Name, err)
		}
		is.Project = cmp.Or(is.Project, to)
		is.Projects += int(count(made))
		if err := importFiles(ctx, s, person, to, p, &is); err != nil {
			err = fmt.Errorf("import the files of %q: %w", p.is.Name, err)
			if p.is.ID == "" { // another try would make it once more
				kept := context.WithoutCancel(ctx)
				err = errors.Join(err, s.TrashProject(kept, person, to, true), s.PurgeProject(kept, person, to))
				is = Imported{}
			}
			return is, err
		}
		for _, chat := range p.chats {
			done++
			if err := a.importChat(ctx, s, person, to, p, chat, there, done, &is); err != nil {
				return is, err
			}
			progress(done)
		}
	}
	return is, nil
}

// importPreferences sets what isn't set yet.
func importPreferences(ctx context.Context, s *Store, person string, from *Preferences) error {
	_, err := SetPreferences(ctx, s, person, 0, func(p *Preferences) error {
		p.Instructions = cmp.Or(p.Instructions, from.Instructions)
		known := map[string]bool{}
		for _, one := range p.Prompts {
			known[one.Name] = true
		}
		for _, one := range from.Prompts {
			if !known[one.Name] {
				p.Prompts = append(p.Prompts, one)
			}
		}
		clear(known)
		for _, one := range p.Personas {
			known[one.Name] = true
		}
		for _, one := range from.Personas {
			if !known[one.Name] {
				p.Personas = append(p.Personas, one)
			}
		}
		return nil
	})
	if errors.Is(err, ErrUnreadable) {
		return nil // theirs stay as they are
	}
	return err
}

// importProject finds the project that one of an archive is, or makes it. One without an id, which [WriteProject] has
// written, is always made. A file doesn't let models do what a person would be asked about.
func importProject(ctx context.Context, s *Store, person string, from *Project) (id string, made bool, err error) {
	all, err := s.Projects(ctx, person, false)
	if err != nil {
		return "", false, err
	}
	source := chatfile.Burin + ":" + from.ID
	if from.Mode == "full" {
		from.Mode = standardMode
	}
	for _, p := range all {
		if p.owner == person && p.Unreadable == "" && (p.ID == from.ID || from.ID != "" && p.Source == source) {
			return p.ID, false, nil
		}
	}
	if strings.HasPrefix(from.ID, "chats-") { // the one for chats without a project, which each person has
		p, err := s.Default(ctx, person)
		if err == nil && p.Revision == 1 && from.Unreadable == "" {
			p, err = s.SetProject(ctx, person, p.ID, 0, func(set *Settings) error { *set = from.Settings; return nil })
		}
		return p.ID, false, err
	}
	settings := from.Settings
	settings.Name, settings.Source = cmp.Or(settings.Name, "Imported"), source
	if from.ID == "" {
		settings.Source = ""
	}
	p, err := s.NewProject(ctx, person, settings)
	return p.ID, err == nil, err
}

// importFiles writes the files that are missing.
func importFiles(ctx context.Context, s *Store, person, to string, p *archived, is *Imported) error {
	if len(p.files) == 0 {
		return nil
	}
	tree, err := s.Files(ctx, person, to)
	if err != nil {
		return err
	}
	tree = vfs.By(tree, vfs.Author{Who: vfs.Person, ID: person})
	for _, f := range p.files {
		name := strings.TrimPrefix(f.Name, p.root)
		if f.FileInfo().IsDir() {
			err = tree.Mkdir(ctx, strings.TrimSuffix(name, "/"))
			if err != nil && !errors.Is(err, vfs.DirExists) && !taken(err) {
				return err
			}
			continue
		}
		var data bytes.Buffer
		if _, err := unpack(f, maxArchiveFile, &data); err != nil {
			return err
		}
		switch _, err := tree.Write(ctx, name, data.Bytes(), vfs.Missing); {
		case taken(err):
		case err != nil:
			return err
		default:
			is.Files++
		}
	}
	return nil
}

// taken says that something else is where a file or folder of an archive would be, or where one above it would.
func taken(err error) bool {
	return errors.Is(err, vfs.FileExists) || errors.Is(err, vfs.NotFile) || errors.Is(err, vfs.NotDir)
}

// importChat keeps a chat of an archive; an error is only what ends the import.
func (a *Archive) importChat(ctx context.Context, s *Store, person, project string, p *archived, file *zip.File, there map[string]bool, n int, is *Imported) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var from Chat
	if err := unpackJSON(file, &from); err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.SplitN(file.Name, "/", 4)[3], ".json")
	source := chatfile.Burin + ":" + cmp.Or(from.ID, name)
	switch {
	case !from.Trashed.IsZero():
		is.Trashed++
		return nil
	case from.Temporary: // it would be gone within a day
		return nil
	case there[source], from.Source != "" && there[from.Source]:
		is.There++
		return nil
	}
	about := from.About
	about.Source, about.Origin, about.Entry, about.Cost, about.Seen = source, "", "", max(0, about.Cost), s.now()
	messages, omitted := 0, 0
	err := keepImported(ctx, s, person, project, about, from.Created, from.Modified, func(to Chat, created time.Time) error {
		log := p.logs[name]
		if log == nil {
			return nil // nothing was said
		}
		var err error
		messages, omitted, err = a.copyLog(ctx, s, person, to, log, created)
		return err
	})
	if err != nil && (store.Failed(err) || ctx.Err() != nil) {
		return err
	}
	if err != nil {
		is.count(n, &chatfile.Chat{Title: about.Title}, err)
		return nil
	}
	there[source] = true
	is.Chats, is.Messages, is.Omitted = is.Chats+1, is.Messages+messages, is.Omitted+omitted
	return nil
}

// Put implements [transcript.Pieces]. The attachments of an archive are only read.
func (a *Archive) Put([]byte) (string, error) { return "", errors.ErrUnsupported }

// Get implements [transcript.Pieces].
func (a *Archive) Get(id string) ([]byte, error) {
	f := a.attachments[id]
	if f == nil || a.heavy() != nil {
		return nil, transcript.ErrNoBlob
	}
	var b bytes.Buffer
	n, err := unpack(f, maxArchiveFile, &b)
	a.held, a.read = a.held+n, a.read+n
	return b.Bytes(), err
}

// heavy says that messages have more attachments than are unpacked for them.
func (a *Archive) heavy() error {
	if a.held > maxMessagePieces || a.read > maxArchivePieces {
		return fmt.Errorf("the attachments of a message are larger than %d MB, or those of all messages than %d GB", maxMessagePieces>>20, maxArchivePieces>>30)
	}
	return nil
}

// copyLog writes the transcript of a chat: messages with their thoughts, calls and pictures, on the branches that they have.
func (a *Archive) copyLog(ctx context.Context, s *Store, person string, to Chat, log *zip.File, created time.Time) (messages, omitted int, err error) {
	from, err := a.openLog(log)
	if err != nil {
		return 0, 0, err
	}
	defer from.Close()
	clock := created
	records := &transcript.Memory{}
	l, err := transcript.Create(records, transcript.Header{ID: to.ID}, transcript.Options{
		Now:   func() time.Time { return clock },
		Blobs: transcript.KeptBy(&kept{store: s, person: person, chat: to.ID}),
	})
	if err != nil {
		return 0, 0, err
	}
	ids := map[string]string{} // of the entry here at or above each one there
	a.held = 0
	for e, wrong := range from.All() {
		if err := cmp.Or(ctx.Err(), a.heavy()); err != nil {
			return 0, 0, err
		}
		a.held = 0
		if wrong != nil {
			omitted++
			continue
		}
		parent := ""
		if e.ParentID != nil {
			parent = ids[*e.ParentID]
		}
		ids[e.ID] = parent
		if e.Type != transcript.TypeMessage || e.Message == nil || !saying(e.Message.Role) {
			omitted += int(count(e.Type == transcript.TypeCompaction || e.Type == transcript.TypeBranchSummary))
			continue
		}
		if messages++; messages > chatfile.MaxMessages {
			return 0, 0, fmt.Errorf("it has more than %d messages", chatfile.MaxMessages)
		}
		clock = e.Time()
		if err := l.Move(parent); err != nil {
			return 0, 0, err
		}
		if ids[e.ID], err = l.Append(transcript.Entry{Type: transcript.TypeMessage, Message: e.Message}); err != nil {
			return 0, 0, err
		}
	}
	if err := errors.Join(l.Move(ids[from.Leaf()]), l.Close()); err != nil {
		return 0, 0, err
	}
	return messages, omitted, writeRecords(ctx, s, person, to, records)
}

func saying(role llm.Role) bool {
	return role == llm.RoleUser || role == llm.RoleAssistant || role == llm.RoleToolResult
}

// openLog reads a session of an archive.
func (a *Archive) openLog(f *zip.File) (*transcript.Log, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	records := &transcript.Memory{}
	lines := bufio.NewScanner(io.LimitReader(r, maxArchiveFile))
	lines.Buffer(nil, maxArchiveFile)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) > 0 {
			if _, err := records.Append(bytes.Clone(lines.Bytes())); err != nil {
				return nil, err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	l, _, err := transcript.Open(records, transcript.Options{Blobs: transcript.KeptBy(a)})
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the session is empty")
	}
	return l, err
}
