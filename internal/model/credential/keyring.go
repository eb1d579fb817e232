package credential

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zalando/go-keyring"
)

// Keyring keeps small secrets outside our files. Get of something that is not
// there is an error. Its methods may block; the caller bounds the wait.
type Keyring interface {
	Get(service, name string) (string, error)
	Set(service, name, value string) error
}

// SystemKeyring is the keyring of the operating system: Keychain, Credential
// Manager, or the Secret Service on D-Bus.
func SystemKeyring() Keyring { return systemKeyring{} }

// NoKeyring is the keyring of a machine that has none, or of a user who wants
// none: the sealing key is then kept in a file.
func NoKeyring() Keyring { return noKeyring{} }

var errNoKeyring = errors.New("there is no keyring on this machine")

type systemKeyring struct{}

func (systemKeyring) Get(service, name string) (string, error) {
	if !keyringReachable() {
		return "", errNoKeyring
	}
	return keyring.Get(service, name)
}

func (systemKeyring) Set(service, name, value string) error {
	if !keyringReachable() {
		return errNoKeyring
	}
	return keyring.Set(service, name, value)
}

type noKeyring struct{}

func (noKeyring) Get(string, string) (string, error) { return "", errNoKeyring }
func (noKeyring) Set(string, string, string) error   { return errNoKeyring }

// How long a keyring may take. To make a new key it is only probed: a file does
// as well. To read a key that is there, its owner may have to unlock it first.
const (
	keyringProbe = 700 * time.Millisecond
	keyringRead  = 5 * time.Second
)

// bounded runs f, which cannot be cancelled, and stops waiting for it after d.
// A keyring that hangs keeps one goroutine; nothing else depends on it.
func bounded[T any](ctx context.Context, d time.Duration, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	var none T
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-timer.C:
		return none, fmt.Errorf("it did not answer within %s", d)
	}
}
