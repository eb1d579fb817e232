// Package private keeps private projects: what a browser sealed with a key that the server never
// has. It checks whose something is, how large it is, and the order of records; what they say it
// can't.
//
// A project has the wrapped forms of its key, and data. A chat has data, and the sealed records of its
// transcript, which are only added to. One tab at a time writes to a chat: it has a lease, and what
// another one writes with an older lease is refused.
//
// The ids come from the browser, which binds what it seals to them.
package private

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
)

// Part is the tables.
func Part() store.Part {
	return store.Part{Name: "private", Steps: []string{`
CREATE TABLE {private_projects} (
	id       TEXT PRIMARY KEY,
	person   TEXT NOT NULL,
	created  INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	connect  TEXT NOT NULL,
	wraps    BLOB NOT NULL,
	data     BLOB NOT NULL
) STRICT;
CREATE INDEX private_projects_by_person ON {private_projects} (person);
CREATE TABLE {private_chats} (
	id       TEXT PRIMARY KEY,
	project  TEXT NOT NULL REFERENCES {private_projects} (id) ON DELETE CASCADE,
	person   TEXT NOT NULL,
	created  INTEGER NOT NULL,
	modified INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	data     BLOB NOT NULL,
	records  INTEGER NOT NULL DEFAULT 0,
	bytes    INTEGER NOT NULL DEFAULT 0,
	lease    TEXT NOT NULL DEFAULT '',
	until    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX private_chats_by_project ON {private_chats} (project);
CREATE INDEX private_chats_by_person ON {private_chats} (person);
CREATE TABLE {private_records} (
	chat   TEXT NOT NULL REFERENCES {private_chats} (id) ON DELETE CASCADE,
	number INTEGER NOT NULL,
	record BLOB NOT NULL,
	PRIMARY KEY (chat, number)
) STRICT;`}}
}

var (
	// ErrUnknown means that a person has no such project or chat.
	ErrUnknown = fmt.Errorf("there is nothing private with that id: %w", fs.ErrNotExist)
	// ErrChanged means that something was changed since it was read.
	ErrChanged = errors.New("it was changed meanwhile: read it again")
	// ErrHeld means that another tab has a chat.
	ErrHeld = errors.New("another tab has this chat: close it there, or take the chat over")
	// ErrInvalid begins what is wrong with what was given.
	ErrInvalid = errors.New("not possible")
)

// Limits.
const (
	maxWraps   = 4 << 10 // bytes of the wrapped forms of a key
	maxData    = 2 << 20 // bytes of the sealed data of a project or a chat
	maxRecord  = 32 << 20
	maxConnect = 8       // addresses
	page       = 4 << 20 // bytes of records in an answer; one that is larger comes alone
	maxList    = 10_000

	// Lease is how long one lasts that nobody renews.
	Lease = 30 * time.Second
)

// Project is a private project.
type Project struct {
	ID       string    `json:"id"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	Revision int64     `json:"revision"` // of this state; the browser binds the data to it
	Connect  []string  `json:"connect"`  // the origins of providers that its chats may reach, in the clear
	Keys     []byte    `json:"keys"`     // the wrapped forms of its key
	Data     []byte    `json:"data"`     // sealed
}

// ProjectChange is what is different in a project, or all of a new one. What isn't given stays.
type ProjectChange struct {
	Revision int64    `json:"revision,omitempty"` // that it is made of; of a new one 0
	Connect  []string `json:"connect,omitempty"`
	Keys     []byte   `json:"keys,omitempty"`
	Data     []byte   `json:"data,omitempty"`
}

// Chat is a chat of a private project.
type Chat struct {
	ID       string    `json:"id"`
	Project  string    `json:"project"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	Revision int64     `json:"revision"` // as in a project
	Data     []byte    `json:"data"`     // sealed
	Records  int64     `json:"records"`  // of its transcript
	Bytes    int64     `json:"bytes"`    // of the records
	Open     bool      `json:"open"`     // a tab has it
}

// ChatChange is what is different about a chat.
type ChatChange struct {
	Revision int64  `json:"revision"` // that it is made of
	Data     []byte `json:"data"`
}

// Records are some of a transcript.
type Records struct {
	Records [][]byte `json:"records"`
	Total   int64    `json:"total"` // that there are
}

// Added is what is added to a transcript.
type Added struct {
	Lease   string   `json:"lease"`
	At      int64    `json:"at"` // how many records there are before
	Records [][]byte `json:"records"`
}

// Hold is a lease.
type Hold struct {
	Lease string `json:"lease"`
	MS    int64  `json:"ms"` // how long it lasts from now on unless it is renewed
}

// Store keeps private projects. Any goroutine may use it.
type Store struct {
	// Fits says, in the transaction of a change, why a person may not have as much. nil: they may.
	Fits func(ctx context.Context, q store.Querier, person string) error

	db  *store.DB
	now func() time.Time
}

