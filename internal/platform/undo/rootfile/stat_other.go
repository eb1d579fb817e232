//go:build unix && !linux && !darwin

package rootfile

import "io/fs"

func fillStat(*Stat, fs.FileInfo) {}
