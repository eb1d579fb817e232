package project

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

const chatColumns = `id, project, created, modified, revision, trashed, generation, sealed, accepted - settled, temporary`

func scanChat(row interface{ Scan(...any) error }, ring *vault.Ring) (c Chat, err error) {
	var created, modified, trashed, running, temporary int64
	var closed []byte
	if err := row.Scan(&c.ID, &c.Project, &created, &modified, &c.Revision, &trashed, &c.generation, &closed, &running, &temporary); err != nil {
		return c, err
	}
	c.Created, c.Modified, c.Trashed = at(created), at(modified), at(trashed)
	c.Working, c.Temporary = running > 0, temporary > 0
	return c, open(ring, "chats", c.ID, closed, &c.About)
}

// Listing says which chats a list has.
type Listing struct {
	Project  string    // "" is all projects that are not in the trash
	Trash    bool      // those in the trash, and no others
	Archived bool      // those that are archived, and no others
	Before   time.Time // changed before that; zero is now
	Limit    int       // 0 is 1000, which is also the most
}

// Chats lists chats of a person, the last used first.
func (s *Store) Chats(ctx context.Context, person string, l Listing) ([]Chat, error) {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return nil, err
	}
	if l.Limit <= 0 || l.Limit > maxList {
		l.Limit = maxList
	}
	all := []Chat{}
	before := int64(1) << 62
	if !l.Before.IsZero() {
		before = millis(l.Before)
	}
	// What is archived is sealed: a page may need several looks.
	for id := ""; ; {
		page, err := s.page(ctx, ring, person, l, before, id)
		if err != nil {
			return nil, fmt.Errorf("list the chats: %w", err)
		}
		for _, c := range page {
			if c.Archived == l.Archived || l.Trash {
				all = append(all, c)
			}
			if len(all) == l.Limit {
				return all, nil
			}
			before, id = millis(c.Modified), c.ID
		}
		if len(page) < pageSize {
			return all, nil
		}
	}
}

// inProject is for chats whose project isn't in the trash, whoever's it is.
const inProject = `EXISTS (SELECT 1 FROM {projects} p WHERE p.id = {chats}.project AND p.trashed = 0)`

// pageSize is how many rows are read at a time.
const pageSize = 200

func (s *Store) page(ctx context.Context, ring *vault.Ring, person string, l Listing, before int64, id string) ([]Chat, error) {
	rows, err := s.db.Query(ctx, `SELECT `+chatColumns+` FROM {chats} WHERE person = ?1 AND (trashed > 0) = (?2 > 0) AND temporary = 0
		AND (project = ?3 OR ?3 = '' AND (?2 > 0 OR `+inProject+`))
		AND (modified < ?4 OR modified = ?4 AND id > ?5)
		ORDER BY modified DESC, id LIMIT ?6`, person, count(l.Trash), l.Project, before, id, pageSize)
	if err != nil {
		return nil, err
	}
	return scanChats(rows, ring)
}

// scanChats reads chats for a list; those that can't be opened are in it as that.
func scanChats(rows *sql.Rows, ring *vault.Ring) (all []Chat, err error) {
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		c, err := scanChat(rows, ring)
		if why := whyUnreadable(err); why != "" {
			c.About, c.Unreadable, err = About{}, why, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

// Chat gives a chat of a person, also one in the trash.
func (s *Store) Chat(ctx context.Context, person, id string) (Chat, error) {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return Chat{}, err
	}
	return s.chat(ctx, s.db, ring, person, id)
}

func (s *Store) chat(ctx context.Context, q store.Querier, ring *vault.Ring, person, id string) (Chat, error) {
	c, err := scanChat(q.QueryRow(ctx, `SELECT `+chatColumns+` FROM {chats} WHERE person = ?1 AND id = ?2`, person, id), ring)
	if errors.Is(err, sql.ErrNoRows) {
		return c, ErrUnknown
	}
	return c, err
}

// PersonOf is whose a chat is. One in the trash, or in a project there, is nobody's.
func (s *Store) PersonOf(ctx context.Context, id string) (person string, err error) {
	err = s.db.QueryRow(ctx, `SELECT person FROM {chats} WHERE id = ?1 AND trashed = 0
		AND project IN (SELECT id FROM {projects} WHERE trashed = 0)`, id).Scan(&person)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrUnknown
	}
	return person, err
}

