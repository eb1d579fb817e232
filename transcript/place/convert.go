package place

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"os"
	"strings"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sealed"
)

var (
	// ErrSealed means that there is nothing to encrypt any more.
	ErrSealed = errors.New("the session is encrypted already")
	// errCopy means that what was written is not what is read.
	errCopy = errors.New("the copy could not be read back as it was written: nothing was changed")
)

// Seal encrypts the session file at path and returns where its unencrypted original is
// in the trash, with its artifacts and other companion files. Contents in blobs move
// into its records. It fails with [transcript.ErrLocked] while
// another process writes the session.
func Seal(path string, keys Keys, blobs *transcript.Blobs, trash string) (trashed string, err error) {
	raw, err := open(path)
	if err != nil {
		return "", err
	}
	encrypted, err := transcript.Encrypted(raw)
	if err == nil && encrypted {
		err = ErrSealed
	}
	var key sealed.Key
	if err == nil {
		key, err = keys(Wanted{})
	}
	if err != nil {
		return "", errors.Join(err, raw.Close())
	}
	seal := func(s transcript.Store) (transcript.Store, error) { return sealed.New(s, key) }
	return convert(path, raw, raw, seal, trash, func(r []byte) ([]byte, error) { return transcript.InlineRecord(blobs, r) })
}

// unreadable is what an opened store gives for a record that it cannot decrypt.
const unreadable = `{"type":"sealed"`

// Unseal decrypts the session file at path and gives where its original is in the
// trash. What is damaged there cannot be decrypted and is left out.
func Unseal(path string, keys Keys, trash string) (trashed string, err error) {
	raw, err := open(path)
	if err != nil {
		return "", err
	}
	encrypted, err := transcript.Encrypted(raw)
	if err == nil && !encrypted {
		err = sealed.ErrNotSealed
	}
	var in transcript.Store
	if err == nil {
		in, err = keys.unseal(path)(raw)
	}
	if err != nil {
		return "", errors.Join(err, raw.Close())
	}
	plain := func(s transcript.Store) (transcript.Store, error) { return s, nil }
	return convert(path, raw, in, plain, trash, func(r []byte) ([]byte, error) {
		if string(r) == unreadable {
			return nil, nil // it stays in the original
		}
		return r, nil
	})
}

func open(path string) (*transcript.FileStore, error) {
	if strings.HasSuffix(path, ".draft") {
		return nil, errors.New("it is a draft without an answer: continue it first")
	}
	return transcript.OpenFile(path)
}

// convert writes the records of in, the decrypted raw, into a file next to it, reads them
// back and exchanges the two files. It closes raw.
func convert(path string, raw *transcript.FileStore, in transcript.Store, wrap func(transcript.Store) (transcript.Store, error), trash string, change func([]byte) ([]byte, error)) (trashed string, err error) {
	temp := path + ".converted"
	done := false
	defer func() {
		if !done {
			err = errors.Join(err, raw.Close())
		}
		_ = os.Remove(temp) // it is gone, or of no use
	}()
	if err := errors.Join(removeIf(temp), removeIf(temp+".draft")); err != nil {
		return "", fmt.Errorf("convert session %s: %w", path, err)
	}
	want, err := write(temp, in, wrap, change)
	if err != nil {
		return "", fmt.Errorf("convert session %s: %w", path, err)
	}
	got, err := digest(temp, wrap)
	if err == nil && got != want {
		err = errCopy
	}
	if err != nil {
		return "", fmt.Errorf("convert session %s: %w", path, err)
	}
	done = true // raw is closed by it
	return raw.Exchange(temp, trash)
}

func removeIf(path string) error {
	err := os.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// sum is a digest of records in their order.
type sum struct {
	records int
	hash    [sha256.Size]byte
}

// tally adds records up.
type tally struct {
	n int
	h hash.Hash
}

func (t *tally) add(record []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(record)))
	t.h.Write(size[:])
	t.h.Write(record)
	t.n++
}

func (t *tally) sum() sum { return sum{t.n, [sha256.Size]byte(t.h.Sum(nil))} }

// write makes the file of the copy and gives what is to be found in it.
func write(temp string, in transcript.Store, wrap func(transcript.Store) (transcript.Store, error), change func([]byte) ([]byte, error)) (_ sum, err error) {
	file := transcript.CreateFile(temp)
	out, err := wrap(file)
	if err != nil {
		return sum{}, err
	}
	defer func() { err = errors.Join(err, out.Close()) }() // unpublished, it is removed
	t := tally{h: sha256.New()}
	err = in.Records(func(_ transcript.Ref, record []byte) error {
		if transcript.TooLong(record) {
			return transcript.ErrTooLong
		}
		record, err := change(record)
		if err != nil || record == nil {
			return err
		}
		t.add(record)
		_, err = out.Append(record)
		return err
	})
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = file.Publish()
	}
	return t.sum(), err
}

// digest reads the copy back.
func digest(temp string, wrap func(transcript.Store) (transcript.Store, error)) (_ sum, err error) {
	file, err := transcript.OpenFileReadOnly(temp)
	if err != nil {
		return sum{}, err
	}
	in, err := wrap(file)
	if err != nil {
		return sum{}, errors.Join(err, file.Close())
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	t := tally{h: sha256.New()}
	err = in.Records(func(_ transcript.Ref, record []byte) error {
		t.add(record)
		return nil
	})
	return t.sum(), err
}
