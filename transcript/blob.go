package transcript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// Beginnings of references: to a blob, before the hash, and to one of [Pieces], before its id.
const (
	blobPrefix  = "blob:sha256:"
	piecePrefix = "blob:attachment:"
)

// hashLen is the length of a SHA-256 hash in hexadecimal.
const hashLen = 2 * sha256.Size

// MaxBlob is the largest size of a blob in bytes. Put refuses larger ones, and Get refuses to
// read a larger file.
const MaxBlob = 1 << 30

// ErrNoBlob means that a reference is valid but its blob is missing.
var ErrNoBlob = errors.New("the blob is not there")

// ErrBadBlob means that the file of a blob doesn't match its hash.
var ErrBadBlob = errors.New("the blob is damaged")

const (
	putPrefix  = ".put-"    // a blob being written
	goneSuffix = ".gone"    // a blob being removed
	lockName   = ".collect" // locked during a collection
)

// Blobs stores large pieces of messages once, however many sessions use them. A blob is a file
// named by the SHA-256 of its content, without an extension, as in the other programs of the
// pi family; an entry refers to it as blob:sha256:<hash>. Any number of processes may use one
// folder.
type Blobs struct {
	dir    string
	pieces Pieces // nil: they are files
}

// NewBlobs stores blobs in dir; the first Put creates it.
func NewBlobs(dir string) *Blobs { return &Blobs{dir: dir} }

// Pieces keeps large pieces of a session that has no folder for them.
type Pieces interface {
	// Put keeps data and gives its id, of up to 64 letters and digits, which is the same for the same data.
	Put(data []byte) (id string, err error)
	// Get gives what Put has kept. The error is [ErrNoBlob] if it is not there.
	Get(id string) ([]byte, error)
}

// KeptBy stores blobs elsewhere than in files. An entry refers to one as blob:attachment:<id>.
func KeptBy(p Pieces) *Blobs { return &Blobs{pieces: p} }

// IsRef reports whether s is exactly a reference to a blob.
func IsRef(s string) bool {
	hash, ok := strings.CutPrefix(s, blobPrefix)
	_, piece := pieceOf(s)
	return ok && isHash(hash) || piece
}

// pieceOf gives the id in a reference to one of [Pieces].
func pieceOf(ref string) (id string, ok bool) {
	id, ok = strings.CutPrefix(ref, piecePrefix)
	if !ok || id == "" || len(id) > hashLen {
		return "", false
	}
	for i := range len(id) {
		if c := id[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "", false
		}
	}
	return id, true
}

func isHash(s string) bool {
	if len(s) != hashLen {
		return false
	}
	for i := range len(s) {
		if !isHex(s[i]) {
			return false
		}
	}
	return true
}

// isHex accepts only lower case, as in references.
func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// Path returns the file of the blob of a reference.
func (b *Blobs) Path(ref string) string {
	return filepath.Join(b.dir, strings.TrimPrefix(ref, blobPrefix))
}

// Put stores data and returns its reference. When it returns, the blob survives a power cut.
// An existing blob is compared with data, repaired if it differs, and counts as new again for
// [Blobs.Collect].
func (b *Blobs) Put(data []byte) (ref string, err error) {
	if len(data) > MaxBlob {
		return "", fmt.Errorf("keep a blob of %d bytes: at most %d are kept", len(data), MaxBlob)
	}
	if b.pieces != nil {
		id, err := b.pieces.Put(data)
		if err != nil {
			return "", fmt.Errorf("keep a blob: %w", err)
		}
		return piecePrefix + id, nil
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	path := filepath.Join(b.dir, hash)
	if holds(path, data) {
		// If a collection removed the file meanwhile, this fails; a later collection sees the
		// new time. Either way the blob stays.
		if now := time.Now(); os.Chtimes(path, now, now) == nil {
			return blobPrefix + hash, nil
		}
	}
	if err := b.write(path, data); err != nil {
		return "", fmt.Errorf("keep a blob: %w", err)
	}
	return blobPrefix + hash, nil
}

// holds reports whether the file at path contains exactly data. Comparing takes a tenth of the
// time of hashing, and finds files that rotted on disk.
func holds(path string, data []byte) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() != int64(len(data)) {
		return false
	}
	var buf [32 << 10]byte
	for {
		n, err := f.Read(buf[:])
		if n > len(data) || !bytes.Equal(buf[:n], data[:n]) {
			return false
		}
		data = data[n:]
		if err != nil {
			return errors.Is(err, io.EOF) && len(data) == 0
		}
	}
}

