package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper is a program whose arguments are another command.
type wrapper struct {
	options string
	skip    int  // operands before the command
	env     bool // operands of the form NAME=value belong to its environment
	adds    bool // the command gets further arguments
	join    bool // the arguments are joined and given to a shell
	other   bool // it runs as someone else
}

// wrapperOf knows the programs that only start another. What is not understood
// of their options makes the call opaque.
func wrapperOf(program string) (wrapper, bool) {
	switch program {
	case "command", "builtin", "nohup", "unbuffer", "exec", "busybox", "toybox":
		return wrapper{}, true
	case "env":
		return wrapper{options: "-i --ignore-environment -u: --unset: -0", env: true}, true
	case "timeout", "gtimeout":
		return wrapper{options: "-k: --kill-after: -s: --signal: --preserve-status --foreground -v --verbose", skip: 1}, true
	case "nice":
		return wrapper{options: "-n: --adjustment: -#"}, true
	case "ionice":
		return wrapper{options: "-c: -n: -t --class: --classdata: --ignore"}, true
	case "setsid":
		return wrapper{options: "-f -w -c --fork --wait --ctty"}, true
	case "stdbuf":
		return wrapper{options: "-i: -o: -e: --input: --output: --error:"}, true
	case "time":
		return wrapper{options: "-p -v --verbose --portability"}, true
	case "caffeinate":
		return wrapper{options: "-d -i -m -s -u -t:"}, true
	case "xargs":
		return wrapper{options: "-0 --null -r --no-run-if-empty -t --verbose -n: --max-args: -P: --max-procs: -L: --max-lines: -d: --delimiter: -I: -s: --max-chars: -E: -x --exit", adds: true}, true
	case "watch":
		return wrapper{options: "-n: --interval: -d --differences -t --no-title -b --beep -e --errexit -g --chgexit -c --color", join: true}, true
	case "sudo":
		return wrapper{options: "-E -H -n -S -k -b -u: -g: --user: --group: --preserve-env --non-interactive --stdin", env: true, other: true}, true
	case "doas":
		return wrapper{options: "-n -u:", other: true}, true
	}
	return wrapper{}, false
}

// run judges what a call starts: it takes wrappers off until it reaches what
// really runs. It returns the folder afterwards.
func (w *walker) run(words []Word, text string, d dir) (ok, end dir) {
	if len(w.outer) >= maxLayer {
		w.fail("commands are wrapped too deeply")
		return d, d
	}
	call := Call{Env: w.env, Words: words}
	p := Part{Kind: Run, Text: text, Layers: append(w.outer[:len(w.outer):len(w.outer)], call), dir: d}
	if p.Opaque = nameless(words[0]); p.Opaque != "" {
		w.add(p)
		return d, d
	}
	name := system(words[0].Text)
	switch {
	case isShell(name):
		return w.shell(p, d)
	case (name == "source" || name == ".") && len(words) > 1 && isInput(words[1]):
		p.Opaque = "a shell runs what it reads"
		w.add(p)
		w.hidden(p)
		return dir{}, dir{}
	case (name == "source" || name == ".") && len(words) > 1:
		p.wrote = w.madeHere(words[1], d)
		w.add(p)
		return d, d
	case isLoader(base(words[0].Text)) && len(words) > 1:
		return w.unwrap(p, wrapper{options: "--argv0: --library-path: --inhibit-cache --inhibit-rpath: --list --verify"}, name, d)
	case name == "eval":
		return w.eval(p, words[1:], d)
	case name == "find":
		w.findExec(p, d)
		return d, d
	case changesDir(name):
		w.add(p)
		to := w.target(words, d)
		return to, to.merge(d)
	case name == "ssh" || name == "su" || name == "trap" || name == "alias" || name == "parallel" || name == "script":
		p.Opaque = "what it runs is not judged here"
		w.add(p)
		w.hidden(p)
		return d, d
	}
	if p.Opaque = evaluatesName(name, words[1:]); p.Opaque != "" {
		w.add(p)
		w.hidden(p)
		return d, d
	}
	p.wrote = w.runsMade(name, words, d)
	if wr, is := wrapperOf(name); is && len(words) > 1 {
		return w.unwrap(p, wr, name, d)
	}
	w.add(p)
	if runsAnything(name) || len(launchHazards(name, words)) > 0 {
		w.started(p, name)
	}
	return d, d
}

// isInput reports whether a word is a name of the standard input, or of a pipe.
func isInput(w Word) bool {
	return w.pipe || w.Exact && (w.Text == "/dev/stdin" || w.Text == "-" || strings.HasPrefix(w.Text, "/dev/fd/") || strings.HasPrefix(w.Text, "/proc/"))
}

