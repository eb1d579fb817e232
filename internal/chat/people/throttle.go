package people

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/sorting"
)

const (
	freePerson  = 5  // failures in a row before a wait, of one name
	freeAddress = 50 // of one address, where many people may be
	maxWait     = 15 * time.Minute
	forgetAfter = 24 * time.Hour
	maxAttempts = 100_000 // names and addresses that are remembered
)

// WaitError says when to try again.
type WaitError struct{ Wait time.Duration }

func (e WaitError) Error() string {
	return fmt.Sprintf("too many attempts failed: try again in %v", max(e.Wait, time.Second).Round(time.Second))
}

// try is something that failures are counted of: a name, an address.
type try struct {
	hash []byte // a name that somebody typed may be a password
	free int
}

// guard has who fails to sign in wait.
type guard struct {
	db  *store.DB
	now func() time.Time
}

// tries are those of somebody who signs in with a name. An address that is "" is not counted.
func tries(name, address string) []try {
	all := []try{{hashed("name/" + fold(name)), freePerson}}
	if address != "" {
		all = append(all, try{hashed("address/" + address), freeAddress})
	}
	sorting.Stable(all, func(a, b try) int { return bytes.Compare(a.hash, b.hash) }) // in one order, two servers don't wait for each other
	return all
}

// waitAfter is how long to wait after so many failures.
func waitAfter(failures, free int) time.Duration {
	if failures <= free {
		return 0
	}
	return min(time.Second<<min(failures-free, 20), maxWait)
}

// failures are those of a try as they count now: half of them are forgotten each hour.
func (t try) failures(ctx context.Context, q store.Querier, now time.Time) (n int, until int64, err error) {
	var last int64
	err = q.QueryRow(ctx, `SELECT failures, until, last FROM {attempts} WHERE hash = ?1`, t.hash).Scan(&n, &until, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	if ago := now.Sub(since(last)); ago > 0 {
		n >>= min(int(ago/time.Hour), 62)
	}
	return n, until, err
}

// blocked says whether somebody has to wait, without counting.
func (g guard) blocked(ctx context.Context, tries []try) error {
	return g.look(ctx, g.db, tries, nil)
}

// look calls do with the failures of each try, unless one has to wait.
func (g guard) look(ctx context.Context, q store.Querier, tries []try, do func(t try, failures int) error) error {
	now := g.now()
	var wait time.Duration
	counts := make([]int, len(tries))
	for i, t := range tries {
		n, until, err := t.failures(ctx, q, now)
		if err != nil {
			return fmt.Errorf("count the attempts: %w", err)
		}
		wait = max(wait, time.UnixMilli(until).Sub(now))
		counts[i] = n
	}
	if wait > 0 {
		return WaitError{wait}
	}
	for i, t := range tries {
		if do != nil {
			if err := do(t, counts[i]); err != nil {
				return fmt.Errorf("count the attempts: %w", err)
			}
		}
	}
	return nil
}

// reserve counts an attempt as failed before it is made: of many at the same time only so many
// are made as one after the other would be.
func (g guard) reserve(ctx context.Context, tries []try) error {
	return g.db.Update(ctx, func(q store.Querier) error {
		return g.look(ctx, q, tries, func(t try, failures int) error {
			now := g.now()
			failures++
			_, err := q.Exec(ctx, `INSERT INTO {attempts} (hash, failures, until, last) VALUES (?1, ?2, ?3, ?4)
				ON CONFLICT (hash) DO UPDATE SET failures = excluded.failures, until = excluded.until, last = excluded.last`,
				t.hash, failures, now.Add(waitAfter(failures, t.free)).UnixMilli(), now.Unix())
			if err == nil && rand.N(64) == 0 {
				_, err = q.Exec(ctx, `DELETE FROM {attempts} WHERE last < ?1 OR last < (SELECT last FROM {attempts} ORDER BY last DESC LIMIT 1 OFFSET ?2)`,
					now.Add(-forgetAfter).Unix(), maxAttempts)
			}
			return err
		})
	})
}

// succeeded takes back what reserve counted. The name is forgiven everything; at an address
// somebody else may have failed.
func (g guard) succeeded(ctx context.Context, tries []try) error {
	for _, t := range tries {
		statement := `DELETE FROM {attempts} WHERE hash = ?1`
		if t.free == freeAddress {
			statement = `UPDATE {attempts} SET failures = failures - 1 WHERE hash = ?1 AND failures > 0`
		}
		if _, err := g.db.Exec(ctx, statement, t.hash); err != nil {
			return fmt.Errorf("count the attempts: %w", err)
		}
	}
	return nil
}
