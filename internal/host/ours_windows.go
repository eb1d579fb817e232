package host

import "os"

// ours reports true: on Windows, who may write where is not told by a file's owner.
func ours(os.FileInfo) bool { return true }
