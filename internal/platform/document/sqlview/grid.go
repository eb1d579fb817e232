package sqlview

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxWidth  = 120 // characters of a line of a table
	maxColumn = 40
	minColumn = 8
)

// grid is a result.
type grid struct {
	head []string
	rows [][]string
}

// String gives the grid as a table of at most 120 characters, each column at most
// 40. If that would cut columns below 8 the rows are shown one below the other.
func (g grid) String() string {
	widths := make([]int, len(g.head))
	cells := make([][]string, 0, len(g.rows)+1)
	for _, row := range append([][]string{g.head}, g.rows...) {
		flat := make([]string, len(row))
		for i, v := range row {
			flat[i] = unbroken(v)
			widths[i] = max(widths[i], min(utf8.RuneCountInString(flat[i]), maxColumn))
		}
		cells = append(cells, flat)
	}
	if !shrink(widths) {
		var b strings.Builder
		for i, row := range g.rows {
			fmt.Fprintf(&b, "-- %d\n%s\n", i+1, grid{g.head, [][]string{row}}.vertical())
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	var b strings.Builder
	for i, row := range cells {
		writeRow(&b, row, widths)
		if i == 0 {
			line := make([]string, len(widths))
			for j, w := range widths {
				line[j] = strings.Repeat("-", w)
			}
			writeRow(&b, line, widths)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// shrink takes from the widest columns until a line fits. It fails if they would
// become too narrow.
func shrink(widths []int) bool {
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for total > maxWidth {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			return false
		}
		widths[widest]--
		total--
	}
	return true
}

func writeRow(b *strings.Builder, row []string, widths []int) {
	var line strings.Builder
	for i, v := range row {
		if i > 0 {
			line.WriteString(" | ")
		}
		v = prose.Cut(v, widths[i])
		line.WriteString(v)
		line.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(v))))
	}
	b.WriteString(strings.TrimRight(line.String(), " "))
	b.WriteByte('\n')
}

// vertical gives the first row with a line for each column.
func (g grid) vertical() string {
	var b strings.Builder
	for i, name := range g.head {
		v := g.rows[0][i]
		if strings.Contains(v, "\n") {
			v = "\n" + v
		}
		fmt.Fprintf(&b, "%s: %s\n", name, v)
	}
	return b.String()
}

// unbroken keeps a value in its line.
func unbroken(s string) string {
	s = prose.Clip(s, 8*maxColumn)
	if strings.ContainsAny(s, "\n\r\t") {
		s = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\r", `\n`, "\t", " ").Replace(s)
	}
	return s
}

// show is a value as text.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []byte:
		return fmt.Sprintf("<blob, %d bytes>", len(v))
	case string:
		return strings.ToValidUTF8(v, "\ufffd")
	case time.Time: // the driver makes them of columns that are declared so
		if h, m, s := v.Clock(); h == 0 && m == 0 && s == 0 && v.Nanosecond() == 0 {
			return v.Format("2006-01-02")
		}
		return v.Format("2006-01-02 15:04:05.999999999")
	}
	return fmt.Sprint(v)
}
