package vault

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/platform/stretch"
)

var (
	// ErrPassphrase means that a pass phrase or a recovery key is wrong.
	ErrPassphrase = errors.New("that is not the pass phrase or recovery key")
	// ErrWeak means that a new pass phrase is too short.
	ErrWeak = fmt.Errorf("a pass phrase has at least %d characters", minPhrase)
)

const (
	minPhrase = 8
	maxPhrase = 1024 // bytes
	saltSize  = 16
)

// The kinds of wraps. Those of the lock key have generation 0.
const (
	kindServer   = "server"
	kindLock     = "lock"
	kindPhrase   = "phrase"
	kindRecovery = "recovery"
)

// cost is how a pass phrase becomes a key, by Argon2id.
type cost struct {
	Salt   []byte `json:"salt"`
	Time   uint32 `json:"time"`
	Memory uint32 `json:"memory"` // KiB
	Lanes  uint8  `json:"lanes"`
}

// newCost is the second choice of RFC 9106.
func newCost() cost {
	c := cost{Salt: make([]byte, saltSize), Time: 3, Memory: 64 << 10, Lanes: 4}
	_, _ = rand.Read(c.Salt) // never fails
	return c
}

func (c cost) text() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // only plain fields
	}
	return string(text)
}

// parseCost refuses what would exhaust the machine.
func parseCost(text string) (c cost, err error) {
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, fmt.Errorf("read how the pass phrase is used: %w", err)
	}
	if len(c.Salt) != saltSize || c.Time < 1 || c.Time > 16 || c.Lanes < 1 || c.Lanes > 16 || c.Memory < 8*uint32(c.Lanes) || c.Memory > 256<<10 {
		return c, errors.New("the cost of the pass phrase in the database is out of bounds")
	}
	return c, nil
}

// stretches bounds how many pass phrases are tried at once: each takes 64 MB.
type stretches chan struct{}

func (s stretches) key(ctx context.Context, phrase string, c cost) ([]byte, error) {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s }()
	return stretch.Key([]byte(phrase), c.Salt, c.Time, c.Memory, c.Lanes, KeySize), nil
}

func checkPhrase(phrase string) error {
	if len([]rune(phrase)) < minPhrase {
		return ErrWeak
	}
	if len(phrase) > maxPhrase {
		return fmt.Errorf("a pass phrase has at most %d bytes", maxPhrase)
	}
	return nil
}

// wrapper is a ring with one key, which seals other keys.
func wrapper(raw []byte) *Ring {
	r, err := NewRing(map[uint32][]byte{1: raw})
	if err != nil {
		panic(err) // only of another length
	}
	return r
}

// wrapPlace is where a wrapped key belongs.
func wrapPlace(person string, generation uint32, kind string) string {
	return fmt.Sprintf("vault_wraps/%s/%d/%s", person, generation, kind)
}

func newKey() []byte {
	raw := make([]byte, KeySize)
	_, _ = rand.Read(raw) // never fails
	return raw
}

// recoverySize is the length of a recovery key in bytes: no Argon2id is needed for 160 random bits.
const recoverySize = 20

func recoveryCode() *base32.Encoding {
	return base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding) // Crockford's
}

// newRecovery makes a recovery key as a person writes it down, in groups of four.
func newRecovery() string {
	raw := make([]byte, recoverySize)
	_, _ = rand.Read(raw) // never fails
	code := recoveryCode().EncodeToString(raw)
	groups := make([]string, 0, len(code)/4)
	for i := 0; i < len(code); i += 4 {
		groups = append(groups, code[i:i+4])
	}
	return strings.Join(groups, "-")
}

// recoveryKey is the key that a recovery key stands for, however it was typed.
func recoveryKey(typed string) ([]byte, error) {
	code := strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1").Replace(strings.ToUpper(typed))
	raw, err := recoveryCode().DecodeString(code)
	if err != nil || len(code) != recoveryCode().EncodedLen(recoverySize) {
		return nil, ErrPassphrase
	}
	return derive(raw, "recovery"), nil
}
