package people

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"database/sql"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
)

const (
	totpPeriod    = 30 // seconds
	totpDigits    = 6
	totpSkew      = 1  // steps before and after now that are taken
	totpKey       = 20 // bytes
	recoveryCodes = 10
)

// totpCode is the code of a step, as RFC 6238 has it.
func totpCode(key []byte, step int64) string {
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash takes all
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 0xf
	return fmt.Sprintf("%0*d", totpDigits, (binary.BigEndian.Uint32(sum[at:])&0x7fffffff)%1_000_000)
}

// totpStep finds the step after another whose code it is; 0 is none.
func totpStep(key []byte, code string, now time.Time, after int64) (found int64) {
	at := now.Unix() / totpPeriod
	for step := at - totpSkew; step <= at+totpSkew; step++ { // all, so that the time doesn't tell which
		if subtle.ConstantTimeCompare([]byte(totpCode(key, step)), []byte(code)) == 1 && step > after {
			found = step
		}
	}
	return found
}

// Factors are the second factors of people.
type Factors struct{ p *People }

// Factors gives the second factors.
func (p *People) Factors() Factors { return Factors{p} }

// Enrollment is a second factor that isn't confirmed yet.
type Enrollment struct {
	Secret string `json:"secret"` // to type into an app
	URI    string `json:"uri"`    // otpauth://…, which apps read as a QR code
}

// KeysID is whose keys in the vault seal second factors: a person's own may be locked until they
// have signed in.
const KeysID = "people"

var _ vault.Sealed = (*People)(nil)

// Reseal implements [vault.Sealed].
func (p *People) Reseal(ctx context.Context, person string, ring *vault.Ring, after string, limit int) (next string, n int, err error) {
	if person != KeysID {
		return "", 0, nil
	}
	rows, err := p.db.Query(ctx, `SELECT id, totp, totp_new FROM {people} WHERE id > ?1 AND (totp IS NOT NULL OR totp_new IS NOT NULL) ORDER BY id LIMIT ?2`, after, limit)
	type factor struct {
		id       string
		now, new []byte
	}
	all, err := collect(rows, err, "list the second factors", func(row interface{ Scan(...any) error }) (f factor, err error) {
		err = row.Scan(&f.id, &f.now, &f.new)
		return f, err
	})
	if err != nil {
		return "", 0, err
	}
	for _, f := range all {
		again := func(column string, sealed []byte) error {
			if generation, err := vault.Generation(sealed); sealed == nil || err == nil && generation == ring.Newest() {
				return nil
			}
			key, err := ring.Open(totpPlace(f.id), sealed)
			if err != nil {
				return fmt.Errorf("the second factor of %s: %w", f.id, err)
			}
			fresh, err := ring.Seal(totpPlace(f.id), key)
			if err != nil {
				return err
			}
			changed, err := p.db.Exec(ctx, `UPDATE {people} SET `+column+` = ?3 WHERE id = ?1 AND `+column+` = ?2`, f.id, sealed, fresh)
			n += int(changed)
			return err
		}
		if err := errors.Join(again("totp", f.now), again("totp_new", f.new)); err != nil {
			return "", n, err
		}
		next = f.id
	}
	if len(all) < limit {
		next = ""
	}
	return next, n, nil
}

func totpPlace(person string) string { return "people/" + person + "/totp" }

// seal seals the secret of a second factor.
func (f Factors) seal(ctx context.Context, person string, key []byte) ([]byte, error) {
	ring, err := f.p.keys.Ring(ctx, KeysID)
	if err != nil {
		return nil, fmt.Errorf("keep the second factor: %w", err)
	}
	return ring.Seal(totpPlace(person), key)
}

// unseal opens the secret of a second factor.
func (f Factors) unseal(ctx context.Context, person string, sealed []byte) ([]byte, error) {
	ring, err := f.p.keys.Ring(ctx, KeysID)
	var key []byte
	if err == nil {
		key, err = ring.Open(totpPlace(person), sealed)
	}
	if err != nil {
		return nil, fmt.Errorf("open the second factor: %w", err)
	}
	return key, nil
}

// Enroll makes the secret of a second factor, which holds when a code of it is confirmed.
func (f Factors) Enroll(ctx context.Context, by By, person, password string) (Enrollment, error) {
	one, err := f.p.Get(ctx, person)
	if err == nil {
		err = f.p.confirm(ctx, one, password, by.Address, "password")
	}
	if err != nil {
		return Enrollment{}, err
	}
	key := make([]byte, totpKey)
	_, _ = rand.Read(key) // never fails
	sealed, err := f.seal(ctx, person, key)
	if err != nil {
		return Enrollment{}, err
	}
	if _, err := f.p.db.Exec(ctx, `UPDATE {people} SET totp_new = ?2 WHERE id = ?1`, person, sealed); err != nil {
		return Enrollment{}, fmt.Errorf("keep the second factor: %w", err)
	}
	return enrollment(one.Name, key), nil
}

func enrollment(name string, key []byte) Enrollment {
	secret := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(key)
	u := url.URL{Scheme: "otpauth", Host: "totp", Path: "/burin:" + name, RawQuery: "secret=" + secret + "&issuer=burin"}
	return Enrollment{secret, u.String()}
}

// Enrolling gives what [Factors.Enroll] gave, for who has mistyped a code.
func (f Factors) Enrolling(ctx context.Context, person string) (Enrollment, error) {
	var name string
	var sealed []byte
	err := f.p.db.QueryRow(ctx, `SELECT name, totp_new FROM {people} WHERE id = ?1`, person).Scan(&name, &sealed)
	if err != nil || len(sealed) == 0 {
		return Enrollment{}, errors.Join(InputError{"code", "begin with a new secret"}, ignore(err, sql.ErrNoRows))
	}
	key, err := f.unseal(ctx, person, sealed)
	if err != nil {
		return Enrollment{}, err
	}
	return enrollment(name, key), nil
}

