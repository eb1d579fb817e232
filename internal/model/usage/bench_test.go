package usage

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
)

func BenchmarkSettle(b *testing.B) {
	for _, bm := range []struct {
		name   string
		limits Limits
	}{{"no limit", Limits{}}, {"session limit", Limits{Session: 1e6 * cent}}, {"month limit", Limits{Month: 1e9 * cent}}} {
		b.Run(bm.name, func(b *testing.B) {
			l := open(b, b.TempDir())
			ctx := context.Background()
			scope := Scope{Session: "0190f7e2-5c1e-7b6a-9a53-2d1c0f1e9b11", Project: "/home/somebody/src/project", Turn: "12"}
			p := plan(1)
			b.ReportAllocs()
			for b.Loop() {
				r, err := l.Reserve(ctx, scope, bm.limits, p)
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Settle(paid(1)); err != nil {
					b.Fatal(err)
				}
			}
			if err := l.Close(); err != nil { // all of it is written: the figure is amortised
				b.Fatal(err)
			}
		})
	}
}

func filled(b *testing.B, n int) *Ledger {
	l := open(b, b.TempDir())
	ctx := context.Background()
	for i := range n {
		r, err := l.Reserve(ctx, Scope{
			Session: fmt.Sprintf("0190f7e2-5c1e-7b6a-9a53-%012d", i/50), Project: fmt.Sprint("/home/somebody/src/project", i%20), Turn: fmt.Sprint(i % 50),
		}, Limits{}, plan(cent))
		if err != nil {
			b.Fatal(err)
		}
		rec := paid(cent)
		rec.Time = november.AddDate(0, 0, -365+i*365/n)
		rec.Provider, rec.Model = "anthropic", fmt.Sprint("claude-sonnet-", i%7)
		if err := r.Settle(rec); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.flush(ctx); err != nil {
		b.Fatal(err)
	}
	return l
}

func BenchmarkReport100k(b *testing.B) {
	l := filled(b, 100_000)
	for _, by := range Groupings() {
		b.Run(string(by), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t, err := l.Report(context.Background(), Query{By: by})
				if err != nil || t.Total.Requests != 100_000 {
					b.Fatal(t.Total, err)
				}
			}
		})
	}
	b.Run("last 30 days", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.Report(context.Background(), Query{Since: november.AddDate(0, 0, -30)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The first reservation under a month's limit opens the file and adds up the month.
func BenchmarkFirstReserve(b *testing.B) {
	l := filled(b, 100_000)
	home := l.home
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		l := open(b, home)
		l.now = func() time.Time { return november.AddDate(0, 0, -5) }
		r, err := l.Reserve(context.Background(), Scope{Session: "s", Project: "/home/somebody/src/project3"}, Limits{Month: 1e9 * cent, Project: 1e9 * cent}, plan(cent))
		if err != nil {
			b.Fatal(err)
		}
		r.Release()
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkText(b *testing.B) {
	t := Table{By: ByDay}
	for i := range 365 {
		t.Rows = append(t.Rows, Row{Key: november.AddDate(0, 0, i).Format("2006-01-02"), Requests: int64(i), Input: int64(i * 1000), Cost: llm.USD(i) * cent})
	}
	t.finish()
	b.ReportAllocs()
	for b.Loop() {
		_ = t.Text(Style{Width: 120, Unicode: true})
	}
}
