package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/keyfile"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/compact/snap"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// openLog opens the session that is gone on with, or makes a new one.
func (b *seat) openLog() (err error) {
	if b.Log != nil {
		b.log, err = b.Log(transcript.Options{Now: b.Now, Pictures: b.pictures()})
		return err
	}
	if b.StateDir == "" || b.NoSession {
		b.log, err = transcript.Create(new(transcript.Memory), transcript.Header{CWD: b.dir, ParentSession: b.Parent}, transcript.Options{Now: b.Now, Pictures: b.pictures()})
		return err
	}
	o := transcript.Options{Now: b.Now, Blobs: transcript.NewBlobs(filepath.Join(b.StateDir, "blobs")), Pictures: b.pictures()}
	if b.Resume != "" {
		return b.resume(o)
	}
	path, id := transcript.NewPath(sessionRoot(b), b.dir, b.Now())
	if b.File != "" {
		path = b.File
	}
	return b.begin(path, id, o)
}

// sessionRoot is the folder of the folders of sessions; "" if none are kept.
func sessionRoot(b *seat) string {
	if b.SessionDir == "" && b.StateDir != "" {
		return filepath.Join(b.StateDir, "sessions")
	}
	return b.SessionDir
}

// folderOf is where whole outputs and other files of a session are: next to its file, or in burin's
// data folder if the session is on a server.
func folderOf(b *seat) string {
	if !place.Parse(b.path).Server() {
		return transcript.ArtifactDir(b.path)
	}
	sum := sha256.Sum256([]byte(b.path)) // names of sessions may have any characters
	return filepath.Join(b.StateDir, "remote", hex.EncodeToString(sum[:16]))
}

// ownFiles are absolute paths of what this session is kept in, and of the folder of
// sessions.
func (b *seat) ownFiles() []string {
	all := []string{b.SessionDir}
	n := place.Parse(b.path)
	if b.path != "" {
		all = append(all, folderOf(b))
	}
	if b.path != "" && !n.Server() {
		all = append(all, b.path, b.path+".draft")
	}
	if n.SQL && !n.Server() {
		all = append(all, n.File, n.File+"-wal", n.File+"-shm", n.File+"-journal", n.File+"-locks")
	}
	all = slices.DeleteFunc(all, func(p string) bool { return p == "" })
	for i, p := range all {
		if abs, err := filepath.Abs(p); err == nil {
			all[i] = abs
		}
	}
	return all
}

// begin makes a new session.
func (b *seat) begin(name, id string, o transcript.Options) error {
	log, err := place.Create(context.Background(), name, b.Keys, b.Seal, transcript.Header{ID: id, CWD: b.dir, ParentSession: b.Parent}, o)
	if err != nil {
		return err
	}
	b.log, b.path, b.sealed = log, name, b.Seal
	if n := place.Parse(name); n.SQL {
		b.path = n.String() // without the password
	}
	return nil
}

// resume opens a session file. What is damaged in it is said, and set aside.
func (b *seat) resume(o transcript.Options) error {
	name := b.Resume
	if n := place.Parse(b.Resume); n.SQL {
		_, id := transcript.NewPath("", "", b.Now())
		n, found, err := place.Resolve(context.Background(), n, id)
		if err != nil {
			return err
		}
		b.Resume, name = n.String(), n.Secret()
		if !found {
			return b.begin(name, id, o)
		}
	}
	encrypted, keys := false, b.Keys
	if keys != nil {
		keys = func(w place.Wanted) (sealed.Key, error) { // nobody else asks for a key
			encrypted = true
			return b.Keys(w)
		}
	}
	log, damage, err := place.Open(context.Background(), name, keys, o)
	if name, draft := strings.CutSuffix(b.Resume, ".draft"); draft && errors.Is(err, fs.ErrNotExist) {
		b.Resume = name // a model has answered since it was found
		log, damage, err = place.Open(context.Background(), b.Resume, keys, o)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no session %s", b.Resume)
	}
	if err != nil {
		return err
	}
	b.log, b.path, b.sealed = log, strings.TrimSuffix(b.Resume, ".draft"), encrypted
	if damage.Serious() {
		b.Warn(fmt.Sprintf("session %s: %s; what can be read is there", filepath.Base(b.path), damage))
	}
	if damage.Newer > 0 {
		b.Warn(fmt.Sprintf("session %s was written by a newer program (version %d): what is new in it is kept, and not shown", filepath.Base(b.path), damage.Newer))
	}
	return nil
}

