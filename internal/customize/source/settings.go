package source

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/burin-dev/burin/internal/jsontext"
)

// Limits of what settings of programs may name.
const (
	maxNamed   = 50  // files and folders of one file of settings
	maxFolders = 500 // that a glob looks into
)

// named are the paths of a kind that a program's own settings name: opencode's instructions,
// and the folders of instructions and prompts of VS Code. dir is the folder of the settings.
// Those of a project can't name what is outside of the project. Settings that cannot be read
// name nothing.
func named(s *Source, kind Kind, repository, dir, home string) (paths []string) {
	switch {
	case s.ID == "opencode" && kind == Additions:
		for _, name := range []string{"opencode.json", "opencode.jsonc"} {
			var settings struct {
				Instructions []string `json:"instructions"`
			}
			if readSettings(repository, filepath.Join(dir, name), &settings) == nil {
				paths = append(paths, expand(settings.Instructions, repository, dir, home)...)
			}
		}
	case s.ID == "vscode" && (kind == Rules || kind == Commands || kind == Additions):
		var settings struct {
			Rules     map[string]bool `json:"chat.instructionsFilesLocations"`
			Commands  map[string]bool `json:"chat.promptFilesLocations"`
			Additions []struct {
				File string `json:"file"`
			} `json:"github.copilot.chat.codeGeneration.instructions"`
		}
		file := filepath.Join(dir, "settings.json")
		if repository != "" {
			file = filepath.Join(dir, ".vscode", "settings.json")
		}
		if readSettings(repository, file, &settings) != nil {
			return nil
		}
		var names []string
		switch folders := map[Kind]map[string]bool{Rules: settings.Rules, Commands: settings.Commands}[kind]; {
		case kind == Additions:
			for _, a := range settings.Additions {
				names = append(names, a.File)
			}
		default:
			maps.DeleteFunc(folders, func(_ string, on bool) bool { return !on })
			names = slices.Sorted(maps.Keys(folders))
		}
		paths = expand(names, repository, dir, home)
	}
	return paths[:min(len(paths), maxNamed)]
}

func readSettings(repository, file string, settings any) error {
	text, err := Place{Path: file, Repository: repository}.ReadFile()
	if err != nil {
		return err
	}
	return json.Unmarshal(jsontext.Standard([]byte(text)), settings)
}

// expand makes absolute paths of names and globs.
func expand(names []string, repository, dir, home string) (paths []string) {
	for _, name := range names {
		name = filepath.ToSlash(strings.TrimSpace(name))
		below, ofHome := strings.CutPrefix(name, "~/")
		from := dir
		switch {
		case name == "" || strings.Contains(name, "://"):
			continue
		case ofHome:
			from, name = home, below
		case filepath.IsAbs(filepath.FromSlash(name)):
			from, name = "/", strings.TrimPrefix(name, "/")
		}
		name = path.Clean(name)
		if from == "" || !filepath.IsLocal(filepath.FromSlash(name)) || repository != "" && from != dir {
			continue
		}
		if !strings.ContainsAny(name, "*?[{") {
			paths = append(paths, filepath.Join(from, filepath.FromSlash(name)))
			continue
		}
		found, err := doublestar.Glob(&bounded{FS: os.DirFS(from), left: maxFolders}, name, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err != nil {
			continue // not a glob
		}
		for _, f := range found {
			paths = append(paths, filepath.Join(from, filepath.FromSlash(f)))
		}
	}
	return paths
}

// bounded is a tree of which only some folders are looked into, and none of dependencies.
type bounded struct {
	fs.FS
	left int
}

func (b *bounded) ReadDir(name string) ([]fs.DirEntry, error) {
	if base := path.Base(name); b.left <= 0 || base == "node_modules" || base == ".git" {
		return nil, nil
	}
	b.left--
	return fs.ReadDir(b.FS, name)
}
