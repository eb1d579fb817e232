package discover

import (
	"bufio"
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// claude looks at Claude Code.
func (s *search) claude() {
	const program = "Claude Code"
	dir := s.home("CLAUDE_CONFIG_DIR", ".claude")
	main := s.home("", ".claude.json")
	if s.o.Getenv("CLAUDE_CONFIG_DIR") != "" {
		main = under(dir, ".claude.json")
	}
	settings := under(dir, "settings.json")
	s.keys(keyFile{program, main, func(path string) (map[string]string, error) {
		v, err := readJSON(path)
		return map[string]string{"anthropic": v.text("primaryApiKey")}, err
	}})
	s.keys(keyFile{program, settings, func(path string) (map[string]string, error) {
		v, err := readJSON(path)
		return map[string]string{"anthropic": v.object("env").text("ANTHROPIC_API_KEY")}, err
	}})
	if path := under(dir, ".credentials.json"); exists(path) {
		s.login(program, path)
	} else if v, err := readJSON(main); err == nil && v.object("oauthAccount") != nil {
		s.login(program, main)
	}
	s.instructions(program, under(dir, "CLAUDE.md"))
	s.mcp(program, main, "mcpServers")
	if exists(settings) {
		s.add(Finding{Kind: Settings, Program: program, Path: settings, What: "Settings, which are not taken over; commands and instructions of projects are read as they are."})
	}
}

// codex looks at Codex.
func (s *search) codex() {
	const program = "Codex"
	dir := s.home("CODEX_HOME", ".codex")
	auth := under(dir, "auth.json")
	s.keys(keyFile{program, auth, func(path string) (map[string]string, error) {
		v, err := readJSON(path)
		return map[string]string{"openai": v.text("OPENAI_API_KEY")}, err
	}})
	if v, err := readJSON(auth); err == nil && v.object("tokens") != nil {
		s.login(program, auth)
	}
	s.instructions(program, under(dir, "AGENTS.md"))
	config := under(dir, "config.toml")
	if b, err := readFile(config); err == nil {
		if n := len(codexServer.FindAll(b, 1000)); n > 0 {
			s.servedTools(program, config, n)
		}
		s.add(Finding{Kind: Settings, Program: program, Path: config, What: "Settings, which are not taken over."})
	}
}

// codexServer is a table of an MCP server, and none within one.
var codexServer = regexp.MustCompile(`(?m)^\s*\[mcp_servers\.("[^"\n]*"|[A-Za-z0-9_-]+)\]`)

// gemini looks at the Gemini CLI.
func (s *search) gemini() {
	const program = "Gemini CLI"
	dir := s.home("", ".gemini")
	s.keys(keyFile{program, under(dir, ".env"), func(path string) (map[string]string, error) {
		vars, err := assignments(path, "=")
		key := vars["GEMINI_API_KEY"]
		if key == "" {
			key = vars["GOOGLE_API_KEY"]
		}
		return map[string]string{"google": key}, err
	}})
	if path := under(dir, "oauth_creds.json"); exists(path) {
		s.login(program, path)
	}
	s.instructions(program, under(dir, "GEMINI.md"))
	s.mcp(program, under(dir, "settings.json"), "mcpServers")
}

// opencode looks at opencode.
func (s *search) opencode() {
	const program = "opencode"
	data, config := s.home("XDG_DATA_HOME", ".local/share"), s.home("XDG_CONFIG_HOME", ".config")
	s.authFile(program, under(data, "opencode", "auth.json"), "api")
	for _, name := range []string{"opencode.json", "opencode.jsonc", "config.json"} {
		s.mcp(program, under(config, "opencode", name), "mcp")
	}
	s.instructions(program, under(config, "opencode", "AGENTS.md"))
}

// authFile looks at a file {"provider": {"type": …, "key": …}}, where the type of keys
// is one of those given and others are logins.
func (s *search) authFile(program, path string, types ...string) {
	read := func(path string) (map[string]string, error) {
		v, err := readJSON(path)
		keys := map[string]string{}
		for id := range v {
			if entry := v.object(id); slices.Contains(types, entry.text("type")) {
				keys[id] = entry.text("key")
			}
		}
		return keys, err
	}
	s.keys(keyFile{program, path, read})
	v, err := readJSON(path)
	if err != nil {
		return
	}
	for id := range v {
		if v.object(id).text("type") == "oauth" {
			s.login(program, path)
			return
		}
	}
}

type member struct{ name, variable, dir string }

// family are the forerunners.
func family() []member {
	return []member{
		{"oh-my-pi", "", ".omp/agent"},
		{"pi", "PI_CODING_AGENT_DIR", ".pi/agent"},
		{"arcane", "", ".arcane/agent"},
		{"gajae", "GJC_CODING_AGENT_DIR", ".gjc/agent"},
	}
}

// familySettings is the file of settings in a folder of one; "" if there is none.
func familySettings(dir string) string {
	for _, name := range []string{"config.yml", "settings.json"} { // which replaces the second
		if path := under(dir, name); isFile(path) {
			return path
		}
	}
	return ""
}

// pi looks at the forerunners.
func (s *search) pi() {
	for _, p := range family() {
		dir := s.home(p.variable, p.dir)
		if !exists(dir) {
			continue
		}
		s.authFile(p.name, under(dir, "auth.json"), "api_key", "api")
		if path := under(dir, "agent.db"); isFile(path) {
			s.add(Finding{Kind: Login, Program: p.name, Path: path, What: "Keys and logins in a database of its own, which are not taken over: log in here, or paste the keys."})
		}
		s.models(p.name, dir)
		s.bindings(p.name, dir)
		s.themes(p.name, dir)
		s.instructions(p.name, under(dir, "AGENTS.md"))
		s.mcp(p.name, under(dir, "mcp.json"), "mcpServers")
		if path := familySettings(dir); path != "" {
			s.settings(p.name, path)
		}
	}
}

// aider looks at aider's settings, which may hold keys.
func (s *search) aider() {
	s.keys(keyFile{"aider", s.home("", ".aider.conf.yml"), func(path string) (map[string]string, error) {
		vars, err := assignments(path, ":")
		return map[string]string{"openai": vars["openai-api-key"], "anthropic": vars["anthropic-api-key"]}, err
	}})
}

// continues looks at Continue.
func (s *search) continues() {
	for _, name := range []string{"config.yaml", "config.json"} {
		if path := s.home("", ".continue/"+name); exists(path) {
			s.add(Finding{Kind: Settings, Program: "Continue", Path: path, What: "Settings with models and keys, which are not taken over: paste the keys here."})
			return
		}
	}
}

// instructions tells of a file of instructions for all projects.
func (s *search) instructions(program, path string) {
	if b, err := readFile(path); err != nil || len(bytes.TrimSpace(b)) == 0 {
		return
	}
	f := Finding{Kind: Instructions, Program: program, Path: path, What: "Your instructions for all projects, which burin reads as they are."}
	if has := s.has("AGENTS.md", "CLAUDE.md"); has != "" {
		f.What = "Your instructions for all projects, which burin does not read: you have " + has + "."
	}
	s.add(f)
}

// mcp counts the servers of tools that a file names.
func (s *search) mcp(program, path, key string) {
	v, err := readJSON(path)
	if err != nil {
		return
	}
	if n := len(v.object(key)); n > 0 {
		s.servedTools(program, path, n)
	}
}

func (s *search) servedTools(program, path string, n int) {
	s.add(Finding{Kind: MCP, Program: program, Path: path, What: prose.Count(n, "MCP server") + " set up there."})
}

// assignments reads lines "name=value" or "name: value"; one pair of quotes is taken off.
func assignments(path, sign string) (map[string]string, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	vars := map[string]string{}
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(sc.Text()), "export "), sign)
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		} else if at := strings.Index(value, " #"); at >= 0 {
			value = strings.TrimSpace(value[:at])
		}
		vars[strings.TrimSpace(name)] = value
	}
	return vars, nil
}
