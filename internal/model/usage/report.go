package usage

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
)

// By says what the rows of a report are.
type By string

const (
	ByDay      By = "day" // local calendar days: 2026-11-22
	ByWeek     By = "week"
	ByMonth    By = "month"
	ByProject  By = "project"
	ByModel    By = "model" // provider/id
	ByProvider By = "provider"
	BySession  By = "session"
	ByPurpose  By = "purpose"
)

// Groupings lists what reports can be made by.
func Groupings() []By {
	return []By{ByDay, ByWeek, ByMonth, ByProject, ByModel, ByProvider, BySession, ByPurpose}
}

// ParseBy reads a grouping by name.
func ParseBy(s string) (By, error) {
	_, _, err := By(s).columns()
	return By(s), err
}

// time says whether rows follow the calendar.
func (b By) time() bool { return b == ByDay || b == ByWeek || b == ByMonth }

// Query says what to report. Empty fields do not filter.
type Query struct {
	Since, Until time.Time // requests sent at or after Since and before Until
	Project      string    // this folder and those below it
	Model        string    // id or provider/id; * stands for any text
	Provider     string
	Session      string
	By           By // empty = [ByDay]
}

// Table is a report. Rows of the calendar ascend; others descend by cost.
type Table struct {
	By    By
	Rows  []Row
	Total Row // its Key is "total"
}

// Row is the sum of some requests.
type Row struct {
	Key        string
	Requests   int64
	Input      int64 // fresh input tokens
	Output     int64
	CacheRead  int64
	CacheWrite int64
	Cost       llm.USD
	Unknown    int64 // requests whose cost is not wholly known; Cost is then a lower bound
	Unreliable int64 // requests priced with a stand-in
}

func (r *Row) add(o Row) {
	r.Requests += o.Requests
	r.Input += o.Input
	r.Output += o.Output
	r.CacheRead += o.CacheRead
	r.CacheWrite += o.CacheWrite
	r.Cost += o.Cost
	r.Unknown += o.Unknown
	r.Unreliable += o.Unreliable
}

// MaxRows is the most rows of a table. Of rows by day, week and month the oldest,
// of others the cheapest are then summed up in one, "(others)".
const MaxRows = 2000

const othersKey = "(others)"

// Report adds up the ledger. Lines of this process that wait to be written are
// written first. A ledger that does not exist yet is not created: its table is
// empty.
func (l *Ledger) Report(ctx context.Context, q Query) (Table, error) {
	q.By = cmp.Or(q.By, ByDay)
	if _, _, err := q.By.columns(); err != nil {
		return Table{}, err
	}
	t := Table{By: q.By, Total: Row{Key: "total"}}
	db, done, err := l.reader(ctx)
	if err != nil {
		return Table{}, err
	}
	if db == nil {
		return t, nil
	}
	defer done()
	if t.Rows, err = groups(ctx, db, q, linesEach); err != nil {
		return Table{}, fmt.Errorf("read the ledger of costs: %w", err)
	}
	t.finish()
	return t, nil
}

// columns are the SQL expressions of a row's key and of what groups the lines.
func (b By) columns() (key, group string, err error) {
	switch b {
	case ByDay, ByWeek, ByMonth:
		return "day", "day", nil
	case ByModel:
		return "provider || '/' || model", "model, provider", nil
	case ByProject, ByProvider, BySession, ByPurpose:
		return string(b), string(b), nil
	}
	var names []string
	for _, g := range Groupings() {
		names = append(names, string(g))
	}
	return "", "", fmt.Errorf("costs cannot be listed by %q: want one of %s", b, strings.Join(names, ", "))
}

// linesEach is how many lines one goroutine adds up, and readers how many there are
// at a time. SQLite groups by sorting, which takes as long as reading.
const (
	linesEach = 32_000
	readers   = 3 // of the connections to the file
)

