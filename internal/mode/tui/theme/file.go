package theme

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/tool"
)

// Problems are what is wrong with a theme file, in the order of its lines.
type Problems struct {
	File string // "" is not known
	List []Problem
}

// Problem is what is wrong at a line.
type Problem struct {
	Line int // from 1
	Text string
}

// An error names so many problems, and so many missing tokens; it counts the others.
const maxTold, maxLacks = 3, 5

// Error names the first problems in one line.
func (p *Problems) Error() string {
	var b strings.Builder
	for i, one := range p.List {
		switch {
		case i == maxTold:
			fmt.Fprintf(&b, "; and %d more", len(p.List)-maxTold)
			return b.String()
		case i > 0:
			fmt.Fprintf(&b, "; line %d: ", one.Line)
		case p.File == "":
			fmt.Fprintf(&b, "theme, line %d: ", one.Line)
		default:
			fmt.Fprintf(&b, "%s:%d: ", p.File, one.Line)
		}
		b.WriteString(one.Text)
	}
	return b.String()
}

// file is a theme file as it is written.
type file struct {
	Name    string                     `json:"name"`
	Vars    map[string]json.RawMessage `json:"vars"`
	Colors  map[string]json.RawMessage `json:"colors"`
	Export  map[string]json.RawMessage `json:"export"`
	Symbols struct {
		Preset    string            `json:"preset"`
		Overrides map[string]string `json:"overrides"`
	} `json:"symbols"`

	text  []byte
	lines map[string]int  // of "colors", "colors.accent" and the like
	told  map[string]bool // variables that are wrong
	wrong Problems
}

// Parse reads a theme file: a JSON object with a name, colors for the tokens,
// and, if it wants, vars, export and symbols. A colour is "#RRGGBB", an index of
// 0 to 255, the name of a variable, or "" for the terminal's default. The error is a
// [Problems] with all that is missing or wrong. Tokens that pi's own themes do not
// have may be missing.
func Parse(data []byte) (*Theme, error) {
	f := file{text: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), lines: map[string]int{}, told: map[string]bool{}}
	if err := json.Unmarshal(f.text, &f); err != nil {
		f.unreadable(err)
		return nil, &f.wrong
	}
	f.findLines()
	if f.Name == "" {
		f.problem("name", "name is missing")
	}
	t := &Theme{Name: f.Name, Symbols: SymbolsOf(Preset(f.Symbols.Preset), f.Symbols.Overrides)}
	f.readColors(t)
	for name, to := range map[string]*Color{"pageBg": &t.Export.PageBg, "cardBg": &t.Export.CardBg, "infoBg": &t.Export.InfoBg} {
		if raw, ok := f.Export[name]; ok {
			*to = f.named("export."+name, raw)
		}
	}
	if len(f.wrong.List) > 0 {
		sorting.Stable(f.wrong.List, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, strings.Compare(a.Text, b.Text)) })
		return nil, &f.wrong
	}
	t.Light = t.looksLight()
	return t, nil
}

// unreadable takes the error of a file that is no JSON, or has something of the wrong kind.
func (f *file) unreadable(err error) {
	at := int64(0)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	words := err.Error()
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at, words = kind.Offset, fmt.Sprintf("%s: unexpected %s", cmp.Or(kind.Field, "a theme"), kind.Value)
	}
	f.wrong.List = []Problem{{Line: f.line(int(at)), Text: words}}
}

func (f *file) line(at int) int {
	return 1 + bytes.Count(f.text[:min(max(at, 0), len(f.text))], []byte("\n"))
}

// findLines notes where each member of the file and of its objects stands.
func (f *file) findLines() {
	r := jsontext.Reader{Text: f.text}
	r.Object(func(key []byte) bool {
		part := string(key)
		f.lines[part] = f.line(r.At)
		if r.Peek() != '{' {
			return r.Skip()
		}
		return r.Object(func(key []byte) bool {
			f.lines[part+"."+string(key)] = f.line(r.At)
			return r.Skip()
		})
	})
}

// problem adds what is wrong with a member, such as colors.accent, or with the one that it
// should stand in.
func (f *file) problem(member, format string, args ...any) {
	line := f.lines[member]
	if part, _, ok := strings.Cut(member, "."); ok && line == 0 {
		line = f.lines[part]
	}
	f.wrong.List = append(f.wrong.List, Problem{Line: max(line, 1), Text: fmt.Sprintf(format, args...)})
}

