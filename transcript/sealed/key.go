package sealed

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// Key opens sealed sessions: 32 random bytes, or a passphrase. Any number of
// sessions may have one key; each is encrypted with a key of its own that is
// derived from it.
type Key struct {
	raw        []byte
	passphrase string
	cost       Cost
	found      *masters // of a passphrase; shared by copies of the key
}

// masters are what was derived from a passphrase. Each costs some tenths of a second,
// and a session is opened several times. All sessions that one key begins have one
// salt: it tells people with the same passphrase apart, not sessions, whose keys differ
// by their ids.
type masters struct {
	mu  sync.Mutex
	of  []*master
	own *master // of new sessions
}

// maxMasters is how many are remembered; the oldest is forgotten first.
const maxMasters = 16

// find returns the master of a salt and a cost, and derives it if it is not known.
func (m *masters) find(k Key, salt []byte, c Cost) *master {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range m.of {
		if bytes.Equal(known.salt, salt) && *known.cost == c {
			return known
		}
	}
	found := k.derive(salt, c)
	if m.of = append(m.of, found); len(m.of) > maxMasters {
		m.of = slices.Delete(m.of, 0, 1)
	}
	return found
}

// fresh returns the master of new sessions.
func (m *masters) fresh(k Key) *master {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.own == nil {
		salt := make([]byte, saltSize)
		_, _ = rand.Read(salt) // never fails
		m.own = k.derive(salt, k.cost)
		m.of = append(m.of, m.own)
	}
	return m.own
}

// KeySize is the length of a key in bytes.
const KeySize = 32

// NewKey makes a key of 32 random bytes. They are copied.
func NewKey(raw []byte) (Key, error) {
	if len(raw) != KeySize {
		return Key{}, fmt.Errorf("a key has %d bytes, not %d", KeySize, len(raw))
	}
	return Key{raw: append([]byte(nil), raw...)}, nil
}

// Passphrase makes a key of a text. The cost is that of sessions that are started
// with it; the zero Cost is [DefaultCost].
func Passphrase(text string, cost Cost) (Key, error) {
	if cost == (Cost{}) {
		cost = DefaultCost()
	}
	if text == "" {
		return Key{}, errors.New("the passphrase is empty")
	}
	if err := cost.check(); err != nil {
		return Key{}, err
	}
	return Key{passphrase: text, cost: cost, found: new(masters)}, nil
}

// Cost is what it costs to try a passphrase, by Argon2id.
type Cost struct {
	Time   uint32 `json:"time"`   // passes; 1 to 16
	Memory uint32 `json:"memory"` // KiB; 8 for each thread to 262,144, which is 256 MB
	Lanes  uint8  `json:"lanes"`  // threads; 1 to 16
}

// DefaultCost is the second choice of RFC 9106: 64 MB, and some tenths of a second of a few cores.
func DefaultCost() Cost { return Cost{Time: 3, Memory: 64 << 10, Lanes: 4} }

// check refuses what a file may ask for to exhaust the machine that opens it. What
// it asks for too little of does no harm: without the passphrase nobody can make a
// header that the passphrase fits.
func (c Cost) check() error {
	const maxTime, maxMemory, maxLanes = 16, 256 << 10, 16
	if c.Time < 1 || c.Time > maxTime || c.Lanes < 1 || c.Lanes > maxLanes || c.Memory < 8*uint32(c.Lanes) || c.Memory > maxMemory {
		return fmt.Errorf("the cost of the passphrase (%d passes, %d KiB, %d lanes) is out of bounds", c.Time, c.Memory, c.Lanes)
	}
	return nil
}

const (
	version  = 1
	idSize   = 16
	saltSize = 16
)

// header is the first record of a sealed session.
type header struct {
	Type    string `json:"type"` // "sealed"
	Version int    `json:"v"`
	ID      []byte `json:"id"`             // random; another one after each Replace
	Salt    []byte `json:"salt,omitempty"` // of a passphrase
	*Cost          // of a passphrase
	// Check shows that the key is the right one, and that nothing else in the header
	// was changed.
	Check []byte `json:"check"`
}

