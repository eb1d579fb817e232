package permission

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/permission/command"
	"github.com/burin-dev/burin/internal/platform/wall"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
)

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// maxPattern is the longest pattern of a rule in bytes. Longer ones were not
// written by a person.
const maxPattern = 16 << 10

// ParseRule reads a rule in text.
func ParseRule(s string) (Rule, error) {
	rule := Rule{Verdict: Allow}
	text := strings.TrimSpace(s)
	for _, v := range []struct {
		mark    string
		verdict Verdict
	}{{"!", Deny}, {"deny ", Deny}, {"ask ", Question}, {"prompt ", Question}, {"allow ", Allow}} {
		if rest, ok := strings.CutPrefix(text, v.mark); ok {
			rule.Verdict, text = v.verdict, strings.TrimSpace(rest)
			break
		}
	}
	var has bool
	rule.Tool, rule.Pattern, has = strings.Cut(text, "(")
	if has {
		var closed bool
		if rule.Pattern, closed = strings.CutSuffix(rule.Pattern, ")"); !closed {
			return Rule{}, fmt.Errorf("rule %q: the closing parenthesis is missing", s)
		}
		if rule.Pattern == "" {
			return Rule{}, fmt.Errorf("rule %q: the parentheses are empty; leave them out to match every call", s)
		}
	}
	if pattern, ok := serverAlias(rule.Tool); ok {
		if has {
			pattern += ":" + rule.Pattern
		}
		rule.Tool, rule.Pattern = server, pattern
	}
	if !toolName().MatchString(rule.Tool) {
		return Rule{}, fmt.Errorf("rule %q: write tool or tool(pattern), as in bash(go test:*)", s)
	}
	check := rule
	if check.Tool == server {
		check.Verdict = Deny // of a list, it may be one to refuse; what allows is checked again
	}
	if _, err := compile(check, command.Place{}); err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", s, err)
	}
	return rule, nil
}

// kind says what the pattern of a rule is compared with.
type kind uint8

const (
	anything kind = iota // by what the access is: the tool is not known here
	commands
	paths
	hosts
	repositories
	servers
)

// family gives the tools that a rule for a tool is for, and what its pattern is.
func family(name string) ([]string, kind) {
	switch name {
	case "read":
		return []string{"read", "ls", "find", "grep"}, paths
	case "edit":
		return []string{"edit", "write", "undo_edit"}, paths
	case "bash":
		return []string{"bash", "job_start", "job_write"}, commands
	case "ls", "find", "grep", "write", "undo_edit":
		return []string{name}, paths
	case "job_start", "job_write":
		return []string{name}, commands
	case "fetch", "web_search":
		return []string{name}, hosts
	case github:
		return []string{name}, repositories
	case server:
		return []string{name}, servers
	}
	return []string{name}, anything
}

// compiled is a rule that is ready to be compared.
type compiled struct {
	Rule
	tools      []string
	whole      string       // the command line it is exactly for
	call       command.Call // the simple command, or the first words of one
	first      bool         // call is the first words
	glob       string       // of paths
	root       string       // of the workspace: absolute patterns are compared with names in it too
	host       string
	repository string // owner/name, or owner/*
	server     string // server.tool, or server.*
	args       string // of such calls; "" is any
	rank       int    // how specific it is

	pattern wall.Pattern // glob, whatever the capitals
}

func (c *compiled) bare() bool { return c.Pattern == "" }

// exact reports whether the rule is for one text or name only.
func (c *compiled) exact(k tool.AccessKind) bool {
	switch k {
	case tool.AccessExecute:
		return c.whole != ""
	case tool.AccessNetwork:
		return c.host != "" && !strings.HasPrefix(c.host, "*") || c.repository != "" && !strings.HasSuffix(c.repository, "*")
	}
	_, ok := literal(c.glob)
	return ok
}

// compile checks a rule and prepares it for a place.
func compile(r Rule, at command.Place) (*compiled, error) {
	c := &compiled{Rule: r}
	var k kind
	c.tools, k = family(r.Tool)
	if r.Pattern == "" {
		return c, nil
	}
	if len(r.Pattern) > maxPattern {
		return nil, errors.New("the pattern is longer than 16 KB")
	}
	c.rank = 1 + len(r.Pattern)
	var err error
	if k == commands || k == anything {
		err = c.compileCommand(at)
	}
	if k == paths || k == anything {
		err = c.compilePath(at)
	}
	if k == hosts || k == anything && !strings.ContainsAny(r.Pattern, " /") {
		err = c.compileHost()
	}
	if k == repositories {
		err = c.compileRepository()
	}
	if k == servers {
		err = c.compileServer()
	}
	if k == anything {
		err = nil // it is what one of them can read
	}
	return c, err
}

