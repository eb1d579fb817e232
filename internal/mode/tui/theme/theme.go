// Package theme says how the terminal face looks: which colour and which signs
// each role has, and how they are written for the terminal at hand.
//
// A [Theme] comes from [Builtin] or, for files of the pi family, from [Parse] and
// [Load]. [DetectProfile] and [DetectBackground] tell from plain inputs what a
// terminal can show. [NewStyles] joins both to [Styles], whose [Styles.Style]
// colours text; the packages below write looks of spans themselves, which costs
// fewer bytes. Nothing here reads the environment or a terminal.
package theme

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// Theme is the colours and signs of the face.
type Theme struct {
	Name string
	// Light says that the theme is for light backgrounds. Of a file it is told from
	// the brightness of its text and backgrounds.
	Light   bool
	Symbols Symbols
	Export  Export
	// Ignored are names in the file's colors that are no tokens, sorted: of a newer
	// program, or misspelt.
	Ignored []string
	// Doubts are tokens of the file that are probably misspelt, one line each. The theme can
	// be used without them.
	Doubts []string

	colors [tokenCount]Color
}

// Export is the colours of a session's page, the terminal's default where the
// theme does not say.
type Export struct{ PageBg, CardBg, InfoBg Color }

// Color is the colour of a token.
func (t *Theme) Color(token Token) Color { return t.colors[token] }

// ColorBlind is the theme with added lines of diffs in blue instead of green, for
// people who do not tell green from red. Only a colour given in full is changed.
func (t *Theme) ColorBlind() *Theme {
	other := *t
	if c := &other.colors[ToolDiffAdded]; c.kind == rgb && c.g > c.b {
		c.g, c.b = uint8((int(c.g)*2+int(c.b))/3), c.g
	}
	return &other
}

// maxThemeFile is the longest theme file that is read, in bytes; longer ones are
// refused.
const maxThemeFile = 256 << 10

// Load reads the theme file name.json of a folder. The theme has that name. What is wrong with the file is a
// [Problems] that names it.
func Load(dir, name string) (*Theme, error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("theme %q: not the name of a theme", name)
	}
	path := filepath.Join(dir, name+".json")
	data, err := smallfile.Read(path, maxThemeFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("theme %q: no %s and no built-in theme of that name", name, path)
	case err != nil:
		return nil, fmt.Errorf("theme %q: %w", name, err)
	}
	t, err := Parse(data)
	var wrong *Problems
	if errors.As(err, &wrong) {
		wrong.File = path
	}
	if t != nil {
		t.Name = name // which settings name, whatever the file says
		for i, d := range t.Doubts {
			t.Doubts[i] = path + ":" + d
		}
	}
	return t, err
}

// List gives the names of the theme files in a folder, sorted. A folder that is
// not there has none.
func List(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	names := make([]string, 0, len(found))
	for _, path := range found {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	slices.Sort(names)
	return names
}

// looksLight tells from the colours what the theme is for: dark text or light
// backgrounds.
func (t *Theme) looksLight() bool {
	if c := t.colors[Text]; c.kind != terminalDefault {
		return c.Luminance() < 0.179
	}
	light, dark := 0, 0
	for token := SelectedBg; token <= StatusLineBg; token++ {
		if c := t.colors[token]; c.kind != terminalDefault {
			if brightness(c) == LightBackground {
				light++
			} else {
				dark++
			}
		}
	}
	return light > dark
}
