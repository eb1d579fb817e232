package usage

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// How far a cost can be trusted, as exports say it.
const (
	costExact       = "exact"
	costApproximate = "approximate" // a rate stood in for another
	costAtLeast     = "at_least"    // a part is not known
	costUnknown     = "unknown"     // nothing is known
)

func (r Row) trust() string {
	switch {
	case r.Unknown > 0 && r.Cost == 0:
		return costUnknown
	case r.Unknown > 0:
		return costAtLeast
	case r.Unreliable > 0:
		return costApproximate
	}
	return costExact
}

// WriteCSV writes the rows, without the sum, as comma-separated values with a
// head. The cost is in dollars and empty where nothing of it is known; cost_is
// says exact, approximate, at_least or unknown. Names that a spreadsheet would
// run as a formula begin with an apostrophe.
func (t Table) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	records := [][]string{{string(t.By), "requests", "input", "output", "cache_read", "cache_write", "cost_usd", "cost_is", "unknown", "unreliable"}}
	for _, r := range t.Rows {
		cost := strconv.FormatFloat(r.Cost.Float(), 'f', -1, 64)
		if r.trust() == costUnknown {
			cost = ""
		}
		record := []string{harmless(r.Key)}
		for _, n := range []int64{r.Requests, r.Input, r.Output, r.CacheRead, r.CacheWrite} {
			record = append(record, strconv.FormatInt(n, 10))
		}
		records = append(records, append(record, cost, r.trust(), strconv.FormatInt(r.Unknown, 10), strconv.FormatInt(r.Unreliable, 10)))
	}
	if err := out.WriteAll(records); err != nil {
		return fmt.Errorf("write the costs as CSV: %w", err)
	}
	return nil
}

// harmless keeps a name from being run as a formula by spreadsheets, which look
// at the first character, some after blanks, and read full-width signs as signs.
func harmless(s string) string {
	first := strings.TrimLeft(s, " \t\r\n\u00A0\u3000")
	if first != s && strings.ContainsAny(s[:len(s)-len(first)], "\t\r\n") {
		return "'" + s
	}
	for _, sign := range []string{"=", "+", "-", "@", "|", "%", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(first, sign) {
			return "'" + s
		}
	}
	return s
}

// rowJSON is a row as JSON has it. Cost is absent where nothing of it is known.
type rowJSON struct {
	Key        string   `json:"key"`
	Requests   int64    `json:"requests"`
	Input      int64    `json:"input"`
	Output     int64    `json:"output"`
	CacheRead  int64    `json:"cacheRead"`
	CacheWrite int64    `json:"cacheWrite"`
	Cost       *llm.USD `json:"cost,omitempty"` // dollars
	CostIs     string   `json:"costIs"`
	Unknown    int64    `json:"unknown"`
	Unreliable int64    `json:"unreliable"`
}

// MarshalJSON writes {"by", "rows": [...], "total": {...}}; costs are dollars and
// absent where nothing of them is known, and costIs says how far they can be
// trusted, as in CSV.
func (t Table) MarshalJSON() ([]byte, error) {
	of := func(r Row) rowJSON {
		j := rowJSON{
			Key: r.Key, Requests: r.Requests, Input: r.Input, Output: r.Output, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite,
			Cost: &r.Cost, CostIs: r.trust(), Unknown: r.Unknown, Unreliable: r.Unreliable,
		}
		if j.CostIs == costUnknown {
			j.Cost = nil
		}
		return j
	}
	rows := make([]rowJSON, 0, len(t.Rows))
	for _, r := range t.Rows {
		rows = append(rows, of(r))
	}
	return json.Marshal(struct {
		By    By        `json:"by"`
		Rows  []rowJSON `json:"rows"`
		Total rowJSON   `json:"total"`
	}{t.By, rows, of(t.Total)})
}
