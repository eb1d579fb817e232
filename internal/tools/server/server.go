// Package server makes tools of what MCP servers offer. A [Kit] has those of a session.
//
// # Names
//
// The model calls a tool mcp__SERVER__TOOL, rules call it SERVER.TOOL ([Name], [Address]). What
// has other characters than letters, digits, "_" and "-", or is too long for providers, gets a
// hash at its end, so that no two tools have one name, whatever servers call them. Names don't
// depend on which other servers there are.
//
// # What the model is sent
//
// Tools come in the order of servers and names, and a definition stays as it is for the whole
// session: providers cache requests from their beginning, which the tools are. What a server
// adds later comes at the end. With more tools than Options.Search, the model gets a tool that
// searches them instead, and what it finds is added at the end.
//
// # Who decides
//
// What servers say of their tools is data. "Read-only" has two effects only: such calls may run
// at the same time, and plan mode asks about them rather than refusing them. Secrets of the
// workspace aren't put into the arguments of calls: a server gets those of its definition.
package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Prefix begins the names of all tools of servers.
const Prefix = "mcp__"

const (
	maxName   = 64       // characters that providers accept
	maxServer = 24       // of them for the server
	window    = 25 << 10 // bytes of the beginning and of the end of a result that the model reads
	maxImages = 10       // of a result
)

// Options of a kit.
type Options struct {
	Links     []*mcp.Link
	Artifacts tool.Artifacts // nil: whole results are not kept
	Images    document.ImageLimits
	// Search says with how many tools they are searched for rather than all sent: with more than
	// that; negative is never.
	Search int
	Always []string // servers whose tools are always sent
	Found  []string // names of tools that the model found earlier in this session
	Warn   func(string)
	// Person answers what servers ask; nil: nobody does.
	Person Person
	// Sample has the session's model answer a server; nil: it doesn't.
	Sample func(ctx context.Context, r mcp.Sampling) (*mcp.Sampled, error)
}

// Set is where tools are added while a session lives.
type Set interface {
	Put(tools ...*tool.Tool) error
	Remove(names ...string) error
}

// Kit has the tools of the servers of a session. It is safe for concurrent use.
type Kit struct {
	o Options

	mu        sync.Mutex
	all       []entry // in the order in which they are sent
	offered   []*tool.Tool
	gone      map[string]bool // offered once, and removed
	found     []string        // in the order in which the model found them
	searching *tool.Tool      // nil: all are sent
	index     *index          // nil: to be made
	set       Set             // nil: the session is not open yet
	told      map[string]bool // logins that the person knows are missing
}

// entry is a tool of a server.
type entry struct {
	*tool.Tool
	server string
	plain  string // what the server calls it
}

// New makes a kit from what is known of the servers. It asks none of them.
func New(o Options) *Kit {
	k := &Kit{o: o, gone: map[string]bool{}}
	k.all = k.known()
	k.searching = k.search(len(k.all))
	for _, e := range k.all {
		if k.searching == nil || slices.Contains(o.Always, e.server) {
			k.offered = append(k.offered, e.Tool)
		}
	}
	for _, name := range o.Found {
		if e := k.find(name); e != nil && !k.offers(name) {
			k.offered = append(k.offered, e.Tool)
			k.found = append(k.found, name)
		}
	}
	return k
}

// Tools are those to begin the session with. The slice belongs to the caller.
func (k *Kit) Tools() []*tool.Tool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.searching == nil {
		return slices.Clone(k.offered)
	}
	return append([]*tool.Tool{k.searching}, k.offered...)
}

