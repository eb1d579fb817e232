// Package attachment keeps the large pieces of chats: pictures, PDFs, files that people attach,
// and long outputs.
//
// # How they are kept
//
// A piece is split into chunks of 1 MB, each sealed with the ring of its person (package vault).
// The seal binds a chunk to its piece, its number, and whether it is the last; the sealed head
// has the size and how long each sealed chunk is. A piece that was cut off, or whose chunks were
// put into another order or taken from another piece, doesn't open. Reading and writing
// take the memory of some chunks, whatever the size; a range is read from the chunks it lies in.
//
// The same content of one person is kept once. It is found by an HMAC under a key of the
// person's, so that nobody can tell whether two people have the same file. What can be seen is
// how many pieces somebody has, how large they are and when they came.
//
// Sealed chunks are in the database, in a folder, or in a bucket ([Place]). A piece that was
// put into the database is found there also when another place is set. A copy of the database takes pieces of
// other places along ([Store.CopyTo]), and is then as good as they are; [Store.MoveOut] brings them to a place.
//
// # How long
//
// Rooms count references in their own transactions ([Store.Use], [Store.Release]). A piece that
// has none for a day is deleted ([Store.Tend]). A new one has none: whoever puts it has a day
// to use it.
package attachment

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
)

// Part is the tables of the pieces.
func Part() store.Part {
	return store.Part{Name: "attachment", Steps: []string{`
CREATE TABLE {pieces} (
	person TEXT NOT NULL,
	id TEXT NOT NULL,
	tag BLOB NOT NULL,
	blob TEXT NOT NULL,
	generation INTEGER NOT NULL,
	size INTEGER NOT NULL,
	head BLOB NOT NULL,
	refs INTEGER NOT NULL,
	touched INTEGER NOT NULL,
	PRIMARY KEY (person, id)
) STRICT;
CREATE INDEX pieces_by_tag ON {pieces} (person, tag);
CREATE UNIQUE INDEX pieces_by_blob ON {pieces} (blob);
CREATE INDEX pieces_unused ON {pieces} (touched) WHERE refs = 0;
CREATE TABLE {piece_chunks} (
	blob TEXT NOT NULL,
	n INTEGER NOT NULL,
	made INTEGER NOT NULL,
	data BLOB NOT NULL,
	PRIMARY KEY (blob, n)
) STRICT;
CREATE TABLE {piece_places} (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;`, copyTables}}
}

var (
	// ErrUnknown means that a person has no such piece.
	ErrUnknown = errors.New("there is no such attachment")
	// ErrLarge means that a piece is larger than it may be.
	ErrLarge = errors.New("the file is too large")
	// ErrImage means that a picture is damaged, so that nothing can be removed from it.
	ErrImage = errors.New("the picture is damaged: what it says about its origin can't be removed")
	// ErrDamaged means that the chunks of a piece are not those that were put.
	ErrDamaged = errors.New("the attachment is damaged")
)

const (
	chunkSize  = 1 << 20
	sniffSize  = 4096
	unusedFor  = 24 * time.Hour
	sweepEvery = time.Hour
	sweepBatch = 500
)

// Piece is what is known of one.
type Piece struct {
	ID   string
	Size int64
	Type string // the MIME type, by the content
}

// Store keeps pieces. Any goroutine may use it.
type Store struct {
	// Fits says, in the transaction that puts a piece, why its person may not have it. nil: they may.
	Fits func(ctx context.Context, q store.Querier, person string) error

	db     *store.DB
	vault  *vault.Vault
	places []Place // the first takes new ones
}

// New makes a Store that puts pieces into a place; nil is the database. A place other than the
// database belongs to one database: that of another is refused.
func New(ctx context.Context, db *store.DB, v *vault.Vault, at Place) (*Store, error) {
	s := &Store{db: db, vault: v, places: []Place{database{db}}}
	if at == nil {
		return s, nil
	}
	s.places = append([]Place{at}, s.places...)
	name := rand.Text()
	err := db.Update(ctx, func(q store.Querier) error {
		err := q.QueryRow(ctx, `SELECT name FROM {piece_places} WHERE id = 1`).Scan(&name)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = q.Exec(ctx, `INSERT INTO {piece_places} (id, name) VALUES (1, ?1)`, name)
		}
		return err
	})
	if err == nil {
		err = at.claim(ctx, name)
	}
	if err != nil {
		return nil, fmt.Errorf("keep attachments in %s: %w", at, err)
	}
	return s, nil
}

