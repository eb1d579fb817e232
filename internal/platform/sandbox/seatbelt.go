package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/wall"
)

// profile is the policy in the language of Seatbelt. Later rules win.
func (c confinement) profile() string {
	var b strings.Builder
	rule := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rule(`(version 1)`)
	rule(`(allow default)`)

	if c.Mode != Full {
		rule(`(deny file-write*)`)
	}
	rule(`(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty"))`)
	if c.Mode == WorkspaceWrite {
		for _, folder := range c.Writable {
			rule(`(allow file-write* (subpath %s))`, quoted(folder))
		}
	}
	for _, secret := range c.Secret {
		rule(`(deny file-read-data file-write* (subpath %s))`, quoted(secret))
		// Whoever renames a folder above gets around the rule.
		for folder := path.Dir(secret); folder != path.Dir(folder); folder = path.Dir(folder) {
			rule(`(deny file-write-unlink (literal %s))`, quoted(folder))
		}
	}
	for _, folder := range c.Readable {
		rule(`(allow file-read-data (subpath %s))`, quoted(folder))
		if c.Mode == WorkspaceWrite && slices.Contains(c.Writable, folder) {
			rule(`(allow file-write* (subpath %s))`, quoted(folder))
		}
	}

	for _, w := range c.Walls {
		pattern := c.pattern(w.Glob)
		if w.Read {
			rule(`(deny file-read-data (regex #"%s"))`, pattern)
		}
		if w.Write {
			rule(`(deny file-write* (regex #"%s"))`, pattern)
		}
		// Nor what would move a walled file: renaming it, or a folder above it that the
		// pattern names.
		rule(`(deny file-write-unlink file-link (regex #"%s"))`, pattern)
		for _, folder := range c.folders(w.Glob) {
			rule(`(deny file-write-unlink (literal %s))`, quoted(folder))
		}
	}

	if c.Mode == Full {
		return b.String()
	}
	if c.only != nil {
		rule(`(deny process-fork)`)
		rule(`(deny process-exec*)`)
		for _, path := range c.only {
			rule(`(allow process-exec* (literal %s))`, quoted(path))
		}
	}

	// Programs that would do outside what cannot be done inside.
	rule(`(deny appleevent-send)`)
	rule(`(deny lsopen)`)
	rule(`(deny job-creation)`)
	rule(`(deny process-info* (target others))`)
	rule(`(deny signal)`)
	rule(`(allow process-info* signal (target same-sandbox))`)
	rule(`(deny mach-priv-task-port)`)

	rule(`(deny network-outbound (remote unix-socket))`)
	for _, folder := range c.Writable {
		rule(`(allow network-outbound (subpath %s))`, quoted(folder))
	}
	if c.Network {
		rule(`(allow network-outbound (literal "/private/var/run/mDNSResponder"))`)
		return b.String()
	}
	rule(`(deny network*)`)
	for _, folder := range c.Writable {
		rule(`(allow network-bind network-outbound (subpath %s))`, quoted(folder))
	}
	if c.Port > 0 {
		rule(`(allow network-outbound (remote tcp "localhost:%d"))`, c.Port)
	}
	return b.String()
}

// pattern is a pattern of paths as a regular expression. Seatbelt's know no flags, so
// that letters stand in both cases.
func (c confinement) pattern(glob string) string {
	var b strings.Builder
	b.WriteByte('^')
	if !strings.HasPrefix(glob, "/") {
		glob = wall.Quote(strings.TrimSuffix(c.Root, "/")) + "/" + glob
	}
	braces := 0
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		switch ch := glob[i]; {
		case strings.HasPrefix(rest, "/**/"):
			b.WriteString("/(.*/)?")
			i += 3
		case rest == "/**":
			b.WriteString("(/.*)?")
			i += 2
		case strings.HasPrefix(rest, "**/") && i == 0:
			b.WriteString("(.*/)?")
			i += 2
		case ch == '*':
			b.WriteString("[^/]*")
			for i+1 < len(glob) && glob[i+1] == '*' {
				i++
			}
		case ch == '?':
			b.WriteString("[^/]")
		case ch == '{':
			b.WriteByte('(')
			braces++
		case ch == '}' && braces > 0:
			b.WriteByte(')')
			braces--
		case ch == ',' && braces > 0:
			b.WriteByte('|')
		case ch == '[' && strings.Contains(rest, "]"):
			end := strings.IndexByte(rest, ']')
			class := rest[1:end]
			if strings.HasPrefix(class, "!") {
				class = "^" + class[1:]
			}
			b.WriteString("[" + class + "]")
			i += end
		case ch == '\\' && i+1 < len(glob):
			i++
			writeByte(&b, glob[i])
		default:
			writeByte(&b, ch)
		}
	}
	b.WriteByte('$')
	return b.String()
}

func writeByte(b *strings.Builder, ch byte) {
	switch lower := ch | 0x20; {
	case 'a' <= lower && lower <= 'z':
		b.WriteString("[" + string(lower) + string(lower-0x20) + "]")
	case strings.IndexByte(`.+()|^$[]{}*?`, ch) >= 0, ch == '\\':
		b.WriteString("[" + string(ch) + "]")
	case ch == '"':
		b.WriteByte('.') // would end the expression
	default:
		b.WriteByte(ch)
	}
}

// folders are those that a pattern names before its first sign that stands for others.
func (c confinement) folders(glob string) (all []string) {
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		glob = glob[:strings.LastIndexByte(glob[:i], '/')+1]
	}
	if !strings.HasPrefix(glob, "/") {
		glob = path.Join(c.Root, glob)
	}
	for folder := path.Clean(glob); folder != path.Dir(folder); folder = path.Dir(folder) {
		all = append(all, folder)
	}
	return all
}

// quoted is a string of the profile language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
