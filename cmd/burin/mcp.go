package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/prose"
)

func mcpCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Manage the MCP servers whose tools the model has",
		Long: `Manage MCP servers: programs and web services that give the model more tools. Yours are in
mcp.json of burin's configuration folder, those of a project in its .burin/mcp.json, .mcp.json
and the files of other programs, which need your trust.

  burin mcp
  burin mcp add notes -- npx -y notes-mcp
  burin mcp add issues https://mcp.example.com --header 'X-Key: ${ISSUES_KEY}'
  burin mcp test notes
  burin mcp login issues
  burin mcp import claude
  burin mcp serve`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error { return listServers(p, false) },
	}
	cmd.AddCommand(mcpListCommand(p), mcpAddCommand(p), mcpAddJSONCommand(p), mcpImportCommand(p), mcpGetCommand(p), mcpRemoveCommand(p),
		mcpSwitchCommand(p, true), mcpSwitchCommand(p, false), mcpTestCommand(p), mcpLoginCommand(p), mcpLogoutCommand(p), mcpServeCommand(p))
	return cmd
}

func mcpListCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List MCP servers", Args: arguments(0, 0),
		Long: `List the MCP servers that burin found, whose they are, and whether it uses them. Nothing is
started.

  burin mcp list
  burin mcp list --json`,
		RunE: func(*cobra.Command, []string) error { return listServers(p, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// findServers lists the servers, and tells what is wrong with some.
func findServers(p *program) (*host.Host, []host.Server, error) {
	h, err := p.host(nil)
	if err != nil {
		return nil, nil, err
	}
	all, warnings, err := host.Servers(h)
	for _, w := range warnings {
		fmt.Fprintln(p.err, w)
	}
	return h, all, err
}

// listedServer is a server in JSON. Values of variables and headers may be secrets.
type listedServer struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Where   string   `json:"where"`
	Owner   string   `json:"owner"`
	Path    string   `json:"path"`
	State   string   `json:"state"`
	Env     []string `json:"env,omitempty"`
	Headers []string `json:"headers,omitempty"`
	Timeout int64    `json:"timeoutMs,omitempty"`
}

func serverInJSON(s *host.Server) listedServer {
	return listedServer{
		Name: s.Name, Type: s.Type, Where: s.Where(), Owner: s.Owner, Path: s.Path, State: string(s.Standing),
		Env: slices.Sorted(maps.Keys(s.Env)), Headers: slices.Sorted(maps.Keys(s.Headers)), Timeout: s.Timeout.Milliseconds(),
	}
}

func listServers(p *program, asJSON bool) error {
	_, all, err := findServers(p)
	if err != nil {
		return err
	}
	if asJSON {
		out := make([]listedServer, len(all))
		for i := range all {
			out[i] = serverInJSON(&all[i])
		}
		return json.NewEncoder(p.out).Encode(out)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.err, "no MCP servers: burin mcp add NAME -- COMMAND adds one")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for i := range all {
		s := &all[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, s.Standing, prose.Row(s.Where(), 60), s.Owner)
	}
	return w.Flush()
}

// serverNamed finds a server: the one that is used, or else any.
func serverNamed(all []host.Server, name string) (*host.Server, error) {
	var found *host.Server
	for i := range all {
		if all[i].Name == name && (found == nil || all[i].Standing == host.ServerOn) {
			found = &all[i]
		}
	}
	if found == nil {
		return nil, usage("no MCP server %q: burin mcp list shows them", name)
	}
	return found, nil
}

func mcpGetCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: "Show an MCP server", Args: arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, all, err := findServers(p)
			if err != nil {
				return err
			}
			s, err := serverNamed(all, args[0])
			if err != nil {
				return err
			}
			out := json.NewEncoder(p.out)
			out.SetIndent("", "  ")
			out.SetEscapeHTML(false)
			return out.Encode(serverInJSON(s))
		},
	}
}