// isLoader reports whether a program is the system's loader, which runs the program
// that it is given.
func isLoader(name string) bool {
	return strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld64.so") || name == "ld.so" || strings.HasPrefix(name, "ld-2.")
}

// started walks what a call surely or maybe starts that is not taken apart here:
// every argument may be where the command begins, or be one itself. The call is
// judged as it stands; this only lets what is refused or dangerous in it be seen.
func (w *walker) started(p Part, name string) {
	if w.hiding {
		return // every argument is being tried already
	}
	words := p.Call().Words
	from := 1
	if h := launchHazards(name, words); len(h) > 0 {
		from = h[0].At
	}
	outer := w.outer
	w.outer, w.hiding = p.Layers, true
	defer func() { w.outer, w.hiding = outer, false }()
	for i := from; i < len(words) && w.line.Failure == ""; i++ {
		if words[i].mayBeOption() {
			continue
		}
		w.run(words[i:], p.Text, dir{})
		if strings.ContainsAny(words[i].Text, " \t\n;|&") {
			w.guess(words[i].Text)
		}
		if !runsAnything(name) {
			return // a launcher of one program
		}
	}
}

// add emits a call with what is dangerous about it.
func (w *walker) add(p Part) {
	p.at = w.at
	p.feed(w.from)
	if p.Danger == "" {
		p.Danger = w.danger(&p)
	}
	w.emit(p)
}

// nameless says why the first word does not tell what runs.
func nameless(w Word) string {
	if !w.Exact {
		return "the program it runs is not known before it runs"
	}
	if strings.TrimSpace(w.Text) == "" || strings.ContainsAny(w.Text, "\n\t") {
		return "the name of the program is empty or blank"
	}
	for i := range len(w.Text) {
		if w.Text[i] >= 0x7f {
			return "the name of the program has letters that may only look like others"
		}
	}
	return ""
}

func (w *walker) unwrap(p Part, wr wrapper, name string, d dir) (ok, end dir) {
	args := p.Call().Words[1:]
	if name == "command" && args[0].Exact && (args[0].Text == "-v" || args[0].Text == "-V") {
		w.add(p) // looks a name up
		return d, d
	}
	if (name == "command" || name == "exec") && args[0].Exact && args[0].Text == "-p" {
		args = args[1:]
	}
	s := scan(wr.options, args, true)
	if s.bad != "" {
		p.Opaque = "what " + name + " does with " + s.bad + " is not known here"
		w.add(p)
		w.hidden(p)
		return d, d
	}
	if wr.other {
		q := p
		q.Danger = "runs as another user"
		w.emit(q)
	}
	inner := s.rest
	var env []Assign
	for wr.env && len(inner) > 0 {
		a, is := assignment(inner[0])
		if !is {
			break
		}
		env = append(env, a)
		inner = inner[1:]
	}
	if len(inner) < wr.skip {
		inner = nil
	} else {
		inner = inner[wr.skip:]
	}
	if len(inner) == 0 { // env alone, nice alone
		if !wr.other {
			w.add(p)
		}
		return d, d
	}
	outer, around := w.outer, w.env
	defer func() { w.outer, w.env = outer, around }()
	w.outer = p.Layers
	w.values(env)
	w.env = append(around[:len(around):len(around)], env...)
	switch {
	case wr.join:
		w.eval(p, inner, d)
		return d, d
	case wr.adds:
		inner = addArguments(inner, s)
	}
	ok, end = w.run(inner, p.Text, d)
	if name != "command" && name != "builtin" {
		return d, d // what another process does with its folder is its own affair
	}
	return ok, end
}

// assignment reads NAME=value as env does.
func assignment(w Word) (Assign, bool) {
	name, val, ok := strings.Cut(w.Text, "=")
	if !ok || name == "" || strings.HasPrefix(name, "-") {
		return Assign{}, false
	}
	v := w
	v.Text = val
	return Assign{Name: name, Value: v}, true
}

// addArguments are the words that xargs really runs.
func addArguments(inner []Word, s scanned) []Word {
	out := make([]Word, 0, len(inner)+1)
	for _, a := range inner {
		for _, o := range s.options {
			if o.name == "-I" {
				a = a.replaced(o.value.Text, !o.value.Exact)
			}
		}
		out = append(out, a)
	}
	return append(out, unknown("..."))
}

