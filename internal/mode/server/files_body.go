package server

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/session/remote"
)

const (
	maxArchive  = maxBody // bytes of an archive that is imported. It is in memory, as nothing is written in the clear
	maxArchived = 100_000 // headers in an archive, those of archives in it too: each takes memory before it is looked at
	maxImports  = 4       // at a time; more get 503
	archiveTime = 10 * time.Minute
)

// paced gives each piece of an answer its time: who doesn't read is cut off.
type paced struct{ http.ResponseWriter }

func (p paced) Write(b []byte) (int, error) {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTime)) // without it, a client that doesn't read is cut off later
	return p.ResponseWriter.Write(b)
}

// download sets the head of a file that a client is to save, or may show. Whatever the file is, it runs
// nothing there.
func download(h http.Header, name, kind string, show bool) {
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	how := "attachment"
	if show {
		how = "inline"
	}
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": name}))
}

// kindOf is the type with which a file is sent, and whether a browser may show it.
func kindOf(mime string) (kind string, show bool) {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return mime, true
	case "audio/wav", "audio/mpeg", "audio/mp4", "audio/ogg", "audio/webm", "audio/flac", "audio/aac", "audio/aiff":
		return mime, true
	case "text/plain":
		return "text/plain; charset=utf-8", true
	case "application/pdf":
		return mime, false
	}
	return "application/octet-stream", false
}

func getFile(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
	name, err := q.path()
	version, err2 := q.number("version", math.MaxInt64)
	inline, err3 := q.truth("inline")
	if err := cmp.Or(err, err2, err3); err != nil {
		return err
	}
	var data []byte
	var info vfs.Info
	if version == 0 {
		data, info, err = t.Read(r.Context(), name)
		version = info.Version
	} else if info, err = t.Peek(r.Context(), name); err == nil {
		data, err = t.ReadVersion(r.Context(), name, version)
	}
	if err != nil {
		return err
	}
	kind, show := kindOf(info.MIME)
	download(w.Header(), info.Name(), kind, show && inline)
	w.Header().Set("ETag", etagOf(info, version))
	http.ServeContent(paced{w}, r, "", time.Time{}, bytes.NewReader(data))
	return nil
}

func putFile(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
	name, err := q.path()
	if err != nil {
		return err
	}
	want, never := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if never != "" && never != "*" {
		return fmt.Errorf("%w: If-None-Match: only * is possible", remote.ErrParameters)
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	var info vfs.Info
	switch {
	case never != "":
		if info, err = t.Write(r.Context(), name, data, vfs.Missing); errors.Is(err, vfs.FileExists) || errors.Is(err, vfs.NotFile) {
			fail(w, http.StatusPreconditionFailed, string(vfs.FileExists), err)
			return nil
		}
	case want != "":
		info, err = t.Stat(r.Context(), name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !fits(want, etagOf(info, info.Version)) {
			return &fs.PathError{Op: "write", Path: name, Err: vfs.Changed}
		}
		if err == nil {
			info, err = t.Replace(r.Context(), info, data)
		}
	default:
		info, err = t.Write(r.Context(), name, data, vfs.Anything)
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if info.Version == 1 {
		status = http.StatusCreated
	}
	w.Header().Set("ETag", etagOf(info, info.Version))
	answer(w, status, fileOf(info))
	return nil
}

func diffFile(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
	name, err := q.path()
	from, err2 := q.number("from", math.MaxInt64)
	to, err3 := q.number("to", math.MaxInt64)
	if err := cmp.Or(err, err2, err3); err != nil {
		return err
	}
	if from == 0 || to == 0 {
		return fmt.Errorf("%w: from and to: they name two versions", remote.ErrParameters)
	}
	diff, err := t.Diff(r.Context(), name, from, to)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(paced{w}, diff) // who has gone reads nothing
	return nil
}

// importFiles serves archives, a few at a time.
func importFiles() func(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
	slots := make(chan struct{}, maxImports)
	return func(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			fail(w, http.StatusServiceUnavailable, "busy", fmt.Errorf("%d archives are imported already: try again", maxImports))
			return nil
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(archiveTime)) // without it, who sends slowly keeps the place
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return fmt.Errorf("read the archive: %w", err)
		}
		if n := bytes.Count(data, []byte("PK\x01\x02")); n > maxArchived {
			return fmt.Errorf("%w: it has about %d files", vfs.ErrArchive, n)
		}
		done, err := t.Import(r.Context(), bytes.NewReader(data), int64(len(data)), q.Get("path"))
		if err != nil && done.Files+done.Folders > 0 {
			err = fmt.Errorf("%w; %d files and %d folders before that were imported", err, done.Files, done.Folders)
		}
		if err == nil {
			answer(w, http.StatusOK, FilesImported{done.Files, done.Folders, done.Bytes})
		}
		return err
	}
}

func (s *Server) exportFiles(w http.ResponseWriter, r *http.Request, t *vfs.Tree, q query) error {
	leave, ok := s.enter(w)
	if !ok {
		return nil
	}
	defer leave()
	name := path.Base(vfs.Clean(q.Get("path")))
	if name == "/" {
		name = "files"
	}
	to := &fileWriter{paced: paced{w}, name: name + ".zip", kind: "application/zip"}
	err := t.Export(r.Context(), q.Get("path"), to)
	if err != nil && to.begun { // the client must not take it for whole
		panic(http.ErrAbortHandler)
	}
	return err
}