func mcpAddCommand(p *program) *cobra.Command {
	var env, headers []string
	var kind, sandbox string
	var timeout time.Duration
	var project bool
	cmd := &cobra.Command{
		Use: "add NAME [URL] [-- COMMAND...]", Short: "Add an MCP server",
		Long: `Add an MCP server: a program to start, after --, or the address of a web service. burin connects to
it once, to know its tools. Give secrets as variables in single quotes: the file keeps the
name, and burin puts in the value.

  burin mcp add notes -- npx -y notes-mcp --folder ~/notes
  burin mcp add notes --env 'NOTES_KEY=${NOTES_KEY}' -- notes-mcp
  burin mcp add issues https://mcp.example.com --header 'X-Key: ${ISSUES_KEY}'
  burin mcp add old https://example.com/sse --type sse
  burin mcp add db --project -- ./tools/db-mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			e := map[string]any{}
			dash := cmd.ArgsLenAtDash()
			switch {
			case dash == 1 && len(args) > 1:
				e["command"], e["args"] = args[1], args[2:]
			case dash < 0 && len(args) == 2 && strings.Contains(args[1], "://"):
				e["url"] = args[1]
			case dash < 0 && len(args) == 2:
				return usage("%q is not an address: write -- in front of a command", args[1])
			default:
				return usage("give a name, and either an address or -- and a command")
			}
			if kind != "" {
				e["type"] = kind
			}
			var err error
			if e["env"], err = pairs(env, "=", "--env NAME=VALUE"); err != nil {
				return err
			}
			if e["headers"], err = pairs(headers, ":", "--header 'Name: value'"); err != nil {
				return err
			}
			if timeout > 0 {
				e["timeout"] = timeout.Milliseconds()
			}
			if sandbox != "" {
				e["sandbox"] = sandbox
			}
			raw, err := json.Marshal(e)
			if err != nil {
				return err
			}
			return addServer(cmd.Context(), p, args[0], raw, project)
		},
	}
	cmd.Flags().StringArrayVar(&env, "env", nil, "a variable for the program, NAME=VALUE; repeatable")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a header for the web service, 'Name: value'; repeatable")
	cmd.Flags().StringVar(&kind, "type", "", "stdio, http or sse; default is by what is given")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long a request may take, such as 2m; default 30s")
	cmd.Flags().StringVar(&sandbox, "sandbox", "", "confine the program: read-only or workspace-write; without network")
	cmd.Flags().BoolVar(&project, "project", false, "add it to the project's .burin/mcp.json")
	return cmd
}

func pairs(given []string, between, how string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, between)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usage("%q: write %s", text, how)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out, nil
}

func mcpAddJSONCommand(p *program) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use: "add-json NAME JSON", Short: "Add an MCP server by its definition", Args: arguments(2, 2),
		Long: `Add an MCP server by a JSON object, as the files of Claude Code, Cursor, VS Code, Gemini and others
have it.

  burin mcp add-json notes '{"command": "npx", "args": ["-y", "notes-mcp"]}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return addServer(cmd.Context(), p, args[0], json.RawMessage(args[1]), project)
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "add it to the project's .burin/mcp.json")
	return cmd
}

// ownFile is burin's own file of servers.
func ownFile(h *host.Host, project bool) (string, error) {
	file := host.ServerFile(h, project)
	if file == "" {
		return "", usage("this folder has no settings of its own: leave out --project")
	}
	return file, nil
}

