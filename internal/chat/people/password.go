package people

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/burin-dev/burin/internal/chat/store"
)

// Parameters of argon2id. A hash made with others is made again at the next sign-in.
const (
	argonMemory = 64 << 10 // KiB
	argonTime   = 3
	argonLanes  = 1
	argonKey    = 32 // bytes
	argonSalt   = 16
)

const (
	minPassword = 10   // characters
	maxPassword = 1024 // bytes
	maxHashing  = 2    // passwords that are hashed at a time
	maxQueue    = 64   // and those that wait for it
)

// ErrBusy means that too many people sign in at the same time.
var ErrBusy = errors.New("too many sign in at the same time: try again in a moment")

// hashes hashes passwords, few at a time: each takes 64 MiB.
type hashes struct {
	slots   chan struct{}
	waiting atomic.Int32
	memory  uint32 // KiB; tests that make many hashes take less
	nobody  string // the hash of a password that nobody has
}

func newHashes(memory uint32) *hashes {
	salt, key := make([]byte, argonSalt), make([]byte, argonKey)
	_, _ = rand.Read(salt) // never fails
	_, _ = rand.Read(key)
	return &hashes{slots: make(chan struct{}, maxHashing), memory: memory, nobody: format(salt, key, memory, argonTime, argonLanes)}
}

// enter waits until a password may be hashed.
func (h *hashes) enter(ctx context.Context) (leave func(), err error) {
	if h.waiting.Add(1) > maxQueue+maxHashing {
		h.waiting.Add(-1)
		return nil, ErrBusy
	}
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots; h.waiting.Add(-1) }, nil
	case <-ctx.Done():
		h.waiting.Add(-1)
		return nil, ctx.Err()
	}
}

// hash makes what is kept of a password, in the PHC string format.
func (h *hashes) hash(ctx context.Context, password string) (string, error) {
	leave, err := h.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	return h.make(password), nil
}

// make hashes a password for who has entered.
func (h *hashes) make(password string) string {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // never fails
	return format(salt, argon2.IDKey(normal(password), salt, argonTime, h.memory, argonLanes, argonKey), h.memory, argonTime, argonLanes)
}

// normal gives the bytes of a password, the same however a keyboard composes its letters.
func normal(password string) []byte { return norm.NFKC.Bytes([]byte(password)) }

func format(salt, key []byte, memory, time, lanes uint32) string {
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, time, lanes, b.EncodeToString(salt), b.EncodeToString(key))
}

// verify reports whether a password has a hash, and whether the hash was made with other
// parameters than today's.
func (h *hashes) verify(hash, password string) (ok, old bool) {
	var version int
	var memory, time uint32
	var lanes uint8
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, false
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &time, &lanes); err != nil || version != argon2.Version ||
		memory > 1<<20 || time < 1 || time > 100 || lanes < 1 { // what nobody has set
		return false, false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, false
	}
	key, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(key) < 16 || len(key) > 64 {
		return false, false
	}
	got := argon2.IDKey(normal(password), salt, time, memory, lanes, uint32(len(key)))
	old = memory != h.memory || time != argonTime || lanes != argonLanes || len(key) != argonKey || len(salt) != argonSalt
	return subtle.ConstantTimeCompare(got, key) == 1, old
}

