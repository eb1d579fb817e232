// Package gitconfig compares versions of the configuration of a git repository.
//
// A repository's configuration can make git execute programs. Commands in a sandbox may
// not change it, but ordinary work does: renaming a branch, or setting what it tracks,
// rewrites the file. [Harmless] tells one from the other. The format is that of
// git-config(1); whatever it doesn't read for sure is not harmless.
package gitconfig

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// MaxSize is the largest configuration that is compared, in bytes. A larger one is not
// harmless.
const MaxSize = 1 << 20

// Harmless reports whether fresh makes git execute nothing, and read nothing, that old
// does not: they differ only in entries that are known to be data, such as what a branch
// tracks.
func Harmless(old, fresh []byte) bool {
	if len(old) > MaxSize || len(fresh) > MaxSize {
		return false
	}
	a, ok := parse(string(old))
	if !ok {
		return false
	}
	b, ok := parse(string(fresh))
	if !ok {
		return false
	}
	return slices.Equal(slices.DeleteFunc(a, entry.isData), slices.DeleteFunc(b, entry.isData))
}

// entry is one value. Section and key are in lower case.
type entry struct {
	section, sub, key, value string
	set                      bool // there was a "="
}

// data are the keys that are data, by section; those with subsections have a dot.
var data = map[string]string{
	"advice": "*", "color": "*", "column": "*", "status": "*",
	"branch":  "autosetupmerge autosetuprebase sort",
	"branch.": "remote pushremote merge rebase description gh-merge-base vscode-merge-base",
	"core":    "abbrev autocrlf eol filemode ignorecase logallrefupdates precomposeunicode quotepath safecrlf symlinks",
	"diff":    "algorithm colormoved renames",
	"fetch":   "prune prunetags",
	"init":    "defaultbranch",
	"log":     "date decorate",
	"merge":   "conflictstyle ff",
	"pull":    "ff rebase",
	"push":    "autosetupremote default followtags",
	"rebase":  "autosquash autostash updaterefs",
	"remote":  "pushdefault",
	"remote.": "url pushurl fetch prune tagopt gh-resolved",
	"rerere":  "autoupdate enabled",
	"tag":     "sort",
	"user":    "email name",
}

var (
	remoteName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`) })
	// Addresses that git contacts by itself or by ssh, whose host cannot be an option.
	address = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((https?|ssh|git)://([A-Za-z0-9_][A-Za-z0-9_.+-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?/[^\s\\'"` + "`" + `$;&|<>]*` +
			`|([A-Za-z0-9_][A-Za-z0-9_.+-]*@)[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9_~./][A-Za-z0-9_~./+-]*)$`)
	})
)

// isData reports whether git executes nothing because of the entry.
func (e entry) isData() bool {
	section := e.section
	if e.sub != "" {
		section += "."
	}
	keys, ok := data[section]
	if !ok || keys != "*" && !slices.Contains(strings.Fields(keys), e.key) {
		return false
	}
	switch {
	case e.key == "url", e.key == "pushurl":
		return address().MatchString(e.value) && !strings.Contains(e.value, "::")
	case e.key == "remote", e.key == "pushremote", e.key == "pushdefault": // may be an address, too
		return remoteName().MatchString(e.value)
	case e.section == "status" && e.key == "submodulesummary": // runs git in submodules
		return false
	}
	return true
}

// parse reads the entries of a configuration.
func parse(text string) (all []entry, ok bool) {
	p := parser{rest: strings.TrimPrefix(text, "\ufeff")}
	for {
		p.skip(" \t\r\n")
		switch c := p.peek(); {
		case c == 0:
			return all, p.rest == ""
		case c == '#' || c == ';':
			p.line()
		case c == '[':
			if !p.header() {
				return nil, false
			}
		default:
			e, ok := p.entry()
			if !ok {
				return nil, false
			}
			all = append(all, e)
		}
	}
}

type parser struct {
	rest    string
	section string
	sub     string
}

// peek is the next byte, 0 at the end. A zero byte in the text is never skipped, so that
// it counts as an end that isn't one.
func (p *parser) peek() byte {
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *parser) skip(set string) { p.rest = strings.TrimLeft(p.rest, set) }

func (p *parser) line() {
	_, p.rest, _ = strings.Cut(p.rest, "\n")
}

// take reads the longest run of bytes that is accepts.
func (p *parser) take(is func(c byte) bool) string {
	n := 0
	for n < len(p.rest) && is(p.rest[n]) {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

func isName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-'
}

// header reads [section] or [section "subsection"]. The old form [section.subsection] is
// not read.
func (p *parser) header() bool {
	p.rest = p.rest[1:]
	p.section, p.sub = strings.ToLower(p.take(isName)), ""
	if p.section == "" {
		return false
	}
	if p.peek() == ' ' || p.peek() == '\t' {
		p.skip(" \t")
		if p.peek() != '"' {
			return false
		}
		p.rest = p.rest[1:]
		var sub strings.Builder
		for p.peek() != '"' {
			if p.peek() == '\\' {
				p.rest = p.rest[1:]
			}
			if p.peek() == 0 || p.peek() == '\n' {
				return false
			}
			sub.WriteByte(p.peek())
			p.rest = p.rest[1:]
		}
		p.rest = p.rest[1:]
		if p.sub = sub.String(); p.sub == "" {
			return false
		}
	}
	if p.peek() != ']' {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// entry reads a key and its value.
func (p *parser) entry() (entry, bool) {
	e := entry{section: p.section, sub: p.sub, key: strings.ToLower(p.take(isName))}
	if e.key == "" || e.key[0] == '-' || '0' <= e.key[0] && e.key[0] <= '9' || e.section == "" {
		return e, false
	}
	p.skip(" \t")
	switch p.peek() {
	case '=':
		p.rest, e.set = p.rest[1:], true
		p.skip(" \t")
		var ok bool
		e.value, ok = p.value()
		return e, ok
	case 0, '\n', '\r', '#', ';':
		p.line()
		return e, true
	}
	return e, false
}

// value reads a value to the end of its line.
func (p *parser) value() (string, bool) {
	var b strings.Builder
	quoted, tab, kept := false, false, 0 // kept: how much of b is no white space at the end
	for {
		c := p.peek()
		switch {
		case c == 0 && p.rest != "", c == '\r' && !strings.HasPrefix(p.rest, "\r\n"):
			return "", false
		case c == 0 || c == '\n' || c == '\r' && !quoted:
			if quoted {
				return "", false
			}
			p.line()
			return b.String()[:kept], true
		case !quoted && (c == '#' || c == ';'):
			p.line()
			return b.String()[:kept], true
		}
		p.rest = p.rest[1:]
		if c == '\t' && !quoted {
			tab = true
		} else if tab && c != ' ' {
			return "", false // versions of git differ about tabs within a value
		}
		switch c {
		case '"':
			quoted = !quoted
			kept = b.Len()
		case '\\':
			// A value continued on the next line is not read: versions of git differ about
			// the white space there, and git writes none.
			i := strings.IndexByte(`\"ntb`, p.peek())
			if i < 0 {
				return "", false
			}
			p.rest = p.rest[1:]
			b.WriteByte("\\\"\n\t\b"[i])
			kept = b.Len()
		default:
			if b.Len() == 0 && !quoted && (c == ' ' || c == '\t') {
				continue // quoted emptily, it has not begun yet
			}
			b.WriteByte(c)
			if quoted || c != ' ' && c != '\t' {
				kept = b.Len()
			}
		}
	}
}
