package project

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript"
)

// attachmentTables say which pieces a chat refers to: files that its person has attached, which
// have a name, and large pieces of its transcript. used is 1 once a message has it.
const attachmentTables = `CREATE TABLE {chat_pieces} (
		chat   TEXT NOT NULL,
		piece  TEXT NOT NULL,
		person TEXT NOT NULL,
		added  INTEGER NOT NULL,
		used   INTEGER NOT NULL,
		sealed BLOB NOT NULL,
		PRIMARY KEY (chat, piece)
	) STRICT;
	CREATE INDEX chat_pieces_by_person ON {chat_pieces} (person, piece, chat);
	CREATE INDEX chat_pieces_unused ON {chat_pieces} (added) WHERE used = 0;`

const (
	// MaxAttachment is how many bytes an attached file may have.
	MaxAttachment = 32 << 20
	unusedFor     = 24 * time.Hour // that a file is kept which no message has
	storeTime     = 2 * time.Minute
	maxKnown      = 256 // pieces whose ids are known by their content
)

// ErrUsed means that a file can't be removed: a message has it.
var ErrUsed = errors.New("a message has it: it goes with the chat")

// Attachment is a file that a person has attached to a chat.
type Attachment struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Type  string    `json:"type"` // its MIME type, by the content
	Size  int64     `json:"size"`
	Added time.Time `json:"added"`
	Used  bool      `json:"used"` // a message has it
	// Unreadable says why its name or its data can't be opened: key, damaged or version. What can't is missing.
	Unreadable string `json:"unreadable,omitempty"`
}

// Attachments keeps the files that people attach to chats. A chat in the trash has none for anybody.
type Attachments struct{ store *Store }

// NewAttachments makes the attachments of the chats of a store.
func NewAttachments(s *Store) *Attachments { return &Attachments{s} }

// attached is the name of a file as it is kept.
func attached(name string) (string, error) {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name, err := named("name", prose.Inline(strings.ToValidUTF8(name, "")))
	if err == nil && (name == "" || name == "." || name == "..") {
		err = invalid("name: the file needs one")
	}
	return name, err
}

// readable reports whether something of a type can be in a message.
func readable(kind string) bool {
	switch kind {
	case "application/pdf", "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff", "image/svg+xml",
		"audio/wav", "audio/mpeg", "audio/mp4", "audio/ogg", "audio/webm", "audio/flac", "audio/aac", "audio/aiff":
		return true
	}
	return strings.HasPrefix(kind, "text/")
}

func namePlace(piece string) string { return "chat_pieces/" + piece + "/name" }

// chat is nil if a person has that chat, not in the trash.
func (a *Attachments) chat(ctx context.Context, person, chat string) error {
	owner, err := a.store.PersonOf(ctx, chat)
	if err == nil && owner != person {
		err = ErrUnknown
	}
	return err
}

// Put attaches a file to a chat. What a picture says about its origin is removed. The same content
// again is the same attachment, with the new name.
func (a *Attachments) Put(ctx context.Context, person, chat, name string, r io.Reader) (Attachment, error) {
	name, err := attached(name)
	if err != nil {
		return Attachment{}, err
	}
	if err := a.chat(ctx, person, chat); err != nil {
		return Attachment{}, err
	}
	p, err := a.store.pieces.Put(ctx, person, r, attachment.PutOptions{Limit: MaxAttachment, Strip: true})
	if err != nil {
		return Attachment{}, err
	}
	if !readable(p.Type) {
		kind, err := a.kind(ctx, person, p.ID, name)
		if err != nil {
			return Attachment{}, err
		}
		if !document.Readable(kind) {
			return Attachment{}, invalid("%s: models read text, PDFs, Word, Excel, PowerPoint, OpenDocument and EPUB documents, PNG, JPEG, GIF, WebP, BMP and TIFF pictures, and recordings", p.Type)
		}
	}
	ring, err := a.store.keys.Ring(ctx, person)
	if err != nil {
		return Attachment{}, err
	}
	sealed, err := ring.Seal(namePlace(p.ID), []byte(name))
	if err != nil {
		return Attachment{}, err
	}
	if err := refer(ctx, a.store, person, chat, p.ID, sealed); err != nil {
		return Attachment{}, err
	}
	return a.Stat(ctx, person, chat, p.ID)
}

