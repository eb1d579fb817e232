package undo

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// How long a turn can be undone, and how much the contents of all turns may take.
// Older turns are forgotten.
const (
	MaxAge   = 30 * 24 * time.Hour
	MaxTurns = 2 << 30 // bytes
)

// tidyEvery is how often old turns are looked for.
const tidyEvery = 24 * time.Hour

// tidy forgets turns beyond the limits and removes contents that nothing refers
// to. It does so when no other process has the journal open: only then is nobody
// relying on contents that no line names yet. The journal is of no use after.
func (j *Journal) tidy(now time.Time) error {
	marker := filepath.Join(j.dir, "tidied")
	if info, err := os.Stat(marker); err == nil && now.Sub(info.ModTime()) < tidyEvery {
		return nil
	}
	if alone, err := j.lines.alone(); err != nil || !alone {
		return err
	}
	if err := j.prune(now, MaxTurns); err != nil {
		return fmt.Errorf("tidy the undo journal: %w", err)
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		return fmt.Errorf("tidy the undo journal: %w", err)
	}
	return os.Chtimes(marker, now, now)
}

// prune does the work of tidy. What the kept tree names stays: it is what the
// next turn may have to restore.
func (j *Journal) prune(now time.Time, most int64) error {
	if err := j.store.box.open(); errors.Is(err, errNoKey) {
		return nil // nobody can tell whose contents are wanted
	} else if err != nil {
		return err
	}
	if err := j.lines.read(); err != nil {
		return err
	}
	sizes, err := j.store.sizes()
	if err != nil {
		return err
	}
	old := j.store.plain
	oldSizes := map[string]int64{}
	if old != nil {
		if oldSizes, err = old.sizes(); err != nil {
			return err
		}
	}
	all := maps.Clone(oldSizes)
	maps.Copy(all, sizes)
	if len(j.turns.unsettled()) > 0 {
		return nil // something is to be settled first
	}
	live := j.base.kept()
	keep, whole := j.turns.within(now, most, all, live)
	if !whole {
		if err := j.lines.rewrite(keep); err != nil {
			return err
		}
	}
	j.store.box.forget(j.dir, now)
	if err := j.store.prune(sizes, live); err != nil || old == nil {
		return err
	}
	for hash, size := range sizes {
		if size == oldSizes[hash]+overhead { // encrypted by now, and whole
			delete(live, hash)
		}
	}
	return old.prune(oldSizes, live)
}

// prune removes the contents that are not live. Nobody else has the journal open.
func (s *store) prune(sizes map[string]int64, live map[string]bool) error {
	for hash := range sizes {
		if !live[hash] {
			_ = os.Remove(s.object(hash)) // the next time, if not now
		}
	}
	return s.prunePacks(live)
}

// sizes are the sizes of all contents by their hash.
func (s *store) sizes() (map[string]int64, error) {
	sizes := map[string]int64{}
	err := filepath.WalkDir(s.objects(), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && name == s.packDir() {
				return filepath.SkipDir
			}
			return skippable(err)
		}
		if info, err := d.Info(); err == nil {
			sizes[filepath.Base(filepath.Dir(name))+d.Name()] = info.Size()
		}
		return nil
	})
	for _, index := range s.indexes() {
		entries, _ := readIndex(index) // of a damaged one nothing is counted, and nothing removed
		for _, e := range entries {
			sizes[hex.EncodeToString(e.hash[:])] = e.size
		}
	}
	return sizes, err
}
