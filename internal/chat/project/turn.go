package project

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
)

// A turn of a chat is accepted before its message is written, and settled when all that came of
// it is. What lies between, because a server died or was stopped, is taken over by whoever opens
// the chat next. The holder of a chat is whoever has it open: a server's id, "/" and a random
// part. Only the holder says what became of a turn, so that a server that was stopped and goes on
// says nothing about the work of another one.

// ErrNotHeld means that another one holds the chat now.
var ErrNotHeld = errors.New("another server has taken the chat over")

// Hold makes somebody the holder of a chat. Who calls it has the transcript open to write, and has
// asked before that for the [Store.Holder]. If that is another one by now, the error is ErrNotHeld: who
// was stopped in between may have the transcript no more.
func (s *Store) Hold(ctx context.Context, id, before, holder string) (unsettled bool, err error) {
	err = s.db.Update(ctx, func(q store.Querier) error {
		var accepted, settled int64
		err := q.QueryRow(ctx, `UPDATE {chats} SET holder = ?3 WHERE id = ?1 AND holder = ?2 RETURNING accepted, settled`, id, before, holder).Scan(&accepted, &settled)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotHeld
		}
		unsettled = accepted > settled
		return err
	})
	return unsettled, err
}

// Holder is who holds a chat; "" is nobody yet.
func (s *Store) Holder(ctx context.Context, id string) (holder string, err error) {
	err = s.db.QueryRow(ctx, `SELECT holder FROM {chats} WHERE id = ?1`, id).Scan(&holder)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrUnknown
	}
	return holder, err
}

// TurnsError means that as many turns of a person run as may at a time.
type TurnsError struct{ Running, Most int }

func (e TurnsError) Error() string {
	return fmt.Sprintf("%d of your turns run in other chats, and %d may at a time: wait until one has ended, or stop one", e.Running, e.Most)
}

// Accept counts a turn that begins, and gives its number. most is how many turns its person may have at
// a time, in different chats; nil is any number. The error is a [TurnsError] if there would be more.
func (s *Store) Accept(ctx context.Context, id, holder string, most *int) (n int64, err error) {
	err = s.db.Update(ctx, func(q store.Querier) error {
		var person string
		err := q.QueryRow(ctx, `UPDATE {chats} SET accepted = accepted + 1 WHERE id = ?1 AND holder = ?2 RETURNING accepted, person`, id, holder).Scan(&n, &person)
		if errors.Is(err, sql.ErrNoRows) {
			err = ErrNotHeld
		}
		if err != nil || most == nil {
			return err
		}
		running, err := runningBut(ctx, q, person, id)
		if err == nil && running >= *most {
			err = TurnsError{running, *most}
		}
		return err
	})
	return n, err
}

// runningBut counts the chats of a person in which a turn runs, but one.
func runningBut(ctx context.Context, q store.Querier, person, id string) (n int, err error) {
	err = q.QueryRow(ctx, `SELECT count(*) FROM {chats} WHERE person = ?1 AND accepted > settled AND id <> ?2`, person, id).Scan(&n)
	return n, err
}

// Running counts the turns of a person that run, on all servers.
func Running(ctx context.Context, s *Store, person string) (int, error) {
	return runningBut(ctx, s.db, person, "")
}

// Settle says that all turns up to a number have ended. If that wasn't said yet, it does also in the
// same transaction; nil is nothing.
func (s *Store) Settle(ctx context.Context, id, holder string, n int64, also func(q store.Querier) error) error {
	return s.db.Update(ctx, func(q store.Querier) error {
		changed, err := q.Exec(ctx, `UPDATE {chats} SET settled = ?3 WHERE id = ?1 AND holder = ?2 AND settled < ?3`, id, holder, n)
		if err == nil && changed > 0 && also != nil {
			err = also(q)
		}
		return err
	})
}

// Holding does something in a transaction, for the holder of a chat.
func (s *Store) Holding(ctx context.Context, id, holder string, do func(q store.Querier) error) error {
	return s.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `UPDATE {chats} SET holder = holder WHERE id = ?1 AND holder = ?2`, id, holder) // which nobody changes meanwhile
		if err == nil && n == 0 {
			err = ErrNotHeld
		}
		if err != nil {
			return err
		}
		return do(q)
	})
}

