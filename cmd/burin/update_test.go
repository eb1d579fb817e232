//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/host/update/minisign"
	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// signingKey is a key of releases that the programs of these tests know.
func signingKey(t *testing.T, of byte) minisign.PrivateKey {
	t.Helper()
	key, err := minisign.ParseSeed(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{of}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// buildRelease builds burin as a release of a version, with or without the key of these
// tests.
func buildRelease(t *testing.T, version string, keyed bool) string {
	t.Helper()
	dir := t.TempDir()
	to := filepath.Join(dir, "burin")
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.tag=" + version, "-o", to}
	if keyed {
		file, err := filepath.Abs("../../internal/host/update/release.pub")
		if err != nil {
			t.Fatal(err)
		}
		own, overlay := filepath.Join(dir, "release.pub"), filepath.Join(dir, "overlay.json")
		writeFile(t, own, []byte("# of a test\n"+signingKey(t, 1).Public().String()+"\n"), 0o600)
		text, err := json.Marshal(map[string]any{"Replace": map[string]string{file: own}})
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, overlay, text, 0o600)
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return to
}

// published are the files of a release.
type published struct {
	version string
	files   map[string][]byte
}

// archiveName is the archive of this platform.
func archiveName(version string) string {
	return fmt.Sprintf("burin_%s_%s_%s.tar.gz", strings.TrimPrefix(version, "v"), runtime.GOOS, runtime.GOARCH)
}

// publish makes a release of an archive, signed.
func publish(t *testing.T, version string, archive []byte) *published {
	p := &published{version: version, files: map[string][]byte{archiveName(version): archive}}
	p.sign(t, 1)
	return p
}

// sign writes the checksums of what is there, and their signature by a key.
func (p *published) sign(t *testing.T, key byte) {
	var sums bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if !strings.HasPrefix(name, "checksums") {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(p.files[name]), name)
		}
	}
	p.files["checksums.txt"] = sums.Bytes()
	p.files["checksums.txt.minisig"] = signingKey(t, key).Sign(sums.Bytes(), "burin "+p.version)
}

// packed is an archive with one entry per header, as long as its size says.
func packed(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, h := range entries {
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		content := h.PAXRecords["TEST.content"]
		h.PAXRecords, h.Size = nil, int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// entry is a file for packed.
func entry(name, content string) tar.Header {
	return tar.Header{Name: name, PAXRecords: map[string]string{"TEST.content": content}}
}

// packedProgram is the archive of a release.
func packedProgram(t *testing.T, file, version string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.NoCompression) // nobody waits for its 40 MB
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zipped)
	for _, f := range []struct {
		name    string
		content []byte
	}{{"LICENSE", []byte("MIT\n")}, {"man/burin.1", []byte(".TH\n")}, {"burin", content}, {"completions/_burin", []byte("#\n")}, {"web/mermaid.js.gz", []byte("draws")}, {"web/version", []byte(version)}} {
		err = w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.content))})
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bomb is an archive whose file holds 10 GB of zeros in 10 MB.
func bomb(t *testing.T, name string) []byte {
	t.Helper()
	const block, blocks = 64 << 20, 160
	member := func(write func(io.Writer)) []byte {
		var out bytes.Buffer
		zipped := gzip.NewWriter(&out)
		write(zipped)
		if err := zipped.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	head := member(func(w io.Writer) {
		if err := tar.NewWriter(w).WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: block * blocks, Format: tar.FormatGNU}); err != nil {
			t.Fatal(err)
		}
	})
	zeros := member(func(w io.Writer) { _, _ = w.Write(make([]byte, block)) })
	return append(head, bytes.Repeat(zeros, blocks)...)
}

// mirror serves releases as GitHub does.
type mirror struct {
	*httptest.Server
	mu     sync.Mutex
	newest string
	all    map[string]*published
	log    []string
	raw    func(w http.ResponseWriter, r *http.Request) bool // serves in place of the mirror
}

func newMirror(t *testing.T, start func(http.Handler) *httptest.Server, releases ...*published) *mirror {
	m := &mirror{all: map[string]*published{}}
	for _, p := range releases { // the newest last
		m.all[p.version], m.newest = p, p.version
	}
	m.Server = start(m)
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.log = append(m.log, r.URL.Path)
	newest, all, raw := m.newest, m.all, m.raw
	m.mu.Unlock()
	if raw != nil && raw(w, r) {
		return
	}
	if version, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files/"), "/"); ok && all[version] != nil {
		_, _ = w.Write(all[version].files[name])
		return
	}
	p := all[newest]
	if version, ok := strings.CutPrefix(r.URL.Path, "/releases/tags/"); ok {
		p = all[version]
	} else if r.URL.Path != "/releases/latest" {
		p = nil
	}
	if p == nil {
		http.NotFound(w, r)
		return
	}
	type asset struct {
		Name string `json:"name"`
		URL  string `json:"browser_download_url"`
	}
	base := "http://" + r.Host
	if r.TLS != nil {
		base = "https://" + r.Host
	}
	var assets []asset
	for name := range p.files {
		assets = append(assets, asset{name, base + "/files/" + p.version + "/" + name})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"tag_name": p.version, "assets": assets})
}