// groups adds up the lines there are now, in shares of so many lines.
func groups(ctx context.Context, db *sql.DB, q Query, share int64) ([]Row, error) {
	var last int64 // lines are only added, so those up to here stay as they are
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM usage").Scan(&last); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var out []Row
	index := map[string]int{}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(readers)
	for from := int64(0); from < last; from += share {
		work.Go(func() error {
			return q.group(ctx, db, from, min(from+share, last), func(r Row) {
				mu.Lock()
				defer mu.Unlock()
				if i, ok := index[r.Key]; ok {
					out[i].add(r)
					return
				}
				index[r.Key] = len(out)
				out = append(out, r)
			})
		})
	}
	err := work.Wait()
	return out, err
}

// group adds up the lines whose ids lie above from, up to to.
func (q Query) group(ctx context.Context, db *sql.DB, from, to int64, found func(Row)) error {
	key, columns, err := q.By.columns()
	if err != nil {
		return err
	}
	where, args := q.where()
	rows, err := db.QueryContext(ctx, "SELECT "+key+`, count(*), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(cost), sum(unknown), sum(unreliable)
		FROM usage NOT INDEXED WHERE id > ? AND id <= ?`+where+" GROUP BY "+columns, append([]any{from, to}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r Row
		if err := rows.Scan(&r.Key, &r.Requests, &r.Input, &r.Output, &r.CacheRead, &r.CacheWrite, &r.Cost, &r.Unknown, &r.Unreliable); err != nil {
			return err
		}
		if q.By.time() {
			r.Key = period(q.By, r.Key)
		}
		found(r)
	}
	return rows.Err()
}

// period is the name of the day, ISO week or month that a day (YYYYMMDD) lies in.
func period(by By, day string) string {
	t, err := time.Parse("20060102", day)
	switch {
	case err != nil:
		return day
	case by == ByWeek:
		year, week := t.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	case by == ByMonth:
		return t.Format("2006-01")
	}
	return t.Format(time.DateOnly)
}

// where is the filter as further conditions of a query.
func (q Query) where() (string, []any) {
	var conditions []string
	var args []any
	add := func(condition string, values ...any) {
		conditions, args = append(conditions, " AND "+condition), append(args, values...)
	}
	if !q.Since.IsZero() {
		add("time >= ?", q.Since.UnixMilli())
	}
	if !q.Until.IsZero() {
		add("time < ?", q.Until.UnixMilli())
	}
	if q.Project != "" {
		folder := strings.TrimSuffix(q.Project, string(filepath.Separator)) + string(filepath.Separator)
		add("(project = ? OR substr(project, 1, length(?)) = ?)", q.Project, folder, folder)
	}
	if q.Model != "" {
		// LIKE with an escape, because brackets and question marks are letters here.
		pattern := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "*", "%").Replace(q.Model)
		add(`(model LIKE ? ESCAPE '\' OR provider || '/' || model LIKE ? ESCAPE '\')`, pattern, pattern)
	}
	if q.Provider != "" {
		add("provider = ?", q.Provider)
	}
	if q.Session != "" {
		add("session = ?", q.Session)
	}
	return strings.Join(conditions, ""), args
}

// finish orders the rows, bounds them and adds them up.
func (t *Table) finish() {
	for _, r := range t.Rows {
		t.Total.add(r)
	}
	byKey := func(a, b Row) int { return cmp.Compare(a.Key, b.Key) }
	if t.By.time() {
		sorting.Stable(t.Rows, byKey)
	} else {
		sorting.Stable(t.Rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Unknown, a.Unknown), byKey(a, b))
		})
	}
	more := len(t.Rows) - MaxRows + 1
	if len(t.Rows) <= MaxRows {
		return
	}
	others := Row{Key: othersKey}
	cut := t.Rows[MaxRows-1:]
	if t.By.time() {
		cut = t.Rows[:more]
	}
	for _, r := range cut {
		others.add(r)
	}
	if t.By.time() {
		t.Rows = append([]Row{others}, t.Rows[more:]...)
	} else {
		t.Rows = append(t.Rows[:MaxRows-1:MaxRows-1], others)
	}
}
