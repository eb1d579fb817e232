package server

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// The pages are written in English, and translated when they are written out: text by text, as a
// translator has them, with the places where something is put in. What people named is never
// translated.

// languageCookie is the language that somebody chose in the app, which has it in the browser only.
const languageCookie = "language"

// german reports whether pages for a request are German: because that was chosen, or because it
// comes first in the browser of the languages that there are.
func german(r *http.Request) bool {
	if c, err := r.Cookie(languageCookie); err == nil && c.Value != "" {
		return c.Value == "de"
	}
	for wanted := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, quality, _ := strings.Cut(strings.ToLower(strings.TrimSpace(wanted)), ";")
		switch language, _, _ := strings.Cut(tag, "-"); {
		case strings.ReplaceAll(quality, " ", "") == "q=0":
		case language == "de":
			return true
		case language == "en":
			return false
		}
	}
	return false
}

// say gives a text in the language of the page.
func (m *markup) say(text string) string {
	if !m.german {
		return text
	}
	return cmp.Or(inGerman(text), text)
}

// sayAll gives a format of markup with its texts in the language of the page.
func (m *markup) sayAll(format string) string {
	if !m.german {
		return format
	}
	var b strings.Builder
	for rest := format; rest != ""; {
		tag := strings.IndexByte(rest, '<')
		if tag < 0 {
			tag = len(rest)
		}
		text := rest[:tag]
		trimmed := strings.TrimSpace(text)
		before, after, _ := strings.Cut(text, trimmed)
		b.WriteString(before + m.say(trimmed) + after)
		rest = rest[tag:]
		end := strings.IndexByte(rest, '>') + 1
		if end == 0 {
			end = len(rest)
		}
		attributes := rest[:end]
		if at := strings.Index(attributes, `aria-label="`); at >= 0 {
			label := attributes[at+len(`aria-label="`):]
			label = label[:strings.IndexByte(label, '"')]
			attributes = strings.Replace(attributes, `"`+label+`"`, `"`+m.say(label)+`"`, 1)
		}
		b.WriteString(attributes)
		rest = rest[end:]
	}
	return b.String()
}

// wrong gives what is wrong in the language of the page.
func (m *markup) wrong(text string) string {
	if m.german {
		return cmp.Or(germanWrong(text), text)
	}
	return text
}

// translated gives a text that fits a format in another language. Texts of errors are complete, so
// what was put into them, at each %s, is what is between the rest of the format.
func translated(text, format, to string) (is string, ok bool) {
	parts := strings.Split(format, "%s")
	rest, ok := strings.CutPrefix(text, parts[0])
	var values []any
	for i, part := range parts[1:] {
		end := strings.Index(rest, part)
		if i == len(parts)-2 { // the last one
			end = len(rest) - len(part)
		}
		if !ok || end < 0 || rest[end:end+len(part)] != part {
			return "", false
		}
		values = append(values, rest[:end])
		rest = rest[end+len(part):]
	}
	return fmt.Sprintf(to, values...), ok && rest == ""
}

// count is a number of things.
func (m *markup) count(n int, one string) string {
	if !m.german {
		return prose.Count(n, one)
	}
	if n == 1 {
		return "1 " + inGerman(one)
	}
	return strconv.Itoa(n) + " " + inGerman(one+"s")
}

// ago says when something was.
func (m *markup) ago(t time.Time) string {
	switch d := time.Since(t); {
	case d < 2*time.Minute:
		return m.say("just now")
	case d < 2*time.Hour:
		return fmt.Sprintf(m.say("%s ago"), m.count(int(d.Minutes()), "minute"))
	case d < 48*time.Hour:
		return fmt.Sprintf(m.say("%s ago"), m.count(int(d.Hours()), "hour"))
	case d < 60*24*time.Hour:
		return fmt.Sprintf(m.say("%s ago"), m.count(int(d.Hours()/24), "day"))
	}
	return day(t)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// used says when something was used last; zero: never.
func (m *markup) used(t time.Time) string {
	if t.IsZero() {
		return m.say("never used")
	}
	return fmt.Sprintf(m.say("used %s"), m.ago(t))
}
