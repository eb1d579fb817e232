//go:build !linux

package search

// openTree opens a directory for a search.
func openTree(dir string) (tree, error) { return openRootTree(dir) }
