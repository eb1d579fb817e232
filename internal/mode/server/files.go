package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/session/remote"
)

// File is a file or folder of a project.
type File struct {
	Path     string    `json:"path"`
	Kind     string    `json:"kind"` // file or folder
	Size     int64     `json:"size"`
	MIME     string    `json:"mime"`
	Version  int64     `json:"version,omitempty"` // of a file: the current one
	Oldest   int64     `json:"oldest,omitempty"`  // of a file: the oldest that is kept
	Created  time.Time `json:"created,omitzero"`
	Modified time.Time `json:"modified,omitzero"`
	Deleted  bool      `json:"deleted,omitempty"` // itself, or a folder above it
	ETag     string    `json:"etag,omitempty"`    // of a file, as in the head of an answer
}

// FileList is what is in a folder.
type FileList struct {
	Revision int64  `json:"revision"` // of all files; it grows with each change
	Files    []File `json:"files"`    // by path
	More     int    `json:"more,omitempty"`
	Next     string `json:"next,omitempty"` // if there are more: they come after this path
}

// FileVersion is a version of a file.
type FileVersion struct {
	Version  int64     `json:"version"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	By       string    `json:"by,omitempty"`   // person or model; "": it was not kept
	Chat     string    `json:"chat,omitempty"` // of yours, in which the model wrote it
	Name     string    `json:"name,omitempty"` // of somebody else who wrote it, or whose model did
}

// Orphan is a file that another one took the place of. Its path is where it was.
type Orphan struct {
	ID       int64     `json:"id"`
	Orphaned time.Time `json:"orphaned"`
	File
}

// FilesUsage is what the files of a project take, with old versions and what is deleted.
type FilesUsage struct {
	Files       int   `json:"files"` // and folders
	Bytes       int64 `json:"bytes"`
	MaxFiles    int   `json:"maxFiles"`
	MaxBytes    int64 `json:"maxBytes"`
	MaxFile     int64 `json:"maxFile"` // bytes of a file
	MaxVersions int   `json:"maxVersions"`
}

// FilesImported is what an archive had.
type FilesImported struct {
	Files   int   `json:"files"`
	Folders int   `json:"folders"`
	Bytes   int64 `json:"bytes"`
}

// Bodies of changes.
type (
	// FilePath names a file or folder.
	FilePath struct {
		Path string `json:"path"`
	}
	// MovedFile says where a file or folder moves.
	MovedFile struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	// OldVersion names a version of a file.
	OldVersion struct {
		Path    string `json:"path"`
		Version int64  `json:"version"`
	}
	// KeptVersions says how many versions of a file are kept.
	KeptVersions struct {
		Path string `json:"path"`
		Keep int    `json:"keep"` // with the current one
	}
	// OrphanPath says where an orphan is put.
	OrphanPath struct {
		ID int64  `json:"id"`
		To string `json:"to"`
	}
	// OrphanID names an orphan.
	OrphanID struct {
		ID int64 `json:"id"`
	}
)

const (
	maxFileChange  = 64 << 10 // bytes of the body of a change
	maxFilesListed = 10_000
	filesListed    = 1000 // unless the client says how many
)

// fileRoutes are the operations on the files of projects.
func (s *Server) fileRoutes() []route {
	const at = "/v1/projects/{id}"
	oneFile := reflect.TypeFor[File]()
	name, folder := parameter{"path", "of the file"}, parameter{"path", "of the folder. Without it /"}
	all := []route{
		{
			verb: "GET", path: at + "/files", needs: remote.Watch,
			about: "Lists what is in a folder, by path. If-None-Match with the ETag of an answer gets 304 while nothing in the project has changed.",
			query: []parameter{
				folder,
				{"recursive", "true: with what is in the folders in it"},
				{"deleted", "true: with what is deleted"},
				{"after", "only what comes after this path"},
				{"limit", "how many at most, up to 10000. Without it 1000"},
			},
			out: reflect.TypeFor[FileList](), serve: s.onFiles(listFiles),
		},
		{
			verb: "GET", path: at + "/file", needs: remote.Watch, about: "Gives the content of a file, or ranges of it.",
			query: []parameter{name, {"version", "an older one, also of a deleted file"}, {"inline", "true: a text or picture is to be shown, not saved"}},
			gives: "application/octet-stream", serve: s.onFiles(getFile),
		},
		{
			verb: "PUT", path: at + "/file", needs: remote.Steer,
			about: "Writes a file, and makes folders above it. If-Match with its ETag, and If-None-Match: * for a new file, get 412 if it is another one.",
			query: []parameter{name}, takes: "application/octet-stream", most: vfs.MaxFile, out: oneFile, created: true, serve: s.onFiles(putFile),
		},
		{
			verb: "DELETE", path: at + "/file", needs: remote.Steer, about: "Deletes a file or folder, which can be restored. If-Match with its ETag gets 412 if it is another one.",
			query: []parameter{
				{"path", "of the file or folder"},
				{"recursive", "true: a folder with what is in it"},
				{"purge", "true: removes what is deleted for good"},
			},
			serve: s.onFiles(deleteFile),
		},
		{
			verb: "GET", path: at + "/files/versions", needs: remote.Watch, about: "Lists what is kept of a file, newest first.",
			query: []parameter{name}, out: reflect.TypeFor[[]FileVersion](), serve: s.onFiles(fileVersions(s)),
		},
		{
			verb: "GET", path: at + "/files/diff", needs: remote.Watch, about: "Compares two versions of a text, as a unified diff.",
			query: []parameter{name, {"from", "a version"}, {"to", "a version"}}, gives: "text/plain", serve: s.onFiles(diffFile),
		},
		{
			verb: "GET", path: at + "/files/orphans", needs: remote.Watch, about: "Lists files that others took the place of, newest first.",
			out: reflect.TypeFor[[]Orphan](), serve: s.onFiles(orphans),
		},
		{
			verb: "GET", path: at + "/files/usage", needs: remote.Watch, about: "Says what the files take, and the limits.",
			out: reflect.TypeFor[FilesUsage](), serve: s.onFiles(filesUsage),
		},
		{
			verb: "GET", path: at + "/files/export", needs: remote.Watch, about: "Gives what is in a folder as a ZIP archive.",
			query: []parameter{folder}, gives: "application/zip", serve: s.onFiles(s.exportFiles),
		},
		{
			verb: "POST", path: at + "/files/import", needs: remote.Steer, about: "Unpacks a ZIP archive into a folder.",
			query: []parameter{folder}, takes: "application/zip", most: maxArchive, out: reflect.TypeFor[FilesImported](), serve: s.onFiles(importFiles()),
		},
	}
	change := func(name, about string, in, out reflect.Type, serve http.HandlerFunc) {
		all = append(all, route{verb: "POST", path: at + "/files/" + name, needs: remote.Steer, about: about, in: in, most: maxFileChange, out: out, serve: serve})
	}
	path := reflect.TypeFor[FilePath]()
	change("mkdir", "Makes a folder, with those above it.", path, oneFile, changeFiles(s, func(ctx context.Context, t *vfs.Tree, b FilePath) (string, error) {
		return b.Path, t.Mkdir(ctx, b.Path)
	}))
	change("rename", "Moves a file or folder to a place where nothing is, and makes folders above it.", reflect.TypeFor[MovedFile](), oneFile, changeFiles(s, func(ctx context.Context, t *vfs.Tree, b MovedFile) (string, error) {
		return b.To, t.Rename(ctx, b.From, b.To)
	}))
	change("restore", "Restores what is deleted, with what was deleted together with it.", path, oneFile, changeFiles(s, func(ctx context.Context, t *vfs.Tree, b FilePath) (string, error) {
		return b.Path, t.Restore(ctx, b.Path)
	}))
	change("rollback", "Writes what a file held in a version as a new version.", reflect.TypeFor[OldVersion](), oneFile, changeFiles(s, func(ctx context.Context, t *vfs.Tree, b OldVersion) (string, error) {
		_, err := t.RollBack(ctx, b.Path, b.Version)
		return b.Path, err
	}))
	change("drop_versions", "Removes old versions of a file for good.", reflect.TypeFor[KeptVersions](), oneFile, changeFiles(s, func(ctx context.Context, t *vfs.Tree, b KeptVersions) (string, error) {
		if b.Keep < 1 {
			return "", fmt.Errorf("%w: keep: must be 1 or more, as the current version is kept", remote.ErrParameters)
		}
		return b.Path, t.DropVersions(ctx, b.Path, b.Keep)
	}))
	change("empty_trash", "Removes for good what is deleted in a folder and in the folders in it, and the orphans that were there.", path, nil, changeFiles(s, func(ctx context.Context, t *vfs.Tree, b FilePath) (string, error) {
		return "", t.PurgeAll(ctx, b.Path)
	}))
	change("restore_orphan", "Puts an orphan at a path where nothing is.", reflect.TypeFor[OrphanPath](), oneFile, changeFiles(s, func(ctx context.Context, t *vfs.Tree, b OrphanPath) (string, error) {
		return b.To, t.RestoreOrphan(ctx, b.ID, b.To)
	}))
	change("purge_orphan", "Removes an orphan for good.", reflect.TypeFor[OrphanID](), nil, changeFiles(s, func(ctx context.Context, t *vfs.Tree, b OrphanID) (string, error) {
		return "", t.PurgeOrphan(ctx, b.ID)
	}))
	return all
}

// onFiles serves a request about the files of a project.
func (s *Server) onFiles(serve func(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t, err := s.o.Projects.Files(r.Context(), person(r), r.PathValue("id"))
		var q query
		if err == nil {
			t = vfs.By(t, vfs.Author{Who: vfs.Person, ID: person(r)})
			q, err = queryOf(r)
		}
		if err == nil {
			err = serve(w, r, t, q)
		}
		if err != nil {
			failed(w, err)
		}
	}
}

// changeFiles serves a change that the body describes. do gives the path that the answer tells of;
// "" is none.
func changeFiles[T any](s *Server, do func(ctx context.Context, t *vfs.Tree, body T) (path string, err error)) http.HandlerFunc {
	return s.onFiles(func(w http.ResponseWriter, r *http.Request, t *vfs.Tree, _ query) error {
		var raw json.RawMessage
		if !read(w, r, &raw) {
			return nil
		}
		var body T
		strict := json.NewDecoder(bytes.NewReader(raw))
		strict.DisallowUnknownFields()
		if !utf8.Valid(raw) {
			return fmt.Errorf("%w: the body is not UTF-8", remote.ErrParameters)
		}
		if err := strict.Decode(&body); err != nil {
			return fmt.Errorf("%w: %w", remote.ErrParameters, err)
		}
		for f, v := range reflect.ValueOf(body).Fields() {
			if v.Kind() == reflect.String && v.IsZero() {
				return fmt.Errorf("%w: %s: it is missing", remote.ErrParameters, f.Tag.Get("json"))
			}
		}
		path, err := do(r.Context(), t, body)
		if err != nil {
			return err
		}
		if path == "" {
			answer(w, http.StatusOK, struct{}{})
			return nil
		}
		info, err := t.Peek(r.Context(), path)
		if err != nil {
			return err
		}
		answer(w, http.StatusOK, fileOf(info))
		return nil
	})
}

// query is what a request about files asks for.
type query struct{ url.Values }

// queryOf reads the query. What is written in a wrong way must not be taken for the root folder.
func queryOf(r *http.Request) (query, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query{}, fmt.Errorf("%w: %w", remote.ErrParameters, err)
	}
	for name, values := range q {
		if len(values) > 1 {
			return query{}, fmt.Errorf("%w: %.40q: it is given twice", remote.ErrParameters, name)
		}
	}
	return query{q}, nil
}

// path is that of a file.
func (q query) path() (string, error) {
	if q.Get("path") == "" {
		return "", fmt.Errorf("%w: path: it is missing", remote.ErrParameters)
	}
	return q.Get("path"), nil
}

func (q query) truth(name string) (bool, error) {
	switch q.Get(name) {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fmt.Errorf("%w: %s: %.40q is not true or false", remote.ErrParameters, name, q.Get(name))
}

// number is one from 1 to most; 0: it isn't given.
func (q query) number(name string, most int64) (int64, error) {
	if !q.Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%w: %s: %.40q is not a number from 1 to %d", remote.ErrParameters, name, q.Get(name), most)
	}
	return n, nil
}

// statusOfFiles is the status of an error of files; 0: it is of something else.
func statusOfFiles(err error) (status int, code string) {
	c, known := errors.AsType[vfs.Code](err)
	if errors.Is(err, vfs.ErrArchive) {
		if c == vfs.Limit {
			return http.StatusRequestEntityTooLarge, string(c)
		}
		return http.StatusUnprocessableEntity, "archive"
	}
	switch {
	case errors.Is(err, quota.ErrStorage):
		return http.StatusInsufficientStorage, "storage"
	case errors.Is(err, vfs.ErrProject):
		return http.StatusNotFound, ""
	case errors.Is(err, vfs.ErrUnreadable):
		return http.StatusInternalServerError, "unreadable"
	case !known:
		return 0, ""
	}
	switch c {
	case vfs.NotFound, vfs.Deleted:
		status = http.StatusNotFound
	case vfs.Changed:
		status = http.StatusPreconditionFailed
	case vfs.InvalidPath:
		status = http.StatusBadRequest
	case vfs.Limit:
		status = http.StatusInsufficientStorage
	case vfs.Binary:
		status = http.StatusUnprocessableEntity
	default:
		status = http.StatusConflict
	}
	return status, string(c)
}

func fileOf(i vfs.Info) File {
	f := File{Path: i.Path, Kind: "file", Size: i.Size, MIME: i.MIME, Version: i.Version, Oldest: i.Oldest, Created: i.Created.UTC(), Modified: i.Modified.UTC(), Deleted: i.Deleted}
	if i.Dir {
		f.Kind = "folder"
	} else {
		f.ETag = etagOf(i, i.Version)
	}
	if i.Path == "/" { // nobody made it
		f.Created, f.Modified = time.Time{}, time.Time{}
	}
	return f
}

// etagOf is of a version of a file. Another file with the same name may have a version with the
// same number.
func etagOf(i vfs.Info, version int64) string { return fmt.Sprintf(`"%d.%d"`, i.ID, version) }

// fits reports whether one of the tags of If-Match or If-None-Match is a tag.
func fits(tags, tag string) bool {
	for one := range strings.SplitSeq(tags, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

func listFiles(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
	deleted, err := q.truth("deleted")
	recursive, err2 := q.truth("recursive")
	limit, err3 := q.number("limit", maxFilesListed)
	if err := cmp.Or(err, err2, err3); err != nil {
		return err
	}
	if limit == 0 {
		limit = filesListed
	}
	revision, err := t.Revision(r.Context()) // before the list, which may be newer
	if err != nil {
		return err
	}
	tag := fmt.Sprintf(`"%d"`, revision)
	if fits(r.Header.Get("If-None-Match"), tag) {
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	list := t.List
	if recursive {
		list = t.Walk
	}
	all, err := list(r.Context(), q.Get("path"), deleted)
	if err != nil {
		return err
	}
	byPath := func(a, b vfs.Info) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(all, byPath)
	if after := q.Get("after"); after != "" {
		i, there := slices.BinarySearchFunc(all, vfs.Info{Path: after}, byPath)
		if there {
			i++
		}
		all = all[i:]
	}
	l := FileList{Revision: revision, Files: []File{}}
	if l.More = max(0, len(all)-int(limit)); l.More > 0 {
		all = all[:limit]
		l.Next = all[limit-1].Path
	}
	for _, info := range all {
		l.Files = append(l.Files, fileOf(info))
	}
	w.Header().Set("ETag", tag)
	answer(w, http.StatusOK, l)
	return nil
}

func deleteFile(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
	name, err := q.path()
	recursive, err2 := q.truth("recursive")
	purge, err3 := q.truth("purge")
	if err := cmp.Or(err, err2, err3); err != nil {
		return err
	}
	want := r.Header.Get("If-Match")
	info, looked := t.Peek(r.Context(), name)
	switch { // a folder has no tag: only * fits
	case want != "" && (looked != nil || info.Deleted != purge || !fits(want, etagOf(info, info.Version)) || info.Dir && !fits(want, "*")):
		return &fs.PathError{Op: "remove", Path: name, Err: vfs.Changed}
	case purge && looked == nil && !info.Deleted:
		fail(w, http.StatusConflict, "", fmt.Errorf("%s is not deleted: delete it first", info.Path))
		return nil
	case purge:
		err = t.Purge(r.Context(), name)
	case want != "" && !info.Dir:
		err = vfs.Discard(r.Context(), t, info)
	default:
		err = t.Remove(r.Context(), name, recursive)
	}
	if err == nil {
		answer(w, http.StatusOK, struct{}{})
	}
	return err
}

func fileVersions(s *Server) func(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
	return func(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
		name, err := q.path()
		if err != nil {
			return err
		}
		all, err := t.Versions(r.Context(), name)
		if err != nil {
			return err
		}
		people := map[vfs.Author]string{}
		versions := []FileVersion{}
		for _, v := range all {
			who, known := people[v.By]
			if !known {
				if who, err = wrote(r.Context(), s, v.By); err != nil {
					return err
				}
				people[v.By] = who
			}
			one := FileVersion{Version: v.Number, Size: v.Size, Modified: v.Modified.UTC()}
			switch v.By.Who {
			case vfs.Person:
				one.By = "person"
			case vfs.Model:
				one.By = "model"
			case vfs.Unknown:
			}
			if who != "" && who != person(r) { // their chats stay theirs
				one.Name = project.NameOf(r.Context(), s.o.Projects, who)
			} else if v.By.Who == vfs.Model {
				one.Chat = v.By.ID
			}
			versions = append(versions, one)
		}
		answer(w, http.StatusOK, versions)
		return nil
	}
}

// wrote is the person who wrote a version, or whose model did; "" if that isn't known.
func wrote(ctx context.Context, s *Server, by vfs.Author) (person string, err error) {
	if by.Who != vfs.Model {
		return by.ID, nil
	}
	return project.ChatPerson(ctx, s.o.Projects, by.ID)
}

func orphans(w http.ResponseWriter, r *http.Request, t *vfs.Tree, _ query) error {
	all, err := t.Orphans(r.Context())
	if err != nil {
		return err
	}
	orphans := []Orphan{}
	for _, info := range all {
		orphans = append(orphans, Orphan{info.ID, info.Orphaned.UTC(), fileOf(info)})
	}
	answer(w, http.StatusOK, orphans)
	return nil
}

func filesUsage(w http.ResponseWriter, r *http.Request, t *vfs.Tree, _ query) error {
	files, size, err := t.Usage(r.Context())
	if err != nil {
		return err
	}
	most := t.Limits()
	answer(w, http.StatusOK, FilesUsage{files, size, most.Nodes, most.Bytes, most.File, most.Versions})
	return nil
}
