// Package command takes a shell command line apart and says of each piece what
// it runs, reads and writes, as far as that can be known without running it.
//
// [Parse] reads a line with the grammar of bash, or also with that of POSIX where
// another shell may run it, and gives a flat list of parts: every simple command
// in lists, pipes, groups, loops, functions and substitutions, every file that a
// redirection opens, and every change of the shell itself. Programs that only
// start another one (env, timeout, xargs, find -exec, bash -c, eval, ...) are
// unwrapped: what they start is the part, and they are its outer layers.
//
// What cannot be known is said, never guessed: a part whose program comes from a
// variable, a substitution or a pattern has Opaque set, and so has a line that
// does not parse. Words are compared by their value, after quotes and escapes are
// taken off.
//
// Of a part this package further knows whether it surely changes nothing
// ([Part.Reads]), what makes it dangerous ([Part.Danger]), and which of its
// arguments make it more than its first words promise ([Part.Hazards]).
package command

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/burin-dev/burin/internal/prose"
)

// Limits of what is looked at. Beyond them a line cannot be judged.
const (
	maxLine  = 128 << 10 // bytes
	maxParts = 1000
	maxDepth = 6   // shells within shells
	maxLayer = 16  // calls around a call
	maxNest  = 500 // opening parentheses, braces and backquotes that are not closed yet
)

// Line is a command line taken apart.
type Line struct {
	Text  string
	Parts []Part // in the order of the text, what is inside of a command before it
	// Failure says why the line could not be taken apart; empty if it could.
	Failure string
	// Deceptive says why a person who reads the line may take it for another; empty if
	// nobody would. It is taken apart all the same.
	Deceptive string
	// Free are the variables that the line uses and does not set: what it does depends
	// on what ran in the shell before.
	Free []string
}

// Kind says what a part is.
type Kind uint8

const (
	Run   Kind = iota // a program or builtin runs
	Write             // a redirection opens a file to write
	Read              // a redirection opens a file to read
	Shell             // the shell itself changes: a variable, a function
)

// Part is one thing that a line does.
type Part struct {
	Kind Kind
	Text string // as written, on one line
	// Layers are the calls around and including this one, outermost first. The last
	// one is what runs. Of redirections they are the calls around it.
	Layers []Call
	Path   Path // of Write and Read
	// Opaque says why it is not known what this does; empty if it is known.
	Opaque string
	// Danger says what is dangerous about it; empty: nothing known.
	Danger string
	// Hidden says that it may run inside of another part that is opaque.
	Hidden bool

	at  Place
	dir dir
	fed bool // its standard input is a pipe or a text in the line

	input string // what is known of that, as written
	wrote string // why it may run what the line itself wrote
}

// Call is a simple command: assignments that hold for it, and words.
type Call struct {
	Env   []Assign
	Words []Word
}

// Assign is an assignment.
type Assign struct {
	Name  string
	Value Word
}

// Call is the call that runs; it is empty for parts of other kinds.
func (p *Part) Call() Call {
	if p.Kind != Run || len(p.Layers) == 0 {
		return Call{}
	}
	return p.Layers[len(p.Layers)-1]
}

// Dirs are the folders that the part may run in, the likeliest first; none if that is
// not known.
func (p *Part) Dirs() []string { return p.dir.names() }

// InWorkspace reports whether the part surely runs in a folder of the workspace.
func (p *Part) InWorkspace() bool { return p.dir.inside }

// Fed reports whether the input of the part is a pipe, a file or a text in the
// line.
func (p *Part) Fed() bool { return p.fed }

// feed notes what a part gets as its input.
func (p *Part) feed(from *producer) {
	p.fed, p.input = from != nil, ""
	for ; from != nil; from = from.up {
		p.input += from.source + "\n"
	}
}

// Parse takes a line apart. It never fails: what is wrong is told by Failure.
func Parse(text string, at Place) *Line {
	l := &Line{Text: text}
	if l.Failure = unreadable(text); l.Failure != "" {
		return l
	}
	l.Deceptive = misleading(text)
	w := &walker{line: l, at: at}
	w.script(text, languages(at.Shell), at.start())
	if l.Failure != "" {
		l.Parts = nil
	}
	return l
}