// readColors sets the tokens. What the file calls otherwise, it may have misspelt: where the
// nearest token is missing, that is why; else it is ignored, as of a newer program.
func (f *file) readColors(t *Theme) {
	var derived []Token
	missing := map[string]bool{} // those that must be there
	for _, token := range Tokens() {
		raw, ok := f.Colors[token.String()]
		if !ok {
			missing[token.String()] = token.standIn() == Plain
			derived = append(derived, token)
			continue
		}
		t.colors[token] = f.named("colors."+token.String(), raw)
	}
	for _, token := range derived {
		t.colors[token] = t.colors[token.standIn()]
	}
	for name := range f.Colors {
		if slices.Contains(tokenNames[1:], name) {
			continue
		}
		t.Ignored = append(t.Ignored, name)
		near, ok := tool.Nearest(name, tokenNames[1:])
		needed, absent := missing[near]
		switch words := fmt.Sprintf("unknown color %q (did you mean %q?)", name, near); {
		case !ok || !absent:
		case needed:
			delete(missing, near)
			f.problem("colors."+name, "%s", words)
		default:
			t.Doubts = append(t.Doubts, fmt.Sprintf("%d: %s", max(1, f.lines["colors."+name]), words))
		}
	}
	slices.Sort(t.Ignored)
	slices.Sort(t.Doubts)
	var lacks []string
	for _, token := range derived {
		if missing[token.String()] {
			lacks = append(lacks, token.String())
		}
	}
	if more := len(lacks) - maxLacks; more > 0 {
		lacks = append(lacks[:maxLacks], fmt.Sprintf("and %d more", more))
	}
	if len(lacks) > 0 {
		f.problem("colors", "colors lacks %s", strings.Join(lacks, ", "))
	}
}

// named resolves the value of a member.
func (f *file) named(member string, raw json.RawMessage) Color {
	c, err := f.color(raw, nil)
	if err != nil && !errors.Is(err, errTold) {
		f.problem(member, "%s: %v", member, err)
	}
	return c
}

// errTold reports a variable whose value is wrong, which is said once, where it stands.
var errTold = errors.New("the variable is wrong")

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
		var vars []string
		for name := range f.Vars {
			vars = append(vars, name)
		}
		if near, found := tool.Nearest(s, vars); found {
			return Color{}, fmt.Errorf("unknown variable %.40q (did you mean %.40q?)", s, near)
		}
		return Color{}, fmt.Errorf("unknown variable %.40q", s)
	case slices.Contains(seen, s):
		return Color{}, fmt.Errorf("variable %.40q refers to itself (%s)", s, strings.Join(append(seen, s), " → "))
	}
	c, err := f.color(value, append(seen, s))
	if err != nil && !f.told[s] {
		if f.told[s] = true; !errors.Is(err, errTold) {
			f.problem("vars."+s, "vars.%s: %v", s, err)
		}
	}
	if err != nil {
		return Color{}, errTold
	}
	return c, nil
}

// File is the theme as a file that [Parse] reads, to begin one's own with. Colors that several
// tokens have are variables, named after the first of them.
func (t *Theme) File() []byte {
	uses := map[Color]int{}
	for _, token := range Tokens() {
		uses[t.colors[token]]++
	}
	var vars, colors []string
	names := map[Color]string{}
	for _, token := range Tokens() {
		c := t.colors[token]
		value := strconv.Quote(c.Hex())
		if c.kind == indexed {
			value = strconv.Itoa(int(c.index))
		}
		if uses[c] > 1 && c.kind != terminalDefault {
			if names[c] == "" {
				names[c] = token.String()
				vars = append(vars, fmt.Sprintf("    %q: %s", names[c], value))
			}
			value = strconv.Quote(names[c])
		}
		colors = append(colors, fmt.Sprintf("    %q: %s", token, value))
	}
	return fmt.Appendf(nil, "{\n  \"name\": %q,\n  \"vars\": {\n%s\n  },\n  \"colors\": {\n%s\n  }\n}\n",
		t.Name, strings.Join(vars, ",\n"), strings.Join(colors, ",\n"))
}