// head is what is sealed of a piece.
type head struct {
	Size   int64  `json:"size"`
	Type   string `json:"type"`
	Chunks []int  `json:"chunks"` // bytes of each, sealed
}

// row is a piece as the database has it.
type row struct {
	Piece
	person     string
	blob       string
	generation uint32
	sealed     []byte
	head       head
}

func headPlace(person, id, blob string) string {
	return "pieces/" + person + "/" + id + "/" + blob + "/head"
}

func chunkPlace(person, blob string, n int, last bool) string {
	place := fmt.Sprintf("pieces/%s/%s/%d", person, blob, n)
	if last {
		place += "/last"
	}
	return place
}

// PutOptions say how a piece is put.
type PutOptions struct {
	// Limit is how many bytes it may have.
	Limit int64
	// Strip removes what a JPEG, PNG or WebP says about its origin: where and when it was made,
	// with what, and who took it. The way it is turned stays.
	Strip bool
}

// Put keeps what r has.
func (s *Store) Put(ctx context.Context, person string, r io.Reader, o PutOptions) (Piece, error) {
	p, err := s.put(ctx, person, r, o)
	if err != nil {
		return p, fmt.Errorf("keep an attachment: %w", err)
	}
	return p, nil
}

func (s *Store) put(ctx context.Context, person string, r io.Reader, o PutOptions) (p Piece, err error) {
	ring, release, err := s.vault.Hold(ctx, person)
	if err != nil {
		return p, err
	}
	defer release()
	in := bufio.NewReaderSize(&limited{r, o.Limit}, 64<<10)
	start, err := in.Peek(sniffSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return p, err
	}
	kind := sniff(start)
	if o.Strip {
		stripped := stripping(in, kind)
		defer stripped.Close() //nolint:errcheck // it only ends the work
		in = bufio.NewReaderSize(stripped, 64<<10)
	}
	w, err := s.write(ctx, ring, person, in)
	if err != nil {
		return p, err
	}
	defer func() {
		if err != nil || w.aborted {
			err = errors.Join(err, w.out.Abort(context.WithoutCancel(ctx)))
		}
	}()
	w.head.Type = kind
	p = Piece{ID: hex.EncodeToString(w.tag[:20]), Size: w.head.Size, Type: kind}
	sealed, err := w.seal(person, p.ID)
	if err != nil {
		return p, err
	}
	same, err := s.same(ctx, s.db, person, w.tag)
	for closed := false; err == nil; {
		if same == "" && !closed {
			if err := w.out.Close(ctx); err != nil {
				return p, err
			}
			closed = true
		}
		err = s.db.Update(ctx, func(q store.Querier) (err error) {
			if same, err = s.same(ctx, q, person, w.tag); err != nil || same == "" && !closed {
				return err
			}
			if w.aborted = same != ""; w.aborted {
				_, err := q.Exec(ctx, `UPDATE {pieces} SET touched = ?3 WHERE person = ?1 AND id = ?2`, person, same, time.Now().Unix())
				return err
			}
			if err := s.vault.Check(ctx, q, person, ring); err != nil { // it may have taken long
				return err
			}
			_, err = q.Exec(ctx, `INSERT INTO {pieces} (person, id, tag, blob, generation, size, head, refs, touched) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8)`,
				person, p.ID, w.tag, w.blob, ring.Newest(), p.Size, sealed, time.Now().Unix())
			if err == nil && s.Fits != nil {
				err = s.Fits(ctx, q, person)
			}
			return err
		})
		if store.Taken(err) { // another request has just put the same
			same, err = s.same(ctx, s.db, person, w.tag)
			continue
		}
		if err == nil && (closed || same != "") {
			break
		}
	}
	if same != "" {
		p.ID = same
	}
	return p, err
}

// same is the piece with the same content, "" where there is none.
func (s *Store) same(ctx context.Context, q store.Querier, person string, tag []byte) (id string, err error) {
	err = q.QueryRow(ctx, `SELECT id FROM {pieces} WHERE person = ?1 AND tag = ?2 ORDER BY id LIMIT 1`, person, tag).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// limited refuses what is longer than it may be.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return 0, ErrLarge
	}
	return n, err
}

// written is a blob that was sealed. Its writer is to be closed or given up.
type written struct {
	out     Writer
	ring    *vault.Ring
	blob    string
	tag     []byte
	head    head
	aborted bool // another piece has the content already
}

