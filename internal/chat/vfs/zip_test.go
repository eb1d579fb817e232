package vfs_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vfs"
)

type zipped struct {
	name string
	text string
	mode fs.FileMode
}

func archive(t testing.TB, files ...zipped) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		head := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.mode != 0 {
			head.SetMode(f.mode)
		}
		w, err := z.CreateHeader(head)
		if err == nil {
			_, err = w.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (b *bench) unzip(data []byte, into string) (vfs.Imported, error) {
	return b.Import(b.ctx, bytes.NewReader(data), int64(len(data)), into)
}

func TestZip(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		for name, text := range map[string]string{"/in/a": "a", "/in/d/constructor": "c", "/in/d/👩‍💻 ü": "\x89PNG\r\n\x1a\n", "/in/empty": "", "/in/back\\slash": "b", "/out": "x"} {
			b.write(name, text)
		}
		b.ok(b.Mkdir(b.ctx, "/in/nothing in it"))
		b.ok(b.Files(b.ctx).Chmod("in/a", 0o755))
		b.write("/in/gone", "gone")
		b.ok(b.Remove(b.ctx, "/in/gone", false))
		var out bytes.Buffer
		b.ok(b.Export(b.ctx, "/in", &out))
		b.write("/copy/d/constructor", "what was there")
		done, err := b.unzip(out.Bytes(), "/copy")
		b.ok(err)
		if want := (vfs.Imported{Files: 5, Folders: 2, Bytes: 11}); done != want {
			t.Errorf("imported %+v; want %+v", done, want)
		}
		in, copied := live(t, sub(b, "in")), live(t, sub(b, "copy"))
		if diff := cmp.Diff(in, copied); diff != "" {
			t.Errorf("the copy differs: %s", diff)
		}
		if old, err := b.ReadVersion(b.ctx, "/copy/d/constructor", 1); err != nil || string(old) != "what was there" {
			t.Errorf("the file that was written over is %q, %v", old, err)
		}
		// Many files, in several changes.
		var many []zipped
		for i := range 1200 {
			many = append(many, zipped{name: fmt.Sprintf("%d/%d", i%10, i), text: strings.Repeat("x", i)})
		}
		done, err = b.unzip(archive(t, many...), "/many")
		if err != nil || done.Files != 1200 {
			t.Errorf("imported %+v, %v", done, err)
		}
		b.holds("/many/9/1199", strings.Repeat("x", 1199))
		n, err := b.Namespace("/minions/p")
		b.ok(err)
		data := archive(t, zipped{name: "share/x", text: "x"})
		if _, err := n.Import(b.ctx, bytes.NewReader(data), int64(len(data)), "/"); !errors.Is(err, vfs.ReadOnly) {
			t.Errorf("a persona imported into what it can only read: %v", err)
		}
		b.gone("/share")
	})
}

func TestZipRefuses(t *testing.T) {
	b := onFile(t, vfs.Limits{File: 1 << 20, Import: 3 << 20, Nodes: 50})
	b.write("/a", "a")
	good := zipped{name: "good", text: "good"}
	whole := archive(t, good, zipped{name: "other", text: strings.Repeat("0123456789", 100)})
	damaged := bytes.Clone(whole)
	damaged[bytes.Index(damaged, []byte("other"))+13] ^= 0xff
	mb := strings.Repeat("\x00", 1<<20)
	many := make([]zipped, 51)
	for i := range many {
		many[i].name = fmt.Sprint(i)
	}
	for what, data := range map[string][]byte{
		"no archive":      []byte("PK\x03\x04 and something else"),
		"empty":           nil,
		"cut":             whole[:len(whole)-10],
		"damaged":         damaged,
		"absolute":        archive(t, good, zipped{name: "/etc/passwd"}),
		"of a drive":      archive(t, good, zipped{name: `C:\x`}),
		"a share":         archive(t, good, zipped{name: `\\host\x`}),
		"up":              archive(t, good, zipped{name: "../x"}),
		"up later":        archive(t, good, zipped{name: "a/b/../../../x"}),
		"up with \\":      archive(t, good, zipped{name: `a\..\..\x`}),
		"a dot":           archive(t, good, zipped{name: "./x"}),
		"no name":         archive(t, good, zipped{name: ""}),
		"not UTF-8":       archive(t, good, zipped{name: "\xff\xfe"}),
		"a link":          archive(t, good, zipped{name: "link", text: "/etc/passwd", mode: fs.ModeSymlink | 0o777}),
		"a device":        archive(t, good, zipped{name: "dev", mode: fs.ModeDevice | 0o666}),
		"a large file":    archive(t, good, zipped{name: "large", text: mb + "x"}),
		"a bomb":          archive(t, good, zipped{name: "1", text: mb}, zipped{name: "2", text: mb}, zipped{name: "3", text: mb}, zipped{name: "4", text: mb}),
		"too many things": archive(t, many...),
	} {
		if _, err := b.unzip(data, "/"); !errors.Is(err, vfs.ErrArchive) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.has(map[string]string{"/a": "a"})
	if _, err := b.unzip(archive(t, zipped{name: "a/b", text: "x"}), "/"); !errors.Is(err, vfs.NotDir) {
		t.Errorf("a file below a file: %v", err)
	}
	b.has(map[string]string{"/a": "a"})
}

// sub is a folder of the tree as a file system.
func sub(b *bench, dir string) fs.FS {
	b.Helper()
	in, err := fs.Sub(b.Files(b.ctx), dir)
	b.ok(err)
	return in
}

func FuzzImport(f *testing.F) {
	f.Add(archive(f, zipped{name: "a/b", text: "text"}, zipped{name: "d/"}))
	f.Add(archive(f, zipped{name: "../x", text: "text"}))
	db, projects := storetest.Open(f, f.TempDir()+"/server.db", []store.Part{vfs.Part}), 0
	f.Fuzz(func(t *testing.T, data []byte) {
		projects++
		b := createAs(t, fmt.Sprint(projects), db, vfs.Limits{})
		done, err := b.unzip(data, "/in")
		all := b.everything()
		if err != nil && done == (vfs.Imported{}) && len(all) > 0 {
			t.Errorf("after %v there are %q", err, all)
		}
		for name := range all {
			if name != "/in/" && !strings.HasPrefix(name, "/in/") {
				t.Errorf("%q was written", name)
			}
		}
	})
}
