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
