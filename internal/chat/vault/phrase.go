package vault

import (
	"context"
	"encoding/json"
	"errors"
)

// Wrapped is a key as it may be kept by somebody who must not have it: only a pass phrase or a
// recovery key opens it.
type Wrapped struct {
	Params   cost   `json:"params"`
	Phrase   []byte `json:"phrase"`
	Recovery []byte `json:"recovery"`
}

// Wrap wraps a key of [KeySize] bytes for a place, and makes the recovery key, which nobody can
// show again.
func Wrap(place string, key []byte, phrase string) (w Wrapped, recovery string, err error) {
	if err := checkPhrase(phrase); err != nil {
		return w, "", err
	}
	w.Params, recovery = newCost(), newRecovery()
	by, err := make(stretches, 1).key(context.Background(), phrase, w.Params)
	if err == nil {
		w.Phrase, err = wrapper(by).Seal(place+"/"+kindPhrase, key)
	}
	if err == nil {
		by, err = recoveryKey(recovery)
	}
	if err == nil {
		w.Recovery, err = wrapper(by).Seal(place+"/"+kindRecovery, key)
	}
	return w, recovery, err
}

// Open gives the key for a pass phrase, or for a recovery key. The error is [ErrPassphrase] for
// anything else, and for a key that was wrapped for another place.
func (w Wrapped) Open(place, typed string) (key []byte, err error) {
	if len(typed) > maxPhrase {
		return nil, ErrPassphrase
	}
	if by, rerr := recoveryKey(typed); rerr == nil {
		if key, err = wrapper(by).Open(place+"/"+kindRecovery, w.Recovery); err == nil {
			return key, nil
		}
	}
	params, err := json.Marshal(w.Params)
	if err != nil {
		return nil, err
	}
	c, err := parseCost(string(params)) // it comes from where the key is kept
	if err != nil {
		return nil, err
	}
	by, err := make(stretches, 1).key(context.Background(), typed, c)
	if err == nil {
		key, err = wrapper(by).Open(place+"/"+kindPhrase, w.Phrase)
	}
	if errors.Is(err, ErrKey) || err == nil && len(key) != KeySize {
		return nil, ErrPassphrase
	}
	return key, err
}