// New makes a Store.
func New(db *store.DB) *Store { return &Store{db: db, now: time.Now} }

func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrInvalid, field, fmt.Sprintf(format, args...))
}

// checkID holds ids to those of [rand.Text], in lower case.
func checkID(id string) error {
	ok := len(id) == 26
	for _, c := range []byte(id) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '2' && c <= '7')
	}
	if !ok {
		return invalid("id", "use 26 random characters from a to z and 2 to 7")
	}
	return nil
}

// checkData refuses what is empty or too large.
func checkData(field string, data []byte, most int) error {
	if len(data) == 0 || len(data) > most {
		return invalid(field, "it has %d bytes, and may have from 1 to %d", len(data), most)
	}
	return nil
}

// checkConnect takes origins: https, or http on this machine. They become part of a policy that
// browsers read, so nothing else may be in them.
func checkConnect(all []string) error {
	if len(all) > maxConnect {
		return invalid("connect", "name at most %d addresses", maxConnect)
	}
	for _, one := range all {
		u, err := url.Parse(one)
		if err != nil || u.Host == "" || one != u.Scheme+"://"+u.Host || !hostLike(u.Host) {
			return invalid("connect", "%.100q is not an origin such as https://api.example.com", one)
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if here := u.Hostname() == "localhost" || err == nil && ip.IsLoopback(); u.Scheme != "https" && (u.Scheme != "http" || !here) {
			return invalid("connect", "%.100q is not https", one)
		}
	}
	return nil
}

// hostLike keeps what a policy would read as more than a host out of it, such as * or ;.
func hostLike(host string) bool {
	for _, c := range []byte(host) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return len(host) <= 255
}

// update runs a change that makes what a person has larger.
func (s *Store) update(ctx context.Context, person string, change func(q store.Querier) error) error {
	return s.db.Update(ctx, func(q store.Querier) error {
		err := change(q)
		if err == nil && s.Fits != nil {
			err = s.Fits(ctx, q, person)
		}
		return err
	})
}

const projectColumns = `SELECT id, created, modified, revision, connect, wraps, data FROM {private_projects} `

type scanner interface{ Scan(into ...any) error }

func scanProject(row scanner) (p Project, err error) {
	var created, modified int64
	var connect string
	if err = row.Scan(&p.ID, &created, &modified, &p.Revision, &connect, &p.Keys, &p.Data); err != nil {
		return p, known(err)
	}
	p.Created, p.Modified = time.UnixMilli(created).UTC(), time.UnixMilli(modified).UTC()
	return p, json.Unmarshal([]byte(connect), &p.Connect)
}

func known(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrUnknown
	}
	return err
}

// Projects lists the private projects of a person, the first made first.
func (s *Store) Projects(ctx context.Context, person string) ([]Project, error) {
	return list(ctx, s.db, scanProject, projectColumns+`WHERE person = ?1 ORDER BY created, id LIMIT ?2`, person, maxList)
}

