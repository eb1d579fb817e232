// Package words has what reports and their faces need to say something on one line:
// errors, times, and paths from the home folder.
package words

import (
	"os"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// ShortPath is a path with ~ for the home folder.
func ShortPath(path string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
			return "~" + rest
		}
	}
	return path
}

// Stamp is a time for lists.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// Error keeps the promise that an error is one line, and is only read: it may quote
// what a file, a server or a model says.
func Error(err error) string { return Line(err.Error()) }

// Line is text of others as a line of a report.
func Line(s string) string { return prose.Inline(prose.Line(s)) }