// write writes data to path under a temporary name first, so that there is never half a blob.
func (b *Blobs) write(path string, data []byte) (err error) {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(b.dir, putPrefix) // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // otherwise a collection removes it
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return disk{}.SyncDir(b.dir)
}

// Get reads the blob of a reference. It returns exactly what was stored, or an error:
// [ErrNoBlob] if there is no such blob, [ErrBadBlob] if it was changed.
func (b *Blobs) Get(ref string) ([]byte, error) {
	if !IsRef(ref) {
		return nil, fmt.Errorf("read a blob: %.100q is not a blob reference", ref)
	}
	if id, piece := pieceOf(ref); piece != (b.pieces != nil) {
		return nil, fmt.Errorf("%s: %w", ref, ErrNoBlob) // of a session that is kept elsewhere
	} else if piece {
		return b.pieces.Get(id)
	}
	path := b.Path(ref)
	data, err := readBlob(path)
	if errors.Is(err, fs.ErrNotExist) {
		// A collection that checks it has renamed it, and may rename it back between two
		// tries.
		if data, err = readBlob(path + goneSuffix); errors.Is(err, fs.ErrNotExist) {
			data, err = readBlob(path)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", ref, ErrNoBlob)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != filepath.Base(path) {
		return nil, fmt.Errorf("%s: %w", path, ErrBadBlob)
	}
	return data, nil
}

func readBlob(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxBlob {
		return nil, ErrBadBlob
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadBlob, err)
	}
	return data, nil
}

// CollectOptions configure [Blobs.Collect].
type CollectOptions struct {
	// MinAge keeps blobs that were stored more recently than this: their session may not have
	// written the reference yet. 0 is a day.
	MinAge time.Duration
	// DryRun only reports what would be removed.
	DryRun bool
	// Open returns the store of a root that is not a plain file, such as a session in a
	// database or an encrypted one. A nil store means a plain file. Collect closes the stores.
	Open func(root string) (Store, error)
}

// CollectReport is the result of a collection.
type CollectReport struct {
	Sessions     int   // roots that were read completely
	Blobs        int   // existing blobs
	Bytes        int64 // of all blobs
	Removed      int   // blobs that were removed, or would be
	RemovedBytes int64
	Young        int // unused blobs that are too new
	// Blocked has the errors of roots that could not be read. If there is one, nothing was
	// removed, because such a root may refer to any blob.
	Blocked []error
}

// ErrCollecting means that another process is collecting blobs in the same folder.
var ErrCollecting = errors.New("another process is removing unused blobs")

// errSealed says why an encrypted session blocks a collection.
var errSealed = errors.New("it is encrypted, and what it refers to cannot be seen")

// errNoSessions says why blobs without sessions are kept.
var errNoSessions = errors.New("there are large pieces, but no session that could be read")

// Collect removes the blobs that no session uses. The roots must name every session that uses
// the folder, including drafts, sessions in the trash, and those of sub-agents in artifact
// folders; an error among the roots counts as an unreadable session. A blob is removed only if
// all roots were read completely and none contains its hash, not even in a damaged line. If
// there is not a single session among the roots, nothing is removed either, because the folder
// of sessions may just be unavailable.
//
// Sessions may be written, and blobs stored, during a collection. Only one thing must not
// happen: that references are copied from a session that is deleted before it is read into one
// that the roots don't name.
func (b *Blobs) Collect(ctx context.Context, roots iter.Seq2[string, error], o CollectOptions) (CollectReport, error) {
	if o.MinAge <= 0 {
		o.MinAge = 24 * time.Hour
	}
	var report CollectReport
	lock, err := b.lockCollect()
	if errors.Is(err, fs.ErrNotExist) {
		return report, nil // no blob was ever stored
	} else if err != nil {
		return report, fmt.Errorf("collect blobs: %w", err)
	}
	defer lock.Close()
	c := &collection{dir: b.dir, o: o, report: &report, started: time.Now(), used: map[string]bool{}}
	if err := c.list(); err != nil {
		return report, fmt.Errorf("collect blobs: %w", err)
	}
	for root, err := range roots {
		if ctx.Err() != nil {
			return report, ctx.Err()
		}
		if err == nil {
			err = c.mark(ctx, root)
		}
		if err != nil {
			report.Blocked = append(report.Blocked, fmt.Errorf("session %s: %w", root, err))
			continue
		}
		report.Sessions++
	}
	if report.Sessions == 0 && len(report.Blocked) == 0 && len(c.used) > 0 {
		report.Blocked = append(report.Blocked, errNoSessions)
	}
	if len(report.Blocked) > 0 {
		return report, nil
	}
	if err := c.sweep(ctx); err != nil {
		return report, fmt.Errorf("collect blobs: %w", err)
	}
	return report, nil
}

