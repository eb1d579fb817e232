package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// danger says what is dangerous about a call, in words that follow "it"; empty
// if nothing is known. It looks at what is certain and, where the danger is
// great, at what may be.
func (w *walker) danger(p *Part) string {
	words := p.Call().Words
	if !words[0].Exact {
		if origin := sourceText(words[0].Source); origin != "" {
			return "runs " + origin
		}
		return ""
	}
	c := call{base(words[0].Text), words[1:], p}
	if why := w.fetched(c); why != "" {
		return why
	}
	for _, judge := range []func(call) string{removal, ownership, machine, gitDanger, database, publication, containers, clouds, written, w.sent} {
		if why := judge(c); why != "" {
			return why
		}
	}
	return ""
}

// call is a call to judge: the program without its folder, and its arguments.
type call struct {
	name string
	args []Word
	part *Part
}

// option reports whether one of the options is given, or may be.
func (c call) option(names ...string) bool {
	for _, a := range c.args {
		if a.Exact && a.Text == "--" {
			return false
		}
		for _, n := range names {
			if a.Exact && optional(a, n) {
				return true
			}
		}
	}
	return false
}

// verb is the n-th argument that is no option.
func (c call) verb(n int) string {
	for _, a := range c.args {
		if a.mayBeOption() && a.Exact {
			continue
		}
		if n == 0 {
			if a.Exact {
				return a.Text
			}
			return ""
		}
		n--
	}
	return ""
}

// operands are the arguments that are no options.
func (c call) operands() []Word {
	var out []Word
	for i, a := range c.args {
		if a.Exact && a.Text == "--" {
			return append(out, c.args[i+1:]...)
		}
		if !a.Exact || !a.mayBeOption() {
			out = append(out, a)
		}
	}
	return out
}

// fetched reports whether a program runs what comes from the network, or what
// was written so that it cannot be read.
func (w *walker) fetched(c call) string {
	origin := ""
	if strings.Contains(c.part.Call().Words[0].Text, "/") {
		origin = w.downloaded(c.name)
	}
	if !interprets(c.name) {
		return runs(origin)
	}
	if c.readsInput() || c.part.Opaque != "" {
		for from := w.from; from != nil && origin == ""; from = from.up {
			if from.stmt != nil {
				origin = source(from.stmt)
			} else {
				origin = source(from.text)
			}
		}
	}
	for _, a := range c.args {
		switch {
		case origin != "":
		case !a.Exact:
			origin = sourceText(a.Source)
		case !a.mayBeOption():
			origin = w.downloaded(base(a.Text))
		}
	}
	return runs(origin)
}

func runs(origin string) string {
	if origin == "" {
		return ""
	}
	return "runs " + origin
}

// interprets reports whether a program runs code that it reads.
func interprets(name string) bool {
	switch versionless(name) {
	case "python", "node", "nodejs", "perl", "ruby", "php", "lua", "deno", "bun", "osascript", "pwsh", "powershell", "eval", "source", ".", "tclsh":
		return true
	}
	return isShell(name)
}

// readsInput reports whether an interpreter takes its code from its input.
func (c call) readsInput() bool {
	if c.name == "eval" {
		return false
	}
	if !isShell(c.name) && c.option("-c", "-e", "-m", "-n", "-p", "-E", "-r", "--eval", "--print") {
		return false
	}
	if isShell(c.name) && c.option("-s") {
		return true
	}
	for _, a := range c.args {
		if !a.mayBeOption() {
			return a.Exact && (a.Text == "-" || a.Text == "/dev/stdin" || strings.HasPrefix(a.Text, "/dev/fd/"))
		}
	}
	return !isShell(c.name) || !c.option("-c")
}

// versionless is the name of a program without a version: python for python3.12.
func versionless(name string) string {
	if s := strings.TrimRight(name, "0123456789."); s != "" {
		return s
	}
	return name
}

// source says where a piece of syntax gets what it prints, if that is a reason
// for care.
func source(n syntax.Node) string {
	origin := ""
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			for i, a := range c.Args {
				l, ok := single(a)
				if !ok {
					continue
				}
				if fetches(base(l)) && i == 0 || fetches(l) {
					origin = "what it gets from the network"
				} else if i == 0 && origin == "" && decodes(base(l), c.Args[1:]) {
					origin = "what was encoded so that it cannot be read"
				}
			}
		}
		return true
	})
	return origin
}

// sourceText does the same with a text.
func sourceText(text string) string {
	if !strings.ContainsAny(text, "(`") {
		return ""
	}
	f, err := syntax.NewParser().Parse(strings.NewReader("x "+text), "")
	if err != nil {
		return ""
	}
	return source(f)
}

func fetches(name string) bool {
	switch name {
	case "curl", "wget", "fetch", "aria2c", "nc", "ncat", "netcat", "socat", "lynx", "http", "https", "xh", "ftp", "Invoke-WebRequest", "iwr":
		return true
	}
	return false
}

func decodes(name string, args []*syntax.Word) bool {
	for _, a := range args {
		l, _ := single(a)
		switch name {
		case "base64", "base32", "gpg", "openssl", "uudecode", "xxd":
			if l == "-d" || l == "-D" || l == "--decode" || l == "-r" || l == "-di" || l == "-dc" || name == "xxd" && strings.Contains(l, "r") && strings.HasPrefix(l, "-") {
				return true
			}
		case "tr":
			return true
		}
	}
	return name == "uudecode" || name == "rev"
}

// downloaded reports whether a command before got a file of that name from the
// network.
func (w *walker) downloaded(file string) string {
	for i := range w.line.Parts {
		words := w.line.Parts[i].Call().Words
		if len(words) == 0 || file == "" || !fetches(base(words[0].Text)) {
			continue
		}
		for _, a := range words[1:] {
			if base(a.Text) == file {
				return "what it gets from the network"
			}
		}
	}
	return ""
}
