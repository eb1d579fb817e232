package burin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// openLog opens the session that is gone on with, or makes a new one.
func (b *builder) openLog() error {
	if b.StateDir == "" || b.NoSession {
		var err error
		b.log, err = transcript.Create(new(transcript.Memory), transcript.Header{CWD: b.dir}, transcript.Options{Now: b.Now})
		return err
	}
	o := transcript.Options{Now: b.Now, Blobs: transcript.NewBlobs(filepath.Join(b.StateDir, "blobs"))}
	if b.Resume != "" {
		return b.resume(o)
	}
	root := b.SessionDir
	if root == "" {
		root = filepath.Join(b.StateDir, "sessions")
	}
	path, id := transcript.NewPath(root, b.dir, b.Now())
	log, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: b.dir}, o)
	if err != nil {
		return err
	}
	b.log, b.path = log, path
	return nil
}

// resume opens a session file. What is damaged in it is said, and set aside.
func (b *builder) resume(o transcript.Options) error {
	log, damage, err := transcript.OpenSession(b.Resume, o)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no session %s", b.Resume)
	}
	if err != nil {
		return err
	}
	b.log, b.path = log, strings.TrimSuffix(b.Resume, ".draft")
	if damage.Serious() {
		b.Warn(fmt.Sprintf("session %s: %s; what can be read is there", filepath.Base(b.path), damage))
	}
	if damage.Newer > 0 {
		b.Warn(fmt.Sprintf("session %s was written by a newer program (version %d): what is new in it is kept, and not shown", filepath.Base(b.path), damage.Newer))
	}
	return nil
}

// artifacts are where whole outputs go; nil if nothing is kept.
func (b *builder) artifacts() tool.Artifacts {
	if b.path == "" {
		return nil
	}
	a := tool.Artifacts(transcript.NewArtifacts(transcript.ArtifactDir(b.path)))
	if b.vault != nil {
		return hidden{a, b.vault}
	}
	return a
}

// hidden are artifacts without secrets.
type hidden struct {
	tool.Artifacts
	vault *secret.Vault
}

func (h hidden) Create(kind string) (tool.Artifact, error) {
	a, err := h.Artifacts.Create(kind)
	if err != nil {
		return nil, err
	}
	return &hiddenArtifact{Artifact: a, hide: h.vault.Writer(a)}, nil
}

type hiddenArtifact struct {
	tool.Artifact
	hide interface {
		Write(p []byte) (int, error)
		Close() error
	}
}

func (a *hiddenArtifact) Write(p []byte) (int, error) { return a.hide.Write(p) }

func (a *hiddenArtifact) Close() error { return errors.Join(a.hide.Close(), a.Artifact.Close()) }

// openVault makes what hides secrets.
func (b *builder) openVault() error {
	if b.NoSecrets {
		return nil
	}
	o := secret.Options{Env: b.Environ, Entries: b.SecretEntries}
	if b.StateDir != "" {
		key, err := installationKey(filepath.Join(b.StateDir, "placeholder.key"))
		if err != nil {
			b.Warn("placeholders of secrets will differ from run to run: " + err.Error())
		}
		o.Key = key
	}
	var err error
	b.vault, err = secret.New(o)
	return err
}

// installationKey is what names of placeholders are made with, so that one secret
// has one name in all sessions. Who has it can test guesses of weak secrets against
// their placeholders, so it is kept like one.
func installationKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) >= 32 {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".placeholder-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	key = make([]byte, 32)
	rand.Read(key) //nolint:errcheck // never fails
	if _, err := f.Write(key); err != nil {
		f.Close()
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	// Of two processes that come first together, one names the secrets of both.
	if err := os.Link(f.Name(), path); err == nil {
		return key, nil
	}
	if there, err := os.ReadFile(path); err == nil && len(there) >= 32 {
		return there, nil
	}
	return key, os.Rename(f.Name(), path) // a file that is too short is none
}

// todos is the list of work, as tools last left it.
func (b *builder) restoreTodos() plan.State {
	e := b.log.Last(b.log.Leaf(),
		func(n transcript.Node) bool { return n.Role == llm.RoleToolResult },
		func(e *transcript.Entry) bool { return e.Message.ToolName == "todo" && !e.Message.IsError })
	if e == nil {
		return plan.State{}
	}
	state, err := plan.Restore(e.Message.Details)
	if err != nil {
		return plan.State{}
	}
	return state
}

// openTasks are the tasks that a compaction passes on.
func openTasks(state plan.State) []compact.Todo {
	var out []compact.Todo
	for _, p := range state.Phases {
		for _, t := range p.Tasks {
			if t.Status.Open() {
				out = append(out, compact.Todo{Phase: p.Name, Text: t.Content, Status: string(t.Status)})
			}
		}
	}
	return out
}