func (m *mirror) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.log)
}

// installation is a burin that was installed from an archive.
type installation struct {
	t    *testing.T
	dir  string // of the program
	home string
	env  []string
}

// install puts a program where people put them, without copying it.
func install(t *testing.T, program string, m *mirror, into ...string) *installation {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(append([]string{home, "bin"}, into...)...)
	for _, d := range []string{dir, filepath.Join(home, "tmp")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(program, filepath.Join(dir, "burin")); err != nil {
		t.Fatal(err)
	}
	return &installation{t: t, dir: dir, home: home, env: []string{
		"HOME=" + home, "BURIN_HOME=" + home + "/home", "TMPDIR=" + home + "/tmp", "BURIN_NO_KEYRING=1", "PATH=" + os.Getenv("PATH"),
		"BURIN_UPDATE_URL=" + m.URL + "/releases",
	}}
}

func (i *installation) program() string { return filepath.Join(i.dir, "burin") }

// command is a call of the installed program.
func (i *installation) command(args ...string) *exec.Cmd {
	cmd := exec.Command(i.program(), args...)
	cmd.Dir, cmd.Env = i.home, i.env
	return cmd
}

// says runs the program and wants its output to hold words.
func (i *installation) says(words string, args ...string) {
	i.t.Helper()
	out, err := i.command(args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), words) {
		i.t.Fatalf("burin %s: %v\n%s\nwant %q", strings.Join(args, " "), err, out, words)
	}
}

// refuses runs the program, which must fail with words on one line and leave all as it was.
func (i *installation) refuses(words string, args ...string) *os.ProcessState {
	i.t.Helper()
	before, err := os.Stat(i.program())
	if err != nil {
		i.t.Fatal(err)
	}
	cmd := i.command(args...)
	var said strings.Builder
	cmd.Stderr = &said
	err = cmd.Run()
	if code := exitCode(i.t, err); code != 1 {
		i.t.Errorf("exit code %d", code)
	}
	if line := said.String(); !strings.Contains(line, words) || strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "burin: ") {
		i.t.Errorf("burin says %q, want %q on one line", line, words)
	}
	after, err := os.Stat(i.program())
	if err != nil || !os.SameFile(before, after) || after.Size() != before.Size() {
		i.t.Errorf("the program was changed: %v", err)
	}
	if got := i.files(i.dir); !slices.Equal(got, []string{"burin"}) {
		i.t.Errorf("beside the program: %v", got)
	}
	if got := i.files(i.home + "/tmp"); len(got) > 0 {
		i.t.Errorf("left behind: %v", got)
	}
	return cmd.ProcessState
}

