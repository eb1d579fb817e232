package theme

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func themeJSON(t testing.TB, change func(colors, vars map[string]any)) []byte {
	t.Helper()
	colors, vars := map[string]any{}, map[string]any{"base": "#112233", "again": "base", "idx": 200}
	for _, token := range Tokens() {
		colors[token.String()] = "again"
	}
	change(colors, vars)
	data, err := json.Marshal(map[string]any{"$schema": "x", "name": "mine", "vars": vars, "colors": colors})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParse(t *testing.T) {
	theme, err := Parse(themeJSON(t, func(c, _ map[string]any) {
		c["accent"], c["text"], c["dim"], c["muted"] = "#AABBCC", "", 240, "idx"
		c["newerToken"] = "#000000"
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Color{}
	for _, token := range []Token{Accent, Text, Dim, Muted, Border} {
		got[token.String()] = theme.Color(token)
	}
	want := map[string]Color{"accent": RGB(0xaabbcc), "text": {}, "dim": Indexed(240), "muted": Indexed(200), "border": RGB(0x112233)}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Color{})); diff != "" {
		t.Errorf("colours (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"newerToken"}, theme.Ignored); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(colors, vars map[string]any)
		want   []string
	}{
		"missing":      {func(c, _ map[string]any) { delete(c, "mdLink"); delete(c, "accent") }, []string{"lacks accent, mdLink"}},
		"bad hex":      {func(c, _ map[string]any) { c["error"] = "#12345" }, []string{"colors.error", "#12345"}},
		"not hex":      {func(c, _ map[string]any) { c["error"] = "#12345g" }, []string{"colors.error"}},
		"no variable":  {func(c, _ map[string]any) { c["error"] = "nobody" }, []string{"colors.error", "nobody"}},
		"circle":       {func(c, v map[string]any) { c["error"], v["a"], v["b"] = "a", "b", "a" }, []string{"vars.b: ", "a → b → a"}},
		"out of range": {func(c, _ map[string]any) { c["error"] = 256 }, []string{"colors.error", "256"}},
		"fraction":     {func(c, _ map[string]any) { c["error"] = 1.5 }, []string{"colors.error"}},
		"null":         {func(c, _ map[string]any) { c["error"] = []int{1} }, []string{"colors.error"}},
		"two":          {func(c, _ map[string]any) { c["error"], c["dim"] = -1, "x" }, []string{"colors.error", "colors.dim"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(themeJSON(t, tt.change))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: lacks %q", err, want)
				}
			}
		})
	}
}

// pi's own themes know 51 of the 66 tokens.
func TestParseWithoutNewerTokens(t *testing.T) {
	theme, err := Parse(themeJSON(t, func(c, _ map[string]any) {
		for _, token := range Tokens() {
			if token >= StatusLineSep || token == StatusLineBg || token == PythonMode {
				delete(c, token.String())
			}
		}
		c["error"] = "#ff0000"
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := theme.Color(StatusLineUntracked); got != RGB(0xff0000) {
		t.Errorf("untracked files are %v, want the colour of errors", got)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.json"), themeJSON(t, func(_, _ map[string]any) {}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, "mine"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"mine"}, List(dir)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"other", "../mine", "", ".mine"} {
		if _, err := Load(dir, name); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("Load(%q): %v", name, err)
		}
	}
}

// What is wrong is said with its place, and with the name that was probably meant.
func TestProblems(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.json")
	whole := string(themeJSON(t, func(c, v map[string]any) { c["accent"], v["blue"] = "blue", "#0000ff" }))
	whole = strings.NewReplacer(",", ",\n", "{", "{\n").Replace(whole)
	lineOf := func(text, part string) int {
		before, _, ok := strings.Cut(text, part)
		if !ok {
			t.Fatalf("no %q in\n%s", part, text)
		}
		return 1 + strings.Count(before, "\n")
	}
	for name, tt := range map[string]struct {
		old, changed string
		want         string // %d is the line of changed
	}{
		"a token":            {`"accent":`, `"acent":`, `%d: unknown color "acent" (did you mean "accent"?)`},
		"a variable":         {`"accent":"blue"`, `"accent":"bleu"`, `%d: colors.accent: unknown variable "bleu" (did you mean "blue"?)`},
		"a variable's value": {`"blue":"#0000ff"`, `"blue":"#0000f"`, `%d: vars.blue: "#0000f" is not a color`},
		"a missing":          {`"mdLink":`, `"zebra":`, "colors lacks mdLink"},
		"no JSON":            {`"mdLink":`, `"mdLink"`, `%d: invalid character`},
		"another kind":       {`"vars":{`, `"vars":[], "x":{`, `%d: vars: unexpected array`},
	} {
		text := strings.Replace(whole, tt.old, tt.changed, 1)
		if text == whole {
			t.Fatalf("%s: nothing is changed in\n%s", name, whole)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := tt.want
		if strings.Contains(want, "%d") {
			want = fmt.Sprintf(path+":"+want, lineOf(text, tt.changed))
		}
		if _, err := Load(dir, "mine"); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}

	// A name that nothing depends on is a doubt; one of a newer program is none.
	text := strings.NewReplacer(`"statusLineCost":`, `"statusLineCosts":`, `"pythonMode":`, `"zebraMode":`).Replace(whole)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	th, err := Load(dir, "mine")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprintf(`%s:%d: unknown color "statusLineCosts" (did you mean "statusLineCost"?)`, path, lineOf(text, `"statusLineCosts"`))}
	if diff := cmp.Diff(want, th.Doubts); diff != "" {
		t.Error(diff)
	}
}

// A theme is written as a file that gives the same theme.
func TestFile(t *testing.T) {
	for _, name := range Names() {
		want, _ := Builtin(name)
		got, err := Parse(want.File())
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, want.File())
		}
		if got.colors != want.colors || got.Name != name || got.Light != want.Light {
			t.Errorf("%s is not the same", name)
		}
	}
	mixed, err := Parse(themeJSON(t, func(c, _ map[string]any) { c["accent"], c["text"], c["dim"] = 240, "", "#010203" }))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Parse(mixed.File()); err != nil || got.colors != mixed.colors {
		t.Errorf("%v\n%s", err, mixed.File())
	}
}

// contrast is WCAG's contrast of two colours, 1 to 21.
func contrast(a, b Color) float64 {
	la, lb := a.Luminance(), b.Luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// Every text of the built-in themes can be read on everything it may stand on.
func TestBuiltinContrast(t *testing.T) {
	if n := len(palettes); n < 10 {
		t.Errorf("%d themes", n)
	}
	borders := map[Token]bool{Border: true, BorderAccent: true, BorderMuted: true, MdQuoteBorder: true, MdHr: true, StatusLineSep: true, ThinkingOff: true, ThinkingMinimal: true}
	for i := range palettes {
		p := &palettes[i]
		theme := p.theme()
		for _, token := range Tokens() {
			c := theme.Color(token)
			if c == (Color{}) {
				c = RGB(p.text)
			}
			if token.Background() {
				if got := contrast(c, RGB(p.bg)); got > 2.2 {
					t.Errorf("%s: %s stands out from the background by %.1f", p.name, token, got)
				}
				continue
			}
			if borders[token] {
				continue
			}
			for _, on := range behind(token, p) {
				if got := contrast(c, RGB(on)); got < 4.5 {
					t.Errorf("%s: %s on #%06x has a contrast of %.2f, want 4.5", p.name, token, on, got)
				}
			}
		}
		if theme.Light != p.light || theme.looksLight() != p.light {
			t.Errorf("%s: light is told as %v, want %v", p.name, theme.looksLight(), p.light)
		}
	}
}

// behind are the backgrounds that a token is drawn on.
func behind(token Token, p *palette) []uint32 {
	all := []uint32{p.bg}
	switch token {
	case UserMessageText:
		all = append(all, p.user)
	case CustomMessageText, CustomMessageLabel:
		all = append(all, p.custom)
	case ToolTitle, ToolOutput, ToolDiffAdded, ToolDiffRemoved, ToolDiffContext:
		all = append(all, p.pending, p.succeeded, p.failed)
	case Text, Accent, Muted:
		all = append(all, p.selected)
	}
	if token >= StatusLineModel {
		all = append(all, p.status)
	}
	return all
}

func TestColorBlind(t *testing.T) {
	for i := range palettes {
		p := &palettes[i]
		before, after := p.theme(), p.theme().ColorBlind()
		c := after.Color(ToolDiffAdded)
		if c.b <= c.g || c == before.Color(ToolDiffAdded) {
			t.Errorf("%s: added lines are %s", p.name, c.Hex())
		}
		if got := contrast(c, RGB(p.bg)); got < 4.5 {
			t.Errorf("%s: added lines have a contrast of %.2f", p.name, got)
		}
		if diff := cmp.Diff(before.Color(ToolDiffRemoved), after.Color(ToolDiffRemoved), cmp.AllowUnexported(Color{})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDetectProfile(t *testing.T) {
	for _, tt := range []struct {
		env  string
		tty  bool
		want Profile
	}{
		{"TERM=xterm-256color COLORTERM=truecolor", true, TrueColor},
		{"TERM=xterm-256color COLORTERM=truecolor", false, NoStyle},
		{"TERM=xterm-256color COLORTERM=truecolor NO_COLOR=1", true, Mono},
		{"TERM=dumb COLORTERM=truecolor", true, NoStyle},
		{"TERM=xterm-256color", true, ANSI256},
		{"TERM=xterm-kitty", true, TrueColor},
		{"TERM=tmux-256color", true, ANSI256},
		{"TERM=linux", true, ANSI16},
		{"TERM=vt220", true, ANSI16},
		{"", true, ANSI16},
		{"WT_SESSION=x", true, TrueColor},
		{"TERM=xterm-256color TERM_PROGRAM=Apple_Terminal", true, ANSI256},
		{"FORCE_COLOR=1 TERM=xterm", false, ANSI256},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(tt.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		if got := DetectProfile(tt.tty, func(k string) string { return env[k] }); got != tt.want {
			t.Errorf("%s, terminal %v: %d, want %d", tt.env, tt.tty, got, tt.want)
		}
	}
}

func TestDetectBackground(t *testing.T) {
	for _, tt := range []struct {
		reply, env string
		want       Background
	}{
		{"\x1b]11;rgb:1e1e/1e1e/2e2e\x07", "0;15", DarkBackground},
		{"\x1b]11;rgb:ffff/ffff/f0f0\x1b\\", "", LightBackground},
		{"\x1b]11;#fdf6e3\x07", "", LightBackground},
		{"\x1b]11;nonsense\x07", "15;0", DarkBackground},
		{"\x1b[?997;1n", "", DarkBackground},
		{"\x1b[?997;2n", "15;0", LightBackground},
		{"", "0;15", LightBackground},
		{"", "0;default;7", LightBackground},
		{"", "15;8", DarkBackground},
		{"", "x", UnknownBackground},
		{"", "", UnknownBackground},
	} {
		if got := DetectBackground(tt.reply, tt.env); got != tt.want {
			t.Errorf("%q, %q: %d, want %d", tt.reply, tt.env, got, tt.want)
		}
	}
}

func TestDownsample(t *testing.T) {
	for _, tt := range []struct {
		in    uint32
		to256 uint8
		to16  string
	}{
		{0xff0000, 196, "31"},
		{0x00ff00, 46, "92"},
		{0x5f87ff, 69, "34"},
		{0x808080, 244, "90"},
		{0xffffff, 231, ""},
		{0x101010, 233, ""},
		{0xe59a97, 174, "91"},
		{0x87c28f, 108, "92"},
		{0xd7af5f, 179, "93"},
		{0x00d7d7, 44, "96"},
	} {
		if got := RGB(tt.in).to256(); got != tt.to256 {
			t.Errorf("#%06x: %d of 256, want %d", tt.in, got, tt.to256)
		}
		if got := RGB(tt.in).sgr(ANSI16, false); got != tt.to16 {
			t.Errorf("#%06x: %q of 16, want %q", tt.in, got, tt.to16)
		}
	}
	// No colour may become one that is much darker or lighter.
	for v := uint32(0); v < 1<<24; v += 0x0b0d11 {
		c := RGB(v)
		if d := math.Abs(math.Sqrt(c.Luminance()) - math.Sqrt(Indexed(c.to256()).Luminance())); d > 0.15 {
			t.Errorf("#%06x becomes %d, which is brighter or darker by %.2f", v, c.to256(), d)
		}
	}
}

func TestNesting(t *testing.T) {
	th, err := Parse(themeJSON(t, func(c, _ map[string]any) { c["accent"], c["error"], c["selectedBg"] = 1, 2, 3 }))
	if err != nil {
		t.Fatal(err)
	}
	s := NewStyles(th, ANSI256)
	accent, wrong, behind := s.Style(Accent), s.Style(Error), s.Style(SelectedBg)
	for _, tt := range []struct{ got, want string }{
		{accent("a" + wrong("b") + "c"), "\x1b[38;5;1ma\x1b[38;5;2mb\x1b[38;5;1mc\x1b[39m"},
		{behind("a" + wrong("b") + "c"), "\x1b[48;5;3ma\x1b[38;5;2mb\x1b[39mc\x1b[49m"},
		{accent("a\x1b[0mb"), "\x1b[38;5;1ma\x1b[0m\x1b[38;5;1mb\x1b[39m"},
		{accent("a\nb"), "\x1b[38;5;1ma\x1b[39m\n\x1b[38;5;1mb\x1b[39m"},
		{accent(""), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestColourlessCostsNothing(t *testing.T) {
	th, _ := Builtin(DefaultDark)
	for _, p := range []Profile{NoStyle, Mono} {
		s := NewStyles(th, p)
		n := testing.AllocsPerRun(100, func() {
			if s.Style(Accent)("text\nof two lines") != "text\nof two lines" {
				t.Error("the text was changed")
			}
		})
		if n != 0 {
			t.Errorf("profile %d: %v allocations", p, n)
		}
	}
}

func TestSymbols(t *testing.T) {
	got := SymbolsOf(ASCII, map[string]string{"status.success": "+", "status.error": "\x1b[31m", "nobody": "x"})
	if got.Done != "+" || got.Failed != "x" {
		t.Errorf("got %+v", got)
	}
}

// A person can tell the presets apart: in each the signs of calls and tasks are others.
// They take one cell, but for the boxes of ASCII.
func TestPresetsDiffer(t *testing.T) {
	signs := func(p Preset) []string {
		s := SymbolsOf(p, nil)
		return []string{s.Running, s.Done, s.Failed, s.Arrow, s.TaskOpen, s.TaskDone, s.TaskPart, s.TaskDrop}
	}
	seen := map[string]Preset{}
	for _, p := range []Preset{Unicode, Nerd, ASCII} {
		for _, sign := range signs(p) {
			if by, ok := seen[sign]; ok {
				t.Errorf("%s and %s both have %q", by, p, sign)
			}
			seen[sign] = p
			if w := ansi.StringWidth(sign); w != 1 && p != ASCII {
				t.Errorf("%s: %q has %d cells", p, sign, w)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name":"x","vars":{"a":"a"},"colors":{"accent":"a","text":""}}`))
	f.Add([]byte(`{"name":"x","symbols":{"preset":"ascii"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if th, err := Parse(data); err == nil {
			NewStyles(th, TrueColor)
		}
	})
}

func BenchmarkNewStyles(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t, _ := Builtin(DefaultDark)
		NewStyles(t, ANSI256)
	}
}
