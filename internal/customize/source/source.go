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
	"runtime"
	"slices"
	"sync"
)

// Kind is a kind of file that sources have.
type Kind string

// The kinds that burin uses.
const (
	// Instructions are what the model reads in every session. Of one folder the first file
	// counts, since the others say the same for other programs.
	Instructions Kind = "instructions"
	// Additions are instructions that their programs read besides those.
	Additions Kind = "additions"
	Rules     Kind = "rules"    // instructions for some files, or for when they matter
	Commands  Kind = "commands" // prompts that are called by name
	Skills    Kind = "skills"   // folders with a SKILL.md
	Agents    Kind = "agents"   // who works on a task that a model hands over
	Hooks     Kind = "hooks"    // programs that run at certain moments
	Servers   Kind = "MCP servers"
)

// The kinds that burin finds and does not use yet.
const (
	Hosts      Kind = "SSH hosts"
	Extensions Kind = "extensions"
	Settings   Kind = "settings"
)

// Kinds are all kinds, those that burin uses first.
func Kinds() []Kind {
	return []Kind{Instructions, Additions, Rules, Commands, Skills, Agents, Hooks, Servers, Hosts, Extensions, Settings}
}

// Used reports whether burin uses files of the kind.
func (k Kind) Used() bool { return slices.Index(Kinds(), k) < slices.Index(Kinds(), Hosts) }

// Source is a program that keeps such files, burin included.
type Source struct {
	ID   string // as in settings
	Name string // for people

	// home is where the user's files are: a folder below the user's home, or what the
	// variable says.
	home, variable string
	project        files // below a folder of the project
	user           files // below home
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
	// Withheld says why a file that a repository names, by its absolute path, is kept from the
	// model; "" if it isn't. nil keeps none.
	Withheld func(path string) string
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
	// Named says that settings in the repository name the place, and not burin's table.
	Named    bool
	withheld func(path string) string
}

// Owner says whose a place is, for people: "Claude Code, project".
func (p Place) Owner() string {
	if p.Repository != "" {
		return p.Source.Name + ", project"
	}
	return p.Source.Name + ", user"
}

// files are paths below a folder, by kind.
type files map[Kind][]string

