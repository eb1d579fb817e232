package project

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// The kinds of documents in the index.
const (
	kindMessage = "message"
	kindTitle   = "title"
)

const (
	sliceDocs   = 200     // messages that are indexed at a time
	sliceBytes  = 2 << 20 // and their text
	catchUp     = 50      // chats that a search indexes before it answers
	catchUpTime = time.Second
	tendEvery   = time.Minute
	snippetSize = 240 // bytes
	maxQuery    = 400 // bytes
)

// Finder finds words in the chats of people: in what they, the model and agents have said, on all
// branches, and in titles.
//
// A title is in the index when the change of it has committed. Messages are written by the
// transcript, in transactions of its own, so they follow: the row of a chat says how many entries of it the index has,
// and of which turns. A chat that is behind is indexed when its turn ends, before its person searches,
// or in the background ([Finder.Tend]), by whichever server comes first.
type Finder struct {
	store *Store
	kick  chan struct{}
}

// NewFinder makes a finder for the chats of a store.
func NewFinder(s *Store) *Finder { return &Finder{store: s, kick: make(chan struct{}, 1)} }

// Query says what is looked for. Only Text must be there.
type Query struct {
	Text          string
	Project, Chat string // only there
	From, To      time.Time
	Limit         int // 0 is 20
	Offset        int
}

// Hit is what was found: a message, or the title of a chat.
type Hit struct {
	Kind    string         `json:"kind"` // message or title
	Chat    string         `json:"chat"`
	Agent   string         `json:"agent,omitempty"` // in whose chat, CHAT.AGENT, it is
	Project string         `json:"project"`
	Title   string         `json:"title,omitempty"` // of the chat
	Entry   string         `json:"entry,omitempty"` // of the tree that has the message
	Role    llm.Role       `json:"role,omitempty"`
	Time    time.Time      `json:"time"`
	Snippet search.Snippet `json:"snippet"`
}

// Found is what a search has found.
type Found struct {
	Total int   `json:"total"`
	Hits  []Hit `json:"hits"` // the best first
	// Behind says that some chats are not in the index yet: the same search finds more soon.
	Behind bool `json:"behind,omitempty"`
}

func titleDoc(chat, title string, at time.Time) search.Doc {
	return search.Doc{Ref: search.Ref{Kind: kindTitle, ID: chat}, Parent: chat, Time: at, Text: title}
}

// indexTitle has the index know a new title, in the transaction that keeps it.
func indexTitle(ctx context.Context, s *Store, q store.Querier, ring *vault.Ring, person string, c *Chat, before string) error {
	if c.Title == before {
		return nil
	}
	return s.index.Write(ctx, q, ring, person, []search.Doc{titleDoc(c.ID, c.Title, c.Created)}, nil)
}

// Search finds messages and titles of a person that have all words of a query; see
// [search.Index.Search]. Nothing of what is in the trash is found.
func (f *Finder) Search(ctx context.Context, person string, q Query) (Found, error) {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return Found{}, invalid("q: it is missing")
	case len(q.Text) > maxQuery:
		return Found{}, invalid("q: at most %d bytes, not %d", maxQuery, len(q.Text))
	}
	behind, err := f.catchUp(ctx, person)
	if err != nil {
		return Found{}, err
	}
	seen, err := f.visible(ctx, person, q.Project)
	if err != nil {
		return Found{}, fmt.Errorf("search: %w", err)
	}
	r, err := f.store.index.Search(ctx, person, q.Text, search.Options{
		Parent: q.Chat, In: func(chat string) bool { return seen[chat] != "" }, From: q.From, To: q.To, Limit: q.Limit, Offset: q.Offset,
	})
	if err != nil {
		return Found{}, err
	}
	found := Found{Total: r.Total, Hits: []Hit{}, Behind: behind}
	open := shelf{f.store, person, map[string]*opened{}}
	defer open.close()
	for _, h := range r.Hits {
		hit, err := open.hit(ctx, h, q.Text)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUnreadable) { // it was removed meanwhile, or the lists say what is wrong
			continue
		}
		if err != nil {
			return Found{}, fmt.Errorf("search: %w", err)
		}
		found.Hits = append(found.Hits, hit)
	}
	return found, nil
}