// kind tells what document a piece is by how it begins and by its name, as it is told when a message has it.
func (a *Attachments) kind(ctx context.Context, person, piece, name string) (document.Kind, error) {
	r, err := a.store.pieces.Open(ctx, person, piece)
	if err != nil {
		return "", err
	}
	head := make([]byte, document.HeadSize)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", err
	}
	return document.Detect(name, head[:n]), nil
}

// refer has a chat refer to a piece: as an attachment with a name, or "", as a part of its
// transcript.
func refer(ctx context.Context, s *Store, person, chat, piece string, name []byte) error {
	used, now := count(len(name) == 0), millis(s.now())
	return s.db.Update(ctx, func(q store.Querier) error {
		var there int
		if err := q.QueryRow(ctx, `SELECT count(*) FROM {chats} WHERE id = ?1 AND person = ?2`, chat, person).Scan(&there); err != nil || there == 0 {
			return errors.Join(ErrUnknown, err)
		}
		n, err := q.Exec(ctx, `INSERT INTO {chat_pieces} (chat, piece, person, added, used, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (chat, piece) DO NOTHING`,
			chat, piece, person, now, used, append([]byte{}, name...))
		if err != nil {
			return err
		}
		if n > 0 {
			return s.pieces.Use(ctx, q, person, piece)
		}
		if len(name) == 0 {
			_, err = q.Exec(ctx, `UPDATE {chat_pieces} SET used = 1 WHERE chat = ?1 AND piece = ?2`, chat, piece)
		} else {
			_, err = q.Exec(ctx, `UPDATE {chat_pieces} SET sealed = ?3, added = ?4 WHERE chat = ?1 AND piece = ?2`, chat, piece, name, now)
		}
		return err
	})
}

// List lists the files that were attached to a chat, the first one first.
func (a *Attachments) List(ctx context.Context, person, chat string) ([]Attachment, error) {
	return a.list(ctx, person, chat, "")
}

// Stat gives one of them.
func (a *Attachments) Stat(ctx context.Context, person, chat, id string) (Attachment, error) {
	all, err := a.list(ctx, person, chat, id)
	if err == nil && len(all) == 0 {
		err = attachment.ErrUnknown
	}
	if err != nil {
		return Attachment{}, err
	}
	return all[0], nil
}

func (a *Attachments) list(ctx context.Context, person, chat, id string) ([]Attachment, error) {
	if err := a.chat(ctx, person, chat); err != nil {
		return nil, err
	}
	ring, err := a.store.keys.Ring(ctx, person)
	if err != nil {
		return nil, err
	}
	rows, err := a.store.db.Query(ctx, `SELECT piece, added, used, sealed FROM {chat_pieces} WHERE chat = ?1 AND (?2 = '' OR piece = ?2) AND length(sealed) > 0 ORDER BY added, piece LIMIT ?3`, chat, id, maxList)
	if err != nil {
		return nil, err
	}
	all, err := scanAttachments(rows, ring)
	if err != nil {
		return nil, err
	}
	return all, a.look(ctx, person, all)
}

// look adds what is known of the data of attachments.
func (a *Attachments) look(ctx context.Context, person string, all []Attachment) error {
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	known, err := a.store.pieces.Stat(ctx, person, ids...)
	if err != nil {
		return err
	}
	for i := range all {
		at := &all[i]
		is, there := known[at.ID]
		at.Type, at.Size = is.Type, is.Size
		if at.Unreadable == "" && (!there || is.Wrong != nil) {
			at.Unreadable = whyUnreadable(unopened(cmp.Or(is.Wrong, vault.ErrKey))) // what isn't there is damaged
		}
	}
	return nil
}