func (w *written) seal(person, id string) ([]byte, error) {
	text, err := json.Marshal(w.head)
	if err != nil {
		return nil, err
	}
	return w.ring.Seal(headPlace(person, id, w.blob), text)
}

// write seals what is read, chunk by chunk.
func (s *Store) write(ctx context.Context, ring *vault.Ring, person string, in *bufio.Reader) (w *written, err error) {
	key, err := ring.Derive(ring.Newest(), "attachments")
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	w = &written{ring: ring, blob: rand.Text()}
	out, err := s.places[0].Create(ctx, w.blob)
	if err != nil {
		return nil, err
	}
	w.out = out
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort(context.WithoutCancel(ctx)))
		}
	}()
	chunk := make([]byte, chunkSize)
	for last := false; !last; {
		n, err := io.ReadFull(in, chunk)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			last = true
		case err != nil:
			return nil, err
		default:
			_, err := in.Peek(1)
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			last = err != nil
		}
		mac.Write(chunk[:n])
		w.head.Size += int64(n)
		sealed, err := ring.Seal(chunkPlace(person, w.blob, len(w.head.Chunks), last), chunk[:n])
		if err == nil {
			err = w.out.Write(ctx, sealed)
		}
		if err != nil {
			return nil, err
		}
		w.head.Chunks = append(w.head.Chunks, len(sealed))
	}
	w.tag = mac.Sum(nil)
	return w, nil
}

// find reads the head of a piece.
func (s *Store) find(ctx context.Context, ring *vault.Ring, person, id string) (row, error) {
	r := row{person: person, Piece: Piece{ID: id}}
	err := s.db.QueryRow(ctx, `SELECT blob, generation, head FROM {pieces} WHERE person = ?1 AND id = ?2`, person, id).Scan(&r.blob, &r.generation, &r.sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return r, ErrUnknown
	}
	if err == nil {
		err = r.open(ring)
	}
	return r, err
}

func (r *row) open(ring *vault.Ring) error {
	text, err := ring.Open(headPlace(r.person, r.ID, r.blob), r.sealed)
	if err == nil {
		err = json.Unmarshal(text, &r.head)
	}
	if err == nil && int64(len(r.head.Chunks)) != max(1, (r.head.Size+chunkSize-1)/chunkSize) {
		err = ErrDamaged
	}
	r.Size, r.Type = r.head.Size, r.head.Type
	return err
}

// Open opens a piece for a request, as long as ctx lasts.
func (s *Store) Open(ctx context.Context, person, id string) (*Reader, error) {
	ring, err := s.vault.Ring(ctx, person)
	if err != nil {
		return nil, fmt.Errorf("open an attachment: %w", err)
	}
	r, err := s.find(ctx, ring, person, id)
	if err != nil {
		return nil, fmt.Errorf("open an attachment: %w", err)
	}
	return &Reader{
		Piece: r.Piece, s: s, row: r, have: -1,
		ring: func() (*vault.Ring, error) { return s.vault.Ring(ctx, person) }, ctx: func() context.Context { return ctx },
	}, nil
}

// Reader reads a piece. One goroutine uses it.
type Reader struct {
	Piece
	s    *Store
	row  row
	ring func() (*vault.Ring, error)
	ctx  func() context.Context // of the request
	at   int64
	have int // the chunk that was read last
	last []byte
}

var _ io.ReadSeeker = (*Reader)(nil)

// Seek implements [io.Seeker].
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.Size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of an attachment")
	}
	r.at = offset
	return offset, nil
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	if r.at >= r.Size {
		return 0, io.EOF
	}
	n := int(r.at / chunkSize)
	if n != r.have {
		chunk, err := r.chunk(n)
		if err != nil {
			return 0, fmt.Errorf("read an attachment: %w", err)
		}
		r.have, r.last = n, chunk
	}
	copied := copy(p, r.last[r.at-int64(n)*chunkSize:])
	r.at += int64(copied)
	return copied, nil
}

// chunk reads a chunk; it may have been sealed with a new key since the head was read.
func (r *Reader) chunk(n int) ([]byte, error) {
	ctx := r.ctx()
	ring, err := r.ring()
	if err != nil {
		return nil, err
	}
	data, err := r.s.chunk(ctx, ring, r.row, n)
	if err == nil || ctx.Err() != nil {
		return data, err
	}
	now, again := r.s.find(ctx, ring, r.row.person, r.row.ID)
	if again != nil || now.blob == r.row.blob {
		return nil, err
	}
	r.row = now
	return r.s.chunk(ctx, ring, now, n)
}