// family is a source of the pi family, all of which lay out their folders in the same way.
func family(id, name, folder, variable string) Source {
	in := func(names ...string) []string { return below(folder, names...) }
	return Source{
		ID: id, Name: name, home: folder + "/agent", variable: variable,
		project: files{
			Instructions: in("AGENTS.md"), Commands: in("commands", "prompts"), Skills: in("skills"), Rules: in("rules"),
			Servers: in("mcp.json"), Agents: in("agents"), Hosts: in("ssh.json"), Extensions: in("extensions"), Settings: in("config.yml", "settings.json"),
		},
		user: files{
			Instructions: {"AGENTS.md"}, Commands: {"commands", "prompts"}, Skills: {"skills"}, Rules: {"rules"},
			Servers: {"mcp.json"}, Agents: {"agents"}, Hosts: {"ssh.json"}, Extensions: {"extensions"}, Settings: {"config.yml", "settings.json"},
		},
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
func All() []Source { return slices.Clone(table()) }

// table is made once: each session and agent that starts asks for it several times. Nobody changes
// what its sources hold.
var table = sync.OnceValue(func() []Source {
	return []Source{
		{
			ID: "burin", Name: "burin", home: ".burin", // Options.ConfigDir wins
			project: files{
				Instructions: {".burin/AGENTS.md"}, Additions: {".burin/APPEND_SYSTEM.md"}, Commands: {".burin/commands", ".burin/prompts"}, Skills: {".burin/skills"},
				Rules: {".burin/rules"}, Agents: {".burin/agents"}, Hooks: {".burin/hooks.json"}, Servers: {".burin/mcp.json"},
			},
			user: files{
				Instructions: {"AGENTS.md", "CLAUDE.md"}, Commands: {"commands", "prompts"}, Skills: {"skills"}, Rules: {"rules"}, Agents: {"agents"}, Hooks: {"hooks.json"}, Servers: {"mcp.json"},
			},
		},
		{
			// Written for any program, which is why they win over those for one.
			ID: "agents-md", Name: "AGENTS.md",
			project: files{Instructions: {"AGENTS.override.md", "AGENTS.md", "AGENT.md", "CONVENTIONS.md"}, Servers: {"mcp.json", ".mcp.json"}, Hosts: {"ssh.json", ".ssh.json"}},
		},
		withRules(family("oh-my-pi", "oh-my-pi", ".omp", "")),
		family("pi", "pi", ".pi", "PI_CODING_AGENT_DIR"),
		family("arcane", "arcane", ".arcane", ""),
		family("gajae", "gajae", ".gjc", "GJC_CODING_AGENT_DIR"),
		{
			ID: "claude", Name: "Claude Code", home: ".claude", variable: "CLAUDE_CONFIG_DIR",
			project: files{
				Instructions: {"CLAUDE.md", ".claude/CLAUDE.md"}, Additions: {"CLAUDE.local.md"},
				Commands: {".claude/commands"}, Skills: {".claude/skills"}, Rules: {".claude/rules"},
				Hooks:  {".claude/settings.json", ".claude/settings.local.json"},
				Agents: {".claude/agents"}, Extensions: {".claude-plugin"}, Settings: {".claude/settings.json", ".claude/settings.local.json"},
			},
			user: files{
				Instructions: {"CLAUDE.md"}, Commands: {"commands"}, Skills: {"skills"}, Rules: {"rules"}, Hooks: {"settings.json"},
				Servers: {"../.claude.json"}, Agents: {"agents"}, Extensions: {"plugins"}, Settings: {"settings.json"},
			},
		},
		{
			ID: "codex", Name: "Codex", home: ".codex", variable: "CODEX_HOME",
			project: files{
				Commands: {".codex/prompts"}, Skills: {".codex/skills"}, Hooks: {".codex/hooks.json", ".codex/config.toml"},
				Servers: {".codex/config.toml"}, Agents: {".codex/agents"}, Settings: {".codex/config.toml"},
			},
			user: files{
				Instructions: {"AGENTS.override.md", "AGENTS.md"}, Commands: {"prompts"}, Skills: {"skills"}, Hooks: {"hooks.json", "config.toml"},
				Servers: {"config.toml"}, Agents: {"agents"}, Settings: {"config.toml"},
			},
		},
		{
			ID: "agents", Name: ".agents", home: ".agents",
			project: files{Commands: {".agents/commands"}, Skills: {".agents/skills"}, Rules: {".agents/rules", ".agent/rules"}, Agents: {".agents/agents"}},
			user:    files{Instructions: {"AGENTS.md"}, Commands: {"commands"}, Skills: {"skills"}, Rules: {"rules"}, Agents: {"agents"}},
		},
		{
			ID: "gemini", Name: "Gemini", home: ".gemini",
			project: files{
				Instructions: {"GEMINI.md", ".gemini/GEMINI.md"}, Commands: {".gemini/commands"}, Skills: {".gemini/skills"}, Hooks: {".gemini/settings.json"},
				Servers: {".gemini/settings.json"}, Agents: {".gemini/agents"}, Extensions: {".gemini/extensions"}, Settings: {".gemini/settings.json"},
			},
			user: files{
				Instructions: {"GEMINI.md"}, Commands: {"commands"}, Skills: {"skills"}, Hooks: {"settings.json"},
				Servers: {"settings.json"}, Agents: {"agents"}, Extensions: {"extensions"}, Settings: {"settings.json"},
			},
		},
		{
			ID: "opencode", Name: "opencode", home: ".config/opencode", // XDG_CONFIG_HOME wins
			project: files{
				Commands: {".opencode/command", ".opencode/commands"}, Skills: {".opencode/skills", ".opencode/skill"},
				Servers: {"opencode.json", "opencode.jsonc"}, Agents: {".opencode/agent", ".opencode/agents"},
				Extensions: {".opencode/plugin", ".opencode/plugins"}, Settings: {"opencode.json", "opencode.jsonc"},
			},
			user: files{
				Instructions: {"AGENTS.md"}, Commands: {"command", "commands"}, Skills: {"skills", "skill"},
				Servers: {"opencode.json", "opencode.jsonc"}, Agents: {"agent", "agents"}, Extensions: {"plugin", "plugins"}, Settings: {"opencode.json", "opencode.jsonc"},
			},
		},
		{
			ID: "cursor", Name: "Cursor", home: ".cursor",
			project: files{
				Additions: {".cursorrules"}, Commands: {".cursor/commands"}, Skills: {".cursor/skills"}, Rules: {".cursor/rules"}, Hooks: {".cursor/hooks.json"},
				Servers: {".cursor/mcp.json"}, Agents: {".cursor/agents"},
			},
			user: files{
				Commands: {"commands"}, Skills: {"skills"}, Rules: {"rules"}, Hooks: {"hooks.json"}, Servers: {"mcp.json"}, Agents: {"agents"},
			},
		},
		{
			ID: "windsurf", Name: "Windsurf", home: ".codeium/windsurf",
			project: files{Additions: {".windsurfrules"}, Commands: {".windsurf/workflows"}, Skills: {".windsurf/skills"}, Rules: {".windsurf/rules"}},
			user: files{
				Commands: {"global_workflows"}, Skills: {"skills"}, Rules: {"memories/global_rules.md"}, Servers: {"mcp_config.json"},
			},
		},
		{
			ID: "cline", Name: "Cline", home: ".cline",
			project: files{Commands: {".clinerules/workflows"}, Skills: {".cline/skills", ".clinerules/skills"}, Rules: {".clinerules", ".cline/rules"}},
			user: files{
				Commands: {"../Documents/Cline/Workflows"}, Skills: {"skills"}, Rules: {"rules", "../Documents/Cline/Rules", "../Cline/Rules"},
				Servers: {"data/settings/cline_mcp_settings.json"},
			},
		},
		{
			ID: "copilot", Name: "Copilot", home: ".copilot",
			project: files{
				Additions: {".github/copilot-instructions.md"}, Commands: {".github/prompts"}, Skills: {".github/skills"}, Rules: {".github/instructions"},
				Agents: {".github/agents", ".github/chatmodes"},
			},
			user: files{
				Skills: {"skills"}, Rules: {"copilot-instructions.md", "instructions"}, Servers: {"mcp-config.json"}, Agents: {"agents"},
			},
		},
		{
			// Folders of rules and prompts that its settings name join these; see settings.go.
			ID: "vscode", Name: "VS Code", home: ".config/Code/User", // elsewhere on macOS and Windows
			project: files{Servers: {".vscode/mcp.json"}, Settings: {".vscode/settings.json"}},
			user:    files{Commands: {"prompts"}, Rules: {"prompts"}, Servers: {"mcp.json"}, Settings: {"settings.json"}},
		},
	}
})

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
	case o.UserHome == "" || s.home == "":
		return ""
	case s.ID == "vscode" && runtime.GOOS == "darwin":
		return filepath.Join(o.UserHome, "Library", "Application Support", "Code", "User")
	case s.ID == "vscode" && runtime.GOOS == "windows":
		return filepath.Join(o.UserHome, "AppData", "Roaming", "Code", "User")
	}
	return filepath.Join(o.UserHome, filepath.FromSlash(s.home))
}

