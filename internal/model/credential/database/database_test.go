package database_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/model/credential/database"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const insert = "INSERT INTO credentials (provider, kind, sealed, created) VALUES ('p', 'api_key', x'00', 1)"

func TestOpenExistingCreatesNothing(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if _, err := database.OpenExisting(context.Background(), home); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("error %v, want not exist", err)
	}
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home directory was created")
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps access lists, not file modes")
	}
	home := filepath.Join(t.TempDir(), "a b?%#ü", "home")
	db, err := database.Open(context.Background(), home)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(insert); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(home)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 { // the file, its log and the log's index
		t.Errorf("%d files beside the write-ahead log: %v", len(files), files)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o, want 600", f.Name(), got)
		}
	}
	info, err := os.Stat(home)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("the directory has mode %o, want 700", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(home, database.FileName)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err = database.OpenExisting(context.Background(), home)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	info, err = os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("a file that others could read kept mode %o", got)
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM credentials").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows after opening again, error %v", n, err)
	}
}

func TestFirstOpenByMany(t *testing.T) {
	home := t.TempDir()
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			db, err := database.Open(context.Background(), home)
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			if _, err := db.Exec(insert); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	db, err := database.Open(context.Background(), home)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	var mode string
	if err := db.QueryRow("SELECT count(*) FROM credentials").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil {
		t.Fatal(err)
	}
	if n != 12 || mode != "wal" {
		t.Errorf("%d rows in journal mode %s, want 12 in wal", n, mode)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, home string)
		want  string
	}{
		{"newer", func(t *testing.T, home string) {
			db, err := database.Open(context.Background(), home)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec("PRAGMA user_version = 999"); err != nil {
				t.Fatal(err)
			}
		}, "update burin"},
		{"no database", func(t *testing.T, home string) {
			if err := os.WriteFile(filepath.Join(home, database.FileName), []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "move the file away"},
		{"a directory", func(t *testing.T, home string) {
			if err := os.Mkdir(filepath.Join(home, database.FileName), 0o700); err != nil {
				t.Fatal(err)
			}
		}, database.FileName},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			tt.spoil(t, home)
			_, err := database.Open(context.Background(), home)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tt.want)
			}
		})
	}
}
