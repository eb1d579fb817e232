package timer

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// When is times that come again, in the local time of the machine. It holds what the five
// fields of a line of crontab(5) hold, because each mechanism can express these.
type When struct {
	cron                                   string // the fields
	minutes, hours, days, months, weekdays set
	// either: a day counts if it fits one of days and weekdays, not both. cron has it so unless
	// one of the fields begins with "*".
	either bool
}

// String is the five fields of a line of crontab.
func (w When) String() string { return w.cron }

// Next is the first of the times after a time; zero if there is none.
func (w When) Next(after time.Time) time.Time {
	const most = 8*366 + 1 // February 29 comes at least every eight years
	for n := range most {
		day := time.Date(after.Year(), after.Month(), after.Day()+n, 0, 0, 0, 0, after.Location())
		if !w.fits(day) {
			continue
		}
		for _, hour := range w.hours.list() {
			for _, minute := range w.minutes.list() {
				t := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, day.Location())
				if t.After(after) && t.Hour() == hour { // some hours are left out when clocks change
					return t
				}
			}
		}
	}
	return time.Time{}
}

func (w When) fits(day time.Time) bool {
	date, weekday := w.days.has(day.Day()), w.weekdays.has(int(day.Weekday()))
	if w.either {
		return w.months.has(int(day.Month())) && (date || weekday)
	}
	return w.months.has(int(day.Month())) && date && weekday
}

// set is the numbers that a field allows, a bit for each.
type set uint64

func (s set) has(n int) bool { return s&(1<<n) != 0 }

func (s set) list() []int {
	var all []int
	for ; s != 0; s &= s - 1 {
		all = append(all, bits.TrailingZeros64(uint64(s)))
	}
	return all
}

func (s set) String() string {
	var all []string
	for _, n := range s.list() {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ",")
}

// field is a field of a cron expression.
type field struct {
	name        string
	least, most int
	names       []string // of the numbers from least on
}

var fields = [5]field{
	{name: "minute", most: 59},
	{name: "hour", most: 23},
	{name: "day", least: 1, most: 31},
	{name: "month", least: 1, most: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "weekday", most: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}, // 7 is Sunday, too
}

// ErrWhen means that a text says no time that comes again.
var ErrWhen = errors.New(`write "daily 7:30", "every weekday 9:00", "every monday 9:00", "every 2h", "every 30m" or a cron expression such as "0 9 * * 1-5"`)

// Parse reads times as a person writes them, or the five fields of a line of crontab.
func Parse(text string) (When, error) {
	words := strings.Fields(strings.ToLower(text))
	var w When
	var err error
	if len(words) == len(fields) && strings.ContainsAny(words[0][:1], "*0123456789") {
		w, err = parseFields(words)
	} else {
		w, err = parseWords(words)
	}
	if err != nil {
		return When{}, fmt.Errorf("%q: %w", strings.Join(strings.Fields(text), " "), err)
	}
	if w.Next(time.Now()).IsZero() {
		return When{}, fmt.Errorf("%q never comes: the day isn't in that month", strings.Join(words, " "))
	}
	return w, nil
}

func parseFields(words []string) (When, error) {
	var sets [len(fields)]set
	for i, f := range fields {
		s, err := f.parse(words[i])
		if err != nil {
			return When{}, err
		}
		sets[i] = s
		if strings.ContainsFunc(words[i], unicode.IsLetter) { // not every cron takes lists of names
			words[i] = s.String()
		}
	}
	w := When{cron: strings.Join(words, " "), minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4]}
	if w.weekdays.has(7) {
		w.weekdays = w.weekdays&^(1<<7) | 1
	}
	w.either = words[2][0] != '*' && words[4][0] != '*'
	return w, nil
}

// parse reads a field: numbers, names, ranges and steps, separated by commas.
func (f field) parse(text string) (set, error) {
	var s set
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		first, last, step := f.least, f.most, 1
		if span == "*" {
			if f.name == "weekday" {
				last = 6
			}
		} else {
			from, to, ranged := strings.Cut(span, "-")
			var err error
			if first, err = f.number(from); err != nil {
				return 0, err
			}
			switch last = first; {
			case ranged:
				if last, err = f.number(to); err != nil {
					return 0, err
				}
				if last < first {
					return 0, fmt.Errorf("%s %s: the range ends before it begins", f.name, span)
				}
			case stepped:
				return 0, fmt.Errorf("%s %s: a step needs a range, such as */%s", f.name, part, stepText)
			}
		}
		if stepped {
			var err error
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, fmt.Errorf("%s %s: the step must be a number from 1", f.name, part)
			}
		}
		for n := first; n <= last; n += step {
			s |= 1 << n
		}
	}
	return s, nil
}

