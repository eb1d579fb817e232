package session

import (
	"context"
	"errors"
)

// Languages are the language servers of the session's folder, and the linters that burin runs like
// them. Sessions of a process in the same folder share them.
type Languages interface {
	// List returns those that run or may be started, by name.
	List(ctx context.Context) ([]LanguageServer, error)
	// Log returns the end of what a server wrote to its log, at most 32 KB; "" if it wrote nothing.
	Log(ctx context.Context, id string) (string, error)
	// Restart ends a server and forgets its failures. The next request, or the next edit, starts it.
	Restart(ctx context.Context, id string) error
}

// LanguageServer is a language server and its state.
type LanguageServer struct {
	// ID is the name, followed by ":" and the folder where that isn't the session's.
	ID   string `json:"id"`
	Name string `json:"name"`
	Root string `json:"root"` // absolute path of the folder it works in
	Path string `json:"path"` // of the program
	// State is stopped, starting, running, failed, or on call for a linter that is run for each
	// file.
	State     string   `json:"state"`
	PID       int      `json:"pid,omitempty"`    // of the guard that it runs under
	Memory    int64    `json:"memory,omitempty"` // bytes, with what it started; 0 is unknown
	Starts    int      `json:"starts"`           // how often the program was started
	Documents int      `json:"documents"`        // open ones
	Errors    int      `json:"errors"`           // diagnostics that are errors
	Work      []string `json:"work,omitempty"`   // what it is busy with
	Error     string   `json:"error,omitempty"`  // why it failed last
}

var errNoLanguages = errors.New("this session has no language servers")

// languages is the handle's view of them, without secrets.
type languages struct {
	of   Languages // nil if there are none
	hide func(string) string
}

// List implements [Languages].
func (l languages) List(ctx context.Context) ([]LanguageServer, error) {
	if l.of == nil {
		return nil, nil
	}
	all, err := l.of.List(ctx)
	for i := range all {
		all[i].Error = l.hide(all[i].Error)
		for k := range all[i].Work {
			all[i].Work[k] = l.hide(all[i].Work[k])
		}
	}
	return all, err
}

// Log implements [Languages].
func (l languages) Log(ctx context.Context, id string) (string, error) {
	if l.of == nil {
		return "", errNoLanguages
	}
	text, err := l.of.Log(ctx, id)
	return l.hide(text), err
}

// Restart implements [Languages].
func (l languages) Restart(ctx context.Context, id string) error {
	if l.of == nil {
		return errNoLanguages
	}
	return l.of.Restart(ctx, id)
}