// replaced is a word in which something else stands for each mark.
func (w Word) replaced(mark string, always bool) Word {
	if before, _, ok := strings.Cut(w.Text, mark); ok || always {
		if mark == "" || always {
			before = ""
		}
		return Word{Text: before, Source: w.Source}
	}
	return w
}

func isShell(name string) bool {
	switch name {
	case "bash", "sh", "dash", "ash", "ksh", "mksh", "rbash", "zsh", "fish", "csh", "tcsh", "pwsh":
		return true
	}
	return false
}

// shell judges bash -c '...'. A shell with a script file is a program like any
// other, one that reads commands from its input is opaque.
func (w *walker) shell(p Part, d dir) (ok, end dir) {
	words := p.Call().Words
	s := scan("-c -e -u -x -v -l -i -f -n -o: --norc --noprofile --posix --login", words[1:], true)
	operand := Word{}
	if len(s.rest) > 0 {
		operand = s.rest[0]
	}
	switch {
	case s.bad != "":
		p.Opaque = "what a shell does with " + s.bad + " is not known here"
	case !s.has("-c") && len(s.rest) > 0 && operand.Exact && operand.Text != "-" && !strings.HasPrefix(operand.Text, "+"):
		p.wrote = w.madeHere(operand, d)
		w.add(p)
		return d, d
	case !s.has("-c"):
		p.Opaque = "a shell runs what it reads"
	case len(s.rest) == 0 || !operand.Exact:
		p.Opaque = "what the shell runs is not known before it runs"
	}
	if p.Opaque != "" {
		w.add(p)
		w.hidden(p)
		return d, d
	}
	w.nested(p, operand.Text, languages(words[0].Text), d)
	return d, d
}

// nested walks a script that p runs.
func (w *walker) nested(p Part, script string, langs []syntax.LangVariant, d dir) (ok, end dir) {
	if len(langs) == 0 {
		p.Opaque = "the shell that it starts is not known here"
		w.add(p)
		w.hidden(p)
		return d, d
	}
	if reason := unreadable(script); reason != "" {
		w.fail(reason)
		return d, d
	}
	outer := w.outer
	w.outer = p.Layers
	before := len(w.line.Parts)
	ok, end = w.script(script, langs, d)
	w.outer = outer
	if len(w.line.Parts) == before { // an empty script
		p.Kind = Shell
		w.emit(p)
	}
	return ok, end
}

// eval judges arguments that are joined and given to a shell.
func (w *walker) eval(p Part, args []Word, d dir) (ok, end dir) {
	var b strings.Builder
	for i, a := range args {
		if !a.Exact {
			p.Opaque = "what it runs is not known before it runs"
			w.add(p)
			return dir{}, dir{}
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.Text)
	}
	return w.nested(p, b.String(), languages("sh"), d)
}

// sshOptions are those of OpenSSH.
const sshOptions = "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y -B: -b: -c: -D: -E: -e: -F: -I: -i: -J: -L: -l: -m: -O: -o: -p: -Q: -R: -S: -W: -w:"

// hidden walks what an opaque call may run, as far as it is written out, so that
// what is refused or dangerous in it is seen.
func (w *walker) hidden(p Part) {
	words := p.Call().Words
	outer, hiding := w.outer, w.hiding
	w.outer, w.hiding = p.Layers, true
	defer func() { w.outer, w.hiding = outer, hiding }()
	if interprets(base(words[0].Text)) {
		w.guessInput()
	}
	if system(words[0].Text) == "alias" {
		for _, a := range words[1:] {
			_, text, _ := strings.Cut(a.Text, "=")
			w.guess(text)
		}
		return
	}
	if system(words[0].Text) == "ssh" {
		if s := scan(sshOptions, words[1:], true); len(s.rest) > 1 {
			w.guess(joined(s.rest[1:]))
		}
		return
	}
	for _, a := range words[1:] {
		if !a.mayBeOption() {
			w.guess(a.Text)
		}
	}
	if len(words) > 2 && !words[1].mayBeOption() {
		w.guess(joined(words[1:]))
	}
}

// guessInput walks the text that is fed to a shell, if it stands in the line.
func (w *walker) guessInput() {
	switch {
	case w.from == nil:
	case w.from.stmt != nil:
		c, ok := w.from.stmt.Cmd.(*syntax.CallExpr)
		if !ok || len(c.Args) < 2 {
			return
		}
		if l, _ := single(c.Args[0]); l != "echo" && l != "printf" && l != "cat" {
			return
		}
		words := make([]Word, len(c.Args)-1)
		for i, a := range c.Args[1:] {
			words[i] = w.literal(a, dir{})
			w.guess(words[i].Text)
		}
		w.guess(joined(words))
	default:
		if word, ok := w.from.text.(*syntax.Word); ok {
			if v := w.literal(word, dir{}); v.Exact {
				w.guess(v.Text)
			} else {
				w.guess(w.text(word))
			}
		}
	}
}