// Mentions are the files that the words of a part may name, whatever it does with
// them, as far as they are written out. More reports that there are words that are
// not.
func (p *Part) Mentions() (paths []Path, more bool) {
	if p.Kind == Read || p.Kind == Write {
		return []Path{p.Path}, !p.Path.Known()
	}
	if words := p.Call().Words; len(words) > 0 {
		for _, w := range fileWords(words[0].Text, words[1:]) {
			paths = p.at.candidates(paths, p.dir, w)
		}
		more = namesInFile(words) > 0
	}
	for _, n := range paths {
		more = more || !n.Known()
	}
	return paths, more
}

// ParseWords reads a simple command of plain words, as rules name one: no
// operators, expansions, patterns or redirections.
func ParseWords(text string) (Call, error) {
	if why := cmp.Or(unreadable(text), misleading(text)); why != "" {
		return Call{}, errors.New(why)
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return Call{}, errors.New("it cannot be parsed: " + short(err.Error()))
	}
	notPlain := errors.New("it is more than one plain command")
	if len(f.Stmts) != 1 || len(f.Last) > 0 {
		return Call{}, notPlain
	}
	s := f.Stmts[0]
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || len(s.Redirs) > 0 || len(s.Comments) > 0 || s.Negated || s.Background || s.Coprocess || s.Disown {
		return Call{}, notPlain
	}
	var out Call
	for _, a := range c.Assigns {
		v := Word{Exact: true}
		if a.Value != nil {
			v = evaluate(a.Value, text, Place{}, dir{})
		}
		if a.Name == nil || a.Index != nil || a.Array != nil || a.Append || !v.Exact {
			return Call{}, notPlain
		}
		out.Env = append(out.Env, Assign{a.Name.Value, v})
	}
	for _, a := range c.Args {
		w := evaluate(a, text, Place{}, dir{})
		if !w.Exact {
			return Call{}, fmt.Errorf("%s is not a plain word", w.Source)
		}
		out.Words = append(out.Words, w)
	}
	return out, nil
}

// languages are the grammars a shell may follow. A line must be harmless by all
// of them: [[ a && b ]] is one test for bash and two commands for dash.
func languages(shell string) []syntax.LangVariant {
	switch base(shell) {
	case "", "bash", "builtin":
		return []syntax.LangVariant{syntax.LangBash}
	case "sh", "dash", "ash", "ksh", "mksh", "busybox", "rbash":
		return []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX}
	}
	return nil
}

// base is the file name of a program, without a Windows suffix.
func base(program string) string {
	if i := strings.LastIndexAny(program, `/\`); i >= 0 {
		program = program[i+1:]
	}
	return strings.TrimSuffix(program, ".exe")
}

// misleading says why a text does not look like what it is: characters that are invisible or
// change the order of their neighbors. Spaces of all kinds and joiners, which emoji and
// several scripts need, are ordinary text.
func misleading(text string) string {
	if strings.ContainsFunc(text, prose.Deceptive) {
		return "it holds invisible characters, or some that change the order of others"
	}
	return ""
}

// unreadable says why a text cannot be judged at all. Control characters, which
// shells and this parser take differently, are no part of an honest command.
func unreadable(text string) string {
	if len(text) > maxLine {
		return "it is longer than 128 KB"
	}
	depth := 0
	for i, r := range text {
		switch {
		case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
			switch r {
			case '(', '{', '`':
				depth++
			case ')', '}':
				depth = max(0, depth-1)
			}
			if depth > maxNest {
				return "it is nested too deeply"
			}
		case r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], string(unicode.ReplacementChar)):
			return "it is not valid UTF-8"
		case unicode.IsControl(r):
			return "it holds control characters"
		}
	}
	if strings.Contains(text, "\\\n") && continuedComment(text) {
		return "a line with a comment ends in a backslash"
	}
	return ""
}

// continuedComment reports whether a line that may have a comment ends in a
// backslash. Shells end the comment there, the parser does not.
func continuedComment(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasSuffix(line, "\\") {
			continue
		}
		for i := range len(line) {
			if line[i] == '#' && (i == 0 || strings.IndexByte(" \t;&|()<>`\"'", line[i-1]) >= 0) {
				return true
			}
		}
	}
	return false
}

// short is text on one line.
func short(text string) string {
	if !strings.ContainsAny(text, "\n\t") {
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}
