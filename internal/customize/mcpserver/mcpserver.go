// Package mcpserver reads definitions of MCP servers: burin's own files and those of other
// programs, which call the same things by different names. [Discover] finds the files of a
// folder and of the user, [Parse] reads one, and [Edit] changes burin's own.
//
// A definition runs a program or sends data away, so a file that isn't the user's own for burin
// comes with an item for trust ([File.Item]), which covers all that matters of its servers.
// Values may name variables of the environment, as "${NAME}" or "${NAME:-default}". They are
// put in by [Expand], after trust was asked for.
package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
)

// maxRead is how much is read of a file of the user's; Claude Code keeps much in one.
const maxRead = 8 << 20

// Definition is a server as a file has it.
type Definition struct {
	mcp.Server
	Disabled bool
}

// File is a file with definitions.
type File struct {
	Path    string
	Owner   string // for people: "Claude Code, project"
	Own     bool   // the user's, for burin
	Foreign bool   // the user's, for another program
	Servers []Definition
	// Item is what trust is asked for, Project the folder for which it holds.
	Item    trust.Item
	Project string
}

// ItemSuffix ends the names of items of trust: hooks of the same file are another item.
const ItemSuffix = "#mcp"

// Discover finds the files, in the order in which a name wins.
func Discover(o source.Options) (files []File, warnings []string) {
	w := source.Warnings{About: "MCP servers"}
	for _, p := range source.Places(o, source.Servers) {
		text, err := p.ReadFile()
		if p.Repository == "" && errors.Is(err, source.ErrTooLarge) {
			var b []byte
			b, err = smallfile.Read(p.Path, maxRead)
			text = string(b)
		}
		if err != nil {
			if !source.Missing(err) {
				w.Add("%s: left out: %s", p.Path, source.Reason(err))
			}
			continue
		}
		servers, problems, err := Parse([]byte(text), filepath.Ext(p.Path))
		if err != nil {
			w.Add("%s: its MCP servers are left out: %v", p.Path, err)
			continue
		}
		for _, problem := range problems {
			w.Add("%s: %s", p.Path, problem)
		}
		if len(servers) > 0 {
			files = append(files, file(p, o, servers))
		}
	}
	return files, w.Lines()
}

func file(p source.Place, o source.Options, servers []Definition) File {
	f := File{Path: p.Path, Owner: p.Owner(), Servers: servers, Own: p.Repository == "" && p.Source.ID == "burin", Project: p.Repository}
	f.Foreign = p.Repository == "" && !f.Own
	name := p.Path
	if f.Project == "" {
		f.Project = o.UserHome
	}
	if rel, err := filepath.Rel(f.Project, p.Path); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	lines := make([]string, len(servers))
	for i := range servers {
		lines[i] = servers[i].inWords()
	}
	sum, _ := json.Marshal(servers) // of texts: it cannot fail; keys are sorted
	f.Item = trust.Item{Name: name + ItemSuffix, What: strings.Join(lines, "\n"), Sum: trust.Sum(sum)}
	return f
}

// inWords says what a server runs or reaches, and what it gets of the environment.
func (d *Definition) inWords() string {
	var b strings.Builder
	verb := "reaches"
	if d.Type == mcp.Stdio {
		verb = "runs"
	}
	fmt.Fprintf(&b, "MCP server %s %s %s", d.Name, verb, d.Where())
	for _, list := range []struct {
		what string
		all  map[string]string
	}{{"with", d.Env}, {"sends", d.Headers}} {
		for _, name := range slices.Sorted(maps.Keys(list.all)) {
			value := list.all[name]
			if !variable().MatchString(value) {
				value = "…"
			}
			fmt.Fprintf(&b, ", %s %s=%s", list.what, name, value)
		}
	}
	if d.Sandbox != nil {
		fmt.Fprintf(&b, ", in a sandbox (%s)", d.Sandbox.Mode)
	}
	if d.OAuth != nil && !d.OAuth.Off {
		fmt.Fprintf(&b, ", logs in as client %q", prose.Short(prose.Inline(d.OAuth.ClientID), 60))
		if d.OAuth.Issuer != "" {
			fmt.Fprintf(&b, " at %s", prose.Short(prose.Inline(d.OAuth.Issuer), 100))
		}
	}
	if strings.Contains(d.URL, "?") && variable().MatchString(d.URL) {
		fmt.Fprintf(&b, ", with variables in its address")
	}
	return b.String()
}

