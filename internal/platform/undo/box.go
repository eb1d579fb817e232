package undo

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/keyfile"
)

// errLostKey is why contents of an earlier key cannot be read.
var errLostKey = errors.New("its contents in the journal are encrypted with a key that is gone")

// box encrypts the contents of files: AES-256-GCM, with a nonce made from the contents'
// hash, so that two processes that keep the same contents write the same bytes. A box
// without a path leaves contents as they are.
type box struct {
	path string // of the key's file

	mu     sync.Mutex
	aead   cipher.AEAD
	nonces []byte // the key that nonces are made with
	name   string // tells the key from others
}

// overhead is how much longer encrypted contents are.
const overhead = 16

// errNoKey means that there is no key yet, or no more.
var errNoKey = errors.New("there is no key")

// open reads the key. The error is errNoKey if there is none.
func (b *box) open() error {
	if b.path == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.aead != nil {
		return nil
	}
	key, err := keyfile.Read(b.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, keyfile.ErrShort) {
		return errNoKey
	}
	if err == nil {
		err = b.use(key)
	}
	if err != nil {
		return fmt.Errorf("open the key of the undo journal: %w", err)
	}
	return nil
}

// make opens the box, and makes the key if there is none.
func (b *box) make() error {
	if b.path == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.aead != nil {
		return nil
	}
	key, err := keyfile.Make(b.path)
	if err == nil {
		err = b.use(key)
	}
	if err != nil {
		return fmt.Errorf("open the key of the undo journal: %w", err)
	}
	return nil
}

// use takes a key; the box is locked.
func (b *box) use(key []byte) error {
	derive := func(use string) ([]byte, error) { return hkdf.Expand(sha256.New, key, "burin undo "+use, sha256.Size) }
	name, err1 := derive("name")
	nonces, err2 := derive("nonce")
	contents, err3 := derive("contents")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	block, err := aes.NewCipher(contents)
	if err != nil {
		return err
	}
	if b.aead, err = cipher.NewGCM(block); err != nil {
		return err
	}
	b.nonces, b.name = nonces, hex.EncodeToString(name[:4])
	return nil
}

// folder is the folder of the contents that this box encrypts.
func (b *box) folder() string {
	if b.path == "" {
		return "objects"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return "sealed-" + b.name
}

// size is how long contents of a length are once they are encrypted.
func (b *box) size(n int) int64 {
	if b.path == "" {
		return int64(n)
	}
	return int64(n) + overhead
}

// seal encrypts contents behind dst. The box is open.
func (b *box) seal(dst, data []byte, hash [sha256.Size]byte) []byte {
	if b.path == "" {
		return append(dst, data...)
	}
	return b.aead.Seal(dst, b.nonce(hash), data, nil)
}

// unseal decrypts contents in place. The box is open. Contents that are damaged are an error.
func (b *box) unseal(data []byte, hash [sha256.Size]byte) ([]byte, error) {
	if b.path != "" {
		var err error
		if data, err = b.aead.Open(data[:0], b.nonce(hash), data, nil); err != nil {
			return nil, errDamaged
		}
	}
	if sha256.Sum256(data) != hash {
		return nil, errDamaged
	}
	return data, nil
}

// reveal returns contents for someone who looks for a secret in them, damaged ones as they
// are. The box is open.
func (b *box) reveal(data []byte, hash string) (clear []byte, whole bool) {
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != sha256.Size {
		return data, false
	}
	if clear, err := b.unseal(bytes.Clone(data), [sha256.Size]byte(raw)); err == nil {
		return clear, true
	}
	return data, false
}

var errDamaged = errors.New("its contents in the journal are damaged")

func (b *box) nonce(hash [sha256.Size]byte) []byte {
	var both [2 * sha256.Size]byte // of one length always, so that a plain hash is a keyed one
	copy(both[:], b.nonces)
	copy(both[sha256.Size:], hash[:])
	sum := sha256.Sum256(both[:])
	return sum[:12]
}

// lostKeys are folders with contents of keys that are gone, of the journal in dir. The box
// is open.
func (b *box) lostKeys(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(globbed(dir), "sealed-*"))
	own := filepath.Join(dir, b.folder())
	lost := all[:0]
	for _, name := range all {
		if name != own && filepath.Ext(name) != lostMark {
			lost = append(lost, name)
		}
	}
	return lost
}

// lostMark ends the name of the file that says since when a key is gone.
const lostMark = ".lost"

// forget removes contents of keys that are gone for as long as turns are kept: a key may
// come back, from a copy for instance.
func (b *box) forget(dir string, now time.Time) {
	_ = os.Remove(filepath.Join(dir, b.folder()) + lostMark)
	for _, lost := range b.lostKeys(dir) {
		info, err := os.Stat(lost + lostMark)
		switch {
		case err != nil:
			if f, err := os.OpenFile(lost+lostMark, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
				_ = f.Close()
				_ = os.Chtimes(lost+lostMark, now, now)
			}
		case now.Sub(info.ModTime()) > MaxAge:
			_ = os.RemoveAll(lost) // the next time, if not now
			_ = os.Remove(lost + lostMark)
		}
	}
}
