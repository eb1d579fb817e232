package rule

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/burin-dev/burin/internal/customize/front"
)

// warner is told what is wrong with a line of a file.
type warner func(line int, format string, args ...any)

// head is the head of a rule file, in the words of all programs.
type head struct {
	any         bool // there is a head
	description string
	globs       []string // also paths and applyTo
	always      string   // alwaysApply as it stands there
	trigger     string   // Windsurf's
	conditions  []string
	scope       []string
	interrupt   string
	off         bool // enabled: false
	lines       map[string]int
}

// maxCondition is how long a pattern may be, in bytes.
const maxCondition = 900

// parse reads a file into r. It reports whether the rule is to be used at all.
func parse(r *Rule, id, text string, warn warner) bool {
	top, body := front.Split(text)
	h := readHead(top, warn)
	h.any = top != "" || body != strings.ReplaceAll(text, "\r\n", "\n")
	r.Text, r.Description = strings.TrimSpace(body), h.description
	r.Globs = globs(&h, warn)
	r.Use = h.use(id, r, warn)
	return !h.off
}

// joined makes one word of keys that are written in several ways.
var joined = strings.NewReplacer("-", "", "_", "")

// readHead reads the keys of a head. Upper and lower case, "-" and "_" are one: ttsr_trigger
// is ttsrTrigger.
func readHead(top string, warn warner) head {
	h := head{lines: map[string]int{}}
	for _, e := range front.Entries(top) {
		key, line := joined.Replace(strings.ToLower(e.Key)), e.Line+1 // after the line of "---"
		h.lines[key] = line
		switch key {
		case "description":
			h.description = e.Text()
		case "globs", "paths", "applyto":
			h.globs = append(h.globs, e.List()...)
			h.lines["globs"] = line
		case "alwaysapply":
			h.always = strings.ToLower(e.Text())
			if h.always != "true" && h.always != "false" && h.always != "" {
				warn(line, "alwaysApply must be true or false, not %q", e.Text())
			}
		case "trigger":
			h.trigger = strings.ToLower(e.Text())
		case "condition", "ttsrtrigger":
			h.conditions = append(h.conditions, patterns(e)...)
			h.lines["condition"] = line
		case "scope":
			h.scope = e.List()
		case "interruptmode":
			h.interrupt = e.Text()
		case "enabled":
			h.off = strings.ToLower(e.Text()) == "false"
		case "astcondition", "question":
			warn(line, "burin doesn't know %s; use condition", e.Key)
		}
	}
	return h
}

// patterns are the patterns of a key: a list, or one pattern with all its commas.
func patterns(e front.Entry) []string {
	switch {
	case len(e.Items) > 0:
		return e.Items
	case e.Raw == "":
		return nil
	case !e.Quoted && strings.HasPrefix(e.Raw, "[") && strings.HasSuffix(e.Raw, "]"):
		return e.List()
	}
	return []string{e.Raw}
}

// globs are the valid ones of a head.
func globs(h *head, warn warner) []string {
	return slices.DeleteFunc(h.globs, func(g string) bool {
		bad := !doublestar.ValidatePattern(g)
		if bad {
			warn(h.lines["globs"], "%q is not a valid glob; it is left out", g)
		}
		return bad
	})
}

// use says when a rule matters, as the program that it was written for understands it, and
// fills in what a stream rule has in addition.
func (h *head) use(id string, r *Rule, warn warner) Use {
	if len(h.conditions) > 0 && h.stream(r, warn) {
		return Stream
	}
	switch id {
	case "windsurf":
		if use, ok := h.windsurf(r, warn); ok {
			return use
		}
	case "copilot", "vscode":
		if slices.ContainsFunc(r.Globs, func(g string) bool { return g == "*" || g == "**" || g == "**/*" }) {
			r.Globs = nil
			return Always
		}
	}
	switch {
	case h.always == "true":
		return Always
	case len(r.Globs) > 0:
		return Files
	case r.Description != "" && (h.always == "false" || id != "claude" && id != "cline"):
		return Described
	case len(h.globs) > 0: // none of them is valid, which was said
		return Manual
	case id == "claude", id == "cline":
		return Always // without paths
	case id == "cursor", id == "copilot", id == "vscode":
		return Manual
	case !h.any:
		// The forerunners leave out a rule without a head. Who writes one means it.
		return Always
	}
	return Manual
}

// windsurf reads Windsurf's trigger.
func (h *head) windsurf(r *Rule, warn warner) (Use, bool) {
	switch h.trigger {
	case "always_on":
		return Always, true
	case "manual":
		return Manual, true
	case "model_decision":
		if r.Description == "" {
			warn(h.lines["trigger"], "the trigger model_decision needs a description")
			return Manual, true
		}
		return Described, true
	case "glob", "":
	default:
		warn(h.lines["trigger"], "unknown trigger %q; use always_on, glob, model_decision or manual", h.trigger)
	}
	return "", false
}

// stream reads what a stream rule has. It reports false, after a warning, if nothing of it can
// be used.
func (h *head) stream(r *Rule, warn warner) bool {
	line := h.lines["condition"]
	for _, c := range h.conditions {
		if glob, ok := asGlob(c); ok { // short for any edit of these files
			r.scopes = append(r.scopes, scope{kind: inTool, tool: "edit", globs: []string{glob}}, scope{kind: inTool, tool: "write", globs: []string{glob}})
			r.conditions = append(r.conditions, ".")
			continue
		}
		if len(c) >= maxCondition {
			warn(line, "a pattern may have %d bytes; this one is left out", maxCondition)
			continue
		}
		if !r.Builtin { // tests have tried those
			if _, err := compile(c); err != nil {
				warn(line, "the pattern %s is not valid: %v", c, err)
				continue
			}
		}
		r.conditions = append(r.conditions, c)
	}
	for _, s := range h.scope {
		sc, err := parseScope(s)
		if err != nil {
			warn(h.lines["scope"], "%v", err)
			continue
		}
		r.scopes = append(r.scopes, sc)
	}
	if len(r.scopes) == 0 {
		r.scopes = []scope{{kind: inText}, {kind: inTool}}
	}
	switch h.interrupt {
	case "", InterruptAlways, InterruptNever, InterruptProse, InterruptTools:
		r.interrupt = h.interrupt
	default:
		warn(h.lines["interruptmode"], "unknown interruptMode %q; use always, prose-only, tool-only or never", h.interrupt)
	}
	return len(r.conditions) > 0
}

// asGlob tells patterns of files, such as *.rs, from regular expressions.
func asGlob(c string) (string, bool) {
	if strings.HasPrefix(c, "*") && doublestar.ValidatePattern(c) && !strings.ContainsAny(c, "()|\\^$+") {
		return c, true // no regular expression begins with a star
	}
	return "", false
}
