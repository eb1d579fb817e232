package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// readBindings reads keybindings.json. What is wrong with it is said, one line each;
// the rest of it holds.
func readBindings(folder string) (*key.Bindings, []error) {
	path := filepath.Join(folder, "keybindings.json")
	data, err := smallfile.Read(path, smallfile.Settings)
	if err != nil {
		b, problems := key.NewBindings(nil)
		if !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Errorf("read the key bindings: %w", err))
		}
		return b, problems
	}
	overrides, problems := key.ParseOverrides(data)
	b, more := key.NewBindings(overrides)
	problems = append(problems, more...)
	for i, p := range problems {
		problems[i] = fmt.Errorf("keybindings.json: %w", p)
	}
	return b, problems
}