// common are passwords of at least ten characters that are tried first.
const common = `
0123456789 0987654321 1122334455 1123581321 123123123123 1234512345 123456123456 1234567890 12345678900 12345678901
123456789012 1234567891 12345678910 123456789a 123456789q 123456789z 123654789a 123qweasdzxc 1357924680 147258369a
159753456852 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx3edc 1qazxsw23edc 789456123a 9876543210 987654321a a123456789 a1b2c3d4e5
abc1234567 abc123456789 abcdefghij abcdefghijk administrator america123 anthony123 asd123456789 asdasdasdasd asdf1234567
asdfasdfasdf asdfghjkl1 asdfghjkl123 asdfghjkl; azertyuiop babygirl123 basketball baseball123 bismillah1 blink182182
changeme123 charlie123 chocolate1 christopher computer123 correcthorsebatterystaple dragon123456 elizabeth1 football123 forgetmenot
iloveyou12 iloveyou123 iloveyou1234 jennifer123 jessica123 letmein123 letmein1234 liverpool1 liverpool123 manchester
mastermind michael123 mypassword mypassword1 p@ssw0rd12 p@ssw0rd123 p@ssword123 passw0rd12 passw0rd123 password00
password01 password10 password11 password12 password123 password1234 password12345 password123456 password2 password22 password99
passwordpassword pokemon123 princess123 q1w2e3r4t5 q1w2e3r4t5y6 qazwsx1234 qazwsxedc123 qazwsxedcrfv qwaszx1234 qwer1234qwer
qwerasdfzxcv qwerty12345 qwerty123456 qwerty1234 qwertyqwerty qwertyuiop qwertyuiop1 qwertyuiop123 qwertyuiop[] sunshine123
superman123 thomas12345 trustno1234 unbelievable welcome123 welcome1234 willyoumarryme zaq12wsxcde3 zaqwsxcde123 zxcvbnm123 zxcvbnm1234 zxcvbnmasdf`

// checkPassword says what is wrong with a password of a person with a name.
func checkPassword(password, name string) error {
	folded := fold(password)
	wrong := ""
	switch {
	case len(password) > maxPassword:
		wrong = fmt.Sprintf("use at most %d bytes", maxPassword)
	case !utf8.ValidString(password):
		wrong = "it is not text"
	case utf8.RuneCountInString(password) < minPassword:
		wrong = fmt.Sprintf("use at least %d characters", minPassword)
	case folded == fold(name):
		wrong = "use another one than your name"
	case strings.Trim(folded, folded[:1]) == "", slices.Contains(strings.Fields(common), folded):
		wrong = "this one is among the first that are guessed: choose another"
	default:
		return nil
	}
	return InputError{"password", wrong}
}

// SetPassword changes the password of a person who knows the one before, if there is one, and
// signs them out on all devices but the one where they are.
func (p *People) SetPassword(ctx context.Context, by By, person, old, password, device string) error {
	one, err := p.Get(ctx, person)
	if err != nil {
		return err
	}
	if err := p.confirm(ctx, one, old, by.Address, "old"); err != nil {
		return err
	}
	if err := checkPassword(password, one.Name); err != nil {
		return err
	}
	hash, err := p.hashes.hash(ctx, password)
	if err != nil {
		return err
	}
	rewrap, err := p.rewrap(ctx, person, old, password)
	if err != nil {
		return err
	}
	return p.change(ctx, by, person, "password", "", false, func(q store.Querier) error {
		err := errors.Join(rewrap(ctx, q), dropSecrets(ctx, q, person, device))
		if err == nil {
			_, err = q.Exec(ctx, `UPDATE {people} SET password = ?2 WHERE id = ?1`, person, hash)
		}
		return err
	})
}

// confirm has somebody who is signed in give their password again, where they have one.
func (p *People) confirm(ctx context.Context, one Person, password, address, field string) error {
	if !one.Password {
		return nil
	}
	if len(password) > maxPassword {
		return InputError{field, "the password is wrong"}
	}
	all := tries(one.Name, address)
	if err := p.guard.blocked(ctx, all); err != nil {
		return err
	}
	leave, err := p.hashes.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := p.guard.reserve(ctx, all); err != nil {
		return err
	}
	var hash string
	if err := p.db.QueryRow(ctx, `SELECT password FROM {people} WHERE id = ?1`, one.ID).Scan(&hash); err != nil {
		return fmt.Errorf("look for the password: %w", err)
	}
	if ok, _ := p.hashes.verify(hash, password); !ok {
		err := p.db.Update(ctx, func(q store.Querier) error {
			return p.note(ctx, q, By{one.ID, address}, signInFails, one.ID, "password")
		})
		return errors.Join(InputError{field, "the password is wrong"}, err)
	}
	return p.guard.succeeded(ctx, all)
}
