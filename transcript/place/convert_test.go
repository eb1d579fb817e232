package place_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

func walk(root fs.FS, visit func(path string, data []byte)) error {
	return fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		visit(path, data)
		return err
	})
}

// plain is a session with a picture in a blob, an artifact, and a line that is damaged.
func plain(t *testing.T, dir string) (path string, o transcript.Options) {
	t.Helper()
	path = filepath.Join(dir, "sessions", "2026_ab.jsonl")
	o = transcript.Options{Blobs: transcript.NewBlobs(filepath.Join(dir, "blobs"))}
	l, err := place.Create(t.Context(), path, nil, false, transcript.Header{ID: "ab", CWD: "/"}, o)
	if err != nil {
		t.Fatal(err)
	}
	picture := append([]byte("quince!"), bytes.Repeat([]byte{7}, 2000)...)
	appendAll(t, l, says("the quince"), answers(llm.Text{Text: "quinces"}, llm.Image{Data: picture, MIME: "image/png"}))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(transcript.ArtifactDir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(transcript.ArtifactDir(path), "0.bash.log"), []byte("quince"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, o
}

func TestConvert(t *testing.T) {
	dir, asked := t.TempDir(), 0
	path, o := plain(t, dir)
	trash := filepath.Join(dir, "trash")
	k := keys(t, 1, &asked)
	want := texts(t, path, nil, o)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}

	trashed, err := place.Seal(path, k, o.Blobs, trash)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(trashed); err != nil || !bytes.Equal(kept, before) {
		t.Errorf("the original in the trash: %v", err)
	}
	absent(t, filepath.Join(dir, "sessions"), "quince")
	// It does not depend on its blobs any more.
	if diff := cmp.Diff(want, texts(t, path, k, transcript.Options{})); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(at) {
		t.Errorf("the time of the last change: %v, %v", info, err)
	}
	if _, err := place.Seal(path, k, o.Blobs, trash); !errors.Is(err, place.ErrSealed) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := place.Unseal(path, keys(t, 2, &asked), trash); !errors.Is(err, sealed.ErrKey) {
		t.Errorf("with another key: %v", err)
	}
	if _, err := place.Unseal(path, k, trash); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(t, path, nil, transcript.Options{})); diff != "" {
		t.Error(diff)
	}
	if _, err := place.Unseal(path, k, trash); !errors.Is(err, sealed.ErrNotSealed) {
		t.Errorf("a second time: %v", err)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left beside it: %v", left)
	}
	// What is in the trash comes back, where nothing is in its place.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if back, err := transcript.Restore(trashed); err != nil || back != path {
		t.Errorf("%s, %v", back, err)
	}
	if diff := cmp.Diff(want, texts(t, path, nil, o)); diff != "" {
		t.Error(diff)
	}
}

// Where a conversion fails nothing is changed.
func TestConvertFails(t *testing.T) {
	dir, asked := t.TempDir(), 0
	path, o := plain(t, dir)
	k := keys(t, 1, &asked)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same := func(why string) {
		t.Helper()
		now, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(now, before) {
			t.Errorf("%s has changed the session (%v)", why, err)
		}
		if _, err := os.Stat(filepath.Join(transcript.ArtifactDir(path), "0.bash.log")); err != nil {
			t.Errorf("%s: %v", why, err)
		}
		if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
			t.Errorf("%s has left %v", why, left)
		}
	}
	trash := filepath.Join(dir, "trash")
	other, err := transcript.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Seal(path, k, o.Blobs, trash); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("while it is written: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	same("a lock")
	broken := errors.New("no key today")
	if _, err := place.Seal(path, func(place.Wanted) (sealed.Key, error) { return sealed.Key{}, broken }, o.Blobs, trash); !errors.Is(err, broken) {
		t.Errorf("without a key: %v", err)
	}
	same("no key")
	if err := os.WriteFile(trash, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Seal(path, k, o.Blobs, trash); err == nil {
		t.Error("a trash that cannot be written is no failure")
	}
	same("the trash")
	l, _, err := place.Open(t.Context(), path, nil, o)
	if err != nil {
		t.Fatalf("it cannot be gone on with: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
