package command

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed bundled
var bundled embed.FS

// WithBundled adds the commands that are part of the program. Those of files win.
func (s *Set) WithBundled() *Set {
	all := s.list[:len(s.list):len(s.list)]
	names, err := fs.Glob(bundled, "bundled/*.md")
	if err != nil {
		return s
	}
	for _, name := range names {
		text, err := bundled.ReadFile(name)
		if err != nil {
			continue
		}
		c := Command{Name: strings.TrimSuffix(strings.TrimPrefix(name, "bundled/"), ".md"), Path: "part of burin", Source: "burin", text: string(text)}
		d, _, err := parse(c.text, markdown)
		if err != nil {
			continue
		}
		c.tell(d)
		all = append(all, c)
	}
	out := newSet(all)
	out.shadowed = append(out.shadowed, s.shadowed...)
	return out
}