// addServer writes a server into burin's own file, and connects to it.
func addServer(ctx context.Context, p *program, name string, raw json.RawMessage, project bool) error {
	d, err := mcpserver.ParseOne(name, raw)
	if err != nil {
		return usageError{Err: err}
	}
	if d.Name != name {
		return usage("a name has letters, digits, _ and -: %s would do", d.Name)
	}
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	file, err := ownFile(h, project)
	if err != nil {
		return err
	}
	if raw, err = mcpserver.Entry(d); err != nil {
		return err
	}
	err = mcpserver.Edit(ctx, file, func(all mcpserver.Entries) error {
		if all[name] != nil {
			return usage("an MCP server %s is in %s already: burin mcp remove %s", name, file, name)
		}
		all[name] = raw
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(p.err, "added %s to %s\n", name, file)
	if project {
		fmt.Fprintf(p.err, "it starts once you trust the file: burin trust --allow .burin/mcp.json\n")
		return nil
	}
	return probeServers(ctx, p, h, []host.Server{{Definition: d}}, true, false)
}

// probeServers connects to servers and says what they have. Added ones stay, reached or not.
func probeServers(ctx context.Context, p *program, h *host.Host, servers []host.Server, added, log bool) error {
	var failed []error
	for i := range servers {
		probe, err := host.ProbeServer(ctx, h, servers[i].Definition)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		fmt.Fprintf(p.out, "%s: %s\n", servers[i].Name, prose.Count(len(probe.Tools), "tool"))
		for _, t := range probe.Tools {
			fmt.Fprintf(p.out, "  %s  %s\n", prose.Row(t.Name, 40), prose.Row(t.Description, 70))
		}
		if !log {
			continue
		}
		fmt.Fprintf(p.out, "  speaks version %s of the protocol\n", probe.Spoke)
		for _, l := range probe.Log {
			fmt.Fprintf(p.out, "  %s %s %s\n", l.Time.Format(time.TimeOnly), l.Level, strings.TrimPrefix(l.Logger+": "+l.Text, ": "))
		}
		for line := range strings.Lines(probe.Words) {
			fmt.Fprintf(p.out, "  stderr: %s\n", prose.Row(line, 200))
		}
	}
	err := errors.Join(failed...)
	if added && err != nil {
		fmt.Fprintf(p.err, "it could not be reached yet: %v\n", err)
		return nil
	}
	return err
}

// usedServer finds a server that burin uses, or that is switched off.
func usedServer(all []host.Server, name string) (*host.Server, error) {
	s, err := serverNamed(all, name)
	if err == nil && (s.Standing == host.ServerWaits || s.Standing == host.ServerRefused) {
		return nil, usage("%s is of %s, which you don't trust: burin trust shows it", name, s.Path)
	}
	return s, err
}

func mcpLoginCommand(p *program) *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use: "login NAME", Short: "Log in to an MCP server in the browser", Args: arguments(1, 1),
		Long: `Log in to an MCP server that is a web service. The server says where; burin registers there unless
oauth.clientId is set. The login is kept, sealed, on this machine, and sent to this server only.
It asks for what the server wants, also after a call that the login of now was not enough for.

  burin mcp login issues
  burin mcp login issues --scope issues:read --scope issues:write`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, all, err := findServers(p)
			if err != nil {
				return err
			}
			s, err := usedServer(all, args[0])
			if err != nil {
				return err
			}
			info, err := host.LoginServer(cmd.Context(), h, s.Definition, scopes, loginUI(p))
			if err != nil {
				return err
			}
			who := ""
			if info.Account != "" {
				who = " as " + info.Account
			}
			fmt.Fprintf(p.err, "logged in to %s%s\n", s.Name, who)
			return probeServers(cmd.Context(), p, h, []host.Server{*s}, true, false)
		},
	}
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "ask for this rather than what the server wants; repeatable")
	return cmd
}

func mcpLogoutCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "Remove the login at an MCP server", Args: arguments(1, 1),
		Long: `Remove the login at an MCP server from this machine, and revoke it at the authorization server if
that offers it.

  burin mcp logout issues`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, all, err := findServers(p)
			if err != nil {
				return err
			}
			s, err := serverNamed(all, args[0])
			if err != nil {
				return err
			}
			found, revoked, why, err := host.LogoutServer(cmd.Context(), h, s.Definition)
			switch {
			case err != nil:
				return err
			case !found:
				return fmt.Errorf("no login at MCP server %s", s.Name)
			case why != nil:
				fmt.Fprintf(p.err, "removed the login at %s from this machine; it could not be revoked: %v\n", s.Name, why)
			case revoked:
				fmt.Fprintf(p.err, "revoked the login at %s and removed it\n", s.Name)
			default:
				fmt.Fprintf(p.err, "removed the login at %s; its server revokes none\n", s.Name)
			}
			return nil
		},
	}
}

