package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

// minionTables are the agents that worked for chats. The transcript of each is a session beside that of its chat.
const minionTables = `CREATE TABLE {minions} (
		chat       TEXT NOT NULL REFERENCES {chats} (id),
		id         TEXT NOT NULL,
		sealed     BLOB NOT NULL,
		PRIMARY KEY (chat, id)
	) STRICT`

// Minions are the agents that work for a chat.
type Minions struct {
	store  *Store
	person string
	chat   Chat
}

// MinionsOf are the agents that work for a chat of a person.
func MinionsOf(s *Store, person string, c Chat) *Minions { return &Minions{s, person, c} }

func (m *Minions) place(id string) string { return m.chat.ID + "/" + id }

// transcript is what [Store.Open] and [Store.View] know an agent's transcript by.
func (m *Minions) transcript(id string) Chat { return Chat{ID: m.place(id)} }

// Note keeps what is to be known of an agent. It may have said something since the last time.
func (m *Minions) Note(ctx context.Context, id string, facts []byte) error {
	ring, err := m.store.keys.Ring(ctx, m.person)
	if err != nil {
		return err
	}
	sealed, err := ring.Seal(place("minions", m.place(id)), facts)
	if err != nil {
		return err
	}
	_, err = m.store.db.Exec(ctx, `INSERT INTO {minions} (chat, id, sealed) VALUES (?1, ?2, ?3)
		ON CONFLICT (chat, id) DO UPDATE SET sealed = excluded.sealed, indexed = 0`, m.chat.ID, id, sealed)
	return err
}

// Notes gives what is kept of all of them. The error names those that can't be opened; the others are there.
func (m *Minions) Notes(ctx context.Context) (all [][]byte, err error) {
	ring, err := m.store.keys.Ring(ctx, m.person)
	if err != nil {
		return nil, err
	}
	rows, err := minionRows(ctx, m.store, m.chat.ID)
	for _, r := range rows {
		facts, failed := ring.Open(place("minions", m.place(r.id)), r.sealed)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("agent %s: %w", r.id, unopened(failed)))
			continue
		}
		all = append(all, facts)
	}
	return all, err
}

func minionRows(ctx context.Context, s *Store, chat string) ([]row, error) {
	rows, err := s.db.Query(ctx, `SELECT id, 0, sealed FROM {minions} WHERE chat = ?1 ORDER BY id`, chat)
	if err != nil {
		return nil, err
	}
	return scanRows(rows)
}

// Drop forgets an agent that never began.
func (m *Minions) Drop(ctx context.Context, id string) error {
	_, err := m.store.db.Exec(ctx, `DELETE FROM {minions} WHERE chat = ?1 AND id = ?2`, m.chat.ID, id)
	return err
}

// Open opens the transcript of an agent to write; it is begun if it isn't there.
func (m *Minions) Open(ctx context.Context, id string, o transcript.Options) (*transcript.Log, error) {
	return m.store.Open(ctx, m.person, m.transcript(id), o, nil)
}

// View opens the transcript of an agent to read. The error is an [fs.ErrNotExist] if there is none.
func (m *Minions) View(ctx context.Context, id string) (*transcript.Log, error) {
	return m.store.View(ctx, m.person, m.transcript(id), transcript.Options{})
}

// purgeMinions removes the agents of a chat for good.
func purgeMinions(ctx context.Context, s *Store, chat string) error {
	all, err := minionRows(ctx, s, chat)
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := purgeSession(ctx, s, session(chat+"/"+r.id)); err != nil {
			return err
		}
	}
	_, err = s.db.Exec(ctx, `DELETE FROM {minions} WHERE chat = ?1`, chat)
	return err
}

// purgeSession removes a transcript for good, if it is there.
func purgeSession(ctx context.Context, s *Store, name string) error {
	trash, purge := sqlstore.Delete, sqlstore.Purge
	if s.db.Server() {
		trash, purge = pgstore.Delete, pgstore.Purge
	}
	if err := trash(ctx, s.db.SQL(), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := purge(ctx, s.db.SQL(), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// resealMinions seals the agents of a chat with the newest key. One whose transcript is open is left for later.
func resealMinions(ctx context.Context, s *Store, ring *vault.Ring, chat string) (changed, later bool, err error) {
	all, err := minionRows(ctx, s, chat)
	if err != nil {
		return false, false, err
	}
	for _, r := range all {
		name := chat + "/" + r.id
		below, err := s.records(ctx, Chat{ID: name}, true)
		switch {
		case errors.Is(err, transcript.ErrLocked):
			later = true
		case errors.Is(err, fs.ErrNotExist): // it never answered
		case err != nil:
			return changed, later, err
		default:
			_, err = ring.ResealSession(below)
			if err = errors.Join(err, below.Close()); err != nil {
				return changed, later, err
			}
		}
		if g, err := vault.Generation(r.sealed); err != nil {
			return changed, later, err
		} else if g == ring.Newest() {
			continue
		}
		data, err := ring.Open(place("minions", name), r.sealed)
		if err != nil {
			return changed, later, err
		}
		fresh, err := ring.Seal(place("minions", name), data)
		if err != nil {
			return changed, later, err
		}
		if _, err := s.db.Exec(ctx, `UPDATE {minions} SET sealed = ?4 WHERE chat = ?1 AND id = ?2 AND sealed = ?3`, chat, r.id, r.sealed, fresh); err != nil {
			return changed, later, err
		}
		changed = true
	}
	return changed, later, nil
}

// ofChat is the chat that a transcript's attachments belong to.
func ofChat(id string) string {
	chat, _, _ := strings.Cut(id, "/")
	return chat
}
