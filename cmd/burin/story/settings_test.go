package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// config is config.yml.
func (s *story) config() string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.home, "config.yml"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// configured waits until config.yml holds text.
func (s *story) configured(text string) {
	s.t.Helper()
	s.becomes(func() string {
		if c := s.config(); !strings.Contains(c, text) {
			return fmt.Sprintf("config.yml has no %q:\n%s", text, c)
		}
		return ""
	})
}

// A setting is found by its words and changed with Enter; config.yml has it.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	s.send("/settings")
	s.WaitText("Color-blind mode")
	s.Type("color-blind")
	s.WaitText("Shows added lines in blue")
	s.Press("enter")
	s.configured("colorBlindMode: true")
	s.Press("esc", "esc")
	s.WaitText("Ask anything")
}

// A theme is seen while it is looked for, and kept with Enter.
func TestTheme(t *testing.T) {
	t.Parallel()
	s := begin(t, nil)
	var was vt.Color
	border := func(t *vt.Terminal) vt.Color { return t.Cell(0, t.Cursor().Y-1).Style.FG }
	s.Look(func(t *vt.Terminal) { was = border(t) })
	s.send("/theme")
	s.WaitText("Themes")
	s.Type("dusk")
	s.WaitText("→   dusk")
	s.Press("enter")
	s.WaitFor("other colours", func(t *vt.Terminal) bool {
		return strings.Contains(t.Screen(), "Ask anything") && border(t) != was
	})
	s.configured("dusk")
}
