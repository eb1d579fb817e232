// Package filelock takes advisory locks on open files, so that two processes do
// not write one file. A lock belongs to the open file and ends with it, also when
// the process is killed; readers are never kept out.
package filelock

import "os"

// Try takes the exclusive lock of f unless another open file has it. It does not
// wait. Closing f gives the lock back.
func Try(f *os.File) (bool, error) { return try(f, false) }

// TryShared takes the lock of f together with others that share it, unless another
// open file has it alone.
func TryShared(f *os.File) (bool, error) { return try(f, true) }
