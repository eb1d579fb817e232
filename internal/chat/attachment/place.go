package attachment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/platform/objectstore"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// Place is where the sealed chunks of pieces are. It passes the suite in this package's tests.
type Place interface {
	fmt.Stringer
	// Create begins a blob.
	Create(ctx context.Context, blob string) (Writer, error)
	// Chunk reads a chunk. One that isn't there is [fs.ErrNotExist].
	Chunk(ctx context.Context, blob string, at Span) ([]byte, error)
	// Remove removes a blob, whether it is there or not.
	Remove(ctx context.Context, blob string) error
	// Each calls yield with all blobs, also those that were not finished, and when they changed.
	Each(ctx context.Context, yield func(blob string, changed time.Time) error) error
	// claim keeps the name of the database, and refuses where that of another is.
	claim(ctx context.Context, name string) error
}

// Writer writes a blob, which is there after Close. Abort removes it, also after Close.
type Writer interface {
	Write(ctx context.Context, chunk []byte) error
	Close(ctx context.Context) error
	Abort(ctx context.Context) error
}

// Span is where a chunk is in its blob: its number, and its bytes.
type Span struct {
	N              int
	Offset, Length int64
}

// errOther means that a place belongs to another server.
var errOther = errors.New("attachments of another server are there: choose a place of its own")

// ownerName is the file or object with the name of the database. Who deletes what no piece has
// must not delete what another server keeps.
const ownerName = "burin-attachments"

// database is the place in the database.
type database struct{ db *store.DB }

// String implements [fmt.Stringer].
func (database) String() string { return "the database" }

func (d database) claim(context.Context, string) error { return nil }

// Create implements [Place].
func (d database) Create(_ context.Context, blob string) (Writer, error) {
	return &rows{d, blob, 0}, nil
}

type rows struct {
	database
	blob string
	n    int
}

func (r *rows) Write(ctx context.Context, chunk []byte) error {
	_, err := r.db.Exec(ctx, `INSERT INTO {piece_chunks} (blob, n, made, data) VALUES (?1, ?2, ?3, ?4)`, r.blob, r.n, time.Now().Unix(), chunk)
	r.n++
	return err
}

func (r *rows) Close(context.Context) error { return nil }

func (r *rows) Abort(ctx context.Context) error { return r.Remove(ctx, r.blob) }

// Chunk implements [Place].
func (d database) Chunk(ctx context.Context, blob string, at Span) (data []byte, err error) {
	err = d.db.QueryRow(ctx, `SELECT data FROM {piece_chunks} WHERE blob = ?1 AND n = ?2`, blob, at.N).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return d.copied(ctx, blob, at)
	}
	return data, err
}

// Remove implements [Place].
func (d database) Remove(ctx context.Context, blob string) error {
	return d.db.Update(ctx, func(q store.Querier) error {
		_, err := q.Exec(ctx, `DELETE FROM {piece_chunks} WHERE blob = ?1`, blob)
		if err == nil {
			_, err = q.Exec(ctx, `DELETE FROM {piece_copies} WHERE blob = ?1`, blob)
		}
		return err
	})
}

// Each implements [Place].
func (d database) Each(ctx context.Context, yield func(string, time.Time) error) error {
	for after := ""; ; {
		found, err := d.page(ctx, after)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, one := range found {
			if err := yield(one.blob, one.made); err != nil {
				return err
			}
			after = one.blob
		}
	}
}

type made struct {
	blob string
	made time.Time
}

func (d database) page(ctx context.Context, after string) (all []made, err error) {
	found, err := d.db.Query(ctx, `SELECT blob, max(made) FROM (SELECT blob, made FROM {piece_chunks} UNION ALL SELECT blob, 0 FROM {piece_copies}) both_tables
		WHERE blob > ?1 GROUP BY blob ORDER BY blob LIMIT ?2`, after, sweepBatch)
	if err != nil {
		return nil, err
	}
	defer found.Close() //nolint:errcheck // Err says it
	for found.Next() {
		var blob string
		var at int64
		if err := found.Scan(&blob, &at); err != nil {
			return nil, err
		}
		all = append(all, made{blob, time.Unix(at, 0)})
	}
	return all, found.Err()
}

// suffix tells blobs from other files: only they are ever deleted.
const suffix = ".piece"

// path is where a blob is below a folder or a prefix: the same in both, so that one can be
// copied to the other.
func path(blob string) string { return strings.ToLower(blob[:2]) + "/" + blob + suffix }

// isBlob gives the blob of a path.
func isBlob(name string) (blob string, ok bool) {
	_, base, _ := strings.Cut(name, "/")
	blob, ok = strings.CutSuffix(base, suffix)
	return blob, ok && len(blob) > 2 && name == path(blob)
}

// folder is the place in a folder.
type folder struct{ dir string }

