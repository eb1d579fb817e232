package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// The kinds of the server's key, which server.key chooses from.
const (
	keyOfFile    = "file"
	keyOfKeyring = "keyring"
	keyOfPhrase  = "passphrase"
)

const (
	phraseVariable    = "BURIN_SERVER_PASSPHRASE"
	newPhraseVariable = "BURIN_SERVER_NEW_PASSPHRASE"
)

// serverVault opens the keys of people in the server's database. The caller closes it.
func serverVault(ctx context.Context, p *program, paths config.Paths, settings *config.Config, db *store.DB) (*vault.Vault, error) {
	return vault.Open(ctx, db, serverSource(p, paths, settings.Text("server.key")), vault.Options{})
}

// serverSource is where the server's key is kept.
func serverSource(p *program, paths config.Paths, kind string) vault.Source {
	switch kind {
	case keyOfKeyring:
		ring := credential.SystemKeyring()
		if p.getenv("BURIN_NO_KEYRING") != "" {
			ring = credential.NoKeyring()
		}
		return keyringSource{ring, filepath.Join(paths.Data, "server-keyring")}
	case keyOfPhrase:
		return phraseSource{p}
	}
	return vault.KeyFile(filepath.Join(paths.Data, "server.key"))
}

// keyringSource keeps the server's key in the system's keyring. A note says under which name; while
// the key is replaced, it has both names.
type keyringSource struct {
	ring credential.Keyring
	note string
}

const (
	keyringService = "burin"
	keyringWait    = 20 * time.Second // its owner may have to unlock it
)

// Advice implements [vault.Source].
func (s keyringSource) Advice() string {
	return "use the keyring that has it, or set server.key to where it is"
}

// unhurried runs f, which can't be broken off, and stops waiting after a while.
func unhurried[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, keyringWait)
	defer cancel()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("it did not answer: %w", ctx.Err())
	}
}

func (s keyringSource) names() ([]string, error) {
	text, err := smallfile.Read(s.note, smallfile.Note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}

func (s keyringSource) get(ctx context.Context, name string) (vault.Secret, error) {
	text, err := unhurried(ctx, func() (string, error) { return s.ring.Get(keyringService, name) })
	if err != nil {
		return vault.Secret{}, fmt.Errorf("the keyring did not give the server's key %s: %w", name, err)
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return vault.Secret{}, fmt.Errorf("the server's key %s in the keyring is damaged", name)
	}
	return vault.KeySecret(raw)
}

// Secrets implements [vault.Source].
func (s keyringSource) Secrets(ctx context.Context, fresh bool) (found []vault.Secret, err error) {
	names, err := s.names()
	if err == nil && fresh && len(names) == 0 {
		made, err := s.Next(ctx)
		return []vault.Secret{made}, err
	}
	for _, name := range names {
		secret, err := s.get(ctx, name)
		if err != nil {
			return nil, err
		}
		found = append(found, secret)
	}
	return found, err
}

// Next implements [vault.Source].
func (s keyringSource) Next(ctx context.Context) (vault.Secret, error) {
	names, err := s.names()
	if err != nil {
		return vault.Secret{}, err
	}
	raw := make([]byte, vault.KeySize)
	_, _ = rand.Read(raw) // never fails
	name := "server-" + rand.Text()[:10]
	_, err = unhurried(ctx, func() (struct{}, error) {
		return struct{}{}, s.ring.Set(keyringService, name, base64.RawStdEncoding.EncodeToString(raw))
	})
	if err != nil {
		return vault.Secret{}, fmt.Errorf("the server's key can't be kept in the system's keyring: %w; set server.key to file or passphrase", err)
	}
	if err := smallfile.Replace(s.note, []byte(strings.Join(append(names, name), "\n")+"\n")); err != nil {
		return vault.Secret{}, err
	}
	return vault.KeySecret(raw)
}

// Settle implements [vault.Source].
func (s keyringSource) Settle(ctx context.Context, used vault.Secret) error {
	names, err := s.names()
	if err != nil || len(names) < 2 {
		return err
	}
	for _, name := range names {
		if secret, err := s.get(ctx, name); err == nil && secret.Equal(used) {
			return smallfile.Replace(s.note, []byte(name+"\n"))
		}
	}
	return nil
}

// phraseSource is a pass phrase that a variable has, or a person at the terminal.
type phraseSource struct{ p *program }

// Advice implements [vault.Source].
func (phraseSource) Advice() string {
	return "the pass phrase is wrong, or server.key must say where the key is"
}

func (s phraseSource) read(ctx context.Context, variable, question string) (vault.Secret, error) {
	text := s.p.getenv(variable)
	if text == "" {
		var err error
		text, err = askLine(ctx, s.p, question, "server.key is passphrase, and burin can't ask for it here: set "+variable)
		if err != nil {
			return vault.Secret{}, err
		}
	}
	secret, err := vault.PhraseSecret(text)
	if err != nil {
		return secret, fmt.Errorf("%s: %w", variable, err)
	}
	return secret, nil
}

// Secrets implements [vault.Source].
func (s phraseSource) Secrets(ctx context.Context, fresh bool) ([]vault.Secret, error) {
	question := "Pass phrase of the server"
	if fresh {
		question = "New pass phrase of the server; without it nobody can read its data"
	}
	secret, err := s.read(ctx, phraseVariable, question)
	return []vault.Secret{secret}, err
}

// Next implements [vault.Source].
func (s phraseSource) Next(ctx context.Context) (vault.Secret, error) {
	return s.read(ctx, newPhraseVariable, "New pass phrase of the server")
}

// Settle implements [vault.Source].
func (phraseSource) Settle(context.Context, vault.Secret) error { return nil }

// lookEvery is how often a server looks whether people whose keys it has open are still signed in.
const lookEvery = 5 * time.Second

// lockSignedOut locks the keys of people who are signed in nowhere any more, by whichever server or command they
// were signed out, until ctx ends.
func (k *kept) lockSignedOut(ctx context.Context, failed func(error)) {
	for {
		for _, person := range k.vault.Unlocked() {
			in, err := k.people.SignedIn(ctx, person)
			switch {
			case err != nil && ctx.Err() == nil:
				failed(err)
			case err == nil && !in:
				k.vault.Lock(person)
			}
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return
		}
	}
}
