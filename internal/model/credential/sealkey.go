package credential

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// The key file says where the sealing key is: "burin-key-1 file <key>" holds it,
// "burin-key-1 keyring <name>" names the keyring's entry. So a reader never has to
// search, two homes never share a key, and a moved home keeps its own.
const (
	keyFile      = "key"
	keyFormat    = "burin-key-1"
	keyringEntry = "burin" // service of the keyring's entries
)

// sealKey is the key that seals secrets. Its id is stored with what it sealed.
type sealKey struct {
	id   [8]byte
	aead cipher.AEAD
}

func newSealKey(raw []byte) (*sealKey, error) {
	aead, err := chacha20poly1305.NewX(raw)
	if err != nil {
		return nil, err
	}
	k := &sealKey{aead: aead}
	sum := sha256.Sum256(append([]byte("burin sealing key id\x00"), raw...))
	copy(k.id[:], sum[:])
	return k, nil
}

// sealKeys finds the sealing key of a home and makes it when the first secret is
// stored.
type sealKeys struct {
	home string
	ring Keyring

	mu  sync.Mutex
	key *sealKey
}

// get is the key. If there is none, it is made if create is set; otherwise the
// error is an [os.ErrNotExist].
func (s *sealKeys) get(ctx context.Context, create bool) (*sealKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return s.key, nil
	}
	raw, err := s.read(ctx)
	if errors.Is(err, os.ErrNotExist) && create {
		raw, err = s.create(ctx)
	}
	if err != nil {
		return nil, err
	}
	key, err := newSealKey(raw)
	if err != nil {
		return nil, err
	}
	s.key = key
	return key, nil
}

// withID is the key of that id. A key that was replaced while this process ran
// is read again.
func (s *sealKeys) withID(ctx context.Context, id [8]byte) (*sealKey, error) {
	for again := range 2 {
		key, err := s.get(ctx, false)
		if err != nil {
			return nil, err
		}
		if key.id == id {
			return key, nil
		}
		if again == 0 {
			s.mu.Lock()
			s.key = nil
			s.mu.Unlock()
		}
	}
	return nil, fmt.Errorf("the key in %s is another one than it was sealed with", s.path())
}

func (s *sealKeys) path() string { return filepath.Join(s.home, keyFile) }

func (s *sealKeys) read(ctx context.Context) ([]byte, error) {
	info, err := os.Stat(s.path())
	if err != nil {
		return nil, fmt.Errorf("the key file is gone: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(s.path(), 0o600); err != nil {
			return nil, fmt.Errorf("make the key file private: %w", err)
		}
	}
	text, err := smallfile.Read(s.path(), smallfile.Note)
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	encoded := ""
	switch f := strings.Fields(string(text)); {
	case len(f) == 3 && f[0] == keyFormat && f[1] == "file":
		encoded = f[2]
	case len(f) == 3 && f[0] == keyFormat && f[1] == "keyring":
		encoded, err = bounded(ctx, keyringRead, func() (string, error) { return s.ring.Get(keyringEntry, f[2]) })
		if err != nil {
			return nil, fmt.Errorf("the keyring did not give the key %s: %w", f[2], err)
		}
	default:
		return nil, fmt.Errorf("the key file %s is damaged", s.path())
	}
	raw, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != chacha20poly1305.KeySize {
		return nil, fmt.Errorf("the key that %s leads to is damaged", s.path())
	}
	return raw, nil
}

// create makes a key, in the keyring if it answers and gives back what it was
// given, else in the file.
func (s *sealKeys) create(ctx context.Context) ([]byte, error) {
	if err := os.MkdirAll(s.home, 0o700); err != nil {
		return nil, fmt.Errorf("create the home directory: %w", err)
	}
	unlock, err := lockFile(ctx, s.home, keyFile)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if raw, err := s.read(ctx); !errors.Is(err, os.ErrNotExist) {
		return raw, err // another process was faster
	}
	raw := make([]byte, chacha20poly1305.KeySize)
	_, _ = rand.Read(raw) // never fails
	encoded := base64.RawStdEncoding.EncodeToString(raw)
	name := "key-" + rand.Text()[:10]
	kept, err := bounded(ctx, keyringProbe, func() (string, error) {
		if err := s.ring.Set(keyringEntry, name, encoded); err != nil {
			return "", err
		}
		return s.ring.Get(keyringEntry, name)
	})
	line := keyFormat + " file " + encoded + "\n"
	if err == nil && kept == encoded {
		line = keyFormat + " keyring " + name + "\n"
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := writeWhole(s.path(), line); err != nil {
		return nil, fmt.Errorf("write the key file: %w", err)
	}
	return raw, nil
}

// writeWhole writes a private file that is there whole or not at all, also after
// a power cut.
func writeWhole(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // not every system can; the file itself is safe
		_ = dir.Close()
	}
	return nil
}
