package people

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/internal/chat/store"
)

// ErrRefused means that somebody may not sign in; it doesn't tell why.
var ErrRefused = errors.New("the name or the password is wrong")

// ErrCode means that a code of a second factor is wrong, or was used.
var ErrCode = InputError{"code", "it is wrong, or was used: wait for the next one, or use a recovery code"}

// Entrance is how a sign-in went on.
type Entrance struct {
	Secret string // of the device; "" if a second factor is asked for
	Ticket string // to come back with the code of the second factor
	Person string // whose password it was; the id
}

// SignIn signs somebody in with a password.
func (p *People) SignIn(ctx context.Context, name, password string, from From) (Entrance, error) {
	if len(password) > maxPassword {
		return Entrance{}, InputError{"password", fmt.Sprintf("a password has at most %d bytes", maxPassword)}
	}
	if checkName(name) != nil {
		name = "" // nobody's
	}
	all := tries(name, from.Address)
	if err := p.guard.blocked(ctx, all); err != nil {
		return Entrance{}, err
	}
	leave, err := p.hashes.enter(ctx)
	if err != nil {
		return Entrance{}, err
	}
	defer leave()
	if err := p.guard.reserve(ctx, all); err != nil {
		return Entrance{}, err
	}
	var id, hash string
	var disabled, factor bool
	err = p.db.QueryRow(ctx, `SELECT id, password, disabled <> 0, totp IS NOT NULL FROM {people} WHERE folded = ?1`, fold(name)).Scan(&id, &hash, &disabled, &factor)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Entrance{}, fmt.Errorf("sign in: %w", err)
	}
	is := hash
	if is == "" {
		is = p.hashes.nobody // which takes as long
	}
	ok, old := p.hashes.verify(is, password)
	if !ok || disabled || hash == "" {
		err := p.db.Update(ctx, func(q store.Querier) error {
			return p.note(ctx, q, By{Address: from.Address}, signInFails, id, "password")
		})
		return Entrance{}, errors.Join(ErrRefused, err)
	}
	if err := p.guard.succeeded(ctx, all); err != nil {
		return Entrance{}, err
	}
	if old {
		if _, err := p.db.Exec(ctx, `UPDATE {people} SET password = ?3 WHERE id = ?1 AND password = ?2`, id, hash, p.hashes.make(password)); err != nil {
			return Entrance{}, fmt.Errorf("sign in: %w", err)
		}
	}
	var in Entrance
	err = p.db.Update(ctx, func(q store.Querier) (err error) {
		// Between the look and now the account may have changed.
		var still int
		if err := q.QueryRow(ctx, `SELECT count(*) FROM {people} WHERE id = ?1 AND disabled = 0`, id).Scan(&still); err != nil || still == 0 {
			return errors.Join(ErrRefused, err)
		}
		in = Entrance{Person: id}
		if factor {
			in.Ticket, err = p.Links().link(ctx, q, linkFactor, id, "", Reset{}, By{Person: id, Address: from.Address}, p.now().Add(ticketFor))
			return err
		}
		in.Secret, err = p.enter(ctx, q, id, from)
		return err
	})
	return in, err
}

// SecondFactor ends a sign-in with a code of the second factor, or a recovery code.
func (p *People) SecondFactor(ctx context.Context, ticket, code string, from From) (secret string, err error) {
	link, err := p.Links().linkOf(ctx, p.db, linkFactor, ticket)
	if err != nil {
		return "", ErrLink
	}
	all := tries("code/"+link.person, from.Address)
	if err := p.guard.reserve(ctx, all); err != nil {
		return "", err
	}
	err = p.db.Update(ctx, func(q store.Querier) error {
		if err := p.Factors().useCode(ctx, q, link.person, code); err != nil {
			return err
		}
		if _, err := p.Links().redeem(ctx, q, linkFactor, ticket); err != nil {
			return err
		}
		secret, err = p.enter(ctx, q, link.person, from)
		return err
	})
	if errors.Is(err, ErrCode) {
		noted := p.db.Update(ctx, func(q store.Querier) error {
			return p.note(ctx, q, By{Address: from.Address}, signInFails, link.person, "code")
		})
		return "", errors.Join(err, noted)
	}
	if err != nil {
		return "", err
	}
	return secret, p.guard.succeeded(ctx, all)
}
