// Package status draws the status line: one row of segments, some at the left and some
// at the right, from plain [Facts].
//
// [Line.Render] is a pure function and is called for every frame. No segment needs a
// timer: "time" and "time_spent" show what was true when something else was drawn, so
// that an idle terminal stays idle. A segment that has nothing to say is left out.
//
// Where there is too little room, the path is shortened first (~/a/…/z, then z), then
// git to its branch, with a star if something is changed. Then segments go, in this order: time, hostname, session, session_name, token_rate,
// cache_write, cache_read, cache_hit, token_in, token_out, token_total, time_spent,
// usage, pr, burin, context_total, subagents, goal, jobs, thinking, command, git, path, cost, model,
// context_pct, mode. What is left last may be cut.
//
// Money is never told as less than it is: a cost that lacks a part says "≥" or "cost
// unknown". Git is asked by [Repo], never by time.
package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// Facts are what the line can tell. What is zero is not known and not told.
type Facts struct {
	session.Stats
	// Mode is how much runs without a question: plan, ask, auto-edit, full.
	Mode      string
	SessionID string
	Hostname  string
	Dir, Home string // absolute; Home becomes "~"
	Git       git.Status
	PR        int // number of the pull request of the branch
	Goal      session.Goal
	GoalFrom  llm.USD // the cost of the session when the goal was read
	Subagents int     // that run
	Jobs      int     // that run
	Rate      float64
	Started   time.Time // of the session
	Now       time.Time
	Limits    []Limit // of subscriptions
	Command   string  // what the user's own command says
}

// Limit is how much of an allowance is used.
type Limit struct {
	Name    string // "5h", "week"
	Percent int
}

// Settings are what the user wrote: names as in the configuration.
type Settings struct {
	Preset      string   // default, minimal, compact, full, nerd, ascii, custom; "" is default
	Separator   string   // "" is the preset's
	Left, Right []string // names of segments, for custom; nil is the default's
	Transparent bool     // no background of its own
}

// Line is a status line as it was set up. It does not change and may be used from any
// goroutine.
type Line struct {
	left, right []segment
	sep         separator
	ascii       bool
	icons       bool
	transparent bool
}

// preset is a choice of segments.
type preset struct {
	left, right, separator string
	icons, ascii           bool
}

// The default separator is a thin line that all fonts have; powerline's signs, which
// need a patched font, are drawn where a user asks for them.
var presets = map[string]preset{
	"default": {"mode path git command jobs goal subagents session_name", "cost context_pct model thinking", "pipe", false, false},
	"minimal": {"mode path command", "context_pct model", "none", false, false},
	"compact": {"mode path git command", "cost context_pct model", "slash", false, false},
	"full": {
		"burin mode path git command pr jobs goal subagents session_name",
		"token_in token_out cache_hit token_rate cost context_pct context_total time_spent usage model thinking time", "pipe", false, false,
	},
	"nerd":   {"burin mode path git command pr jobs goal subagents session_name", "token_rate cost context_pct time_spent model thinking", "powerline-thin", true, false},
	"ascii":  {"mode path git command jobs goal subagents session_name", "cost context_pct model thinking", "ascii", false, true},
	"custom": {"mode path git command jobs goal subagents session_name", "cost context_pct model thinking", "pipe", false, false},
}

// separator stands between segments: at the left, and at the right.
type separator struct{ left, right string }

var separators = map[string]separator{
	"powerline": {" \ue0b0 ", " \ue0b2 "}, "powerline-thin": {" \ue0b1 ", " \ue0b3 "},
	"slash": {" / ", " / "}, "pipe": {" │ ", " │ "}, "block": {" ▌ ", " ▐ "}, "none": {"  ", "  "}, "ascii": {" > ", " < "},
}

// Presets are the names of presets, sorted.
func Presets() []string { return names(presets) }

// Separators are the names of separators, sorted.
func Separators() []string { return names(separators) }

// Segments are the names of segments, sorted.
func Segments() []string {
	var all []string
	for _, s := range segments {
		all = append(all, s.name)
	}
	slices.Sort(all)
	return all
}

func names[V any](m map[string]V) []string {
	var all []string
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// New sets up a line. It can be used whatever the problems are; each is one line about
// a name that is not known, which is left out. Lists of segments are obeyed with the
// preset custom, and with all others where they are not nil.
func New(set Settings) (*Line, []error) {
	var problems []error
	unknown := func(what, name string, known []string) {
		problems = append(problems, fmt.Errorf("statusLine: unknown %s %q (want %s)", what, name, strings.Join(known, ", ")))
	}
	p, ok := presets[set.Preset]
	if !ok {
		if set.Preset != "" {
			unknown("preset", set.Preset, Presets())
		}
		p = presets["default"]
	}
	l := &Line{icons: p.icons, ascii: p.ascii, transparent: set.Transparent, sep: separators[p.separator]}
	if set.Separator != "" {
		if s, ok := separators[set.Separator]; ok {
			l.sep = s
		} else {
			unknown("separator", set.Separator, Separators())
		}
	}
	seen := map[string]bool{}
	list := func(given []string, preset string) []segment {
		if given == nil {
			given = strings.Fields(preset)
		}
		var all []segment
		for _, name := range given {
			if name == "pi" { // as files of the pi family call it
				name = "burin"
			}
			i := slices.IndexFunc(segments[:], func(s segment) bool { return s.name == name })
			switch {
			case i < 0:
				unknown("segment", name, Segments())
			case seen[name]: // twice is a slip
			default:
				seen[name] = true
				all = append(all, segments[i])
			}
		}
		return all
	}
	l.left, l.right = list(set.Left, p.left), list(set.Right, p.right)
	return l, problems
}

// Prompt is what the prompt's border tells.
type Prompt struct {
	Level              llm.Level
	Bash, Python, Plan bool // what is written is a command, or runs in Python; nothing is changed
}

// Border is the colour of the prompt's border: of what the text will do first, then of
// plan mode, then of how hard the model thinks.
func Border(p Prompt) theme.Token {
	switch {
	case p.Bash:
		return theme.BashMode
	case p.Python:
		return theme.PythonMode
	case p.Plan: // themes have no token for it
		return theme.BorderAccent
	}
	switch p.Level {
	case llm.LevelOff:
		return theme.ThinkingOff
	case llm.LevelMinimal:
		return theme.ThinkingMinimal
	case llm.LevelLow:
		return theme.ThinkingLow
	case llm.LevelMedium:
		return theme.ThinkingMedium
	case llm.LevelHigh:
		return theme.ThinkingHigh
	case llm.LevelXHigh:
		return theme.ThinkingXhigh
	}
	return theme.Border
}
