package people

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session/remote"
)

// Token is a token of a program, without its secret.
type Token struct {
	Name    string        `json:"name"`
	Rights  remote.Rights `json:"rights"`
	Person  string        `json:"person"` // the name of whose it is
	ID      string        `json:"person_id"`
	Created time.Time     `json:"created"`
	Expires time.Time     `json:"expires,omitzero"` // missing: never
	Used    time.Time     `json:"used,omitzero"`    // last, to the minute; missing: never
}

// TokenPrefix begins each token, so that people and programs that look for leaked secrets know it.
const TokenPrefix = "burin_"

// AddToken makes a token of a person, with a name that no other one of theirs has, and returns its
// secret, which is kept nowhere. Expires may be zero.
func (p *People) AddToken(ctx context.Context, by By, person, name string, rights remote.Rights, expires time.Time) (secret string, err error) {
	switch {
	case name == "" || len(name) > maxName || strings.TrimSpace(name) != name || strings.ContainsFunc(name, prose.Steers):
		return "", InputError{"name", fmt.Sprintf("a token's name has from 1 to %d characters on one line, not %q", maxName, name)}
	case !rights.Known():
		return "", InputError{"rights", fmt.Sprintf("the rights of a token are watch, steer, answer or own, not %q", rights)}
	}
	secret = TokenPrefix + rand.Text()
	err = p.db.Update(ctx, func(q store.Querier) error {
		var role Role
		var had int
		err := q.QueryRow(ctx, `SELECT role, (SELECT count(*) FROM {tokens} WHERE person = ?1) FROM {people} WHERE id = ?1`, person).Scan(&role, &had)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("%w person", ErrUnknown)
		case err != nil:
			return err
		case !role.Most().Include(rights):
			return InputError{"rights", fmt.Sprintf("a %s has the right %q at most", role, role.Most())}
		case had >= maxTokens:
			return InputError{"name", fmt.Sprintf("a person has at most %d tokens: remove one", maxTokens)}
		}
		n, err := q.Exec(ctx, `INSERT INTO {tokens} (person, name, hash, rights, created, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (person, name) DO NOTHING`,
			person, name, hashed(secret), string(rights), p.now().Unix(), unix(expires))
		if err != nil {
			return fmt.Errorf("add token %q: %w", name, err)
		}
		if n == 0 {
			return fmt.Errorf("token %q is %w: remove it, or choose another name", name, ErrTaken)
		}
		return p.note(ctx, q, by, "token.add", person, fmt.Sprintf("%s (%s)", name, rights))
	})
	return secret, err
}

// Tokens returns the tokens of a person, or of everybody if that is "", in the order in which they
// were added, those that have expired too.
func (p *People) Tokens(ctx context.Context, person string) ([]Token, error) {
	rows, err := p.db.Query(ctx, `SELECT t.name, t.rights, o.name, o.id, t.created, t.expires, t.used FROM {tokens} t JOIN {people} o ON o.id = t.person
		WHERE ?1 = '' OR t.person = ?1 ORDER BY t.id`, person)
	return collect(rows, err, "list the tokens", func(row interface{ Scan(...any) error }) (t Token, err error) {
		var created, expires, used int64
		err = row.Scan(&t.Name, &t.Rights, &t.Person, &t.ID, &created, &expires, &used)
		t.Created, t.Expires, t.Used = since(created), since(expires), since(used)
		return t, err
	})
}

// RemoveToken removes a token of a person. Who uses it is refused from then on.
func (p *People) RemoveToken(ctx context.Context, by By, person, name string) error {
	return p.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM {tokens} WHERE person = ?1 AND name = ?2`, person, asText(name))
		if err != nil {
			return fmt.Errorf("remove token %q: %w", name, err)
		}
		if n == 0 {
			return fmt.Errorf("%w token %q", ErrUnknown, prose.Plain(name, maxName))
		}
		return p.note(ctx, q, by, "token.remove", person, name)
	})
}

// useEvery is how exactly the last use of a token or device is known: it is written at most so
// often.
const useEvery = time.Minute

// Token says who a token is. The error is [ErrUnknown] if it is nobody's.
func (p *People) Token(ctx context.Context, secret string) (Who, error) {
	if !strings.HasPrefix(secret, TokenPrefix) {
		return Who{}, ErrUnknown
	}
	who, used, err := p.token(ctx, `t.hash = ?1`, hashed(secret))
	if now := p.now(); err == nil && now.Sub(used) >= useEvery {
		// Where it can't be written, the token is good all the same.
		_, _ = p.db.Exec(ctx, `UPDATE {tokens} SET used = ?2 WHERE id = ?1`, who.Token, now.Unix())
	}
	return who, err
}

func (p *People) token(ctx context.Context, which string, is any) (who Who, used time.Time, err error) {
	var expires, last int64
	err = p.db.QueryRow(ctx, `SELECT t.id, t.name, t.rights, t.expires, t.used, o.id, o.role FROM {tokens} t JOIN {people} o ON o.id = t.person WHERE o.disabled = 0 AND `+which, is).
		Scan(&who.Token, &who.Name, &who.Rights, &expires, &last, &who.Person, &who.Role)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Who{}, used, ErrUnknown
	case err != nil:
		return Who{}, used, fmt.Errorf("look for a token: %w", err)
	case expires != 0 && p.now().Unix() >= expires:
		return Who{}, used, ErrUnknown
	}
	if most := who.Role.Most(); !most.Include(who.Rights) {
		who.Rights = most // the role was lowered since
	}
	return who, since(last), nil
}

// Again says who somebody is now that was known before: by a token, on a device, or as the
// owner.
func (p *People) Again(ctx context.Context, had Who) (now Who, err error) {
	switch {
	case had.Token != 0:
		now, _, err = p.token(ctx, `t.id = ?1`, had.Token)
	case had.Device != "":
		now, err = p.onDevice(ctx, had.Device)
	default:
		return had, nil
	}
	return now, err
}
