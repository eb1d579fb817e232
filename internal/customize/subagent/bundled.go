package subagent

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

//go:embed bundled
var bundled embed.FS

// otherNames are those that other programs have for agents that are part of burin.
func (d *Definition) otherNames() {
	switch d.Name {
	case "review":
		d.known, d.Aliases = "reviewer", []string{"reviewer"}
	case "task":
		d.Aliases = []string{"general", "general-purpose"}
	}
}

// WithBundled adds the agents that are part of the program. Those of files win.
func (s *Set) WithBundled() *Set {
	return &Set{found: slices.Concat(s.found, bundledAgents())}
}

// bundledAgents are read once: each start of an agent asks which there are. Nobody changes them,
// see [Set.Edit].
var bundledAgents = sync.OnceValue(func() (all []*Definition) {
	names, _ := fs.Glob(bundled, "bundled/*.md") // the pattern is right
	for _, file := range names {
		all = append(all, bundledFile(file))
	}
	return all
})

func bundledFile(file string) *Definition {
	text, _ := bundled.ReadFile(file) // it was listed
	d := document{source: "burin", named: strings.TrimSuffix(strings.TrimPrefix(file, "bundled/"), ".md")}
	d.markdown(string(text))
	def := d.definition()
	def.Source, def.Trusted = "burin, bundled", true
	def.otherNames()
	return def
}

// BundledText is the file of an agent that is part of the program, to be copied and changed.
func BundledText(name string) (string, bool) {
	text, err := bundled.ReadFile("bundled/" + name + ".md")
	return string(text), err == nil
}
