package lsp

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed servers.json
var servers []byte

// Table are the servers that burin knows, in the order in which they are preferred.
func Table() []Server {
	var all []Server
	if err := json.Unmarshal(servers, &all); err != nil {
		panic(err) // a test reads it
	}
	return all
}

// Serves reports whether a file, by its name or path, is of the types of a server.
func (s *Server) Serves(name string) bool {
	base := filepath.Base(name)
	return slices.ContainsFunc(s.FileTypes, func(t string) bool {
		return base == t || strings.HasPrefix(t, ".") && len(base) > len(t) && strings.EqualFold(base[len(base)-len(t):], t)
	})
}

// marks reports whether a name in a folder makes it a root of the server.
func (s *Server) marks(name string) bool {
	return slices.ContainsFunc(s.RootMarkers, func(m string) bool {
		if strings.ContainsAny(m, "*?[") {
			ok, err := path.Match(m, name)
			return ok && err == nil
		}
		return m == name
	})
}

// RootOf is the folder that a server should work in for a file of a workspace: the outermost one
// with a root marker, so that one process serves all, or else the workspace.
func RootOf(s *Server, workspace, file string) string {
	rel, err := filepath.Rel(workspace, filepath.Dir(file))
	if err != nil || !filepath.IsLocal(rel) {
		return workspace
	}
	dir := workspace
	for _, part := range append([]string{"."}, strings.Split(rel, string(filepath.Separator))...) {
		dir = filepath.Join(dir, part)
		entries, err := os.ReadDir(dir)
		if err != nil {
			break
		}
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return s.marks(e.Name()) }) {
			return dir
		}
	}
	return workspace
}

// maxLooked is how many folders below a workspace are looked into for root markers.
const maxLooked = 32

// names are those of the entries of a workspace and of the folders in it.
func names(workspace string) map[string]bool {
	found := map[string]bool{}
	entries, err := os.ReadDir(workspace)
	if err != nil {
		return found
	}
	looked := 0
	for _, e := range entries {
		found[e.Name()] = true
		if !e.IsDir() || skipped(e.Name()) || looked == maxLooked {
			continue
		}
		looked++
		below, err := os.ReadDir(filepath.Join(workspace, e.Name()))
		if err != nil {
			continue
		}
		for _, e := range below[:min(len(below), 1000)] {
			found[e.Name()] = true
		}
	}
	return found
}

// FindOptions say where programs are looked for.
type FindOptions struct {
	// Look finds a program in PATH, or by its absolute path.
	Look func(name string) (string, error)
	// Project are folders of the project with programs, such as node_modules/.bin.
	Project []string
}

// ProjectFolders are the folders of a project that may have programs.
func ProjectFolders(workspace string) []string {
	var all []string
	for _, dir := range []string{"node_modules/.bin", ".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts", "vendor/bin", "bin"} {
		all = append(all, filepath.Join(workspace, filepath.FromSlash(dir)))
	}
	return all
}

// Find gives those servers of a list that have a project in a workspace and a program on this
// machine. It reads the workspace's folder and those in it, and starts nothing.
func Find(list []Server, workspace string, o FindOptions) []Server {
	there := names(workspace)
	var found []Server
	taken := map[string]bool{}
	for _, s := range list {
		if s.Disabled || s.Instead != "" && taken[s.Instead] || !s.wanted(there) {
			continue
		}
		if !s.find(o) {
			continue
		}
		if s.Instead != "" {
			taken[s.Instead] = true
		}
		found = append(found, s)
	}
	return found
}

// wanted reports whether one of these names is a root marker, or without these of the types.
func (s *Server) wanted(there map[string]bool) bool {
	for name := range there {
		if s.marks(name) || len(s.RootMarkers) == 0 && s.Serves(name) {
			return true
		}
	}
	return false
}

// find looks for the program of a server, first in the project's folders.
func (s *Server) find(o FindOptions) bool {
	if filepath.Base(s.Command) == s.Command {
		for _, dir := range o.Project {
			for _, ending := range executableEndings() {
				path := filepath.Join(dir, s.Command+ending)
				if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && (ending != "" || info.Mode()&0o111 != 0) {
					s.Path, s.Project = path, true
					return true
				}
			}
		}
	}
	path, err := o.Look(s.Command)
	s.Path = path
	return err == nil
}

