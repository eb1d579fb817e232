package discover

import (
	"context"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/prose"
)

// FamilySettings are the files of settings that programs of the pi family have on this machine, by
// the name of the program.
func FamilySettings(o Options) map[string]string {
	s := &search{o: o}
	files := map[string]string{}
	for _, p := range family() {
		if path := familySettings(s.home(p.variable, p.dir)); path != "" {
			files[p.name] = path
		}
	}
	return files
}

// ReadSettings reads such a file as settings of burin's.
func ReadSettings(path string) (config.Adopted, error) {
	text, err := readFile(path)
	if err != nil {
		return config.Adopted{}, err
	}
	a, err := config.Adopt(text)
	if err != nil {
		return config.Adopted{}, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// settings offers the settings of a program of the family that burin has too.
func (s *search) settings(program, path string) {
	f := Finding{Kind: Settings, Program: program, Path: path}
	a, err := ReadSettings(path)
	switch {
	case err != nil:
		f.What = "Settings that can't be read: " + err.Error()
	case len(a.Values) == 0:
		f.What = "Settings that burin does not have."
	default:
		f.What = prose.Count(len(a.Values), "setting") + " that burin has too."
		if s.o.ConfigDir != "" {
			f.Import = func(context.Context) (string, error) { return takeSettings(path, s.o.ConfigDir) }
		}
	}
	s.add(f)
}

// takeSettings writes the settings of a file into config.yml, but for those that it has.
func takeSettings(path, dir string) (string, error) {
	a, err := ReadSettings(path)
	if err != nil {
		return "", err
	}
	wrote, kept, err := a.Write(dir)
	if err != nil {
		return "", err
	}
	report := prose.Count(len(wrote), "setting") + " taken over"
	if len(kept) > 0 {
		report += fmt.Sprintf(", %d kept as you have them", len(kept))
	}
	if len(a.Left) > 0 {
		report += "; burin doesn't take " + prose.Short(strings.Join(a.Left, ", "), 200)
	}
	return report + ".", nil
}
