// Package hook reads hooks: programs of a person or a project that run at certain moments
// of a session. The format is that of Claude Code's settings, which Codex shares; those of
// Gemini and Cursor are read as their own programs read them (program.go).
//
//	{"hooks": {"PreToolUse": [
//	  {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "./check.sh", "timeout": 10}]}
//	]}}
//
// [Discover] reads the files and gives a [Set], [Set.For] the hooks of a moment. [Hook.Input]
// writes what a hook is told, and [Hook.Read] understands what it says. Nothing is run here.
package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/prose"
)

// Limits. What lies beyond is left out, and a warning says so.
const (
	MaxHooks       = 200 // of all files
	DefaultTimeout = time.Minute
	MaxTimeout     = 10 * time.Minute
)

// Event is a moment of a session.
type Event string

// The events.
const (
	SessionStart       Event = "SessionStart"       // before the first prompt
	SessionEnd         Event = "SessionEnd"         // when the session closes
	UserPromptSubmit   Event = "UserPromptSubmit"   // a prompt was sent
	PreToolUse         Event = "PreToolUse"         // before a call is judged
	PermissionRequest  Event = "PermissionRequest"  // before a person is asked about a call
	PostToolUse        Event = "PostToolUse"        // a call has worked
	PostToolUseFailure Event = "PostToolUseFailure" // a call has failed
	Stop               Event = "Stop"               // the model is done
	StopFailure        Event = "StopFailure"        // a prompt ended with an error
	PreCompact         Event = "PreCompact"         // a conversation is about to be compacted
	PostCompact        Event = "PostCompact"        // it was
	Notification       Event = "Notification"       // burin waits for the person
	SubagentStart      Event = "SubagentStart"      // before the first prompt of a sub-agent
	SubagentStop       Event = "SubagentStop"       // the model of a sub-agent is done
)

// Events are all events that burin has, in the order in which a session meets them.
func Events() []Event {
	return []Event{
		SessionStart, UserPromptSubmit, PreToolUse, PermissionRequest, PostToolUse, PostToolUseFailure,
		Notification, PreCompact, PostCompact, SubagentStart, SubagentStop, Stop, StopFailure, SessionEnd,
	}
}

// Hook is one program and when it runs.
type Hook struct {
	Event   Event
	As      string            // the name of the event in its program; "" is that of Event
	Matcher string            // as written: "" is always
	Command string            // a shell command; "" if URL is given
	URL     string            // where the input is posted
	Headers map[string]string // of the request; $NAME and ${NAME} stand for variables of AllowedEnv
	// AllowedEnv names the variables that Headers may use.
	AllowedEnv []string
	Timeout    time.Duration
	Async      bool   // nobody waits for it, and what it says has no effect
	FailClosed bool   // a failure counts as a refusal
	Dir        string // where it runs; "" is the folder of the session
	Path       string
	Owner      string // whose it is, for people

	program *program
	moment                 // Event is its first
	match   *regexp.Regexp // nil: always
}

// String is one line for people.
func (h *Hook) String() string {
	when := cmp.Or(h.As, string(h.Event))
	if h.Matcher != "" {
		when += " " + h.Matcher
	}
	what := h.Command
	if h.URL != "" {
		what = "POST " + h.URL
	}
	return when + ": " + prose.Short(what, 200)
}

// File is a file with hooks.
type File struct {
	Path  string
	Owner string // "Claude Code, project"
	Hooks []Hook
	// Own is true of burin's own file of the user: it runs without being asked about.
	Own bool
	// Item is what trust is asked for, Project the folder for which it holds.
	Item    trust.Item
	Project string
}

// Set holds the hooks that were found.
type Set struct {
	Files []File
	// Unmapped are events of other programs for which burin has no moment: such hooks never run.
	Unmapped []Unmapped
}

// Unmapped is an event with hooks that never run.
type Unmapped struct {
	Path, Owner, Event string
	Line               int
}

