package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/prose"
)

// ServerDesk shows people the MCP servers of a host's folder, and changes them. It asks no server
// anything but where that is said.
type ServerDesk struct{ host *Host }

// ServersOf is the desk of the host's servers.
func ServersOf(h *Host) *ServerDesk { return &ServerDesk{h} }

// ServerView is a server as people see it. Its texts have no control characters and no secrets
// that burin knows of; those but Words and the descriptions of tools are lines.
type ServerView struct {
	ID    string // tells servers of one name apart
	Name  string
	Type  string // stdio, http or sse
	Where string // its address, or the command
	Owner string
	Path  string // of the file that defines it
	State string // a word or three
	Why   string // what there is to say about the state; "" is nothing
	Tools []ServerTool
	Log   []string // what it said of its work, the oldest first
	Words string   // the end of a program's standard error

	On     bool // burin uses it, as the files say
	Linked bool // sessions of this process have a connection to it, or will
	Moving bool // it is being connected, or will be at once
	Login  bool // it wants a login, which burin can get
}

// ServerTool is a tool of a server.
type ServerTool struct {
	Name, Description string
	On                bool
}

// Used is how many of its tools are used.
func (v *ServerView) Used() (n int) {
	for _, t := range v.Tools {
		if t.On {
			n++
		}
	}
	return n
}

// Summary is the state with the number of its tools.
func (v *ServerView) Summary() string {
	used, all := v.Used(), len(v.Tools)
	switch {
	case all == 0:
		return v.State
	case used < all && v.On:
		return fmt.Sprintf("%s, %d of %s", v.State, used, prose.Count(all, "tool"))
	}
	return v.State + ", " + prose.Count(all, "tool")
}

// Find lists the servers as they are now, in the order in which names win. warnings say what is
// wrong with the files.
func (d *ServerDesk) Find() (all []ServerView, warnings []string, err error) {
	found, warnings, err := Servers(d.host)
	if err != nil {
		return nil, warnings, err
	}
	hide := d.hiding()
	for i := range found {
		all = append(all, d.view(&found[i], hide))
	}
	for i := range warnings {
		warnings[i] = prose.Inline(hide(warnings[i]))
	}
	return all, warnings, nil
}

// hiding takes secrets out of what servers say. Where they can't be known nothing is shown.
func (d *ServerDesk) hiding() func(string) string {
	settings, err := d.host.Settings()
	if err == nil && settings.Secrets.Enabled != nil && !*settings.Secrets.Enabled {
		return func(text string) string { return text }
	}
	if a, err := d.host.Archive(nil); err == nil {
		if v, err := a.Vault(); err == nil {
			return v.Hide
		}
	}
	return func(string) string { return "" }
}

func serverID(s *Server) string { return s.Name + "\n" + s.Path }

func (d *ServerDesk) view(s *Server, hide func(string) string) ServerView {
	line := func(text string) string { return prose.Inline(hide(text)) }
	v := ServerView{
		ID: serverID(s), Name: s.Name, Type: s.Type, Where: line(s.Where()), Owner: line(s.Owner), Path: line(s.Path), On: s.Standing == ServerOn,
	}
	var l *mcp.Link
	if s.Standing == ServerOn || s.Standing == ServerOff {
		l = d.link(s.Name)
	}
	v.State, v.Why = standing(s)
	if l == nil {
		return v
	}
	v.Linked = true
	now := l.Status()
	if now.State != mcp.Off || v.On {
		v.state(&now, line)
	}
	for _, t := range now.Tools {
		v.Tools = append(v.Tools, ServerTool{t.Name, hide(prose.Clean(t.Description, 4)), l.Offers(t.Name)})
	}
	for _, one := range l.Log() {
		v.Log = append(v.Log, line(fmt.Sprintf("%s %s %s %s", one.Time.Format(time.TimeOnly), one.Level, one.Logger, one.Text)))
	}
	v.Words = hide(l.Words())
	return v
}

// standing says what the files make of a server.
func standing(s *Server) (state, why string) {
	switch s.Standing {
	case ServerOn:
		return "on", "no session of this process uses it; new sessions do"
	case ServerHidden:
		return "hidden", "another server has its name"
	case ServerWaits:
		return "not trusted", "it starts once you trust its file: burin trust"
	case ServerRefused:
		return "refused", "you don't trust its file: burin trust"
	case ServerForeign:
		return "not imported", "it is another program's: burin mcp import " + s.Name + " copies it"
	case ServerExcluded:
		return "off by settings", "mcp.enabled and mcp.enableProjectConfig in /settings"
	}
	return string(s.Standing), ""
}

