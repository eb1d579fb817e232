package usage

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxSpan is the longest time back that can be said in days or weeks: ten years.
const maxSpan = 3660 // days

// ParseDay reads a day as people say it and gives the local midnight it begins
// with: a date (2026-11-22), "today", or a number of days or weeks that end with
// today ("1d" is today, "30d", "4w").
func ParseDay(s string, now time.Time) (time.Time, error) {
	y, m, d := now.Local().Date()
	midnight := func(back int) time.Time { return time.Date(y, m, d-back, 0, 0, 0, 0, time.Local) }
	if s == "today" {
		return midnight(0), nil
	}
	days := 1
	number, ok := strings.CutSuffix(s, "d")
	if !ok {
		if number, ok = strings.CutSuffix(s, "w"); ok {
			days = 7
		}
	}
	if ok {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 || int(n)*days > maxSpan {
			return time.Time{}, fmt.Errorf("%q is no number of days or weeks up to ten years, such as 30d or 4w", s)
		}
		return midnight(int(n)*days - 1), nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, time.Local)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no day: want a date such as %s, or a span such as 30d or 4w", s, now.Format(time.DateOnly))
	}
	return t, nil
}
