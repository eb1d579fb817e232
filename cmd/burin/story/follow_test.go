package story_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
)

// has writes one of burin's files as an editor does: it writes a new file and renames it.
func (s *story) has(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path+"~", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		s.t.Fatal(err)
	}
}

// wide has room for a line with a path.
func wide(o *setting) { o.Width, o.Height = 200, 30 }

// adds puts lines in front of config.yml.
func (s *story) adds(lines string) { s.has("config.yml", lines+s.config()) }

// oneColor is a theme file in which everything has one color.
func oneColor(t *testing.T, color string) string {
	t.Helper()
	colors := map[string]string{}
	for _, token := range theme.Tokens() {
		colors[token.String()] = "ink"
	}
	text, err := json.MarshalIndent(map[string]any{"name": "mine", "vars": map[string]string{"ink": color}, "colors": colors}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// waitBorder waits until the border of the prompt has a color.
func (s *story) waitBorder(r, g, b uint8) {
	s.t.Helper()
	s.WaitFor(fmt.Sprintf("a border of %d,%d,%d", r, g, b), func(t *vt.Terminal) bool {
		y := t.Cursor().Y - 1
		if y < 0 {
			return false
		}
		x, z, w, ok := t.Cell(0, y).Style.FG.RGB()
		return ok && x == r && z == g && w == b
	})
}

// A theme that is edited while burin runs is seen at once. One that cannot be used is said once,
// with its line, and changes nothing.
func TestThemeFollowsItsFile(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, wide, func(o *setting) { o.Env = []string{"COLORTERM=truecolor"} })
	s.has("themes/mine.json", oneColor(t, "#ff0000"))
	s.send("/theme mine")
	s.configured("mine")
	s.waitBorder(255, 0, 0)
	s.has("themes/mine.json", oneColor(t, "#00ff00"))
	s.waitBorder(0, 255, 0) // that it says so for a moment is seen below, of the settings

	s.has("themes/mine.json", strings.Replace(oneColor(t, "#0000ff"), `"accent"`, `"acent"`, 1))
	s.WaitText(`mine.json:3: unknown color "acent" (did you mean "accent"?)`)
	s.waitBorder(0, 255, 0)
	s.adds("colorBlindMode: true\n") // the theme is read again, and said nothing more of
	s.WaitText("reloaded: settings")
	if n := strings.Count(s.all(), "unknown color"); n != 1 {
		t.Errorf("said %d times", n)
	}
	s.has("themes/mine.json", oneColor(t, "#0000ff"))
	s.waitBorder(0, 0, 255)
}

// Settings hold as soon as the file is saved, where they can; one line names those that wait for
// the next session. A file with a mistake changes nothing.
func TestSettingsFollowTheirFile(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, nil, wide, func(o *setting) { o.config = "statusLine: {preset: minimal}\n" })
	s.WaitGone("$0.00")
	s.has("config.yml", strings.Replace(s.config(), "minimal", "compact", 1))
	s.WaitText("reloaded: settings")
	s.WaitText("$0.00")
	before := s.config()
	s.adds("quietness: 3\n")
	s.WaitText(`config.yml:1:1: unknown setting "quietness"`)
	s.WaitText("the settings stay as they were")
	s.has("config.yml", "retry: {maxRetries: 7}\ntui: {mouse: always}\n"+before)
	s.WaitText("In the next session: retry.maxRetries. /new starts one.")
	s.send("/theme")
	s.WaitText("Themes")
	s.hasMouse(true)
}

// Key bindings hold as soon as the file is saved, and /hotkeys says where they come from.
func TestKeysFollowTheirFile(t *testing.T) {
	t.Parallel()
	s := begin(t, nil, wide)
	s.has("keybindings.json", "{\n  \"app.session.tree\": \"alt+g\",\n  \"app.modle.select\": \"f2\"\n}\n")
	s.WaitText(`keybindings.json:3: unknown action "app.modle.select" (did you mean "app.model.select"?)`)
	s.Press("alt+g")
	s.WaitText("Session tree")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.send("/hotkeys")
	s.Type("the tree of this session")
	s.WaitText("keybindings.json:2")
	s.Press("esc", "esc")
	s.WaitText("Ask anything")
	s.has("keybindings.json", "{\n")
	s.WaitText("the keys stay as they were")
	s.Press("alt+g")
	s.WaitText("Session tree")
}
