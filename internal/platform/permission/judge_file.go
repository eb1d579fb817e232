package permission

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/burin-dev/burin/internal/platform/autorun"
	"github.com/burin-dev/burin/internal/platform/permission/command"
	"github.com/burin-dev/burin/tool"
)

// matchPath reports whether the rule is for a file. What allows must allow the
// name and what it leads to by links; for what refuses one is enough, in capitals
// or not, as file systems differ in that.
func (c *compiled) matchPath(p command.Path) bool {
	if c.glob == "" || p.Name == "" {
		return false
	}
	allows := order(c.Verdict) == 2
	match := c.matchName(p.Name, allows)
	if p.Real == "" || match != allows {
		return match
	}
	return c.matchName(p.Real, allows)
}

// matchName compares a pattern with one name. One that is absolute is also for files
// of the workspace, whose names are relative.
func (c *compiled) matchName(name string, capitals bool) bool {
	if c.root != "" && !path.IsAbs(name) && path.IsAbs(c.glob) {
		name = path.Join(c.root, name)
	}
	if capitals {
		return doublestar.MatchUnvalidated(c.glob, name)
	}
	return c.pattern.Match(name)
}

// reaches reports whether files that the rule is for may be a folder or lie below it.
func (c *compiled) reaches(name string) bool {
	if c.root != "" && !path.IsAbs(name) && path.IsAbs(c.glob) {
		name = path.Join(c.root, name)
	}
	return c.pattern.Reaches(name)
}

// file judges a file that a tool, or a command in the name of a family of tools,
// reads or writes. What rules refuse the families, they refuse every tool.
func (j *judge) file(f *finding, name string, k tool.AccessKind, p command.Path) {
	everyone := "read"
	if k == tool.AccessWrite {
		everyone = "edit"
	}
	danger := ""
	if k == tool.AccessWrite && p.Where != command.Unknown {
		danger = j.at.Sensitive(p)
	}
	f.danger = danger
	for _, c := range j.rules {
		allows := order(c.Verdict) == 2
		if !c.is(name) && (allows || c.bare() || !c.is(everyone)) || !c.bare() && !c.matchPath(p) {
			continue
		}
		if allows && (danger != "" && !c.exact(k) || j.mode == Plan && k == tool.AccessWrite) {
			continue
		}
		f.ruled(c)
		return
	}
	if danger == "" && j.free(k, p) {
		f.Verdict, f.Reason = Allow, j.modeAllows()
		return
	}
	if j.mode == Plan && k == tool.AccessWrite {
		f.Verdict, f.Reason = Deny, planRefuses
		return
	}
	j.askFile(f, familyOf(name), k, p)
}

// free reports whether the mode lets a file be touched without a question.
func (j *judge) free(k tool.AccessKind, p command.Path) bool {
	switch {
	case j.mode == Full:
		return true
	case p.Where != command.Inside:
		return false
	case k == tool.AccessRead:
		return !j.at.Guarded(p)
	}
	return j.mode == AutoEdit && p.Name != "" && !autorun.Is(p.Name) && !autorun.Is(p.Real)
}

func (j *judge) askFile(f *finding, name string, k tool.AccessKind, p command.Path) {
	verb := "reads"
	if k == tool.AccessWrite {
		verb = "writes"
	}
	switch {
	case f.danger != "":
		f.ask("it "+f.danger, Rule{Tool: name, Pattern: quoteGlob(p.Name)})
		f.single = true
		return
	case p.Where == command.Unknown || p.Name == "":
		f.ask("which file it " + verb + " is not known before it runs")
		f.single = true
		return
	case k == tool.AccessRead && j.at.Guarded(p):
		f.ask("it reads "+p.Name+", which usually holds secrets", Rule{Tool: name, Pattern: quoteGlob(p.Name)})
		return
	case p.Where == command.Outside:
		f.ask("it " + verb + " " + p.Name + ", outside of the workspace")
	case j.mode == AutoEdit:
		f.ask("it writes " + p.Name + ", which changes how tools behave in this project")
	default:
		f.ask("it writes " + shown(p.Name))
	}
	f.grants = fileGrants(name, p)
}

// fileGrants are the rules for a file, its folder and, if it is in it, the
// workspace.
func fileGrants(name string, p command.Path) []Rule {
	grants := []Rule{{Tool: name, Pattern: quoteGlob(p.Name)}}
	if dir := path.Dir(p.Name); dir != "." && dir != "/" {
		grants = append(grants, Rule{Tool: name, Pattern: quoteGlob(dir) + "/**"})
	}
	if p.Where == command.Inside && !strings.HasPrefix(p.Name, "/") {
		grants = append(grants, Rule{Tool: name, Pattern: "**"})
	}
	return grants
}

// familyOf is the tool that rules for a tool's files are written for: a person
// who lets one file of a folder be edited does not care by which tool.
func familyOf(name string) string {
	switch name {
	case "write", "undo_edit":
		return "edit"
	case "ls", "find", "grep":
		return "read"
	case "job_start":
		return "bash"
	}
	return name
}

// shown is a path as a sentence names it.
func shown(name string) string {
	if name == "." { // of a tool that can't tell beforehand
		return "any file of the workspace"
	}
	return name
}
