package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// server is the name of rules for calls of MCP servers:
//
//	mcp                          every call
//	mcp(notes.*)                 every call of a server
//	mcp(notes.add)               every call of a tool
//	mcp(notes.add:{"text":"x"})  with exactly these arguments
//	mcp(notes.read:path=docs/*)  with such an argument; "*" is any text
//	deny mcp(db.query:DROP*)     with such a text anywhere; not to allow
const server = "mcp"

// serverAlias gives the rule that a name of a tool of a server stands for, in the ways that
// Claude Code, oh-my-pi and arcane write it: mcp__SERVER, mcp__SERVER__TOOL, mcp__SERVER_TOOL and
// mcp_SERVER_TOOL. Where only "_" is between the two, the first of them ends the server.
func serverAlias(name string) (pattern string, ok bool) {
	rest, double := strings.CutPrefix(name, "mcp__")
	if !double {
		if rest, ok = strings.CutPrefix(name, "mcp_"); !ok {
			return "", false
		}
	}
	of, call, found := strings.Cut(rest, "__")
	if !found {
		of, call, found = strings.Cut(rest, "_")
	}
	switch {
	case of == "":
		return "", false
	case !found && double:
		return of + ".*", true
	case call == "":
		return "", false
	}
	return of + "." + call, true
}

// server judges a call of an MCP server by its rules. reads says that, in the server's own
// words, it changes nothing.
func (j *judge) server(target string, reads bool) finding {
	name, args, _ := strings.Cut(target, ":")
	of, _, _ := strings.Cut(name, ".")
	f := finding{Part: Part{Text: name + " " + args}}
	for _, c := range j.rules {
		if c.is(server) && c.matchServer(name, args) && (j.mode != Plan || reads || order(c.Verdict) < 2) {
			f.ruled(c)
			return f
		}
	}
	switch {
	case j.mode == Full:
		f.Verdict, f.Reason = Allow, j.modeAllows()
		return f
	case j.mode == Plan && !reads:
		f.Verdict, f.Reason = Deny, planRefuses
		return f
	}
	var grants []Rule
	if len(args) <= maxPattern/2 {
		grants = append(grants, Rule{Tool: server, Pattern: target})
	}
	f.ask("it calls the MCP server "+of, append(grants, Rule{Tool: server, Pattern: name}, Rule{Tool: server, Pattern: of + ".*"})...)
	return f
}

// compileServer reads the pattern of a rule for servers.
func (c *compiled) compileServer() error {
	p := c.Pattern
	if p == "*" {
		c.Pattern, c.rank = "", 0
		return nil
	}
	name, args, has := strings.Cut(p, ":")
	of, call, ok := strings.Cut(name, ".")
	switch {
	case !ok || of == "" || call == "":
		return errors.New("write mcp(server.tool) or mcp(server.*), and :arguments after the tool where they matter")
	case call == "*" && has:
		return errors.New("arguments belong to a tool: write mcp(server.tool:...)")
	case has && args == "":
		return errors.New("there are no arguments after the colon")
	}
	for _, part := range []string{of, strings.TrimSuffix(call, "*")} {
		if part != "" && !toolName().MatchString(part) {
			return fmt.Errorf("%q is not the name of a server or a tool: these have letters, digits, _ and -", part)
		}
	}
	if strings.HasSuffix(call, "*") && call != "*" {
		return errors.New("write the whole name of a tool, or * for all")
	}
	c.server, c.args = name, args
	if args == "" || args[0] == '{' {
		if args != "" && !json.Valid([]byte(args)) {
			return errors.New("the arguments are not a JSON object")
		}
		return nil
	}
	if order(c.Verdict) == 2 {
		if argument, _, ok := strings.Cut(args, "="); !ok || !toolName().MatchString(argument) {
			return errors.New("to allow a call, write argument=text with * for any text, or the arguments as a JSON object")
		}
	}
	return nil
}

// matchServer reports whether a rule is for a call.
func (c *compiled) matchServer(name, args string) bool {
	switch of, all := strings.CutSuffix(c.server, "*"); {
	case c.bare():
		return true
	case all:
		return strings.HasPrefix(name, of)
	case name != c.server:
		return false
	case c.args == "":
		return true
	case c.args[0] == '{':
		return sameJSON(c.args, args)
	}
	var given map[string]any
	if json.Unmarshal([]byte(args), &given) != nil {
		return false
	}
	argument, pattern, named := strings.Cut(c.args, "=")
	if named && toolName().MatchString(argument) {
		if order(c.Verdict) == 2 {
			value, ok := scalar(given[argument])
			return ok && stays(pattern, value)
		}
		if value, ok := scalar(given[argument]); ok && wild(pattern, value) {
			return true
		}
	}
	return order(c.Verdict) < 2 && anywhere(given, c.args)
}

func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var texts [2]string
	for i, text := range []string{a, b} {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber() // large numbers differ where floats don't
		var v any
		if dec.Decode(&v) != nil {
			return false
		}
		out, _ := json.Marshal(v) // it was JSON
		texts[i] = string(out)
	}
	return texts[0] == texts[1]
}

// scalar is the text of a value that has one.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// stays reports whether a text matches a pattern and doesn't climb out of where the pattern
// begins: "docs/*" is not for docs/../secret.
func stays(pattern, text string) bool {
	if strings.Contains(pattern, "*") && slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return false
	}
	return wild(pattern, text)
}

// anywhere reports whether some text in a value matches.
func anywhere(v any, pattern string) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if anywhere(v[key], pattern) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return anywhere(one, pattern) })
	default:
		text, ok := scalar(v)
		return ok && wild(pattern, text)
	}
	return false
}

// wild reports whether a text matches a pattern in which "*" is any text, lines included.
func wild(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// whatServer says which calls the rule is for.
func (c *compiled) whatServer() string {
	of, call, _ := strings.Cut(c.server, ".")
	switch argument, pattern, named := strings.Cut(c.args, "="); {
	case call == "*":
		return "every tool of the MCP server " + of
	case c.args == "":
		return "every call of " + call + " of the MCP server " + of
	case c.args[0] == '{':
		return "calls of " + call + " of the MCP server " + of + " with exactly the arguments " + prose.Clip(c.args, 200)
	case named && order(c.Verdict) == 2:
		return "calls of " + call + " of the MCP server " + of + " whose " + argument + " is " + pattern + ", whatever other arguments are"
	}
	return "calls of " + call + " of the MCP server " + of + " with " + c.args + " in an argument"
}

// briefServer says so in a few words.
func (c *compiled) briefServer() brief {
	of, call, _ := strings.Cut(c.server, ".")
	switch {
	case call == "*":
		return brief{"all tools of ", []string{of}, ""}
	case c.args == "":
		return brief{"every ", []string{c.server}, " call"}
	}
	return brief{"", []string{c.server + " " + prose.Inline(prose.Clip(c.args, 2000))}, ""}
}
