package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// readBindings reads keybindings.json. What is wrong with it is said, one line each;
// the rest of it holds.
func (a *app) readBindings() (*key.Bindings, []error) {
	path := filepath.Join(a.o.Paths.Config, "keybindings.json")
	data, err := os.ReadFile(path)
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

// setRole gives a role a model, or none.
func (a *app) setRole(role, ref string) error {
	var err error
	if ref == "" {
		err = config.Unset(a.o.Paths.Config, "modelRoles."+role)
	} else {
		err = config.Set(a.o.Paths.Config, "modelRoles."+role, ref)
	}
	if err == nil {
		a.o.Host.Reload()
	}
	return err
}
