package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/transcript"
)

// window is how many bytes are read of each end of a file.
const window = 4 << 10

// ListOptions say which sessions are listed.
type ListOptions struct {
	CWD   string // of this working directory; "" is of all
	Limit int    // maximum number of sessions; 0: all
}

// recorded is a working directory as records keep it, whose text is UTF-8.
func recorded(cwd string) string { return string([]rune(cwd)) }

// List returns the sessions under root, the folder that holds a folder for each working
// directory, newest first by when their files changed. Those in which nothing was
// said are left out; what cannot be read is listed as damaged. That there is no such
// folder is no error.
//
// Of each file at most 8 KB are read. A name that was given to a session longer ago
// than its last 4 KB is therefore not seen; [Index.Names] knows it.
func List(ctx context.Context, root string, o ListOptions) ([]Info, error) {
	files, err := sessionFiles(root, o.CWD)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	sorting.Stable(files, func(a, b file) int {
		return cmp.Or(b.modified.Compare(a.modified), strings.Compare(filepath.Base(b.path), filepath.Base(a.path)))
	})
	var list []Info
	o.CWD = recorded(o.CWD)
	for from := 0; from < len(files); {
		n := len(files) - from
		if o.Limit > 0 {
			n = min(n, max(o.Limit-len(list), 16)) // some of them may be empty
		}
		for _, info := range peekAll(ctx, files[from:from+n]) {
			if info.Path == "" || o.CWD != "" && info.CWD != "" && info.CWD != o.CWD {
				continue // folders of two directories may have one name
			}
			if o.Limit > 0 && len(list) == o.Limit {
				break
			}
			list = append(list, info)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.Limit > 0 && len(list) == o.Limit {
			break
		}
		from += n
	}
	return list, nil
}

// Read returns what lists show of one session file. That nothing was said in it is
// fs.ErrNotExist.
func Read(path string) (Info, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	info, ok := peek(file{path, stat.Size(), stat.ModTime()}, make([]byte, 2*window))
	if !ok {
		return Info{}, fmt.Errorf("session %s: nothing was said in it: %w", path, fs.ErrNotExist)
	}
	return info, nil
}

type file struct {
	path     string
	size     int64
	modified time.Time
}

// draftSuffix ends the names of sessions that no model has answered.
const draftSuffix = ".draft"

// sessionFiles finds the session files of one working directory, or of all.
func sessionFiles(root, cwd string) ([]file, error) {
	dirs := []string{transcript.EncodeDir(cwd)}
	if cwd == "" {
		dirs = nil
		entries, err := os.ReadDir(root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, e.Name())
			}
		}
	}
	var files []file
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			continue // it went meanwhile, or is not for us
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !strings.HasSuffix(strings.TrimSuffix(e.Name(), draftSuffix), ".jsonl") {
				continue
			}
			name := e.Name()
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) { // a draft that was answered just now has its name
				name = strings.TrimSuffix(name, draftSuffix)
				if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name }) {
					continue // it went, or it is listed, too
				}
				info, err = os.Stat(filepath.Join(root, dir, name))
			}
			if err == nil {
				files = append(files, file{filepath.Join(root, dir, name), info.Size(), info.ModTime()})
			}
		}
	}
	return files, nil
}

// peekAll looks into files, a few at a time. The Info of one that is to be left out
// is empty.
func peekAll(ctx context.Context, files []file) []Info {
	list := make([]Info, len(files))
	workers := min(4*runtime.GOMAXPROCS(0), len(files))
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			buf := make([]byte, 2*window)
			for i := w; i < len(files) && ctx.Err() == nil; i += workers {
				if info, ok := peek(files[i], buf); ok {
					list[i] = info
				}
			}
		})
	}
	wait.Wait()
	return list
}

// peek reads both ends of a session file. buf has room for them.
func peek(f file, buf []byte) (info Info, ok bool) {
	info = Info{Path: f.path, Modified: f.modified, Size: f.size, Draft: strings.HasSuffix(f.path, draftSuffix)}
	info.ID, info.Created = named(f.path)
	if info.Created.IsZero() {
		info.Created = f.modified
	}
	info.Title = info.ID
	r, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) && info.Draft { // it was answered just now
		info.Path, info.Draft = strings.TrimSuffix(f.path, draftSuffix), false
		r, err = os.Open(info.Path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return info, false
	}
	if err != nil {
		info.Damaged = true
		return info, true
	}
	defer r.Close()
	head, tail := buf[:min(f.size, 2*window)], []byte(nil)
	if f.size > 2*window {
		head, tail = buf[:window], buf[window:]
	}
	n, err := r.ReadAt(head, 0)
	if err == nil && tail != nil {
		_, err = r.ReadAt(tail, f.size-window)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		info.Damaged = true
		return info, true
	}
	return info.look(head[:n], tail)
}

