package credential

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
)

// environ reads variables from the process and, for those it does not have,
// from .env files. A variable that is set but blank counts as not set.
//
// Decision: only files of the user's own are read (<home>/.env and ~/.env),
// never the .env of the working directory. A repository that was just cloned
// must not choose whose account a conversation goes to.
type environ struct {
	lookup func(string) (string, bool)
	files  []string

	once sync.Once
	vars map[string]fileVar
}

type fileVar struct{ value, file string }

// get is the trimmed value and, if it came from a file, the file's path. It is
// "" if the variable is not set.
func (e *environ) get(name string) (value, file string) {
	if v, ok := e.lookup(name); ok {
		if v = strings.TrimSpace(v); v != "" {
			return v, ""
		}
	}
	e.once.Do(e.load)
	v := e.vars[name]
	return v.value, v.file
}

// load reads the files, once, when the process does not have a variable. Each
// fills in only what those before it left open.
func (e *environ) load() {
	e.vars = map[string]fileVar{}
	for _, path := range e.files {
		f, err := os.Open(path)
		if err != nil {
			continue // most people have none
		}
		for _, pair := range parseEnv(f) {
			if _, ok := e.vars[pair[0]]; !ok && pair[1] != "" {
				e.vars[pair[0]] = fileVar{pair[1], path}
			}
		}
		f.Close()
	}
}

// on says whether a flag variable is on. Only these words turn one on.
func (e *environ) on(name string) bool {
	v, _ := e.get(name)
	switch v {
	case "1", "Y", "y", "true", "TRUE", "yes", "YES", "on", "ON":
		return true
	}
	return false
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// parseEnv reads the lines NAME=value of a .env file: blank lines and comments
// are skipped, as is what is no assignment; one pair of quotes is taken off; there is
// no "export", no expansion and no escape. Values with a NUL are dropped.
func parseEnv(r io.Reader) [][2]string {
	var out [][2]string
	s := bufio.NewScanner(io.LimitReader(r, 1<<20))
	s.Buffer(make([]byte, 0, 4096), 1<<20)
	for s.Scan() {
		line := bytes.TrimSpace(bytes.TrimPrefix(s.Bytes(), []byte("\xEF\xBB\xBF")))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(string(line), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !envName.MatchString(name) || strings.ContainsRune(value, 0) {
			continue
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		out = append(out, [2]string{name, value})
	}
	return out
}
