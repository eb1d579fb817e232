package project

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// sharesTables has what people have shared: copies, each sealed with a key that comes from the secret
// of its link, which isn't here.
const sharesTables = `CREATE TABLE {shares} (
		id      TEXT PRIMARY KEY,
		person  TEXT NOT NULL,
		chat    TEXT NOT NULL,
		created INTEGER NOT NULL,
		expires INTEGER NOT NULL,
		proof   BLOB NOT NULL,
		sealed  BLOB NOT NULL
	) STRICT;
	CREATE INDEX shares_by_chat ON {shares} (person, chat);`

// Limits of shares.
const (
	maxShared = 8 << 20 // bytes of the texts of one
	maxShares = 1000    // of a person
)

// Share is a copy of a chat that whoever has its link may read, until it expires.
type Share struct {
	ID      string    `json:"id"`
	Chat    string    `json:"chat"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero: when it is removed
}

// Shared is what a share shows: what people and the model said on one branch, as it was then. Files, thoughts and what
// tools did are not in it.
type Shared struct {
	Title    string          `json:"title,omitempty"`
	Created  time.Time       `json:"created"`
	Expires  time.Time       `json:"expires,omitzero"`
	Messages []SharedMessage `json:"messages"`
}

// SharedMessage is a message of a share.
type SharedMessage struct {
	Role  llm.Role  `json:"role"`
	Text  string    `json:"text"`
	Model string    `json:"model,omitempty"`
	Time  time.Time `json:"time"`
}

// NewShare shares what was said up to now in a chat. The secret is in no table: who has it may read the copy.
// expires is zero for a share that stays until it is removed. also runs in the transaction.
func NewShare(ctx context.Context, s *Store, person, chat string, expires time.Time, also func(store.Querier) error) (share Share, secret string, err error) {
	if !expires.IsZero() && !expires.After(s.now()) {
		return share, "", invalid("days: the time is over already")
	}
	c, err := s.Chat(ctx, person, chat)
	if err != nil {
		return share, "", err
	}
	if !c.Trashed.IsZero() {
		return share, "", ErrUnknown
	}
	l, err := s.View(ctx, person, c, transcript.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return share, "", invalid("chat: nothing has been said in it")
	}
	if err != nil {
		return share, "", err
	}
	defer l.Close()
	now := s.now().Truncate(time.Millisecond)
	share = Share{ID: newID(), Chat: chat, Created: now, Expires: expires.Truncate(time.Millisecond)}
	data, err := snapshot(l, c.Title, share)
	if err != nil {
		return share, "", err
	}
	secret = rand.Text()
	proof, aead, err := shareKeys(secret)
	if err != nil {
		return share, "", err
	}
	// The key seals this only: any nonce is its first.
	sealed := aead.Seal(nil, make([]byte, aead.NonceSize()), data, []byte(share.ID))
	until := int64(0)
	if !expires.IsZero() {
		until = millis(expires)
	}
	err = s.db.Update(ctx, func(q store.Querier) error {
		var n int
		if err := q.QueryRow(ctx, `SELECT count(*) FROM {shares} WHERE person = ?1`, person).Scan(&n); err != nil {
			return err
		}
		if n >= maxShares {
			return invalid("you share %d chats: remove links that nobody needs", n)
		}
		if _, err := q.Exec(ctx, `INSERT INTO {shares} (id, person, chat, created, expires, proof, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
			share.ID, person, chat, millis(now), until, proof, sealed); err != nil {
			return err
		}
		return also(q)
	})
	return share, secret, err
}

// snapshot is what was said on the branch of a transcript.
func snapshot(l *transcript.Log, title string, share Share) ([]byte, error) {
	said := Shared{Title: title, Created: share.Created, Expires: share.Expires, Messages: []SharedMessage{}}
	size := 0
	branch, err := l.Branch(l.Leaf())
	if err != nil {
		return nil, err
	}
	for _, e := range branch {
		if e.Message == nil || e.Message.Role != llm.RoleUser && e.Message.Role != llm.RoleAssistant {
			continue
		}
		text := e.Message.Text()
		if strings.TrimSpace(text) == "" {
			continue
		}
		if size += len(text); size > maxShared {
			return nil, invalid("chat: its texts are larger than %d MB", maxShared>>20)
		}
		said.Messages = append(said.Messages, SharedMessage{Role: e.Message.Role, Text: text, Model: e.Message.Model, Time: e.Message.Time})
	}
	if len(said.Messages) == 0 {
		return nil, invalid("chat: nothing has been said in it")
	}
	return json.Marshal(said)
}

// shareKeys are what shows that somebody has a secret, and what opens the copy with it.
func shareKeys(secret string) (proof []byte, aead cipher.AEAD, err error) {
	if proof, err = hkdf.Key(sha256.New, []byte(secret), nil, "burin share proof", 32); err != nil {
		return nil, nil, err
	}
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "burin share key", 32)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	aead, err = cipher.NewGCM(block)
	return proof, aead, err
}

// Shares lists what a person shares, newest first; chat "" is all.
func Shares(ctx context.Context, s *Store, person, chat string) ([]Share, error) {
	rows, err := s.db.Query(ctx, `SELECT id, chat, created, expires FROM {shares} WHERE person = ?1 AND (?2 = '' OR chat = ?2)
		AND (expires = 0 OR expires > ?3) ORDER BY created DESC, id`, person, chat, millis(s.now()))
	if err != nil {
		return nil, fmt.Errorf("list what is shared: %w", err)
	}
	defer rows.Close()
	all := []Share{}
	for rows.Next() {
		var one Share
		var created, expires int64
		if err := rows.Scan(&one.ID, &one.Chat, &created, &expires); err != nil {
			return nil, err
		}
		one.Created, one.Expires = at(created), at(expires)
		all = append(all, one)
	}
	return all, rows.Err()
}

// RemoveShare ends a share. also runs in the transaction.
func RemoveShare(ctx context.Context, s *Store, person, id string, also func(store.Querier) error) error {
	return s.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM {shares} WHERE person = ?1 AND id = ?2`, person, id)
		if err == nil && n == 0 {
			err = ErrUnknown
		}
		if err != nil {
			return err
		}
		return also(q)
	})
}

// OpenShare gives what a share shows to who has its secret, and whose it is. Whoever has no such secret, comes too
// late, or asks for a chat that is in the trash, gets ErrUnknown.
func OpenShare(ctx context.Context, s *Store, id, secret string) (shared json.RawMessage, person string, err error) {
	var expires int64
	var proof, sealed []byte
	err = s.db.QueryRow(ctx, `SELECT person, expires, proof, sealed FROM {shares} WHERE id = ?1
		AND chat IN (SELECT id FROM {chats} WHERE trashed = 0 AND project IN (SELECT id FROM {projects} WHERE trashed = 0))`, id).Scan(&person, &expires, &proof, &sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, "", ErrUnknown
	}
	if err != nil {
		return nil, "", err
	}
	has, aead, err := shareKeys(secret)
	if err != nil {
		return nil, "", err
	}
	if subtle.ConstantTimeCompare(has, proof) != 1 || expires != 0 && expires <= millis(s.now()) {
		return nil, "", ErrUnknown
	}
	shared, err = aead.Open(nil, make([]byte, aead.NonceSize()), sealed, []byte(id))
	return shared, person, err
}