// entry is a server in any of the formats.
type entry struct {
	Type      string `json:"type"`
	Transport string `json:"transport"`

	Command     any               `json:"command"` // a text, or opencode's list with the arguments
	Args        []string          `json:"args"`
	Env         map[string]string `json:"env"`
	Environment map[string]string `json:"environment"` // opencode
	CWD         string            `json:"cwd"`
	Sandbox     json.RawMessage   `json:"sandbox"` // burin's; a text is the mode

	URL       string            `json:"url"`
	HTTPURL   string            `json:"httpUrl"`   // Gemini; there url is the older kind
	ServerURL string            `json:"serverUrl"` // Windsurf
	Headers   map[string]string `json:"headers"`

	HTTPHeaders    map[string]string `json:"http_headers"` // Codex
	EnvHTTPHeaders map[string]string `json:"env_http_headers"`
	BearerVariable string            `json:"bearer_token_env_var"`
	ToolTimeout    float64           `json:"tool_timeout_sec"`
	EnabledTools   []string          `json:"enabled_tools"`
	DisabledTools  []string          `json:"disabled_tools"`

	OAuth json.RawMessage `json:"oauth"` // false is no login

	Enabled      *bool    `json:"enabled"`
	Disabled     bool     `json:"disabled"`
	Timeout      any      `json:"timeout"` // milliseconds
	Tools        []string `json:"tools"`   // Copilot: ["*"] is all
	IncludeTools []string `json:"includeTools"`
	ExcludeTools []string `json:"excludeTools"`
}

// keys are what the lists of servers are called.
var keys = []string{"mcpServers", "mcp_servers", "servers", "mcp"}

// Parse reads a file. ext says its format: ".toml", or else JSON with comments. problems are
// about servers that were left out, a line each.
func Parse(text []byte, ext string) (servers []Definition, problems []string, err error) {
	var all map[string]json.RawMessage
	if ext == ".toml" {
		var values map[string]any
		if line, err := source.DecodeTOML(string(text), &values); err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", line, err)
		}
		if text, err = json.Marshal(values); err != nil {
			return nil, nil, err
		}
	} else {
		text = jsontext.Standard(text)
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return nil, nil, nil
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, nil, errors.New(prose.Line(err.Error()))
	}
	for _, key := range keys {
		if all[key] == nil {
			continue
		}
		var entries map[string]json.RawMessage
		if json.Unmarshal(all[key], &entries) != nil {
			continue
		}
		seen := map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			d, err := ParseOne(name, entries[name])
			switch {
			case err != nil:
				problems = append(problems, err.Error())
			case seen[d.Name]:
				problems = append(problems, fmt.Sprintf("MCP server %s: another one has the same name", d.Name))
			default:
				seen[d.Name] = true
				servers = append(servers, d)
			}
		}
		return servers, problems, nil
	}
	return nil, nil, nil
}

// maxName is the longest name of a server.
const maxName = 100

// Name makes a name of letters, digits, "_" and "-", which addresses and rules need.
func Name(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' {
			return r
		}
		return '-'
	}, name)
}

