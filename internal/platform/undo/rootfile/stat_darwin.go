package rootfile

import (
	"io/fs"
	"syscall"
)

func fillStat(s *Stat, info fs.FileInfo) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.CTime, s.Inode = st.Ctimespec.Nano(), st.Ino
	}
}