// lockCollect allows one process at a time to collect; closing the file releases it.
func (b *Blobs) lockCollect() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(b.dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := filelock.Try(f)
	if err == nil && !ok {
		err = ErrCollecting
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

type collection struct {
	dir     string
	o       CollectOptions
	report  *CollectReport
	started time.Time
	used    map[string]bool // all blobs by hash, and whether a session uses them
}

// list finds the blobs. First it renames back or removes what a killed collection or Put has
// left.
func (c *collection) list() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		hash, gone := strings.CutSuffix(e.Name(), goneSuffix)
		switch {
		case strings.HasPrefix(e.Name(), putPrefix):
			info, err := e.Info()
			if err == nil && c.old(info) && !c.o.DryRun {
				_ = os.Remove(filepath.Join(c.dir, e.Name())) // the next collection tries again
			}
			continue
		case !isHash(hash) || !e.Type().IsRegular():
			continue
		case gone:
			if err := c.rename(hash+goneSuffix, hash); err != nil {
				return err
			}
		}
		c.used[hash] = false
	}
	return nil
}

func (c *collection) old(info fs.FileInfo) bool { return c.started.Sub(info.ModTime()) >= c.o.MinAge }

func (c *collection) rename(from, to string) error {
	return os.Rename(filepath.Join(c.dir, from), filepath.Join(c.dir, to))
}

// mark reads a session and marks the blobs whose hashes it contains.
func (c *collection) mark(ctx context.Context, root string) (err error) {
	var store Store
	if c.o.Open != nil {
		if store, err = c.o.Open(root); err != nil {
			return err
		}
	}
	if store != nil {
		err := store.Records(func(_ Ref, record []byte) error {
			if isSealed(record) {
				return errSealed
			}
			if TooLong(record) {
				return ErrTooLong // it may name any blob
			}
			c.markText(record)
			return ctx.Err()
		})
		return errors.Join(err, store.Close())
	}
	f, err := os.Open(root)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.markFile(ctx, f)
}

// markFile reads a file in overlapping pieces, so that a line of any length needs the same
// memory.
func (c *collection) markFile(ctx context.Context, r io.Reader) error {
	const overlap = hashLen - 1 // also longer than the mark of an encrypted line
	buf := make([]byte, 0, 256<<10)
	first := true
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if first && isSealed(buf) || bytes.Contains(buf, []byte("\n"+sealedMark)) {
			return errSealed
		}
		first = false
		c.markText(buf)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		buf = append(buf[:0], buf[len(buf)-overlap:]...)
	}
}

// sealedMark starts every encrypted record; see transcript/sealed.
const sealedMark = `{"type":"sealed"`

func isSealed(record []byte) bool { return bytes.HasPrefix(record, []byte(sealedMark)) }

// markText marks the hashes in text. Every hash covers a position that is a multiple of 64
// bytes, so most bytes are skipped.
func (c *collection) markText(text []byte) {
	from := 0 // hashes start here or later
	for at := hashLen - 1; at < len(text); {
		if !isHex(text[at]) {
			from, at = at+1, at+hashLen
			continue
		}
		start, end := at, at+1
		for start > from && isHex(text[start-1]) {
			start--
		}
		for end < len(text) && isHex(text[end]) {
			end++
		}
		for i := start; i+hashLen <= end; i++ {
			if used, known := c.used[string(text[i:i+hashLen])]; known && !used {
				c.used[string(text[i:i+hashLen])] = true
			}
		}
		from, at = end+1, end+hashLen
	}
}

// sweep removes unmarked blobs.
func (c *collection) sweep(ctx context.Context) error {
	for hash, used := range c.used {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		info, err := os.Lstat(filepath.Join(c.dir, hash))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		c.report.Blobs++
		c.report.Bytes += info.Size()
		if used {
			continue
		}
		removed := c.old(info)
		if removed && !c.o.DryRun {
			if removed, err = c.remove(hash); err != nil {
				return err
			}
		}
		if !removed {
			c.report.Young++
			continue
		}
		c.report.Removed++
		c.report.RemovedBytes += info.Size()
	}
	return nil
}

// remove renames a blob, checks whether a Put has renewed it until then, and only then removes
// it.
func (c *collection) remove(hash string) (bool, error) {
	if err := c.rename(hash, hash+goneSuffix); err != nil {
		return false, err
	}
	gone := filepath.Join(c.dir, hash+goneSuffix)
	info, err := os.Lstat(gone)
	if err != nil {
		return false, err
	}
	if !c.old(info) {
		return false, c.rename(hash+goneSuffix, hash)
	}
	return true, os.Remove(gone)
}
