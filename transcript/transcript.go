// Package transcript is the session file: an append-only list of entries, one
// JSON object a line, in version 3 of the format that the pi family of agents
// shares. The first line is a [Header]; every other line is an entry with an id
// and the id of the entry before it.
//
// A [File] is written by one process. Each entry is one write, so that a killed
// process leaves at most one torn line, which readers skip. Nothing is written
// before the first answer of a model: a prompt that nobody answered leaves no
// file. Beside the file, in a folder of its name without ".jsonl", lie its
// [Artifacts].
package transcript

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Version is the version of the format that is written.
const Version = 3

// Header is the first line of a session file.
type Header struct {
	Type      string `json:"type"` // "session"
	Version   int    `json:"version"`
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"` // creation, RFC 3339 in UTC with milliseconds
	CWD       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
}

// Entry is any other line.
type Entry struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	ParentID  *string `json:"parentId"`
	Timestamp string  `json:"timestamp"`

	Message       *llm.Message `json:"message,omitempty"`       // of "message"
	Model         string       `json:"model,omitempty"`         // of "model_change": provider/id
	ThinkingLevel string       `json:"thinkingLevel,omitempty"` // of "thinking_level_change"
	Mode          string       `json:"mode,omitempty"`          // of "mode_change"
}

// Types of entries that are written.
const (
	TypeMessage  = "message"
	TypeModel    = "model_change"
	TypeThinking = "thinking_level_change"
	TypeMode     = "mode_change"
)

// File is a session file that is being written. It is safe for concurrent use.
type File struct {
	path string
	now  func() time.Time

	mu      sync.Mutex
	file    *os.File // nil until the first answer
	pending bytes.Buffer
	leaf    *string
	ids     map[string]bool
	err     error // the first failure; every later call returns it
}

// Create starts a session for the working directory cwd under the folder root.
func Create(root, cwd string) (*File, error) {
	now := time.Now
	at := now().UTC()
	id := randomHex(8)
	name := at.Format("2006-01-02T15-04-05-000Z") + "_" + id + ".jsonl"
	name = strings.Replace(name, "-000Z", fmt.Sprintf("-%03dZ", at.Nanosecond()/1e6), 1)
	f := &File{path: filepath.Join(root, EncodeDir(cwd), name), now: now, ids: map[string]bool{}}
	f.put(Header{Type: "session", Version: Version, ID: id, Timestamp: stamp(at), CWD: cwd})
	return f, f.err
}

// EncodeDir gives the name of the folder that holds a working directory's sessions.
func EncodeDir(cwd string) string {
	dir := strings.TrimPrefix(filepath.ToSlash(cwd), "/")
	return "--" + strings.NewReplacer("/", "-", ":", "-").Replace(dir) + "--"
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // never fails
	return hex.EncodeToString(b)
}

// Path is where the file is, or will be.
func (f *File) Path() string { return f.path }

// ID is the session's id.
func (f *File) ID() string {
	base := strings.TrimSuffix(filepath.Base(f.path), ".jsonl")
	return base[strings.LastIndexByte(base, '_')+1:]
}

// Dir is the folder of the session's artifacts. It may not exist yet.
func (f *File) Dir() string { return strings.TrimSuffix(f.path, ".jsonl") }

// Written reports whether there is a file yet.
func (f *File) Written() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file != nil
}

// AppendMessage adds a message.
func (f *File) AppendMessage(m *llm.Message) error {
	return f.append(Entry{Type: TypeMessage, Message: m}, m.Role == llm.RoleAssistant)
}

// AppendModel records that from here on another model answers.
func (f *File) AppendModel(m *llm.Model) error {
	return f.append(Entry{Type: TypeModel, Model: m.Ref()}, false)
}

// AppendThinking records how hard the model thinks from here on.
func (f *File) AppendThinking(l llm.Level) error {
	return f.append(Entry{Type: TypeThinking, ThinkingLevel: string(l)}, false)
}

// AppendMode records the mode of permission from here on.
func (f *File) AppendMode(mode string) error {
	return f.append(Entry{Type: TypeMode, Mode: mode}, false)
}

// append adds an entry after the last one and writes it, with all that waited, if
// there is a file or the entry is the first answer.
func (f *File) append(e Entry, answer bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	id := randomHex(4)
	for f.ids[id] {
		id = randomHex(4)
	}
	f.ids[id] = true
	e.ID, e.ParentID, e.Timestamp = id, f.leaf, stamp(f.now())
	f.put(e)
	f.leaf = &id
	if f.err != nil || f.file == nil && !answer {
		return f.err
	}
	return f.write()
}

func (f *File) put(v any) {
	enc := json.NewEncoder(&f.pending)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && f.err == nil {
		f.err = fmt.Errorf("session %s: %w", f.path, err)
	}
}

func (f *File) write() error {
	if f.file == nil {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
			return f.fail(err)
		}
		file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if err != nil {
			return f.fail(err)
		}
		f.file = file
	}
	if _, err := f.file.Write(f.pending.Bytes()); err != nil {
		return f.fail(err)
	}
	f.pending.Reset()
	return nil
}

func (f *File) fail(err error) error {
	f.err = fmt.Errorf("write session: %w", err)
	return f.err
}

// Close syncs the file to the disk and closes it. What had no answer is dropped.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return f.err
	}
	err := f.file.Sync()
	if cerr := f.file.Close(); err == nil {
		err = cerr
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("close session: %w", err)
	}
	return f.err
}