func mcpTestCommand(p *program) *cobra.Command {
	var log bool
	cmd := &cobra.Command{
		Use: "test [NAME...]", Short: "Connect to MCP servers and list their tools",
		Long: `Connect to the MCP servers that burin uses, or to those that are named, and list their tools. burin
keeps the list, so that the next session has it from the beginning.

  burin mcp test
  burin mcp test notes --log`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, all, err := findServers(p)
			if err != nil {
				return err
			}
			var some []host.Server
			for i := range all {
				if len(args) == 0 && all[i].Standing == host.ServerOn {
					some = append(some, all[i])
				}
			}
			for _, name := range args {
				s, err := usedServer(all, name)
				if err != nil {
					return err
				}
				some = append(some, *s)
			}
			return probeServers(cmd.Context(), p, h, some, false, log)
		},
	}
	cmd.Flags().BoolVar(&log, "log", false, "also print what the servers speak, log and write to standard error")
	return cmd
}

// changeServer changes a server of burin's own files.
func changeServer(ctx context.Context, p *program, name string, project bool, change func(mcpserver.Entries) error) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	file, err := ownFile(h, project)
	if err != nil {
		return err
	}
	return mcpserver.Edit(ctx, file, func(all mcpserver.Entries) error {
		if all[name] == nil {
			return noServer(name, file)
		}
		return change(all)
	})
}

func noServer(name, file string) error {
	return usage("no MCP server %q in %s: burin mcp list shows whose it is", name, file)
}

func mcpRemoveCommand(p *program) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Remove an MCP server", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeServer(cmd.Context(), p, args[0], project, func(all mcpserver.Entries) error {
				delete(all, args[0])
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "from the project's .burin/mcp.json")
	return cmd
}

func mcpSwitchCommand(p *program, on bool) *cobra.Command {
	name, short := "disable", "Stop using an MCP server without removing it"
	if on {
		name, short = "enable", "Use an MCP server again"
	}
	var project bool
	cmd := &cobra.Command{
		Use: name + " NAME", Short: short, Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			file, err := ownFile(h, project)
			if err != nil {
				return err
			}
			if err = host.SwitchServer(cmd.Context(), h, file, args[0], "", on); errors.Is(err, host.ErrNoServer) {
				err = noServer(args[0], file)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "in the project's .burin/mcp.json")
	return cmd
}

func mcpImportCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "import [NAME...]", Short: "Copy MCP servers of other programs into burin's own file",
		Long: `Copy the MCP servers that you have in other programs, such as Claude Code, Cursor or VS Code, into
burin's own file: all, those with these names, or those of a program. What burin has already
stays as it is. Nothing is started.

  burin mcp import
  burin mcp import claude
  burin mcp import notes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, all, err := findServers(p)
			if err != nil {
				return err
			}
			var added []string
			err = mcpserver.Edit(cmd.Context(), host.ServerFile(h, false), func(entries mcpserver.Entries) error {
				for i := range all {
					s := &all[i]
					program := strings.ToLower(s.Owner)
					wanted := len(args) == 0 || slices.ContainsFunc(args, func(a string) bool {
						return a == s.Name || strings.HasPrefix(program, strings.ToLower(a))
					})
					if !s.Foreign || !wanted || entries[s.Name] != nil {
						continue
					}
					raw, err := mcpserver.Entry(s.Definition)
					if err != nil {
						return err
					}
					entries[s.Name] = raw
					added = append(added, s.Name)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if len(added) == 0 {
				fmt.Fprintln(p.err, "nothing to import: burin mcp list shows what there is")
				return nil
			}
			fmt.Fprintf(p.err, "imported %s: burin mcp test connects to them\n", strings.Join(added, ", "))
			return nil
		},
	}
}
