package timer

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"daily 7:30":                   "30 7 * * *",
		"Every Weekday 9:00":           "0 9 * * 1-5",
		"weekdays at 09:05":            "5 9 * * 1-5",
		"every weekend 10am":           "0 10 * * 0,6",
		"every monday 9:00":            "0 9 * * 1",
		"every day 12am":               "0 0 * * *",
		"every day at 12pm":            "0 12 * * *",
		"mon, wed and fri 23:59":       "59 23 * * 1,3,5",
		"every tuesday, thurs 5:15 pm": "",
		"every tuesday, thu 5:15pm":    "15 17 * * 2,4",
		"every 2h":                     "0 */2 * * *",
		"every 2 hours":                "0 */2 * * *",
		"every 120m":                   "0 */2 * * *",
		"hourly":                       "0 */1 * * *",
		"every hour":                   "0 */1 * * *",
		"every 30 minutes":             "*/30 * * * *",
		" 0  9 * *\t1-5 ":              "0 9 * * 1-5",
		"0 9 1,15 jan-mar mon":         "0 9 1,15 1,2,3 1",
		"*/5 8-18/2 * * 7":             "*/5 8-18/2 * * 7",
		"0 0 29 2 *":                   "0 0 29 2 *",
	} {
		w, err := Parse(text)
		if got := w.String(); got != want || (err != nil) != (want == "") {
			t.Errorf("%q is %q, want %q: %v", text, got, want, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  "write \"daily 7:30\"",
		"sometimes":         `"sometimes": write "daily 7:30", "every weekday 9:00"`,
		"every 9:00":        "write",
		"every blue monday": "write",
		"every day 25:00":   "25:00 is not a time of the day",
		"every day 9:60":    "9:60 is not a time of the day",
		"every day 13pm":    "13pm is not a time of the day",
		"every 5h":          "5h doesn't divide a day",
		"every 45m":         "45m doesn't divide an hour",
		"every 0m":          "0m doesn't divide an hour",
		"every 30h":         "30h doesn't divide a day",
		"60 9 * * *":        `minute "60": must be from 0 to 59`,
		"0 9 0 * *":         `day "0": must be from 1 to 31`,
		"0 9 * * 5-1":       "the range ends before it begins",
		"0 9/2 * * *":       "a step needs a range",
		"*/0 * * * *":       "the step must be a number from 1",
		"0 9 * * noday":     `weekday "noday"`,
		"0 9 31 2 *":        "never comes",
		"0 9 * *":           "write",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse("x"); !errors.Is(err, ErrWhen) {
		t.Errorf("%v", err)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("the time zone isn't known here")
	}
	at := func(text string) time.Time {
		tm, err := time.ParseInLocation("2006-01-02 15:04", text, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for _, tt := range []struct{ when, after, want string }{
		{"every weekday 9:00", "2026-11-27 09:00", "2026-11-30 09:00"},
		{"every weekday 9:00", "2026-11-27 08:59", "2026-11-27 09:00"},
		{"every 2h", "2026-11-27 23:30", "2026-11-28 00:00"},
		{"0 9 13 * 5", "2026-11-10 10:00", "2026-11-13 09:00"}, // the 13th, or Fridays
		{"0 9 13 * 5", "2026-11-13 10:00", "2026-11-20 09:00"},
		{"0 9 */2 * 5", "2026-11-13 10:00", "2026-11-27 09:00"}, // both
		{"0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00"},
		{"0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00"},
		{"daily 2:30", "2026-03-28 12:00", "2026-03-30 02:30"}, // that hour is left out on the 29th
		{"daily 2:30", "2026-10-24 12:00", "2026-10-25 02:30"},
	} {
		w, err := Parse(tt.when)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Next(at(tt.after)); !got.Equal(at(tt.want)) {
			t.Errorf("%s after %s: %s, want %s", tt.when, tt.after, got, tt.want)
		}
	}
}

// systemd takes the same times from what burin writes for it.
func TestCalendar(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	base := time.Date(2026, 11, 27, 9, 17, 0, 0, time.UTC)
	for _, text := range []string{"every weekday 9:00", "daily 7:30", "every 2h", "every 20m", "every monday and sun 9:00", "5,10,50 8-18/3 1-7 * *", "0 9 */2 * 5", "0 0 29 2 *", "0 9 13 * 5"} {
		w, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var first time.Time
		for _, c := range w.calendar() {
			cmd := exec.Command(analyze, "calendar", "--base-time=2026-11-27 09:17:00 UTC", c)
			cmd.Env = append(cmd.Environ(), "TZ=UTC", "LC_ALL=C")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", c, err, out)
			}
			_, next, _ := strings.Cut(string(out), "Next elapse: ")
			next, _, _ = strings.Cut(next, "\n")
			at, err := time.Parse("Mon 2006-01-02 15:04:05 MST", strings.TrimSpace(next))
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
		if want := w.Next(base); !first.Equal(want) {
			t.Errorf("%s: systemd takes %s, burin says %s", text, first, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("every weekday 9:00")
	f.Add("*/5 1-9/2 * jan mon")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(w.String())
		if err != nil || again != w {
			t.Errorf("%q is %q, which is %+v: %v", text, w, again, err)
		}
		if strings.ContainsAny(w.String(), "%\n") {
			t.Errorf("%q", w)
		}
	})
}
