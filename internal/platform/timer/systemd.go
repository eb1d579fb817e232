package timer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// unit is the name of a unit without its ending.
func unit(id string) string { return "burin-" + id }

func unitFiles(getenv func(string) string, id string) (service, timer string, err error) {
	dir, err := userFolder(getenv, "XDG_CONFIG_HOME", ".config")
	base := filepath.Join(dir, "systemd", "user", unit(id))
	return base + ".service", base + ".timer", err
}

func addSystemd(ctx context.Context, getenv func(string) string, j Job) error {
	service, timer, err := unitFiles(getenv, j.ID)
	if err != nil {
		return err
	}
	if err := errors.Join(write(service, serviceUnit(j)), write(timer, timerUnit(j))); err != nil {
		return err
	}
	if _, err := tell(ctx, Systemd, "", "--user", "daemon-reload"); err != nil {
		return err
	}
	_, err = tell(ctx, Systemd, "", "--user", "enable", "--now", filepath.Base(timer))
	return err
}

func removeSystemd(ctx context.Context, getenv func(string) string, id string) error {
	service, timer, err := unitFiles(getenv, id)
	if err != nil {
		return err
	}
	// Where no manager runs, the files are all that is left of it. A run goes on.
	_, stopped := tell(ctx, Systemd, "", "--user", "disable", "--now", filepath.Base(timer))
	files := []string{service, timer}
	if data, err := userFolder(getenv, "XDG_DATA_HOME", ".local/share"); err == nil {
		files = append(files, filepath.Join(data, "systemd", "timers", "stamp-"+filepath.Base(timer))) // of Persistent=
	}
	if dir := filepath.Dir(timer); stopped != nil { // what enable made
		files = append(files, filepath.Join(dir, "timers.target.wants", filepath.Base(timer)))
	}
	if err := remove(files...); err != nil {
		return err
	}
	if stopped == nil {
		_, err = tell(ctx, Systemd, "", "--user", "daemon-reload")
	}
	return err
}

const written = "# Written by burin schedule add; burin schedule remove %s removes it.\n"

func serviceUnit(j Job) string {
	var b strings.Builder
	fmt.Fprintf(&b, written, j.ID)
	fmt.Fprintf(&b, "[Unit]\nDescription=burin schedule %s\n\n[Service]\nType=oneshot\n", j.ID)
	for _, e := range j.Env {
		fmt.Fprintf(&b, "Environment=%s\n", unitWord(e))
	}
	b.WriteString("ExecStart=" + unitWord(j.Command[0]))
	for _, arg := range j.Command[1:] {
		b.WriteString(" " + strings.ReplaceAll(unitWord(arg), "$", "$$"))
	}
	return b.String() + "\n"
}

func timerUnit(j Job) string {
	var b strings.Builder
	fmt.Fprintf(&b, written, j.ID)
	fmt.Fprintf(&b, "[Unit]\nDescription=burin schedule %s\n\n[Timer]\n", j.ID)
	for _, c := range j.When.calendar() {
		fmt.Fprintf(&b, "OnCalendar=%s\n", c)
	}
	// What the machine slept through comes once when it is back.
	b.WriteString("Persistent=true\n\n[Install]\nWantedBy=timers.target\n")
	return b.String()
}

// unitWord is text as one word of a unit file, see systemd.syntax(7); "%" begins a specifier.
func unitWord(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(text) + `"`
}

// calendar is the times as systemd.time(7) writes them; one of them is enough.
func (w When) calendar() []string {
	date := func(days string) string {
		return fmt.Sprintf("*-%s-%s %s:%s:00", unitList(w.months, 1, 12), days, unitList(w.hours, 0, 23), unitList(w.minutes, 0, 59))
	}
	var weekdays []string
	if w.weekdays != days["day"] {
		for _, d := range w.weekdays.list() {
			weekdays = append(weekdays, time.Weekday(d).String()[:3])
		}
	}
	on := unitList(w.days, 1, 31)
	switch {
	case len(weekdays) == 0 && !w.either:
		return []string{date(on)}
	case w.either:
		return []string{date(on), strings.TrimSpace(strings.Join(weekdays, ",") + " " + date("*"))}
	}
	return []string{strings.Join(weekdays, ",") + " " + date(on)}
}

// unitList is numbers as a calendar event has them.
func unitList(s set, least, most int) string {
	all := s.list()
	if len(all) == most-least+1 {
		return "*"
	}
	if first, last := all[0], all[len(all)-1]; len(all) > 2 && last-first == len(all)-1 {
		return fmt.Sprintf("%02d..%02d", first, last)
	}
	var texts []string
	for _, n := range all {
		texts = append(texts, fmt.Sprintf("%02d", n))
	}
	return strings.Join(texts, ",")
}
