package project

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
)

// preferencesTables has what a person has set for all of their projects. The id is the person's.
const preferencesTables = `CREATE TABLE {preferences} (
		id       TEXT PRIMARY KEY,
		revision INTEGER NOT NULL,
		sealed   BLOB NOT NULL
	) STRICT;`

// Limits of preferences.
const (
	maxPrompts   = 500
	maxPersonas  = 100
	maxReusables = 4 << 20 // bytes of all of them
)

// Prompt is a text that a person inserts into messages by its name. {{NAME}} in it is a variable, which is
// asked for then.
type Prompt struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Persona is what a chat may begin with: instructions, and a model for them.
type Persona struct {
	Name         string `json:"name"`
	Icon         string `json:"icon,omitempty"`
	Instructions string `json:"instructions"`
	Model        string `json:"model,omitempty"`
}

// Preferences are what a person has set for all of their projects.
type Preferences struct {
	Revision int64 `json:"revision"`
	// Unreadable says why what was set can't be opened, as for a project: it counts for nothing, and can't be changed before
	// it is removed.
	Unreadable string `json:"unreadable,omitempty"`
	// Instructions are added to the system prompt of all chats, before those of the project.
	Instructions string    `json:"instructions,omitempty"`
	Prompts      []Prompt  `json:"prompts,omitempty"`
	Personas     []Persona `json:"personas,omitempty"`
}

func (p *Preferences) check() error {
	switch {
	case len(p.Instructions) > maxText:
		return invalid("instructions: at most %d bytes, not %d", maxText, len(p.Instructions))
	case len(p.Prompts) > maxPrompts:
		return invalid("prompts: at most %d, not %d", maxPrompts, len(p.Prompts))
	case len(p.Personas) > maxPersonas:
		return invalid("personas: at most %d, not %d", maxPersonas, len(p.Personas))
	}
	size := 0
	known := map[string]bool{}
	for i := range p.Prompts {
		one := &p.Prompts[i]
		if err := reusable("prompts", &one.Name, known); err != nil {
			return err
		}
		size += len(one.Text)
	}
	clear(known)
	for i := range p.Personas {
		one := &p.Personas[i]
		if err := reusable("personas", &one.Name, known); err != nil {
			return err
		}
		if len(one.Icon) > 32 {
			return invalid("personas: the icon is one emoji, not %d bytes", len(one.Icon))
		}
		size += len(one.Instructions)
	}
	if size > maxReusables {
		return invalid("prompts and personas: at most %d bytes, not %d", maxReusables, size)
	}
	return nil
}

func reusable(field string, name *string, known map[string]bool) (err error) {
	if *name, err = named(field, *name); err != nil {
		return err
	}
	if *name == "" {
		return invalid("%s: each needs a name", field)
	}
	if known[*name] {
		return invalid("%s: %q is there twice", field, *name)
	}
	known[*name] = true
	return nil
}

// PreferencesOf gives what a person has set for all of their projects.
func PreferencesOf(ctx context.Context, s *Store, person string) (Preferences, error) {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return Preferences{}, err
	}
	p, err := preferences(ctx, s.db, ring, person)
	if why := whyUnreadable(err); why != "" {
		return Preferences{Unreadable: why}, nil
	}
	return p, err
}

// ResetPreferences removes preferences that can't be opened.
func ResetPreferences(ctx context.Context, s *Store, person string) error {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return err
	}
	err = s.db.Update(ctx, func(q store.Querier) error {
		_, err := preferences(ctx, q, ring, person)
		if err == nil {
			return invalid("preferences: they can be opened; change them instead")
		}
		if whyUnreadable(err) == "" {
			return err
		}
		_, err = q.Exec(ctx, `DELETE FROM {preferences} WHERE id = ?1`, person)
		return err
	})
	if err == nil {
		Changed(s, person)
	}
	return err
}

func preferences(ctx context.Context, q store.Querier, ring *vault.Ring, person string) (p Preferences, err error) {
	var sealed []byte
	var revision int64
	err = q.QueryRow(ctx, `SELECT revision, sealed FROM {preferences} WHERE id = ?1`, person).Scan(&revision, &sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	if err == nil {
		err = open(ring, "preferences", person, sealed, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read the preferences: %w", err)
	}
	p.Revision = revision
	return p, nil
}

// SetPreferences changes them.
func SetPreferences(ctx context.Context, s *Store, person string, revision int64, change func(*Preferences) error) (p Preferences, err error) {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return p, err
	}
	err = s.db.Update(ctx, func(q store.Querier) error {
		if p, err = preferences(ctx, q, ring, person); err != nil {
			return err
		}
		was := p.Revision
		if revision != 0 && revision != was {
			return ErrChanged
		}
		if err := change(&p); err != nil {
			return err
		}
		if err := p.check(); err != nil {
			return err
		}
		p.Revision = was + 1
		sealed, err := seal(ring, "preferences", person, p)
		if err != nil {
			return err
		}
		_, err = q.Exec(ctx, `INSERT INTO {preferences} (id, revision, sealed) VALUES (?1, ?2, ?3)
			ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, sealed = excluded.sealed`, person, p.Revision, sealed)
		return err
	})
	if err == nil {
		Changed(s, person)
	}
	return p, err
}

// resealPreferences seals the preferences of a person with the newest key.
func resealPreferences(ctx context.Context, s *Store, ring *vault.Ring, person string) (changed bool, err error) {
	r := row{id: person}
	err = s.db.QueryRow(ctx, `SELECT sealed FROM {preferences} WHERE id = ?1`, person).Scan(&r.sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		changed, err = s.resealRow(ctx, "preferences", ring, r)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", place("preferences", person), err)
	}
	return changed, nil
}