// state says how the link to a server is.
func (v *ServerView) state(now *mcp.Status, line func(string) string) {
	v.Why = ""
	if now.Err != nil {
		v.Why = prose.Short(line(now.Err.Error()), 1000)
	}
	switch now.State {
	case mcp.Off:
		v.State, v.Why = "off in this session", "its file has it on: new sessions use it"
	case mcp.Connecting:
		v.State, v.Moving = "connecting", true
	case mcp.Ended:
		v.State = "ended"
		v.Why += "; the next call connects again"
	case mcp.Failed:
		v.State = "failed"
		v.Why += "; burin tries again with the next call"
		if now.Retry.After(time.Now()) {
			v.Why += ", not before " + now.Retry.Format(time.TimeOnly)
		}
	case mcp.NeedsLogin:
		v.State = "needs a login"
		login := (*mcp.LoginError)(nil)
		v.Login = errors.As(now.Err, &login) && login.Name != ""
	case mcp.Idle:
		v.State, v.Why = "not connected", "the first call connects"
		v.Moving = v.On // sessions ask a server that they don't know when they begin
		if !now.At.IsZero() {
			v.Moving = false
			v.State, v.Why = "from the cache", "its tools are those of "+now.At.Local().Format(time.DateTime)+"; the first call connects"
		}
	default:
		v.State = now.State
	}
	if !v.On {
		v.Why = strings.TrimPrefix(v.Why+"; its file has it off for new sessions", "; ")
	}
}

// link is the way to a server that a session of this process has; nil is none. One that is on
// counts more.
func (d *ServerDesk) link(name string) (found *mcp.Link) {
	for _, l := range d.host.pool().Find(name) {
		if found == nil || found.Off() {
			found = l
		}
	}
	return found
}

// server finds a server by its ID, or by its name.
func (d *ServerDesk) server(id string) (*Server, error) {
	all, _, err := Servers(d.host)
	if err != nil {
		return nil, err
	}
	var found *Server
	for i := range all {
		s := &all[i]
		if serverID(s) == id {
			return s, nil
		}
		if s.Name == id && (found == nil || found.Standing != ServerOn && s.Standing == ServerOn) {
			found = s
		}
	}
	if found == nil {
		name, _, _ := strings.Cut(id, "\n")
		return nil, fmt.Errorf("no MCP server %q: /mcp lists them", prose.Short(prose.Inline(name), 60))
	}
	return found, nil
}

// What a person can have done to a server, and SwitchOn and SwitchOff to a tool.
const (
	SwitchOn  = "on"
	SwitchOff = "off"
	Reconnect = "reconnect"
)

// Do switches a server or one of its tools, in sessions of this process and in later ones, or
// connects to the server again. A server that is switched on is connected to. said is what it
// means, also where there is an error: then the server could not be reached.
func (d *ServerDesk) Do(ctx context.Context, what, id, tool string) (said string, err error) {
	s, err := d.server(id)
	if err != nil {
		return "", err
	}
	links := d.host.pool().Find(s.Name)
	said = "connected to " + s.Name
	if what != Reconnect {
		on := what == SwitchOn
		if err := d.change(ctx, s, tool, on); err != nil {
			return "", err
		}
		for _, l := range links {
			l.Switch(tool, on)
		}
		said = s.Name + " is " + what + " in this session and in later ones"
		switch {
		case len(links) == 0:
			said = s.Name + " is " + what + " in later sessions; this one has no connection to it"
		case tool != "":
			said = prose.Inline(tool) + " of " + said
		}
	} else if len(links) == 0 {
		return "", fmt.Errorf("no session of this process uses %s: burin mcp test %s connects to it", s.Name, s.Name)
	}
	if what == SwitchOff || tool != "" {
		return said, nil
	}
	for _, l := range links {
		if e := l.Reconnect(ctx); e != nil {
			err = fmt.Errorf("MCP server %s: %w", s.Name, e)
			if what == Reconnect {
				said = ""
			}
		}
	}
	return said, err
}

// change changes a server in the file of burin's own that defines it.
func (d *ServerDesk) change(ctx context.Context, s *Server, tool string, on bool) error {
	h := d.host
	switch s.Standing {
	case ServerOn, ServerOff:
	default:
		state, why := standing(s)
		return fmt.Errorf("%s is %s: %s", s.Name, state, why)
	}
	own := false
	for _, project := range []bool{true, false} {
		own = own || s.Path == ServerFile(h, project)
	}
	if !own {
		return fmt.Errorf("%s is not burin's own: change %s there", s.Path, s.Name)
	}
	return SwitchServer(ctx, h, s.Path, s.Name, tool, on)
}