// file is a file of definitions.
type file struct {
	Servers map[string]json.RawMessage `json:"servers"`
	IdleMS  *int                       `json:"idleTimeoutMs"`
}

// Merge puts the definitions of a file over a list. The file is JSON: an object with "servers",
// or one of servers by name; "idleTimeoutMs" is given back, nil if it isn't there. What a
// definition does not say stays as it is in the list.
func Merge(list []Server, text []byte) (merged []Server, idleMS *int, err error) {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return list, nil, err
	}
	if f.Servers == nil {
		if err := json.Unmarshal(text, &f.Servers); err != nil {
			return list, nil, err
		}
		delete(f.Servers, "idleTimeoutMs")
	}
	merged = slices.Clone(list)
	names := make([]string, 0, len(f.Servers))
	for name := range f.Servers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.IndexFunc(merged, func(s Server) bool { return s.Name == name })
		s := Server{Name: name}
		if i >= 0 {
			s = merged[i]
			s.Args, s.FileTypes, s.RootMarkers = slices.Clone(s.Args), slices.Clone(s.FileTypes), slices.Clone(s.RootMarkers)
		}
		if err := json.Unmarshal(f.Servers[name], &s); err != nil {
			return list, nil, fmt.Errorf("server %s: %w", name, err)
		}
		s.Name, s.Linter = name, s.Linter || s.Format != ""
		switch {
		case s.Disabled && i < 0:
			continue
		case s.Command == "":
			return list, nil, fmt.Errorf("server %s: a command is missing", name)
		case len(s.FileTypes) == 0:
			return list, nil, fmt.Errorf("server %s: fileTypes are missing, such as [\".go\"]", name)
		}
		if _, known := formats()[s.Format]; s.Format != "" && !known {
			return list, nil, fmt.Errorf("server %s: unknown format %q: want %s", name, s.Format, strings.Join(slices.Sorted(maps.Keys(formats())), ", "))
		}
		if i >= 0 {
			merged[i] = s
		} else {
			merged = append([]Server{s}, merged...) // a person's own comes first
		}
	}
	return merged, f.IdleMS, nil
}

// languageID is what the protocol calls the language of a file.
func languageID(path string) string {
	base := filepath.Base(path)
	switch base {
	case "Dockerfile", "Containerfile":
		return "dockerfile"
	case "go.mod", "go.work":
		return base
	case "Makefile":
		return "makefile"
	}
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(base), "."))
	switch ext {
	case "rs":
		return "rust"
	case "h", "c":
		return "c"
	case "cc", "cpp", "cxx", "hh", "hpp", "hxx":
		return "cpp"
	case "m":
		return "objective-c"
	case "mm":
		return "objective-cpp"
	case "ts", "mts", "cts":
		return "typescript"
	case "tsx":
		return "typescriptreact"
	case "js", "mjs", "cjs":
		return "javascript"
	case "jsx":
		return "javascriptreact"
	case "py", "pyi":
		return "python"
	case "rb", "rake", "gemspec":
		return "ruby"
	case "kt", "kts":
		return "kotlin"
	case "sc", "sbt":
		return "scala"
	case "hs", "lhs":
		return "haskell"
	case "ml", "mli":
		return "ocaml"
	case "ex", "exs":
		return "elixir"
	case "erl", "hrl":
		return "erlang"
	case "sh", "bash", "zsh":
		return "shellscript"
	case "cs", "csx":
		return "csharp"
	case "yml":
		return "yaml"
	case "tf", "tfvars":
		return "terraform"
	case "md":
		return "markdown"
	case "tex", "sty", "cls":
		return "latex"
	case "bib":
		return "bibtex"
	case "gql":
		return "graphql"
	case "htm":
		return "html"
	case "tla":
		return "tlaplus"
	case "":
		return "plaintext"
	}
	return ext
}

func executableEndings() []string {
	if filepath.Separator == '\\' {
		return []string{".exe", ".cmd", ".bat"}
	}
	return []string{""}
}
