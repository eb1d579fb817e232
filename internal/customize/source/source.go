// Package source is the one table of programs whose setup burin takes over: what each is
// called, where it keeps which kind of file, and whose comes first.
//
// [Places] lists where a kind of file may be, in the order in which what is found wins:
// the sources as [All] gives them; of each what the project has before what the user has;
// of a project the nearest folder first. Packages that read a kind of file go over the
// places with [Place.Open] and [Read], which hold a repository to its own folder: a link
// that leads out of it is refused, and so is a file that is too large or not a text.
package source

import (
	"cmp"
	"path/filepath"
	"slices"
)

// Kind is a kind of file that sources have.
type Kind string

// The kinds.
const (
	Commands Kind = "commands" // prompts that are called by name
	Skills   Kind = "skills"   // folders with a SKILL.md
	Rules    Kind = "rules"    // instructions for some files, or for when they matter
	Hooks    Kind = "hooks"    // programs that run at certain moments
)

// Source is a program that keeps such files, burin included.
type Source struct {
	ID   string // as in settings
	Name string // for people

	// home is where the user's files are: a folder below the user's home, or what the
	// variable says.
	home, variable string
	project        map[Kind][]string // below a folder of the project
	user           map[Kind][]string // below home
}

// Options say where to look.
type Options struct {
	Dir       string // the working directory
	Root      string // of the repository: folders from Dir up to it count; "" is Dir alone
	ConfigDir string // burin's own; "" is none
	UserHome  string // "" is none
	// Getenv finds the folders that other programs were told; nil is none.
	Getenv func(string) string
	Off    []string // ids of sources that are switched off
}

// Place is a folder or a file to look into. It need not exist.
type Place struct {
	Source *Source
	Path   string
	// Repository is the folder that a place of a project must not lead out of; "" is a place
	// of the user's.
	Repository string
	// Base is the folder of the project that the place belongs to; "" is a place of the user's.
	Base string
}

// Owner says whose a place is, for people: "Claude Code, project".
func (p Place) Owner() string {
	if p.Repository != "" {
		return p.Source.Name + ", project"
	}
	return p.Source.Name + ", user"
}

// family is a source of the pi family, all of which lay out their folders in the same way.
func family(id, name, folder, variable string) Source {
	in := func(names ...string) []string { return below(folder, names...) }
	return Source{
		ID: id, Name: name, home: folder + "/agent", variable: variable,
		project: map[Kind][]string{Commands: in("commands", "prompts"), Skills: in("skills"), Rules: in("rules")},
		user:    map[Kind][]string{Commands: {"commands", "prompts"}, Skills: {"skills"}, Rules: {"rules"}},
	}
}

// withRules adds the file of rules that always hold, which oh-my-pi has beside the folder.
func withRules(s Source) Source {
	s.project[Rules] = append(s.project[Rules], below(s.project[Rules][0], "../RULES.md")...)
	s.user[Rules] = append(s.user[Rules], "RULES.md")
	return s
}

func below(folder string, names ...string) []string {
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = folder + "/" + n
	}
	return paths
}

