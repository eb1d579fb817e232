// Package sessionkey holds the keys of encrypted sessions: one in the system's keyring,
// or a pass phrase that a person or a variable gives. It asks through a function that it
// is given, and for each key once.
package sessionkey

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// Keys are the keys of encrypted sessions, so that each is asked for once. The key lies
// in the system's keyring, where there is one; beside the sessions it would protect
// nothing, so that otherwise a pass phrase takes its place. It may be used by several
// goroutines. Its exported fields are set before its first use.
type Keys struct {
	// Getenv reads variables of the environment.
	Getenv func(string) string
	// Ring is where the key lies; nil is the system's keyring.
	Ring credential.Keyring

	mu         sync.Mutex
	ask        func(ctx context.Context, question string) (string, error)
	passphrase bool        // new sessions have one also where there is a keyring
	key        *sealed.Key // of the keyring
	phrase     *sealed.Key
	checked    bool  // phrase is that of new sessions
	failed     error // who could not answer once is not asked again
}

// AskWith has a person asked with ask for a line that is not shown. An empty line is
// refused by Keys. Without it nobody can be asked.
func (k *Keys) AskWith(ask func(ctx context.Context, question string) (string, error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ask = ask
}

// WithPassphrase has new sessions encrypted with a pass phrase, also where there is a
// keyring, and forgets what was asked for.
func (k *Keys) WithPassphrase(on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.passphrase, k.key, k.phrase, k.checked, k.failed = on, nil, nil, false, nil
}

const (
	// Variable tells scripts the pass phrase.
	Variable = "BURIN_SESSION_PASSPHRASE"
	// keyNote names the entry of the keyring, so that two homes never share one.
	keyNote       = "session-key"
	keyNoteFormat = "burin-session-key-1 keyring "
	// phraseCheck is a session that the pass phrase opens: who mistypes it is told so,
	// and does not get sessions that nothing opens.
	phraseCheck = "session-passphrase"
	// variableCheck is that of the variable where a keyring has the key of other sessions:
	// there phraseCheck says that a person wants no keyring any more.
	variableCheck = "session-passphrase-variable"
	keyringEntry  = "burin"
)

// keyringWait is how long the keyring may take: its owner may have to unlock it.
const keyringWait = 20 * time.Second

// For asks for the keys of sessions while ctx lasts.
func (k *Keys) For(ctx context.Context) place.Keys {
	return func(w place.Wanted) (sealed.Key, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.failed != nil {
			return sealed.Key{}, k.failed
		}
		key, err := k.keyFor(ctx, w)
		if err != nil {
			k.failed = Error{err}
			return key, k.failed
		}
		return key, nil
	}
}

// Error means that there is no key, whatever the session is like.
type Error struct{ error }

// Unwrap gives the reason.
func (e Error) Unwrap() error { return e.error }

func (k *Keys) keyFor(ctx context.Context, w place.Wanted) (sealed.Key, error) {
	paths, err := config.FindPaths(k.Getenv)
	switch {
	case err != nil:
		return sealed.Key{}, err
	case w.Path == "":
		return k.newKey(ctx, paths.Data)
	case w.Passphrase:
		return k.phraseOf(ctx, "Pass phrase of session "+prose.Inline(words.ShortPath(w.Path)))
	}
	return k.ringKey(ctx, paths.Data, false)
}

// newKey is the key of new sessions.
func (k *Keys) newKey(ctx context.Context, data string) (sealed.Key, error) {
	if k.Getenv(Variable) != "" || k.phrase != nil {
		key, err := k.phraseOf(ctx, "")
		if err == nil && !k.checked {
			err = k.checkPhrase(checkIn(data), key)
		}
		return key, err
	}
	if !k.passphrase && !exists(filepath.Join(data, phraseCheck)) {
		key, err := k.ringKey(ctx, data, true)
		if !errors.Is(err, errNoRing) {
			return key, err
		}
	}
	return k.newPhrase(ctx, data)
}

// errNoRing is that there is no keyring to put a key into.
var errNoRing = errors.New("the system's keyring cannot be used")

// ringKey is the key in the keyring; with create it is made.
func (k *Keys) ringKey(ctx context.Context, data string, create bool) (sealed.Key, error) {
	if k.key != nil {
		return *k.key, nil
	}
	note := filepath.Join(data, keyNote)
	text, err := smallfile.Read(note, smallfile.Note)
	if errors.Is(err, fs.ErrNotExist) && create {
		return k.makeRingKey(ctx, note)
	}
	if err != nil {
		return sealed.Key{}, fmt.Errorf("the session is encrypted with a key of a keyring, and the note which is missing: %w", err)
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(text)), keyNoteFormat)
	if !ok {
		return sealed.Key{}, fmt.Errorf("the note of the key of sessions %s is damaged", note)
	}
	encoded, err := patient(ctx, func() (string, error) { return k.ring().Get(keyringEntry, name) })
	if err != nil {
		return sealed.Key{}, fmt.Errorf("the keyring did not give the key of sessions %s: %w", name, err)
	}
	return k.keepKey(encoded)
}