func scanAttachments(rows *sql.Rows, ring *vault.Ring) ([]Attachment, error) {
	defer rows.Close()
	all := []Attachment{}
	for rows.Next() {
		var at Attachment
		var added int64
		var used int
		var sealed []byte
		if err := rows.Scan(&at.ID, &added, &used, &sealed); err != nil {
			return nil, err
		}
		name, err := ring.Open(namePlace(at.ID), sealed)
		if err = openedName(err); err != nil && whyUnreadable(err) == "" {
			return nil, fmt.Errorf("attachment %s: %w", at.ID, err)
		}
		at.Name, at.Added, at.Used, at.Unreadable = string(name), time.UnixMilli(added).UTC(), used > 0, whyUnreadable(err)
		all = append(all, at)
	}
	return all, rows.Err()
}

func openedName(err error) error {
	if err == nil {
		return nil
	}
	return unopened(err)
}

// Open opens a file for a request, as long as ctx lasts. One whose name can't be opened is called attachment.
func (a *Attachments) Open(ctx context.Context, person, chat, id string) (*attachment.Reader, Attachment, error) {
	at, err := a.Stat(ctx, person, chat, id)
	if err != nil {
		return nil, at, err
	}
	at.Name = cmp.Or(at.Name, "attachment")
	r, err := a.store.pieces.Open(ctx, person, id)
	return r, at, err
}

// Take reads a file for a message, which has it from then on.
func (a *Attachments) Take(ctx context.Context, person, chat, id string) (data []byte, name string, err error) {
	r, at, err := a.Open(ctx, person, chat, id)
	if err != nil {
		return nil, "", err
	}
	if data, err = io.ReadAll(r); err != nil {
		return nil, "", err
	}
	return data, at.Name, refer(ctx, a.store, person, chat, id, nil)
}

// Remove removes a file that no message has.
func (a *Attachments) Remove(ctx context.Context, person, chat, id string) error {
	if _, err := a.Stat(ctx, person, chat, id); err != nil {
		return err
	}
	return a.store.db.Update(ctx, func(q store.Querier) error {
		n, err := q.Exec(ctx, `DELETE FROM {chat_pieces} WHERE chat = ?1 AND piece = ?2 AND used = 0`, chat, id)
		if err == nil && n == 0 {
			return ErrUsed
		}
		if err == nil {
			err = a.store.pieces.Release(ctx, q, person, id)
		}
		return err
	})
}

// Size is how many bytes a person has in attachments and in large pieces of transcripts.
func (a *Attachments) Size(ctx context.Context, person string) (int64, error) {
	return a.store.pieces.Size(ctx, a.store.db, person)
}

// Tend removes files that no message has had for a day, until ctx ends. failed is told what went
// wrong.
func (a *Attachments) Tend(ctx context.Context, failed func(error)) {
	for {
		if err := a.Sweep(ctx, time.Now().Add(-unusedFor)); err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("remove attachments that no message has: %w", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Hour):
		}
	}
}

// Sweep removes files that were attached before a time and that no message has.
func (a *Attachments) Sweep(ctx context.Context, before time.Time) error {
	for {
		var chat, piece, person string
		err := a.store.db.QueryRow(ctx, `SELECT chat, piece, person FROM {chat_pieces} WHERE used = 0 AND added < ?1 LIMIT 1`, millis(before)).Scan(&chat, &piece, &person)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		err = a.store.db.Update(ctx, func(q store.Querier) error {
			n, err := q.Exec(ctx, `DELETE FROM {chat_pieces} WHERE chat = ?1 AND piece = ?2 AND used = 0 AND added < ?3`, chat, piece, millis(before))
			if err != nil || n == 0 {
				return err
			}
			return a.store.pieces.Release(ctx, q, person, piece)
		})
		if err != nil {
			return err
		}
	}
}

// release takes the references of a chat back, in the transaction that removes it.
func release(ctx context.Context, q store.Querier, pieces *attachment.Store, person, chat string) error {
	ids, err := piecesOf(ctx, q, chat)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := pieces.Release(ctx, q, person, id); err != nil && !errors.Is(err, attachment.ErrUnknown) { // else all of the person's were deleted
			return err
		}
	}
	_, err = q.Exec(ctx, `DELETE FROM {chat_pieces} WHERE chat = ?1`, chat)
	return err
}

