package credential_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zalando/go-keyring"

	"github.com/burin-dev/burin/internal/model/credential"
)

// ring is a keyring in memory, with faults.
type ring struct {
	mu     sync.Mutex
	values map[string]string
	get    func() error
	set    func() error
}

func (r *ring) Get(service, name string) (string, error) {
	if r.get != nil {
		if err := r.get(); err != nil {
			return "", err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if v, ok := r.values[service+"/"+name]; ok {
		return v, nil
	}
	return "", keyring.ErrNotFound
}

func (r *ring) Set(service, name, value string) error {
	if r.set != nil {
		if err := r.set(); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = map[string]string{}
	}
	r.values[service+"/"+name] = value
	return nil
}

// contents is all that is in the home directory.
func contents(t *testing.T, home string) []byte {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

func TestStoredSecretsAreSealed(t *testing.T) {
	w := newWorld(t)
	m := w.open(t)
	const canary = "sk-canary-abcdefghij"
	add(t, m, "openai", canary)
	if bytes.Contains(contents(t, w.home), []byte("canary")) {
		t.Error("the key stands in a file as it is")
	}
	if got := key(t, w.open(t), "openai", "").Secret.Reveal(); got != canary {
		t.Errorf("another process reads %q", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "burin.db": 0o600, "key": 0o600, "locks": 0o700, "locks/key": 0o600} {
		info, err := os.Stat(filepath.Join(w.home, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%q has mode %o, want %o", name, got, want)
		}
	}
	if err := os.Chmod(filepath.Join(w.home, "key"), 0o644); err != nil {
		t.Fatal(err)
	}
	key(t, w.open(t), "openai", "")
	info, err := os.Stat(filepath.Join(w.home, "key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("a key file that others could read kept mode %o", info.Mode().Perm())
	}
}

func TestKeyring(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	tests := []struct {
		name   string
		ring   credential.Keyring
		inFile bool
	}{
		{"works", &ring{}, false},
		{"library", func() credential.Keyring { keyring.MockInit(); return library{} }(), false},
		{"refuses", &ring{set: func() error { return errors.New("locked") }}, true},
		{"forgets", &ring{get: func() error { return keyring.ErrNotFound }}, true},
		{"hangs", &ring{set: func() error { <-hang; return nil }}, true},
		{"none", credential.NoKeyring(), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.ring = tt.ring
			begin := time.Now()
			add(t, w.open(t), "openai", "sk-1")
			if d := time.Since(begin); d > 20*time.Second {
				t.Errorf("storing took %s", d)
			}
			if got := key(t, w.open(t), "openai", "").Secret.Reveal(); got != "sk-1" {
				t.Errorf("read back %q", got)
			}
			text, err := os.ReadFile(filepath.Join(w.home, "key"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(text), " file "); got != tt.inFile {
				t.Errorf("key in a file: %v, want %v", got, tt.inFile)
			}
		})
	}
}

// library is the real library over its own mock.
type library struct{}

func (library) Get(service, name string) (string, error) { return keyring.Get(service, name) }
func (library) Set(service, name, value string) error    { return keyring.Set(service, name, value) }

// Each way to lose or damage a secret gives one line that says what to do,
// keeps the row, and lets other sources and other credentials work.
func TestUnreadableSecrets(t *testing.T) {
	tests := []struct {
		name  string
		ring  *ring
		spoil func(t *testing.T, w *world)
		want  string
	}{
		{"key file gone", nil, func(t *testing.T, w *world) {
			if err := os.Remove(filepath.Join(w.home, "key")); err != nil {
				t.Fatal(err)
			}
		}, "the key file is gone"},
		{"key file damaged", nil, func(t *testing.T, w *world) { write(t, filepath.Join(w.home, "key"), "burin-key-1 file AAAA\n") }, "is damaged"},
		{"key file empty", nil, func(t *testing.T, w *world) { write(t, filepath.Join(w.home, "key"), "") }, "is damaged"},
		{"another key", nil, func(t *testing.T, w *world) {
			write(t, filepath.Join(w.home, "key"), "burin-key-1 file "+strings.Repeat("A", 43)+"\n")
		}, "is another one than it was sealed with"},
		{"keyring forgot", &ring{}, func(_ *testing.T, w *world) { w.ring = &ring{} }, "the keyring did not give the key"},
		{"keyring locked", &ring{}, func(_ *testing.T, w *world) {
			w.ring = &ring{get: func() error { return errors.New("it is locked") }}
		}, "it is locked"},
		{"cut", nil, func(t *testing.T, w *world) { w.sql(t, "UPDATE credentials SET sealed = substr(sealed, 1, 20)") }, "it is damaged"},
		{"empty", nil, func(t *testing.T, w *world) { w.sql(t, "UPDATE credentials SET sealed = x''") }, "it is damaged"},
		{"flipped", nil, func(t *testing.T, w *world) {
			var b []byte
			w.db(t, func(db *sql.DB) {
				if err := db.QueryRow("SELECT sealed FROM credentials").Scan(&b); err != nil {
					t.Fatal(err)
				}
			})
			b[len(b)-1] ^= 1
			w.sql(t, "UPDATE credentials SET sealed = ?", b)
		}, "it is damaged"},
		{"moved to another id", nil, func(t *testing.T, w *world) { w.sql(t, "UPDATE credentials SET id = 9") }, "it is damaged"},
		{"turned into a login", nil, func(t *testing.T, w *world) { w.sql(t, "UPDATE credentials SET kind = 'oauth'") }, "it is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := context.Background()
			w := newWorld(t)
			if tt.ring != nil {
				w.ring = tt.ring
			}
			add(t, w.open(t), "openai", "sk-canary-1")
			tt.spoil(t, w)
			m := w.open(t)
			_, err := m.Key(ctx, "openai", "s")
			var u *credential.UnusableError
			if !errors.As(err, &u) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "burin keys remove") || strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error shows the key: %v", err)
			}
			list, err := m.List(ctx)
			if err != nil || len(list) != 1 || !strings.Contains(list[0].Problem, tt.want) {
				t.Errorf("list %+v, error %v", list, err)
			}
			w.env["OPENAI_API_KEY"] = "from-env"
			r := key(t, m, "openai", "s")
			if r.Secret.Reveal() != "from-env" || !strings.Contains(r.Warning, tt.want) {
				t.Errorf("with a variable: %q, warning %q", r.Source, r.Warning)
			}
		})
	}
}

// A secret cannot be moved to another provider by who can write the file but not
// read the key.
func TestSealBindsProvider(t *testing.T) {
	w := newWorld(t)
	add(t, w.open(t), "openai", "sk-1")
	w.sql(t, "UPDATE credentials SET provider = 'evil'")
	if r, err := w.open(t).Key(context.Background(), "evil", ""); err == nil {
		t.Errorf("the key of openai was given to another provider as %s", r.Source)
	}
}

func TestOneDamagedOfTwo(t *testing.T) {
	w := newWorld(t)
	m := w.open(t)
	ids := add(t, m, "openai", "sk-1", "sk-2")
	w.sql(t, "UPDATE credentials SET sealed = x'00' WHERE id = ?", ids[0])
	for range 3 {
		if got := key(t, m, "openai", "").Secret.Reveal(); got != "sk-2" {
			t.Errorf("got %q", got)
		}
	}
}

func TestBrokenDatabase(t *testing.T) {
	w := newWorld(t)
	write(t, filepath.Join(w.home, "burin.db"), strings.Repeat("no database ", 200))
	m := w.open(t)
	_, err := m.Key(context.Background(), "openai", "")
	var u *credential.UnusableError
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("error %v", err)
	}
	w.env["OPENAI_API_KEY"] = "k"
	if r := key(t, m, "openai", ""); !strings.Contains(r.Warning, "burin.db") {
		t.Errorf("warning %q", r.Warning)
	}
	if have, err := m.Available(context.Background(), "openai"); err == nil || have["openai"].Source == "" {
		t.Errorf("available %v, error %v", have, err)
	}
}

func TestAddAndList(t *testing.T) {
	w := newWorld(t)
	m := w.open(t)
	ctx := context.Background()
	for _, bad := range []string{"", "  ", "two words", "line\nbreak", "ümlaut", "nul\x00"} {
		if _, _, err := m.Add(ctx, "openai", "", credential.Secret(bad)); err == nil || len(bad) > 2 && strings.Contains(err.Error(), bad) {
			t.Errorf("key %q: error %v", bad, err)
		}
	}
	if _, _, err := m.Add(ctx, "", "", "k"); err == nil {
		t.Error("a key without a provider was stored")
	}
	id, added, err := m.Add(ctx, "openai", "work", " sk-0123456789abcdef\n")
	if err != nil || !added {
		t.Fatal(err)
	}
	if err := m.Disable(ctx, id, "refused"); err != nil {
		t.Fatal(err)
	}
	again, added, err := m.Add(ctx, "openai", "", "sk-0123456789abcdef")
	if err != nil || added || again != id {
		t.Errorf("the same key again: id %d, added %v, error %v", again, added, err)
	}
	add(t, m, "anthropic", "sk-ant")
	if r := key(t, m, "openai", ""); r.Source != `stored key 1 "work"` {
		t.Errorf("source %q", r.Source)
	}
	w.now = w.now.Add(time.Minute)
	if err := m.MarkBackoff(ctx, 2, time.Minute); err != nil {
		t.Fatal(err)
	}
	list, err := m.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	begin := w.now.Add(-time.Minute)
	want := []credential.Info{
		{ID: 2, Provider: "anthropic", Kind: credential.KindAPIKey, Hint: "…", Created: begin, Blocked: w.now.Add(time.Minute)},
		{ID: 1, Provider: "openai", Kind: credential.KindAPIKey, Label: "work", Hint: "…cdef", Created: begin, LastUsed: begin},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if err := m.Remove(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if err := m.Remove(ctx, 2); !errors.Is(err, credential.ErrNoCredential) {
		t.Errorf("removed twice: %v", err)
	}
	if got := add(t, m, "anthropic", "sk-new"); got[0] != 3 {
		t.Errorf("id %d was used again", got[0])
	}
}

func TestImport(t *testing.T) {
	w := newWorld(t)
	m := w.open(t)
	ctx := context.Background()
	const text = "# keys\nANTHROPIC_API_KEY=sk-ant\nGOOGLE_API_KEY=g\nXAI_API_KEY=x\nOPENCODE_API_KEY=o\nANTHROPIC_OAUTH_TOKEN=t\nEXA_API_KEY=e\nGROQ_API_KEY=a b\nHF_TOKEN=\n"
	known := func(p string) bool { return p != "opencode" }
	got, err := m.Import(ctx, strings.NewReader(text), known)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Variable, Provider string
		Added, Failed      bool
	}
	var lines []line
	for _, i := range got {
		lines = append(lines, line{i.Variable, i.Provider, i.Added, i.Err != nil})
	}
	want := []line{
		{"ANTHROPIC_API_KEY", "anthropic", true, false},
		{"GOOGLE_API_KEY", "google", true, false},
		{"XAI_API_KEY", "xai", true, false},
		{"OPENCODE_API_KEY", "opencode-go", true, false},
		{"OPENCODE_API_KEY", "opencode-zen", true, false},
		{"ANTHROPIC_OAUTH_TOKEN", "", false, false},
		{"EXA_API_KEY", "", false, false},
		{"GROQ_API_KEY", "groq", false, true},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	again, err := m.Import(ctx, strings.NewReader("ANTHROPIC_API_KEY=sk-ant"), nil)
	if err != nil || len(again) != 1 || again[0].Added || again[0].ID != got[0].ID {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestManyWritersAtOnce(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	var wg sync.WaitGroup
	for i := range 6 {
		m := w.open(t)
		wg.Go(func() {
			if _, _, err := m.Add(ctx, "openai", "", credential.Secret("sk-"+string(rune('a'+i)))); err != nil {
				t.Error(err)
			}
			for range 5 {
				if _, err := m.Key(ctx, "openai", ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	list, err := w.open(t).List(ctx)
	if err != nil || len(list) != 6 {
		t.Fatalf("%d credentials, error %v", len(list), err)
	}
	for _, i := range list {
		if i.Problem != "" {
			t.Errorf("credential %d: %s", i.ID, i.Problem)
		}
	}
}

func FuzzEnvFile(f *testing.F) {
	f.Add("OPENAI_API_KEY=x\n#y\n  A = 'b'\n")
	f.Add("=\n'\nA='\nA=\"'\n\xff\x00")
	f.Fuzz(func(t *testing.T, text string) {
		m := credential.New(credential.Options{Home: t.TempDir(), LookupEnv: func(string) (string, bool) { return "", false }, EnvFiles: []string{}, Keyring: credential.NoKeyring()})
		defer m.Close()
		got, err := m.Import(context.Background(), strings.NewReader(text), func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range got {
			if i.Variable == "" || strings.ContainsAny(i.Variable, "= \n\x00#\"'") || !strings.Contains(text, i.Variable) {
				t.Errorf("variable %q of %q", i.Variable, text)
			}
		}
	})
}
