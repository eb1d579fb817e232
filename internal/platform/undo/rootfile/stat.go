package rootfile

import "io/fs"

// Stat is what the system knows of a file without reading it. Two equal values
// at different times mean the same contents, unless the file was changed again
// within the resolution of its clock.
type Stat struct {
	Mode  fs.FileMode
	Size  int64
	MTime int64 // nanoseconds
	CTime int64 // of the last change of contents or attributes; 0 where unknown
	Inode uint64
}

// StatOf gives the stat of a file that was looked up.
func StatOf(info fs.FileInfo) Stat {
	s := Stat{Mode: info.Mode(), Size: info.Size(), MTime: info.ModTime().UnixNano()}
	fillStat(&s, info)
	return s
}
