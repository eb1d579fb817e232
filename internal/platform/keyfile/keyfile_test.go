package keyfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/platform/keyfile"
)

func TestMakeGivesAllTheSameKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, "key")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := make([][]byte, 16)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, err := keyfile.Make(path)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	wg.Wait()
	for _, key := range keys {
		if len(key) != keyfile.Size || !bytes.Equal(key, keys[0]) {
			t.Errorf("key %x, want %x", key, keys[0])
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 { // the key and the lock
		t.Errorf("files left: %v", left)
	}
}

func TestMakeReplacesShortKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keyfile.Read(path); err == nil {
		t.Error("a short key is read")
	}
	key, err := keyfile.Make(path)
	if err != nil || len(key) != keyfile.Size {
		t.Fatalf("key %x, %v", key, err)
	}
	if again, err := keyfile.Read(path); err != nil || !bytes.Equal(again, key) {
		t.Errorf("read again: %x, %v", again, err)
	}
}
