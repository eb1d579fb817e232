// Package secret holds the type of values that must not be seen: keys and
// tokens. Whatever prints, logs or encodes such a value writes a placeholder;
// only [Secret.Reveal] gives it away.
//
// Three ways remain that no method of a string type can close, and none of them
// is a sensible thing to do: a secret as the key of a map that is encoded as
// JSON, the verb %p, and a verb that does not fit a pointer to a struct deeper
// inside what is printed.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a key or token. Empty means none.
type Secret string

const redacted = "[redacted]"

// Reveal is the value itself, for the one place that sends or seals it.
func (s Secret) Reveal() string { return string(s) }

// Hint is the end of the value, enough for a person to tell two keys apart and
// for nobody to use one: four characters, or nothing of a short value.
func (s Secret) Hint() string {
	if len(s) < 16 {
		return "…"
	}
	return "…" + string(s[len(s)-4:])
}

func (s Secret) shown() string {
	if s == "" {
		return ""
	}
	return redacted
}

// String is a placeholder.
func (s Secret) String() string { return s.shown() }

// GoString is a placeholder.
func (s Secret) GoString() string { return fmt.Sprintf("secret.Secret(%q)", s.shown()) }

// Format writes the placeholder for every verb. Without it a verb that does not
// fit, such as %d, would print the value in its complaint.
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		_, _ = io.WriteString(f, s.GoString())
		return
	}
	_, _ = io.WriteString(f, s.shown())
}

// MarshalJSON writes the placeholder.
func (s Secret) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%q", s.shown()), nil }

// MarshalText writes the placeholder for encoders other than JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.shown()), nil }

// LogValue is the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.shown()) }