func list[T any](ctx context.Context, q store.Querier, scan func(scanner) (T, error), statement string, args ...any) (all []T, err error) {
	all = []T{}
	rows, err := q.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err has it
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// Project gives a project.
func (s *Store) Project(ctx context.Context, person, id string) (Project, error) {
	return scanProject(s.db.QueryRow(ctx, projectColumns+`WHERE id = ?1 AND person = ?2`, id, person))
}

// PutProject makes a project, or changes it.
func (s *Store) PutProject(ctx context.Context, person, id string, c ProjectChange) (p Project, err error) {
	if err = cmp.Or(checkID(id), checkConnect(c.Connect)); err != nil {
		return p, err
	}
	fresh := c.Revision == 0
	if fresh || c.Keys != nil {
		err = checkData("keys", c.Keys, maxWraps)
	}
	if err == nil && (fresh || c.Data != nil) {
		err = checkData("data", c.Data, maxData)
	}
	if err != nil {
		return p, err
	}
	now := s.now().UnixMilli()
	err = s.update(ctx, person, func(q store.Querier) error {
		p = Project{ID: id, Created: time.UnixMilli(now).UTC(), Connect: []string{}}
		if !fresh {
			if p, err = scanProject(q.QueryRow(ctx, projectColumns+`WHERE id = ?1 AND person = ?2`, id, person)); err != nil {
				return err
			}
			if p.Revision != c.Revision {
				return ErrChanged
			}
		}
		p.Revision, p.Modified = p.Revision+1, time.UnixMilli(now).UTC()
		if c.Connect != nil {
			p.Connect = c.Connect
		}
		if c.Keys != nil {
			p.Keys = c.Keys
		}
		if c.Data != nil {
			p.Data = c.Data
		}
		connect, err := json.Marshal(p.Connect)
		if err != nil {
			return err
		}
		var n int64
		if fresh {
			n, err = q.Exec(ctx, `INSERT INTO {private_projects} (id, person, created, modified, revision, connect, wraps, data) VALUES (?1, ?2, ?3, ?3, 1, ?4, ?5, ?6) ON CONFLICT DO NOTHING`,
				id, person, now, string(connect), p.Keys, p.Data)
		} else {
			n, err = q.Exec(ctx, `UPDATE {private_projects} SET modified = ?3, revision = ?4, connect = ?5, wraps = ?6, data = ?7 WHERE id = ?1 AND person = ?2`,
				id, person, now, p.Revision, string(connect), p.Keys, p.Data)
		}
		if err == nil && n == 0 {
			err = ErrChanged // somebody was faster, or has that id
		}
		return err
	})
	return p, err
}

// RemoveProject removes a project with its chats for good.
func (s *Store) RemoveProject(ctx context.Context, person, id string) error {
	return gone(s.db.Exec(ctx, `DELETE FROM {private_projects} WHERE id = ?1 AND person = ?2`, id, person))
}

func gone(n int64, err error) error {
	if err == nil && n == 0 {
		err = ErrUnknown
	}
	return err
}

const chatColumns = `SELECT id, project, created, modified, revision, data, records, bytes, CASE WHEN until > ?1 THEN 1 ELSE 0 END FROM {private_chats} `

func scanChat(row scanner) (c Chat, err error) {
	var created, modified, open int64
	if err = row.Scan(&c.ID, &c.Project, &created, &modified, &c.Revision, &c.Data, &c.Records, &c.Bytes, &open); err != nil {
		return c, known(err)
	}
	c.Created, c.Modified, c.Open = time.UnixMilli(created).UTC(), time.UnixMilli(modified).UTC(), open == 1
	return c, nil
}

// Chats lists the chats of a project, the last used first.
func (s *Store) Chats(ctx context.Context, person, project string) ([]Chat, error) {
	return list(ctx, s.db, scanChat, chatColumns+`WHERE person = ?2 AND project = ?3 ORDER BY modified DESC, id LIMIT ?4`, s.now().UnixMilli(), person, project, maxList)
}

// Chat gives a chat.
func (s *Store) Chat(ctx context.Context, person, id string) (Chat, error) {
	return s.chat(ctx, s.db, person, id)
}

func (s *Store) chat(ctx context.Context, q store.Querier, person, id string) (Chat, error) {
	return scanChat(q.QueryRow(ctx, chatColumns+`WHERE person = ?2 AND id = ?3`, s.now().UnixMilli(), person, id))
}

// PutChat makes a chat in a project, or, with a revision, changes it.
func (s *Store) PutChat(ctx context.Context, person, project, id string, change ChatChange) (c Chat, err error) {
	if err = cmp.Or(checkID(id), checkData("data", change.Data, maxData)); err != nil {
		return c, err
	}
	now := s.now().UnixMilli()
	err = s.update(ctx, person, func(q store.Querier) (err error) {
		var n int64
		if change.Revision == 0 {
			if _, err = scanProject(q.QueryRow(ctx, projectColumns+`WHERE id = ?1 AND person = ?2`, project, person)); err != nil {
				return err
			}
			n, err = q.Exec(ctx, `INSERT INTO {private_chats} (id, project, person, created, modified, revision, data) VALUES (?1, ?2, ?3, ?4, ?4, 1, ?5) ON CONFLICT DO NOTHING`,
				id, project, person, now, change.Data)
		} else {
			if _, err = s.chat(ctx, q, person, id); err != nil {
				return err
			}
			n, err = q.Exec(ctx, `UPDATE {private_chats} SET modified = ?5, revision = revision + 1, data = ?6 WHERE id = ?1 AND project = ?2 AND person = ?3 AND revision = ?4`,
				id, project, person, change.Revision, now, change.Data)
		}
		if err == nil && n == 0 {
			err = ErrChanged
		}
		if err == nil {
			c, err = s.chat(ctx, q, person, id)
		}
		return err
	})
	return c, err
}

// RemoveChat removes a chat for good.
func (s *Store) RemoveChat(ctx context.Context, person, id string) error {
	return gone(s.db.Exec(ctx, `DELETE FROM {private_chats} WHERE id = ?1 AND person = ?2`, id, person))
}

// Hold takes the lease of a chat, or renews the one that is given. take has it taken from the tab
// that has it.
func (s *Store) Hold(ctx context.Context, person, id, lease string, take bool) (h Hold, err error) {
	now := s.now()
	err = s.db.Update(ctx, func(q store.Querier) error {
		var has string
		var until int64
		if err := known(q.QueryRow(ctx, `SELECT lease, until FROM {private_chats} WHERE id = ?1 AND person = ?2`, id, person).Scan(&has, &until)); err != nil {
			return err
		}
		h = Hold{rand.Text(), Lease.Milliseconds()}
		switch {
		case lease != "" && lease == has: // also one that has ended, where nobody else came
			h.Lease = lease
		case lease != "" || until > now.UnixMilli() && !take:
			return ErrHeld
		}
		_, err := q.Exec(ctx, `UPDATE {private_chats} SET lease = ?2, until = ?3 WHERE id = ?1`, id, h.Lease, now.Add(Lease).UnixMilli())
		return err
	})
	return h, err
}

// Release gives a lease back. That of another tab stays.
func (s *Store) Release(ctx context.Context, person, id, lease string) error {
	_, err := s.db.Exec(ctx, `UPDATE {private_chats} SET until = 0 WHERE id = ?1 AND person = ?2 AND lease = ?3`, id, person, lease)
	return err
}

// Append adds records for the tab that has the lease, and renews it.
func (s *Store) Append(ctx context.Context, person, id string, a Added) error {
	if a.Lease == "" {
		return invalid("lease", "take one first")
	}
	if len(a.Records) == 0 {
		return invalid("records", "there is none")
	}
	size := 0
	for _, r := range a.Records {
		if err := checkData("records", r, maxRecord); err != nil {
			return err
		}
		size += len(r)
	}
	now := s.now()
	return s.update(ctx, person, func(q store.Querier) error {
		c, err := s.chat(ctx, q, person, id)
		if err != nil {
			return err
		}
		n, err := q.Exec(ctx, `UPDATE {private_chats} SET records = records + ?4, bytes = bytes + ?5, modified = ?6, until = ?7 WHERE id = ?1 AND lease = ?2 AND records = ?3`,
			id, a.Lease, a.At, len(a.Records), size, now.UnixMilli(), now.Add(Lease).UnixMilli())
		if err != nil {
			return err
		}
		if n == 0 {
			if c.Records != a.At {
				return ErrChanged
			}
			return ErrHeld
		}
		for i, r := range a.Records {
			if _, err := q.Exec(ctx, `INSERT INTO {private_records} (chat, number, record) VALUES (?1, ?2, ?3)`, id, a.At+int64(i), r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Records gives records of a chat from a number on, as many as fit into an answer.
func (s *Store) Records(ctx context.Context, person, id string, from int64) (all Records, err error) {
	c, err := s.Chat(ctx, person, id)
	if err != nil {
		return all, err
	}
	all = Records{[][]byte{}, c.Records}
	rows, err := s.db.Query(ctx, `SELECT record FROM {private_records} WHERE chat = ?1 AND number >= ?2 AND number < ?3 ORDER BY number`, id, from, c.Records)
	if err != nil {
		return all, err
	}
	defer rows.Close() //nolint:errcheck // Err has it
	for size := 0; size < page && rows.Next(); {
		var r []byte
		if err := rows.Scan(&r); err != nil {
			return all, err
		}
		all.Records, size = append(all.Records, r), size+len(r)
	}
	return all, rows.Err()
}

// Export hands over all that a person has, sealed as it is: projects with the wrapped forms of
// their keys, and chats with their records.
func (s *Store) Export(ctx context.Context, person string, write func(name string, v any) error) error {
	projects, err := s.Projects(ctx, person)
	if err != nil || len(projects) == 0 {
		return err
	}
	if err := write("private/projects.json", projects); err != nil {
		return err
	}
	for _, p := range projects {
		chats, err := s.Chats(ctx, person, p.ID)
		if err != nil {
			return err
		}
		for _, c := range chats {
			if err := s.exportChat(ctx, person, c, write); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) exportChat(ctx context.Context, person string, c Chat, write func(name string, v any) error) error {
	err := write("private/"+c.ID+".json", c)
	for from := int64(0); err == nil && from < c.Records; {
		var some Records
		some, err = s.Records(ctx, person, c.ID, from)
		if errors.Is(err, ErrUnknown) || err == nil && len(some.Records) == 0 { // it was removed meanwhile
			return nil
		}
		if err == nil {
			err = write(fmt.Sprintf("private/%s-%d.json", c.ID, from), some)
		}
		from += int64(len(some.Records))
	}
	return err
}

// Bytes is how much a person keeps.
func Bytes(ctx context.Context, q store.Querier, person string) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(COALESCE((SELECT SUM(LENGTH(wraps) + LENGTH(data)) FROM {private_projects} WHERE person = ?1), 0)
		+ COALESCE((SELECT SUM(LENGTH(data) + bytes) FROM {private_chats} WHERE person = ?1), 0) AS BIGINT)`, person).Scan(&n)
	return n, err
}

// Forget removes what a person has, in a transaction.
func Forget(ctx context.Context, q store.Querier, person string) error {
	_, err := q.Exec(ctx, `DELETE FROM {private_projects} WHERE person = ?1`, person)
	return err
}
