package people

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Group is people who may use the same models, within the same budget.
type Group struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Members []string `json:"members"`          // names
	Models  []string `json:"models,omitempty"` // selectors of those they may use; missing: all
	Budget  *llm.USD `json:"budget,omitempty"` // of each member in a month; missing: none
}

// Quota is what one person may use. What is missing has no limit.
type Quota struct {
	Budget  *llm.USD `json:"budget,omitempty"`  // in a month
	Storage *int64   `json:"storage,omitempty"` // bytes
	Turns   *int     `json:"turns,omitempty"`   // at the same time
}

// Limits are the strictest of a person's quota and groups.
type Limits struct {
	Quota
	// Models are lists of selectors: a model has to match one of each list.
	Models [][]string `json:"models,omitempty"`
}

// Groups are the groups, and the quotas of people.
type Groups struct {
	db     *store.DB
	people *People
}

// Groups gives the groups.
func (p *People) Groups() Groups { return Groups{p.db, p} }

const maxSelectors = 100

func checkModels(models []string) (string, error) {
	if len(models) > maxSelectors || slices.ContainsFunc(models, func(m string) bool {
		return strings.TrimSpace(m) == "" || len(m) > 200 || strings.ContainsFunc(m, prose.Steers)
	}) {
		return "", InputError{"models", fmt.Sprintf("use at most %d selectors, such as anthropic/*", maxSelectors)}
	}
	if models == nil {
		models = []string{}
	}
	raw, err := json.Marshal(models)
	return string(raw), err
}

func checkBudget(usd *llm.USD) error {
	if usd != nil && *usd < 0 {
		return InputError{"budget", "must be positive"}
	}
	return nil
}

// Set makes a group, or changes the one with the name: its models and budget.
func (g Groups) Set(ctx context.Context, by By, name string, models []string, budget *llm.USD) error {
	raw, err := checkModels(models)
	if err == nil {
		err = checkName(name)
	}
	if err == nil {
		err = checkBudget(budget)
	}
	if err != nil {
		return err
	}
	return g.db.Update(ctx, func(q store.Querier) error {
		_, err := q.Exec(ctx, `INSERT INTO {teams} (id, name, folded, models, budget) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (folded) DO UPDATE SET models = excluded.models, budget = excluded.budget`, strings.ToLower(rand.Text()), name, fold(name), raw, budget)
		if err != nil {
			return fmt.Errorf("set group %s: %w", name, err)
		}
		return g.people.note(ctx, q, by, "group.set", "", name)
	})
}

// change changes the group with a name.
func (g Groups) change(ctx context.Context, by By, name, what, target, missing string, do func(q store.Querier) (int64, error)) error {
	return g.db.Update(ctx, func(q store.Querier) error {
		n, err := do(q)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w %s", ErrUnknown, missing)
		}
		if err != nil {
			return fmt.Errorf("change a group: %w", err)
		}
		return g.people.note(ctx, q, by, what, target, name)
	})
}

// Remove removes a group. Its members stay.
func (g Groups) Remove(ctx context.Context, by By, name string) error {
	return g.change(ctx, by, asText(name), "group.remove", "", "group", func(q store.Querier) (int64, error) {
		return q.Exec(ctx, `DELETE FROM {teams} WHERE folded = ?1`, fold(asText(name)))
	})
}

// Join adds a person to a group; one who is in it stays.
func (g Groups) Join(ctx context.Context, by By, name, person string) error {
	return g.change(ctx, by, asText(name), "group.join", person, "group or person", func(q store.Querier) (int64, error) {
		return q.Exec(ctx, `INSERT INTO {team_members} (team, person) SELECT t.id, o.id FROM {teams} t, {people} o WHERE t.folded = ?1 AND o.id = ?2
			ON CONFLICT (team, person) DO UPDATE SET person = excluded.person`, fold(asText(name)), asText(person))
	})
}

