package office

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// dateKind says what of a number is a date.
type dateKind uint8

const (
	notDate dateKind = iota
	dateOnly
	timeOnly
	dateTime
)

// loadStyles finds the styles that show numbers as dates.
func (b *book) loadStyles(c *container, part string) error {
	own := map[string]dateKind{}
	inCells := false
	return c.optional(part, handler{
		start: func(name string, a attrs) error {
			switch name {
			case "numFmt":
				own[a.get("numFmtId")] = dateFormat(a.get("formatCode"))
			case "cellXfs":
				inCells = true
			case "xf":
				if inCells {
					id := a.get("numFmtId")
					kind, ok := own[id]
					if !ok {
						kind = builtInFormat(id)
					}
					b.dates = append(b.dates, kind)
				}
			}
			return nil
		},
		end: func(name string) error {
			if name == "cellXfs" {
				inCells = false
			}
			return nil
		},
	})
}

// builtInFormat knows the formats that files need not spell out, those of ECMA-376
// part 1, 18.8.30, and their East Asian neighbours.
func builtInFormat(id string) dateKind {
	n, err := strconv.Atoi(id)
	switch {
	case err != nil:
		return notDate
	case n >= 14 && n <= 17, n >= 27 && n <= 31, n == 36, n >= 50 && n <= 54, n >= 57 && n <= 58:
		return dateOnly
	case n >= 18 && n <= 21, n >= 32 && n <= 35, n >= 45 && n <= 47, n == 55, n == 56:
		return timeOnly
	case n == 22:
		return dateTime
	}
	return notDate
}

// dateFormat reads a format code: letters outside quotes and brackets tell.
func dateFormat(code string) dateKind {
	var date, clock bool
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"':
			if end := strings.IndexByte(code[i+1:], '"'); end >= 0 {
				i += end + 1
			}
		case '[': // a colour, a condition, or elapsed hours
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				break
			}
			if strings.Trim(strings.ToLower(code[i+1:i+end]), "hms") == "" {
				clock = true
			}
			i += end
		case '\\', '_', '*':
			i++
		case 'y', 'Y', 'd', 'D':
			date = true
		case 'h', 'H', 's', 'S':
			clock = true
		case ';':
			i = len(code) // what follows is for other signs
		}
	}
	switch {
	case date && clock:
		return dateTime
	case date:
		return dateOnly
	case clock:
		return timeOnly
	}
	return notDate
}

// number is a value as text. Files hold binary fractions in 17 digits; the
// shortest that means the same is what the user typed.
func number(v string, kind dateKind, epoch int) string {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return v
	}
	if kind == notDate || f < 0 || f > 2_958_465 { // 9999-12-31
		if s := strconv.FormatFloat(f, 'g', 15, 64); len(s) < len(v) {
			return s
		}
		return v
	}
	day := math.Floor(f)
	seconds := time.Duration(math.Round((f-day)*86400)) * time.Second
	t := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(day)+epoch).Add(seconds)
	switch {
	case kind == timeOnly || day == 0 && kind == dateTime:
		return t.Format("15:04:05")
	case kind == dateOnly:
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04:05")
}