// Join follows the servers from now on, and adds what they add to set, until leave is called.
func (k *Kit) Join(set Set) (leave func()) {
	k.mu.Lock()
	k.set = set
	k.mu.Unlock()
	var stops []func()
	for _, l := range k.o.Links {
		stops = append(stops, l.Watch(k.follow))
	}
	k.follow() // what came meanwhile
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// known are the tools of all servers as they are known now.
func (k *Kit) known() (all []entry) {
	seen := map[string]bool{}
	for _, l := range k.o.Links {
		tools, _ := l.Tools()
		for i := range tools {
			t := k.tool(l, tools[i])
			if seen[t.Name] { // only a server that means it can make this happen
				continue
			}
			seen[t.Name] = true
			all = append(all, entry{t, l.Server().Name, tools[i].Name})
		}
	}
	return all
}

func (k *Kit) find(name string) *entry {
	for i := range k.all {
		if k.all[i].Name == name {
			return &k.all[i]
		}
	}
	return nil
}

func (k *Kit) offers(name string) bool {
	return slices.ContainsFunc(k.offered, func(t *tool.Tool) bool { return t.Name == name })
}

// follow adds and removes what has changed.
func (k *Kit) follow() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all, k.index = k.known(), nil
	var put []*tool.Tool
	var fresh []entry
	for _, e := range k.all {
		switch {
		case !k.offers(e.Name):
			fresh = append(fresh, e)
		case k.gone[e.Name]:
			delete(k.gone, e.Name)
			put = append(put, k.offered[slices.IndexFunc(k.offered, func(t *tool.Tool) bool { return t.Name == e.Name })])
		}
	}
	if k.searching == nil && len(fresh) > 0 {
		if k.searching = k.search(len(k.offered) + len(fresh)); k.searching != nil {
			put = append(put, k.searching)
		}
	}
	for _, e := range fresh {
		if k.searching == nil || slices.Contains(k.o.Always, e.server) {
			put = append(put, e.Tool)
			k.offered = append(k.offered, e.Tool)
		}
	}
	var remove []string
	for _, t := range k.offered {
		if k.find(t.Name) == nil && !k.gone[t.Name] {
			k.gone[t.Name] = true
			remove = append(remove, t.Name)
		}
	}
	if len(put) > 0 {
		k.tell(k.set.Put(put...))
	}
	for _, name := range remove {
		k.tell(k.set.Remove(name))
	}
}

func (k *Kit) tell(err error) {
	if err != nil && k.o.Warn != nil {
		k.o.Warn("tools of MCP servers: " + err.Error())
	}
}

// lacks tells the person which login a call needs, or needs more of: once, as the model may try again.
func (k *Kit) lacks(err error) {
	login := (*mcp.LoginError)(nil)
	if !errors.As(err, &login) || login.Name == "" || k.o.Warn == nil {
		return
	}
	line := fmt.Sprintf("MCP server %s wants a login: burin mcp login %s", login.Name, login.Name)
	if len(login.Wanted) > 0 {
		line = fmt.Sprintf("MCP server %s wants a login that allows %s: burin mcp login %s", login.Name, prose.Short(prose.Inline(strings.Join(login.Wanted, " ")), 200), login.Name)
	}
	k.mu.Lock()
	told := k.told[line]
	if k.told == nil {
		k.told = map[string]bool{}
	}
	k.told[line] = true
	k.mu.Unlock()
	if !told {
		k.o.Warn(line)
	}
}

// hashed is text in the characters that names may have, at most so long. What that changes gets
// a hash of the whole.
func hashed(text string, most int, also bool) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' {
			return r
		}
		return '_'
	}, text)
	if clean == text && len(text) <= most && !also {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return clean[:min(len(clean), most-7)] + "-" + hex.EncodeToString(sum[:3])
}

// parts are the names of a server and of its tool, as both [Name] and [Address] have them.
func parts(server, name string) (string, string) {
	// The first "__" ends the server's name, so there is none in it, nor half of one at its end.
	server = hashed(server, maxServer, strings.Contains(server, "__") || strings.HasSuffix(server, "_"))
	server = strings.ReplaceAll(server, "__", "_-")
	return server, hashed(name, maxName-len(Prefix)-2-len(server), false)
}