// Leave takes a person out of a group.
func (g Groups) Leave(ctx context.Context, by By, name, person string) error {
	return g.change(ctx, by, asText(name), "group.leave", person, "group or member", func(q store.Querier) (int64, error) {
		return q.Exec(ctx, `DELETE FROM {team_members} WHERE person = ?2 AND team IN (SELECT id FROM {teams} WHERE folded = ?1)`, fold(asText(name)), asText(person))
	})
}

// List returns all groups, by name.
func (g Groups) List(ctx context.Context) ([]Group, error) {
	rows, err := g.db.Query(ctx, `SELECT id, name, models, budget FROM {teams} ORDER BY folded`)
	all, err := collect(rows, err, "list the groups", func(row interface{ Scan(...any) error }) (Group, error) {
		one := Group{Members: []string{}}
		var models string
		err := row.Scan(&one.ID, &one.Name, &models, &one.Budget)
		if err == nil {
			err = json.Unmarshal([]byte(models), &one.Models)
		}
		return one, err
	})
	if err != nil {
		return nil, err
	}
	rows, err = g.db.Query(ctx, `SELECT m.team, o.name FROM {team_members} m JOIN {people} o ON o.id = m.person ORDER BY o.folded`)
	_, err = collect(rows, err, "list the groups", func(row interface{ Scan(...any) error }) (team string, err error) {
		var name string
		err = row.Scan(&team, &name)
		if i := slices.IndexFunc(all, func(g Group) bool { return g.ID == team }); i >= 0 {
			all[i].Members = append(all[i].Members, name)
		}
		return team, err
	})
	return all, err
}

// SetQuota says what a person may use.
func (g Groups) SetQuota(ctx context.Context, by By, person string, is Quota) error {
	if err := checkBudget(is.Budget); err != nil {
		return err
	}
	if is.Storage != nil && *is.Storage < 0 || is.Turns != nil && *is.Turns < 0 {
		return InputError{"quota", "must be positive"}
	}
	return g.people.set(ctx, by, person, "quota", "", false, `INSERT INTO {quotas} (person, budget, storage, turns) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (person) DO UPDATE SET budget = excluded.budget, storage = excluded.storage, turns = excluded.turns`, is.Budget, is.Storage, is.Turns)
}

// Quota is what a person may use, without their groups.
func (g Groups) Quota(ctx context.Context, person string) (is Quota, err error) {
	err = g.db.QueryRow(ctx, `SELECT budget, storage, turns FROM {quotas} WHERE person = ?1`, person).Scan(&is.Budget, &is.Storage, &is.Turns)
	return is, ignore(err, sql.ErrNoRows)
}

// Storage is how many bytes a person may keep; nil: there is no limit. In a transaction others who
// ask for the same person wait until it ends.
func Storage(ctx context.Context, q store.Querier, person string) (most *int64, err error) {
	var n int64
	err = q.QueryRow(ctx, `UPDATE {quotas} SET storage = storage WHERE person = ?1 AND storage IS NOT NULL RETURNING storage`, person).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the quota: %w", err)
	}
	return &n, nil
}

// Limits are those of a person: the least budget of the quota and the groups, and models that
// all of the groups allow.
func (p *People) Limits(ctx context.Context, person string) (is Limits, err error) {
	if is.Quota, err = p.Groups().Quota(ctx, person); err != nil {
		return is, fmt.Errorf("look for the limits: %w", err)
	}
	rows, err := p.db.Query(ctx, `SELECT t.models, t.budget FROM {team_members} m JOIN {teams} t ON t.id = m.team WHERE m.person = ?1 ORDER BY t.folded`, person)
	_, err = collect(rows, err, "look for the limits", func(row interface{ Scan(...any) error }) (none struct{}, err error) {
		var raw string
		var budget *llm.USD
		if err = row.Scan(&raw, &budget); err != nil {
			return none, err
		}
		if budget != nil && (is.Budget == nil || *budget < *is.Budget) {
			is.Budget = budget
		}
		var models []string
		if err = json.Unmarshal([]byte(raw), &models); len(models) > 0 {
			is.Models = append(is.Models, models)
		}
		return none, err
	})
	return is, err
}
