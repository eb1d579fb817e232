package usage

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Style says how a table is written as text.
type Style struct {
	Width   int  // columns; 0 = 80
	Unicode bool // bars of blocks and "≥"; else plain ASCII
	NoBars  bool // figures only, for who has them read out
}

const (
	minKey = 12 // columns of the first column that are not given up for a bar or a figure
	minBar = 8
	maxBar = 40
)

// dispensable are the figures that go where there is no room for all, first to last:
// indexes of cells.
var dispensable = [...]int{5, 4, 1, 2, 3}

// Text writes the table for people: aligned, a bar for the cost of each row, the
// sum, and a line about what is not known. Its rows are not wider than the style
// says, down to the name of each and its cost: the bars go first, then the figures that
// say least.
func (t Table) Text(s Style) string {
	if s.Width <= 0 {
		s.Width = 80
	}
	head := []string{strings.ToUpper(string(t.By)), "REQUESTS", "INPUT", "OUTPUT", "CACHE R", "CACHE W", "COST"}
	cells := [][]string{head}
	for _, r := range t.Rows {
		cells = append(cells, r.cells(s))
	}
	if len(t.Rows) != 1 {
		cells = append(cells, t.Total.cells(s))
	}
	widths := make([]int, len(head))
	for _, row := range cells {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	figures := 0
	for _, w := range widths[1:] {
		figures += 2 + w
	}
	for _, i := range dispensable {
		if min(widths[0], minKey)+figures <= s.Width {
			break
		}
		figures -= 2 + widths[i]
		widths[i] = 0
	}
	room := max(4, s.Width-figures) // for names, and for bars where both have enough
	if room >= minKey+2+minBar {
		widths[0] = min(widths[0], room-2-minBar)
	}
	widths[0] = min(widths[0], room)
	bar := min(maxBar, room-widths[0]-2)
	var most llm.USD
	for _, r := range t.Rows {
		most = max(most, r.Cost)
	}
	var b strings.Builder
	for i, row := range cells {
		line := pad(shorten(row[0], widths[0], s.Unicode), widths[0])
		for j, c := range row[1:] {
			if widths[j+1] == 0 {
				continue
			}
			line += "  " + strings.Repeat(" ", widths[j+1]-utf8.RuneCountInString(c)) + c
		}
		if i > 0 && i <= len(t.Rows) && bar >= minBar && !s.NoBars {
			line += "  " + drawBar(t.Rows[i-1].Cost, most, bar, s.Unicode)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString(t.Total.notes(s))
	return b.String()
}

func (r Row) cells(s Style) []string {
	return []string{cmp.Or(shown(r.Key), "-"), strconv.FormatInt(r.Requests, 10), prose.Tokens(r.Input), prose.Tokens(r.Output), prose.Tokens(r.CacheRead), prose.Tokens(r.CacheWrite), r.cost(s)}
}

// cost is the cost as text: "unknown" if nothing of it is known, "≥ $1.23" if
// a part is not, "~$1.23" if a rate stood in for another.
func (r Row) cost(s Style) string {
	switch {
	case r.Unknown > 0 && r.Cost == 0:
		return "unknown"
	case r.Unknown > 0:
		return atLeast(s) + " " + money(r.Cost)
	case r.Unreliable > 0:
		return "~" + money(r.Cost)
	}
	return money(r.Cost)
}

func atLeast(s Style) string {
	if s.Unicode {
		return "≥"
	}
	return ">="
}

// notes explain the marks in use.
func (r Row) notes(s Style) string {
	var b strings.Builder
	if r.Unknown > 0 {
		fmt.Fprintf(&b, "Unknown or %s: the cost of %d of %s is not known; models.yml sets prices for the requests to come.\n", atLeast(s), r.Unknown, prose.Count(int(r.Requests), "request"))
	}
	if r.Unreliable > 0 {
		fmt.Fprintf(&b, "About: a rate that stands in for one that is not known priced %d of %s.\n", r.Unreliable, prose.Count(int(r.Requests), "request"))
	}
	return b.String()
}

// money is an amount in a table, which has no room for more than four decimals.
func money(u llm.USD) string {
	switch {
	case u > 0 && u < 50_000:
		return "<$0.0001"
	case u > 0 && u < 1_000_000:
		return fmt.Sprintf("$%.4f", u.Float())
	}
	return u.String()
}

// drawBar draws v of most in at most width columns; what is more than nothing is
// seen.
func drawBar(v, most llm.USD, width int, blocks bool) string {
	if v <= 0 || most <= 0 {
		return ""
	}
	part := float64(v) / float64(most) * float64(width)
	if !blocks {
		return strings.Repeat("#", max(1, int(math.Round(part))))
	}
	eighths := max(1, int(math.Round(part*8)))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}

// shorten keeps the end of s, which tells folders and models apart.
func shorten(s string, width int, dots bool) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	mark := "..."
	if dots {
		mark = "…"
	}
	return mark + string(r[len(r)-width+utf8.RuneCountInString(mark):])
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// shown is a name without what a terminal would obey. A question mark stands for it,
// which terminals without Unicode have too.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if prose.Steers(r) {
			return '?'
		}
		return r
	}, s)
}
