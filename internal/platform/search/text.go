package search

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// GrepText searches a text that is no file as [Grep] searches one. Matches get
// name as their path; the filter does not count.
func GrepText(ctx context.Context, name string, text io.Reader, o GrepOptions, emit func(Match) bool) (Summary, error) {
	o.Filter = Filter{Paths: []string{textName}, Ignored: true}
	sum, err := Grep(ctx, textFS{text}, o, func(m Match) bool {
		m.Path = name
		return emit(m)
	})
	for i := range sum.Skipped {
		sum.Skipped[i] = name + sum.Skipped[i][len(textName):]
	}
	return sum, err
}

// textFS is a file system of one file, which can be opened once.
type textFS struct{ text io.Reader }

const textName = "text"

func (t textFS) Open(name string) (fs.File, error) {
	info, err := t.Stat(name)
	if err != nil {
		return nil, err
	}
	return textFile{t.text, info}, nil
}

func (t textFS) Stat(name string) (fs.FileInfo, error) {
	switch name {
	case ".":
		return textInfo{name, fs.ModeDir}, nil
	case textName:
		return textInfo{name, 0}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

type textFile struct {
	io.Reader
	info fs.FileInfo
}

func (f textFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (textFile) Close() error                 { return nil }

type textInfo struct {
	name string
	mode fs.FileMode
}

func (i textInfo) Name() string      { return i.name }
func (i textInfo) Mode() fs.FileMode { return i.mode }
func (i textInfo) IsDir() bool       { return i.mode.IsDir() }
func (textInfo) Size() int64         { return 0 }
func (textInfo) ModTime() time.Time  { return time.Time{} }
func (textInfo) Sys() any            { return nil }