// errNoHeader means that a record is no header.
var errNoHeader = errors.New("its header is damaged")

func parseHeader(record []byte) (*header, error) {
	var h header
	if len(record) > maxHeader || json.Unmarshal(record, &h) != nil || h.Type != "sealed" || h.Check == nil {
		return nil, errNoHeader
	}
	if h.Version != version {
		return nil, fmt.Errorf("it is sealed in version %d, which this program does not know: update it", h.Version)
	}
	if len(h.ID) != idSize || len(h.Check) != sha256.Size || (h.Salt == nil) != (h.Cost == nil) || h.Salt != nil && len(h.Salt) != saltSize {
		return nil, errNoHeader
	}
	if h.Cost != nil {
		return &h, h.check()
	}
	return &h, nil
}

// maxHeader is the size of the largest header, in bytes; a longer record is not one.
const maxHeader = 4096

// master is what sessions' keys are derived from. Finding it costs what the
// passphrase costs, so that a store keeps it.
type master struct {
	secret []byte
	salt   []byte // nil: not of a passphrase
	cost   *Cost
}

// newMaster starts a session.
func (k Key) newMaster() *master {
	if k.raw != nil {
		return &master{secret: k.raw}
	}
	return k.found.fresh(k)
}

// masterOf continues with a session.
func (k Key) masterOf(h *header) (*master, error) {
	switch {
	case k.raw != nil && h.Salt == nil:
		return &master{secret: k.raw}, nil
	case k.raw == nil && h.Salt != nil:
		return k.found.find(k, h.Salt, *h.Cost), nil
	case k.raw != nil:
		return nil, fmt.Errorf("%w: it wants a passphrase", ErrKey)
	}
	return nil, fmt.Errorf("%w: it wants a key of %d bytes, not a passphrase", ErrKey, KeySize)
}

func (k Key) derive(salt []byte, c Cost) *master {
	return &master{secret: argon2.IDKey([]byte(k.passphrase), salt, c.Time, c.Memory, c.Lanes, KeySize), salt: salt, cost: &c}
}

func (k Key) empty() bool { return k.raw == nil && k.passphrase == "" }

// newHeader makes the header of a new session, or of one that is replaced.
func (m *master) newHeader() *header {
	h := &header{Type: "sealed", Version: version, ID: make([]byte, idSize), Salt: m.salt, Cost: m.cost}
	_, _ = rand.Read(h.ID) // never fails
	h.Check = m.check(h)
	return h
}

// check is a hash of the header that only those make who have the key. It also
// ties the header to one key, which the cipher alone does not.
func (m *master) check(h *header) []byte {
	c := *h
	c.Check = nil
	text, err := json.Marshal(c)
	if err != nil {
		panic("sealed: a header cannot be encoded: " + err.Error()) // it has only plain fields
	}
	mac := hmac.New(sha256.New, m.subkey("check", h.ID))
	mac.Write(text)
	return mac.Sum(nil)
}

func (m *master) subkey(use string, id []byte) []byte {
	key, err := hkdf.Key(sha256.New, m.secret, id, "burin sealed session "+use, KeySize)
	if err != nil {
		panic("sealed: " + err.Error()) // only of a length that cannot be
	}
	return key
}

// sealer makes the cipher of the session with that header.
func (m *master) sealer(h *header) *sealer {
	aead, err := chacha20poly1305.NewX(m.subkey("records", h.ID))
	if err != nil {
		panic("sealed: " + err.Error()) // only of a key of another length
	}
	return &sealer{aead: aead, header: h}
}

func (h *header) record() []byte {
	text, err := json.Marshal(h)
	if err != nil {
		panic("sealed: a header cannot be encoded: " + err.Error()) // it has only plain fields
	}
	return text
}

// base is how bytes are written in records.
var base = base64.RawStdEncoding.Strict()
