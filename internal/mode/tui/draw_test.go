package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// What is proposed stands in one column, whether it is chosen or not, in all signs.
func TestProposalsAreAligned(t *testing.T) {
	for _, symbols := range []string{"unicode", "ascii"} {
		a := alone(t)
		a.show.symbols = symbols
		a.restyle()
		a.types("/")
		rows := a.popupRows(60, 3)
		at := map[int]bool{}
		for _, r := range rows {
			before, _, _ := strings.Cut(ansi.Strip(r), "/")
			at[ansi.StringWidth(before)] = true
		}
		if len(rows) != 3 || len(at) != 1 {
			t.Errorf("%s: %q", symbols, rows)
		}
	}
}

// Who has the screen read out hears what is chosen, and which of how many it is.
func TestProposalsAreReadOut(t *testing.T) {
	a := alone(t)
	a.show.screenReader = true
	a.restyle()
	a.types("/mod")
	for _, want := range []string{"1 of 2: /model", "2 of 2: /mode", "1 of 2: /model"} {
		rows := a.popupRows(60, 5)
		if len(rows) != 1 || !strings.HasPrefix(ansi.Strip(rows[0]), want+" ") {
			t.Errorf("read out is %q, want %q", rows, want)
		}
		a.onKey(key.Press{Key: "down"})
	}
}
