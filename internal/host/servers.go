package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// ServerDepth is how many burins, each an MCP server of the one above, stand above this one.
func ServerDepth(getenv func(string) string) int {
	n, _ := strconv.Atoi(getenv(mcp.Depth)) // nothing, but for who plays with it
	return max(n, 0)
}

// newPool makes what has the MCP servers of the process.
func newPool(h *Host) *mcp.Pool {
	var transport http.RoundTripper // nil is the default
	if way, err := webOf(h); err == nil {
		transport = way
	}
	o := mcp.Options{Version: h.o.Version, HTTP: transport, Environ: append(os.Environ(), fmt.Sprintf("%s=%d", mcp.Depth, ServerDepth(h.o.Getenv)+1)), Tokens: serverTokens{h, &machines{}}}
	if settings, err := h.Settings(); err == nil {
		o.Sampling = settings.Bool("mcp.sampling")
	}
	if h.o.Paths.Cache != "" {
		o.Cache = filepath.Join(h.o.Paths.Cache, "mcp")
	}
	o.Confine = func(s *mcp.Sandbox, dir string) (*mcp.Confined, error) {
		home, _ := os.UserHomeDir() // without one the user has no keys there
		return bench.ConfineServer(s, dir, home, []string{h.o.Paths.Config, h.o.Paths.Data}, h.o.Getenv)
	}
	return mcp.NewPool(o)
}

// Standing says whether burin uses a server.
type Standing string

// The standings of servers.
const (
	ServerOn       Standing = "on"
	ServerOff      Standing = "off"
	ServerHidden   Standing = "hidden"       // another one has its name
	ServerWaits    Standing = "needs trust"  // burin trust --allow
	ServerRefused  Standing = "refused"      // so the person has decided
	ServerForeign  Standing = "not imported" // of another program: burin mcp import
	ServerExcluded Standing = "switched off" // by the settings
)

// Server is an MCP server that was found.
type Server struct {
	mcpserver.Definition
	Owner    string // "burin, user"
	Path     string // of its file
	Foreign  bool   // the file is the user's, for another program
	Standing Standing
}

// Servers lists the MCP servers of the user, of the folder and of other programs, in the order
// in which names win.
func Servers(h *Host) (all []Server, warnings []string, err error) {
	settings, err := h.Settings()
	if err != nil {
		return nil, nil, err
	}
	files, warnings := mcpserver.Discover(h.Sources())
	taken := map[string]bool{}
	for pass := range 2 { // what burin uses wins over what it leaves alone
		for _, f := range files {
			if f.Foreign != (pass == 1) {
				continue
			}
			standing := ServerOn
			switch {
			case f.Foreign:
				standing = ServerForeign
			case !settings.Bool("mcp.enabled"), !f.Own && !settings.Bool("mcp.enableProjectConfig"):
				standing = ServerExcluded
			case !f.Own:
				if standing, err = trustedFile(h, f); err != nil {
					return nil, warnings, err
				}
			}
			for _, d := range f.Servers {
				s := Server{Definition: d, Owner: f.Owner, Path: f.Path, Foreign: f.Foreign, Standing: standing}
				switch {
				case taken[d.Name]:
					s.Standing = ServerHidden
				case standing == ServerOn && d.Disabled:
					s.Standing = ServerOff
				}
				if standing == ServerOn {
					taken[d.Name] = true
				}
				all = append(all, s)
			}
		}
	}
	return all, warnings, nil
}

// trustedFile says whether the person trusts a file of servers.
func trustedFile(h *Host, f mcpserver.File) (Standing, error) {
	states, err := trustList(h).States(f.Project, []trust.Item{f.Item})
	switch {
	case err != nil:
		return ServerWaits, err
	case states[0] == trust.Trusted:
		return ServerOn, nil
	case states[0] == trust.Refused:
		return ServerRefused, nil
	}
	return ServerWaits, nil
}

// projectServers are the files of the project that need trust.
func projectServers(h *Host) (all []mcpserver.File) {
	settings, err := h.Settings()
	if err != nil || !settings.Bool("mcp.enabled") || !settings.Bool("mcp.enableProjectConfig") {
		return nil
	}
	files, _ := mcpserver.Discover(h.Sources()) // what is wrong with them is told where they are used
	for _, f := range files {
		if !f.Own && !f.Foreign {
			all = append(all, f)
		}
	}
	return all
}

// ServerFile is burin's own file of MCP servers: the user's, or the project's; "" where that
// would be the user's.
func ServerFile(h *Host, project bool) string {
	if project {
		settings := h.ProjectSettings()
		if settings == "" {
			return ""
		}
		return filepath.Join(filepath.Dir(settings), "mcp.json")
	}
	return filepath.Join(h.o.Paths.Config, "mcp.json")
}

// Probe is what a server has shown.
type Probe struct {
	Tools []mcp.Tool
	Log   []mcp.Line // what it said of its work
	Words string     // the last words of a program on its standard error
	Spoke string     // the version of the protocol
}

