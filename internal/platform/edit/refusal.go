package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// Refusal says why an edit was not applied. Its text is for the model.
type Refusal struct {
	Path    string
	Edit    int    // which edit (or hunk) of several in the file, 1-based; 0 if it is the only one
	Reason  string // one line
	Line    int    // of the nearest match; 0 if there is none
	Nearest string // the text there, a few lines
	Hint    string // what to do

	unit      string // what Edit counts: "edit" if empty
	unchanged bool   // the edit fits, and the file already is like this
}

// Error is the whole refusal in a few lines.
func (r *Refusal) Error() string {
	var b strings.Builder
	if r.Path != "" {
		b.WriteString(r.Path + ": ")
	}
	if r.Edit > 0 {
		unit := r.unit
		if unit == "" {
			unit = "edit"
		}
		fmt.Fprintf(&b, "%s %d: ", unit, r.Edit)
	}
	b.WriteString(r.Reason)
	if r.Nearest != "" {
		if r.Line > 0 {
			fmt.Fprintf(&b, "\nNearest text, at line %d:\n", r.Line)
		} else {
			b.WriteString("\nThere:\n")
		}
		b.WriteString(strings.TrimRight(r.Nearest, "\n"))
	}
	if r.Hint != "" {
		b.WriteString("\n" + r.Hint)
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// refuse makes a refusal without a place in the file.
func refuse(path, format string, args ...any) *Refusal {
	return &Refusal{Path: path, Reason: fmt.Sprintf(format, args...)}
}

func (r *Refusal) hint(format string, args ...any) *Refusal {
	r.Hint = fmt.Sprintf(format, args...)
	return r
}

// number says which of count edits is refused.
func (r *Refusal) number(i, count int) *Refusal {
	if count > 1 {
		r.Edit = i
	}
	return r
}

// decodeArgs reads the arguments of a call into v.
func decodeArgs(raw json.RawMessage, v any) error {
	if brokenEscape(raw) {
		return refuse("", `the arguments hold half of a \u surrogate pair, or invalid UTF-8`).hint("Write the character itself.")
	}
	err := json.Unmarshal(raw, v)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind) && kind.Field != "":
		return refuse("", "the argument %s is %s, which it cannot be", kind.Field, article(kind.Value))
	}
	return refuse("", "the arguments are not a JSON object of the edit tool: %v", err)
}

func article(kind string) string {
	if strings.ContainsRune("aeiou", rune(kind[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// brokenEscape finds \u escapes of half a character. The JSON decoder makes
// U+FFFD of them, which would then be written to a file.
func brokenEscape(raw []byte) bool {
	if bytes.Contains(raw, []byte(`\u`)) {
		for i := 0; i+1 < len(raw); i++ {
			if raw[i] != '\\' {
				continue
			}
			r, ok := escaped(raw[i:])
			if !ok {
				i++ // another escape; if it is \\, what follows begins none
				continue
			}
			i += 5
			if !utf16.IsSurrogate(r) {
				continue
			}
			low, ok := escaped(raw[i+1:])
			if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
				return true
			}
			i += 6
		}
	}
	return !utf8.Valid(raw)
}

// escaped is the \uXXXX escape that b begins with.
func escaped(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// checkPath refuses what is no name of a file.
func checkPath(path string) error {
	switch {
	case strings.TrimSpace(path) == "":
		return refuse("", "the path is empty")
	case strings.ContainsAny(path, "\x00\n\r"):
		return refuse("", "the path %q holds a line break or NUL", path)
	}
	return nil
}

// excerpt is a few lines of a text, bounded in every direction.
func excerpt(lines []string) string {
	const most, width = 8, 240
	var b strings.Builder
	for i, line := range lines {
		if i == most {
			b.WriteString("…\n")
			break
		}
		b.WriteString(clip(line, width) + "\n")
	}
	return b.String()
}

// clip cuts a text after n bytes, at a character.
func clip(s string, n int) string {
	return strings.ToValidUTF8(prose.Clip(s, n), "\uFFFD")
}
