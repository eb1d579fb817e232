// Package timer has the system start a program at times that come again, through what the
// system has for that: systemd's user units, launchd's agents, or the crontab. burin runs no
// daemon of its own.
//
// [Parse] reads times, [Find] says which mechanism this system has, [Add] writes a timer and
// [Remove] removes what Add wrote, and nothing else. What a timer starts is a program with
// arguments; each mechanism has its own rules for quotes, "%" and line ends, and what can't be
// written exactly is refused.
package timer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/prose"
)

// Kind is a mechanism.
type Kind string

// The mechanisms.
const (
	Systemd Kind = "systemd"
	Launchd Kind = "launchd"
	Cron    Kind = "cron"
)

// Kinds are all mechanisms, the preferred one first.
func Kinds() []Kind { return []Kind{Systemd, Launchd, Cron} }

// program is what a mechanism is told with.
func (k Kind) program() string {
	return map[Kind]string{Systemd: "systemctl", Launchd: "launchctl", Cron: "crontab"}[k]
}

// ErrNone means that this system has no mechanism that burin knows.
var ErrNone = errors.New("no timers found: neither systemd's user manager nor launchd nor crontab answers; install cron")

// Find is the mechanism of this system.
func Find(ctx context.Context) (Kind, error) {
	for _, k := range Kinds() {
		if _, err := installed.Find(k.program()); err != nil {
			continue
		}
		if k == Systemd { // many systems have the program without a user manager that runs
			if _, err := tell(ctx, k, "", "--user", "show", "--property=Version"); err != nil {
				continue
			}
		}
		return k, nil
	}
	return "", ErrNone
}

// Job is a timer: a program that starts at certain times.
type Job struct {
	ID      string // small letters and digits
	When    When
	Command []string // the program's absolute path, and its arguments
	Env     []string // NAME=value, added to what the mechanism sets
}

var (
	idForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]{1,32}$`) })
	envForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z_][A-Z0-9_]*=`) })
)

func (j Job) check() error {
	if !idForm().MatchString(j.ID) {
		return fmt.Errorf("timer %q: an id has small letters and digits", j.ID)
	}
	if len(j.Command) == 0 || !filepath.IsAbs(j.Command[0]) {
		return fmt.Errorf("timer %s: the program needs an absolute path", j.ID)
	}
	for _, text := range slices.Concat(j.Command, j.Env) {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("timer %s: %q has a control character, which no timer can hold", j.ID, text)
		}
	}
	for _, e := range j.Env {
		if !envForm().MatchString(e) {
			return fmt.Errorf("timer %s: %q is not NAME=value", j.ID, e)
		}
	}
	return nil
}

// Add writes the timer and turns it on. If that fails, nothing of it stays.
func Add(ctx context.Context, k Kind, getenv func(string) string, j Job) error {
	if err := j.check(); err != nil {
		return err
	}
	if _, err := installed.Find(k.program()); err != nil {
		return fmt.Errorf("add a timer of %s: %w", k, err)
	}
	err := errors.ErrUnsupported
	switch k {
	case Systemd:
		err = addSystemd(ctx, getenv, j)
	case Launchd:
		err = addLaunchd(ctx, getenv, j)
	case Cron:
		err = addCron(ctx, j)
	}
	if err != nil {
		// It may be half there, and that it can't be removed says nothing new.
		_ = Remove(context.WithoutCancel(ctx), k, getenv, j.ID)
		return fmt.Errorf("add a timer of %s: %w", k, err)
	}
	return nil
}

// Remove removes a timer. What is gone already is no error.
func Remove(ctx context.Context, k Kind, getenv func(string) string, id string) error {
	if !idForm().MatchString(id) {
		return fmt.Errorf("timer %q: an id has small letters and digits", id)
	}
	err := errors.ErrUnsupported
	switch k {
	case Systemd:
		err = removeSystemd(ctx, getenv, id)
	case Launchd:
		err = removeLaunchd(ctx, getenv, id)
	case Cron:
		err = removeCron(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("remove a timer of %s: %w", k, err)
	}
	return nil
}

// tell runs the program of a mechanism and gives what it prints.
func tell(ctx context.Context, k Kind, stdin string, args ...string) (string, error) {
	cmd, err := installed.Command(ctx, nil, k.program(), args...)
	if err != nil {
		return "", err
	}
	cmd.Stdin = strings.NewReader(stdin)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return "", &refusal{k.program() + " " + args[0], prose.Row(prose.Line(said.String()), 300), err}
	}
	return string(out), err
}

// refusal is an error of the program of a mechanism.
type refusal struct {
	call, says string
	err        error
}

func (r *refusal) Error() string {
	if r.says == "" {
		return fmt.Sprintf("%s: %v", r.call, r.err)
	}
	return fmt.Sprintf("%s: %s", r.call, r.says)
}

func (r *refusal) Unwrap() error { return r.err }

// write makes a new file of the user's configuration, and its folder where there is none.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // as the mechanisms' own programs make it
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// remove removes files; those that don't exist are no error.
func remove(paths ...string) error {
	var all error
	for _, path := range paths {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// userFolder is the folder that a variable of XDG names, or else the one in the home folder.
func userFolder(getenv func(string) string, variable, otherwise string) (string, error) {
	if dir := getenv(variable); variable != "" && filepath.IsAbs(dir) {
		return dir, nil
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("HOME is not set to a folder")
	}
	return filepath.Join(home, filepath.FromSlash(otherwise)), nil
}