// pictures gives the pictures of a compaction. They are taken out once.
func (b *seat) pictures() func(*transcript.Entry) []llm.Block {
	var mu sync.Mutex
	var id string
	var last []llm.Block
	return func(e *transcript.Entry) []llm.Block {
		mu.Lock()
		defer mu.Unlock()
		if e.ID != id {
			blocks, err := snap.Images(e)
			if err != nil {
				b.Warn("pictures of the history are damaged: " + err.Error())
			}
			id, last = e.ID, blocks
		}
		return last
	}
}

// Artifact implements [session.Ground].
func (g ground) Artifact(kind, text string) (string, error) {
	b := g.seat
	if b.kept == nil {
		return "", errors.ErrUnsupported
	}
	a, err := b.kept.Create(kind)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(a, text); err != nil {
		a.Close()
		return "", err
	}
	return "artifact://" + a.ID(), a.Close()
}

// summariser asks the server for summaries that is set; nil if none is.
func (b *seat) summariser() compact.Asker {
	if b.Compaction.RemoteEndpoint == "" {
		return nil
	}
	client := &http.Client{Transport: b.HTTP, Timeout: 2 * time.Minute}
	return func(ctx context.Context, system, prompt string, _ int) (string, error) {
		return askEndpoint(ctx, client, b.Compaction.RemoteEndpoint, system, prompt)
	}
}

// maxSummary is how many bytes of an answer are read; more is an error.
const maxSummary = 1 << 20

// askEndpoint posts {systemPrompt, prompt} and reads {summary}.
func askEndpoint(ctx context.Context, client *http.Client, url, system, prompt string) (string, error) {
	body, err := json.Marshal(map[string]string{"systemPrompt": system, "prompt": prompt})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("ask for a summary: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask for a summary: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxSummary+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("ask for a summary: %w", err)
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("ask for a summary: %s answers %s", req.URL.Host, resp.Status)
	case len(data) > maxSummary:
		return "", fmt.Errorf("ask for a summary: %s answers more than 1 MB", req.URL.Host)
	}
	var answer struct{ Summary string }
	if err := json.Unmarshal(data, &answer); err != nil || strings.TrimSpace(answer.Summary) == "" {
		return "", fmt.Errorf("ask for a summary: the answer of %s has no summary", req.URL.Host)
	}
	return answer.Summary, nil
}

// artifacts are where whole outputs go; nil if nothing is kept, or nothing in the clear.
func (b *seat) artifacts() tool.Artifacts {
	if b.path == "" || b.sealed {
		return nil
	}
	a := tool.Artifacts(transcript.NewArtifacts(folderOf(b)))
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
func (b *Bench) openVault() error {
	if b.NoSecrets {
		return nil
	}
	o := secret.Options{Env: b.Environ, Entries: b.SecretEntries}
	if b.StateDir != "" {
		// The key gives one secret one name in all sessions. Whoever has it can test
		// guesses of weak secrets against their placeholders, so it is kept like one.
		key, err := keyfile.Make(filepath.Join(b.StateDir, "placeholder.key"))
		if err != nil {
			b.Warn("placeholders of secrets will differ from run to run: " + err.Error())
		}
		o.Key = key
	}
	var err error
	b.vault, err = secret.New(o)
	return err
}

// learn tells the vault of texts of which parts are shown; nil without one.
func (b *Bench) learn() func(text string) {
	if b.vault == nil {
		return nil
	}
	return b.vault.Learn
}

// maxKeyFile is the most bytes of a file that may be one of keys.
const maxKeyFile = 128 << 10

// learnFiles tells the vault of files that a command names, if there are keys or
// certificates in them: the command may show any part of them.
func (b *Bench) learnFiles() func(paths []string) {
	if b.vault == nil {
		return nil
	}
	return func(paths []string) {
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || info.Size() == 0 || info.Size() > maxKeyFile {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				continue // then the command cannot show it, or says why not
			}
			for _, mark := range []string{"BEGIN ", "Private-Lines: ", `"kty"`} {
				if bytes.Contains(data, []byte(mark)) {
					b.vault.Learn(string(data))
					break
				}
			}
		}
	}
}