func (s *Store) chunk(ctx context.Context, ring *vault.Ring, r row, n int) (data []byte, err error) {
	at := Span{N: n, Length: int64(r.head.Chunks[n])}
	for _, length := range r.head.Chunks[:n] {
		at.Offset += int64(length)
	}
	var sealed []byte
	for _, place := range s.places {
		sealed, err = place.Chunk(ctx, r.blob, at)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: part %d of it is missing", ErrDamaged, n+1)
	}
	if err != nil {
		return nil, err
	}
	last := n == len(r.head.Chunks)-1
	data, err = ring.Open(chunkPlace(r.person, r.blob, n, last), sealed)
	want := int64(chunkSize)
	if last {
		want = r.head.Size - int64(n)*chunkSize
	}
	if errors.Is(err, vault.ErrKey) || err == nil && int64(len(data)) != want {
		return nil, fmt.Errorf("%w: part %d of it was changed", ErrDamaged, n+1)
	}
	return data, err
}

// Known is what is known of a piece without reading it.
type Known struct {
	Piece
	Wrong error // why its head can't be opened. Of such a piece only the size is known
}

// statBatch is how many pieces are looked for at a time.
const statBatch = 100

// Stat says what is known of pieces of a person. One that isn't there is missing in what it gives.
func (s *Store) Stat(ctx context.Context, person string, ids ...string) (map[string]Known, error) {
	ring, err := s.vault.Ring(ctx, person)
	if err != nil {
		return nil, fmt.Errorf("look for attachments: %w", err)
	}
	all := make(map[string]Known, len(ids))
	for some := range slices.Chunk(ids, statBatch) {
		args, places := []any{person}, make([]string, len(some))
		for i, id := range some {
			args, places[i] = append(args, id), "?"+strconv.Itoa(i+2)
		}
		rows, err := s.rows(ctx, `person = ?1 AND id IN (`+strings.Join(places, ", ")+`)`, args...)
		if err != nil {
			return nil, fmt.Errorf("look for attachments: %w", err)
		}
		for _, r := range rows {
			size := r.Size
			if err := r.open(ring); err != nil {
				all[r.ID] = Known{Piece{ID: r.ID, Size: size}, err}
				continue
			}
			all[r.ID] = Known{Piece: r.Piece}
		}
	}
	return all, nil
}

// Use counts a reference to a piece, in the transaction of the one who refers to it.
func (s *Store) Use(ctx context.Context, q store.Querier, person, id string) error {
	return s.count(ctx, q, person, id, 1)
}

// Release takes a reference back.
func (s *Store) Release(ctx context.Context, q store.Querier, person, id string) error {
	return s.count(ctx, q, person, id, -1)
}

func (s *Store) count(ctx context.Context, q store.Querier, person, id string, by int) error {
	n, err := q.Exec(ctx, `UPDATE {pieces} SET refs = refs + ?3, touched = ?4 WHERE person = ?1 AND id = ?2 AND refs + ?3 >= 0`, person, id, by, time.Now().Unix())
	if err == nil && n == 0 {
		err = ErrUnknown
	}
	return err
}

// Size is how many bytes a person has in pieces.
func (s *Store) Size(ctx context.Context, q store.Querier, person string) (n int64, err error) {
	err = q.QueryRow(ctx, `SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM {pieces} WHERE person = ?1`, person).Scan(&n)
	return n, err
}

// Delete deletes all pieces of a person; their chunks go within a day.
func (s *Store) Delete(ctx context.Context, q store.Querier, person string) error {
	_, err := q.Exec(ctx, `DELETE FROM {pieces} WHERE person = ?1`, person)
	return err
}

