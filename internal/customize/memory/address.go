package memory

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// scheme begins the addresses of the memory.
const scheme = "memory://"

// maxListed is how many files are listed.
const maxListed = 300

// Read gives what an address stands for that is not a file: memory:// lists what there is,
// memory://root is what new sessions of the project are told, memory://user what all are told.
func (m Memory) Read(_ context.Context, address string) (text string, err error) {
	which := strings.TrimRight(strings.TrimPrefix(address, scheme), "/")
	if which == "" {
		return m.list(), nil
	}
	for _, s := range m.Stores() {
		if which == s.name {
			if text := strings.Join(s.told(), "\n\n"); text != "" {
				return text + "\n", nil
			}
			return "Nothing is remembered yet.\n", nil
		}
	}
	return "", fmt.Errorf("%s: write memory://root for the project's memory, memory://user for the user's", address)
}

// list are the addresses of all files.
func (m Memory) list() string {
	var all []string
	for _, s := range m.Stores() {
		_ = s.open(func(files fs.FS) error { // without a store nothing is listed
			return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return fs.SkipDir
				case e.IsDir():
				case len(all) == maxListed:
					all = append(all, "[There are more: use ls or find.]")
					return fs.SkipAll
				default:
					all = append(all, s.Address(name))
				}
				return nil
			})
		})
	}
	if len(all) == 0 {
		return "Nothing is remembered yet.\n"
	}
	return strings.Join(all, "\n") + "\n"
}
