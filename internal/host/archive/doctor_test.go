package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// message is an entry in which someone says something.
func message(role llm.Role, content ...llm.Block) transcript.Entry {
	return transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: role, Content: content}}
}

// sessionIn writes a session of the folder /p under root and gives its file.
func sessionIn(t *testing.T, root string, o transcript.Options, entries ...transcript.Entry) string {
	t.Helper()
	path, id := transcript.NewPath(root, "/p", time.Now())
	l, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: "/p"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// A repair leaves out what cannot be read, and what followed it follows what was before.
func TestMendLeavesNoGap(t *testing.T) {
	path := sessionIn(t, t.TempDir(), transcript.Options{},
		message(llm.RoleUser, llm.Text{Text: "one"}), message(llm.RoleAssistant, llm.Text{Text: "two"}),
		transcript.Entry{Type: transcript.TypeCompaction, Summary: "a summary"},
		transcript.Entry{Type: transcript.TypeModel, Model: "a model"},
		message(llm.RoleUser, llm.Text{Text: "three"}))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("a summary"), []byte("a\x01summary"), 1)
	text = bytes.Replace(text, []byte(`"cwd":"/p"`), []byte(`"cwd":"/p","mood":"good"`), 1)
	text = bytes.Replace(text, []byte("a model"), []byte("a\x01model"), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mend(path, nil); err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(path); err != nil || !bytes.Contains(text, []byte(`"mood":"good"`)) {
		t.Errorf("what burin does not know of the header is gone: %s %v", text, err)
	}
	l, damage, err := transcript.ReadSession(path, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if damage.Serious() || l.Len() != 3 {
		t.Errorf("of %d entries: %v", l.Len(), damage)
	}
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range c.Messages {
		said = append(said, m.Text())
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, said); diff != "" || c.Unread > 0 {
		t.Errorf("%d entries are unread; %s", c.Unread, diff)
	}
}

// A blob is in use wherever its session is kept: behind links too, and for all one knows
// behind those that lead nowhere.
func TestBlobsBehindLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links cannot be made there without a privilege")
	}
	link := func(t *testing.T, to, from string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(from), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	project := transcript.EncodeDir("/p")
	for name, tt := range map[string]struct {
		arrange func(t *testing.T, root, disk string) // before the session is written
		spoil   func(t *testing.T, root, disk string) // after it
		removed int
		blocked bool
	}{
		"no link": {
			arrange: func(*testing.T, string, string) {}, removed: 1,
		},
		"the folder of all sessions": {
			arrange: func(t *testing.T, root, disk string) { link(t, disk, root) }, removed: 1,
		},
		"the folder of a project": {
			arrange: func(t *testing.T, root, disk string) { link(t, disk, filepath.Join(root, project)) }, removed: 1,
		},
		"a folder that holds itself": {
			arrange: func(t *testing.T, root, _ string) { link(t, "..", filepath.Join(root, project, "up")) }, removed: 1,
		},
		"a disk that is not there": {
			arrange: func(t *testing.T, root, disk string) { link(t, disk, filepath.Join(root, "--other--")) },
			spoil:   func(t *testing.T, _, disk string) { _ = os.Remove(disk) },
			blocked: true,
		},
		"all on a disk that is not there": {
			arrange: func(t *testing.T, root, disk string) { link(t, disk, root) },
			spoil:   func(t *testing.T, _, disk string) { _ = os.RemoveAll(disk) },
			blocked: true,
		},
		"no session at all": {
			arrange: func(*testing.T, string, string) {},
			spoil:   func(t *testing.T, root, _ string) { _ = os.RemoveAll(root) },
			blocked: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			data, disk := t.TempDir(), t.TempDir()
			root := filepath.Join(data, "sessions")
			tt.arrange(t, root, disk)
			blobs := transcript.NewBlobs(filepath.Join(data, "blobs"))
			picture := bytes.Repeat([]byte{7}, 5000)
			sessionIn(t, root, transcript.Options{Blobs: blobs},
				message(llm.RoleUser, llm.Image{MIME: "image/png", Data: picture}), message(llm.RoleAssistant, llm.Text{Text: "seen"}))
			used, err := blobs.Put(picture)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := blobs.Put([]byte("nobody's")); err != nil {
				t.Fatal(err)
			}
			old := time.Now().Add(-48 * time.Hour)
			files, err := filepath.Glob(filepath.Join(data, "blobs", "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if err := os.Chtimes(f, old, old); err != nil {
					t.Fatal(err)
				}
			}
			if tt.spoil != nil {
				tt.spoil(t, root, disk)
			}
			d := doctor{archive: &Archive{root: root, trash: filepath.Join(data, "trash"), paths: config.Paths{Data: data}}}
			report, err := blobs.Collect(t.Context(), d.roots(), transcript.CollectOptions{Open: d.sealedRoot})
			if err != nil || report.Removed != tt.removed || (len(report.Blocked) > 0) != tt.blocked {
				t.Errorf("%+v, %v", report, err)
			}
			if got, err := blobs.Get(used); err != nil || !bytes.Equal(got, picture) {
				t.Errorf("the picture of the session: %v", err)
			}
		})
	}
}