// List gives the pieces of a person, without looking into them, after one of them.
func (s *Store) List(ctx context.Context, person, after string, limit int) (ids []string, err error) {
	rows, err := s.db.Query(ctx, `SELECT id FROM {pieces} WHERE person = ?1 AND id > ?2 ORDER BY id LIMIT ?3`, person, after, limit)
	if err != nil {
		return nil, err
	}
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

// Tend deletes what nobody uses, now and every hour, until ctx ends. failed is told what went
// wrong.
func (s *Store) Tend(ctx context.Context, failed func(error)) {
	every := time.NewTicker(sweepEvery)
	defer every.Stop()
	for {
		if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			failed(fmt.Errorf("delete attachments that nobody uses: %w", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// Sweep deletes the pieces that were not used for a day, and the chunks of none.
func (s *Store) Sweep(ctx context.Context) (deleted int, err error) {
	before := time.Now().Add(-unusedFor)
	for {
		unused, err := s.rows(ctx, `refs = 0 AND touched < ?1 ORDER BY touched LIMIT ?2`, before.Unix(), sweepBatch)
		if err != nil || len(unused) == 0 {
			return deleted, errors.Join(err, s.sweepChunks(ctx, before))
		}
		for _, r := range unused {
			n, err := s.db.Exec(ctx, `DELETE FROM {pieces} WHERE person = ?1 AND id = ?2 AND refs = 0 AND touched < ?3`, r.person, r.ID, before.Unix())
			if err == nil && n == 1 {
				deleted++
				err = s.remove(ctx, r.blob)
			}
			if err != nil {
				return deleted, err
			}
		}
	}
}

func (s *Store) remove(ctx context.Context, blob string) error {
	for _, place := range s.places {
		if err := place.Remove(ctx, blob); err != nil {
			return err
		}
	}
	return nil
}

// sweepChunks deletes what a process has left that ended between chunks and head.
func (s *Store) sweepChunks(ctx context.Context, before time.Time) error {
	for _, place := range s.places {
		err := place.Each(ctx, func(blob string, changed time.Time) error {
			if !changed.Before(before) {
				return nil
			}
			var n int
			if err := s.db.QueryRow(ctx, `SELECT count(*) FROM {pieces} WHERE blob = ?1`, blob).Scan(&n); err != nil || n > 0 {
				return err
			}
			return place.Remove(ctx, blob)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) rows(ctx context.Context, where string, args ...any) (all []row, err error) {
	rows, err := s.db.Query(ctx, `SELECT person, id, blob, generation, size, head FROM {pieces} WHERE `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.person, &r.ID, &r.blob, &r.generation, &r.Size, &r.sealed); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

var _ vault.Sealed = (*Store)(nil)

// Reseal implements [vault.Sealed]. A piece is copied to a new blob, so that whoever reads it is
// not disturbed.
func (s *Store) Reseal(ctx context.Context, person string, ring *vault.Ring, after string, limit int) (next string, n int, err error) {
	all, err := s.rows(ctx, `person = ?1 AND id > ?2 ORDER BY id LIMIT ?3`, person, after, limit)
	if err != nil {
		return "", 0, err
	}
	for _, r := range all {
		if r.generation != ring.Newest() {
			err := s.reseal(ctx, ring, r)
			next = r.ID
			if errors.Is(err, ErrDamaged) || err != nil && vault.Skip(ctx, fmt.Errorf("attachment %s: %w", r.ID, err)) {
				continue // it can't be opened with the old key either
			}
			if err != nil {
				return "", n, fmt.Errorf("attachment %s: %w", r.ID, err)
			}
			n++
		}
		next = r.ID
	}
	if len(all) < limit {
		next = ""
	}
	return next, n, nil
}

func (s *Store) reseal(ctx context.Context, ring *vault.Ring, r row) (err error) {
	if err := r.open(ring); err != nil {
		return err
	}
	source := &Reader{
		Piece: r.Piece, s: s, row: r, have: -1,
		ring: func() (*vault.Ring, error) { return ring, nil }, ctx: func() context.Context { return ctx },
	}
	w, err := s.write(ctx, ring, r.person, bufio.NewReader(source))
	if err != nil {
		return err
	}
	placed := false
	defer func() {
		if !placed {
			err = errors.Join(err, w.out.Abort(context.WithoutCancel(ctx)))
		}
	}()
	w.head.Type = r.Type
	if err := w.out.Close(ctx); err != nil {
		return err
	}
	sealed, err := w.seal(r.person, r.ID)
	if err != nil {
		return err
	}
	changed, err := s.db.Exec(ctx, `UPDATE {pieces} SET tag = ?3, blob = ?4, generation = ?5, head = ?6 WHERE person = ?1 AND id = ?2 AND blob = ?7`,
		r.person, r.ID, w.tag, w.blob, ring.Newest(), sealed, r.blob)
	if err != nil || changed == 0 { // deleted, or sealed by another server
		return err
	}
	placed = true
	return s.remove(ctx, r.blob)
}