// ErrNoServer means that a file has no server of a name.
var ErrNoServer = errors.New("no such MCP server")

// SwitchServer switches a server, or one of its tools, in one of burin's own files. The trust in a project's file stays: the
// person changes no more than which of its servers and tools are used.
func SwitchServer(ctx context.Context, h *Host, path, name, tool string, on bool) error {
	before, trusted := serverFile(h, path)
	err := mcpserver.Edit(ctx, path, func(all mcpserver.Entries) (err error) {
		switch raw := all[name]; {
		case raw == nil:
			return fmt.Errorf("%w: %s has none called %s", ErrNoServer, path, name)
		case tool != "":
			all[name], err = mcpserver.SwitchTool(raw, tool, on)
		default:
			all[name], err = mcpserver.Switch(raw, on)
		}
		return err
	})
	if err != nil || !trusted {
		return err
	}
	if after, _ := serverFile(h, path); runs(before, name) == runs(after, name) {
		err = trustList(h).Decide(after.Project, trust.Trusted, []trust.Item{after.Item})
	}
	return err
}

// serverFile is a file of servers as it is now, and whether it needed trust and has it.
func serverFile(h *Host, path string) (f mcpserver.File, trusted bool) {
	files, _ := mcpserver.Discover(h.Sources()) // Find tells what is wrong with them
	for _, f = range files {
		if f.Path == path {
			standing, err := trustedFile(h, f)
			return f, err == nil && !f.Own && standing == ServerOn
		}
	}
	return mcpserver.File{}, false
}

// runs is a text of what the servers of a file run, whichever tools of one of them are used.
func runs(f mcpserver.File, name string) string {
	for i := range f.Servers {
		if s := &f.Servers[i]; s.Name == name {
			s.Disabled, s.Only, s.Without = false, nil, nil
		}
	}
	text, _ := json.Marshal(f.Servers) // of texts: it cannot fail
	return string(text)
}

// Login logs in to a server as [LoginServer] does, and connects to it.
func (d *ServerDesk) Login(ctx context.Context, id string, ui oauth.UI) (said string, err error) {
	s, err := d.server(id)
	if err == nil {
		_, err = LoginServer(ctx, d.host, s.Definition, nil, ui)
	}
	if err != nil {
		return "", err
	}
	said, err = d.Do(ctx, Reconnect, id, "")
	return "Logged in, and " + said + ".", err
}

// FactWidth is how many bytes the name of a fact takes.
const FactWidth = 9

// Facts are what there is to say about a server, a line each: a name, padded to FactWidth, and words.
func (v *ServerView) Facts() (lines []string) {
	log := ""
	if n := len(v.Log); n > 0 {
		log = v.Log[n-1]
	}
	names := strings.Split("State,,Server,Type,From,Log,Stderr", ",")
	for i, text := range []string{v.State, v.Why, v.Where, v.Type, v.Path + " (" + v.Owner + ")", log, v.Words[strings.LastIndexByte(v.Words, '\n')+1:]} {
		if text != "" {
			lines = append(lines, fmt.Sprintf("%-*s%s", FactWidth, names[i], text))
		}
	}
	return lines
}

// Command does what a person writes behind /mcp, and returns Markdown: the servers, or all about
// one.
func (d *ServerDesk) Command(_ context.Context, name string) (string, error) {
	all, lines, err := d.Find()
	if err != nil {
		return "", err
	}
	found := name == ""
	for i := range all {
		v := &all[i]
		if name == "" {
			lines = append(lines, fmt.Sprintf("%s: %s, %s", v.Name, v.Summary(), v.Where))
		} else if v.Name == name && !found {
			found, lines = true, v.Facts()
			for _, t := range v.Tools {
				word := "Tool"
				if !t.On {
					word = "Off"
				}
				lines = append(lines, fmt.Sprintf("%-*s%s  %s", FactWidth, word, prose.Inline(t.Name), prose.Row(t.Description, 100)))
			}
		}
	}
	switch {
	case !found:
		_, err = d.server(name)
	case len(lines) == 0:
		return "No MCP servers: burin mcp add adds one.", nil
	}
	return "    " + strings.Join(lines, "\n    "), err
}
