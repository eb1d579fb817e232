package permission

import (
	"path"
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission/command"
	"github.com/burin-dev/burin/internal/platform/wall"
	"github.com/burin-dev/burin/tool"
)

// Withheld gives the test for files that a search of a folder must leave out, as the
// mode and the rules are now: what rules refuse or ask about and, unless the folder
// itself is one that usually holds secrets and so was judged as such, what usually
// holds secrets. It is nil if the search may show every file. The test is safe for
// concurrent use.
func (p *Policy) Withheld(folder string) func(name string) bool {
	j := newJudge(p.at, p.Mode(), p.walled.Load(), p.rules())
	var walls []wall.Wall
	for _, c := range j.rules {
		if order(c.Verdict) < 2 && c.glob != "" && (c.is("read") || c.is("grep")) {
			for _, glob := range linked(p.at, c.glob) {
				walls = append(walls, wall.Wall{Glob: glob, Read: true})
			}
		}
	}
	refused, err := wall.Build(p.at.Root, walls)
	if err != nil { // patterns were compiled before
		return func(string) bool { return true }
	}
	at := p.at.File(folder)
	secrets := !j.free(tool.AccessRead, command.Path{Name: ".env", Where: command.Inside}) && !p.at.Guarded(at) && j.bareRule("grep", Allow) == nil
	if len(walls) == 0 && !secrets {
		return nil
	}
	guards := p.at.Guards()
	withheld := func(name string) bool {
		if read, _ := refused.Refuses(name); read {
			return true
		}
		if !secrets || !guards(name) {
			return false
		}
		for _, c := range j.rules {
			if order(c.Verdict) == 2 && c.is("grep") && c.glob != "" && c.matchName(name, true) {
				return false
			}
		}
		return true
	}
	real := at.Name
	if at.Real != "" {
		real = at.Real
	}
	if real == "" || real == folder {
		return withheld
	}
	return func(name string) bool { // the folder is a link
		rest := strings.TrimPrefix(strings.TrimPrefix(name, folder), "/")
		return withheld(name) || withheld(path.Join(real, rest))
	}
}
