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
)

// What a link is good for.
const (
	linkOpen   = "open"   // signs its person in
	linkReset  = "reset"  // lets its person choose a password
	linkJoin   = "join"   // makes a person
	linkFactor = "factor" // ends a sign-in with a second factor
)

const (
	openFor   = 10 * time.Minute
	resetFor  = 24 * time.Hour
	ticketFor = 5 * time.Minute
	maxLinks  = 1000 // of one kind that are good at a time
)

// Invitation is one that nobody has used yet, without its code.
type Invitation struct {
	ID      int64     `json:"id"`
	Role    Role      `json:"role"`
	By      string    `json:"by,omitempty"` // id of who invites
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// Links are one-time links and invitations.
type Links struct{ p *People }

// Links gives the links.
func (p *People) Links() Links { return Links{p} }

type link struct {
	id     int64
	person string // "" is nobody's
	role   Role
	also   Reset
}

// Reset says what else goes when somebody chooses a new password with a link.
type Reset struct{ SecondFactor, Passkeys, Linked bool }

// bits are how a link keeps it.
func (r Reset) bits() int {
	return number(r.SecondFactor) | number(r.Passkeys)<<1 | number(r.Linked)<<2
}

// link makes a link and returns its secret.
func (n Links) link(ctx context.Context, q store.Querier, kind, person string, role Role, also Reset, by By, expires time.Time) (secret string, err error) {
	secret = rand.Text()
	if _, err = q.Exec(ctx, `DELETE FROM {links} WHERE expires <= ?1`, n.p.now().Unix()); err != nil {
		return "", fmt.Errorf("make a link: %w", err)
	}
	var had int
	if err := q.QueryRow(ctx, `SELECT count(*) FROM {links} WHERE kind = ?1 AND (?2 = '' OR person = ?2)`, kind, person).Scan(&had); err != nil {
		return "", fmt.Errorf("make a link: %w", err)
	}
	if had >= maxLinks {
		return "", fmt.Errorf("there are %d such links already: withdraw one, or wait until they expire", maxLinks)
	}
	_, err = q.Exec(ctx, `INSERT INTO {links} (hash, kind, person, role, factor, author, created, expires) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
		hashed(secret), kind, sql.NullString{String: person, Valid: person != ""}, string(role), also.bits(), by.Person, n.p.now().Unix(), expires.Unix())
	if err != nil {
		return "", fmt.Errorf("make a link: %w", err)
	}
	return secret, nil
}

// linkOf looks at a link that is good.
func (n Links) linkOf(ctx context.Context, q store.Querier, kind, secret string) (l link, err error) {
	var also int
	err = q.QueryRow(ctx, `SELECT l.id, coalesce(l.person, ''), l.role, l.factor FROM {links} l LEFT JOIN {people} o ON o.id = l.person
		WHERE l.hash = ?1 AND l.kind = ?2 AND l.expires > ?3 AND (l.person IS NULL OR o.disabled = 0)`, hashed(secret), kind, n.p.now().Unix()).Scan(&l.id, &l.person, &l.role, &also)
	l.also = Reset{also&1 != 0, also&2 != 0, also&4 != 0}
	if errors.Is(err, sql.ErrNoRows) {
		return l, ErrLink
	}
	if err != nil {
		return l, fmt.Errorf("look for a link: %w", err)
	}
	return l, nil
}

// redeem uses a link. Of two who try only one does.
func (n Links) redeem(ctx context.Context, q store.Querier, kind, secret string) (link, error) {
	l, err := n.linkOf(ctx, q, kind, secret)
	if err != nil {
		return l, err
	}
	gone, err := q.Exec(ctx, `DELETE FROM {links} WHERE id = ?1`, l.id)
	if err == nil && gone == 0 {
		err = ErrLink
	}
	return l, err
}

// Link makes a link that signs a person in once within ten minutes, and returns its secret.
func (n Links) Link(ctx context.Context, by By, person string) (secret string, err error) {
	err = n.p.change(ctx, by, person, "link", "", false, func(q store.Querier) (err error) {
		secret, err = n.link(ctx, q, linkOpen, person, "", Reset{}, by, n.p.now().Add(openFor))
		return err
	})
	return secret, err
}

// Open signs the person of a link in.
func (n Links) Open(ctx context.Context, secret string, from From) (device string, err error) {
	err = n.p.db.Update(ctx, func(q store.Querier) error {
		l, err := n.redeem(ctx, q, linkOpen, secret)
		if err != nil {
			return err
		}
		device, err = n.p.enter(ctx, q, l.person, from)
		return err
	})
	return device, err
}

// Reset makes a link with which a person chooses a new password within a day. It returns the
// secret of the link.
func (n Links) Reset(ctx context.Context, by By, person string, also Reset) (secret string, err error) {
	err = n.p.change(ctx, by, person, "reset", "", false, func(q store.Querier) (err error) {
		secret, err = n.link(ctx, q, linkReset, person, "", also, by, n.p.now().Add(resetFor))
		return err
	})
	return secret, err
}

// ResetName is the name of the person that a link of [Links.Reset] is for.
func (n Links) ResetName(ctx context.Context, secret string) (string, error) {
	l, err := n.linkOf(ctx, n.p.db, linkReset, secret)
	if err != nil {
		return "", err
	}
	one, err := n.p.Get(ctx, l.person)
	return one.Name, err
}

// ChoosePassword gives the person of a link of [Links.Reset] a password, and signs them out
// everywhere.
func (n Links) ChoosePassword(ctx context.Context, secret, password string, from From) error {
	name, err := n.ResetName(ctx, secret)
	if err == nil {
		err = checkPassword(password, name)
	}
	if err != nil {
		return err
	}
	hash, err := n.p.hashes.hash(ctx, password)
	if err != nil {
		return err
	}
	return n.p.db.Update(ctx, func(q store.Querier) error {
		l, err := n.redeem(ctx, q, linkReset, secret)
		if err == nil {
			err = dropSecrets(ctx, q, l.person, "")
		}
		if err == nil {
			_, err = q.Exec(ctx, `UPDATE {people} SET password = ?2 WHERE id = ?1`, l.person, hash)
		}
		if err == nil && l.also.SecondFactor {
			err = dropFactor(ctx, q, l.person)
		}
		if err == nil && l.also.Passkeys {
			_, err = q.Exec(ctx, `DELETE FROM {passkeys} WHERE person = ?1`, l.person)
		}
		if err == nil && l.also.Linked {
			_, err = q.Exec(ctx, `DELETE FROM {identities} WHERE person = ?1`, l.person)
		}
		if err == nil {
			_, err = q.Exec(ctx, `DELETE FROM {attempts} WHERE hash = ?1`, tries(name, "")[0].hash)
		}
		if err != nil {
			return err
		}
		return n.p.note(ctx, q, By{l.person, from.Address}, "password", l.person, "by a link")
	})
}

// Invite makes an invitation, and returns its code.
func (n Links) Invite(ctx context.Context, by By, role Role, expires time.Time) (code string, err error) {
	if err := checkRole(role); err != nil {
		return "", err
	}
	err = n.p.db.Update(ctx, func(q store.Querier) error {
		if code, err = n.link(ctx, q, linkJoin, "", role, Reset{}, by, expires); err != nil {
			return err
		}
		return n.p.note(ctx, q, by, "invite", "", string(role))
	})
	return code, err
}

// Invitations returns those that nobody has used.
func (n Links) Invitations(ctx context.Context) ([]Invitation, error) {
	rows, err := n.p.db.Query(ctx, `SELECT id, role, author, created, expires FROM {links} WHERE kind = ?1 AND expires > ?2 ORDER BY id`, linkJoin, n.p.now().Unix())
	return collect(rows, err, "list the invitations", func(row interface{ Scan(...any) error }) (i Invitation, err error) {
		var created, expires int64
		err = row.Scan(&i.ID, &i.Role, &i.By, &created, &expires)
		i.Created, i.Expires = since(created), since(expires)
		return i, err
	})
}

// Withdraw makes an invitation worthless.
func (n Links) Withdraw(ctx context.Context, by By, id int64) error {
	return n.p.db.Update(ctx, func(q store.Querier) error {
		gone, err := q.Exec(ctx, `DELETE FROM {links} WHERE kind = ?1 AND id = ?2`, linkJoin, id)
		if err == nil && gone == 0 {
			err = fmt.Errorf("%w invitation", ErrUnknown)
		}
		if err != nil {
			return err
		}
		return n.p.note(ctx, q, by, "invite.withdraw", "", "")
	})
}

// Invited says which role a code is for.
func (n Links) Invited(ctx context.Context, code string) (Role, error) {
	l, err := n.linkOf(ctx, n.p.db, linkJoin, code)
	return l.role, err
}

// Join makes a person with the code of an invitation, and signs them in.
func (n Links) Join(ctx context.Context, code, name, display, password string, from From) (device string, err error) {
	if _, err := n.Invited(ctx, code); err != nil {
		return "", err
	}
	name = strings.TrimSpace(name)
	display, wrong := checkDisplay(display, name)
	if err := errors.Join(checkName(name), wrong, checkPassword(password, name)); err != nil {
		return "", err
	}
	hash, err := n.p.hashes.hash(ctx, password)
	if err != nil {
		return "", err
	}
	err = n.p.db.Update(ctx, func(q store.Querier) error {
		l, err := n.redeem(ctx, q, linkJoin, code)
		if err != nil {
			return err
		}
		id, err := n.p.add(ctx, q, name, display, l.role, hash)
		if err != nil {
			return err
		}
		if err := n.p.note(ctx, q, By{id, from.Address}, "join", id, string(l.role)); err != nil {
			return err
		}
		device, err = n.p.enter(ctx, q, id, from)
		return err
	})
	return device, err
}
