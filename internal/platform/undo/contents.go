package undo

import (
	"context"
	"slices"
)

// Content is what a turn found in a file and what it left there. Nil is no file.
type Content struct {
	Path          string
	Before, After []byte
	Why           string // why the contents are not known; "" if they are
}

// maxContent is how many bytes of one side are read.
const maxContent = 4 << 20

// Contents gives what a turn found and left, sorted by path, in the direction in which the turn went,
// also if it is undone. Folders, links and what belongs to git are left out.
func (j *Journal) Contents(ctx context.Context, id string) ([]Content, error) {
	j.lines.refresh()
	changes, err := j.turns.changes(id)
	if err != nil {
		return nil, err
	}
	var all []Content
	for _, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if isGit(c.Path) || !slices.Contains([]string{c.Before.Kind, c.After.Kind}, "file") {
			continue
		}
		one := Content{Path: c.Path}
		if one.Before, err = j.store.content(c.Before); err == nil {
			one.After, err = j.store.content(c.After)
		}
		if err != nil {
			one = Content{Path: c.Path, Why: err.Error()}
		}
		all = append(all, one)
	}
	return all, nil
}

// content is what a state's file holds; nil: it is no file.
func (s *store) content(is State) ([]byte, error) {
	if is.Kind != "file" {
		return nil, nil
	}
	if is.Lost != "" {
		return nil, lostError(is.Lost)
	}
	data, err := s.Get(is.Hash)
	if err == nil && len(data) > maxContent {
		err = lostError("it is too large to be shown")
	}
	if data == nil { // empty, and yet a file
		data = []byte{}
	}
	return data, err
}

// lostError says why contents are not known.
type lostError string

func (e lostError) Error() string { return string(e) }