// Name is what the model calls the tool of a server.
func Name(server, name string) string {
	server, name = parts(server, name)
	return Prefix + server + "__" + name
}

// Address is what rules call the tool of a server.
func Address(server, name string) string {
	server, name = parts(server, name)
	return server + "." + name
}

// tool makes a tool.
func (k *Kit) tool(l *mcp.Link, t mcp.Tool) *tool.Tool {
	server := l.Server().Name
	address := Address(server, t.Name)
	effects := tool.Network
	if !t.Annotations.ReadOnly {
		effects |= tool.Writes
	}
	return &tool.Tool{
		Name: Name(server, t.Name), Label: server + ": " + cmp.Or(t.Title, prose.Inline(t.Name)),
		Description: t.Description, Parameters: t.InputSchema, Effects: effects,
		Access: func(args json.RawMessage) ([]tool.Access, error) {
			return []tool.Access{{Kind: tool.AccessServer, Target: address + ":" + canonical(args)}}, nil
		},
		Together: func(json.RawMessage) bool { return t.Annotations.ReadOnly },
		Run: func(ctx context.Context, c tool.Call) (*tool.Result, error) {
			// What was judged is what is sent: of a name that is there twice, servers may read either.
			r, err := l.Call(ctx, t.Name, json.RawMessage(canonical(c.Arguments)), k.caller(server, &c))
			if err != nil {
				if ctx.Err() != nil {
					return nil, err
				}
				k.lacks(err)
				return nil, fmt.Errorf("MCP server %s: %w", server, err)
			}
			return k.result(r), nil
		},
	}
}

// canonical is one text for arguments that mean the same.
func canonical(args json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if len(args) == 0 || dec.Decode(&v) != nil {
		return "{}"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "{}"
	}
	return strings.TrimSpace(b.String())
}

// result is what the model gets.
func (k *Kit) result(r *mcp.Result) *tool.Result {
	out := &tool.Result{IsError: r.IsError}
	var text strings.Builder
	var images []llm.Block
	say := func(s string) {
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(s)
	}
	for _, c := range r.Content {
		switch {
		case c.Type == "text":
			say(c.Text)
		case c.Type == "image" && len(images) < maxImages:
			p, err := document.FitImage(c.Data, k.o.Images)
			if err != nil {
				say(fmt.Sprintf("[An image could not be shown: %v.]", err))
				continue
			}
			images = append(images, llm.Image{MIME: p.MIME, Data: p.Data})
		case c.Type == "resource" && c.Resource != nil && c.Resource.Blob == nil:
			say(fmt.Sprintf("[%s]\n%s", prose.Inline(c.Resource.URI), c.Resource.Text))
		case c.Type == "resource" && c.Resource != nil:
			say(fmt.Sprintf("[%s: %s, %d bytes, is not shown]", prose.Inline(c.Resource.URI), prose.Inline(cmp.Or(c.Resource.MIME, "binary")), len(c.Resource.Blob)))
		case c.Type == "resource_link":
			say(fmt.Sprintf("[%s: %s]", prose.Inline(cmp.Or(c.Name, "resource")), prose.Inline(c.URI)))
		default:
			say(fmt.Sprintf("[%s is not shown]", prose.Short(prose.Inline(cmp.Or(c.Type, "something")), 60)))
		}
	}
	if text.Len() == 0 && len(images) == 0 && len(r.Structured) > 0 {
		say(string(r.Structured))
	}
	if text.Len() > 0 {
		fit := tool.Fit(text.String(), tool.SinkOptions{Head: window, Tail: window, Columns: -1, Artifacts: k.o.Artifacts, Kind: "mcp"})
		said := fit.Text
		if notice := fit.Notice(); notice != "" {
			said += "\n\n" + notice
		}
		out.Content = append(out.Content, llm.Text{Text: said})
	}
	out.Content = append(out.Content, images...)
	return out
}