func (f field) number(text string) (int, error) {
	if i := slices.Index(f.names, text); i >= 0 {
		return f.least + i, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.least || n > f.most {
		return 0, fmt.Errorf("%s %q: must be from %d to %d", f.name, text, f.least, f.most)
	}
	return n, nil
}

// days are words for days of the week.
var days = map[string]set{"day": 0x7f, "daily": 0x7f, "weekday": 0x3e, "weekend": 0x41}

var clock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,2})(?::([0-9]{2}))?(am|pm)?$`) })

// parseWords reads "[every] DAYS [at] TIME" and "every PERIOD".
func parseWords(words []string) (When, error) {
	every := len(words) > 0 && words[0] == "every"
	if every {
		words = words[1:]
	}
	if len(words) == 1 || len(words) == 2 && every {
		if w, ok, err := parsePeriod(strings.Join(words, "")); ok || err != nil {
			return w, err
		}
	}
	if len(words) < 2 {
		return When{}, ErrWhen
	}
	at := clock().FindStringSubmatch(words[len(words)-1])
	words = words[:len(words)-1]
	if words[len(words)-1] == "at" {
		words = words[:len(words)-1]
	}
	var on set
	for _, word := range strings.FieldsFunc(strings.Join(words, " "), func(r rune) bool { return r == ',' || r == ' ' }) {
		if word == "and" {
			continue
		}
		s := weekdaysOf(word)
		if s == 0 {
			return When{}, ErrWhen
		}
		on |= s
	}
	if at == nil || on == 0 {
		return When{}, ErrWhen
	}
	hour, _ := strconv.Atoi(at[1]) // the pattern has digits only
	minute, _ := strconv.Atoi("0" + at[2])
	switch {
	case at[3] != "" && (hour < 1 || hour > 12), hour > 23, minute > 59:
		return When{}, fmt.Errorf("%s is not a time of the day; %w", at[0], ErrWhen)
	case at[3] != "":
		hour %= 12
		if at[3] == "pm" {
			hour += 12
		}
	}
	weekdays := on.String()
	switch on {
	case days["day"]:
		weekdays = "*"
	case days["weekday"]:
		weekdays = "1-5"
	}
	return parseFields([]string{strconv.Itoa(minute), strconv.Itoa(hour), "*", "*", weekdays})
}

func weekdaysOf(word string) set {
	word = strings.TrimSuffix(word, "s")
	if s, ok := days[word]; ok {
		return s
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := strings.ToLower(d.String())
		if word == name || len(word) >= 3 && len(word) <= 4 && strings.HasPrefix(name, word) {
			return 1 << d
		}
	}
	return 0
}

var period = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{0,4})(m|min|minute|minutes|h|hour|hourly|hours)$`)
})

// parsePeriod reads a period that divides an hour or a day, so that no mechanism has to count.
func parsePeriod(text string) (_ When, ok bool, _ error) {
	m := period().FindStringSubmatch(text)
	if m == nil {
		return When{}, false, nil
	}
	n := 1
	if m[1] != "" {
		n, _ = strconv.Atoi(m[1]) // the pattern has digits only
	}
	words := []string{"0", "*", "*", "*", "*"}
	switch minutes := m[2][0] == 'm'; {
	case minutes && n > 0 && n%60 == 0: // as people write 60m
		return parsePeriod(strconv.Itoa(n/60) + "h")
	case minutes && n > 0 && n < 60 && 60%n == 0:
		words[0] = "*/" + strconv.Itoa(n)
	case minutes:
		return When{}, false, fmt.Errorf("%s doesn't divide an hour: use 1, 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30 minutes", m[0])
	case n > 0 && n < 24 && 24%n == 0:
		words[1] = "*/" + strconv.Itoa(n)
	default:
		return When{}, false, fmt.Errorf("%s doesn't divide a day: use 1, 2, 3, 4, 6, 8 or 12 hours, or days such as daily 7:30", m[0])
	}
	w, err := parseFields(words)
	return w, true, err
}
