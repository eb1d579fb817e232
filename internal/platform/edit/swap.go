package edit

import (
	"encoding/json"
	"strings"
)

// Swap is an edit of a single place, for files that are too large to be held: the text to
// find and what takes its place. Line endings are LF.
type Swap struct {
	Old, New string
	Lines    bool // Old begins at the beginning of a line
}

// MaxSwap is the longest text that a [Swap] has on either side, in bytes.
const MaxSwap = 1 << 20

// OneSwap reads an edit that changes one place of one file: a replacement without all, or a
// patch with one hunk that says by its lines alone where it belongs. Any other is a refusal
// that says so.
func OneSwap(e Engine, path string, raw json.RawMessage) (Swap, error) {
	var s Swap
	var ok bool
	var err error
	switch e := e.(type) {
	case replaceEngine:
		s, ok, err = e.swap(raw)
	case patchEngine:
		s, ok, err = e.swap(raw)
	}
	if err != nil {
		return s, err
	}
	if !ok || s.Old == "" || len(s.Old) > MaxSwap || len(s.New) > MaxSwap {
		return s, refuse(path, "has more than %d MB, and of such a file one place is changed at a time, by its exact text of at most %d MB", maxFile>>20, MaxSwap>>20).
			hint("Send one replacement or one hunk, or use a shell command.")
	}
	if s.Old == s.New {
		return s, refuse(path, "old and new are the same")
	}
	if line := elision(path, s.New, s.Old); line != "" {
		return s, refuseElision(path, line)
	}
	return s, nil
}

func (replaceEngine) swap(raw json.RawMessage) (s Swap, ok bool, err error) {
	var args replaceArgs
	if err := decodeArgs(raw, &args); err != nil {
		return s, false, err
	}
	if len(args.Edits) != 1 || args.Edits[0].All {
		return s, false, nil
	}
	return Swap{Old: lf(args.Edits[0].Old), New: lf(args.Edits[0].New)}, true, nil
}

func (patchEngine) swap(raw json.RawMessage) (s Swap, ok bool, err error) {
	sections, err := decodePatch(raw)
	if err != nil {
		return s, false, err
	}
	if len(sections) != 1 || sections[0].op != opUpdate || sections[0].to != "" || len(sections[0].hunks) != 1 {
		return s, false, nil
	}
	h := sections[0].hunks[0]
	if h.atEnd || len(h.headers) > 0 {
		return s, false, nil
	}
	var before, after strings.Builder
	for _, l := range h.lines {
		if l.open || l.unsigned {
			return s, false, nil
		}
		if l.op != '+' {
			before.WriteString(l.text + "\n")
		}
		if l.op != '-' {
			after.WriteString(l.text + "\n")
		}
	}
	return Swap{Old: before.String(), New: after.String(), Lines: true}, true, nil
}
