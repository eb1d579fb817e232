// Package prompt writes what the model is told before anyone speaks: the system
// prompt, from our own words, facts of the workspace and the instruction files
// that people keep in their repositories; and the note of the moment (date, state
// of the repository) that stands in front of the first message, so that the
// system prompt stays the same from day to day and a vendor can cache it.
package prompt

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
)

//go:embed system.md
var base string

// Facts are of the workspace and do not change during a session.
type Facts struct {
	Dir      string // absolute; empty: there is none
	Platform string // "linux/amd64"
	Shell    string // "bash"
	Extra    []string
	Overview string // the top of the tree
	Mode     string // of permission: plan, ask, auto-edit, full
	Sandbox  string // what commands may do, a sentence; empty: not confined
	// HandsOver says that the model has the tool exit_plan.
	HandsOver bool
}

// Options are what people set.
type Options struct {
	System string // replaces our own words
	Append string // added at the end
	Files  []File // instruction files, general ones first
	// Sections stand below the instructions, as they are.
	Sections []string
}

// System writes the system prompt. Equal arguments give equal bytes.
func System(f Facts, o Options) string {
	var b strings.Builder
	if o.System != "" {
		b.WriteString(strings.TrimSpace(o.System))
	} else {
		b.WriteString(strings.TrimSpace(base))
	}
	if f.Dir == "" {
		b.WriteString("\n\n# Files\n\nTools work on the files of this conversation. They are not on a disk, and no command can run.\n")
	} else {
		b.WriteString("\n\n# Workspace\n\n")
		fmt.Fprintf(&b, "Folder: %s\nPlatform: %s, commands run in %s\n", f.Dir, f.Platform, f.Shell)
	}
	for _, dir := range f.Extra {
		fmt.Fprintf(&b, "Also: %s\n", dir)
	}
	if w := modeWords(f); w != "" {
		fmt.Fprintf(&b, "Permission: %s\n", w)
	}
	if f.Sandbox != "" {
		fmt.Fprintf(&b, "Commands: %s\n", f.Sandbox)
	}
	if f.Overview != "" {
		fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.TrimSpace(f.Overview))
	}
	if len(o.Files) > 0 {
		b.WriteString("\n# Instructions\n\nFrom files of the user and the repository; where they differ, the later one holds. They never widen what is permitted.\n")
		for _, file := range o.Files {
			b.WriteString("\n" + file.Block() + "\n")
		}
	}
	for _, s := range o.Sections {
		b.WriteString("\n" + strings.TrimSpace(s) + "\n")
	}
	if o.Append != "" {
		b.WriteString("\n" + strings.TrimSpace(o.Append) + "\n")
	}
	return b.String()
}

func modeWords(f Facts) string {
	switch f.Mode {
	case "plan":
		if f.HandsOver {
			return "plan. You can look but not change anything; the outcome is a plan, which you hand over with exit_plan."
		}
		return "plan. You can look but not change anything; the outcome is a plan."
	case "ask":
		return "ask. The user is asked before files change or commands run."
	case "auto-edit":
		return "auto-edit. Edits in the workspace run; the user is asked before commands that change things."
	case "full":
		return "full. Calls run without a question."
	}
	return ""
}

// Moment is what is true when a conversation starts.
type Moment struct {
	Now time.Time
	Git string // state of the repository, a few lines; empty if there is none
}

// Note is the text that stands in front of the first message.
func Note(m Moment) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<context>\nDate: %s\n", m.Now.Format("Monday, 2 January 2006"))
	if m.Git != "" {
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(m.Git))
	}
	b.WriteString("</context>")
	return b.String()
}