func (c *compiled) compileCommand(at command.Place) error {
	p := c.Pattern
	switch {
	case p[0] == '"':
		text, err := strconv.Unquote(p)
		if err != nil || strings.TrimSpace(text) == "" {
			return errors.New("the text in quotes is not valid")
		}
		c.whole = strings.TrimSpace(text)
	case p == "*":
		c.Pattern, c.rank = "", 0
		return nil
	case strings.HasSuffix(p, ":*"):
		call, err := command.ParseWords(strings.TrimSuffix(p, ":*"))
		if err != nil {
			return fmt.Errorf("the words before :* must be plain ones: %w", err)
		}
		c.call, c.first = call, true
		c.call.Words[0] = program(call.Words[0])
		return nil
	case strings.HasSuffix(p, " *"):
		return fmt.Errorf("write %s:* for anything after these words, or quotes for exactly this text", strings.TrimSuffix(p, " *"))
	default:
		c.whole = strings.TrimSpace(p)
	}
	c.rank = 1 << 20
	call, err := command.ParseWords(c.whole)
	if err == nil && (order(c.Verdict) < 2 || len(command.Parse(c.whole, at).Free) == 0) { // eval 'make $X' depends on X
		c.call = call
		c.call.Words[0] = program(call.Words[0])
	}
	return nil
}

// program gives a program with a relative path the form that [command.Part.Plain]
// gives it.
func program(w command.Word) command.Word {
	if strings.Contains(w.Text, "/") && !strings.HasPrefix(w.Text, "/") {
		w.Text = "./" + path.Clean(w.Text)
	}
	return w
}

func (c *compiled) compilePath(at command.Place) error {
	p := c.Pattern
	if rest, ok := strings.CutPrefix(p, "~/"); ok && at.Home != "" {
		p = quoteGlob(strings.TrimSuffix(at.Home, "/")) + "/" + rest
	}
	if at.Root != "" {
		p = strings.TrimPrefix(p, quoteGlob(strings.TrimSuffix(at.Root, "/"))+"/")
	}
	p = strings.TrimPrefix(p, "./")
	if strings.HasSuffix(p, "/") {
		p += "**"
	}
	var err error
	if c.pattern, err = wall.Compile(p); err != nil {
		return errors.New("the pattern of paths is not valid")
	}
	if slices.Contains(strings.Split(p, "/"), "..") {
		return errors.New(`".." has no place in a pattern of paths: write an absolute one`)
	}
	c.glob, c.root = p, at.Root
	return nil
}