// ProbeServer connects to a server, and gives what it has.
func ProbeServer(ctx context.Context, h *Host, d mcpserver.Definition) (p Probe, err error) {
	s, err := mcpserver.Expand(d.Server, h.o.Getenv, h.o.Dir)
	if err != nil {
		return p, err
	}
	l, leave := h.pool().Use(s, h.o.Dir)
	defer leave()
	if err := l.Connect(ctx); err != nil {
		return p, fmt.Errorf("MCP server %s: %w", d.Name, err)
	}
	p.Tools, _ = l.Tools()
	p.Log, p.Words, p.Spoke = l.Log(), l.Words(), l.Status().Spoke
	return p, nil
}

// giveServers gives a session the tools of MCP servers. wake asks those servers whose tools
// aren't known yet, while the session works.
func giveServers(h *Host, o *Session, settings *config.Config) (wake func()) {
	if o.Ground.Files != nil || o.External != nil || o.NoTools || o.agents != nil || !settings.Bool("mcp.enabled") {
		if n := len(o.Passed); n > 0 && o.Under == nil {
			o.Warn(fmt.Sprintf("this session has no MCP servers: ignoring the %d that the editor passes", n))
		}
		return func() {}
	}
	found, warnings, err := Servers(h)
	if err != nil {
		warnings = append(warnings, "no MCP server is used: "+err.Error())
	}
	quiet := o.Under != nil // the session that it works for has told
	var leaves []func()
	waiting := map[string]bool{}
	use := func(l *mcp.Link, leave func()) {
		o.Servers, leaves = append(o.Servers, l), append(leaves, leave)
	}
	for _, d := range o.Passed {
		use(h.pool().Use(d.Server, o.Ground.Dir))
	}
	for _, s := range found {
		if at := slices.IndexFunc(o.Passed, func(d mcpserver.Definition) bool { return d.Name == s.Name }); at >= 0 {
			if s.Standing == ServerOn && o.Passed[at].Where() != s.Where() { // else it is the same one
				warnings = append(warnings, fmt.Sprintf("MCP server %s: this session uses the editor's, not the one of %s", s.Name, s.Path))
			}
			continue
		}
		switch s.Standing {
		case ServerWaits:
			if can := o.Desk != nil && o.Desk.CanAsk(); !can && !waiting[s.Path] {
				waiting[s.Path] = true
				warnings = append(warnings, s.Path+": its MCP servers do not start before you trust them: burin trust shows them")
			}
		case ServerOn, ServerOff:
			ready, err := mcpserver.Expand(s.Server, h.o.Getenv, o.Ground.Dir)
			switch off := s.Standing == ServerOff; {
			case off && err != nil: // it can't be switched on before the next session
			case err != nil:
				warnings = append(warnings, err.Error())
			case off:
				use(h.pool().UseOff(ready, o.Ground.Dir))
			default:
				use(h.pool().Use(ready, o.Ground.Dir))
			}
		}
	}
	if !quiet {
		for _, w := range warnings {
			o.Warn(w)
		}
	}
	if len(o.Servers) == 0 {
		return func() {}
	}
	o.Serving = servingOf(settings)
	if links := o.Servers; !quiet { // a model's words to an agent name nothing
		o.Mentioned = func(ctx context.Context, texts []string) ([]llm.Block, []string) { return mentioned(ctx, links, texts) }
	}
	if expand, links := o.Expand, o.Servers; expand != nil && !quiet {
		o.Expand = func(ctx context.Context, text string) (string, error) {
			if prompt, ok, err := serverPrompt(ctx, links, text); ok {
				return prompt, err
			}
			return expand(ctx, text)
		}
	}
	life, stop := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	closed := o.Closed
	o.Closed = func() error {
		stop()
		asking.Wait()
		var leaving sync.WaitGroup
		for _, leave := range leaves { // at the same time: some take a moment to end
			leaving.Go(leave)
		}
		leaving.Wait()
		if closed == nil {
			return nil
		}
		return closed()
	}
	links, warn := o.Servers, o.Warn
	ask := sync.OnceFunc(func() {
		for _, l := range links {
			if !l.Stale() {
				continue
			}
			asking.Go(func() {
				err := l.Connect(life)
				if login := (*mcp.LoginError)(nil); errors.As(err, &login) && login.Name != "" && !quiet {
					warn(fmt.Sprintf("MCP server %s wants a login: burin mcp login %s", login.Name, login.Name))
				} else if err != nil && life.Err() == nil && !quiet && !errors.Is(err, context.Canceled) {
					warn(fmt.Sprintf("MCP server %s is not there: %v", l.Server().Name, err))
				}
			})
		}
	})
	if o.Desk != nil && o.Desk.CanAsk() {
		return ask // while the person types
	}
	// Starting programs takes time that the first request needs.
	emit := o.Emit
	o.Emit = func(ev session.Event) {
		if ev.Type == agent.MessageStart && ev.Message.Role == llm.RoleAssistant && life.Err() == nil {
			ask()
		}
		if emit != nil {
			emit(ev)
		}
	}
	return func() {}
}

// servingOf says how the tools of servers are sent.
func servingOf(settings *config.Config) bench.Serving {
	s := bench.Serving{Search: mostTools, Always: settings.List("mcp.discoveryDefaultServers"), Sample: settings.Bool("mcp.sampling")}
	switch settings.Text("tools.discoveryMode") {
	case "off":
		s.Search = -1
	case "mcp-only":
		s.Search = 0
	}
	return s
}

// mostTools is how many tools of servers are sent without a search.
const mostTools = 40