// visible are the chats of a person that are not in the trash, and their projects.
func (f *Finder) visible(ctx context.Context, person, project string) (map[string]string, error) {
	rows, err := f.store.db.Query(ctx, `SELECT id, project FROM {chats} WHERE person = ?1 AND trashed = 0 AND temporary = 0 AND (?2 = '' OR project = ?2)
		AND `+inProject, person, project)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := map[string]string{}
	for rows.Next() {
		var id, in string
		if err := rows.Scan(&id, &in); err != nil {
			return nil, err
		}
		seen[id] = in
	}
	return seen, rows.Err()
}

// shelf has the chats open that hits of an answer are in.
type shelf struct {
	store  *Store
	person string
	chats  map[string]*opened
}

type opened struct {
	chat Chat
	logs map[string]*transcript.Log // those that were needed, by the agent's id; "" is the chat's own
}

func (o *shelf) close() {
	for _, c := range o.chats {
		for _, l := range c.logs {
			_ = l.Close() // it was only read
		}
	}
}

// hit reads what was found. One that isn't there any more is [fs.ErrNotExist].
func (o *shelf) hit(ctx context.Context, h search.Hit, query string) (hit Hit, err error) {
	c := o.chats[h.Parent]
	if c == nil {
		c = &opened{logs: map[string]*transcript.Log{}}
		if c.chat, err = o.store.Chat(ctx, o.person, h.Parent); err != nil {
			return hit, err
		}
		o.chats[h.Parent] = c
	}
	hit = Hit{Kind: h.Kind, Chat: c.chat.ID, Project: c.chat.Project, Title: c.chat.Title, Time: h.Time.UTC()}
	text := c.chat.Title
	if h.Kind == kindMessage {
		hit.Entry = strings.TrimPrefix(h.ID, h.Parent+"/")
		if agent, entry, ok := strings.Cut(hit.Entry, "/"); ok {
			hit.Agent, hit.Entry = agent, entry
		}
		l := c.logs[hit.Agent]
		if l == nil {
			if hit.Agent == "" {
				l, err = o.store.View(ctx, o.person, c.chat, transcript.Options{})
			} else {
				l, err = MinionsOf(o.store, o.person, c.chat).View(ctx, hit.Agent)
			}
			if err != nil {
				return hit, err
			}
			c.logs[hit.Agent] = l
		}
		e, err := l.Entry(hit.Entry)
		if err != nil || e.Message == nil {
			return hit, errors.Join(fs.ErrNotExist, err)
		}
		hit.Role, text = e.Message.Role, e.Message.Text()
	}
	hit.Snippet = search.Show(text, query, snippetSize)
	return hit, nil
}

// catchUp indexes what is behind of a person's chats, as far as somebody who searches waits for it.
func (f *Finder) catchUp(ctx context.Context, person string) (behind bool, err error) {
	// Whoever works on a turn has said something, of which the row knows nothing yet.
	rows, err := f.store.db.Query(ctx, `SELECT id FROM {chats} WHERE person = ?1 AND trashed = 0
		AND (indexed < accepted + settled OR accepted > settled) ORDER BY modified DESC LIMIT ?2`, person, catchUp+1)
	if err != nil {
		return false, err
	}
	ids, err := scanIDs(rows)
	if err != nil {
		return false, err
	}
	late := time.Now().Add(catchUpTime)
	for i, id := range ids {
		if i == catchUp || time.Now().After(late) {
			select {
			case f.kick <- struct{}{}:
			default:
			}
			return true, nil
		}
		if err := f.Index(ctx, person, id, "", nil); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrUnreadable) {
			return false, fmt.Errorf("index chat %s: %w", id, err)
		}
	}
	return false, nil
}

