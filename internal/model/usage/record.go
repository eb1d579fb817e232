package usage

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Purposes of requests. Others may be used; reports show them as they are.
const (
	PurposeTurn          = "turn"
	PurposeRetry         = "retry"
	PurposeCompaction    = "compaction"
	PurposeTitle         = "title"
	PurposeBranchSummary = "branch_summary"
	PurposeSubagent      = "subagent"
)

// Record is one request and what it cost. Fields that say where it belongs and
// are empty are those of its reservation.
type Record struct {
	Time     time.Time // when the request was sent; zero = when it was reserved
	Session  string
	Project  string // absolute folder
	Turn     string
	Provider string
	Model    string
	Account  string // which of several credentials paid; empty = unknown
	Purpose  string // empty = [PurposeTurn]
	// Usage counts the tokens. A nil Cost is an unknown cost, also when there are
	// no tokens: nobody knows what a stream cost that broke off.
	Usage      llm.Usage
	StopReason llm.StopReason
	Duration   time.Duration // of the whole request; microseconds are kept
	FirstToken time.Duration // until the first token; 0 = none came
}

const (
	// maxText is the most bytes of a text field; what is longer is cut.
	maxText = 4096
	// maxAmount bounds a number of tokens or nano-dollars (a million dollars) in
	// one request, so that no line can make sums overflow. What is more is cut, and
	// a cost that was cut is marked unknown.
	maxAmount = 1e15
)

// line is a record as the file holds it.
type line struct {
	Record
	cost    llm.Cost
	counted llm.USD // what counts against limits
}

// newLine checks a record. The estimate counts where the cost is unknown and what
// is known of it is less.
func newLine(r Record, estimate llm.USD) line {
	for _, s := range []*string{&r.Session, &r.Project, &r.Turn, &r.Provider, &r.Model, &r.Account, &r.Purpose, (*string)(&r.StopReason)} {
		*s = stored(*s)
	}
	u := &r.Usage
	for _, n := range []*int{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.CacheWriteLong, &u.Reasoning, &u.WebSearches, &u.WebFetches} {
		*n = int(bounded(int64(*n)))
	}
	l := line{Record: r, cost: llm.Cost{Unknown: true}}
	if u.Cost != nil {
		l.cost = *u.Cost
	}
	c := &l.cost
	for _, usd := range []*llm.USD{&c.Input, &c.Output, &c.CacheRead, &c.CacheWrite, &c.Tools, &c.Total} {
		if b := llm.USD(bounded(int64(*usd))); b != *usd {
			*usd, c.Unknown = b, true
		}
	}
	l.counted = c.Total
	if c.Unknown {
		l.counted = max(c.Total, estimate)
	}
	return l
}

func bounded(n int64) int64 { return min(max(n, 0), maxAmount) }

func stored(s string) string {
	return strings.ToValidUTF8(prose.Head(s, maxText), "\uFFFD")
}

// dayOf is the local calendar day as the number YYYYMMDD. It is stored, not
// computed from the time, so that a day stays what it was for a traveller.
func dayOf(t time.Time) int {
	y, m, d := t.Local().Date()
	return y*10000 + int(m)*100 + d
}

const insertLine = `INSERT INTO usage (time, day, session, project, turn, provider, model, account, purpose, stop,
	input, output, cache_read, cache_write, cache_write_long, reasoning, web_searches, web_fetches,
	cost_input, cost_output, cost_cache_read, cost_cache_write, cost_tools, cost, unknown, unreliable, counted, duration, first_token)
	VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`

func (l *line) insert(ctx context.Context, st *sql.Stmt) error {
	u, c := &l.Usage, &l.cost
	_, err := st.ExecContext(ctx, l.Time.UnixMilli(), dayOf(l.Time), l.Session, l.Project, l.Turn, l.Provider, l.Model, l.Account, l.Purpose, string(l.StopReason),
		u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CacheWriteLong, u.Reasoning, u.WebSearches, u.WebFetches,
		int64(c.Input), int64(c.Output), int64(c.CacheRead), int64(c.CacheWrite), int64(c.Tools), int64(c.Total), c.Unknown, c.Unreliable, int64(l.counted),
		l.Duration.Microseconds(), l.FirstToken.Microseconds())
	if err != nil {
		return fmt.Errorf("write a line of usage: %w", err)
	}
	return nil
}
