// Package project keeps the projects and chats of people. A chat is a session whose transcript is
// in the server's database, sealed with keys of its person; this package keeps what stands
// around it: which project it belongs to, what it is called, and what is different for it.
//
// What people have written is sealed with their [vault.Ring]. Whose a project is, with whom it is shared, when it was
// changed, and how often, is not. One person's projects and chats are not there for another, but for projects that are
// shared with members.
//
// Changes come with the revision that they are made of, and are refused with [ErrChanged] if
// another one was faster; revision 0 changes whatever is there. What is deleted is in the trash
// first.
package project

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Part makes the tables.
var Part = store.Part{Name: "projects", Steps: []string{
	`CREATE TABLE {projects} (
		id       TEXT PRIMARY KEY,
		person   TEXT NOT NULL,
		created  INTEGER NOT NULL,
		modified INTEGER NOT NULL,
		revision INTEGER NOT NULL,
		trashed  INTEGER NOT NULL DEFAULT 0,
		sealed   BLOB NOT NULL
	) STRICT;
	CREATE INDEX projects_by_person ON {projects} (person, modified);
	CREATE TABLE {chats} (
		id         TEXT PRIMARY KEY,
		person     TEXT NOT NULL,
		project    TEXT NOT NULL REFERENCES {projects} (id),
		created    INTEGER NOT NULL,
		modified   INTEGER NOT NULL,
		revision   INTEGER NOT NULL,
		trashed    INTEGER NOT NULL DEFAULT 0,
		generation INTEGER NOT NULL,
		sealed     BLOB NOT NULL,
		holder     TEXT NOT NULL DEFAULT '',
		accepted   INTEGER NOT NULL DEFAULT 0,
		settled    INTEGER NOT NULL DEFAULT 0
	) STRICT;
	CREATE TABLE {servers} (
		id      TEXT PRIMARY KEY,
		address TEXT NOT NULL,
		beat    INTEGER NOT NULL
	) STRICT;
	CREATE INDEX chats_by_project ON {chats} (project, modified);
	CREATE INDEX chats_by_person ON {chats} (person, modified);`,
	// What the search index has of a chat: entries of its transcript, and of which turns, as the
	// sum of accepted and settled ones. -1 is nothing yet, not even the title.
	`ALTER TABLE {chats} ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE {chats} ADD COLUMN indexed INTEGER NOT NULL DEFAULT -1;
	CREATE INDEX chats_behind ON {chats} (person) WHERE indexed < accepted + settled;`,
	attachmentTables,
	minionTables,
	preferencesTables + sharesTables,
	`ALTER TABLE {chats} ADD COLUMN temporary INTEGER NOT NULL DEFAULT 0;`,
	memberTables,
	// What the search index has of an agent, as of a chat. Those of before weren't in it.
	`ALTER TABLE {minions} ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE {minions} ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
	UPDATE {chats} SET indexed = 0 WHERE indexed > 0 AND id IN (SELECT chat FROM {minions});`,
}}

var (
	// ErrUnknown means that there is no such project or chat of the person.
	ErrUnknown = fmt.Errorf("there is nothing with that id: %w", fs.ErrNotExist)
	// ErrTrashed means that a project is in the trash, where it stays as it is.
	ErrTrashed = fmt.Errorf("%w: the project is in the trash, restore it first", ErrUnknown)
	// ErrChanged means that it was changed since it was read.
	ErrChanged = errors.New("it was changed meanwhile: read it again")
	// ErrInvalid begins what is wrong with what was given.
	ErrInvalid = errors.New("not possible")
)

// Limits.
const (
	maxName    = 200     // bytes of a name or title
	maxText    = 1 << 20 // bytes of instructions or a draft
	maxPrefill = 10_000  // bytes
	maxList    = 1000    // rows of a list
)

