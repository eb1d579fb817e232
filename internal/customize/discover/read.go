package discover

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/burin-dev/burin/internal/jsontext"
)

// maxFile is how much of a file is read; Claude Code keeps much in one.
const maxFile = 8 << 20

// readFile reads a regular file that is small enough.
func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	info, err := os.Stat(path) // before it is opened: a pipe would wait
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s is larger than 8 MB", path)
	}
	return b, err
}

// values are the parts of an object; each is decoded when it is asked for, so that a
// large file costs one pass.
type values map[string]json.RawMessage

// readJSON reads an object, which may hold comments.
func readJSON(path string) (values, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var v values
	if json.Unmarshal(jsontext.Standard(b), &v) != nil {
		return nil, fmt.Errorf("%s is not JSON", path)
	}
	return v, nil
}

// object and text are parts of an object; what is not there, or something else, is
// empty.
func (v values) object(key string) values {
	var o values
	if json.Unmarshal(v[key], &o) != nil {
		return nil
	}
	return o
}

func (v values) text(key string) string {
	var s string
	if json.Unmarshal(v[key], &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}
