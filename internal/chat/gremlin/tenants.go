package gremlin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/chat/store"
)

// Tenants are those that persons have registered in burin's own database.
type Tenants struct{ db *store.DB }

// NewTenants are those of a database, which has the tables of [Part].
func NewTenants(db *store.DB) *Tenants { return &Tenants{db} }

// Tenant is one that a person has registered. Its id is nowhere: it is a credential.
type Tenant struct {
	Number   int64     `json:"id"`
	Name     string    `json:"name"`     // that the person gave it
	Password bool      `json:"password"` // one is asked for
	Created  time.Time `json:"created"`
	Rows     int64     `json:"rows"`
	Bytes    int64     `json:"bytes"` // of their encrypted data
}

// Errors of [Tenants].
var (
	// ErrInvalid means that a registration can't be.
	ErrInvalid = errors.New("invalid")
	// ErrOther means that another person has registered the tenant.
	ErrOther = errors.New("somebody else has registered this key")
)

const maxName = 100 // characters

// Register serves a tenant from now on. password is what the application sends, [PasswordHash]; with ""
// any is good. A person who registers a tenant again gives it another name and password.
func (t *Tenants) Register(ctx context.Context, person, name, tenant, password string) (number int64, err error) {
	switch hash := regexp.MustCompile(`^[0-9a-f]*$`); {
	case len(tenant) != 2*keySize || !hash.MatchString(tenant):
		return 0, fmt.Errorf("%w: tenant: must be the user id of the application, %d hexadecimal digits in lower case", ErrInvalid, 2*keySize)
	case password != "" && (len(password) != len(PasswordHash("x")) || !hash.MatchString(password)):
		return 0, fmt.Errorf("%w: password: must be the hash that the application sends, 128 hexadecimal digits in lower case, or empty", ErrInvalid)
	case name == "" || utf8.RuneCountInString(name) > maxName || !utf8.ValidString(name):
		return 0, fmt.Errorf("%w: name: must have 1 to %d characters", ErrInvalid, maxName)
	}
	err = t.db.Update(ctx, func(q store.Querier) error {
		var owner string
		err := q.QueryRow(ctx, `SELECT person FROM {gremlin_tenants} WHERE tenant = ?1`, hashed(tenant)).Scan(&owner)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err = q.Exec(ctx, `INSERT INTO {gremlin_tenants} (tenant, person, name, password, created) VALUES (?1, ?2, ?3, ?4, ?5)`,
				hashed(tenant), person, name, locked(tenant, password), time.Now().Unix())
		case err == nil && owner != person:
			err = ErrOther
		case err == nil:
			_, err = q.Exec(ctx, `UPDATE {gremlin_tenants} SET name = ?2, password = ?3 WHERE tenant = ?1`, hashed(tenant), name, locked(tenant, password))
		}
		if err != nil {
			return err
		}
		return q.QueryRow(ctx, `SELECT number FROM {gremlin_tenants} WHERE tenant = ?1`, hashed(tenant)).Scan(&number)
	})
	return number, err
}

// locked is what is kept of a password. The tenant's id, which is kept nowhere, takes the place of a salt:
// who has the database only can't try passwords.
func locked(tenant, password string) any {
	if password == "" {
		return nil
	}
	m := hmac.New(sha256.New, []byte(tenant))
	m.Write([]byte(password))
	return m.Sum(nil)
}

// List gives the tenants of a person.
func (t *Tenants) List(ctx context.Context, person string) ([]Tenant, error) {
	rows, err := t.db.Query(ctx, `SELECT number, name, password IS NOT NULL, created,
			(SELECT count(*) FROM {gremlin_records} WHERE userId = tenant),
			(SELECT coalesce(sum(octet_length(encryptedData)), 0) FROM {gremlin_records} WHERE userId = tenant)
		FROM {gremlin_tenants} WHERE person = ?1 ORDER BY number`, person)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []Tenant{}
	for rows.Next() {
		var one Tenant
		var created int64
		if err := rows.Scan(&one.Number, &one.Name, &one.Password, &created, &one.Rows, &one.Bytes); err != nil {
			return nil, err
		}
		one.Created = time.Unix(created, 0).UTC()
		all = append(all, one)
	}
	return all, rows.Err()
}

// Remove ends serving a tenant of a person; with records its rows are deleted, too. Those that stay are
// there again when it is registered again. The error is [ErrTenant] if the person has no such tenant.
func (t *Tenants) Remove(ctx context.Context, person string, number int64, records bool) error {
	return t.db.Update(ctx, func(q store.Querier) error {
		var tenant []byte
		err := q.QueryRow(ctx, `SELECT tenant FROM {gremlin_tenants} WHERE number = ?1 AND person = ?2`, number, person).Scan(&tenant)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrTenant
		}
		if err == nil {
			_, err = q.Exec(ctx, `DELETE FROM {gremlin_tenants} WHERE number = ?1`, number)
		}
		if err == nil && records {
			_, err = q.Exec(ctx, `DELETE FROM {gremlin_records} WHERE userId = ?1`, tenant)
		}
		return err
	})
}

// Known reports whether somebody has registered a tenant.
func (t *Tenants) Known(ctx context.Context, tenant string) (known bool, err error) {
	err = t.db.QueryRow(ctx, `SELECT count(*) > 0 FROM {gremlin_tenants} WHERE tenant = ?1`, hashed(tenant)).Scan(&known)
	return known, err
}

// admit says whether a client is one of a tenant's. The error is [ErrTenant] if not; it doesn't tell
// whether the tenant or the password is wrong.
func (t *Tenants) admit(ctx context.Context, tenant, password string) error {
	var want []byte
	err := t.db.QueryRow(ctx, `SELECT password FROM {gremlin_tenants} WHERE tenant = ?1`, hashed(tenant)).Scan(&want)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrTenant
	}
	if err != nil || want == nil {
		return err
	}
	had, _ := locked(tenant, password).([]byte) // nil: none was given
	if subtle.ConstantTimeCompare(want, had) != 1 {
		return ErrTenant
	}
	return nil
}