// Unsettled are chats with turns that were accepted and haven't ended, and their holders.
func (s *Store) Unsettled(ctx context.Context) (holders map[string]string, err error) {
	rows, err := s.db.Query(ctx, `SELECT id, holder FROM {chats} WHERE accepted > settled AND trashed = 0`)
	if err != nil {
		return nil, fmt.Errorf("look for turns that haven't ended: %w", err)
	}
	defer rows.Close()
	holders = map[string]string{}
	for rows.Next() {
		var id, holder string
		if err := rows.Scan(&id, &holder); err != nil {
			return nil, err
		}
		holders[id] = holder
	}
	return holders, rows.Err()
}

// ServerOf is the server of a holder.
func ServerOf(holder string) string {
	server, _, _ := strings.Cut(holder, "/")
	return server
}

// Beat says that a server lives, and where the others reach it; servers that haven't said so for
// a day are forgotten. Times are the database's.
func (s *Store) Beat(ctx context.Context, server, address string) error {
	now := s.clock()
	if _, err := s.db.Exec(ctx, `INSERT INTO {servers} (id, address, beat) VALUES (?1, ?2, `+now+`)
		ON CONFLICT (id) DO UPDATE SET beat = excluded.beat, address = excluded.address`, server, address); err != nil {
		return err
	}
	// Who had the address before has ended.
	_, err := s.db.Exec(ctx, `DELETE FROM {servers} WHERE beat < `+now+` - ?1 OR address = ?2 AND id != ?3`, (24 * time.Hour).Milliseconds(), address, server)
	return err
}

// Address is where a server is reached; "" if it hasn't said for a while that it lives.
func (s *Store) Address(ctx context.Context, server string, within time.Duration) (address string, err error) {
	err = s.db.QueryRow(ctx, `SELECT address FROM {servers} WHERE id = ?1 AND beat >= `+s.clock()+` - ?2`, server, within.Milliseconds()).Scan(&address)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return address, err
}

// clock is the database's time in milliseconds since 1970, the same for all servers.
func (s *Store) clock() string {
	if s.db.Server() {
		return `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`
	}
	return `CAST(unixepoch('subsec') * 1000 AS INTEGER)`
}

// Leave says that a server has ended.
func (s *Store) Leave(ctx context.Context, server string) error {
	_, err := s.db.Exec(ctx, `DELETE FROM {servers} WHERE id = ?1`, server)
	return err
}

// Note changes what stands around a chat, for its holder. change is given the chat as it is by then.
func (s *Store) Note(ctx context.Context, person, id, holder string, change func(*Chat)) error {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return err
	}
	defer Changed(s, person)
	return s.db.Update(ctx, func(q store.Querier) error {
		c, err := s.chat(ctx, q, ring, person, id)
		if err != nil {
			return err
		}
		title := c.Title
		change(&c)
		if err := c.check(); err != nil {
			return err
		}
		closed, err := seal(ring, "chats", id, c.About)
		if err != nil {
			return err
		}
		n, err := q.Exec(ctx, `UPDATE {chats} SET sealed = ?3, modified = ?4 WHERE id = ?1 AND holder = ?2`, id, holder, closed, millis(s.now()))
		if err == nil && n == 0 {
			return ErrNotHeld
		}
		if err == nil {
			err = indexTitle(ctx, s, q, ring, person, &c, title)
		}
		if err == nil {
			_, err = q.Exec(ctx, `UPDATE {projects} SET modified = ?2 WHERE id = ?1`, c.Project, millis(s.now()))
		}
		return err
	})
}

// Free takes a chat from a holder in whose hands nothing is done in it, wherever that is: it ends there.
func Free(ctx context.Context, s *Store, id, holder string) error {
	_, err := s.db.Exec(ctx, `UPDATE {chats} SET holder = '' WHERE id = ?1 AND holder = ?2 AND accepted <= settled`, id, holder)
	return err
}