func (i *installation) files(dir string) (names []string) {
	i.t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		i.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestUpdate(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	one, two := buildRelease(t, "v0.1.0", true), buildRelease(t, "v0.2.0", true)
	first, second := publish(t, "v0.1.0", packedProgram(t, one, "v0.1.0")), publish(t, "v0.2.0", packedProgram(t, two, "v0.2.0"))

	t.Run("forward and back", func(t *testing.T) {
		m := newMirror(t, httptest.NewTLSServer, first, second)
		i := install(t, one, m)
		certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw})
		i.env = append(i.env, "NODE_EXTRA_CA_CERTS="+string(certificate))

		if err := os.Mkdir(filepath.Join(i.dir, "web"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"version", "mermaid.js.gz"} {
			if err := os.WriteFile(filepath.Join(i.dir, "web", name), []byte("v0.0.1"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		i.says("burin v0.2.0 is available, this is v0.1.0: burin update\n", "update", "--check")
		i.says("burin v0.1.0\n", "--version")
		i.says("burin v0.2.0 is installed. The one before is ~/bin/burin.old; burin update --back restores it.\n", "update")
		i.says("burin v0.2.0\n", "--version")
		i.says("burin v0.2.0 is up to date", "update", "--check")
		i.says("burin v0.2.0 is already installed.\n", "update")
		i.says("This is burin v0.1.0 again.", "update", "--back")
		i.says("burin v0.1.0\n", "--version")
		i.says("This is burin v0.2.0 again.", "update", "--back")
		i.says("burin v0.2.0\n", "--version")
		i.says("burin v0.1.0 is installed", "update", "--version", "0.1.0")
		i.says("burin v0.1.0\n", "--version")
		if got := i.files(i.dir); !slices.Equal(got, []string{"burin", "burin.old", "web", "web.old"}) {
			t.Errorf("beside the program: %v", got)
		}
		if got, err := os.ReadFile(filepath.Join(i.dir, "web", "version")); err != nil || string(got) != "v0.1.0" {
			t.Errorf("the folder beside the program is of %s, %v", got, err)
		}
		if info, err := os.Stat(i.program()); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("the program's mode is %v, %v", info.Mode(), err)
		}
	})

	t.Run("through a link", func(t *testing.T) {
		i := install(t, one, newMirror(t, httptest.NewServer, second))
		link := filepath.Join(i.home, "link")
		if err := os.Symlink(i.program(), link); err != nil {
			t.Fatal(err)
		}
		cmd := i.command("update")
		cmd.Path = link
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if to, err := os.Readlink(link); err != nil || to != i.program() {
			t.Errorf("the link leads to %q, %v", to, err)
		}
		i.says("burin v0.2.0\n", "--version")
	})

	for _, tt := range []struct {
		name    string
		release func(t *testing.T) *published
		words   string
	}{
		{"signed by another key", func(t *testing.T) *published {
			p := publish(t, "v0.2.0", packed(t, entry("burin", "evil")))
			p.sign(t, 2)
			return p
		}, "signed by an unknown key"},
		{"checksums changed afterwards", func(t *testing.T) *published {
			p := publish(t, "v0.2.0", packed(t, entry("burin", "good")))
			signature := p.files["checksums.txt.minisig"]
			p.files[archiveName("v0.2.0")] = packed(t, entry("burin", "evil"))
			p.sign(t, 1)
			p.files["checksums.txt.minisig"] = signature
			return p
		}, "the content is not what was signed"},
		{"no signature", func(t *testing.T) *published {
			p := publish(t, "v0.2.0", packed(t, entry("burin", "x")))
			delete(p.files, "checksums.txt.minisig")
			return p
		}, "has no checksums.txt.minisig"},
		{"another archive", func(t *testing.T) *published {
			p := publish(t, "v0.2.0", packed(t, entry("burin", "good")))
			p.files[archiveName("v0.2.0")] = packed(t, entry("burin", "evil"))
			return p
		}, "the checksum of burin_0.2.0_"},
		{"truncated archive", func(t *testing.T) *published {
			whole := second.files[archiveName("v0.2.0")]
			return publish(t, "v0.2.0", whole[:len(whole)/2])
		}, "it is cut off"},
		{"an old release under a new name", func(*testing.T) *published {
			return &published{version: "v0.9.0", files: first.files}
		}, "has no burin_0.9.0_"},
		{"a path outside", func(t *testing.T) *published {
			return publish(t, "v0.2.0", packed(t, entry("../../outside", "evil"), entry("burin", "x")))
		}, `"../../outside" leads out of it`},
		{"an absolute path", func(t *testing.T) *published {
			return publish(t, "v0.2.0", packed(t, entry("/tmp/outside", "evil"), entry("burin", "x")))
		}, `"/tmp/outside" leads out of it`},
		{"a link for a program", func(t *testing.T) *published {
			return publish(t, "v0.2.0", packed(t, tar.Header{Name: "burin", Typeflag: tar.TypeSymlink, Linkname: "/bin/sh"}))
		}, "its burin is no file"},
		{"two programs", func(t *testing.T) *published {
			return publish(t, "v0.2.0", packed(t, entry("burin", "a"), entry("burin", "b")))
		}, "there twice"},
		{"no program", func(t *testing.T) *published {
			return publish(t, "v0.2.0", packed(t, entry("README.md", "a")))
		}, "it holds no burin"},
		{"a program that does not run", func(t *testing.T) *published {
			return publish(t, "v0.2.0", packed(t, entry("burin", "no program")))
		}, "the new burin doesn't run here"},
		{"a program of another version", func(t *testing.T) *published {
			return publish(t, "v0.3.0", second.files[archiveName("v0.2.0")])
		}, `says that it is "v0.2.0", not v0.3.0`},
		{"a bomb in place of the program", func(t *testing.T) *published {
			return publish(t, "v0.2.0", bomb(t, "burin"))
		}, "it unpacks to more than 400 MB"},
		{"a bomb beside the program", func(t *testing.T) *published {
			return publish(t, "v0.2.0", bomb(t, "padding"))
		}, "it unpacks to more than 400 MB"},
		{"an older release", func(*testing.T) *published {
			return &published{version: "v0.0.9", files: first.files}
		}, "v0.0.9, the newest release, is not newer than this burin, v0.1.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMirror(t, httptest.NewServer, tt.release(t))
			ended := install(t, one, m).refuses(tt.words, "update")
			// What a program took counts from before it was one: no less than this test has.
			if memory := peakMemory(ended); memory > max(200<<20, ownPeakMemory(t)) {
				t.Errorf("it took %d MB of memory", memory>>20)
			}
			if _, err := os.Stat("/tmp/outside"); err == nil {
				t.Error("a file was written outside")
			}
		})
	}

	for _, tt := range []struct {
		name  string
		raw   func(w http.ResponseWriter, r *http.Request) bool
		words string
	}{
		{"download breaks off", func(w http.ResponseWriter, r *http.Request) bool {
			whole := second.files[filepath.Base(r.URL.Path)]
			if !strings.HasSuffix(r.URL.Path, ".tar.gz") {
				return false
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
			_, _ = w.Write(whole[:len(whole)/2])
			panic(http.ErrAbortHandler)
		}, "it broke off: nothing was changed"},
		{"too large", func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, ".tar.gz") {
				w.Header().Set("Content-Length", "900000000")
			}
			return strings.HasSuffix(r.URL.Path, ".tar.gz")
		}, "larger than 200 MB"},
		{"no releases", func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }, "no release of burin found"},
		{"too many requests", func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(403); return true }, "try again later"},
		{"a page of the network", func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, "<html>Log in</html>")
			return true
		}, "not a release of burin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMirror(t, httptest.NewServer, second)
			m.mu.Lock()
			m.raw = tt.raw
			m.mu.Unlock()
			install(t, one, m).refuses(tt.words, "update")
		})
	}

	t.Run("package managers", func(t *testing.T) {
		for _, tt := range []struct{ folder, words string }{
			{"Caskroom/burin/0.1.0", "Homebrew installed this burin: run brew upgrade --cask burin"},
			{"Cellar/burin/0.1.0/bin", "run brew upgrade burin"},
			{"scoop/apps/burin/current", "run scoop update burin"},
			{"nix/store/abc-burin-0.1.0/bin", "run nix profile upgrade burin"},
		} {
			m := newMirror(t, httptest.NewServer, second)
			i := install(t, one, m, tt.folder)
			i.refuses(tt.words, "update")
			if m.asked() > 0 {
				t.Errorf("%s: the mirror was asked", tt.folder)
			}
			_, command, _ := strings.Cut(tt.words, "run ")
			i.says("burin v0.2.0 is available, this is v0.1.0: "+command, "update", "--check")
		}
	})

	t.Run("folder of another user", func(t *testing.T) {
		m := newMirror(t, httptest.NewServer, second)
		i := install(t, one, m)
		if err := os.Chmod(i.dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(i.dir, 0o755) })
		if os.Geteuid() == 0 { // who may write everywhere
			for _, dir := range []string{i.home, filepath.Dir(i.home)} {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := i.command("update")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			out, err := cmd.CombinedOutput()
			if errors.Is(err, os.ErrPermission) {
				t.Skip("temporary files are out of the reach of others: ", err)
			}
			if code := exitCode(t, err); code != 1 || !strings.Contains(string(out), "can't write to "+i.dir+": run sudo burin update") {
				t.Errorf("%d %s", code, out)
			}
			return
		}
		i.refuses("can't write to "+i.dir+": run sudo burin update", "update")
	})

	t.Run("running session", func(t *testing.T) {
		i := install(t, one, newMirror(t, httptest.NewServer, second))
		r := i.terminal()
		r.WaitText("Ask anything")
		i.says("burin v0.2.0 is installed", "update")
		i.says("burin v0.2.0\n", "--version")
		r.Type("!echo still $((40+2))")
		r.Press("enter")
		r.WaitText("still 42")
	})
}

// terminal starts the installed program in a terminal, with a model that can be asked.
func (i *installation) terminal(env ...string) *robot.Robot {
	i.t.Helper()
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(model.Close)
	writeFile(i.t, i.home+"/home/models.yml", []byte("providers: {anthropic: {baseUrl: '"+model.URL+"', apiKey: k, api: anthropic-messages}}\n"), 0o600)
	dir := filepath.Join(i.home, "project")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		i.t.Fatal(err)
	}
	env = append(i.env, env...)
	for _, name := range []string{"OLLAMA_HOST", "LLAMA_CPP_BASE_URL", "LM_STUDIO_BASE_URL"} {
		env = append(env, name+"=http://127.0.0.1:1")
	}
	return robot.Start(i.t, robot.Options{Timeout: time.Minute, Dir: dir, Env: append(env, "BURIN_SKIP_SETUP=1")}, i.program(), "--model", "anthropic/claude-opus-4-5")
}
