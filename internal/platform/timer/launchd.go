package timer

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func label(id string) string { return "dev.burin." + id }

func agentFile(getenv func(string) string, id string) (string, error) {
	dir, err := userFolder(getenv, "", "Library/LaunchAgents")
	return filepath.Join(dir, label(id)+".plist"), err
}

// domain is the user's login session, in which agents run.
func domain() string { return "gui/" + strconv.Itoa(os.Getuid()) }

func addLaunchd(ctx context.Context, getenv func(string) string, j Job) error {
	file, err := agentFile(getenv, j.ID)
	if err != nil {
		return err
	}
	text, err := agent(j)
	if err != nil {
		return err
	}
	if err := write(file, text); err != nil {
		return err
	}
	_, err = tell(ctx, Launchd, "", "bootstrap", domain(), file)
	return err
}

func removeLaunchd(ctx context.Context, getenv func(string) string, id string) error {
	file, err := agentFile(getenv, id)
	if err != nil {
		return err
	}
	// Where launchd doesn't know it, the file is all that is left of it.
	_, _ = tell(ctx, Launchd, "", "bootout", domain()+"/"+label(id))
	return remove(file)
}

// agent is a launchd.plist(5).
func agent(j Job) (string, error) {
	times, err := j.When.intervals()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(xml.Header)
	b.WriteString(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n")
	fmt.Fprintf(&b, "<!-- Written by burin schedule add; burin schedule remove %s removes it. -->\n", j.ID)
	b.WriteString("<plist version=\"1.0\">\n<dict>\n")
	fmt.Fprintf(&b, "\t<key>Label</key>\n\t<string>%s</string>\n", label(j.ID))
	b.WriteString("\t<key>ProgramArguments</key>\n\t<array>\n")
	for _, arg := range j.Command {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", escape(arg))
	}
	b.WriteString("\t</array>\n")
	if len(j.Env) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, e := range j.Env {
			name, value, _ := strings.Cut(e, "=")
			fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", name, escape(value))
		}
		b.WriteString("\t</dict>\n")
	}
	b.WriteString("\t<key>StartCalendarInterval</key>\n\t<array>\n")
	for _, t := range times {
		fmt.Fprintf(&b, "\t\t<dict>%s</dict>\n", t)
	}
	b.WriteString("\t</array>\n</dict>\n</plist>\n")
	return b.String(), nil
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes everything
	return b.String()
}

// maxIntervals is how many times a file may list.
const maxIntervals = 1000

// intervals are the times as launchd has them: one number or none of each kind.
func (w When) intervals() ([]string, error) {
	type part struct {
		key string
		set set
		all set
	}
	everyDay, everyWeekday := w.days == 1<<32-2, w.weekdays == days["day"]
	if !w.either && !everyDay && !everyWeekday {
		return nil, errors.New("launchd can't tell days that are both in the month and in the week; write one of them")
	}
	clock := []part{{"Month", w.months, 1<<13 - 2}, {"Hour", w.hours, 1<<24 - 1}, {"Minute", w.minutes, 1<<60 - 1}}
	byDay, byWeekday := append([]part{{"Day", w.days, 1<<32 - 2}}, clock...), append([]part{{"Weekday", w.weekdays, days["day"]}}, clock...)
	ways := [][]part{byWeekday}
	if w.either {
		ways = [][]part{byDay, byWeekday}
	} else if everyWeekday {
		ways = [][]part{byDay}
	}
	var all []string
	for _, parts := range ways {
		times := []string{""}
		for _, p := range parts {
			if p.set == p.all {
				continue
			}
			var more []string
			for _, t := range times {
				for _, n := range p.set.list() {
					more = append(more, fmt.Sprintf("%s<key>%s</key><integer>%d</integer>", t, p.key, n))
				}
			}
			if times = more; len(times) > maxIntervals {
				return nil, fmt.Errorf("launchd would need more than %d entries; write fewer times", maxIntervals)
			}
		}
		all = append(all, times...)
	}
	return all, nil
}