func piecesOf(ctx context.Context, q store.Querier, chat string) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT piece FROM {chat_pieces} WHERE chat = ?1`, chat)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows)
}

// share has a chat refer to what another one of the person refers to.
func share(ctx context.Context, q store.Querier, pieces *attachment.Store, person, from, to string) error {
	ids, err := piecesOf(ctx, q, from)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := pieces.Use(ctx, q, person, id); err != nil {
			return err
		}
	}
	_, err = q.Exec(ctx, `INSERT INTO {chat_pieces} (chat, piece, person, added, used, sealed) SELECT ?2, piece, person, added, used, sealed FROM {chat_pieces} WHERE chat = ?1`, from, to)
	return err
}

var _ vault.Sealed = (*Attachments)(nil)

// Reseal implements [vault.Sealed], for the names.
func (a *Attachments) Reseal(ctx context.Context, person string, ring *vault.Ring, after string, limit int) (next string, n int, err error) {
	piece, chat, _ := strings.Cut(after, "/")
	rows, err := a.store.db.Query(ctx, `SELECT piece || '/' || chat, 0, sealed FROM {chat_pieces} WHERE person = ?1 AND length(sealed) > 0 AND (piece > ?2 OR piece = ?2 AND chat > ?3)
		ORDER BY piece, chat LIMIT ?4`, person, piece, chat, limit)
	if err != nil {
		return "", 0, err
	}
	all, err := scanRows(rows)
	if err != nil {
		return "", 0, err
	}
	for _, r := range all {
		piece, chat, _ := strings.Cut(r.id, "/")
		if g, err := vault.Generation(r.sealed); err != nil || g == ring.Newest() {
			continue // what is damaged can't be opened with the old key either
		}
		name, err := ring.Open(namePlace(piece), r.sealed)
		if err != nil && vault.Skip(ctx, fmt.Errorf("the name of attachment %s: %w", piece, err)) {
			continue
		}
		if err != nil {
			return "", n, fmt.Errorf("the name of attachment %s: %w", piece, err)
		}
		fresh, err := ring.Seal(namePlace(piece), name)
		if err == nil {
			_, err = a.store.db.Exec(ctx, `UPDATE {chat_pieces} SET sealed = ?4 WHERE chat = ?1 AND piece = ?2 AND sealed = ?3`, chat, piece, r.sealed, fresh)
		}
		if err != nil {
			return "", n, err
		}
		n++ // also where somebody else was faster: it is looked at again
	}
	if len(all) == limit {
		next = all[limit-1].id
	}
	return next, n, nil
}

// kept keeps the large pieces of a chat's transcript as attachments.
type kept struct {
	store        *Store
	person, chat string

	mu    sync.Mutex
	known map[[sha256.Size]byte]string // ids of contents that the chat refers to
}

var _ transcript.Pieces = (*kept)(nil)

// Put implements [transcript.Pieces].
func (k *kept) Put(data []byte) (id string, err error) {
	sum := sha256.Sum256(data)
	k.mu.Lock()
	defer k.mu.Unlock()
	if id := k.known[sum]; id != "" {
		return id, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	p, err := k.store.pieces.Put(ctx, k.person, bytes.NewReader(data), attachment.PutOptions{Limit: transcript.MaxBlob})
	if err == nil {
		err = refer(ctx, k.store, k.person, k.chat, p.ID, nil)
	}
	if err != nil {
		return "", err
	}
	if len(k.known) >= maxKnown || k.known == nil {
		k.known = map[[sha256.Size]byte]string{}
	}
	k.known[sum] = p.ID
	return p.ID, nil
}

// Get implements [transcript.Pieces].
func (k *kept) Get(id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	r, err := k.store.pieces.Open(ctx, k.person, id)
	if errors.Is(err, attachment.ErrUnknown) {
		return nil, transcript.ErrNoBlob
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
