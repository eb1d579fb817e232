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
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// Load reads the theme file name.json of a folder.
func Load(dir, name string) (*Theme, error) {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, fmt.Errorf("theme %q: not the name of a theme", name)
	}
	path := filepath.Join(dir, name+".json")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("theme %q: no %s and no built-in theme of that name", name, path)
	case err != nil:
		return nil, fmt.Errorf("theme %q: %w", name, err)
	case info.Size() > maxThemeFile:
		return nil, fmt.Errorf("theme %q: %s has %d bytes; at most %d are read", name, path, info.Size(), maxThemeFile)
	}
	data, err := smallfile.Read(path, maxThemeFile)
	if err != nil {
		return nil, fmt.Errorf("theme %q: %w", name, err)
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
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

type file struct {
	Name    string                     `json:"name"`
	Vars    map[string]json.RawMessage `json:"vars"`
	Colors  map[string]json.RawMessage `json:"colors"`
	Export  map[string]json.RawMessage `json:"export"`
	Symbols struct {
		Preset    string            `json:"preset"`
		Overrides map[string]string `json:"overrides"`
	} `json:"symbols"`
}

// Parse reads a theme file: a JSON object with a name, colors for the tokens,
// and, if it wants, vars, export and symbols. A colour is "#RRGGBB", an index of
// 0 to 255, the name of a variable, or "" for the terminal's default. The error
// names all tokens that are missing or wrong. Tokens that pi's own themes do not
// have may be missing.
func Parse(data []byte) (*Theme, error) {
	var f file
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &f); err != nil {
		return nil, fmt.Errorf("read theme: %w", err)
	}
	if f.Name == "" {
		return nil, errors.New("read theme: name is missing")
	}
	t := &Theme{Name: f.Name, Symbols: SymbolsOf(Preset(f.Symbols.Preset), f.Symbols.Overrides)}
	wrong := t.readColors(&f)
	for name, to := range map[string]*Color{"pageBg": &t.Export.PageBg, "cardBg": &t.Export.CardBg, "infoBg": &t.Export.InfoBg} {
		if raw, ok := f.Export[name]; ok {
			c, err := f.color(raw, nil)
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("export.%s: %v", name, err))
			}
			*to = c
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return nil, fmt.Errorf("theme %q: %s", f.Name, strings.Join(wrong, "; "))
	}
	for name := range f.Colors {
		if !slices.Contains(tokenNames[1:], name) {
			t.Ignored = append(t.Ignored, name)
		}
	}
	slices.Sort(t.Ignored)
	t.Light = t.looksLight()
	return t, nil
}

// readColors sets the tokens, and gives what is wrong with them.
func (t *Theme) readColors(f *file) (wrong []string) {
	var missing []string
	var derived []Token
	for _, token := range Tokens() {
		raw, ok := f.Colors[token.String()]
		if !ok {
			if token.standIn() == Plain {
				missing = append(missing, token.String())
			}
			derived = append(derived, token)
			continue
		}
		c, err := f.color(raw, nil)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("colors.%s: %v", token, err))
		}
		t.colors[token] = c
	}
	for _, token := range derived {
		t.colors[token] = t.colors[token.standIn()]
	}
	if len(missing) > 0 {
		wrong = append(wrong, "colors lacks "+strings.Join(missing, ", "))
	}
	return wrong
}

// color resolves a value. Seen are the variables that led to it.
func (f *file) color(raw json.RawMessage, seen []string) (Color, error) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		i, err := strconv.ParseUint(string(raw), 10, 8)
		if err != nil {
			return Color{}, fmt.Errorf("%.40s is not a color (want \"#RRGGBB\", 0 to 255, a variable or \"\")", raw)
		}
		return Indexed(uint8(i)), nil
	}
	if s == "" {
		return Color{}, nil
	}
	if hex, ok := strings.CutPrefix(s, "#"); ok {
		v, err := strconv.ParseUint(hex, 16, 32)
		if err != nil || len(hex) != 6 {
			return Color{}, fmt.Errorf("%.40q is not a color (want six hexadecimal digits after #)", s)
		}
		return RGB(uint32(v)), nil
	}
	value, ok := f.Vars[s]
	switch {
	case !ok:
		return Color{}, fmt.Errorf("unknown variable %.40q", s)
	case slices.Contains(seen, s):
		return Color{}, fmt.Errorf("variable %.40q refers to itself (%s)", s, strings.Join(append(seen, s), " → "))
	}
	return f.color(value, append(seen, s))
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