// All are the sources in the order in which they win. Folders are those of each program's
// own documentation.
func All() []Source {
	return []Source{
		{
			ID: "burin", Name: "burin", home: ".burin", // Options.ConfigDir wins
			project: map[Kind][]string{
				Commands: {".burin/commands", ".burin/prompts"}, Skills: {".burin/skills"}, Rules: {".burin/rules"}, Hooks: {".burin/hooks.json"},
			},
			user: map[Kind][]string{Commands: {"commands", "prompts"}, Skills: {"skills"}, Rules: {"rules"}, Hooks: {"hooks.json"}},
		},
		withRules(family("oh-my-pi", "oh-my-pi", ".omp", "")),
		family("pi", "pi", ".pi", "PI_CODING_AGENT_DIR"),
		family("arcane", "arcane", ".arcane", ""),
		family("gajae", "gajae", ".gjc", "GJC_CODING_AGENT_DIR"),
		{
			ID: "claude", Name: "Claude Code", home: ".claude", variable: "CLAUDE_CONFIG_DIR",
			project: map[Kind][]string{
				Commands: {".claude/commands"}, Skills: {".claude/skills"}, Rules: {".claude/rules"},
				Hooks: {".claude/settings.json", ".claude/settings.local.json"},
			},
			user: map[Kind][]string{Commands: {"commands"}, Skills: {"skills"}, Rules: {"rules"}, Hooks: {"settings.json"}},
		},
		{
			ID: "codex", Name: "Codex", home: ".codex", variable: "CODEX_HOME",
			project: map[Kind][]string{Commands: {".codex/prompts"}, Skills: {".codex/skills"}, Hooks: {".codex/hooks.json"}},
			user:    map[Kind][]string{Commands: {"prompts"}, Skills: {"skills"}, Hooks: {"hooks.json"}},
		},
		{
			ID: "agents", Name: ".agents", home: ".agents",
			project: map[Kind][]string{Commands: {".agents/commands"}, Skills: {".agents/skills"}, Rules: {".agents/rules", ".agent/rules"}},
			user:    map[Kind][]string{Commands: {"commands"}, Skills: {"skills"}, Rules: {"rules"}},
		},
		{
			ID: "gemini", Name: "Gemini", home: ".gemini",
			project: map[Kind][]string{Commands: {".gemini/commands"}, Skills: {".gemini/skills"}},
			user:    map[Kind][]string{Commands: {"commands"}, Skills: {"skills"}},
		},
		{
			ID: "opencode", Name: "opencode", home: ".config/opencode", // XDG_CONFIG_HOME wins
			project: map[Kind][]string{
				Commands: {".opencode/command", ".opencode/commands"}, Skills: {".opencode/skills", ".opencode/skill"},
			},
			user: map[Kind][]string{Commands: {"command", "commands"}, Skills: {"skills", "skill"}},
		},
		{
			ID: "cursor", Name: "Cursor", home: ".cursor",
			project: map[Kind][]string{Commands: {".cursor/commands"}, Skills: {".cursor/skills"}, Rules: {".cursor/rules"}},
			user:    map[Kind][]string{Commands: {"commands"}, Skills: {"skills"}, Rules: {"rules"}},
		},
		{
			ID: "windsurf", Name: "Windsurf", home: ".codeium/windsurf",
			project: map[Kind][]string{Commands: {".windsurf/workflows"}, Skills: {".windsurf/skills"}, Rules: {".windsurf/rules"}},
			user:    map[Kind][]string{Commands: {"global_workflows"}, Skills: {"skills"}, Rules: {"memories/global_rules.md"}},
		},
		{
			ID: "cline", Name: "Cline", home: ".cline",
			project: map[Kind][]string{Commands: {".clinerules/workflows"}, Skills: {".cline/skills", ".clinerules/skills"}, Rules: {".clinerules", ".cline/rules"}},
			user:    map[Kind][]string{Skills: {"skills"}, Rules: {"rules", "../Documents/Cline/Rules", "../Cline/Rules"}},
		},
		{
			ID: "copilot", Name: "Copilot", home: ".copilot",
			project: map[Kind][]string{Commands: {".github/prompts"}, Skills: {".github/skills"}, Rules: {".github/instructions"}},
			user:    map[Kind][]string{Skills: {"skills"}, Rules: {"copilot-instructions.md", "instructions"}},
		},
	}
}

// IDs are the ids of the sources in their order.
func IDs() []string {
	var ids []string
	for _, s := range All() {
		ids = append(ids, s.ID)
	}
	return ids
}

// folder is where the user's files of a source are; "" if that is not known.
func (o *Options) folder(s *Source) string {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	switch dir := getenv("XDG_CONFIG_HOME"); {
	case s.ID == "burin":
		return o.ConfigDir
	case s.variable != "" && filepath.IsAbs(getenv(s.variable)):
		return getenv(s.variable)
	case s.ID == "opencode" && filepath.IsAbs(dir):
		return filepath.Join(dir, "opencode")
	case o.UserHome == "":
		return ""
	}
	return filepath.Join(o.UserHome, filepath.FromSlash(s.home))
}

// Places lists where files of a kind may be, in the order in which they win. A path is
// listed once.
func Places(o Options, kind Kind) []Place {
	var places []Place
	seen := map[string]bool{}
	add := func(s *Source, repository, base string, parts ...string) {
		if path := filepath.Join(parts...); !seen[path] {
			seen[path] = true
			places = append(places, Place{Source: s, Path: path, Repository: repository, Base: base})
		}
	}
	folders := upward(o.Dir, o.Root)
	for _, s := range All() {
		if slices.Contains(o.Off, s.ID) {
			continue
		}
		for _, dir := range folders {
			for _, name := range s.project[kind] {
				add(&s, folders[len(folders)-1], dir, dir, filepath.FromSlash(name))
			}
		}
		if dir := o.folder(&s); dir != "" {
			for _, name := range s.user[kind] {
				add(&s, "", "", dir, filepath.FromSlash(name))
			}
		}
	}
	return places
}

// upward lists dir and the folders above it up to root, the nearest first.
func upward(dir, root string) []string {
	if dir = cmp.Or(dir, root); dir == "" {
		return nil
	}
	dir = filepath.Clean(dir)
	folders := []string{dir}
	rel, err := filepath.Rel(root, dir)
	if root == "" || err != nil || !filepath.IsLocal(rel) {
		return folders
	}
	for at := dir; at != filepath.Clean(root) && len(folders) < 100; {
		at = filepath.Dir(at)
		folders = append(folders, at)
	}
	return folders
}
