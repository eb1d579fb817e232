package project

import (
	"errors"

	"github.com/burin-dev/burin/internal/chat/vault"
)

// ErrUnreadable means that what the database has of something can't be opened. It stays as it is until its person
// deletes it: nothing is written over it.
var ErrUnreadable = errors.New("its data can't be opened")

// Why the data of something can't be opened.
const (
	ForKey     = "key"     // the key that sealed it isn't there any more
	ForDamage  = "damaged" // it is damaged, or was sealed with a key of another server
	ForVersion = "version" // its form isn't one that this burin reads
)

type unreadable struct {
	why   string
	cause error
}

func (e *unreadable) Error() string {
	says := map[string]string{
		ForKey: "the key that sealed it isn't there any more", ForDamage: "it is damaged, or sealed with another key",
		ForVersion: "it has a form that this burin doesn't read",
	}
	return ErrUnreadable.Error() + ": " + says[e.why]
}

func (e *unreadable) Is(target error) bool { return target == ErrUnreadable }

func (e *unreadable) Unwrap() error { return e.cause }

// unopened is the error of what can't be opened. Keys that are locked are none: they come back.
func unopened(cause error) error {
	switch {
	case errors.Is(cause, vault.ErrLocked):
		return cause
	case errors.Is(cause, vault.ErrRetired):
		return &unreadable{ForKey, cause}
	case errors.Is(cause, vault.ErrKey), errors.Is(cause, vault.ErrLarge):
		return &unreadable{ForDamage, cause}
	}
	return &unreadable{ForVersion, cause}
}

// whyUnreadable says why something can't be opened; "" is that this isn't what is wrong.
func whyUnreadable(err error) string {
	if u, ok := errors.AsType[*unreadable](err); ok {
		return u.why
	}
	return ""
}
