package project

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
)

// A project has an owner, who may share it with members. What belongs to the project, its settings and its files, is
// sealed with the owner's keys, whoever writes it. Chats belong to whoever began them, in whichever project they are.

// memberTables have the people that owners share projects with.
const memberTables = `CREATE TABLE {members} (
		project TEXT NOT NULL REFERENCES {projects} (id),
		person  TEXT NOT NULL,
		may     TEXT NOT NULL,
		added   INTEGER NOT NULL,
		PRIMARY KEY (project, person)
	) STRICT;
	CREATE INDEX members_by_person ON {members} (person, project);`

// maxMembers is with how many people a project is shared at most, and maxJoined how many projects of others somebody has.
const (
	maxMembers = 200
	maxJoined  = 200
)

// Right is what somebody may do with a project.
type Right string

// The rights.
const (
	Reads  Right = "read"  // sees settings and files, and has chats in it
	Writes Right = "write" // changes settings and files, too
	owns   Right = "own"   // shares and deletes it, too; this one is in no table
)

// Member is somebody that a project is shared with.
type Member struct {
	Name  string    `json:"name"`
	Right Right     `json:"right"` // read or write
	Added time.Time `json:"added"`
}

// ErrDenied means that a member may not do something with a project.
var ErrDenied = errors.New("members of the project may not do that")

// denied is an ErrDenied, and what is to be said about it.
type denied struct {
	text  string
	write bool // the files can only be read
}

func (d denied) Error() string { return d.text }

// Is implements what [errors.Is] asks for.
func (d denied) Is(target error) bool {
	return target == ErrDenied || d.write && vfs.ReadOnly.Is(target) || d.write && target == vfs.ReadOnly
}

func onlyReads(owner string) error {
	return denied{"you may only read this project: ask " + owner + ", whose project it is, for the right to write", true}
}

func onlyOwner(owner string) error {
	return denied{"only " + owner + ", whose project it is, may do that", false}
}

// errLeft is for what was opened by somebody who isn't a member any more. It must not be taken for a missing file.
var errLeft = denied{"this project isn't shared with you any more", false}

// LockedError means that the keys of a project's owner are locked, and not those of the one who asked.
type LockedError struct {
	Person string // the owner's id
	Name   string
}

func (e *LockedError) Error() string {
	return "the keys of " + e.Name + " are locked: the project can be used again when " + e.Name + " has signed in"
}

// Is makes it a [vault.ErrLocked].
func (e *LockedError) Is(target error) bool { return target == vault.ErrLocked }

// fullError means that the owner of a project has no room for what a member writes.
type fullError struct {
	name  string
	cause error
}

func (e *fullError) Error() string {
	return "the storage of " + e.name + " is full, where the files of this project count: ask them to make room"
}

func (e *fullError) Unwrap() error { return e.cause }

// access is whose a project is, and what a person may do with it.
type access struct {
	owner   string
	right   Right
	trashed bool // only its owner sees it then
}

// accessTo is what a person may do with a project. The error is ErrUnknown if it is nothing.
func accessTo(ctx context.Context, q store.Querier, person, id string) (a access, err error) {
	var trashed int64
	err = q.QueryRow(ctx, `SELECT p.person, p.trashed, CASE WHEN p.person = ?1 THEN 'own' ELSE m.may END
		FROM {projects} p LEFT JOIN {members} m ON m.project = p.id AND m.person = ?1
		WHERE p.id = ?2 AND (p.person = ?1 OR m.may IS NOT NULL AND p.trashed = 0)`, person, id).Scan(&a.owner, &trashed, &a.right)
	a.trashed = trashed > 0
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrUnknown
	}
	return a, err
}

// owned is nil if a project is a person's own.
func owned(ctx context.Context, s *Store, q store.Querier, person, id string) error {
	a, err := accessTo(ctx, q, person, id)
	if err == nil && a.right != owns {
		err = onlyOwner(NameOf(ctx, s, a.owner))
	}
	return err
}

// ringFor gives the keys of an owner to a person who may use their project.
func ringFor(ctx context.Context, s *Store, person, owner string) (*vault.Ring, error) {
	if person == owner {
		return s.keys.Ring(ctx, person)
	}
	ring, err := s.keys.Ring(vault.AsGuest(ctx), owner)
	if errors.Is(err, vault.ErrLocked) {
		err = &LockedError{owner, NameOf(ctx, s, owner)}
	}
	return ring, err
}

// NameOf is what a person is called.
func NameOf(ctx context.Context, s *Store, person string) string {
	if s.Name == nil {
		return person
	}
	return s.Name(ctx, person)
}

// watched gives the files of somebody else's project: whether they may be read or written is asked each time, as chats
// stay open for long, here and on other servers.
func watched(ctx context.Context, s *Store, tree *vfs.Tree, person, id, owner string) *vfs.Tree {
	name := NameOf(ctx, s, owner)
	return vfs.Guarded(tree, func(ctx context.Context, q store.Querier, write bool) error {
		a, err := accessTo(ctx, q, person, id)
		switch {
		case errors.Is(err, ErrUnknown):
			return errLeft
		case err != nil:
			return err
		case write && a.right != Writes:
			return onlyReads(name)
		}
		if _, err = s.keys.Ring(vault.AsGuest(ctx), owner); errors.Is(err, vault.ErrLocked) {
			err = &LockedError{owner, name}
		}
		return err
	})
}

