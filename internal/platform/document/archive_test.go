package document_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/platform/document"
)

func gzipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func openArchive(t *testing.T, data []byte) *document.ArchiveFile {
	t.Helper()
	a, err := document.OpenArchive("x", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestOpenArchive(t *testing.T) {
	hostile := []tar.Header{
		{Name: "../../etc/passwd", Uname: "root"},
		{Name: "/abs/file", Uname: "1"},
		{Name: "a/./b/../c.txt", Uname: "first"},
		{Name: "a/c.txt", Uname: "second"},
		{Name: "dir/", Typeflag: tar.TypeDir},
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"},
	}
	plain := tarOf(t, hostile...)
	want := []document.Member{
		{Name: "a", Dir: true},
		{Name: "a/c.txt", Size: 6},
		{Name: "abs", Dir: true},
		{Name: "abs/file", Size: 1},
		{Name: "dir", Dir: true},
		{Name: "etc", Dir: true},
		{Name: "etc/passwd", Size: 4},
		{Name: "link"},
	}
	for name, data := range map[string][]byte{"tar": plain, "tar.gz": gzipped(t, plain)} {
		t.Run(name, func(t *testing.T) {
			a := openArchive(t, data)
			if diff := cmp.Diff(want, a.Members()); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			got, err := a.ReadFile("a/c.txt")
			if err != nil || string(got) != "second" {
				t.Errorf("got %q, %v", got, err)
			}
			if got, err := a.ReadFile("/../etc/passwd"); err != nil || string(got) != "root" {
				t.Errorf("a name that is cleaned: got %q, %v", got, err)
			}
			if _, err := a.ReadFile("none"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a missing member: %v", err)
			}
			for _, bad := range []string{"a", "dir", "link"} {
				if got, err := a.ReadFile(bad); err == nil {
					t.Errorf("%s: got %q", bad, got)
				}
			}
		})
	}
	z := openArchive(t, zipOf(t, `..\..\win.ini`, "w", "d/", "", "d/x", "1", "d/x", "2"))
	wantZip := []document.Member{{Name: "d", Dir: true}, {Name: "d/x", Size: 1}, {Name: "win.ini", Size: 1}}
	if diff := cmp.Diff(wantZip, z.Members()); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if got, err := z.ReadFile("d/x"); err != nil || string(got) != "2" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestOpenArchiveRefuses(t *testing.T) {
	var claims bytes.Buffer // a sparse file of a terabyte is a few bytes long
	w := zip.NewWriter(&claims)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "big", Method: zip.Deflate, UncompressedSize64: 1 << 40, CompressedSize64: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte{3, 0}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openArchive(t, claims.Bytes()).ReadFile("big"); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a member that claims a terabyte: %v", err)
	}
	var bomb bytes.Buffer // one that unpacks to more than it says
	w = zip.NewWriter(&bomb)
	packed := gzipped(t, make([]byte, 65<<20))
	f, err = w.CreateRaw(&zip.FileHeader{Name: "bomb", Method: zip.Deflate, UncompressedSize64: 10, CompressedSize64: uint64(len(packed) - 18)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(packed[10 : len(packed)-8]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err := openArchive(t, bomb.Bytes()).ReadFile("bomb"); err == nil {
		t.Errorf("a bomb gave %d bytes", len(data))
	}
	long := zipOf(t, strings.Repeat("n", 5000), "x")
	for name, data := range map[string][]byte{"text": []byte(strings.Repeat("text ", 200)), "cut": gzipped(t, []byte("x"))[:8], "long": long} {
		if _, err := document.OpenArchive(name, bytes.NewReader(data), int64(len(data))); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

func TestWriteArchive(t *testing.T) {
	for _, name := range []string{"a.zip", "a.tar", "a.tar.gz", "a.TGZ"} {
		t.Run(name, func(t *testing.T) {
			data, err := document.WriteArchive(name, nil, "bin/run.sh", []byte("#!/bin/sh"), 0o755)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []struct{ name, content string }{{"b.txt", "b"}, {"bin/run.sh", "again"}, {`c\d`, "c"}} {
				if data, err = document.WriteArchive(name, data, m.name, []byte(m.content), 0); err != nil {
					t.Fatal(err)
				}
			}
			a := openArchive(t, data)
			for member, want := range map[string]string{"bin/run.sh": "again", "b.txt": "b"} {
				if got, err := a.ReadFile(member); err != nil || string(got) != want {
					t.Errorf("%s: got %q, %v", member, got, err)
				}
			}
			for member, want := range map[string]string{"../x": "..", "a/../../x": "..", "": "must name a file", "./": "must name", "d/": "a folder", "bin": "is a folder", "b.txt/x": "is a file"} {
				if _, err := document.WriteArchive(name, data, member, nil, 0); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q: %v, want %q", member, err, want)
				}
			}
		})
	}
	if _, err := document.WriteArchive("a.rar", nil, "x", nil, 0); err == nil {
		t.Error("a .rar was written")
	}
	if _, err := document.WriteArchive("a.zip", []byte("junk"), "x", nil, 0); err == nil {
		t.Error("junk was changed")
	}
}

// What is not replaced keeps its place, mode, time and links.
func TestWriteArchiveKeepsTheRest(t *testing.T) {
	data := tarOf(t, tar.Header{Name: "first", Uname: "1"}, tar.Header{Name: "second", Uname: "2"},
		tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "first"},
		tar.Header{Name: strings.Repeat("long/", 60) + "name", Uname: "3", PAXRecords: map[string]string{"BURIN.x": "y"}})
	out, err := document.WriteArchive("a.tar", data, "second", []byte("new"), 0o640)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(out)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{h.FileInfo().Name(), h.FileInfo().Mode().Perm().String(), h.Linkname, string(content), h.PAXRecords["BURIN.x"]}, " "))
	}
	want := []string{"first -rw-------  1 ", "second -rw-r-----  new ", "link -rw------- first  ", "name -rw-------  3 y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A series of writes gives the files one would have in a folder.
func TestWriteArchiveSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a.zip", "a.tar", "a.tgz"}).Draw(t, "archive")
		want := map[string]string{}
		var data []byte
		for range rapid.IntRange(1, 6).Draw(t, "writes") {
			member := rapid.SampledFrom([]string{"a", "b/c", "b/d", "é/x y", "b"}).Draw(t, "member")
			content := rapid.String().Draw(t, "content")
			out, err := document.WriteArchive(name, data, member, []byte(content), 0)
			_, dir := want["b/c"]
			_, dir2 := want["b/d"]
			_, file := want["b"]
			if clash := member == "b" && (dir || dir2) || strings.HasPrefix(member, "b/") && file; clash != (err != nil) {
				t.Fatalf("%s: %v", member, err)
			}
			if err == nil {
				data, want[member] = out, content
			}
		}
		a, err := document.OpenArchive(name, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, m := range a.Members() {
			if !m.Dir {
				content, err := a.ReadFile(m.Name)
				if err != nil {
					t.Fatal(err)
				}
				got[m.Name] = string(content)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func FuzzArchive(f *testing.F) {
	plain := tarOf(f, tar.Header{Name: "a/b", Uname: "x"}, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "a"})
	f.Add(plain)
	f.Add(gzipped(f, plain))
	f.Add(zipOf(f, "a/b", "x", "c", "y"))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := document.OpenArchive("x", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, m := range a.Members() {
			if !fs.ValidPath(m.Name) || strings.ContainsRune(m.Name, '\\') && strings.HasPrefix(string(data), "PK") {
				t.Errorf("name %q", m.Name)
			}
			_, _ = a.ReadFile(m.Name) // may be broken
		}
		_, _ = document.WriteArchive("x.tar", data, "new", nil, 0)
		_, _ = document.WriteArchive("x.zip", data, "new", nil, 0)
	})
}
