package external

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/installed"
)

// command is the program to start, found, and its arguments.
func (o Options) command() ([]string, error) {
	getenv := o.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	for _, name := range []string{"VISUAL", "EDITOR"} {
		value := strings.TrimSpace(getenv(name))
		if value == "" {
			continue
		}
		if path, err := o.find(value); err == nil { // a path with spaces, too
			return waiting([]string{path}), nil
		}
		command, err := words(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: set it to a program and its arguments", name, err)
		}
		path, err := o.find(command[0])
		if errors.Is(err, installed.ErrPlanted) {
			return nil, fmt.Errorf("the editor of %s: %w", name, err)
		}
		if err != nil {
			return nil, fmt.Errorf("the editor %q of %s was not found: set %s to one that is installed", command[0], name, name)
		}
		command[0] = path
		return waiting(command), nil
	}
	fallback := []string{"nano", "vi"}
	if runtime.GOOS == "windows" {
		fallback = []string{"notepad"}
	}
	for _, name := range fallback {
		if path, err := o.find(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, errors.New("no editor set: set VISUAL or EDITOR, for example VISUAL=vim")
}

// find keeps links: some editors behave as they are called.
func (o Options) find(name string) (string, error) { return installed.Path(name, o.Writable...) }

// waiting adds --wait to editors with windows that end at once without it: the text
// would be taken over before it is edited.
func waiting(command []string) []string {
	name := strings.ToLower(filepath.Base(command[0]))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
	known := []string{"code", "code-insiders", "codium", "cursor", "windsurf", "zed", "zeditor", "subl"}
	if !slices.Contains(known, name) || slices.Contains(command, "--wait") || slices.Contains(command, "-w") {
		return command
	}
	return append(command, "--wait")
}

// words takes a command apart as a shell does: spaces, both quotes and, but on
// Windows, backslashes. Nothing is expanded.
func words(s string) (list []string, err error) {
	var word strings.Builder
	var quote rune
	in, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'' && runtime.GOOS != "windows":
			escaped, in = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if in {
				list = append(list, word.String())
			}
			word.Reset()
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("missing closing quote")
	}
	if in {
		list = append(list, word.String())
	}
	if len(list) == 0 || list[0] == "" {
		return nil, errors.New("no program named")
	}
	return list, nil
}
