package theme

// Preset is a set of signs to draw with.
type Preset string

const (
	Unicode Preset = "unicode"
	Nerd    Preset = "nerd" // fonts with icons
	ASCII   Preset = "ascii"
	Spoken  Preset = "spoken" // for screen readers: ASCII, and no lines
)

// Symbols are the signs that cards and Markdown draw with. Each is one cell wide,
// but for ASCII's ellipsis and boxes.
type Symbols struct {
	Bullets  [3]string // of lists, by depth
	TaskOpen string
	TaskDone string
	TaskPart string // under way
	TaskDrop string // given up
	Quote    string
	Rule     string // "" where no lines are drawn
	Column   string // between cells of a table
	Cross    string // where Rule and Column meet
	Ellipsis string
	Running  string
	Done     string
	Failed   string
	Arrow    string
	Dot      string // between facts
	Minus    string
}

// SymbolsOf is the signs of a preset, Unicode's for one that is not known, with
// those replaced that overrides names by the keys of theme files. Keys and values
// that mean nothing here are ignored.
func SymbolsOf(p Preset, overrides map[string]string) Symbols {
	s := Symbols{
		Bullets: [3]string{"•", "◦", "▪"}, TaskOpen: "☐", TaskDone: "☑", TaskPart: "◧", TaskDrop: "☒",
		Quote: "▎", Rule: "─", Column: "│", Cross: "┼", Ellipsis: "…",
		Running: "○", Done: "●", Failed: "✗", Arrow: "→", Dot: "·", Minus: "−",
	}
	switch p {
	case Nerd: // icons of Font Awesome, which all versions of these fonts have at the same places
		s.TaskOpen, s.TaskDone, s.TaskPart, s.TaskDrop = "\uf096", "\uf046", "\uf152", "\uf147"
		s.Running, s.Done, s.Failed, s.Arrow = "\uf10c", "\uf058", "\uf057", "\uf061"
	case ASCII, Spoken:
		s = Symbols{
			Bullets: [3]string{"*", "-", "+"}, TaskOpen: "[ ]", TaskDone: "[x]", TaskPart: "[>]", TaskDrop: "[-]",
			Quote: "|", Rule: "-", Column: "|", Cross: "+", Ellipsis: "...",
			Running: "o", Done: "*", Failed: "x", Arrow: "->", Dot: "-", Minus: "-",
		}
		if p == Spoken {
			s.Rule = ""
		}
	}
	for key, to := range map[string]*string{
		"status.running": &s.Running, "status.success": &s.Done, "status.error": &s.Failed,
		"checkbox.checked": &s.TaskDone, "checkbox.unchecked": &s.TaskOpen,
		"md.quoteBorder": &s.Quote, "md.hrChar": &s.Rule, "md.bullet": &s.Bullets[0],
	} {
		if v, ok := overrides[key]; ok && v != "" && len(v) <= 16 && harmless(v) {
			*to = v
		}
	}
	return s
}

func harmless(s string) bool {
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfffd {
			return false
		}
	}
	return true
}