func scanIDs(rows *sql.Rows) (ids []string, err error) {
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Tend indexes chats that are behind, until ctx ends: those of before there was an index, and of
// servers that died. Of people who are locked it does nothing. failed is told what went wrong,
// once for each chat.
func (f *Finder) Tend(ctx context.Context, failed func(error)) {
	told := map[string]bool{}
	for {
		if err := f.sweep(ctx, told, failed); err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("look for chats to index: %w", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-f.kick:
		case <-time.After(tendEvery):
		}
	}
}

func (f *Finder) sweep(ctx context.Context, told map[string]bool, failed func(error)) error {
	rows, err := f.store.db.Query(ctx, `SELECT DISTINCT person FROM {chats} WHERE indexed < accepted + settled`)
	if err != nil {
		return err
	}
	people, err := scanIDs(rows)
	if err != nil {
		return err
	}
	for _, person := range people {
		for after := ""; ctx.Err() == nil; {
			rows, err := f.store.db.Query(ctx, `SELECT id FROM {chats} WHERE person = ?1 AND indexed < accepted + settled AND trashed = 0 AND id > ?2 ORDER BY id LIMIT ?3`, person, after, pageSize)
			if err != nil {
				return err
			}
			ids, err := scanIDs(rows)
			if err != nil {
				return err
			}
			if len(ids) == 0 || !f.sweepSome(ctx, person, ids, told, failed) {
				break
			}
			after = ids[len(ids)-1]
		}
	}
	return nil
}

// sweepSome indexes chats of a person; false: they are locked.
func (f *Finder) sweepSome(ctx context.Context, person string, ids []string, told map[string]bool, failed func(error)) bool {
	for _, id := range ids {
		err := f.Index(ctx, person, id, "", nil)
		switch {
		case errors.Is(err, vault.ErrLocked) || ctx.Err() != nil:
			return false
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !told[id]:
			told[id] = true
			failed(fmt.Errorf("index chat %s: %w", id, err))
		}
	}
	return true
}

// Index brings a chat in the index up to its transcript. log is the transcript of whoever holds
// the chat; nil: it is read. Several may do it at a time, or be cut off: each goes on from where
// the row says the index is.
func (f *Finder) Index(ctx context.Context, person, id, holder string, log *transcript.Log) error {
	var turns, indexed int64
	var entries int
	err := f.store.db.QueryRow(ctx, `SELECT accepted + settled, indexed, entries FROM {chats} WHERE id = ?1 AND person = ?2`, id, person).Scan(&turns, &indexed, &entries)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrUnknown
	}
	if err != nil {
		return err
	}
	c, err := f.store.Chat(ctx, person, id)
	if err != nil {
		return err
	}
	var nodes []transcript.Node
	if log == nil {
		log, err = f.store.View(ctx, person, c, transcript.Options{})
		if err == nil {
			defer log.Close() //nolint:errcheck // it was only read
		} else if !errors.Is(err, fs.ErrNotExist) { // else nothing was said
			return err
		}
	}
	if log != nil {
		nodes = log.Stored()
	}
	if indexed != turns {
		if err := f.indexMinions(ctx, person, c); err != nil {
			return err
		}
	}
	for {
		docs, to, err := f.slice(ctx, id, id, log, nodes, entries)
		if err != nil {
			return err
		}
		done := to >= len(nodes)
		if done && to == entries && indexed == turns {
			return nil
		}
		was := entries
		if going, err := f.write(ctx, person, id, holder, docs, was, to, indexed, turns, done); err != nil || !going {
			return err
		}
		if entries, indexed = to, max(indexed, 0); done {
			return nil
		}
	}
}

// indexMinions brings the agents of a chat in the index up to their transcripts.
func (f *Finder) indexMinions(ctx context.Context, person string, c Chat) error {
	rows, err := f.store.db.Query(ctx, `SELECT id, entries, sealed FROM {minions} WHERE chat = ?1 AND indexed = 0`, c.ID)
	if err != nil {
		return err
	}
	var behind []minionBehind
	for rows.Next() && err == nil {
		var m minionBehind
		err = rows.Scan(&m.id, &m.entries, &m.sealed)
		behind = append(behind, m)
	}
	err = errors.Join(err, rows.Err(), rows.Close())
	for _, m := range behind {
		if err == nil {
			err = f.indexMinion(ctx, person, c, m)
		}
	}
	return err
}

