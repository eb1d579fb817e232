package transcript

// OpenFileOn opens a session file by way of other calls than those of the disk.
func OpenFileOn(fs FileSystem, path string) (*FileStore, error) { return openFile(fs, path, false) }

// FileSystem is what a [FileStore] does to the disk.
type FileSystem = fileSystem
