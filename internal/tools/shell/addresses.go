package shell

import (
	"maps"
	"os"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Addresses finds the files behind addresses that commands may name.
type Addresses interface {
	// Schemes are those behind which there are files: "local", "skill".
	Schemes() []string
	// File is the absolute path of what an address stands for. That of a file that can be
	// written need not exist.
	File(address string) (string, error)
}

// expanded is the call with paths in place of addresses.
func (s *commands) expanded(a bashArgs) (bashArgs, error) {
	if s.Addresses == nil {
		return a, nil
	}
	line, err := expand(s.Addresses, a.Command)
	if err != nil {
		return a, err
	}
	if line != a.Command {
		a.Command, a.expanded = line, true
	}
	if find(s.Addresses, a.CWD) == 0 {
		if a.dir, err = s.Addresses.File(strings.TrimSuffix(a.CWD, "/") + "/"); err != nil {
			return a, err
		}
	}
	a.Env = maps.Clone(a.Env)
	for name, value := range a.Env {
		if find(s.Addresses, value) != 0 {
			continue
		}
		if a.Env[name], err = s.Addresses.File(value); err != nil {
			return a, err
		}
	}
	return a, nil
}

// find is where the first address of a file begins in a text; -1 if there is none. What
// belongs to another address, such as a web page's, is none.
func find(at Addresses, text string) int {
	i := strings.Index(text, "://")
	if i < 0 {
		return -1
	}
	for _, scheme := range at.Schemes() {
		start := i - len(scheme)
		if start < 0 || text[start:i] != scheme {
			continue
		}
		if start == 0 || !isSchemeByte(text[start-1]) {
			return start
		}
	}
	return -1
}

func isSchemeByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("+-.", c) >= 0
}

// expand puts paths in the place of the addresses in a command, quoted as they must be. A text
// in quotes is an address only from its beginning, or after a sign such as =, and if a file is
// there; what stands in a here-document stays as it is. A command that cannot be parsed is
// left to the shell.
func expand(at Addresses, line string) (string, error) {
	if find(at, line) < 0 && strings.Count(line, "://") < 2 {
		return line, nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return line, nil
	}
	x := &expander{at: at, line: line}
	visit := func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			if n.Hdoc != nil {
				return false
			}
		case *syntax.Word:
			x.parts(n.Parts, false)
		case *syntax.DblQuoted:
			x.parts(n.Parts, true)
		}
		return x.err == nil
	}
	syntax.Walk(file, visit)
	if x.err != nil {
		return line, x.err
	}
	slices.SortFunc(x.cuts, func(a, b cut) int { return a.from - b.from })
	for _, c := range slices.Backward(x.cuts) {
		line = line[:c.from] + c.text + line[c.to:]
	}
	return line, nil
}

// expander collects what is to be replaced.
type expander struct {
	at   Addresses
	line string
	cuts []cut
	err  error
}

type cut struct {
	from, to int
	text     string
}

// How the text of a word is quoted.
type quoting byte

const (
	plain  quoting = 0
	single quoting = '\''
	double quoting = '"'
)

func (x *expander) parts(parts []syntax.WordPart, inside bool) {
	for i, p := range parts {
		open := i+1 < len(parts) // something follows, which may be known to the shell only
		from, to := int(p.Pos().Offset()), int(p.End().Offset())
		switch p := p.(type) {
		case *syntax.Lit:
			how := plain
			if inside {
				how = double
			}
			x.text(from, to, how, open)
		case *syntax.SglQuoted:
			if !p.Dollar {
				x.text(from+1, to-1, single, open)
			}
		}
	}
}

// text looks at the text of one way of quoting.
func (x *expander) text(from, to int, how quoting, open bool) {
	raw := x.line[from:to]
	start := find(x.at, raw)
	if start > 0 && raw[start-1] == '\\' { // it would escape the quote
		return
	}
	if start < 0 || x.err != nil || how != plain && start > 0 && strings.IndexByte("=:,@", raw[start-1]) < 0 {
		return
	}
	address, rest := raw[start:], ""
	// Of a pattern, and of what goes on with a variable, only the folder is known.
	end := len(address)
	if how == plain {
		if i := strings.IndexAny(address, "*?[{"); i >= 0 {
			end = i
		}
	}
	if end < len(address) || open {
		end = strings.LastIndexByte(address[:end], '/') + 1
		address, rest = address[:end], address[end:]
	}
	folder := strings.HasSuffix(address, "/")
	plainAddress := address
	if how != single {
		plainAddress = unescaped(address, how)
	}
	file, err := x.at.File(plainAddress)
	if how != plain && err == nil && strings.ContainsAny(plainAddress, " \t\n") {
		_, err = os.Stat(file) // it may be a sentence
	}
	if err != nil {
		if how == plain {
			x.err = err
		}
		return
	}
	if folder {
		file = strings.TrimSuffix(file, "/") + "/"
	}
	quoted, err := quote(file, how)
	if err != nil {
		return
	}
	x.cuts = append(x.cuts, cut{from + start, to - len(rest), quoted})
}

// unescaped is a text without its backslashes.
func unescaped(s string, how quoting) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (how == plain || strings.IndexByte("$`\"\\", s[i+1]) >= 0) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// quote writes a path as it must stand in quotes of a kind.
func quote(file string, how quoting) (string, error) {
	switch how {
	case single:
		return strings.ReplaceAll(file, "'", `'\''`), nil
	case double:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`).Replace(file), nil
	}
	return syntax.Quote(file, syntax.LangBash)
}
