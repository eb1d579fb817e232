// Package transcript is the history of a session: an append-only list of entries, each with an
// id and the id of its parent, so that they form a tree. A [Log] is that tree; a [Store]
// stores its records. Everything else that is shown, sent or counted of a session is derived
// from it.
//
// # The format
//
// Records are JSON objects, one a line in a [FileStore], in version 3 of the format that the
// pi family of agents shares: a [Header], then any number of [Entry]. Moving within the tree
// changes nothing; what is said next becomes a child of the entry that was moved to. Files of
// versions 1 and 2, and files that start with a line of type "title", can be read too. Types
// and fields that this package does not know stay in the record.
//
// # Guarantees
//
//   - An entry that was acknowledged is found again, whatever happens to the
//     process, and after a power cut if [Log.Sync] returned since. A failed write
//     loses nothing either: the entry stays in memory and is written with the next.
//   - A damaged file opens. What can be read is read, entries whose parent was
//     lost follow the one before them, and nothing in the file is overwritten;
//     [Open] says what is wrong.
//   - One process writes a session; a second one gets [ErrLocked].
//   - Nothing is kept of a session in which no model has answered, but what was
//     typed survives a crash as a draft.
//
// Opening takes one pass over the records, and some 30 bytes of memory for each in addition to
// their ids; messages are read when they are needed.
//
// The [Artifacts] of a session file are in a folder next to it with its name without ".jsonl"
// (for other names, with ".outputs" added). Large images and texts are in [Blobs], which
// sessions share.
package transcript

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// EncodeDir returns the name of the folder with a working directory's sessions.
func EncodeDir(cwd string) string {
	dir := strings.TrimPrefix(filepath.ToSlash(cwd), "/")
	return "--" + strings.NewReplacer("/", "-", ":", "-").Replace(dir) + "--"
}

// NewPath returns the path and the id of a new session for the working directory cwd in the
// folder root.
func NewPath(root, cwd string, at time.Time) (path, id string) {
	at = at.UTC()
	id = randomHex(8)
	name := fmt.Sprintf("%s-%03dZ_%s.jsonl", at.Format("2006-01-02T15-04-05"), at.Nanosecond()/1e6, id)
	return filepath.Join(root, EncodeDir(cwd), name), id
}

// ArtifactDir returns the artifact folder of the session at path.
func ArtifactDir(path string) string {
	final, _ := cutDraft(path)
	if dir, ok := strings.CutSuffix(final, ".jsonl"); ok {
		return dir
	}
	return final + ".outputs" // it must differ from the session's own name
}

// idOf returns the id in the name of a session file; "" if there is none.
func idOf(path string) string {
	final, _ := cutDraft(filepath.Base(path))
	base := strings.TrimSuffix(final, ".jsonl")
	if i := strings.LastIndexByte(base, '_'); i >= 0 {
		return base[i+1:]
	}
	return ""
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // never fails
	return hex.EncodeToString(b)
}
