package filelock

import "os"

// A browser has no files of other processes.
func try(*os.File, bool) (bool, error) { return true, nil }

func release(*os.File) {}