// MembersOf lists the members of a project, for its owner and its members: who came first is first.
func MembersOf(ctx context.Context, s *Store, person, project string) ([]Member, error) {
	if _, err := accessTo(ctx, s.db, person, project); err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, `SELECT person, may, added FROM {members} WHERE project = ?1 ORDER BY added, person`, project)
	if err != nil {
		return nil, fmt.Errorf("list the members: %w", err)
	}
	defer rows.Close()
	all := []Member{}
	for rows.Next() {
		var m Member
		var added int64
		if err := rows.Scan(&m.Name, &m.Right, &added); err != nil {
			return nil, err
		}
		m.Added = at(added)
		all = append(all, m)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Name = NameOf(ctx, s, all[i].Name)
	}
	return all, nil
}

// SetMember shares a project of its owner with a person, or changes their right. also runs in the transaction.
func SetMember(ctx context.Context, s *Store, owner, project, person string, right Right, also func(store.Querier) error) error {
	if right != Reads && right != Writes {
		return invalid("right: read or write, not %.20q", right)
	}
	err := s.db.Update(ctx, func(q store.Querier) error {
		if err := owned(ctx, s, q, owner, project); err != nil {
			return err
		}
		if person == owner {
			return invalid("members: the project is yours already")
		}
		var n, joined int
		if err := q.QueryRow(ctx, `SELECT (SELECT count(*) FROM {members} WHERE project = ?1 AND person <> ?2), (SELECT count(*) FROM {members} WHERE person = ?2 AND project <> ?1)`, project, person).Scan(&n, &joined); err != nil {
			return err
		}
		if n >= maxMembers {
			return invalid("members: at most %d", maxMembers)
		}
		if joined >= maxJoined {
			return invalid("members: they have %d projects of others already, and must leave one first", joined)
		}
		if _, err := q.Exec(ctx, `INSERT INTO {members} (project, person, may, added) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (project, person) DO UPDATE SET may = excluded.may`, project, person, string(right), millis(s.now())); err != nil {
			return err
		}
		return also(q)
	})
	if err == nil {
		projectChanged(s, project, owner)
	}
	return err
}

// RemoveMember ends that a project is shared with a person: its owner does that, or the person, who leaves. Their chats
// move into a project of their own; chats are the ids of these, which nobody holds any more. also runs in the transaction.
func RemoveMember(ctx context.Context, s *Store, by, project, person string, also func(store.Querier) error) (chats []string, err error) {
	owner := ""
	err = s.db.Update(ctx, func(q store.Querier) error {
		a, err := accessTo(ctx, q, by, project)
		if err != nil {
			return err
		}
		if owner = a.owner; a.right != owns && by != person {
			return onlyOwner(NameOf(ctx, s, owner))
		}
		n, err := q.Exec(ctx, `DELETE FROM {members} WHERE project = ?1 AND person = ?2`, project, person)
		if err == nil && n == 0 {
			err = ErrUnknown
		}
		if err == nil {
			chats, err = moveOut(ctx, s, q, project, owner, person)
		}
		if err != nil {
			return err
		}
		return also(q)
	})
	if err != nil {
		return nil, err
	}
	projectChanged(s, project, owner)
	Changed(s, person)
	return chats, nil
}

// moveOut moves the chats that somebody, or "" everybody but the owner, has in a project into projects of their own. Their keys may be
// locked, so nothing is opened. Nobody holds the chats then, and their turns count as over: whoever has one open ends it.
func moveOut(ctx context.Context, s *Store, q store.Querier, project, owner, person string) (chats []string, err error) {
	rows, err := q.Query(ctx, `SELECT DISTINCT person FROM {chats} WHERE project = ?1 AND person <> ?2 AND (?3 = '' OR person = ?3)`, project, owner, person)
	if err != nil {
		return nil, err
	}
	people, err := scanIDs(rows)
	for _, one := range people {
		var home string
		var ids []string
		if err == nil {
			home, err = homeOf(ctx, s, q, one)
		}
		if err == nil {
			if rows, err = q.Query(ctx, `SELECT id FROM {chats} WHERE project = ?1 AND person = ?2`, project, one); err == nil {
				ids, err = scanIDs(rows)
			}
		}
		if err == nil {
			_, err = q.Exec(ctx, `UPDATE {chats} SET project = ?3, revision = revision + 1, holder = '', settled = accepted WHERE project = ?1 AND person = ?2`, project, one, home)
		}
		chats = append(chats, ids...)
	}
	return chats, err
}

// homeOf is a project of a person that isn't in the trash, for chats that lost theirs. One that is made here has nothing sealed, which means
// the settings of [Store.Default].
func homeOf(ctx context.Context, s *Store, q store.Querier, person string) (id string, err error) {
	for n := 1; ; n++ {
		if id = defaultID(person, n); n > maxDefaults {
			id = newID()
		}
		var trashed int64
		err := q.QueryRow(ctx, `SELECT trashed FROM {projects} WHERE id = ?1`, id).Scan(&trashed)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil || trashed == 0 {
			return id, err
		}
	}
	_, err = q.Exec(ctx, `INSERT INTO {projects} (id, person, created, modified, revision, sealed) VALUES (?1, ?2, ?3, ?3, 1, ?4)`, id, person, millis(s.now()), []byte{})
	if err == nil {
		err = s.files.Create(ctx, q, id)
	}
	return id, err
}

// MembersChats are the ids of the chats that others than its owner have in a project.
func MembersChats(ctx context.Context, s *Store, owner, project string) ([]string, error) {
	rows, err := s.db.Query(ctx, `SELECT c.id FROM {chats} c JOIN {projects} p ON p.id = c.project WHERE c.project = ?1 AND p.person = ?2 AND c.person <> ?2`, project, owner)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows)
}

// ChatPerson is whose a chat is, also one in the trash; "" if it isn't there any more.
func ChatPerson(ctx context.Context, s *Store, chat string) (person string, err error) {
	err = s.db.QueryRow(ctx, `SELECT person FROM {chats} WHERE id = ?1`, chat).Scan(&person)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return person, err
}