// Discover reads the files of hooks. Warnings say in a line each, with file and line, what
// was left out.
func Discover(o source.Options) (*Set, []string) {
	set := &Set{}
	w := source.Warnings{About: "hooks"}
	n := 0
	for _, p := range source.Places(o, source.Hooks) {
		text, err := p.ReadFile()
		if err != nil {
			if !source.Missing(err) {
				w.Add("%s: left out: %s", p.Path, source.Reason(err))
			}
			continue
		}
		hooks, unmapped, problems := parse(p, text)
		set.Unmapped = append(set.Unmapped, unmapped...)
		for _, problem := range problems {
			w.Add("%s:%s", p.Path, problem)
		}
		if n += len(hooks); n > MaxHooks {
			w.Add("%s: left out: there are more than %d hooks", p.Path, MaxHooks)
			break
		}
		if len(hooks) > 0 {
			set.Files = append(set.Files, file(p, o, text, hooks))
		}
	}
	return set, w.Lines()
}

func file(p source.Place, o source.Options, text string, hooks []Hook) File {
	f := File{Path: p.Path, Owner: p.Owner(), Hooks: hooks, Own: p.Repository == "" && p.Source.ID == "burin", Project: p.Repository}
	name := p.Path
	if f.Project == "" { // the user's, of another program
		f.Project = o.UserHome
	}
	if rel, err := filepath.Rel(f.Project, p.Path); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	lines := make([]string, len(hooks))
	for i := range hooks {
		lines[i] = hooks[i].String()
	}
	// The sum is that of what runs: other settings of the file may change.
	f.Item = trust.Item{Name: name, What: strings.Join(lines, "\n"), Sum: trust.Sum([]byte(sumOf(hooks)))}
	return f
}

// sumOf is a text that differs where anything about hooks differs.
func sumOf(hooks []Hook) string {
	var b strings.Builder
	for i := range hooks {
		h := &hooks[i]
		headers, _ := json.Marshal(h.Headers) // of texts: it cannot fail
		fmt.Fprintf(&b, "%q %q %q %q %s %q %v %v\n", h.Event, h.Matcher, h.Command, h.URL, headers, h.AllowedEnv, h.Timeout, h.Async)
		if h.As != "" {
			fmt.Fprintf(&b, "%q %v\n", h.As, h.FailClosed)
		}
	}
	return b.String()
}

// fileJSON is what is read of a file; other programs keep much more in it.
type fileJSON struct {
	Disabled bool                       `json:"disableAllHooks"`
	Hooks    map[string]json.RawMessage `json:"hooks"`
	Config   struct {                   // Gemini's
		Enabled  *bool    `json:"enabled"`
		Disabled []string `json:"disabled"` // names or commands
	} `json:"hooksConfig"`
	Features struct { // Codex's
		Hooks *bool `json:"hooks"`
		Old   *bool `json:"codex_hooks"`
	} `json:"features"`
	Notify []string `json:"notify"` // the same
}

// off reports whether the file switches hooks off.
func (f *fileJSON) off() bool {
	no := func(b *bool) bool { return b != nil && !*b }
	return f.Disabled || no(f.Config.Enabled) || no(f.Features.Hooks) || no(f.Features.Old) || string(f.Hooks["enabled"]) == "false"
}

type groupJSON struct {
	Matcher *string           `json:"matcher"`
	Hooks   []json.RawMessage `json:"hooks"`
}

type hookJSON struct {
	Name       string            `json:"name"`    // Gemini's
	Matcher    *string           `json:"matcher"` // Cursor's
	FailClosed bool              `json:"failClosed"`
	Type       string            `json:"type"`
	Command    string            `json:"command"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`
	AllowedEnv []string          `json:"allowedEnvVars"`
	Timeout    float64           `json:"timeout"`
	Async      bool              `json:"async"`
}