// Folder makes a place in a folder, which is made if it isn't there.
func Folder(dir string) Place { return folder{dir} }

// String implements [fmt.Stringer].
func (f folder) String() string { return f.dir }

func (f folder) file(blob string) string { return filepath.Join(f.dir, filepath.FromSlash(path(blob))) }

func (f folder) claim(_ context.Context, name string) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(f.dir, ownerName)
	there, err := smallfile.Read(file, smallfile.Note)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return smallfile.Replace(file, []byte(name))
	case err == nil && string(there) != name:
		return errOther
	}
	return err
}

// partial is the end of the name of a file that is not finished.
const partial = ".part"

type fileWriter struct {
	f     *os.File
	final string
}

// Create implements [Place].
func (f folder) Create(_ context.Context, blob string) (Writer, error) {
	final := f.file(blob)
	if err := os.MkdirAll(filepath.Dir(final), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(final+partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return &fileWriter{file, final}, err
}

func (w *fileWriter) Write(_ context.Context, chunk []byte) error {
	_, err := w.f.Write(chunk)
	return err
}

func (w *fileWriter) Close(context.Context) error {
	if err := errors.Join(w.f.Sync(), w.f.Close()); err != nil {
		return err
	}
	if err := os.Rename(w.f.Name(), w.final); err != nil {
		return err
	}
	// The row that names the file must not reach the disk before the file's own name.
	if dir, err := os.Open(filepath.Dir(w.final)); err == nil {
		_ = dir.Sync() // not every system can
		_ = dir.Close()
	}
	return nil
}

func (w *fileWriter) Abort(context.Context) error {
	_ = w.f.Close() // it may be closed already
	for _, name := range []string{w.f.Name(), w.final} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Chunk implements [Place].
func (f folder) Chunk(_ context.Context, blob string, at Span) ([]byte, error) {
	file, err := os.Open(f.file(blob))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data := make([]byte, at.Length)
	if _, err = file.ReadAt(data, at.Offset); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: the file is too short", ErrDamaged)
	}
	return data, err
}

// Remove implements [Place].
func (f folder) Remove(_ context.Context, blob string) error {
	for _, name := range []string{f.file(blob), f.file(blob) + partial} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Each implements [Place].
func (f folder) Each(ctx context.Context, yield func(string, time.Time) error) error {
	return filepath.WalkDir(f.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(f.dir, name)
		if err != nil {
			return err
		}
		blob, ok := isBlob(strings.TrimSuffix(filepath.ToSlash(below), partial))
		if !ok {
			return ctx.Err()
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(ctx.Err(), yield(blob, info.ModTime()))
	})
}

// bucket is the place in a bucket.
type bucket struct {
	b      *objectstore.Bucket
	prefix string
}

// BucketOptions say which bucket it is.
type BucketOptions = objectstore.Options

// Bucket makes a place in a bucket, below a prefix. No request is made yet.
func Bucket(o BucketOptions, prefix string) (Place, error) {
	b, err := objectstore.New(o)
	if err != nil {
		return nil, err
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return bucket{b, prefix}, nil
}

// String implements [fmt.Stringer].
func (b bucket) String() string { return "the bucket" }

func (b bucket) key(blob string) string { return b.prefix + path(blob) }

func (b bucket) claim(ctx context.Context, name string) error {
	there, err := b.b.Get(ctx, b.prefix+ownerName, 0, int64(len(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b.b.Put(ctx, b.prefix+ownerName, []byte(name))
	case err == nil && string(there) != name:
		return errOther
	}
	return err
}

type upload struct {
	*objectstore.Upload
	b    bucket
	blob string
	done bool
}

// Create implements [Place].
func (b bucket) Create(_ context.Context, blob string) (Writer, error) {
	return &upload{b.b.Upload(b.key(blob)), b, blob, false}, nil
}

func (u *upload) Close(ctx context.Context) error {
	err := u.Upload.Close(ctx)
	u.done = err == nil
	return err
}

func (u *upload) Abort(ctx context.Context) error {
	if u.done {
		return u.b.Remove(ctx, u.blob)
	}
	return u.Upload.Abort(ctx)
}

// Chunk implements [Place].
func (b bucket) Chunk(ctx context.Context, blob string, at Span) ([]byte, error) {
	return b.b.Get(ctx, b.key(blob), at.Offset, at.Length)
}

// Remove implements [Place].
func (b bucket) Remove(ctx context.Context, blob string) error { return b.b.Delete(ctx, b.key(blob)) }

// Each implements [Place].
func (b bucket) Each(ctx context.Context, yield func(string, time.Time) error) error {
	return b.b.List(ctx, b.prefix, func(o objectstore.Object) error {
		if blob, ok := isBlob(strings.TrimPrefix(o.Key, b.prefix)); ok {
			return yield(blob, o.Modified)
		}
		return nil
	})
}