// minionBehind is an agent that may have said more than the index has.
type minionBehind struct {
	id      string
	entries int // of its transcript, which the index has
	sealed  []byte
}

// indexMinion indexes an agent. Another one may do it at the same time.
func (f *Finder) indexMinion(ctx context.Context, person string, c Chat, m minionBehind) error {
	agents := MinionsOf(f.store, person, c)
	log, err := agents.View(ctx, m.id)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUnreadable) { // it never answered, or nobody can read it
		return nil
	}
	if err != nil {
		return fmt.Errorf("agent %s: %w", m.id, err)
	}
	defer log.Close() //nolint:errcheck // it was only read
	ring, err := f.store.keys.Ring(ctx, person)
	if err != nil {
		return err
	}
	nodes := log.Stored()
	for from, going := m.entries, true; going; {
		docs, to, err := f.slice(ctx, c.ID, agents.place(m.id), log, nodes, from)
		if err != nil {
			return err
		}
		err = f.store.db.Update(ctx, func(q store.Querier) error {
			// What was noted since its transcript was opened may be about more than that has.
			n, err := q.Exec(ctx, `UPDATE {minions} SET entries = ?4, indexed = CASE WHEN sealed = ?5 AND ?6 = 1 THEN 1 ELSE 0 END
				WHERE chat = ?1 AND id = ?2 AND entries = ?3`, c.ID, m.id, from, to, m.sealed, int(count(to >= len(nodes))))
			if going = n > 0 && to < len(nodes); err != nil || n == 0 {
				return err
			}
			return f.store.index.Write(ctx, q, ring, person, docs, nil)
		})
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// slice is what entries of a transcript at a place, that of a chat or of one of its agents, add to the index.
func (f *Finder) slice(ctx context.Context, chat, place string, log *transcript.Log, nodes []transcript.Node, from int) (docs []search.Doc, to int, err error) {
	size := 0
	for to = from; to < len(nodes) && len(docs) < sliceDocs && size < sliceBytes; to++ {
		n := nodes[to]
		if n.Type != transcript.TypeMessage || n.Role != llm.RoleUser && n.Role != llm.RoleAssistant {
			continue
		}
		e, err := log.Entry(n.ID)
		if err != nil {
			if store.Failed(err) { // it may be there: it is not noted as indexed
				return nil, 0, err
			}
			if err := errors.Join(ctx.Err(), f.store.db.Ping(ctx)); err != nil {
				return nil, 0, err
			}
			continue // a damaged one
		}
		if e.Message == nil || strings.TrimSpace(e.Message.Text()) == "" {
			continue
		}
		text := e.Message.Text()
		docs = append(docs, search.Doc{Ref: search.Ref{Kind: kindMessage, ID: place + "/" + n.ID}, Parent: chat, Time: e.Message.Time, Text: text})
		size += len(text)
	}
	return docs, to, nil
}

// write adds a slice to the index; false: another one is doing it, or has the chat now.
func (f *Finder) write(ctx context.Context, person, id, holder string, docs []search.Doc, from, to int, indexed, turns int64, done bool) (going bool, err error) {
	ring, err := f.store.keys.Ring(ctx, person)
	if err != nil {
		return false, err
	}
	now := max(indexed, 0)
	if done {
		now = turns
	}
	err = f.store.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `UPDATE {chats} SET entries = ?4, indexed = ?5 WHERE id = ?1 AND (?2 = '' OR holder = ?2) AND entries = ?3 AND indexed = ?6`,
			id, holder, from, to, now, indexed)
		if going = n > 0; err != nil || !going {
			return err
		}
		all := docs
		if indexed < 0 { // from before there was an index
			c, err := f.store.chat(ctx, q, ring, person, id)
			if err != nil {
				return err
			}
			if c.Title != "" {
				all = append([]search.Doc{titleDoc(id, c.Title, c.Created)}, docs...)
			}
		}
		return f.store.index.Write(ctx, q, ring, person, all, nil)
	})
	return going, err
}
