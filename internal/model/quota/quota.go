// Package quota knows what providers say of plans and limits: [Services] lists those with an
// address where a key's own limits are told, and how to read what stands there; [Seen] keeps
// the limits that came with answers.
//
// The formats are those that the providers' own programs read. Most are documented nowhere, so
// fields that are missing or new are no error.
package quota

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

// Limit is one limit of a plan or a key.
type Limit struct {
	Name        string    `json:"name"`
	UsedPercent *float64  `json:"usedPercent,omitempty"` // nil: not known
	Used        *float64  `json:"used,omitempty"`
	Max         *float64  `json:"max,omitempty"`
	Unit        string    `json:"unit,omitempty"` // of Used and Max: "requests", "USD"
	ResetsAt    time.Time `json:"resetsAt,omitzero"`
}

// Report is what is known of a provider.
type Report struct {
	Provider string    `json:"provider"`
	Plan     string    `json:"plan,omitempty"`
	Limits   []Limit   `json:"limits,omitempty"`
	Seen     time.Time `json:"seenAt,omitzero"` // when the answer came that told; zero: the provider was asked
	Error    string    `json:"error,omitempty"`
}

// State says how much is left of a limit: "", "nearly used up" from 80 % on, or "used up".
func (l *Limit) State() string {
	switch {
	case l.UsedPercent == nil || *l.UsedPercent < 80:
		return ""
	case *l.UsedPercent < 100:
		return "nearly used up"
	}
	return "used up"
}

// settle works out what a limit leaves open.
func (l Limit) settle() Limit {
	if l.UsedPercent == nil && l.Used != nil && l.Max != nil && *l.Max > 0 {
		p := 100 * *l.Used / *l.Max
		l.UsedPercent = &p
	}
	if l.UsedPercent != nil {
		p := min(max(*l.UsedPercent, 0), 1000)
		if math.IsNaN(p) {
			l.UsedPercent = nil
			return l
		}
		l.UsedPercent = &p
	}
	return l
}

// Text tells reports to a person, with times of their clock. Providers come by name.
func Text(reports []Report, now time.Time) string {
	var b strings.Builder
	reports = slices.Clone(reports)
	sorting.Stable(reports, func(a, b Report) int { return strings.Compare(a.Provider, b.Provider) })
	for _, r := range reports {
		b.WriteString(prose.Inline(r.Provider))
		if r.Plan != "" {
			b.WriteString(" (" + prose.Row(r.Plan, 40) + ")")
		}
		if !r.Seen.IsZero() {
			b.WriteString(", as of the answer at " + clock(r.Seen, now))
		}
		if r.Error != "" {
			b.WriteString(": " + prose.Row(r.Error, 200))
		} else if len(r.Limits) == 0 {
			b.WriteString(": no limits")
		}
		b.WriteByte('\n')
		width := 0
		for i := range r.Limits {
			width = max(width, len(r.Limits[i].Name))
		}
		for i := range r.Limits {
			l := &r.Limits[i]
			parts := []string{fmt.Sprintf("  %-*s", min(width, 30), prose.Row(l.Name, 30))}
			if l.UsedPercent != nil {
				parts = append(parts, fmt.Sprintf("%3.0f%% used", math.Floor(*l.UsedPercent)))
			}
			if amount := l.amount(); amount != "" {
				parts = append(parts, amount)
			}
			if s := l.State(); s != "" {
				parts = append(parts, s)
			}
			if !l.ResetsAt.IsZero() {
				parts = append(parts, "resets "+clock(l.ResetsAt, now))
			}
			b.WriteString(strings.Join(parts, "  ") + "\n")
		}
	}
	return b.String()
}

// amount is how much is used, where the provider counts it.
func (l *Limit) amount() string {
	unit := ""
	if l.Unit != "" {
		unit = " " + prose.Row(l.Unit, 20)
	}
	switch {
	case l.Used != nil && l.Max != nil:
		return number(*l.Used) + " of " + number(*l.Max) + unit
	case l.Max != nil:
		return number(*l.Max) + unit
	case l.Used != nil:
		return number(*l.Used) + unit
	}
	return ""
}

func number(f float64) string {
	if f == math.Trunc(f) {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// clock is a time of the person's clock, with the day if that is not today.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04")
	}
	return t.Format("Mon 2 Jan 15:04")
}

// figure is a number that may be written as a string, or null.
type figure struct{ value *float64 }

// UnmarshalJSON implements [json.Unmarshaler].
func (f *figure) UnmarshalJSON(b []byte) error {
	var v float64
	if json.Unmarshal([]byte(strings.Trim(string(b), `"`)), &v) == nil && string(b) != "null" {
		f.value = &v
	}
	return nil // whatever else stands there is not known
}

// moment is a time: RFC 3339, a day, or seconds or milliseconds since 1970.
type moment struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler].
func (m *moment) UnmarshalJSON(b []byte) error {
	m.Time = instant(strings.Trim(string(b), `"`))
	return nil
}

func instant(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	var n float64
	if json.Unmarshal([]byte(s), &n) != nil || n <= 0 || n > 1e14 {
		return time.Time{}
	}
	if n > 1e11 {
		return time.UnixMilli(int64(n))
	}
	return time.Unix(int64(n), 0)
}

// span names a window: "5 hours", "7 days".
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return "limit"
	case d%(24*time.Hour) == 0:
		return prose.Count(int(d/(24*time.Hour)), "day")
	case d%time.Hour == 0:
		return prose.Count(int(d/time.Hour), "hour")
	}
	return prose.Count(int(d.Round(time.Minute)/time.Minute), "minute")
}
