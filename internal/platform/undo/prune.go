package undo

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
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
	if j.inUse == nil {
		return nil
	}
	marker := filepath.Join(j.dir, "tidied")
	if info, err := os.Stat(marker); err == nil && now.Sub(info.ModTime()) < tidyEvery {
		return nil
	}
	_ = j.inUse.Close() // our own share is in the way
	f, err := os.OpenFile(j.inUse.Name(), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("tidy the undo journal: %w", err)
	}
	j.inUse = f
	if alone, err := filelock.Try(f); err != nil || !alone {
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
	if err := j.read(); err != nil {
		return err
	}
	sizes, err := j.objects()
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pending) > 0 {
		return nil // something is to be settled first
	}
	live := map[string]bool{}
	tree := map[string]entry{}
	if data, err := os.ReadFile(j.cachePath()); err == nil {
		tree, _ = decodeTree(data) // a damaged one is not used either
	}
	for _, e := range tree {
		live[e.state.Hash] = true
	}
	var keep []*Turn
	total := int64(0)
	newestFirst := slices.Clone(j.turns)
	slices.SortStableFunc(newestFirst, func(a, b *Turn) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	for _, t := range newestFirst {
		own := map[string]bool{}
		for _, c := range t.Changes {
			for _, s := range []State{c.Before, c.After} {
				if size, ok := sizes[s.Hash]; ok && !live[s.Hash] && !own[s.Hash] {
					own[s.Hash] = true
					total += size
				}
			}
		}
		if now.Sub(t.Time) > MaxAge || total > most {
			break
		}
		for hash := range own {
			live[hash] = true
		}
		keep = append(keep, t)
	}
	if len(keep) < len(j.turns) {
		slices.Reverse(keep)
		if err := j.rewrite(keep); err != nil {
			return err
		}
	}
	for hash := range sizes {
		if !live[hash] {
			_ = os.Remove(j.object(hash)) // the next time, if not now
		}
	}
	return j.prunePacks(live)
}

// objects are the sizes of all contents by their hash.
func (j *Journal) objects() (map[string]int64, error) {
	sizes := map[string]int64{}
	top := filepath.Join(j.dir, "objects")
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && name == j.packDir() {
				return filepath.SkipDir
			}
			return skippable(err)
		}
		if info, err := d.Info(); err == nil {
			sizes[filepath.Base(filepath.Dir(name))+d.Name()] = info.Size()
		}
		return nil
	})
	for _, index := range j.indexes() {
		entries, _ := readIndex(index) // of a damaged one nothing is counted, and nothing removed
		for _, e := range entries {
			sizes[hex.EncodeToString(e.hash[:])] = e.size
		}
	}
	return sizes, err
}

// rewrite replaces the journal by one of these turns.
func (j *Journal) rewrite(turns []*Turn) error {
	f, err := os.CreateTemp(j.dir, "journal-")
	if err != nil {
		return err
	}
	out := json.NewEncoder(f)
	for _, t := range turns {
		undone := t.Undone
		l := line{Turn: t.ID, Key: t.key, Session: t.Session, Label: t.Label, Time: t.Time, Changes: t.Changes, Undone: &undone}
		l.Over = slices.Sorted(maps.Keys(t.over))
		for p, f := range t.fates {
			if f == fateTaken {
				l.Taken = append(l.Taken, p)
			} else {
				l.Gone = append(l.Gone, p)
			}
		}
		if err == nil {
			err = out.Encode(l)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), j.path())
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
