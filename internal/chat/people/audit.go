package people

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
)

const (
	auditDays   = 400     // for which entries are kept
	maxFailures = 100_000 // failed sign-ins that are kept, whoever makes them
	signInFails = "signin.fail"
)

// Entry is one thing that was done.
type Entry struct {
	Time    time.Time `json:"time"`
	Who     string    `json:"who,omitempty"`    // id of the person who did it; missing: somebody who isn't signed in
	What    string    `json:"what"`             // such as signin, token.add, person.role
	Target  string    `json:"target,omitempty"` // id of the person, or the group, it was done to
	Address string    `json:"from,omitempty"`   // missing: this machine's command line
	Detail  string    `json:"detail,omitempty"` // such as the new role
	// Names for people, of those who are still there.
	WhoName    string `json:"who_name,omitempty"`
	TargetName string `json:"target_name,omitempty"`
}

// note writes an entry, in the transaction of what it is about.
func (p *People) note(ctx context.Context, q store.Querier, by By, what, target, detail string) error {
	now := p.now()
	_, err := q.Exec(ctx, `INSERT INTO {audit} (time, who, what, target, address, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
		now.Unix(), by.Person, what, target, by.Address, detail)
	if err == nil && rand.N(64) == 0 {
		_, err = q.Exec(ctx, `DELETE FROM {audit} WHERE time < ?1`, now.AddDate(0, 0, -auditDays).Unix())
	}
	if err == nil && what == signInFails && rand.N(64) == 0 {
		_, err = q.Exec(ctx, `DELETE FROM {audit} WHERE what = ?1 AND id <= (SELECT max(id) FROM {audit} WHERE what = ?1) - ?2`, what, maxFailures)
	}
	if err != nil {
		return fmt.Errorf("write the log of what was done: %w", err)
	}
	return nil
}

// Audit returns what was done, newest first; person "" is everybody.
func (p *People) Audit(ctx context.Context, person string, limit int) ([]Entry, error) {
	rows, err := p.db.Query(ctx, `SELECT a.time, a.who, a.what, a.target, a.address, a.detail, coalesce(w.name, ''), coalesce(t.name, '')
		FROM {audit} a LEFT JOIN {people} w ON w.id = a.who LEFT JOIN {people} t ON t.id = a.target
		WHERE (?1 = '' OR a.who = ?1 OR a.target = ?1) AND a.time >= ?3 ORDER BY a.id DESC LIMIT ?2`, person, limit, p.now().AddDate(0, 0, -auditDays).Unix())
	return collect(rows, err, "read the log of what was done", func(row interface{ Scan(...any) error }) (e Entry, err error) {
		var at int64
		err = row.Scan(&at, &e.Who, &e.What, &e.Target, &e.Address, &e.Detail, &e.WhoName, &e.TargetName)
		e.Time = since(at)
		return e, err
	})
}

// Note writes down something that is done outside of the database.
func Note(ctx context.Context, p *People, by By, what, person, detail string) error {
	return p.db.Update(ctx, func(q store.Querier) error { return Noted(ctx, p, q, by, what, person, detail) })
}

// Noted writes an entry of another room into the log, in the transaction of what it is about.
func Noted(ctx context.Context, p *People, q store.Querier, by By, what, target, detail string) error {
	return p.note(ctx, q, by, what, target, detail)
}
