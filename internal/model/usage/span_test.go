package usage

import (
	"testing"
	"time"
)

func TestParseDay(t *testing.T) {
	for s, want := range map[string]string{
		"today": "2026-11-22", "1d": "2026-11-22", "30d": "2026-10-24", "4w": "2026-10-26", "2024-02-29": "2024-02-29", "3660d": "2016-11-15",
		"": "", "0d": "", "-1d": "", "d": "", "w": "", "3661d": "", "99999999999999999999w": "", "2026-02-30": "", "22.11.2026": "", "1y": "", "1 d": "",
	} {
		got, err := ParseDay(s, november)
		switch {
		case (err == nil) != (want != ""):
			t.Errorf("%q: %v", s, err)
		case err == nil && got.Format("2006-01-02 15:04:05") != want+" 00:00:00":
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

func FuzzParseDay(f *testing.F) {
	for _, s := range []string{"today", "30d", "4w", "2026-11-22", "0w", "9223372036854775807d", "0000-01-01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseDay(s, november)
		if err != nil {
			return
		}
		// What was read is a day, and reads back as itself.
		again, err := ParseDay(got.Format(time.DateOnly), november)
		if err != nil || !again.Equal(got) {
			t.Errorf("%q is %s, which is %s, %v", s, got, again, err)
		}
	})
}
