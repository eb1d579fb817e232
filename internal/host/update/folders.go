package update

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// known are the folders of an archive that burin finds beside the program, of the same version, each
// with a file of it: the loop of private projects, and what draws diagrams and runs models in the browser.
func known() [][2]string {
	return [][2]string{{"private", "burin.wasm.gz"}, {"web", "mermaid.js.gz"}}
}

// ours reports whether a folder is one of a release, and not one of the user's of the same name.
func ours(folder, file string) bool {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() {
		return false
	}
	for _, name := range []string{file, "version"} {
		if info, err := os.Lstat(filepath.Join(folder, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// beside are the names of those that are there. An update brings no others.
func beside(dir string) (found []string) {
	for _, k := range known() {
		if ours(filepath.Join(dir, k[0]), k[1]) {
			found = append(found, k[0])
		}
	}
	return found
}

// swap puts the folders of stage into the places of those in dir, which are kept as the former ones.
func swap(dir, stage string) (all error) {
	for _, k := range known() {
		now, old, fresh := filepath.Join(dir, k[0]), filepath.Join(dir, k[0]+".old"), filepath.Join(stage, k[0])
		if !ours(fresh, k[1]) || !ours(now, k[1]) {
			continue
		}
		if _, err := os.Lstat(old); err == nil && !ours(old, k[1]) {
			all = errors.Join(all, fmt.Errorf("%s is in the way", old))
			continue
		}
		err := os.RemoveAll(old)
		if err == nil {
			err = os.Rename(now, old)
		}
		if err == nil {
			err = os.Rename(fresh, now)
		}
		all = errors.Join(all, err)
	}
	return all
}

// swapBack puts the former folders in place, and keeps those of this program as the former ones.
func swapBack(dir string) (all error) {
	for _, k := range known() {
		now, old, aside := filepath.Join(dir, k[0]), filepath.Join(dir, k[0]+".old"), filepath.Join(dir, "."+k[0]+"-back")
		if !slices.Contains(beside(dir), k[0]) || !ours(old, k[1]) {
			continue
		}
		err := os.Rename(now, aside)
		if err == nil {
			err = errors.Join(os.Rename(old, now), os.Rename(aside, old))
		}
		all = errors.Join(all, err)
	}
	return all
}
