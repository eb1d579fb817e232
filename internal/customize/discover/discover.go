// Package discover finds what a machine already has for a program like burin: keys in
// the environment, model servers that run, and what other programs keep. The first-run
// wizard shows it and offers to take it over.
//
// [Setups] gives a [Finding] for each; those that are importable have a function that
// takes them over. What it promises:
//
//   - Values of keys are neither kept nor told. A finding names the variable or the
//     file; its import reads the file again.
//   - No server outside of this machine is asked: connections that would leave the
//     loopback interface are refused.
//   - Nothing is written before an import is called, and an import overwrites nothing.
//   - A login by OAuth belongs to the program that made it and is not taken over; only
//     plain API keys are, into burin's sealed store.
//   - Files of others are read up to 8 MB, and none fails the search: what cannot be read
//     is not found.
package discover

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

// Kind is what was found.
type Kind string

// The kinds, in the order in which findings are listed.
const (
	Environment   Kind = "environment"   // a key in a variable; it is used as it is
	Server        Kind = "server"        // a model server on this machine; it is used as it is
	Keys          Kind = "keys"          // API keys that another program keeps
	Login         Kind = "login"         // of another program, by OAuth
	Models        Kind = "models"        // a file of models
	Bindings      Kind = "bindings"      // a file of keybindings
	Themes        Kind = "themes"        // files of themes
	Instructions  Kind = "instructions"  // such as CLAUDE.md
	Conversations Kind = "conversations" // sessions
	MCP           Kind = "mcp"           // servers of tools
	Settings      Kind = "settings"      // anything else; named so that nobody looks for it
)

// Finding is one thing that was found.
type Finding struct {
	Kind    Kind
	Program string // whose it is, "" for the environment
	What    string // one line for people; parts of it are data of others
	Path    string // of the file or folder, the variable, or the server's address
	// Providers are those it is a credential or server for.
	Providers []string
	Models    int // of a server, that it has
	// Importable says that Import takes it over. The report is one line.
	Importable bool
	Import     func(ctx context.Context) (report string, err error)
}

// Store keeps keys.
type Store interface {
	// SetKey stores the API key of a provider; added is false for one that is stored
	// already.
	SetKey(ctx context.Context, provider, label, key string) (added bool, err error)
}

// Kept is a place with conversations of another program.
type Kept struct {
	Program, Path string
	Count         int
}

// Options say where to look.
type Options struct {
	UserHome  string
	ConfigDir string // burin's own, where imports go; "" makes copies impossible
	Getenv    func(string) string
	// Variables are those that may hold the key of a provider.
	Variables func(provider string) []string
	// Store takes keys; nil leaves them where they are.
	Store Store
	// Conversations are places with sessions; nil is none.
	Conversations func() []Kept
}

// search is one search.
type search struct {
	o       Options
	catalog *catalog.Catalog
	found   []Finding
}

// Setups looks around. It takes a third of a second at most where no server answers,
// and ends early with ctx.
func Setups(ctx context.Context, o Options) []Finding {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	s := &search{o: o}
	// Without a folder models.yml is not read: it may name servers elsewhere.
	s.catalog, _ = catalog.Open(catalog.Options{Getenv: o.Getenv, Client: loopbackClient()})
	servers := make(chan []Finding, 1)
	go func() { servers <- s.servers(ctx) }()
	s.environment()
	for _, look := range []func(){s.claude, s.codex, s.gemini, s.opencode, s.pi, s.aider, s.continues, s.conversations} {
		if ctx.Err() == nil {
			look()
		}
	}
	s.found = append(s.found, <-servers...)
	order := []Kind{Environment, Server, Keys, Login, Models, Bindings, Themes, Instructions, Conversations, MCP, Settings}
	sorting.Stable(s.found, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return s.found
}

func (s *search) add(f Finding) {
	f.Importable = f.Import != nil
	s.found = append(s.found, f)
}

// home is a path below the home folder, or below the folder of a variable.
func (s *search) home(variable, standard string) string {
	if variable != "" {
		if dir := s.o.Getenv(variable); filepath.IsAbs(dir) {
			return dir
		}
	}
	if s.o.UserHome == "" {
		return ""
	}
	return filepath.Join(s.o.UserHome, filepath.FromSlash(standard))
}

// environment finds keys in variables.
func (s *search) environment() {
	if s.o.Variables == nil {
		return
	}
	ids := append(s.catalog.Registry.Providers(), catalog.LocalProviders()...)
	at := map[string]int{}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		for _, name := range s.o.Variables(id) {
			if strings.TrimSpace(s.o.Getenv(name)) == "" {
				continue
			}
			if n, ok := at[name]; ok {
				s.found[n].Providers = append(s.found[n].Providers, id)
				continue
			}
			at[name] = len(s.found)
			s.add(Finding{Kind: Environment, Path: name, Providers: []string{id}})
		}
	}
	for name, n := range at {
		s.found[n].What = "The variable " + name + " is set, for " + listed(s.found[n].Providers) + "."
	}
}

// conversations tells how to bring sessions here.
func (s *search) conversations() {
	if s.o.Conversations == nil {
		return
	}
	for _, k := range s.o.Conversations() {
		s.add(Finding{
			Kind: Conversations, Program: k.Program, Path: k.Path,
			What: prose.Count(k.Count, "conversation") + `; "burin sessions import --from-all" brings them here.`,
		})
	}
}

// exists reports whether something is at a path.
func exists(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

// isFile reports whether a path is a regular file.
func isFile(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// under joins a folder that may be unknown with names in it.
func under(dir string, names ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, names...)...)
}
