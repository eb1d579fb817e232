package host

import (
	"context"
	"slices"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/session"
)

// Skills are the skills of the folder, as they were when a session was last opened.
func (h *Host) Skills() *skill.Set {
	if s := h.skills.Load(); s != nil {
		return s
	}
	return h.findSkills(false, nil)
}

// findSkills looks for the skills: none, or only those of the patterns where there are some.
func (h *Host) findSkills(none bool, only []string) *skill.Set {
	set := &skill.Set{}
	if settings, err := h.Settings(); err == nil && !none && settings.Bool("skills.enabled") { // who opens a session says what is wrong with them
		o := skill.Options{
			Options: h.Sources(), Ignored: settings.List("skills.ignoredSkills"), Included: settings.List("skills.includeSkills"),
			NoBundled: !settings.Bool("skills.bundled"), NoCommands: !settings.Bool("skills.enableSkillCommands"),
		}
		if len(only) > 0 {
			o.Included = only
		}
		for _, dir := range settings.List("skills.customDirectories") {
			o.Folders = append(o.Folders, archive.HomePath(dir))
		}
		set = skill.Discover(o)
	}
	h.skills.Store(set)
	return set
}

// lookForSkills begins to look for the skills of a session; what it gives waits for them, and
// gives them to the session.
func (h *Host) lookForSkills(o *Session) (give func()) {
	found := make(chan *skill.Set, 1)
	if o.Under != nil && h.skills.Load() != nil {
		found <- h.skills.Load() // as the session that it works for found them
	} else {
		go func() { found <- h.findSkills(o.NoSkills, o.Skills) }()
	}
	return func() {
		set := <-found
		if o.URLs == nil {
			o.URLs = map[string]func(context.Context, string) (string, error){}
		}
		if o.Trees == nil {
			o.Trees = map[string]bench.Tree{}
		}
		o.URLs["skill"], o.Trees["skill"] = set.Read, set
		reads := !o.NoTools && (len(o.Tools) == 0 || slices.Contains(o.Tools, "read"))
		if text := set.Section(); reads && text != "" {
			o.Parts = append(o.Parts, session.Part{Name: "skills", Text: text})
		}
	}
}
