package undo

import (
	"os"
	"time"
)

// KeepIgnored sets how many files of ignored folders are kept.
func (j *Journal) KeepIgnored(n int) { j.folder.mostIgnored = n }

// PackFrom sets how many contents a look keeps in files of their own.
func (j *Journal) PackFrom(n int) { j.store.packFrom = n }

// Plain keeps contents as they are, as journals did at first.
func (j *Journal) Plain() { j.store.box = &box{} }

// Prune forgets turns beyond the limits as of now.
func (j *Journal) Prune(now time.Time, most int64) error { return j.prune(now, most) }

// Tidy is what Close does first.
func (j *Journal) Tidy(now time.Time) error { return j.tidy(now) }

// Torn reports whether data is on the way from old to new.
func Torn(old, new, data []byte) bool { return torn(old, new, data) }

// IndexContents reads an index of git.
func IndexContents(data []byte) (string, error) { return indexContents(data) }

// Parse tries the parsers of what comes from disk, and reports whether what they
// read is written the same.
func Parse(data []byte) bool {
	_, _ = parseLine(data)
	_, _ = parseRef(data)
	_, _ = parsePackedRefs(data)
	_, _ = indexContents(data)
	if index, err := decodeIndex(data); err == nil {
		for _, p := range index {
			_, _ = p.read(os.DevNull)
		}
	}
	tree, err := decodeTree(data)
	if err != nil {
		return true
	}
	again, err := decodeTree(encodeTree(tree))
	return err == nil && len(again) <= len(tree)
}

// Kill lets the journal go as the end of the process does.
func (i *Intent) Kill() { i.release() }