// NewChat begins a chat in a project; "" is the default one.
func (s *Store) NewChat(ctx context.Context, person, project string, about About) (Chat, error) {
	return beginChat(ctx, s, person, project, about, false)
}

// NewTemporaryChat begins one that is temporary.
func NewTemporaryChat(ctx context.Context, s *Store, person, project string, about About) (Chat, error) {
	return beginChat(ctx, s, person, project, about, true)
}

func beginChat(ctx context.Context, s *Store, person, project string, about About, temporary bool) (Chat, error) {
	if err := about.check(); err != nil {
		return Chat{}, err
	}
	if project == "" {
		p, err := s.Default(ctx, person)
		if err != nil {
			return Chat{}, err
		}
		project = p.ID
	}
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return Chat{}, err
	}
	now := s.now().Truncate(time.Millisecond)
	c := Chat{ID: newID(), Project: project, Created: now, Modified: now, Revision: 1, Temporary: temporary, About: about, generation: ring.Newest()}
	closed, err := seal(ring, "chats", c.ID, about)
	if err != nil {
		return Chat{}, err
	}
	err = s.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `UPDATE {projects} SET modified = ?3 WHERE id = ?1 AND trashed = 0
			AND (person = ?2 OR id IN (SELECT project FROM {members} WHERE person = ?2))`, project, person, millis(now))
		if err != nil || n == 0 {
			return errors.Join(ErrUnknown, err)
		}
		if _, err := q.Exec(ctx, `INSERT INTO {chats} (id, person, project, created, modified, revision, generation, sealed, indexed, temporary) VALUES (?1, ?2, ?3, ?4, ?4, 1, ?5, ?6, 0, ?7)`,
			c.ID, person, project, millis(now), int64(c.generation), closed, count(temporary)); err != nil {
			return err
		}
		return indexTitle(ctx, s, q, ring, person, &c, "")
	})
	if err == nil {
		Changed(s, person)
	}
	return c, err
}

// SetChat changes what stands around a chat. With project it moves there.
func (s *Store) SetChat(ctx context.Context, person, id string, revision int64, project string, change func(*About) error) (c Chat, err error) {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return c, err
	}
	err = s.db.Update(ctx, func(q store.Querier) error {
		if c, err = s.chat(ctx, q, ring, person, id); err != nil {
			return err
		}
		if revision != 0 && revision != c.Revision {
			return ErrChanged
		}
		title := c.Title
		if err := change(&c.About); err != nil {
			return err
		}
		if err := c.check(); err != nil {
			return err
		}
		if project != "" && project != c.Project {
			if p, err := s.project(ctx, q, person, project); err != nil || !p.Trashed.IsZero() {
				return invalid("project: %v", cmp.Or(err, ErrTrashed))
			}
			c.Project = project
		}
		closed, err := seal(ring, "chats", id, c.About)
		if err != nil {
			return err
		}
		c.Revision++
		if _, err := q.Exec(ctx, `UPDATE {chats} SET sealed = ?2, revision = ?3, project = ?4 WHERE id = ?1`, id, closed, c.Revision, c.Project); err != nil {
			return err
		}
		return indexTitle(ctx, s, q, ring, person, &c, title)
	})
	if err == nil {
		Changed(s, person)
	}
	return c, err
}

// TrashChat moves a chat to the trash, or takes it out again.
func (s *Store) TrashChat(ctx context.Context, person, id string, trash bool) error {
	return s.trash(ctx, `{chats}`, person, id, trash)
}