// makeRingKey puts a new key into the keyring and notes which it is.
func (k *Keys) makeRingKey(ctx context.Context, note string) (sealed.Key, error) {
	raw := make([]byte, sealed.KeySize)
	rand.Read(raw) //nolint:errcheck // never fails
	encoded, name := base64.RawStdEncoding.EncodeToString(raw), "sessions-"+rand.Text()[:10]
	kept, err := patient(ctx, func() (string, error) {
		if err := k.ring().Set(keyringEntry, name, encoded); err != nil {
			return "", err
		}
		return k.ring().Get(keyringEntry, name)
	})
	if ctx.Err() != nil {
		return sealed.Key{}, ctx.Err()
	}
	if err != nil || kept != encoded {
		return sealed.Key{}, errNoRing
	}
	if err := os.MkdirAll(filepath.Dir(note), 0o700); err != nil {
		return sealed.Key{}, fmt.Errorf("note the key of sessions: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(note), ".session-key-") // 0600
	if err != nil {
		return sealed.Key{}, fmt.Errorf("note the key of sessions: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(keyNoteFormat + name + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Link(f.Name(), note) // of two processes that come first together, one wins
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = os.Rename(f.Name(), note) // not every file system has links
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return k.ringKey(ctx, filepath.Dir(note), false)
	}
	if err != nil {
		return sealed.Key{}, fmt.Errorf("note the key of sessions: %w", err)
	}
	return k.keepKey(encoded)
}

func (k *Keys) keepKey(encoded string) (sealed.Key, error) {
	raw, err := base64.RawStdEncoding.DecodeString(encoded)
	var key sealed.Key
	if err == nil {
		key, err = sealed.NewKey(raw)
	}
	if err != nil {
		return key, errors.New("the key of sessions in the keyring is damaged")
	}
	k.key = &key
	return key, nil
}

func (k *Keys) ring() credential.Keyring {
	switch {
	case k.Getenv("BURIN_NO_KEYRING") != "":
		return credential.NoKeyring()
	case k.Ring != nil:
		return k.Ring
	}
	return credential.SystemKeyring()
}

// patient runs f, which cannot be broken off, and stops waiting after [keyringWait].
func patient(ctx context.Context, f func() (string, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyringWait)
	defer cancel()
	type result struct {
		value string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return "", fmt.Errorf("it did not answer: %w", ctx.Err())
	}
}

// phraseOf is the pass phrase, which the person at the terminal is asked for once.
func (k *Keys) phraseOf(ctx context.Context, question string) (sealed.Key, error) {
	if k.phrase != nil {
		return *k.phrase, nil
	}
	text := k.Getenv(Variable)
	if text == "" {
		var err error
		if text, err = k.askHidden(ctx, question); err != nil {
			return sealed.Key{}, err
		}
	}
	return k.keepPhrase(text)
}

func (k *Keys) keepPhrase(text string) (sealed.Key, error) {
	key, err := sealed.Passphrase(text, sealed.Cost{})
	if err != nil {
		return key, err
	}
	k.phrase = &key
	return key, nil
}

// newPhrase asks for the pass phrase of new sessions: twice when there is none yet.
func (k *Keys) newPhrase(ctx context.Context, data string) (sealed.Key, error) {
	check := filepath.Join(data, phraseCheck)
	known := exists(check)
	question := "Pass phrase for encrypted sessions"
	if !known {
		question = "New pass phrase for encrypted sessions; without it nobody can read them"
	}
	text, err := k.askHidden(ctx, question)
	if err == nil && !known {
		var again string
		if again, err = k.askHidden(ctx, "Repeat it"); err == nil && again != text {
			err = errors.New("the two pass phrases differ: nothing was done")
		}
	}
	if err != nil {
		return sealed.Key{}, err
	}
	key, err := sealed.Passphrase(text, sealed.Cost{})
	if err != nil {
		return key, err
	}
	if err := k.checkPhrase(check, key); err != nil {
		return sealed.Key{}, err
	}
	k.phrase = &key
	return key, nil
}

// checkPhrase compares a pass phrase with that of the sessions before. The first one is
// noted.
func (k *Keys) checkPhrase(check string, key sealed.Key) error {
	if !exists(check) {
		err := writeCheck(check, key)
		if !errors.Is(err, fs.ErrExist) { // else another process was first
			k.checked = err == nil
			return err
		}
	}
	err := fitsCheck(check, key)
	if errors.Is(err, sealed.ErrKey) {
		err = fmt.Errorf("this is not the pass phrase of your encrypted sessions: give that one, or delete %s to begin with another", words.ShortPath(check))
		if k.Getenv(Variable) != "" {
			err = fmt.Errorf("%s: %w", Variable, err)
		}
	}
	k.checked = err == nil
	return err
}

// checkIn is the file that a pass phrase is checked against which nobody typed.
func checkIn(data string) string {
	if check := filepath.Join(data, phraseCheck); exists(check) || !exists(filepath.Join(data, keyNote)) {
		return check
	}
	return filepath.Join(data, variableCheck)
}

// fitsCheck fails with [sealed.ErrKey] if the key is not the one that is noted.
func fitsCheck(check string, key sealed.Key) error {
	file, err := transcript.OpenFileReadOnly(check)
	if err != nil {
		return err
	}
	_, err = sealed.New(file, key)
	return errors.Join(err, file.Close())
}

// writeCheck notes which key it is. It fails with [fs.ErrExist] if one is noted already.
func writeCheck(check string, key sealed.Key) error {
	// It is written under a name of its own, so that of two processes that come first
	// together one wins, and what a crash leaves is in nobody's way.
	own := check + "." + rand.Text()[:10]
	file := transcript.CreateFile(own)
	store, err := sealed.New(file, key)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	_, err = store.Append([]byte(`{"type":"check"}`))
	if err == nil {
		err = file.Publish()
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return fmt.Errorf("note the pass phrase: %w", err)
	}
	defer os.Remove(own)
	err = os.Link(own, check)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(own, check) // not every file system has links
	}
	if err != nil {
		return fmt.Errorf("note the pass phrase: %w", err)
	}
	return nil
}

// askHidden asks a person for a line that is not shown.
func (k *Keys) askHidden(ctx context.Context, question string) (string, error) {
	if k.ask == nil {
		return "", errors.New("encrypted sessions need a pass phrase, and burin can't ask for it here: set " + Variable)
	}
	line, err := k.ask(ctx, question)
	if err == nil && line == "" {
		err = errors.New("no pass phrase was given: nothing was done")
	}
	return line, err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
