package sandbox

import (
	"fmt"
	"path"
	"strings"
)

// profile is the policy in the language of Seatbelt. Later rules win.
func (c confinement) profile() string {
	var b strings.Builder
	rule := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rule(`(version 1)`)
	rule(`(allow default)`)

	rule(`(deny file-write*)`)
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

// quoted is a string of the profile language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
