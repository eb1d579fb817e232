package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// oneEntry is the id of the one entry that a word names.
func oneEntry(l *transcript.Log, word string) (string, error) {
	var found []string
	for _, n := range l.Nodes() {
		if n.ID == word {
			return n.ID, nil
		}
		if strings.HasPrefix(n.ID, word) {
			found = append(found, n.ID)
		}
	}
	switch {
	case word == "" || len(found) == 0:
		return "", fmt.Errorf("session %s has no entry %q: burin sessions show %s --json lists them", l.ID(), word, l.ID())
	case len(found) == 1:
		return found[0], nil
	}
	return "", usagef("%q fits %d entries: %s; write more of the id", word, len(found), prose.Cut(strings.Join(found, ", "), 100))
}

// Created is a session that was made of another one.
type Created struct {
	ID, File string
	Dir      string // the folder that it belongs to
}

// Fork copies a session, with all its branches and outputs, into the folder dir.
func (a *Archive) Fork(ctx context.Context, which, dir string) (Created, error) {
	return a.copy(ctx, which, dir, transcript.Fork)
}

// Branch copies a session up to an entry, without its other branches. The copy belongs to
// the folder of the session. entry is the entry's id or the beginning of it.
func (a *Archive) Branch(ctx context.Context, which, entry string) (Created, error) {
	return a.copy(ctx, which, "", func(from *transcript.Log, to transcript.Store, h transcript.Header) error {
		id, err := oneEntry(from, entry)
		if err != nil {
			return err
		}
		return transcript.CopyBranch(from, id, to, h)
	})
}

// copy makes a new session of another one. dir is the folder that it belongs to; "" is
// that of the other one.
func (a *Archive) copy(ctx context.Context, which, dir string, write func(*transcript.Log, transcript.Store, transcript.Header) error) (Created, error) {
	file, from, err := a.Open(ctx, which)
	if err != nil {
		return Created{}, err
	}
	defer from.Close()
	if dir == "" {
		dir = from.Header().CWD
	}
	path, id := transcript.NewPath(a.root, dir, time.Now())
	store, err := a.newSession(ctx, path, file)
	if err != nil {
		return Created{}, err
	}
	err = write(from, store, transcript.Header{ID: id, CWD: dir, Title: from.Title()})
	if err = errors.Join(err, store.Close()); err != nil {
		return Created{}, err
	}
	if sealedSession(path) {
		// Its artifacts would lie beside it in the clear.
	} else if err := transcript.CopyArtifacts(file, path); err != nil {
		a.warn(words.Error(err) + "; the conversation is copied without them")
	}
	return Created{ID: id, File: path, Dir: dir}, nil
}

// Past is what a handoff is written from.
type Past struct {
	File   string
	Header transcript.Header
	Title  string
	Model  string // that it used last; "" if it does not say
}

// Past reads a session that another one is to go on from. One in which too little has been
// said is an error.
func (a *Archive) Past(ctx context.Context, which string) (Past, error) {
	file, err := a.Find(ctx, which)
	if err != nil {
		return Past{}, err
	}
	l, _, err := a.read(ctx, file)
	if err != nil {
		return Past{}, Explain(file, err)
	}
	p := Past{File: file, Header: l.Header(), Title: NameOf(l)}
	past, err := l.Context(l.Leaf())
	if err = errors.Join(err, l.Close()); err != nil {
		return Past{}, err
	}
	if len(past.Messages) < 2 {
		return Past{}, fmt.Errorf("session %s is too short to hand over", p.Header.ID)
	}
	p.Model = past.Models["default"]
	return p, nil
}

// Begin makes a session whose first entry is a document that hands another one over: that
// in file, which has the header from.
func (a *Archive) Begin(ctx context.Context, file string, from transcript.Header, title, document string) (Created, error) {
	title, err := a.Hide(title) // it may be older than what hides secrets
	if err != nil {
		return Created{}, err
	}
	path, id := transcript.NewPath(a.root, from.CWD, time.Now())
	store, err := a.newSession(ctx, path, file)
	if err != nil {
		return Created{}, err
	}
	l, err := transcript.Create(store, transcript.Header{ID: id, CWD: from.CWD, Title: title, ParentSession: from.ID}, transcript.Options{Blobs: a.blobs()})
	if err != nil {
		return Created{}, err
	}
	text, err := json.Marshal(compact.Handoff(document))
	if err == nil {
		_, err = l.Append(transcript.Entry{
			Type: transcript.TypeCustomMessage, CustomType: "handoff", Content: text, Display: true, Attribution: "agent",
		})
	}
	if err == nil {
		err = store.Publish() // no model has answered in it, and it is to stay
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return Created{}, err
	}
	return Created{ID: id, File: path, Dir: from.CWD}, nil
}