// ParseOne reads the definition of one server.
func ParseOne(name string, raw json.RawMessage) (Definition, error) {
	wrong := func(format string, args ...any) (Definition, error) {
		return Definition{}, fmt.Errorf("MCP server %s: %s", prose.Short(prose.Inline(name), 60), fmt.Sprintf(format, args...))
	}
	if name == "" || len(name) > maxName {
		return wrong("a name has 1 to %d characters", maxName)
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return wrong("%s", prose.Line(err.Error()))
	}
	d := Definition{Server: mcp.Server{Name: Name(name), Args: e.Args, Env: e.Env, Dir: e.CWD, URL: e.URL, Headers: e.Headers}}
	switch c := e.Command.(type) {
	case nil:
	case string:
		d.Command = c
	case []any:
		for i, word := range c {
			s, ok := word.(string)
			switch {
			case !ok:
				return wrong("command must be a text or a list of texts")
			case i == 0:
				d.Command = s
			default:
				d.Args = append(d.Args, s)
			}
		}
	default:
		return wrong("command must be a text or a list of texts")
	}
	if d.Env == nil {
		d.Env = e.Environment
	}
	kind := e.Type
	if kind == "" {
		kind = e.Transport
	}
	switch {
	case e.HTTPURL != "":
		d.URL, kind = e.HTTPURL, mcp.HTTP
	case e.ServerURL != "":
		d.URL = e.ServerURL
	}
	if d.Headers == nil {
		d.Headers = e.HTTPHeaders
	}
	for header, variable := range e.EnvHTTPHeaders {
		d.header(header, "${"+variable+"}")
	}
	if e.BearerVariable != "" {
		d.header("Authorization", "Bearer ${"+e.BearerVariable+"}")
	}
	switch strings.ToLower(kind) {
	case "stdio", "local":
		d.Type = mcp.Stdio
	case "http", "streamable-http", "streamablehttp", "streamable_http", "remote":
		d.Type = mcp.HTTP
	case "sse":
		d.Type = mcp.SSE
	case "":
		d.Type = mcp.HTTP // which falls back to the older kind
		if d.URL == "" {
			d.Type = mcp.Stdio
		}
	default:
		return wrong("type %q: want stdio, http or sse", prose.Short(prose.Inline(kind), 40))
	}
	switch {
	case d.Command != "" && d.URL != "":
		return wrong("it has a command and a url: give one")
	case d.Type == mcp.Stdio && d.Command == "":
		return wrong("a command is missing")
	case d.Type != mcp.Stdio && d.URL == "":
		return wrong("a url is missing")
	}
	var ok bool
	switch t := e.Timeout.(type) {
	case float64:
		if t > 0 && t < 1e9 {
			d.Timeout = time.Duration(t) * time.Millisecond
		}
	}
	if e.ToolTimeout > 0 && e.ToolTimeout < 1e6 {
		d.Timeout = time.Duration(e.ToolTimeout * float64(time.Second))
	}
	d.Without = slices.Concat(e.ExcludeTools, e.DisabledTools)
	for _, only := range [][]string{e.Tools, e.IncludeTools, e.EnabledTools} {
		if only != nil && !slices.Contains(only, "*") {
			d.Only = only
		}
	}
	d.Disabled = e.Disabled || e.Enabled != nil && !*e.Enabled
	if d.OAuth, ok = login(e.OAuth); !ok {
		return wrong("oauth has issuer, clientId, clientSecret, privateKey, grant, scopes and callbackPort, or is false")
	}
	if d.Sandbox, ok = confinement(e.Sandbox); !ok {
		return wrong("sandbox is read-only or workspace-write, or has that as mode, with network, hosts and writable (absolute folders)")
	}
	if d.Sandbox != nil && d.Type != mcp.Stdio {
		return wrong("sandbox is for programs: a web service runs elsewhere")
	}
	return d, nil
}

// confinement reads how a program is confined.
func confinement(raw json.RawMessage) (s *mcp.Sandbox, ok bool) {
	s = &mcp.Sandbox{}
	if raw == nil || string(raw) == "null" {
		return nil, true
	}
	if json.Unmarshal(raw, &s.Mode) != nil {
		in := json.NewDecoder(bytes.NewReader(raw))
		in.DisallowUnknownFields()
		if in.Decode(s) != nil {
			return nil, false
		}
	}
	return s, slices.Contains([]string{"read-only", "workspace-write"}, s.Mode)
}

