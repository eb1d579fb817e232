package host

import (
	"context"
	"os"
	"path/filepath"
)

// repository is the folder at or above dir that holds .git; dir if there is none.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// expand makes prompts of texts that begin with the name of a command that is a file.
func (h *Host) expand(_ context.Context, text string) (string, error) {
	if len(text) == 0 || text[0] != '/' {
		return text, nil
	}
	expanded, _, err := h.commands().Expand(text)
	return expanded, err
}