// quoteGlob makes a pattern that matches exactly one name.
func quoteGlob(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if strings.IndexByte(`*?[]{}\`, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// literal is the one name that a pattern matches, if it is for one only.
func literal(glob string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '*', '?', '[', '{':
			return "", false
		case '\\':
			if i++; i == len(glob) {
				return "", false
			}
		}
		b.WriteByte(glob[i])
	}
	return b.String(), b.Len() > 0
}

// exactCommand is the pattern for exactly this command line.
func exactCommand(line string) string {
	line = strings.TrimSpace(line)
	plain := line != "" && line[0] != '"' && !strings.HasSuffix(line, "*") && len(line) < 500
	for _, r := range line {
		plain = plain && strconv.IsPrint(r)
	}
	if plain {
		return line
	}
	return strconv.Quote(line)
}

// InWords is a rule with what it does in its Words.
func InWords(r Rule) Rule {
	verb := "allow "
	switch r.Verdict {
	case Deny:
		verb = "refuse "
	case Question:
		verb = "ask about "
	}
	r.Words = verb + what(r)
	return r
}

// what says what calls a rule is for.
func what(r Rule) string {
	c, err := compile(r, command.Place{})
	if err != nil {
		return "nothing: the rule is not valid"
	}
	_, k := family(r.Tool)
	switch {
	case c.bare():
		return c.whatever()
	case k == commands && c.first:
		words := make([]string, len(c.call.Words))
		for i, w := range c.call.Words {
			words[i] = w.Text
		}
		s := "`" + strings.TrimSuffix(c.Pattern, ":*") + "` with any arguments, in any folder of the workspace"
		if r.Verdict != Deny && r.Verdict != Question {
			if no := command.Excluded(words); len(no) > 0 {
				s += "; still asks for what may run or write something else (" + strings.Join(no, ", ") + ")"
			}
		}
		return s
	case k == commands:
		return "exactly the command `" + prose.Clip(c.whole, 200) + "`"
	case k == paths:
		return c.whatPaths()
	case k == hosts:
		return c.whatHost()
	case k == repositories:
		return c.whatRepository()
	case k == servers:
		return c.whatServer()
	}
	return "calls of the tool " + r.Tool + " for `" + r.Pattern + "`"
}

func (c *compiled) whatever() string {
	switch c.Tool {
	case "bash":
		return "every command, but dangerous ones"
	case "edit":
		return "changing any file (tools edit, write, undo_edit), but dangerous ones"
	case "read":
		return "reading any file (tools read, ls, find, grep)"
	case server:
		return "every call of every MCP server"
	}
	return "every call of the tool " + c.Tool
}

func (c *compiled) whatPaths() string {
	s := "the tool " + c.Tool + " on "
	switch c.Tool {
	case "edit":
		s = "changing "
	case "read":
		s = "reading "
	}
	folder, deep := strings.CutSuffix(c.glob, "/**")
	folder, plain := literal(folder)
	name, one := literal(c.glob)
	switch {
	case c.glob == "**":
		s += "all files of the workspace"
	case deep && plain && addressed(c.glob):
		s += "all files of " + strings.TrimSuffix(c.glob, "**")
	case deep && plain:
		s += "all files below " + folder
	case one:
		s += "the file " + name
	default:
		s += "files that match " + c.glob
	}
	switch c.Tool {
	case "edit":
		s += " (tools edit, write, undo_edit, and what commands write there by redirection)"
	case "read":
		s += " (tools read, ls, find, grep, and commands that only read)"
	}
	return s
}

func (c *compiled) whatHost() string {
	verb := "requests of the tool " + c.Tool + " to "
	if rest, ok := strings.CutPrefix(c.host, "*."); ok {
		return verb + "all hosts below " + rest
	}
	return verb + "the host " + c.host
}

// inBrief names the calls that rules are for, in at most [permit.MaxWords] columns. Rules
// that there is no room for are counted.
func inBrief(rules []Rule) string {
	var calls []brief
	for _, r := range rules {
		c, err := compile(r, command.Place{})
		if err != nil {
			return "nothing: a rule is not valid"
		}
		b := c.brief()
		if n := len(calls); n > 0 && calls[n-1].before == b.before && calls[n-1].after == b.after {
			calls[n-1].subjects = append(calls[n-1].subjects, b.subjects...) // "all `npm ci` and `npm test` commands"
			continue
		}
		calls = append(calls, b)
	}
	phrases := make([]string, len(calls))
	for i, b := range calls {
		phrases[i] = b.in(len(b.subjects), math.MaxInt)
	}
	if s := strings.Join(phrases, " and "); prose.Width(s) <= permit.MaxWords {
		return s
	}
	more := ""
	if n := len(rules) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return calls[0].in(min(1, len(calls[0].subjects)), permit.MaxWords-len(more)) + more
}

// brief is a few words for the calls that a rule is for: some around names of its own.
type brief struct {
	before   string
	subjects []string
	after    string
}

// in is the words with the first n subjects, each in backticks, in so many columns.
func (b brief) in(n, columns int) string {
	columns -= len(b.before) + len(b.after)
	var s string
	for i, subject := range b.subjects[:n] {
		switch {
		case i > 0 && i == n-1:
			s += " and "
		case i > 0:
			s += ", "
		}
		s += "`" + prose.Middle(subject, columns/n-2) + "`"
	}
	return b.before + s + b.after
}

// brief is what the rule is for in a few words.
func (c *compiled) brief() brief {
	_, k := family(c.Tool)
	switch {
	case c.bare() && c.Tool == "bash":
		return brief{before: "every command"}
	case c.bare() && c.Tool == "edit":
		return brief{before: "edits to any file"}
	case c.bare() && c.Tool == "read":
		return brief{before: "reading any file"}
	case c.bare() && c.Tool == server:
		return brief{before: "every call of MCP servers"}
	case c.bare():
		return brief{"every ", []string{c.Tool}, " call"}
	case k == commands && c.first:
		return brief{"all ", []string{prose.Inline(strings.TrimSuffix(c.Pattern, ":*"))}, " commands"}
	case k == commands:
		return brief{"", []string{prose.Inline(prose.Clip(c.whole, 2000))}, ""}
	case k == paths:
		return c.briefPaths()
	case k == repositories:
		return brief{"reading ", []string{c.whatRepository()}, ""}
	case k == servers:
		return c.briefServer()
	case k == hosts && c.Tool == "fetch":
		return brief{"fetching from ", []string{c.host}, ""}
	case k == hosts:
		return brief{c.Tool + " requests to ", []string{c.host}, ""}
	}
	return brief{"", []string{c.Tool + " " + prose.Inline(prose.Clip(c.Pattern, 2000))}, ""}
}

func (c *compiled) briefPaths() brief {
	verb := map[string]string{"edit": "edits to ", "read": "reading "}[c.Tool]
	if verb == "" {
		verb = c.Tool + " on "
	}
	folder, deep := strings.CutSuffix(c.glob, "/**")
	folder, plain := literal(folder)
	name, one := literal(c.glob)
	switch {
	case c.glob == "**":
		return brief{before: verb + "all workspace files"}
	case deep && plain:
		return brief{verb + "files in ", []string{prose.Inline(folder) + "/"}, ""}
	case one:
		return brief{verb, []string{prose.Inline(name)}, ""}
	}
	return brief{verb + "files like ", []string{prose.Inline(c.glob)}, ""}
}

// holds reports whether a rule has not expired.
// holds reports whether a rule has not expired.
func holds(r *Rule, now time.Time) bool { return r.Expires.IsZero() || now.Before(r.Expires) }