// login reads what is set for the login at a web service, as several programs call it.
func login(raw json.RawMessage) (o *mcp.OAuth, ok bool) {
	var on bool
	switch {
	case raw == nil || string(raw) == "null":
		return nil, true
	case json.Unmarshal(raw, &on) == nil:
		if on {
			return nil, true
		}
		return &mcp.OAuth{Off: true}, true
	}
	var e struct {
		Issuer       string `json:"issuer"`
		ClientID     string `json:"clientId"`
		ClientSecret string `json:"clientSecret"`
		CallbackPort int    `json:"callbackPort"`
		Grant        string `json:"grant"`
		PrivateKey   string `json:"privateKey"`
		Scopes       any    `json:"scopes"`
		Scope        string `json:"scope"` // opencode
	}
	if json.Unmarshal(raw, &e) != nil || e.CallbackPort < 0 || e.CallbackPort > 65535 ||
		e.Grant != "" && e.Grant != mcp.ClientCredentials && e.Grant != "authorization_code" {
		return nil, false
	}
	o = &mcp.OAuth{Issuer: e.Issuer, ClientID: e.ClientID, ClientSecret: e.ClientSecret, CallbackPort: e.CallbackPort, PrivateKey: e.PrivateKey}
	if e.Grant == mcp.ClientCredentials {
		o.Grant = e.Grant
	}
	if e.Scope != "" {
		o.Scopes = strings.Fields(e.Scope)
	}
	switch list := e.Scopes.(type) {
	case nil:
	case string:
		o.Scopes = strings.Fields(list)
	case []any:
		for _, one := range list {
			s, ok := one.(string)
			if !ok {
				return nil, false
			}
			o.Scopes = append(o.Scopes, s)
		}
	default:
		return nil, false
	}
	return o, true
}

func (d *Definition) header(name, value string) {
	if d.Headers == nil {
		d.Headers = map[string]string{}
	}
	d.Headers[name] = value
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}|\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
})

// Expand puts the values of variables in their places. A variable that isn't set and has no
// default is an error: the server would get an empty key.
func Expand(s mcp.Server, getenv func(string) string, dir string) (mcp.Server, error) {
	var missing string
	put := func(text string) string {
		return variable().ReplaceAllStringFunc(text, func(found string) string {
			parts := variable().FindStringSubmatch(found)
			name := parts[1] + parts[3]
			value := getenv(name)
			switch {
			case value != "":
				return value
			case name == "workspaceFolder" || name == "CLAUDE_PROJECT_DIR":
				return dir
			case parts[2] != "":
				return strings.TrimPrefix(parts[2], ":-")
			}
			missing = name
			return ""
		})
	}
	all := func(m map[string]string) map[string]string {
		m = maps.Clone(m)
		for k, v := range m {
			m[k] = put(v)
		}
		return m
	}
	s.Command, s.URL, s.Dir = put(s.Command), put(s.URL), put(s.Dir)
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = put(s.Args[i])
	}
	s.Env, s.Headers = all(s.Env), all(s.Headers)
	if s.Sandbox != nil {
		box := *s.Sandbox
		box.Writable = slices.Clone(box.Writable)
		for i := range box.Writable {
			box.Writable[i] = put(box.Writable[i])
		}
		s.Sandbox = &box
	}
	if s.OAuth != nil {
		o := *s.OAuth
		o.Issuer, o.ClientID, o.ClientSecret, o.PrivateKey = put(o.Issuer), put(o.ClientID), put(o.ClientSecret), put(o.PrivateKey)
		s.OAuth = &o
	}
	if s.Dir != "" && !filepath.IsAbs(s.Dir) {
		s.Dir = filepath.Join(dir, s.Dir)
	}
	if missing != "" {
		return s, fmt.Errorf("MCP server %s: the variable %s is not set", s.Name, missing)
	}
	return s, nil
}
