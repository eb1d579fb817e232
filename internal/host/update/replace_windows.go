package update

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const asAdministrator = "run burin update as an administrator"

func readOnly(error) bool { return false }

// replace puts the program at file in the place of exe, which is kept at old. A program
// that runs cannot be removed or overwritten, but renamed.
func replace(exe, file, old string) error {
	if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("a burin still runs from %s: end it and try again", filepath.Base(old))
	}
	if err := os.Rename(exe, old); err != nil {
		return err
	}
	if err := os.Rename(file, exe); err != nil {
		return errors.Join(err, os.Rename(old, exe))
	}
	return nil
}
