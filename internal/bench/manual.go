package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/burin-dev/burin/docs"
)

// manual is burin's own documentation behind docs://: docs://configuration.md is a page, docs://
// their index.
type manual struct{}

var _ Tree = manual{}

func (manual) read(_ context.Context, address string) (string, error) {
	name, err := page(address)
	if err != nil {
		return "", err
	}
	if name == "." {
		name = "README.md"
	}
	data, err := fs.ReadFile(docs.Files(), name)
	if err != nil {
		return "", noPage(address)
	}
	return string(data), nil
}

// Path implements [Tree]: the pages are in the program.
func (manual) Path(string) string { return "" }

// Open implements [Tree].
func (manual) Open(address string, use func(files fs.FS, name string) error) error {
	name, err := page(address)
	if err != nil {
		return err
	}
	return use(docs.Files(), name)
}

// page is the name of a page, or of a folder of pages. Links in pages lead to parts of others,
// and the end of a name may be missing.
func page(address string) (string, error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(address, "docs://"), "#")
	if name = strings.Trim(name, "/"); name == "" {
		return ".", nil
	}
	for _, name := range []string{name, name + ".md"} {
		if !fs.ValidPath(name) {
			break
		}
		if _, err := fs.Stat(docs.Files(), name); !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
	}
	return "", noPage(address)
}

func noPage(address string) error {
	return fmt.Errorf("%s: no such page; docs:// is the index", address)
}
