package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/host/update"
	"github.com/burin-dev/burin/internal/host/update/minisign"
)

// seedVariable holds the private key of releases.
const seedVariable = "RELEASE_KEY"

// snapshotComment is signed with a snapshot.
const snapshotComment = "a snapshot, signed with a key that was thrown away"

// newSeed is a new private key.
func newSeed() string {
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // it never fails
	return base64.StdEncoding.EncodeToString(seed)
}

// makeKey prints a new pair of keys.
func makeKey() error {
	seed := newSeed()
	key, err := minisign.ParseSeed(seed)
	if err != nil {
		return err
	}
	fmt.Printf("The private key, for the secret %s and a safe place:\n%s\nThe public key, for internal/host/update/release.pub:\n%s\n", seedVariable, seed, key.Public())
	return nil
}

// sign signs a file. What burin update would refuse is not signed, but for snapshots.
func sign(file, signature string, snapshot bool) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	seed, comment := os.Getenv(seedVariable), "burin"
	if seed == "" {
		if !snapshot {
			return fmt.Errorf("%s is not set: see docs/releasing.md", seedVariable)
		}
		seed, comment = newSeed(), snapshotComment
	}
	key, err := minisign.ParseSeed(seed)
	if err != nil {
		return fmt.Errorf("%s: %w", seedVariable, err)
	}
	if comment != snapshotComment {
		known, err := update.Keys()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(known, func(k minisign.PublicKey) bool { return k.String() == key.Public().String() }) {
			return fmt.Errorf("the public key of %s, %s, is not in internal/host/update/release.pub: no burin could update itself", seedVariable, key.Public())
		}
	}
	return os.WriteFile(signature, key.Sign(content, comment), 0o644)
}

// signed checks the signature of a file: with the keys that burin knows, or with that of a
// snapshot, which the signature names.
func signed(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	signature, err := os.ReadFile(file + ".minisig")
	if err != nil {
		return err
	}
	keys, err := update.Keys()
	if err != nil {
		return err
	}
	comment, err := minisign.Verify(keys, content, signature)
	if errors.Is(err, minisign.ErrUnknownKey) {
		first, _, _ := strings.Cut(string(signature), "\n")
		if keys, err = minisign.ParseKeys(first[strings.LastIndexByte(first, ' ')+1:]); err != nil {
			return err
		}
		if comment, err = minisign.Verify(keys, content, signature); err == nil && comment != snapshotComment {
			err = minisign.ErrUnknownKey
		}
	}
	if err != nil {
		return fmt.Errorf("%s.minisig: %w", file, err)
	}
	fmt.Println("checksums.txt is signed:", comment)
	return nil
}
