package transcript_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/transcript"
)

func TestArtifacts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*", "s")
	a := transcript.NewArtifacts(dir)
	if _, err := a.Open("0"); err == nil || !strings.Contains(err.Error(), "available: none") {
		t.Errorf("error %v", err)
	}
	put := func(a *transcript.Artifacts, kind, text string) string {
		t.Helper()
		w, err := a.Create(kind)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return w.ID()
	}
	put(a, "bash", "one")
	put(a, "../evil kind", "two")
	// A session that is opened again goes on counting.
	if id := put(transcript.NewArtifacts(dir), "bash", "three"); id != "2" {
		t.Errorf("id %s after 0 and 1", id)
	}
	for id, want := range map[string]string{"0": "one", "1": "two", "2": "three"} {
		r, err := a.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil || b.String() != want || r.Size() != int64(len(want)) {
			t.Errorf("artifact %s is %q, %v", id, b.String(), err)
		}
		r.Close()
	}
	for _, id := range []string{"3", "-1", "x", "../0", ""} {
		if r, err := a.Open(id); err == nil {
			r.Close()
			t.Errorf("artifact %q opened", id)
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 3 || names[1].Name() != "1.-evil-kind.log" {
		t.Errorf("files %v, %v", names, err)
	}
}

// Beside a session file of a repository, links would lead to any file.
func TestArtifactsFollowNoLinks(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret", "0.bash.log")
	if err := os.MkdirAll(filepath.Dir(secret), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(to, at string) {
		t.Helper()
		if err := os.Symlink(to, at); err != nil {
			t.Skip(err)
		}
	}
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	link(secret, filepath.Join(inside, "0.bash.log"))
	whole, near := filepath.Join(dir, "whole"), filepath.Join(dir, "near")
	link(filepath.Dir(secret), whole)
	link("secret", near)
	for _, folder := range []string{inside, whole, near} {
		a := transcript.NewArtifacts(folder)
		if r, err := a.Open("0"); err == nil {
			r.Close()
			t.Errorf("%s: opened", folder)
		}
		if file, err := a.File("0"); err == nil {
			t.Errorf("%s: gives %s", folder, file)
		}
	}
	for _, folder := range []string{whole, near} {
		if w, err := transcript.NewArtifacts(folder).Create("bash"); err == nil {
			w.Close()
			t.Errorf("%s: written", folder)
		}
	}
}
