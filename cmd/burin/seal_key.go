package main

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

	"golang.org/x/term"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
)

// sealing holds the keys of encrypted sessions, so that each is asked for once. The
// key lies in the system's keyring, where there is one; beside the sessions it would
// protect nothing, so that otherwise a pass phrase takes its place.
type sealing struct {
	mu         sync.Mutex
	ring       credential.Keyring // nil: that of the system
	passphrase bool               // new sessions have one also where there is a keyring
	key        *sealed.Key        // of the keyring
	phrase     *sealed.Key
	checked    bool  // phrase is that of new sessions
	failed     error // who could not answer once is not asked again
	// ask asks for a line that is not shown, where a face has the terminal.
	ask func(ctx context.Context, question string) (string, error)
}

const (
	passphraseVariable = "BURIN_SESSION_PASSPHRASE"
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

// sessionKeys asks for the keys of sessions while ctx lasts.
func (p *program) sessionKeys(ctx context.Context) place.Keys {
	if p.sealing == nil {
		p.sealing = new(sealing)
	}
	return func(w place.Wanted) (sealed.Key, error) {
		p.sealing.mu.Lock()
		defer p.sealing.mu.Unlock()
		if p.sealing.failed != nil {
			return sealed.Key{}, p.sealing.failed
		}
		key, err := p.keyFor(ctx, w)
		if err != nil {
			p.sealing.failed = keyError{err}
			return key, p.sealing.failed
		}
		return key, nil
	}
}

// keyError is that there is no key, whatever the session is like.
type keyError struct{ error }

func (e keyError) Unwrap() error { return e.error }

func (p *program) keyFor(ctx context.Context, w place.Wanted) (sealed.Key, error) {
	paths, err := config.FindPaths(p.getenv)
	switch {
	case err != nil:
		return sealed.Key{}, err
	case w.Path == "":
		return p.newKey(ctx, paths.Data)
	case w.Passphrase:
		return p.phraseOf(ctx, "Pass phrase of session "+printable(shortPath(w.Path)))
	}
	return p.ringKey(ctx, paths.Data, false)
}

// readyKeys gives the keys of a session that is about to begin, and asks for that of a
// new one before anything else is on the screen.
func (p *program) readyKeys(ctx context.Context, o burin.Options) (place.Keys, error) {
	keys := p.sessionKeys(ctx)
	if o.Seal && o.Resume == "" && !o.NoSession {
		if _, err := keys(place.Wanted{}); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// newKey is the key of new sessions.
func (p *program) newKey(ctx context.Context, data string) (sealed.Key, error) {
	if p.getenv(passphraseVariable) != "" || p.sealing.phrase != nil {
		key, err := p.phraseOf(ctx, "")
		if err == nil && !p.sealing.checked {
			err = p.checkPhrase(checkIn(data), key)
		}
		return key, err
	}
	if !p.sealing.passphrase && !exists(filepath.Join(data, phraseCheck)) {
		key, err := p.ringKey(ctx, data, true)
		if !errors.Is(err, errNoRing) {
			return key, err
		}
	}
	return p.newPhrase(ctx, data)
}

// errNoRing is that there is no keyring to put a key into.
var errNoRing = errors.New("the system's keyring cannot be used")

// ringKey is the key in the keyring; with create it is made.
func (p *program) ringKey(ctx context.Context, data string, create bool) (sealed.Key, error) {
	if p.sealing.key != nil {
		return *p.sealing.key, nil
	}
	note := filepath.Join(data, keyNote)
	text, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) && create {
		return p.makeRingKey(ctx, note)
	}
	if err != nil {
		return sealed.Key{}, fmt.Errorf("the session is encrypted with a key of a keyring, and the note which is missing: %w", err)
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(text)), keyNoteFormat)
	if !ok {
		return sealed.Key{}, fmt.Errorf("the note of the key of sessions %s is damaged", note)
	}
	encoded, err := patient(ctx, func() (string, error) { return p.ring().Get(keyringEntry, name) })
	if err != nil {
		return sealed.Key{}, fmt.Errorf("the keyring did not give the key of sessions %s: %w", name, err)
	}
	return p.keepKey(encoded)
}

// makeRingKey puts a new key into the keyring and notes which it is.
func (p *program) makeRingKey(ctx context.Context, note string) (sealed.Key, error) {
	raw := make([]byte, sealed.KeySize)
	rand.Read(raw) //nolint:errcheck // never fails
	encoded, name := base64.RawStdEncoding.EncodeToString(raw), "sessions-"+rand.Text()[:10]
	kept, err := patient(ctx, func() (string, error) {
		if err := p.ring().Set(keyringEntry, name, encoded); err != nil {
			return "", err
		}
		return p.ring().Get(keyringEntry, name)
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
		return p.ringKey(ctx, filepath.Dir(note), false)
	}
	if err != nil {
		return sealed.Key{}, fmt.Errorf("note the key of sessions: %w", err)
	}
	return p.keepKey(encoded)
}

func (p *program) keepKey(encoded string) (sealed.Key, error) {
	raw, err := base64.RawStdEncoding.DecodeString(encoded)
	var key sealed.Key
	if err == nil {
		key, err = sealed.NewKey(raw)
	}
	if err != nil {
		return key, errors.New("the key of sessions in the keyring is damaged")
	}
	p.sealing.key = &key
	return key, nil
}

func (p *program) ring() credential.Keyring {
	switch {
	case p.getenv("BURIN_NO_KEYRING") != "":
		return credential.NoKeyring()
	case p.sealing.ring != nil:
		return p.sealing.ring
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
func (p *program) phraseOf(ctx context.Context, question string) (sealed.Key, error) {
	if p.sealing.phrase != nil {
		return *p.sealing.phrase, nil
	}
	text := p.getenv(passphraseVariable)
	if text == "" {
		var err error
		if text, err = p.askHidden(ctx, question); err != nil {
			return sealed.Key{}, err
		}
	}
	return p.keepPhrase(text)
}

func (p *program) keepPhrase(text string) (sealed.Key, error) {
	key, err := sealed.Passphrase(text, sealed.Cost{})
	if err != nil {
		return key, err
	}
	p.sealing.phrase = &key
	return key, nil
}

// newPhrase asks for the pass phrase of new sessions: twice when there is none yet.
func (p *program) newPhrase(ctx context.Context, data string) (sealed.Key, error) {
	check := filepath.Join(data, phraseCheck)
	known := exists(check)
	question := "Pass phrase for encrypted sessions"
	if !known {
		question = "New pass phrase for encrypted sessions; without it nobody can read them"
	}
	text, err := p.askHidden(ctx, question)
	if err == nil && !known {
		var again string
		if again, err = p.askHidden(ctx, "The same once more"); err == nil && again != text {
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
	if err := p.checkPhrase(check, key); err != nil {
		return sealed.Key{}, err
	}
	p.sealing.phrase = &key
	return key, nil
}

// checkPhrase compares a pass phrase with that of the sessions before. The first one is
// noted.
func (p *program) checkPhrase(check string, key sealed.Key) error {
	if !exists(check) {
		err := writeCheck(check, key)
		if !errors.Is(err, fs.ErrExist) { // else another process was first
			p.sealing.checked = err == nil
			return err
		}
	}
	err := fitsCheck(check, key)
	if errors.Is(err, sealed.ErrKey) {
		err = fmt.Errorf("this is not the pass phrase of your encrypted sessions: give that one, or delete %s to begin with another", shortPath(check))
		if p.getenv(passphraseVariable) != "" {
			err = fmt.Errorf("%s: %w", passphraseVariable, err)
		}
	}
	p.sealing.checked = err == nil
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

// askHidden asks the person at the terminal for a line that is not shown.
func (p *program) askHidden(ctx context.Context, question string) (string, error) {
	if p.sealing.ask != nil {
		line, err := p.sealing.ask(ctx, question)
		if err == nil && line == "" {
			err = errors.New("no pass phrase was given: nothing was done")
		}
		return line, err
	}
	tty, _ := p.terminal().(*os.File)
	if tty == nil || !term.IsTerminal(int(tty.Fd())) {
		return "", usage("a pass phrase for encrypted sessions is wanted, and nobody can be asked here: set %s", passphraseVariable)
	}
	fmt.Fprintf(p.err, "%s (it is not shown): ", question)
	line, err := readHidden(ctx, int(tty.Fd()))
	fmt.Fprintln(p.err)
	if err != nil {
		return "", fmt.Errorf("read the pass phrase: %w", err)
	}
	if len(line) == 0 {
		return "", errors.New("no pass phrase was given: nothing was done")
	}
	return string(line), nil
}