// named is what the name of a session file says.
func named(path string) (id string, created time.Time) {
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), draftSuffix), ".jsonl")
	i := strings.LastIndexByte(base, '_')
	if i < 0 {
		return base, time.Time{}
	}
	created, _ = time.Parse("2006-01-02T15-04-05Z", cutMillis(base[:i])) // zero if it says nothing
	return base[i+1:], created
}

// cutMillis takes the milliseconds out of the time in a file's name.
func cutMillis(s string) string {
	if len(s) == len("2006-01-02T15-04-05-000Z") && s[19] == '-' {
		return s[:19] + "Z"
	}
	return s
}

// look reads what the ends of a file say; tail is nil if head is all of it. ok is
// false if nothing was said in the session.
func (info *Info) look(head, tail []byte) (_ Info, ok bool) {
	if isSealed(head) {
		info.Sealed = true
		return *info, true
	}
	s := summary{Info: *info, all: tail == nil}
	for len(head) > 0 {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		s.line(line, !ended)
		head = rest
	}
	if _, rest, ok := bytes.Cut(tail, []byte("\n")); ok {
		for line := range bytes.Lines(rest) {
			s.name(line, !bytes.HasSuffix(line, []byte("\n")))
		}
	}
	return s.end()
}

// isSealed reports whether head begins an encrypted session: one of the first records
// says so, and the very first may be torn.
func isSealed(head []byte) bool {
	for range 4 {
		if bytes.HasPrefix(head, []byte(`{"type":"sealed"`)) {
			return true
		}
		_, head, _ = bytes.Cut(head, []byte("\n"))
	}
	return false
}

// summary collects what lists show.
type summary struct {
	Info
	all     bool // every line is seen
	lines   int
	headed  bool
	header  string // its title
	named   string
	prompt  string
	spoken  bool
	prepend string // of a line of type "title"
}

// line takes a line of the beginning; broken says that it may continue.
func (s *summary) line(line []byte, broken bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	s.lines++
	if s.headed && s.prompt != "" {
		s.name(line, broken)
		return
	}
	r, ok := parse(line)
	if !ok && broken {
		r, ok = parse(whole(line))
	}
	if !ok {
		s.Damaged = s.Damaged || !broken && !transcript.CutOff(line)
		return
	}
	s.take(&r)
}

// name reads the session's name from a line and checks whether the line looks complete.
func (s *summary) name(line []byte, broken bool) {
	line = bytes.TrimSpace(line)
	if n := len(line); n > 0 && !broken && (line[0] != '{' || line[n-1] != '}') && !transcript.CutOff(line) {
		s.Damaged = true
	}
	if !bytes.Contains(line, []byte(`"`+transcript.TypeInfo+`"`)) {
		return
	}
	if r, ok := parse(line); ok && r.Type == transcript.TypeInfo {
		s.take(&r)
	}
}

func (s *summary) take(r *record) {
	switch {
	case r.Type == "title" && !s.headed:
		s.prepend = r.Title
	case r.Type == "session":
		if s.headed {
			return
		}
		s.headed = true
		s.Damaged = s.Damaged || r.wrong || r.ID == ""
		s.ID, s.CWD, s.header = cmp.Or(r.ID, s.ID), r.CWD, cmp.Or(r.Title, s.prepend)
		s.Parent = r.Parent
		if t := timeOf(r.Timestamp); !t.IsZero() {
			s.Created = t
		}
	case r.Type == transcript.TypeInfo:
		s.named = r.Name
	case r.spoken():
		s.spoken = true
		if s.prompt == "" {
			s.prompt = r.prompt()
		}
	}
}

func (s *summary) end() (Info, bool) {
	if !s.spoken && (s.all && (s.headed || s.lines == 0)) {
		return Info{}, false
	}
	s.Damaged = s.Damaged || !s.headed
	s.entitle(s.named, s.header, s.prompt)
	return s.Info, true
}

// entitle chooses the title, from the names that the session was given and the first
// prompt in it.
func (info *Info) entitle(named, header, prompt string) {
	info.named = named != ""
	info.First = prose.Short(prompt, maxFirst)
	info.Title = cmp.Or(prose.Short(named, maxFirst), prose.Short(header, maxFirst), transcript.TitleOf(prompt), info.ID)
}
