package smallfile_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

func TestCheckNesting(t *testing.T) {
	deep := ""
	for i := range 500 {
		deep += strings.Repeat(" ", i) + "a:\n"
	}
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", 64<<10), "braces": strings.Repeat("{a: ", 1000), "brackets on lines": strings.Repeat("[\n", 1000),
		"lists in lists": strings.Repeat("- ", 32<<10), "keys in keys": strings.Repeat("? ", 32<<10), "indentation": deep,
	} {
		if smallfile.CheckNesting([]byte(text)) == nil {
			t.Errorf("%s pass", name)
		}
	}
	for name, text := range map[string]string{
		"settings": "a:\n  b: [1, {c: d}]\n  # ---------------------------------------------------\n  e: |\n    - f\n\n", "nothing": "",
		"many lists": strings.Repeat("a: [1, 2]\nb:\n  - {c: [d]}\n", 10_000), "a rule of signs": "# " + strings.Repeat("-", 200) + "\na: 1\n",
	} {
		if err := smallfile.CheckNesting([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
