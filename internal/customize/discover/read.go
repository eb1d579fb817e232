package discover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/platform/smallfile"
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
	if json.Unmarshal(b, &v) == nil {
		return v, nil
	}
	var loose map[string]any
	if err := smallfile.CheckNesting(b); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	if err = yaml.Unmarshal(withoutComments(b), &loose); err == nil {
		if b, err = json.Marshal(loose); err == nil {
			err = json.Unmarshal(b, &v)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not JSON", path)
	}
	return v, nil
}

// withoutComments blanks the comments of JSON; the rest of it is YAML, commas before
// closing brackets included.
func withoutComments(b []byte) []byte {
	out := bytes.ToValidUTF8(b, []byte("\uFFFD"))
	blank := func(from, n int) int {
		for i := from; i < from+n; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
		return n
	}
	for i := 0; i < len(out); {
		rest := out[i:]
		switch {
		case rest[0] == '"':
			i += quoted(rest)
		case bytes.HasPrefix(rest, []byte("//")):
			l, _, _ := bytes.Cut(rest, []byte("\n"))
			i += blank(i, len(l))
		case bytes.HasPrefix(rest, []byte("/*")):
			n := len(rest)
			if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
				n = end + 4
			}
			i += blank(i, n)
		case rest[0] == '\t':
			i += blank(i, 1)
		default:
			i++
		}
	}
	return out
}

// quoted is the length of the string that b begins with.
func quoted(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
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
