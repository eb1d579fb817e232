package notify

import (
	"context"
	"runtime"
	"strings"

	"github.com/burin-dev/burin/internal/installed"
)

// Send shows a notification of the desktop by notify-send or osascript, if the mode has the
// desktop in it. Without such a program there is nothing and no error. getenv is as in [Bytes].
func Send(ctx context.Context, getenv func(string) string, m Mode, title, text string) error {
	if silenced(getenv) || m != Desktop && m != Both {
		return nil
	}
	title, text = words(title, text)
	program, args := "notify-send", []string{"--app-name=burin", "--", title, markup.Replace(text)}
	if runtime.GOOS == "darwin" { // the words are arguments: they are no part of the script
		program, args = "osascript", []string{"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", title, text}
	}
	if _, err := installed.Find(program); err != nil {
		return nil //nolint:nilerr // many systems have none
	}
	cmd, err := installed.Command(ctx, nil, program, args...)
	if err != nil {
		return err
	}
	return cmd.Run()
}

// markup escapes what notification servers read as markup in a text.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
