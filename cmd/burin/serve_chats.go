package main

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/internal/platform/keyfile"
	"github.com/burin-dev/burin/session"
)

// owner is the person whose machine it is.
const ownerPerson = "owner"

// serverKeys are the keys of people, made of one key of the server.
type serverKeys struct{ raw []byte }

func newServerKeys(paths config.Paths) (*serverKeys, error) {
	raw, err := keyfile.Make(filepath.Join(paths.Data, "server.key"))
	if err != nil {
		return nil, fmt.Errorf("key of the server: %w", err)
	}
	return &serverKeys{raw}, nil
}

// Ring implements [project.Keys].
func (k *serverKeys) Ring(_ context.Context, person string) (*vault.Ring, error) {
	raw, err := hkdf.Key(sha256.New, k.raw, nil, "person "+person, vault.KeySize)
	if err != nil {
		return nil, err
	}
	return vault.NewRing(map[uint32][]byte{1: raw})
}

// may says why somebody has no access to a session.
func (k *kept) may(ctx context.Context, who server.Who, id string) error {
	person, err := k.projects.PersonOf(ctx, id)
	switch {
	case errors.Is(err, project.ErrUnknown):
		return nil // a session of this machine, if there is one
	case err != nil:
		return err
	case person != who.Person:
		return fmt.Errorf("%w %q", server.ErrUnknown, id)
	}
	return nil
}

// faceOf opens or joins a session of this machine, or a chat.
func (k *kept) faceOf(ctx context.Context, id, name string, answers bool) (session.Handle, error) {
	person, err := k.projects.PersonOf(ctx, id)
	if errors.Is(err, project.ErrUnknown) {
		return k.face(ctx, id, name, answers)
	}
	if err != nil {
		return nil, err
	}
	return k.chats.Face(ctx, person, id, name, answers)
}
