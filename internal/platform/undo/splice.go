package undo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// Splice is a change of one place of a file that is too large to be kept: an undo puts the old
// text back in the place of the new one, if the file as a whole is what the change made of it.
type Splice struct {
	At  int64  `json:"at"`
	Old string `json:"old"` // of the text that was there, the hash
	New string `json:"new"`
}

// PlanSplice is the change that puts after in the place of before at an offset of a file of any
// size, for [Intent.Announce]. The texts are kept, and of the whole file its hash before and after,
// in one pass that holds none of it. The error is [rootfile.ErrMoved] if before isn't there.
func (j *Journal) PlanSplice(name string, at int64, before, after []byte) (Change, error) {
	f, err := rootfile.Open(j.folder.root, filepath.FromSlash(name))
	if err != nil {
		return Change{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Change{}, err
	}
	was, is := sha256.New(), sha256.New()
	both := io.MultiWriter(was, is)
	if _, err := io.CopyN(both, f, at); err != nil {
		return Change{}, fmt.Errorf("%w: %w", rootfile.ErrMoved, err)
	}
	held := make([]byte, len(before))
	if _, err := io.ReadFull(f, held); err != nil || !bytes.Equal(held, before) {
		return Change{}, rootfile.ErrMoved
	}
	was.Write(before)
	is.Write(after)
	if _, err := io.Copy(both, f); err != nil {
		return Change{}, err
	}
	s := Splice{At: at}
	if s.Old, err = j.store.Put(before); err != nil {
		return Change{}, err
	}
	if s.New, err = j.store.Put(after); err != nil {
		return Change{}, err
	}
	lost := fmt.Sprintf("larger than %d MB: not kept", MaxFile>>20)
	state := State{Kind: "file", Mode: info.Mode().Perm(), Hash: identity(info), Lost: lost, Sum: sumOf(was)}
	c := Change{Path: name, Before: state, After: state, Splices: []Splice{s}}
	c.After.Hash, c.After.Sum = "", sumOf(is)
	return c, nil
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// sum hashes a file as it is, holding none of it.
func (f *folder) sum(name string) (string, error) {
	file, err := rootfile.Open(f.root, filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return sumOf(h), nil
}

// splice takes the splices of a change back, or makes them again. If one of them fails, those
// that were made are undone.
func (f *folder) splice(c Change, d direction) error {
	name := filepath.FromSlash(c.Path)
	todo := make([]Splice, len(c.Splices))
	for i, s := range c.Splices {
		if d == back {
			todo[len(todo)-1-i] = Splice{At: s.At, Old: s.New, New: s.Old}
		} else {
			todo[i] = s
		}
	}
	one := func(s Splice) error {
		from, err := f.store.Get(s.Old)
		if err != nil {
			return err
		}
		to, err := f.store.Get(s.New)
		if err != nil {
			return err
		}
		return rootfile.Splice(f.root, name, s.At, from, to)
	}
	for i, s := range todo {
		err := one(s)
		if err == nil {
			continue
		}
		for ; i > 0; i-- {
			done := todo[i-1]
			err = errors.Join(err, one(Splice{At: done.At, Old: done.New, New: done.Old}))
		}
		return err
	}
	_, to := d.ends(c)
	return f.root.Chmod(name, to.Mode.Perm())
}

// joined are the splices of a change and of the one that follows it: none where one of them
// was made in another way.
func joined(first, second []Splice) []Splice {
	if len(first) == 0 || len(second) == 0 {
		return nil
	}
	return append(first[:len(first):len(first)], second...)
}