// Settings are what a person has set for a project.
type Settings struct {
	Name string `json:"name,omitempty"` // never "" in a project
	Icon string `json:"icon,omitempty"` // an emoji
	// Instructions are added to the system prompt of the chats.
	Instructions string   `json:"instructions,omitempty"`
	Model        string   `json:"model,omitempty"`    // a selector; "" is the default model
	Thinking     string   `json:"thinking,omitempty"` // off, minimal, low, medium, high, xhigh
	Temperature  *float64 `json:"temperature,omitempty"`
	MaxTokens    int      `json:"maxTokens,omitempty"` // of an answer; 0 is the model's
	// Prefill is what answers to messages of the person begin with, where the model can continue what was begun for it.
	// Spaces at its end are removed, which some providers refuse.
	Prefill string `json:"prefill,omitempty"`
	// Tools are those of the chats. A change names what it changes: null switches a tool off, and all of them back to [StandardTools].
	Tools *Tools `json:"tools,omitempty"`
	// Format is what the model reads with each message of the person. A change names what it changes; null is the message alone.
	Format  *Format `json:"format,omitempty"`
	Mode    string  `json:"mode,omitempty"`    // of approval: ask, auto-edit, full; "" is auto-edit
	MaxCost llm.USD `json:"maxCost,omitempty"` // of a chat; 0 is no limit
	// Source is the project that it was imported as, of an archive: "burin:" and its id there.
	Source string `json:"source,omitempty"`
}

// Project is a project of a person.
type Project struct {
	ID       string    `json:"id"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	Revision int64     `json:"revision"`
	Trashed  time.Time `json:"trashed,omitzero"`
	// Unreadable says in lists why the data can't be opened: key, damaged or version. Such a project has no settings, and
	// can only be deleted; its chats can be moved.
	Unreadable string `json:"unreadable,omitempty"`
	// Owner is the name of whose project it is, and Right what you may do with it, read or write, if it isn't yours.
	Owner string `json:"owner,omitempty"`
	Right Right  `json:"right,omitempty"`
	// Locked says in lists that the owner's keys are locked. The project has no settings then.
	Locked  bool `json:"locked,omitempty"`
	Members int  `json:"members,omitempty"` // with whom you share it
	Settings

	owner string // id of the person
}

// OwnerOf is the id of whose project it is.
func OwnerOf(p *Project) string { return p.owner }

// About is what stands around the transcript of a chat.
type About struct {
	Title    string `json:"title,omitempty"`
	Model    string `json:"model,omitempty"`    // in place of the project's
	Thinking string `json:"thinking,omitempty"` // in place of the project's
	Draft    string `json:"draft,omitempty"`    // what was written and not sent
	// Instructions are added to the system prompt, after those of the project.
	Instructions string   `json:"instructions,omitempty"`
	Pinned       bool     `json:"pinned,omitempty"`
	Archived     bool     `json:"archived,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Folder       string   `json:"folder,omitempty"` // whose chats stand together in the list
	// Origin is the chat that it was forked from, and Entry where.
	Origin string `json:"origin,omitempty"`
	Entry  string `json:"entry,omitempty"`
	// Source is where it was imported from: the kind of file, ":" and its id there.
	Source string  `json:"source,omitempty"`
	Cost   llm.USD `json:"cost,omitempty"` // of everything so far
	// Seen is what of the chat its person has seen, on any device: all until then.
	Seen time.Time `json:"seen,omitzero"`
}

