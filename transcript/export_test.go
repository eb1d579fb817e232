package transcript

import (
	"time"

	"github.com/burin-dev/burin/llm"
)

// OpenFileOn opens a session file by way of other calls than those of the disk.
func OpenFileOn(fs FileSystem, path string) (*FileStore, error) { return openFile(fs, path, false) }

// CreateFileOn is CreateFile by way of other calls than those of the disk.
func CreateFileOn(fs FileSystem, path string) *FileStore {
	s := CreateFile(path)
	s.fs = fs
	return s
}

// Closing makes a store do as on Windows, where a file that is open keeps its name.
func Closing(s *FileStore) *FileStore {
	s.closes = true
	return s
}

// FileSystem is what a [FileStore] does to the disk.
type FileSystem = fileSystem

// RemoveUnused is what a collection does to a blob that it has found to be old and
// unused before.
func RemoveUnused(b *Blobs, hash string) (bool, error) {
	c := &collection{dir: b.dir, o: CollectOptions{MinAge: time.Hour}, started: time.Now()}
	return c.remove(hash)
}

// DecodeMessage reads the record of a message by the short way, if it can be.
func DecodeMessage(record []byte) (e Entry, ok bool) {
	var d decoder
	m := new(llm.Message)
	at, ok := d.message(record, m)
	return Entry{Type: TypeMessage, Timestamp: string(at), Message: m}, ok
}
