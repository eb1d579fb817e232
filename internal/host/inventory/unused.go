package inventory

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
)

// maxRead is how much is read of a file of the user's; Claude Code keeps much in one.
const maxRead = 8 << 20

// servers adds the MCP servers, and whether burin uses them.
func (t *taker) servers() {
	type key struct{ path, name string }
	standings := map[key]host.Standing{}
	all, _, err := host.Servers(t.host) // what is wrong with a file is told where its servers are used
	if err == nil {
		for i := range all {
			standings[key{all[i].Path, all[i].Name}] = all[i].Standing
		}
	}
	from := len(t.items)
	for _, p := range source.Places(t.o, source.Servers) {
		t.named(source.Servers, p, "mcpServers", "mcp_servers", "servers", "mcp")
	}
	for i := from; i < len(t.items); i++ {
		item := &t.items[i]
		if item.State != Unused {
			continue
		}
		switch standings[key{item.Path, mcpserver.Name(item.Name)}] {
		case host.ServerOn:
			item.State = Used
		case host.ServerOff, host.ServerExcluded:
			item.State, item.Why = Off, "switched off"
		case host.ServerHidden:
			item.State, item.Why = Shadowed, "another MCP server "+prose.Short(prose.Inline(item.Name), 60)+" wins"
		case host.ServerWaits:
			item.State, item.Why = Untrusted, "not trusted"
		case host.ServerRefused:
			item.State, item.Why = Off, "refused"
		case host.ServerForeign:
			item.Why = "burin mcp import imports them"
		default:
			item.State, item.Why = Invalid, "MCP server "+prose.Short(prose.Inline(item.Name), 60)+": left out; burin mcp says why"
		}
	}
}

// unused adds what burin finds and does not use yet. It reads names and runs nothing.
func (t *taker) unused() {
	for _, p := range source.Places(t.o, source.Hosts) {
		t.named(source.Hosts, p, "hosts")
	}
	for _, p := range source.Places(t.o, source.Extensions) {
		t.extensions(p)
	}
	for _, p := range source.Places(t.o, source.Settings) {
		t.settings(p)
	}
}

func (t *taker) skip(kind source.Kind, p source.Place, file, name, why string) {
	t.add(Item{Kind: kind, Owner: p.Owner(), Name: name, Path: file, State: Unused, Why: why})
}

func (t *taker) wrong(kind source.Kind, p source.Place, file string, line int, why string) {
	t.add(Item{Kind: kind, Owner: p.Owner(), Path: file, Line: line, State: Invalid, Why: why})
}

// object reads a file that holds an object. Of one that is not there, it is nil.
func (t *taker) object(kind source.Kind, p source.Place) map[string]any {
	text, err := p.ReadFile()
	if p.Repository == "" && errors.Is(err, source.ErrTooLarge) {
		var b []byte
		b, err = smallfile.Read(p.Path, maxRead)
		text = string(b)
	}
	var all map[string]any
	line := 0
	switch {
	case err != nil && source.Missing(err):
		return nil
	case err != nil:
		t.wrong(kind, p, p.Path, 0, source.Reason(err))
		return nil
	case filepath.Ext(p.Path) == ".toml":
		line, err = source.DecodeTOML(text, &all)
	case filepath.Ext(p.Path) == ".yml":
		return nil // of the pi family, whose settings have burin's names
	default:
		b := jsontext.Standard([]byte(text))
		err = json.Unmarshal(b, &all)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line = 1 + strings.Count(string(b[:min(int(syntax.Offset), len(b))]), "\n")
		}
	}
	if err != nil && kind != source.Settings { // the same file is not named twice
		t.wrong(kind, p, p.Path, line, prose.Line(err.Error()))
	}
	return all
}

// named adds the names in the first of the keys that the file of a place has.
func (t *taker) named(kind source.Kind, p source.Place, keys ...string) {
	all := t.object(kind, p)
	for _, key := range keys {
		var names []string
		switch v := all[key].(type) {
		case map[string]any:
			names = slices.Sorted(maps.Keys(v))
		case []any:
			for _, one := range v {
				if o, ok := one.(map[string]any); ok {
					if name, ok := o["name"].(string); ok {
						names = append(names, name)
					}
				}
			}
		}
		for _, name := range names {
			t.skip(kind, p, p.Path, name, "")
		}
		if names != nil {
			return
		}
	}
}

// extensions adds the entries of a folder; of Gemini's, what its manifest says.
func (t *taker) extensions(p source.Place) {
	r, err := p.Open()
	if err != nil {
		return // most are not there
	}
	defer r.Close()
	entries, err := source.List(r, ".")
	if err != nil {
		t.wrong(source.Extensions, p, p.Path, 0, source.Reason(err))
		return
	}
	for _, e := range entries {
		file := filepath.Join(p.Path, e.Name())
		if e.IsDir() {
			manifest := path.Join(e.Name(), "gemini-extension.json")
			text, err := source.Read(r, manifest, source.MaxFile)
			if err == nil {
				file = filepath.Join(p.Path, filepath.FromSlash(manifest))
				var m struct{ Name, Description string }
				if json.Unmarshal([]byte(text), &m) != nil {
					t.wrong(source.Extensions, p, file, 0, "invalid JSON")
					continue
				}
				t.skip(source.Extensions, p, file, cmp.Or(m.Name, e.Name()), prose.Short(m.Description, 100))
				continue
			}
			if p.Source.ID == "gemini" {
				continue
			}
		}
		t.skip(source.Extensions, p, file, e.Name(), "")
	}
}

// settings adds the settings of a program for which burin has one of its own.
func (t *taker) settings(p source.Place) {
	own := map[string]string{
		"model": "modelRoles", "permissions": "permissions.allow", "permission": "permissions.allow", "approval_policy": "approval",
		"sandbox_mode": "sandbox.mode", "sandbox": "sandbox.mode", "theme": "theme.dark", "includeCoAuthoredBy": "", "env": "",
	}
	var theirs, ours []string
	for _, key := range slices.Sorted(maps.Keys(t.object(source.Settings, p))) {
		name, known := own[key]
		if !known {
			continue
		}
		theirs = append(theirs, key)
		if name != "" && !slices.Contains(ours, name) {
			ours = append(ours, name)
		}
	}
	if len(theirs) == 0 {
		return
	}
	why := ""
	if len(ours) > 0 {
		why = "burin's own: " + strings.Join(ours, ", ")
	}
	t.skip(source.Settings, p, p.Path, strings.Join(theirs, ", "), why)
}