// parse reads a file. Problems begin with a line: "12: what is wrong".
func parse(p source.Place, text string) (hooks []Hook, unmapped []Unmapped, problems []string) {
	at := func(line int, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%d: %s", line, fmt.Sprintf(format, args...)))
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil, nil
	}
	if !strings.EqualFold(filepath.Ext(p.Path), ".toml") {
		text = string(jsontext.Standard([]byte(text)))
	}
	f, line, err := read(p.Path, text)
	if err != nil {
		at(line, "hooks are left out: %s", prose.Line(err.Error()))
		return nil, nil, problems
	}
	if f.off() {
		return nil, nil, nil
	}
	how := programOf(p.Source.ID)
	for _, name := range order(text, f.Hooks) {
		begin := keyAt(text, name)
		line := lineAt(text, int64(begin))
		when, known := how.moments[name]
		switch {
		case slices.Contains(how.settings, name):
			continue
		case slices.Contains(how.ignored, name):
			unmapped = append(unmapped, Unmapped{Path: p.Path, Owner: p.Owner(), Event: name, Line: line})
			continue
		case !known:
			at(line, "unknown event %q", prose.Short(name, 40))
			continue
		}
		var groups []json.RawMessage
		if err := json.Unmarshal(f.Hooks[name], &groups); err != nil {
			wanted := "{matcher, hooks}"
			if how.flat {
				wanted = "{command}"
			}
			at(line, "%s: a list of %s is wanted", name, wanted)
			continue
		}
		for _, raw := range groups {
			group := find(text, begin, raw)
			begin = group + len(raw)
			line := lineAt(text, int64(group))
			var g groupJSON
			if err := json.Unmarshal(raw, &g); how.flat {
				g.Hooks = []json.RawMessage{raw}
				begin = group
			} else if err != nil || len(g.Hooks) == 0 {
				at(line, "%s: {matcher, hooks} with a list of hooks is wanted", name)
				continue
			}
			base := Hook{
				Event: when.event, Path: p.Path, Owner: p.Owner(), Dir: how.runsIn(p.Path, p.Base), program: how, moment: when,
			}
			if string(when.event) != name {
				base.As = name
			}
			if g.Matcher != nil && *g.Matcher != "*" {
				base.Matcher = *g.Matcher
			}
			var err error
			if base.match, err = matcher(base.Matcher, how.loose && (base.Event.ofCall() || base.Event.ofAgent() || when.onText)); err != nil {
				at(line, "%s: the matcher %q is no regular expression: %v", name, prose.Short(base.Matcher, 40), err)
				continue
			}
			for _, one := range g.Hooks {
				from := find(text, group, one)
				group = from + len(one)
				h, called, problem := base.with(one)
				switch {
				case problem != "":
					at(lineAt(text, int64(from)), "%s: %s", name, problem)
				case !slices.Contains(f.Config.Disabled, called) && !slices.Contains(f.Config.Disabled, h.Command):
					hooks = append(hooks, h)
				}
			}
			begin = max(begin, group)
		}
	}
	if len(f.Notify) > 0 && p.Source.ID == "codex" {
		unmapped = append(unmapped, Unmapped{Path: p.Path, Owner: p.Owner(), Event: "notify", Line: lineAt(text, int64(strings.Index(text, "notify")))})
	}
	return hooks, unmapped, problems
}

// read decodes a file of JSON or TOML. An error comes with its line.
func read(path, text string) (f fileJSON, line int, err error) {
	content := []byte(text)
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		var all map[string]any
		if line, err := source.DecodeTOML(text, &all); err != nil {
			return f, line, err
		}
		of := map[string]any{"hooks": all["hooks"], "features": all["features"], "notify": all["notify"]}
		if content, err = json.Marshal(of); err != nil { // a number that JSON does not have
			return f, 1, err
		}
	}
	if err := json.Unmarshal(content, &f); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			return f, lineAt(text, syntax.Offset), err
		case errors.As(err, &kind):
			return f, lineAt(text, kind.Offset), err
		}
		return f, 1, err
	}
	return f, 0, nil
}

