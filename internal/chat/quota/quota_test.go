package quota_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/quota"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

func TestQuotas(t *testing.T) {
	parts := []store.Part{people.Part(), quota.Part(), {Name: "shelf", Steps: []string{`CREATE TABLE {shelf} (person TEXT NOT NULL, bytes INTEGER NOT NULL) STRICT`}}}
	shelf := func(ctx context.Context, q store.Querier, person string) (n int64, err error) {
		err = q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM {shelf} WHERE person = ?1`, person).Scan(&n)
		return n, err
	}
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		ctx, db := t.Context(), open()
		q := quota.New(db, shelf)
		var work sync.WaitGroup
		for range 20 { // as several servers do
			work.Go(func() {
				if err := q.Spend(ctx, quota.Request{Person: people.OwnerID, Project: "p", Model: "box/one", Input: 3, Output: 2, Cost: llm.Dollars(0.05)}); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		if u, err := q.Used(ctx, people.OwnerID); err != nil || u.Cost != llm.Dollars(1) || u.Requests != 20 {
			t.Errorf("used %+v, %v", u, err)
		}
		more, less := llm.Dollars(1.01), llm.Dollars(1)
		if err := errors.Join(q.Afford(ctx, people.OwnerID, nil), q.Afford(ctx, people.OwnerID, &more), q.Afford(ctx, "another", &less)); err != nil {
			t.Error(err)
		}
		if err := q.Afford(ctx, people.OwnerID, &less); !errors.Is(err, quota.ErrBudget) || !strings.Contains(err.Error(), "$1.00 of $1.00 for this month") {
			t.Error(err)
		}

		p, err := people.Open(ctx, db, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		most := int64(1000)
		if err := p.Groups().SetQuota(ctx, people.By{}, people.OwnerID, people.Quota{Storage: &most}); err != nil {
			t.Fatal(err)
		}
		// Of those who write at the same time as many succeed as there is room for.
		var kept, full int
		var mu sync.Mutex
		for range 8 {
			work.Go(func() {
				err := db.Update(ctx, func(tx store.Querier) error {
					if _, err := tx.Exec(ctx, `INSERT INTO {shelf} (person, bytes) VALUES (?1, 300)`, people.OwnerID); err != nil {
						return err
					}
					return q.Fits(ctx, tx, people.OwnerID)
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					kept++
				case errors.Is(err, quota.ErrStorage) && strings.Contains(err.Error(), "1200 bytes of 1000 bytes"):
					full++
				default:
					t.Error(err)
				}
			})
		}
		work.Wait()
		if kept != 3 || full != 5 {
			t.Errorf("%d kept, %d refused", kept, full)
		}
		if err := quota.Forget(ctx, db, people.OwnerID); err != nil {
			t.Fatal(err)
		}
		if u, err := q.Used(ctx, people.OwnerID); err != nil || u.Cost != 0 || u.Storage != 900 {
			t.Errorf("used %+v, %v", u, err)
		}
	})
}
