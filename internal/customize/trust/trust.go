// Package trust remembers which things of a project a person has allowed to run or to
// loosen rules: hooks, commands with shell lines, settings that reach out.
//
// A folder that came from somewhere else contributes text. What runs is an [Item], which is
// trusted by its content: a changed file is a new question. The list is the user's, in one
// file outside of every project, so that no project can add itself.
package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/sorting"
)

// Item is something of a project that needs trust.
type Item struct {
	Name string `json:"name"` // of the file, from the project's folder, with slashes
	What string `json:"what"` // for people, such as "2 hooks: go vet, ./check.sh"
	Sum  string `json:"sum"`  // of its content
}

// Sum is the sum of a content.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// State says what a person has decided about an item.
type State string

// The states.
const (
	Unknown State = ""        // nobody was asked yet
	Changed State = "changed" // another content was trusted
	Trusted State = "trusted"
	Refused State = "refused" // this content
)

// Decision is what the list says of one file of a project.
type Decision struct {
	Item
	State State     `json:"state"` // Trusted or Refused
	At    time.Time `json:"at"`
}

// List is the list of a user. It is read when it is asked for, as several processes write
// it.
type List struct {
	file string
	mu   sync.Mutex
}

// Open names the file of the list. It need not exist.
func Open(file string) *List { return &List{file: file} }

// projects is the file: decisions by the path of the project.
type projects map[string][]Decision

func (l *List) read() (projects, error) {
	text, err := smallfile.Read(l.file, smallfile.Table)
	if errors.Is(err, fs.ErrNotExist) {
		return projects{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is trusted: %w", err)
	}
	all := projects{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read what is trusted: %s is not as burin writes it: %w; delete it to be asked again", l.file, err)
	}
	return all, nil
}

// States says what was decided about each item of a project. With an error nothing is
// trusted.
func (l *List) States(project string, items []Item) ([]State, error) {
	states := make([]State, len(items))
	if len(items) == 0 {
		return states, nil
	}
	all, err := l.read()
	if err != nil {
		return states, err
	}
	for i, item := range items {
		states[i] = stateOf(all[filepath.Clean(project)], item)
	}
	return states, nil
}

func stateOf(decisions []Decision, item Item) State {
	at := slices.IndexFunc(decisions, func(d Decision) bool { return d.Name == item.Name })
	switch {
	case at < 0:
		return Unknown
	case decisions[at].Sum == item.Sum:
		return decisions[at].State
	case decisions[at].State == Refused:
		return Unknown
	}
	return Changed
}

// Decide remembers what a person has decided about items of a project: Trusted, Refused,
// or Unknown to forget them.
func (l *List) Decide(project string, state State, items []Item) error {
	project = filepath.Clean(project)
	return l.change(func(all projects) error {
		for _, item := range items {
			all[project] = slices.DeleteFunc(all[project], func(d Decision) bool { return d.Name == item.Name })
			switch state {
			case Trusted, Refused:
				all[project] = append(all[project], Decision{item, state, time.Now().UTC().Truncate(time.Second)})
			case Unknown:
			default:
				return fmt.Errorf("%q is no decision", state)
			}
		}
		sorting.Stable(all[project], func(a, b Decision) int { return strings.Compare(a.Name, b.Name) })
		if len(all[project]) == 0 {
			delete(all, project)
		}
		return nil
	})
}

// Decisions are those about a project, by name.
func (l *List) Decisions(project string) ([]Decision, error) {
	all, err := l.read()
	return all[filepath.Clean(project)], err
}

// change rewrites the file, while no other process does.
func (l *List) change(edit func(projects) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	lock, err := filelock.Take(context.Background(), l.file+".lock") // held for milliseconds
	if err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	defer filelock.Close(lock) //nolint:errcheck // nothing was written to it
	all, err := l.read()
	if err != nil {
		return err
	}
	if err := edit(all); err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	if err := smallfile.Replace(l.file, append(text, '\n')); err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	return nil
}