// with is the hook that raw describes, with its own name, or what is wrong with it.
func (h Hook) with(raw json.RawMessage) (_ Hook, name, problem string) {
	var j hookJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return h, "", "a hook {type, command} is wanted"
	}
	if j.Type == "" && h.program.flat {
		j.Type = "command"
	}
	h.FailClosed = j.FailClosed
	h.Command, h.URL, h.Headers, h.AllowedEnv, h.Async = strings.TrimSpace(j.Command), j.URL, j.Headers, j.AllowedEnv, j.Async
	switch j.Type {
	case "command":
		if h.Command == "" {
			return h, "", "the command is empty"
		}
		h.URL, h.Headers = "", nil
	case "http":
		if !strings.HasPrefix(h.URL, "https://") && !strings.HasPrefix(h.URL, "http://") {
			return h, "", fmt.Sprintf("%q is not the address of a server", prose.Short(h.URL, 60))
		}
		h.Command = ""
	case "prompt", "agent":
		return h, "", "hooks that ask a model are not run: write a command"
	default:
		return h, "", fmt.Sprintf("type: %q must be command or http", prose.Short(j.Type, 40))
	}
	unit, words := h.program.unit, "seconds"
	if unit == time.Millisecond {
		words = "milliseconds"
	}
	switch most := float64(MaxTimeout / unit); {
	case j.Timeout < 0 || j.Timeout > most:
		return h, "", fmt.Sprintf("timeout: %v must be 0 to %v %s", j.Timeout, most, words)
	case j.Timeout == 0:
		h.Timeout = DefaultTimeout
	default:
		h.Timeout = time.Duration(j.Timeout * float64(unit))
	}
	return h, j.Name, ""
}

// matcher compiles a matcher, which must match all of a name unless it is loose; nil matches
// everything.
func matcher(text string, loose bool) (*regexp.Regexp, error) {
	switch {
	case text == "":
		return nil, nil
	case loose:
		return regexp.Compile(text)
	}
	return regexp.Compile(`^(?:` + text + `)$`)
}

// order gives the keys of an object in the order in which they are written.
func order(text string, of map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(of))
	for k := range of {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(keyAt(text, a)-keyAt(text, b), strings.Compare(a, b))
	})
	return keys
}

// keyAt is where the hooks of an event begin, for messages and their order.
func keyAt(text, name string) int {
	if at := strings.Index(text, "[hooks."+name+"]"); at >= 0 { // of TOML
		return at
	}
	from := max(0, strings.Index(text, `"hooks"`))
	return max(from, from+strings.Index(text[from:], `"`+name+`"`))
}

// find is where a part of a text begins, at or behind from.
func find(text string, from int, part json.RawMessage) int {
	from = min(from, len(text))
	return max(from, from+strings.Index(text[from:], string(part)))
}

// lineAt is the line of an offset.
func lineAt(text string, offset int64) int {
	offset = max(0, min(offset, int64(len(text))))
	return 1 + strings.Count(text[:offset], "\n")
}

// For gives the hooks of an event whose matcher matches one of the names of its subject, of
// files that may run. The subject of a call is burin's name of the tool. A command that several files have runs once.
func (s *Set) For(event Event, may func(*File) bool, names ...string) []*Hook {
	if s == nil {
		return nil
	}
	var all []*Hook
	seen := map[string]bool{}
	for i := range s.Files {
		f := &s.Files[i]
		if !slices.ContainsFunc(f.Hooks, func(h Hook) bool { return h.Event == event || h.also == event }) || !may(f) {
			continue
		}
		for j := range f.Hooks {
			h := &f.Hooks[j]
			if !h.matches(event, names) {
				continue
			}
			if key := h.Command + "\x00" + h.URL + "\x00" + h.As; !seen[key] {
				seen[key] = true
				all = append(all, h)
			}
		}
	}
	return all
}

// Expand puts variables into a header's value: those that the hook may use, nothing for
// others.
func (h *Hook) Expand(value string, getenv func(string) string) string {
	return expandVariable().ReplaceAllStringFunc(value, func(v string) string {
		name := strings.Trim(v, "${}")
		if !slices.Contains(h.AllowedEnv, name) {
			return ""
		}
		return getenv(name)
	})
}

func expandVariable() *regexp.Regexp {
	return regexp.MustCompile(`\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})`)
}

// decode reads one JSON value and nothing behind it.
func decode(text string, v any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the object")
	}
	return nil
}
