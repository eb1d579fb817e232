// Package quota holds people to their limits: what their turns may cost in a month, and how much
// they may keep. What is counted is in the database, so that it is the same for all servers of it.
// Which models somebody may use, and how many turns they may have at a time, is judged where these
// are known.
//
// A month is one of the calendar, in UTC. A request is booked when it has ended: those that are
// under way when a budget is used up end, and may exceed it.
package quota

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/llm"
)

// Part is the tables.
func Part() store.Part {
	return store.Part{Name: "quota", Steps: []string{`
CREATE TABLE {expenses} (
	person   TEXT NOT NULL,
	month    INTEGER NOT NULL,
	requests INTEGER NOT NULL,
	amount   INTEGER NOT NULL,
	PRIMARY KEY (person, month)
) STRICT;`, `
CREATE TABLE {spending} (
	person   TEXT NOT NULL,
	day      INTEGER NOT NULL,
	project  TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests INTEGER NOT NULL,
	input    INTEGER NOT NULL,
	output   INTEGER NOT NULL,
	amount   INTEGER NOT NULL,
	PRIMARY KEY (person, day, project, model)
) STRICT;`}}
}

var (
	// ErrBudget means that a person has spent what they may in this month.
	ErrBudget = errors.New("your budget is used up")
	// ErrStorage means that a person keeps as much as they may.
	ErrStorage = errors.New("your storage is full")
)

// Used is what a person uses.
type Used struct {
	Cost     llm.USD `json:"cost"`     // of this month, for models
	Requests int     `json:"requests"` // of this month, to models
	Storage  int64   `json:"storage"`  // bytes of files and attachments
	Turns    int     `json:"turns"`    // that run now
}

// Room is one of the places where something of people is kept. It says how many bytes that is, in
// a transaction.
type Room func(ctx context.Context, q store.Querier, person string) (int64, error)

// Quotas knows what people use. Any goroutine may use it.
type Quotas struct {
	db    *store.DB
	rooms []Room
	now   func() time.Time
}

// New makes the quotas of a database. The storage of a person is what they have in the rooms.
func New(db *store.DB, rooms ...Room) *Quotas { return &Quotas{db, rooms, time.Now} }

// month is the number of the current one, and when it ends.
func (s *Quotas) month() (n int64, ends time.Time) {
	year, month, _ := s.now().UTC().Date()
	return int64(year)*100 + int64(month), time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
}

func (s *Quotas) spent(ctx context.Context, person string) (u Used, err error) {
	month, _ := s.month()
	err = s.db.QueryRow(ctx, `SELECT amount, requests FROM {expenses} WHERE person = ?1 AND month = ?2`, person, month).Scan(&u.Cost, &u.Requests)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("look for what was spent: %w", err)
	}
	return u, err
}

// Used is what a person uses, without turns.
func (s *Quotas) Used(ctx context.Context, person string) (Used, error) {
	u, err := s.spent(ctx, person)
	if err == nil {
		u.Storage, err = s.stored(ctx, s.db, person)
	}
	return u, err
}

// Afford reports with an [ErrBudget] that a person has spent their budget of the month; nil is no
// budget.
func (s *Quotas) Afford(ctx context.Context, person string, budget *llm.USD) error {
	if budget == nil {
		return nil
	}
	u, err := s.spent(ctx, person)
	if err != nil || u.Cost < *budget {
		return err
	}
	_, ends := s.month()
	return fmt.Errorf("%w: %s of %s for this month spent; wait until %s, or ask an admin for more", ErrBudget, u.Cost, *budget, ends.Format("2 January 2006"))
}

// Request is one to a model, which has ended.
type Request struct {
	Person, Project string // ids
	Model           string // as PROVIDER/ID
	Input, Output   int    // tokens, those of caches among them
	Cost            llm.USD
}

// Spend books a request.
func (s *Quotas) Spend(ctx context.Context, r Request) error {
	month, _ := s.month()
	day := s.now().UTC().Truncate(24 * time.Hour).Unix()
	cost := max(0, r.Cost)
	err := s.db.Update(ctx, func(q store.Querier) error {
		_, err := q.Exec(ctx, `INSERT INTO {expenses} AS s (person, month, requests, amount) VALUES (?1, ?2, 1, ?3)
		ON CONFLICT (person, month) DO UPDATE SET requests = s.requests + 1, amount = s.amount + excluded.amount`, r.Person, month, cost)
		if err == nil {
			_, err = q.Exec(ctx, `INSERT INTO {spending} AS s (person, day, project, model, requests, input, output, amount) VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7)
				ON CONFLICT (person, day, project, model) DO UPDATE SET requests = s.requests + 1, input = s.input + excluded.input, output = s.output + excluded.output, amount = s.amount + excluded.amount`,
				r.Person, day, r.Project, r.Model, r.Input, r.Output, cost)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("book what a request has cost: %w", err)
	}
	return nil
}

// Spent is what a person's requests of a day (in UTC) to a model in a project have cost.
type Spent struct {
	Day      string  `json:"day"`     // as 2026-01-31
	Project  string  `json:"project"` // the id
	Model    string  `json:"model"`   // as PROVIDER/ID
	Requests int     `json:"requests"`
	Input    int     `json:"input"`  // tokens, those of caches among them
	Output   int     `json:"output"` // tokens
	Cost     llm.USD `json:"cost"`
}

// Spending is what a person has spent in the last days, the first day first.
func (s *Quotas) Spending(ctx context.Context, person string, days int) ([]Spent, error) {
	from := s.now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days).Unix()
	rows, err := s.db.Query(ctx, `SELECT day, project, model, requests, input, output, amount FROM {spending} WHERE person = ?1 AND day >= ?2 ORDER BY day, project, model`, person, from)
	if err != nil {
		return nil, fmt.Errorf("look for what was spent: %w", err)
	}
	defer rows.Close()
	all := []Spent{}
	for rows.Next() {
		var one Spent
		var day int64
		if err := rows.Scan(&day, &one.Project, &one.Model, &one.Requests, &one.Input, &one.Output, &one.Cost); err != nil {
			return nil, fmt.Errorf("look for what was spent: %w", err)
		}
		one.Day = time.Unix(day, 0).UTC().Format(time.DateOnly)
		all = append(all, one)
	}
	return all, rows.Err()
}

// Fits reports with an [ErrStorage] that a person keeps more than they may, after something was
// written in the transaction, which then must not be committed. Who writes somewhere else for the
// same person waits for its end.
func (s *Quotas) Fits(ctx context.Context, q store.Querier, person string) error {
	most, err := people.Storage(ctx, q, person)
	if err != nil || most == nil {
		return err
	}
	has, err := s.stored(ctx, q, person)
	if err != nil || has <= *most {
		return err
	}
	return fmt.Errorf("%w: with this it would hold %s of %s; remove files with their old versions and the trash, or ask an admin for more", ErrStorage, bytes(has), bytes(*most))
}

func (s *Quotas) stored(ctx context.Context, q store.Querier, person string) (sum int64, err error) {
	for _, room := range s.rooms {
		n, err := room(ctx, q, person)
		if err != nil {
			return 0, fmt.Errorf("count what is stored: %w", err)
		}
		sum += n
	}
	return sum, nil
}

func bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Forget removes what is known of a person, in a transaction.
func Forget(ctx context.Context, q store.Querier, person string) error {
	_, err := q.Exec(ctx, `DELETE FROM {expenses} WHERE person = ?1`, person)
	if err == nil {
		_, err = q.Exec(ctx, `DELETE FROM {spending} WHERE person = ?1`, person)
	}
	return err
}