// Confirm asks for the second factor from now on, if the code is one of it, and returns new
// recovery codes. Other devices are signed out.
func (f Factors) Confirm(ctx context.Context, by By, person, code, device string) (codes []string, err error) {
	all := tries("code/"+person, by.Address)
	if err := f.p.guard.reserve(ctx, all); err != nil {
		return nil, err
	}
	err = f.p.change(ctx, by, person, "factor.add", "", false, func(q store.Querier) error {
		var sealed []byte
		err := q.QueryRow(ctx, `SELECT totp_new FROM {people} WHERE id = ?1`, person).Scan(&sealed)
		if err != nil || len(sealed) == 0 {
			return errors.Join(InputError{"code", "begin with a new secret"}, ignore(err, sql.ErrNoRows))
		}
		key, err := f.unseal(ctx, person, sealed)
		if err != nil {
			return err
		}
		step := totpStep(key, digits(code), f.p.now(), 0)
		if step == 0 {
			return ErrCode
		}
		if err := dropSecrets(ctx, q, person, device); err != nil {
			return err
		}
		if codes, err = newCodes(ctx, q, person); err != nil {
			return err
		}
		_, err = q.Exec(ctx, `UPDATE {people} SET totp = totp_new, totp_new = NULL, totp_step = ?2 WHERE id = ?1`, person, step)
		return err
	})
	if err != nil {
		return nil, err
	}
	return codes, f.p.guard.succeeded(ctx, all)
}

// Remove asks for the second factor no more.
func (f Factors) Remove(ctx context.Context, by By, person, password string) error {
	one, err := f.p.Get(ctx, person)
	if err == nil {
		err = f.p.confirm(ctx, one, password, by.Address, "password")
	}
	if err != nil {
		return err
	}
	return f.p.change(ctx, by, person, "factor.remove", "", false, func(q store.Querier) error { return dropFactor(ctx, q, person) })
}

func dropFactor(ctx context.Context, q store.Querier, person string) error {
	_, err := q.Exec(ctx, `UPDATE {people} SET totp = NULL, totp_new = NULL WHERE id = ?1`, person)
	if err == nil {
		_, err = q.Exec(ctx, `DELETE FROM {recovery} WHERE person = ?1`, person)
	}
	return err
}

// Codes makes new recovery codes; those before are worthless then.
func (f Factors) Codes(ctx context.Context, by By, person, password string) (codes []string, err error) {
	one, err := f.p.Get(ctx, person)
	if err == nil && !one.SecondFactor {
		err = InputError{"password", "recovery codes are for a second factor, and there is none"}
	}
	if err == nil {
		err = f.p.confirm(ctx, one, password, by.Address, "password")
	}
	if err != nil {
		return nil, err
	}
	err = f.p.change(ctx, by, person, "factor.codes", "", false, func(q store.Querier) (err error) {
		codes, err = newCodes(ctx, q, person)
		return err
	})
	return codes, err
}

// Left is how many recovery codes a person has.
func (f Factors) Left(ctx context.Context, person string) (n int, err error) {
	err = f.p.db.QueryRow(ctx, `SELECT count(*) FROM {recovery} WHERE person = ?1`, person).Scan(&n)
	return n, err
}

func newCodes(ctx context.Context, q store.Querier, person string) (codes []string, err error) {
	if _, err := q.Exec(ctx, `DELETE FROM {recovery} WHERE person = ?1`, person); err != nil {
		return nil, err
	}
	for range recoveryCodes {
		c := rand.Text()[:16] // 80 bits
		if _, err := q.Exec(ctx, `INSERT INTO {recovery} (person, hash) VALUES (?1, ?2)`, person, hashed(c)); err != nil {
			return nil, err
		}
		codes = append(codes, c[:4]+"-"+c[4:8]+"-"+c[8:12]+"-"+c[12:])
	}
	return codes, nil
}

// digits is a code without what people put between its digits.
func digits(code string) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(code))
}

// useCode uses a code of the second factor, or a recovery code: each once.
func (f Factors) useCode(ctx context.Context, q store.Querier, person, code string) error {
	code = digits(code)
	if len(code) > totpDigits {
		n, err := q.Exec(ctx, `DELETE FROM {recovery} WHERE person = ?1 AND hash = ?2`, person, hashed(strings.ToUpper(code)))
		if err == nil && n == 0 {
			err = ErrCode
		}
		return err
	}
	var sealed []byte
	var last int64
	if err := q.QueryRow(ctx, `SELECT totp, totp_step FROM {people} WHERE id = ?1`, person).Scan(&sealed, &last); err != nil {
		return fmt.Errorf("look for the second factor: %w", err)
	}
	if len(sealed) == 0 {
		return ErrLink // it was removed meanwhile: sign in again
	}
	key, err := f.unseal(ctx, person, sealed)
	if err != nil {
		return err
	}
	step := totpStep(key, code, f.p.now(), last)
	if step == 0 {
		return ErrCode
	}
	n, err := q.Exec(ctx, `UPDATE {people} SET totp_step = ?2 WHERE id = ?1 AND totp_step < ?2`, person, step)
	if err == nil && n == 0 {
		err = ErrCode
	}
	return err
}

func ignore(err, one error) error {
	if errors.Is(err, one) {
		return nil
	}
	return err
}
