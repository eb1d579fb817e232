//go:build unix

package place_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process/killtest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

const convertEnv = "BURIN_TEST_CONVERT"

// TestConvertUntilKilled is the child of TestKillDuringConvert: it encrypts a session,
// takes words out of it and puts them back, and encrypts it with another key, again and
// again until it is killed.
func TestConvertUntilKilled(t *testing.T) {
	path, asked := os.Getenv(convertEnv), 0
	if path == "" {
		t.Skip("it runs as a child of TestKillDuringConvert")
	}
	trash, blobs := filepath.Join(filepath.Dir(path), "trash"), transcript.NewBlobs(t.TempDir())
	fmt.Println("ready")
	for {
		for b := byte(1); b <= 2; b++ {
			k := keys(t, b, &asked)
			if _, err := place.Seal(path, k, blobs, trash); err != nil {
				t.Fatal(err)
			}
			for _, change := range []*strings.Replacer{strings.NewReplacer("secret", "hidden"), strings.NewReplacer("hidden", "secret")} {
				if err := rewritten(path, k, change); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := place.Unseal(path, k, trash); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// rewritten puts other records in the place of those of a session, as a scrub does.
func rewritten(path string, k place.Keys, change *strings.Replacer) error {
	store, err := place.Store(path, k)
	if err != nil {
		return err
	}
	var records [][]byte
	err = store.Records(func(_ transcript.Ref, r []byte) error {
		records = append(records, []byte(change.Replace(string(r))))
		return nil
	})
	if err == nil {
		err = store.Replace(slices.Values(records))
	}
	return errors.Join(err, store.Close())
}

// Wherever the encryption of a session, its end, a scrub or a change of the key is killed,
// the session is whole in its place, under one of the keys or none; what belonged to it is
// there or in the trash, and all of that can be done again.
func TestKillDuringConvert(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	const messages, outputs = 60, 10
	for range 10 {
		dir, asked := t.TempDir(), 0
		path := filepath.Join(dir, "2026_ab.jsonl")
		l, err := place.Create(t.Context(), path, nil, false, transcript.Header{ID: "ab", CWD: "/"}, transcript.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for n := range messages {
			want = append(want, fmt.Sprintf("secret %d %s", n, strings.Repeat("word ", 50*n)))
			entry := says(want[n])
			if n%2 == 1 {
				entry.Message.Role = "assistant"
			}
			appendAll(t, l, entry)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(transcript.ArtifactDir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		for n := range outputs {
			if err := os.WriteFile(filepath.Join(transcript.ArtifactDir(path), fmt.Sprintf("%d.bash.log", n)), []byte("output"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		killtest.Kill(t, "TestConvertUntilKilled", convertEnv+"="+path, 60*time.Millisecond)

		k := keyOf(t, path, keys(t, 1, &asked), keys(t, 2, &asked))
		got := texts(t, path, k, transcript.Options{})
		hidden := strings.Split(strings.ReplaceAll(strings.Join(want, "\n"), "secret", "hidden"), "\n")
		if !slices.Equal(got, want) && !slices.Equal(got, hidden) {
			t.Fatalf("the session has other words:\n%.2000s", cmp.Diff(want, got))
		}
		there := map[string]int{}
		err = walk(os.DirFS(dir), func(path string, data []byte) {
			if strings.HasSuffix(path, ".bash.log") && bytes.Equal(data, []byte("output")) {
				there[filepath.Base(path)]++
			}
		})
		if err != nil || len(there) != outputs {
			t.Errorf("of %d outputs there are %v, %v", outputs, there, err)
		}
		again(t, path, k)
	}
}

// keyOf is the one of the keys that fits a session; nil if it is in the clear.
func keyOf(t *testing.T, path string, all ...place.Keys) place.Keys {
	t.Helper()
	for _, k := range append([]place.Keys{nil}, all...) {
		l, _, err := place.Read(t.Context(), path, k, transcript.Options{})
		switch {
		case err == nil:
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return k
		case !errors.Is(err, transcript.ErrSealedSession) && !errors.Is(err, sealed.ErrKey):
			t.Fatal(err)
		}
	}
	t.Fatal("no key opens the session")
	return nil
}

// again takes the encryption off, or puts it on.
func again(t *testing.T, path string, k place.Keys) {
	t.Helper()
	want, asked := texts(t, path, k, transcript.Options{}), 0
	trash, blobs := t.TempDir(), transcript.NewBlobs(t.TempDir())
	var err error
	if k != nil {
		_, err = place.Unseal(path, k, trash)
		k = nil
	} else {
		k = keys(t, 3, &asked)
		_, err = place.Seal(path, k, blobs, trash)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, texts(t, path, k, transcript.Options{})); diff != "" {
		t.Errorf("once more: %.2000s", diff)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}
