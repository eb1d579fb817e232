package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// boundKeys are the key bindings as keybindings.json says.
type boundKeys struct {
	text     []byte
	bindings *key.Bindings
	problems []error // one line each; the rest of the file holds
	unusable bool    // nothing of the file can be used
}

// keysFile is where a person changes what keys do.
func keysFile(folder string) string { return filepath.Join(folder, "keybindings.json") }

// readBindings reads keybindings.json.
func readBindings(folder string) (k boundKeys) {
	path := keysFile(folder)
	var overrides key.Overrides
	var err error
	switch k.text, err = smallfile.Read(path, smallfile.Settings); {
	case err == nil:
		overrides, k.problems = key.ParseOverrides(filepath.Base(path), k.text) // there is one such file, and a screen is narrow
		k.unusable = len(k.problems) == 1 && errors.Is(k.problems[0], key.ErrNotObject)
	case !errors.Is(err, fs.ErrNotExist):
		k.problems, k.unusable = []error{fmt.Errorf("read the key bindings: %w", err)}, true
	}
	var more []error
	k.bindings, more = key.NewBindings(overrides)
	k.problems = append(k.problems, more...)
	return k
}
