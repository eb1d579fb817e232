package access_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/host/access"
	"github.com/burin-dev/burin/session/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, home string) *access.Store {
	t.Helper()
	s := access.New(home)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// What one process adds or removes, another knows at once; the file has no secret.
func TestTokens(t *testing.T) {
	home := t.TempDir()
	server, person := open(t, home), open(t, home)
	if all, err := server.List(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("looking made %v, %v", entries, err)
	}
	secret, err := person.Add(t.Context(), "one", remote.Steer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := person.Add(t.Context(), "two", remote.Own, time.Now().Add(time.Hour))
	if err != nil || other == secret {
		t.Fatalf("%q, %v", other, err)
	}
	if _, err := person.Add(t.Context(), "one", remote.Own, time.Time{}); !errors.Is(err, access.ErrTaken) {
		t.Errorf("the same name: %v", err)
	}
	for what, want := range map[string]string{secret: "one", other: "two"} {
		if got, err := server.Find(t.Context(), what); err != nil || got.Name != want {
			t.Errorf("%v, %v", got, err)
		}
	}
	for _, wrong := range []string{"", "burin_", secret[:len(secret)-1], secret + "x", strings.ToLower(secret), strings.TrimPrefix(secret, access.Prefix)} {
		if got, err := server.Find(t.Context(), wrong); !errors.Is(err, access.ErrUnknown) {
			t.Errorf("%q is %v, %v", wrong, got, err)
		}
	}
	all, err := person.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "one" || all[0].Rights != remote.Steer || all[0].Used.IsZero() || !all[0].Expires.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	if err := person.Remove(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Find(t.Context(), secret); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("a removed token: %v", err)
	}
	if err := person.Remove(t.Context(), "one"); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("removed twice: %v", err)
	}
	err = filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), strings.TrimPrefix(other, access.Prefix)) {
			t.Errorf("%s has the secret", d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestExpiredTokens(t *testing.T) {
	s := open(t, t.TempDir())
	secret, err := s.Add(t.Context(), "old", remote.Own, time.Now().Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Find(t.Context(), secret); !errors.Is(err, access.ErrUnknown) {
		t.Errorf("%v, %v", got, err)
	}
	if all, err := s.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestNamesAndRights(t *testing.T) {
	s := open(t, t.TempDir())
	for _, name := range []string{"", " a", "a\n", "a\x1b[2J", strings.Repeat("x", 65)} {
		if _, err := s.Add(t.Context(), name, remote.Watch, time.Time{}); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	if _, err := s.Add(t.Context(), "a", "all", time.Time{}); err == nil {
		t.Error("there is a right all")
	}
}

func BenchmarkFind(b *testing.B) {
	s := access.New(b.TempDir())
	defer s.Close()
	secret, err := s.Add(b.Context(), "one", remote.Own, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Find(b.Context(), secret); err != nil {
			b.Fatal(err)
		}
	}
}