// Places lists where files of a kind may be, in the order in which they win. A path is
// listed once.
func Places(o Options, kind Kind) []Place {
	var places []Place
	seen := map[string]bool{}
	add := func(s *Source, repository, base string, parts ...string) *Place {
		path := filepath.Join(parts...)
		if seen[path] {
			return new(Place)
		}
		seen[path] = true
		places = append(places, Place{Source: s, Path: path, Repository: repository, Base: base, withheld: o.Withheld})
		return &places[len(places)-1]
	}
	folders := upward(o.Dir, o.Root)
	for _, s := range All() {
		if slices.Contains(o.Off, s.ID) {
			continue
		}
		for _, dir := range folders {
			for _, name := range s.project[kind] {
				if kind == Additions && filepath.Dir(filepath.Join(dir, filepath.FromSlash(name))) == o.ConfigDir {
					continue // the user's own, which is no instruction file
				}
				add(&s, folders[len(folders)-1], dir, dir, filepath.FromSlash(name))
			}
			for _, path := range named(&s, kind, folders[len(folders)-1], dir, o.UserHome) {
				add(&s, folders[len(folders)-1], dir, path).Named = true
			}
		}
		if dir := o.folder(&s); dir != "" {
			for _, name := range s.user[kind] {
				add(&s, "", "", dir, filepath.FromSlash(name))
			}
			for _, path := range named(&s, kind, "", dir, o.UserHome) {
				add(&s, "", "", path)
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