// PurgeChat removes a chat that is in the trash, and its transcript, for good.
func (s *Store) PurgeChat(ctx context.Context, person, id string) error {
	var n int
	err := s.db.QueryRow(ctx, `SELECT count(*) FROM {chats} WHERE id = ?1 AND person = ?2 AND trashed > 0`, id, person).Scan(&n)
	if err != nil || n == 0 {
		return errors.Join(ErrUnknown, err)
	}
	// The row goes last: whoever is cut off in between tries again.
	if err := purgeMinions(ctx, s, id); err != nil {
		return err
	}
	if err := purgeSession(ctx, s, session(id)); err != nil {
		return err
	}
	defer Changed(s, person)
	return s.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM {chats} WHERE id = ?1 AND person = ?2 AND trashed > 0`, id, person)
		if err != nil || n == 0 {
			return err
		}
		if _, err := q.Exec(ctx, `DELETE FROM {shares} WHERE person = ?1 AND chat = ?2`, person, id); err != nil {
			return err
		}
		if err := release(ctx, q, s.pieces, person, id); err != nil {
			return err
		}
		return s.index.Forget(ctx, q, person, id)
	})
}

// PurgeProject removes a project that is in the trash, and its chats, for good.
func (s *Store) PurgeProject(ctx context.Context, person, id string) error {
	var n int
	err := s.db.QueryRow(ctx, `SELECT count(*) FROM {projects} WHERE id = ?1 AND person = ?2 AND trashed > 0`, id, person).Scan(&n)
	if err != nil || n == 0 {
		return errors.Join(ErrUnknown, err)
	}
	for _, one := range audience(s, id, person) {
		defer Changed(s, one)
	}
	// Members may have had chats in it when they were moved out of the trash.
	err = s.db.Update(ctx, func(q store.Querier) error { _, err := moveOut(ctx, s, q, id, person, ""); return err })
	if err != nil {
		return err
	}
	if _, err := s.db.Exec(ctx, `UPDATE {chats} SET trashed = ?2 WHERE project = ?1 AND trashed = 0`, id, millis(s.now())); err != nil {
		return err
	}
	for {
		var chat string
		err := s.db.QueryRow(ctx, `SELECT id FROM {chats} WHERE project = ?1 LIMIT 1`, id).Scan(&chat)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err == nil {
			err = s.PurgeChat(ctx, person, chat)
		}
		if err != nil {
			return err
		}
	}
	return s.db.Update(ctx, func(q store.Querier) error {
		if err := s.files.Delete(ctx, q, id); err != nil {
			return err
		}
		if _, err := q.Exec(ctx, `DELETE FROM {members} WHERE project = ?1`, id); err != nil {
			return err
		}
		_, err := q.Exec(ctx, `DELETE FROM {projects} WHERE id = ?1 AND person = ?2 AND trashed > 0`, id, person)
		return err
	})
}

// temporaryTime is how long a temporary chat stays that nobody uses.
const temporaryTime = 24 * time.Hour

// Purge removes for good what has been in the trash since a time, of all people, and temporary chats that
// nobody uses any more.
func (s *Store) Purge(ctx context.Context, before time.Time) error {
	type owned struct{ person, id string }
	gather := func(table string) (all []owned, err error) {
		rows, err := s.db.Query(ctx, `SELECT person, id FROM `+table+` WHERE trashed > 0 AND trashed < ?1`, millis(before))
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var o owned
			if err := rows.Scan(&o.person, &o.id); err != nil {
				return nil, err
			}
			all = append(all, o)
		}
		return all, rows.Err()
	}
	// One in the trash for longer than that was put there by nobody who wants it back.
	now := millis(s.now())
	if _, err := s.db.Exec(ctx, `UPDATE {chats} SET trashed = 1 WHERE temporary > 0 AND modified < ?1 AND accepted <= settled`, now-temporaryTime.Milliseconds()); err != nil {
		return err
	}
	projects, err := gather(`{projects}`)
	for _, o := range projects {
		err = errors.Join(err, s.PurgeProject(ctx, o.person, o.id))
	}
	chats, err2 := gather(`{chats}`)
	err = errors.Join(err, err2)
	for _, o := range chats {
		err = errors.Join(err, s.PurgeChat(ctx, o.person, o.id))
	}
	return err
}

// session is the name of a chat's transcript among the sessions of the database.
func session(chat string) string { return "chat/" + chat }

// Open opens the transcript of a chat to write; it is begun if it isn't there. Another process
// that writes it makes the error a [transcript.ErrLocked]. lost is called when an entry can't be
// written, also because another process has taken the transcript over, and nothing is written any more then; nil: each entry
// is tried again with the next one.
func (s *Store) Open(ctx context.Context, person string, c Chat, o transcript.Options, lost func()) (*transcript.Log, error) {
	below, err := s.records(ctx, c, true)
	fresh := errors.Is(err, fs.ErrNotExist)
	if fresh {
		below, err = s.begin(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	if lost != nil {
		below = &guarded{below}
	}
	if fresh {
		return s.log(ctx, person, c, below, o, true, lost)
	}
	empty, err := isEmpty(below)
	if err != nil {
		return nil, errors.Join(err, below.Close())
	}
	return s.log(ctx, person, c, below, o, empty, lost)
}

// View opens the transcript of a chat to read, while another process may write it. The error is
// an [fs.ErrNotExist] if nothing was said yet.
func (s *Store) View(ctx context.Context, person string, c Chat, o transcript.Options) (*transcript.Log, error) {
	below, err := s.records(ctx, c, false)
	if err != nil {
		return nil, err
	}
	return s.log(ctx, person, c, below, o, false, nil)
}

func (s *Store) records(ctx context.Context, c Chat, write bool) (transcript.Store, error) {
	switch db := s.db.SQL(); {
	case s.db.Server() && write:
		return stored(pgstore.Open(ctx, db, session(c.ID)))
	case s.db.Server():
		return stored(pgstore.View(ctx, db, session(c.ID)))
	case write:
		return stored(sqlstore.Open(ctx, db, session(c.ID)))
	default:
		return stored(sqlstore.View(ctx, db, session(c.ID)))
	}
}

func (s *Store) begin(ctx context.Context, c Chat) (transcript.Store, error) {
	if s.db.Server() {
		return stored(pgstore.Create(ctx, s.db.SQL(), session(c.ID)))
	}
	return stored(sqlstore.Create(ctx, s.db.SQL(), session(c.ID)))
}

// stored is a store as the interface, and none where there is an error.
func stored[S transcript.Store](store S, err error) (transcript.Store, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}

// guarded is the store of a chat's records. While the database doesn't answer, nobody knows who has the
// chat: a process that was stopped has no connection any more, and must not go on before it has asked again.
type guarded struct{ transcript.Store }

// How long a database that is away is asked again, and how soon. However long a call took, it is asked a few times:
// this process may have been stopped meanwhile.
const (
	awayTime  = 20 * time.Second
	longTry   = awayTime / 4
	firstWait = 20 * time.Millisecond
	lastWait  = time.Second
)

// Append implements [transcript.Store].
func (g *guarded) Append(records ...[]byte) ([]transcript.Ref, error) {
	left, wait := awayTime, firstWait
	for {
		begun := time.Now()
		refs, err := g.Store.Append(records...)
		left -= min(time.Since(begun), longTry) + wait
		if err == nil || left < 0 || errors.Is(err, pgstore.ErrTakenOver) || !errors.Is(err, pgstore.ErrLost) && !errors.Is(err, pgstore.ErrUnreachable) {
			return refs, err
		}
		time.Sleep(wait)
		wait = min(2*wait, lastWait)
	}
}

// strict is the store that a chat's session writes to. One that can't be written ends: nobody may be told of what
// isn't kept. Whoever opens the chat next goes on from what the database has.
type strict struct {
	transcript.Store
	lost func()

	mu   sync.Mutex
	over error // nothing more is written
}

// Append implements [transcript.Store].
func (s *strict) Append(records ...[]byte) (refs []transcript.Ref, err error) {
	err = s.write(func() error { refs, err = s.Store.Append(records...); return err })
	return refs, err
}

// Replace implements [transcript.Store].
func (s *strict) Replace(records iter.Seq[[]byte]) error {
	return s.write(func() error { return s.Store.Replace(records) })
}

func (s *strict) write(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return s.over
	}
	err := do()
	if err == nil {
		return nil
	}
	why := transcript.ErrUnkept
	if errors.Is(err, pgstore.ErrTakenOver) {
		why = transcript.ErrTakenOver
	}
	s.over = fmt.Errorf("%w: %w", why, err)
	s.lost()
	return s.over
}

// isEmpty reports whether nothing was written yet: the process that began it had ended before.
func isEmpty(store transcript.Store) (bool, error) {
	some := errors.New("some")
	err := store.Records(func(transcript.Ref, []byte) error { return some })
	if errors.Is(err, some) {
		return false, nil
	}
	return true, err
}

// unseal gives what decrypts the transcript of a chat.
func (s *Store) unseal(ctx context.Context, person string, c Chat) func(transcript.Store) (transcript.Store, error) {
	return func(below transcript.Store) (transcript.Store, error) {
		ring, err := s.keys.Ring(ctx, person)
		if err != nil {
			return nil, err
		}
		// By the keys there are, not by the row's generation: a process may have ended between
		// the two when they changed.
		opened, _, err := ring.OpenSession(below)
		return opened, err
	}
}

// log opens a transcript on its records, which it closes then.
func (s *Store) log(ctx context.Context, person string, c Chat, below transcript.Store, o transcript.Options, fresh bool, lost func()) (*transcript.Log, error) {
	unseal := s.unseal(ctx, person, c)
	if open := unseal; lost != nil {
		unseal = func(below transcript.Store) (transcript.Store, error) {
			above, err := open(below)
			if err != nil {
				return nil, err
			}
			return &strict{Store: above, lost: lost}, nil
		}
	}
	o.Blobs = transcript.KeptBy(&kept{store: s, person: person, chat: ofChat(c.ID)})
	var l *transcript.Log
	var err error
	if fresh {
		var above transcript.Store
		if above, err = unseal(below); err == nil {
			l, err = transcript.Create(above, transcript.Header{ID: strings.ReplaceAll(c.ID, "/", ".")}, o) // an agent of a chat is CHAT.AGENT outside
		}
	} else {
		o.Unseal = unseal
		l, _, err = transcript.Open(below, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the transcript of chat %s: %w", c.ID, err), below.Close())
	}
	return l, nil
}

// forked is the title of a fork of a chat in a project: that of the chat with the next number, as in "Plans (2)".
func forked(ctx context.Context, s *Store, person string, from Chat) (string, error) {
	all, err := s.Chats(ctx, person, Listing{Project: from.Project})
	if err != nil || from.Title == "" {
		return "", err
	}
	title := from.Title
	if i := strings.LastIndex(title, " ("); i > 0 {
		if n, err := strconv.Atoi(strings.TrimSuffix(title[i+2:], ")")); err == nil && n < 1000 { // more is a year
			title = title[:i]
		}
	}
	title = prose.Head(title, maxName-len(" (9999)"))
	there := map[string]bool{}
	for i := range all {
		there[all[i].Title] = true
	}
	for n := 2; ; n++ {
		if next := title + " (" + strconv.Itoa(n) + ")"; !there[next] {
			return next, nil
		}
	}
}

// Fork begins a chat in the same project with what was said up to an entry of another one's
// transcript, and nothing of other branches. Its title has a number.
func (s *Store) Fork(ctx context.Context, person, id, entry string) (Chat, error) {
	from, err := s.Chat(ctx, person, id)
	if err != nil {
		return Chat{}, err
	}
	l, err := s.View(ctx, person, from, transcript.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return Chat{}, invalid("entry: nothing has been said in the chat")
	}
	if err != nil {
		return Chat{}, err
	}
	defer l.Close()
	if entry == "" {
		entry = l.Leaf()
	}
	about := from.About
	if about.Title, err = forked(ctx, s, person, from); err != nil {
		return Chat{}, err
	}
	about.Origin, about.Entry, about.Source, about.Draft, about.Pinned, about.Seen = id, entry, "", "", false, time.Time{}
	to, err := s.NewChat(ctx, person, from.Project, about)
	if err != nil {
		return Chat{}, err
	}
	late := context.WithoutCancel(ctx)
	if err := s.copyBranch(ctx, person, l, entry, to); err != nil {
		if !store.Failed(err) && ctx.Err() == nil {
			err = invalid("entry: %v", err)
		}
		// Without its transcript it would be a chat in which nothing was said.
		return Chat{}, errors.Join(err, s.TrashChat(late, person, to.ID, true), s.PurgeChat(late, person, to.ID))
	}
	_, err = s.db.Exec(late, `UPDATE {chats} SET indexed = -1, entries = 0 WHERE id = ?1`, to.ID)
	return to, err
}

func (s *Store) copyBranch(ctx context.Context, person string, from *transcript.Log, entry string, to Chat) error {
	if err := s.db.Update(ctx, func(q store.Querier) error { return share(ctx, q, s.pieces, person, to.Origin, to.ID) }); err != nil {
		return err
	}
	below, err := s.begin(ctx, to)
	if err != nil {
		return err
	}
	above, err := s.unseal(ctx, person, to)(below)
	if err != nil {
		return errors.Join(err, below.Close())
	}
	err = transcript.CopyBranch(from, entry, above, transcript.Header{ID: to.ID, ParentSession: from.ID()})
	return errors.Join(err, above.Close())
}

// ChatsOf are the ids of all chats of a person, or of those in one project; "" is all.
func ChatsOf(ctx context.Context, s *Store, person, project string) (ids []string, err error) {
	rows, err := s.db.Query(ctx, `SELECT id FROM {chats} WHERE person = ?1 AND (project = ?2 OR ?2 = '')`, person, project)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows)
}

// PurgePerson removes all projects and chats of a person, for good, also their chats in projects of others, who share nothing with them
// any more. What others have in the projects stays theirs.
func PurgePerson(ctx context.Context, s *Store, person string) error {
	now := millis(s.now())
	if _, err := s.db.Exec(ctx, `DELETE FROM {members} WHERE person = ?1`, person); err != nil {
		return err
	}
	for _, table := range []string{`{projects}`, `{chats}`} {
		if _, err := s.db.Exec(ctx, `UPDATE `+table+` SET trashed = ?2 WHERE person = ?1 AND trashed = 0`, person, now); err != nil {
			return err
		}
	}
	for _, table := range []string{`{projects}`, `{chats}`} {
		purge := s.PurgeProject
		if table == `{chats}` {
			purge = s.PurgeChat
		}
		for {
			var id string
			err := s.db.QueryRow(ctx, `SELECT id FROM `+table+` WHERE person = ?1 LIMIT 1`, person).Scan(&id)
			if errors.Is(err, sql.ErrNoRows) {
				break
			}
			if err == nil {
				err = purge(ctx, person, id)
			}
			if err != nil {
				return err
			}
		}
	}
	_, err := s.db.Exec(ctx, `DELETE FROM {preferences} WHERE id = ?1`, person)
	return err
}
