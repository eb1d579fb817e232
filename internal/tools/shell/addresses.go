package shell

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/burin-dev/burin/internal/sorting"
)

// Addresses finds the files behind addresses that commands may name.
type Addresses interface {
	// Schemes are those behind which there are files: "local", "skill".
	Schemes() []string
	// File is the absolute path of what an address stands for. That of a file that can be
	// written need not exist.
	File(address string) (string, error)
	// Running is the same for a command that runs now: the folders of what it names are made.
	Running() Addresses
}

// judgments remember what calls with addresses stood for when permission judged them: only that may
// run, whatever the addresses lead to meanwhile.
type judgments struct {
	mu  sync.Mutex
	all map[string][]judgment // by the call as the model wrote it
}

// judgment is a call as it was judged; err says why it can't run.
type judgment struct {
	call bashArgs
	err  error
}

// judge is the call with paths in place of addresses. One that can't be expanded will not run.
func (j *judgments) judge(at Addresses, a bashArgs) (bashArgs, error) {
	key := callKey(at, a)
	if key == "" {
		return a, nil
	}
	call, err := expanded(at, a)
	if err != nil {
		call = a
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.ContainsFunc(j.all[key], func(o judgment) bool {
		return o.call.Command == call.Command && o.call.dir == call.dir && maps.Equal(o.call.Env, call.Env) && (o.err == nil) == (err == nil)
	}) {
		if j.all == nil || len(j.all) > maxJudged { // those of refused calls stay; a call that loses its judgment fails
			j.all = map[string][]judgment{}
		}
		j.all[key] = append(j.all[key], judgment{call, err})
	}
	return call, err
}

// maxJudged is how many calls are remembered.
const maxJudged = 1000

// take gives the call as it was judged. If it was judged in different ways, nobody knows which one
// was allowed.
func (j *judgments) take(at Addresses, a bashArgs) (bashArgs, error) {
	key := callKey(at, a)
	if key == "" {
		return a, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	found := j.all[key]
	delete(j.all, key)
	if len(found) != 1 {
		return a, errors.New("what an address in the command stands for has changed: call again")
	}
	return found[0].call, found[0].err
}

// callKey tells calls apart; "" is one without addresses.
func callKey(at Addresses, a bashArgs) string {
	raw := a.CWD + "\x00" + withEnv(a)
	if at == nil || !strings.Contains(raw, "://") {
		return ""
	}
	for _, scheme := range at.Schemes() {
		if strings.Contains(raw, scheme+"://") {
			return raw
		}
	}
	return ""
}

// expanded is the call with paths in place of addresses.
func expanded(at Addresses, a bashArgs) (bashArgs, error) {
	if at == nil {
		return a, nil
	}
	line, err := Expand(at, a.Command)
	if err != nil {
		return a, err
	}
	if line != a.Command {
		a.Command, a.expanded = line, true
	}
	if find(at, a.CWD) == 0 {
		if a.dir, err = at.File(strings.TrimSuffix(a.CWD, "/") + "/"); err != nil {
			return a, err
		}
	}
	a.Env = maps.Clone(a.Env)
	for name, value := range a.Env {
		if find(at, value) != 0 {
			continue
		}
		if a.Env[name], err = at.File(value); err != nil {
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

// Expand puts paths in the place of the addresses in a command, quoted as they must be. A text
// in quotes is an address only from its beginning, or after a sign such as =, and if a file is
// there; what stands in a here-document stays as it is. A command that cannot be parsed is
// left to the shell.
func Expand(at Addresses, line string) (string, error) {
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
	sorting.Stable(x.cuts, func(a, b cut) int { return a.from - b.from })
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
