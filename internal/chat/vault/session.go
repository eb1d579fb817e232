package vault

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sealed"
)

// SessionKey gives the key of transcripts of a generation.
func (r *Ring) SessionKey(generation uint32) (sealed.Key, error) {
	raw, err := r.Derive(generation, "transcripts")
	if err != nil {
		return sealed.Key{}, err
	}
	defer clear(raw)
	return sealed.NewKey(raw)
}

// generations are those of the ring, the newest first.
func (r *Ring) generations() []uint32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []uint32
	for g := range r.keys {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b uint32) int { return cmp.Compare(b, a) })
	return all
}

// OpenSession opens the transcript in s, which a key of the ring has sealed, or makes an empty
// one sealed with the newest. current is whether the newest has sealed it. Otherwise it is as
// [sealed.New].
func (r *Ring) OpenSession(s transcript.Store) (opened transcript.Store, current bool, err error) {
	err = ErrLocked
	for _, g := range r.generations() {
		var key sealed.Key
		if key, err = r.SessionKey(g); err != nil {
			return nil, false, err
		}
		opened, err = sealed.New(s, key)
		if !errors.Is(err, sealed.ErrKey) {
			return opened, g == r.Newest(), err
		}
	}
	return nil, false, err
}

// ResealSession seals the transcript in s with the newest key. changed is whether it had another.
// s must have no other user; it stays open.
func (r *Ring) ResealSession(s transcript.Store) (changed bool, err error) {
	opened, current, err := r.OpenSession(s)
	if err != nil || current {
		return false, err
	}
	key, err := r.SessionKey(r.Newest())
	if err == nil {
		err = sealed.Rekey(opened, key)
	}
	if err != nil {
		return false, fmt.Errorf("seal a transcript with the new key: %w", err)
	}
	return true, nil
}