func joined(words []Word) string {
	texts := make([]string, len(words))
	for i, a := range words {
		texts[i] = a.Text
	}
	return strings.Join(texts, " ")
}

func joinedSource(words []Word) string {
	texts := make([]string, len(words))
	for i, a := range words {
		texts[i] = a.Source
	}
	return short(strings.Join(texts, " "))
}

// guess walks a text that may be run. What does not parse is passed over: the
// part that holds it is a question anyway.
func (w *walker) guess(text string) {
	if w.depth > maxDepth || unreadable(text) != "" {
		return
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return
	}
	src := w.src
	w.src = text
	w.depth++
	w.stmts(f.Stmts, dir{})
	w.src = src
	w.depth--
}

// target is the folder that cd goes to.
func (w *walker) target(words []Word, d dir) dir {
	s := scan("-P -L -e", words[1:], false)
	pushes := words[0].Text == "pushd" // without a folder, or with a number, it turns the stack around
	if words[0].Text != "cd" && !pushes || s.bad != "" || len(s.operands) > 1 || pushes && (len(s.options) > 0 || len(s.operands) == 0) {
		return dir{}
	}
	to := w.at.Home
	if len(s.operands) == 1 {
		o := s.operands[0]
		if !o.Exact || o.Text == "-" || pushes && o.Text != "" && o.Text[0] == '+' {
			return dir{}
		}
		to = o.Text
	}
	searched := !isAbs(to) && to != "." && to != ".." && !strings.HasPrefix(to, "./") && !strings.HasPrefix(to, "../")
	if to == "" || searched && w.at.Exported != nil && w.at.Exported("CDPATH") {
		return dir{}
	}
	r := w.at.Resolve(d, to)
	t := dir{name: r.Name, inside: r.Where == Inside}
	names := make([]string, 0, len(r.May))
	for _, m := range r.May {
		if strings.Contains(m.Name, "\n") {
			return t
		}
		names = append(names, m.Name)
	}
	t.may = strings.Join(names, "\n")
	return t
}

// findExec judges find, and what it runs for each file.
func (w *walker) findExec(p Part, d dir) {
	words := p.Call().Words
	var runs [][]Word
	for i := 1; i < len(words) && p.Opaque == ""; i++ {
		if !words[i].Exact || !isFindExec(words[i].Text) {
			continue
		}
		inner, end := findRun(words, i)
		if end == len(words) || len(inner) == 0 {
			p.Opaque = "where the command that find runs ends is not known"
		}
		for k := range inner {
			inner[k] = inner[k].replaced("{}", false)
		}
		i = end
		runs = append(runs, inner)
	}
	w.add(p)
	outer := w.outer
	w.outer = p.Layers
	for _, r := range runs {
		if len(r) > 0 {
			w.run(r, joinedSource(r), dir{inside: d.inside})
		}
	}
	w.outer = outer
}

// findRun gives the command that find runs, behind the word i, and the index of
// the word that ends it: ";", or "+" behind "{}". The index is len(words) if that
// is not certain. A "+" elsewhere is an argument for most versions of find and the
// end for others.
func findRun(words []Word, i int) (inner []Word, end int) {
	plus := words[i].Text == "-exec" || words[i].Text == "-execdir"
	for i++; i < len(words); i++ {
		a := words[i]
		switch {
		case a.Exact && a.Text == ";":
			return inner, i
		case a.Exact && a.Text == "+" && plus && len(inner) > 0 && inner[len(inner)-1].Exact && inner[len(inner)-1].Text == "{}":
			return inner, i
		case a.MayBe("+"), a.MayBe(";"):
			return inner, len(words)
		}
		inner = append(inner, a)
	}
	return inner, i
}

func isFindExec(s string) bool {
	return s == "-exec" || s == "-execdir" || s == "-ok" || s == "-okdir"
}

// system is the name of a program that the search path finds, or that is called
// by its path in one of the system's folders; "" of any other, which is not what
// its name says.
func system(program string) string {
	i := strings.LastIndexByte(program, '/')
	switch {
	case i < 0:
		return strings.TrimSuffix(program, ".exe")
	case program[:i] == "/bin" || program[:i] == "/usr/bin" || program[:i] == "/usr/local/bin" || program[:i] == "/sbin" || program[:i] == "/usr/sbin":
		return program[i+1:]
	}
	return ""
}
