package update

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/host/update/minisign"
)

func TestReleased(t *testing.T) {
	for version, want := range map[string]bool{
		"v0.1.0": true, "v1.2.3-rc.1": true, "devel": false, "unknown": false, "": false, "0.1.0": false,
		"v0.0.0-20261127015635-572b210b0d5e": false, "v0.1.1-0.20261127015635-572b210b0d5e": false, "v0.1.0+dirty": false,
	} {
		if got := released(version); got != want {
			t.Errorf("%q is a release: %v", version, got)
		}
	}
	u := &Updater{version: "v0.9.0"}
	for version, want := range map[string]bool{"v0.10.0": true, "v0.9.0": false, "v0.8.9": false, "v0.9.0-rc.1": false, "v1.0.0-rc.1": true} {
		if got := u.Newer(version); got != want {
			t.Errorf("%s is newer than v0.9.0: %v", version, got)
		}
	}
}

// What to run is named, where that is anything.
func TestHow(t *testing.T) {
	key, err := minisign.ParseSeed("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	if err != nil {
		t.Fatal(err)
	}
	keys, own := []minisign.PublicKey{key.Public()}, filepath.Join(t.TempDir(), "burin")
	for want, u := range map[string]*Updater{
		"burin update":       {version: "v0.1.0", keys: keys, exe: own},
		"see " + Page:        {version: "v0.1.0", exe: own},
		"brew upgrade burin": {version: "v0.1.0", keys: keys, exe: filepath.FromSlash("/x/Cellar/burin/1/bin/burin")},
	} {
		if got := u.How(t.Context()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The keys that are compiled in can be read, or no release could be checked.
func TestKeys(t *testing.T) {
	if _, err := Keys(); err != nil {
		t.Error(err)
	}
}

func TestManagers(t *testing.T) {
	for path, want := range map[string]string{
		"/nix/store/x-burin/bin/burin": "Nix", "/opt/homebrew/Caskroom/burin/1.0.0/burin": "Homebrew",
		"/opt/homebrew/Cellar/burin/1.0.0/bin/burin": "Homebrew", "C:/Users/a/scoop/apps/burin/current/burin.exe": "Scoop",
	} {
		if m := managerOf(t.Context(), filepath.FromSlash(path)); m.name != want || m.update == "" {
			t.Errorf("%s belongs to %+v, want %s", path, m, want)
		}
	}
	scoop := filepath.Join(t.TempDir(), "elsewhere", "apps", "burin", "1.0.0")
	if err := os.MkdirAll(scoop, 0o700); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(scoop, "burin.exe")
	if m := managerOf(t.Context(), exe); m.name != "" {
		t.Errorf("a program of nobody's belongs to %+v", m)
	}
	put(t, filepath.Join(scoop, "install.json"), "{}")
	if m := managerOf(t.Context(), exe); m.name != "Scoop" {
		t.Errorf("scoop's program belongs to %+v", m)
	}
	if m := (&Updater{module: true}).manager(t.Context()); m.name != "go install" {
		t.Errorf("what go install has built belongs to %+v", m)
	}
	if _, err := os.Stat("/var/lib/dpkg/info/dpkg.list"); err == nil && runtime.GOOS == "linux" {
		if m := managerOf(t.Context(), "/usr/bin/dpkg-query"); m.name != "dpkg" {
			t.Errorf("a program of Debian's belongs to %+v", m)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	exe, old, next := filepath.Join(dir, "burin.exe"), filepath.Join(dir, "burin.old.exe"), filepath.Join(dir, ".burin-1.exe")
	if former(exe) != old || former(filepath.Join(dir, "burin")) != filepath.Join(dir, "burin.old") {
		t.Errorf("the former of %s is %s", exe, former(exe))
	}
	put(t, exe, "1")
	for _, version := range []string{"2", "3"} { // also over an older one
		was := text(t, exe)
		put(t, next, version)
		if err := replace(exe, next, old); err != nil {
			t.Fatal(err)
		}
		if text(t, exe) != version || text(t, old) != was {
			t.Errorf("there are %s and %s, want %s and %s", text(t, exe), text(t, old), version, was)
		}
	}
	if err := replace(exe, next, old); err == nil || text(t, exe) != "3" {
		t.Errorf("without a new program: %v, %s is there", err, text(t, exe))
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) > 2 {
		t.Errorf("%v %v", names, err)
	}
}

// A program that runs can be replaced, which Windows is particular about. It goes on.
func TestReplaceRunning(t *testing.T) {
	if os.Getenv("UPDATE_TEST_RUNS") != "" { // the program
		fmt.Println("running")
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println("still running")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exe, old, next := filepath.Join(dir, "burin.exe"), filepath.Join(dir, "burin.old.exe"), filepath.Join(dir, ".burin-1.exe")
	put(t, exe, text(t, self))
	put(t, next, "new")
	cmd := exec.Command(exe, "-test.run=^TestReplaceRunning$")
	cmd.Env = append(os.Environ(), "UPDATE_TEST_RUNS=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); err != nil || strings.TrimSpace(line) != "running" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := replace(exe, next, old); err != nil {
		t.Error(err)
	}
	if got := text(t, exe); got != "new" {
		t.Errorf("there is %q", got)
	}
	_ = in.Close()
	if rest, err := io.ReadAll(said); err != nil || !strings.HasPrefix(string(rest), "still running") {
		t.Errorf("%q, %v", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// zipped is an archive for Windows.
func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const testLimit = 2 << 20 // of what is unpacked

func unpackBytes(t testing.TB, archive []byte, name string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	err = unpack(f, name, testLimit, &out, t.TempDir(), []string{"web"})
	return out.String(), err
}

func TestUnpackZip(t *testing.T) {
	const name = "burin_0.1.0_windows_amd64.zip"
	for _, tt := range []struct{ archive, want, problem string }{
		{string(zipped(t, "LICENSE", "MIT", "burin.exe", "program")), "program", ""},
		{string(zipped(t, "LICENSE", "MIT")), "", "holds no burin"},
		{string(zipped(t, "../evil", "x", "burin.exe", "program")), "", "leads out"},
		{string(zipped(t, `..\evil`, "x", "burin.exe", "program")), "", "leads out"},
		{string(zipped(t, "burin.exe", "a", "burin.exe", "b")), "", "twice"},
		{string(zipped(t, "burin.exe", string(make([]byte, testLimit+1)))), "", "more than 2 MB"},
		{string(zipped(t, "web/mermaid.js.gz", string(make([]byte, testLimit/2)), "web/version", "v1", "web/other", string(make([]byte, testLimit/2)), "burin.exe", "program")), "", "more than 2 MB"},
		{string(zipped(t, "web/a/b", "x", "burin.exe", "program")), "", "in a folder of its own"},
		{string(zipped(t, "web/version", "a", "web/version", "b", "burin.exe", "program")), "", "exists"},
		{string(zipped(t, "burin.exe", "program")[:50]), "", "zip"},
		{"", "", "zip"},
	} {
		got, err := unpackBytes(t, []byte(tt.archive), name)
		if tt.problem == "" {
			if err != nil || got != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%v, want %s", err, tt.problem)
		}
	}
}

// Errors of requests don't hold addresses, which may have keys.
func TestErrorsHaveNoAddress(t *testing.T) {
	u, err := New(Options{Version: "v0.1.0", Getenv: func(name string) string {
		return map[string]string{"BURIN_UPDATE_URL": "http://user:secret@127.0.0.1:1/x"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, ask := range []func() error{
		func() error { _, err := u.Newest(t.Context()); return err },
		func() error { _, err := u.Find(t.Context(), "0.1.0"); return err },
	} {
		if err := ask(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := u.Newest(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	for _, version := range []string{"", "x", "1", "0.1", "0.1.0+x", "../latest", "0.1.0/../../x"} {
		if _, err := u.Find(t.Context(), version); err == nil || !strings.Contains(err.Error(), "not the version of a release") {
			t.Errorf("%q: %v", version, err)
		}
	}
	u.getenv = func(string) string { return "file:///etc/passwd" }
	if _, err := u.Newest(t.Context()); err == nil || !strings.Contains(err.Error(), "BURIN_UPDATE_URL") {
		t.Errorf("%v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	err := errors.Join(w.WriteHeader(&tar.Header{Name: "burin", Mode: 0o755, Size: 7}), func() error { _, err := w.Write([]byte("program")); return err }(), w.Close(), z.Close())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes(), false)
	f.Add(zipped(f, "burin.exe", "program"), true)
	f.Fuzz(func(t *testing.T, archive []byte, isZip bool) {
		name := "a.tar.gz"
		if isZip {
			name = "a.zip"
		}
		got, err := unpackBytes(t, archive, name)
		if len(got) > testLimit {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

// The folders of a release beside the program change with it, and a folder of the user's that has the
// name of one stays.
func TestFolders(t *testing.T) {
	dir, stage := t.TempDir(), t.TempDir()
	has := func(folder, version string, files ...string) {
		t.Helper()
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(files, "version") {
			put(t, filepath.Join(folder, name), version)
		}
	}
	has(filepath.Join(dir, "web"), "1", "mermaid.js.gz")
	has(filepath.Join(dir, "private"), "mine", "diary.txt")
	if got := beside(dir); len(got) != 1 || got[0] != "web" {
		t.Fatalf("the folders of the release are %v", got)
	}
	for _, version := range []string{"2", "3"} {
		has(filepath.Join(stage, "web"), version, "mermaid.js.gz")
		has(filepath.Join(stage, "private"), version, "burin.wasm.gz")
		if err := swap(dir, stage); err != nil {
			t.Fatal(err)
		}
	}
	is := func(now, old string) {
		t.Helper()
		if got := text(t, filepath.Join(dir, "web", "version")) + text(t, filepath.Join(dir, "web.old", "version")); got != now+old {
			t.Errorf("there are %s, want %s and %s", got, now, old)
		}
		if text(t, filepath.Join(dir, "private", "diary.txt")) != "mine" {
			t.Error("the user's folder has changed")
		}
	}
	is("3", "2")
	for _, want := range []string{"23", "32"} {
		if err := swapBack(dir); err != nil {
			t.Fatal(err)
		}
		is(want[:1], want[1:])
	}
	if err := os.RemoveAll(filepath.Join(dir, "web.old")); err != nil {
		t.Fatal(err)
	}
	has(filepath.Join(dir, "web.old"), "mine", "site.html")
	has(filepath.Join(stage, "web"), "4", "mermaid.js.gz")
	if err := swap(dir, stage); err == nil || text(t, filepath.Join(dir, "web.old", "site.html")) != "mine" || text(t, filepath.Join(dir, "web", "version")) != "3" {
		t.Errorf("over the user's web.old: %v", err)
	}
}