// Chat is a chat of a person.
type Chat struct {
	ID       string    `json:"id"`
	Project  string    `json:"project"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	Revision int64     `json:"revision"`
	Trashed  time.Time `json:"trashed,omitzero"`
	// Working says that a turn runs.
	Working bool `json:"working,omitempty"`
	// Temporary is a chat that is in no list and is not found, and is removed a day after its last use.
	Temporary bool `json:"temporary,omitempty"`
	// Unreadable is as in a project. Such a chat has no title, and can only be deleted.
	Unreadable string `json:"unreadable,omitempty"`
	About

	generation uint32 // of the key that seals its transcript
}

// Keys has the keys of people.
type Keys interface {
	// Ring is the keys of a person. An error says why they can't be used now.
	Ring(ctx context.Context, person string) (*vault.Ring, error)
}

// Store keeps the projects and chats of all people. Any goroutine may use it.
type Store struct {
	// Fits says, in the transaction of a change that makes a person's files larger, why they may not
	// be. nil: the projects have limits of their own only.
	Fits func(ctx context.Context, q store.Querier, person string) error
	// Name is what a person is called. nil: by their id.
	Name func(ctx context.Context, person string) string

	db     *store.DB
	keys   Keys
	files  *vfs.Store
	index  *search.Index
	pieces *attachment.Store
	now    func() time.Time

	watchers watchers
}

// New makes a store. files has the files of the projects, index what is found of the chats, and
// pieces what is attached to them.
func New(db *store.DB, keys Keys, files *vfs.Store, index *search.Index, pieces *attachment.Store) *Store {
	return &Store{db: db, keys: keys, files: files, index: index, pieces: pieces, now: time.Now}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// named is a name or title as it is kept.
func named(field, text string) (string, error) {
	text = prose.Line(text)
	if len(text) > maxName {
		return "", invalid("%s: at most %d bytes, not %d", field, maxName, len(text))
	}
	return text, nil
}

func (s *Settings) check() (err error) {
	if s.Name, err = named("name", s.Name); err != nil {
		return err
	}
	if s.Icon, err = named("icon", s.Icon); err != nil {
		return err
	}
	s.Prefill = strings.TrimRight(s.Prefill, " \t\r\n")
	switch {
	case len(s.Prefill) > maxPrefill:
		return invalid("prefill: at most %d bytes, not %d", maxPrefill, len(s.Prefill))
	case s.Name == "":
		return invalid("name: a project needs one")
	case len(s.Source) > maxName:
		return invalid("source: at most %d bytes, not %d", maxName, len(s.Source))
	case len(s.Icon) > 32:
		return invalid("icon: one emoji, not %d bytes", len(s.Icon))
	case len(s.Instructions) > maxText:
		return invalid("instructions: at most %d bytes, not %d", maxText, len(s.Instructions))
	case s.Temperature != nil && (*s.Temperature < 0 || *s.Temperature > 2):
		return invalid("temperature: from 0 to 2, not %g", *s.Temperature)
	case s.MaxTokens < 0:
		return invalid("maxTokens: from 0, not %d", s.MaxTokens)
	case s.MaxCost < 0:
		return invalid("maxCost: from 0, not %s", s.MaxCost)
	}
	if s.Tools == nil {
		s.Tools = StandardTools()
	}
	if err := s.Tools.check(); err != nil {
		return err
	}
	if s.Format != nil {
		if err := s.Format.check(); err != nil {
			return err
		}
	}
	switch s.Mode {
	case "", "ask", "auto-edit", "full":
	default:
		return invalid("mode: ask, auto-edit or full, not %q", s.Mode)
	}
	return checkThinking(s.Thinking)
}

func checkThinking(level string) error {
	if _, err := llm.ParseLevel(level); level != "" && err != nil {
		return invalid("thinking: %v", err)
	}
	return nil
}

func (a *About) check() (err error) {
	if a.Title, err = named("title", a.Title); err != nil {
		return err
	}
	if len(a.Draft) > maxText {
		return invalid("draft: at most %d bytes, not %d", maxText, len(a.Draft))
	}
	if len(a.Instructions) > maxText {
		return invalid("instructions: at most %d bytes, not %d", maxText, len(a.Instructions))
	}
	if len(a.Tags) > 50 {
		return invalid("tags: at most 50, not %d", len(a.Tags))
	}
	for i, tag := range a.Tags {
		if a.Tags[i], err = named("tags", tag); err != nil {
			return err
		}
	}
	if a.Folder, err = named("folder", a.Folder); err != nil {
		return err
	}
	return checkThinking(a.Thinking)
}

// newID makes an id that cannot be guessed.
func newID() string { return strings.ToLower(rand.Text()) }

func millis(t time.Time) int64 { return t.UnixMilli() }

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func place(table, id string) string { return table + "/" + id }

func seal(ring *vault.Ring, table, id string, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return ring.Seal(place(table, id), data)
}

func open(ring *vault.Ring, table, id string, sealed []byte, v any) error {
	data, err := ring.Open(place(table, id), sealed)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", place(table, id), unopened(err))
	}
	return nil
}

// selectProjects reads projects as a person sees them who is ?1. What follows says which.
const selectProjects = `SELECT p.id, p.created, p.modified, p.revision, p.trashed, p.sealed, p.person, COALESCE(m.may, ''),
	CASE WHEN p.person = ?1 THEN (SELECT count(*) FROM {members} o WHERE o.project = p.id) ELSE 0 END
	FROM {projects} p LEFT JOIN {members} m ON m.project = p.id AND m.person = ?1 `

// mine are projects of ?1, and those that are shared with them.
const mine = `(p.person = ?1 OR m.may IS NOT NULL AND p.trashed = 0)`

// sealedProject is a project that isn't opened yet.
type sealedProject struct {
	Project
	sealed []byte
}

func scanProject(row interface{ Scan(...any) error }) (p sealedProject, err error) {
	var created, modified, trashed int64
	err = row.Scan(&p.ID, &created, &modified, &p.Revision, &trashed, &p.sealed, &p.owner, &p.Right, &p.Members)
	p.Created, p.Modified, p.Trashed = at(created), at(modified), at(trashed)
	return p, err
}

// openProject opens a project with the keys of its owner.
func openProject(ring *vault.Ring, p sealedProject) (Project, error) {
	if len(p.sealed) == 0 { // made while its person was away
		p.Settings = defaultSettings()
		return p.Project, nil
	}
	err := open(ring, "projects", p.ID, p.sealed, &p.Settings)
	err = readSettings(err, func() ([]byte, error) { return ring.Open(place("projects", p.ID), p.sealed) }, &p.Settings)
	return p.Project, err
}

// Projects lists the projects of a person and those shared with them, the last used first: their own in the trash, or the others.
func (s *Store) Projects(ctx context.Context, person string, trash bool) ([]Project, error) {
	if _, err := s.keys.Ring(ctx, person); err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, selectProjects+`WHERE (p.person = ?1 OR p.id IN (SELECT project FROM {members} WHERE person = ?1)) AND (p.trashed > 0) = (?2 > 0) AND `+mine+`
		ORDER BY p.modified DESC, p.id LIMIT ?3`, person, count(trash), maxList)
	if err != nil {
		return nil, fmt.Errorf("list the projects: %w", err)
	}
	found, err := scanProjects(rows)
	if err != nil {
		return nil, fmt.Errorf("list the projects: %w", err)
	}
	all := []Project{}
	names := map[string]string{}
	for _, one := range found {
		p, err := unsealed(ctx, s, person, one)
		if why := whyUnreadable(err); why != "" {
			p.Settings, p.Unreadable, err = Settings{}, why, nil
		}
		if locked, ok := errors.AsType[*LockedError](err); ok {
			p.Locked, names[one.owner], err = true, locked.Name, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the projects: %w", err)
		}
		if p.owner != person {
			if names[p.owner] == "" {
				names[p.owner] = NameOf(ctx, s, p.owner)
			}
			p.Owner = names[p.owner]
		}
		all = append(all, p)
	}
	return all, nil
}

func scanProjects(rows *sql.Rows) (all []sealedProject, err error) {
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		p, err := scanProject(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// unsealed is a project with its settings, for a person who may see it.
func unsealed(ctx context.Context, s *Store, person string, p sealedProject) (Project, error) {
	ring, err := ringFor(ctx, s, person, p.owner)
	if err != nil {
		return p.Project, err
	}
	return openProject(ring, p)
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Project gives a project of a person, also one in the trash, or one that is shared with them.
func (s *Store) Project(ctx context.Context, person, id string) (Project, error) {
	if _, err := s.keys.Ring(ctx, person); err != nil {
		return Project{}, err
	}
	p, err := s.project(ctx, s.db, person, id)
	return withOwner(ctx, s, person, p), err
}

// withOwner is a project with the name of its owner, if that is somebody else.
func withOwner(ctx context.Context, s *Store, person string, p Project) Project {
	if p.owner != "" && p.owner != person {
		p.Owner = NameOf(ctx, s, p.owner)
	}
	return p
}

func (s *Store) project(ctx context.Context, q store.Querier, person, id string) (Project, error) {
	p, err := scanProject(q.QueryRow(ctx, selectProjects+`WHERE p.id = ?2 AND `+mine, person, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Project{}, ErrUnknown
	}
	if err != nil {
		return Project{}, err
	}
	return unsealed(ctx, s, person, p)
}

// NewProject makes a project.
func (s *Store) NewProject(ctx context.Context, person string, settings Settings) (Project, error) {
	if err := settings.check(); err != nil {
		return Project{}, err
	}
	return s.newProject(ctx, person, newID(), settings)
}

func (s *Store) newProject(ctx context.Context, person, id string, settings Settings) (Project, error) {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return Project{}, err
	}
	now := s.now().Truncate(time.Millisecond)
	p := Project{ID: id, Created: now, Modified: now, Revision: 1, Settings: settings, owner: person}
	sealed, err := seal(ring, "projects", p.ID, settings)
	if err != nil {
		return Project{}, err
	}
	var n int64
	err = s.db.Update(ctx, func(q store.Querier) (err error) {
		n, err = q.Exec(ctx, `INSERT INTO {projects} (id, person, created, modified, revision, sealed) VALUES (?1, ?2, ?3, ?3, 1, ?4) ON CONFLICT (id) DO NOTHING`,
			p.ID, person, millis(now), sealed)
		if err == nil && n > 0 {
			err = s.files.Create(ctx, q, p.ID)
		}
		return err
	})
	if err == nil {
		Changed(s, person)
	}
	if err == nil && n == 0 { // the default one, of another process
		return s.project(ctx, s.db, person, id)
	}
	return p, err
}

// SetProject changes the settings of a project. A member who may write can't change what it may cost, or what models do without asking.
func (s *Store) SetProject(ctx context.Context, person, id string, revision int64, change func(*Settings) error) (p Project, err error) {
	if _, err := s.keys.Ring(ctx, person); err != nil {
		return p, err
	}
	err = s.db.Update(ctx, func(q store.Querier) error {
		if p, err = s.project(ctx, q, person, id); err != nil {
			return err
		}
		if p.Right == Reads {
			return onlyReads(NameOf(ctx, s, p.owner))
		}
		if revision != 0 && revision != p.Revision {
			return ErrChanged
		}
		cost, mode := p.MaxCost, p.Mode
		if err := change(&p.Settings); err != nil {
			return err
		}
		if p.owner != person && (p.MaxCost != cost || cmp.Or(p.Mode, standardMode) != cmp.Or(mode, standardMode)) {
			return onlyOwner(NameOf(ctx, s, p.owner))
		}
		if err := p.check(); err != nil {
			return err
		}
		ring, err := ringFor(ctx, s, person, p.owner)
		if err != nil {
			return err
		}
		sealed, err := seal(ring, "projects", id, p.Settings)
		if err != nil {
			return err
		}
		p.Revision, p.Modified = p.Revision+1, s.now().Truncate(time.Millisecond)
		_, err = q.Exec(ctx, `UPDATE {projects} SET sealed = ?2, revision = ?3, modified = ?4 WHERE id = ?1`, id, sealed, p.Revision, millis(p.Modified))
		return err
	})
	if err == nil {
		projectChanged(s, id, p.owner)
	}
	return withOwner(ctx, s, person, p), err
}

// TrashProject moves a project to the trash, or takes it out again. Its chats go with it. Those of its members move
// into projects of their own, and stay there; it is shared again when it comes back.
func (s *Store) TrashProject(ctx context.Context, person, id string, trash bool) error {
	if err := owned(ctx, s, s.db, person, id); err != nil {
		return err
	}
	return s.trash(ctx, `{projects}`, person, id, trash)
}

func (s *Store) trash(ctx context.Context, table, person, id string, trash bool) error {
	when := int64(0)
	if trash {
		when = millis(s.now())
	}
	err := s.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `UPDATE `+table+` SET trashed = ?3, revision = revision + 1 WHERE person = ?1 AND id = ?2 AND (trashed > 0) != (?4 > 0)`, person, id, when, count(trash))
		if err == nil && n == 0 {
			err = ErrUnknown
		}
		if err == nil && trash && table == `{projects}` {
			_, err = moveOut(ctx, s, q, id, person, "")
		}
		return err
	})
	switch {
	case err != nil:
	case table == `{projects}`:
		projectChanged(s, id, person)
	default:
		Changed(s, person)
	}
	return err
}

// defaultID is the id of the project for chats without one, or of the n-th that followed it.
func defaultID(person string, n int) string {
	id := "chats-" + person
	if n > 1 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return id
}

// defaultSettings are those of such a project.
func defaultSettings() Settings { return Settings{Name: "Chats", Icon: "💬", Tools: StandardTools()} }

// Default is the project for chats that are begun without one. It is made when it is first
// needed. One that is in the trash, or can't be opened, is followed by another.
func (s *Store) Default(ctx context.Context, person string) (p Project, err error) {
	for n := 1; n <= maxDefaults; n++ {
		id := defaultID(person, n)
		p, err = s.Project(ctx, person, id)
		if errors.Is(err, ErrUnknown) {
			return s.newProject(ctx, person, id, defaultSettings())
		}
		if err == nil && p.Trashed.IsZero() || err != nil && !errors.Is(err, ErrUnreadable) {
			return p, err
		}
	}
	return p, cmp.Or(err, ErrTrashed)
}

// standardMode is the mode of approval where none is chosen.
const standardMode = "auto-edit"

// ModeFor is the mode of approval of a person's chats in a project. Of somebody else's, models reach the network with what the person
// wrote only if the person says so.
func ModeFor(p *Project, person string) string {
	mode := cmp.Or(p.Mode, standardMode)
	if p.owner != person && mode == "full" {
		mode = standardMode
	}
	return mode
}

// maxDefaults is how many projects a person may have for chats without one.
const maxDefaults = 20

// Files are the files of a project of a person, or one that is shared with them, that is not in the trash. They are sealed with
// the keys of its owner, and count there. What a member may do is asked with each operation.
func (s *Store) Files(ctx context.Context, person, id string) (*vfs.Tree, error) {
	a, err := accessTo(ctx, s.db, person, id)
	if err != nil {
		return nil, err
	}
	if a.trashed {
		return nil, ErrTrashed
	}
	if _, err := s.keys.Ring(ctx, person); err != nil {
		return nil, err
	}
	ring, err := ringFor(ctx, s, person, a.owner)
	if err != nil {
		return nil, err
	}
	tree := s.files.Tree(id, ring)
	name := ""
	if a.owner != person {
		name, tree = NameOf(ctx, s, a.owner), watched(ctx, s, tree, person, id, a.owner)
	}
	if s.Fits != nil {
		tree = vfs.Within(tree, func(ctx context.Context, q store.Querier) error {
			err := s.Fits(ctx, q, a.owner)
			if err != nil && name != "" && !store.Failed(err) {
				err = &fullError{name, err}
			}
			return err
		})
	}
	return vfs.Telling(tree, func() {
		for _, one := range audience(s, id, a.owner) {
			filesChanged(s, one, id)
		}
	}), nil
}

// Forget takes the files of a person out of memory, as when their keys are locked.
func Forget(ctx context.Context, s *Store, person string) error {
	all, err := idsOf(ctx, s.db, `{projects}`, person)
	for _, id := range all {
		s.files.Forget(id)
	}
	return err
}

// Bytes is what the files of a person take in the database, with old versions and the trash.
func Bytes(ctx context.Context, q store.Querier, person string) (int64, error) {
	all, err := idsOf(ctx, q, `{projects}`, person)
	if err != nil {
		return 0, err
	}
	return vfs.Bytes(ctx, q, all)
}

// idsOf are the ids of what a person has in a table.
func idsOf(ctx context.Context, q store.Querier, table, person string) (ids []string, err error) {
	rows, err := q.Query(ctx, `SELECT id FROM `+table+` WHERE person = ?1 ORDER BY id`, person)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows)
}
