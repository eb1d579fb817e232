package timer

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// maxLine is how much of a line common crons read.
const maxLine = 998

// mark ends the line of a timer. For the shell that runs the line it is a comment.
func mark(id string) string { return " # burin-" + id }

func addCron(ctx context.Context, j Job) error {
	line := cronLine(j)
	if len(line) > maxLine {
		return fmt.Errorf("the line is longer than the %d bytes that cron reads: %q", maxLine, line)
	}
	table, err := crontab(ctx)
	if err != nil {
		return err
	}
	if table != "" && !strings.HasSuffix(table, "\n") {
		table += "\n"
	}
	_, err = tell(ctx, Cron, table+line+"\n", "-")
	return err
}

func removeCron(ctx context.Context, id string) error {
	table, err := crontab(ctx)
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(table) {
		if !strings.HasSuffix(strings.TrimRight(line, "\n"), mark(id)) {
			kept.WriteString(line)
		}
	}
	switch kept.String() {
	case table:
		return nil
	case "":
		_, err = tell(ctx, Cron, "", "-r")
	default:
		_, err = tell(ctx, Cron, kept.String(), "-")
	}
	return err
}

// crontab is the user's table; "" if there is none.
func crontab(ctx context.Context) (string, error) {
	table, err := tell(ctx, Cron, "", "-l")
	if r, ok := errors.AsType[*refusal](err); ok {
		if says := strings.ToLower(r.says); strings.Contains(says, "no crontab for") || strings.Contains(says, "no such file") { // busybox
			return "", nil
		}
	}
	return table, err // a table that can't be read must not be replaced
}

func cronLine(j Job) string {
	var b strings.Builder
	b.WriteString(j.When.String())
	if len(j.Env) > 0 {
		b.WriteString(" /usr/bin/env")
	}
	for _, e := range j.Env {
		b.WriteString(" " + cronWord(e))
	}
	for _, arg := range j.Command {
		b.WriteString(" " + cronWord(arg))
	}
	return b.String() + mark(j.ID)
}

// cronWord is text as one word for the shell, with "%" so that neither cron makes a line end of
// it nor a cron that knows nothing of that keeps the backslash.
func cronWord(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-=+:,@", r))
	}) {
		return text
	}
	return "'" + strings.NewReplacer("'", `'\''`, "%", `'\%'`).Replace(text) + "'"
}
