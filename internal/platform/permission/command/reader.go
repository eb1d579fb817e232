package command

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// reader is a program that changes nothing as long as its options are among
// those given here.
type reader struct {
	// options are the options it may have. "*" stands for any; names with "!" behind
	// it are the ones it must not have.
	options  string
	operands operands
	most     int // operands; 0 is no limit, -1 is none
}

// operands says what a program takes its operands for.
type operands uint8

const (
	files   operands = iota // files to read
	pattern                 // a pattern or program, then files to read
	text                    // no files
)

// Reads reports whether the part surely changes nothing: it only reads, and what
// it reads are the paths. A path that is not known before it runs is among them
// as one that is Unknown.
func (p *Part) Reads() (paths []Path, ok bool) {
	switch {
	case p.Opaque != "" || p.Danger != "":
		return nil, false
	case p.Kind == Read:
		return []Path{p.Path}, true
	case p.Kind == Write:
		return nil, p.Path.Name == os.DevNull || isDevice(p.Path.Text)
	case p.Kind == Shell:
		return nil, true
	}
	c := p.Call()
	if !c.Harmless() {
		return nil, false
	}
	words, ok := readerOf(p, c.Words)
	if !ok {
		return nil, false
	}
	for _, w := range words {
		paths = p.at.candidates(paths, p.dir, w)
	}
	if words != nil && !p.dir.inside && c.Words[0].Text != "cd" { // without a name they read where they are
		here := Path{Text: "the folder it runs in", Name: p.dir.name}
		if here.Name != "" {
			here.Where = Outside
		}
		paths = append(paths, here)
	}
	return paths, true
}

// readerOf finds the words that name files, of a call that only reads. They are
// nil if it reads no files at all.
func readerOf(p *Part, words []Word) ([]Word, bool) {
	name, args := words[0].Text, words[1:]
	switch name {
	case "git":
		return p.gitReads(args)
	case "find":
		return findReads(args)
	case "sed":
		return sedReads(args)
	case "echo", ":", "true", "false", "exit", "return", "break", "continue":
		return nil, true
	case "wait":
		return nil, waitReads(args)
	case "ps":
		return nil, psReads(args)
	case "printf":
		return nil, len(args) > 0 && !args[0].mayBeOption()
	case "test", "[":
		return nil, testReads(args)
	case "date":
		return dateReads(args)
	case "set", "shopt":
		return nil, settingReads(name, args)
	case "read", "unset":
		return nil, p.at.variableReads(name, args)
	case "command":
		return nil, len(args) == 2 && args[0].Exact && (args[0].Text == "-v" || args[0].Text == "-V")
	case "go":
		return goReads(args)
	case "jq":
		if slices.ContainsFunc(args, func(w Word) bool { return strings.Contains(w.Text, "import") || strings.Contains(w.Text, "include") }) {
			return nil, false // of modules, which may be anywhere
		}
	case "cd":
		return cdReads(args)
	}
	if len(args) == 1 && args[0].Exact && asksVersion(name, args[0].Text) {
		return nil, true
	}
	r, ok := readers()[name]
	if !ok {
		return nil, false
	}
	return r.reads(args)
}

func (r reader) reads(args []Word) ([]Word, bool) {
	if r.options != "*" && !strings.HasPrefix(r.options, "* !") {
		s := scan(r.options, args, false)
		if s.bad != "" || !r.few(len(s.operands)) {
			return nil, false
		}
		return r.files(args, s, true), true
	}
	s := scanned{}
	for i, a := range args {
		for rest := strings.TrimPrefix(r.options, "* !"); rest != "" && rest != "*"; {
			var name string
			name, rest, _ = strings.Cut(rest, " !")
			if optional(a, name) {
				return nil, false
			}
		}
		if a.Exact && a.Text == "--" {
			s.operands = append(s.operands, args[i+1:]...)
			break
		}
		if !a.mayBeOption() || !a.Exact {
			s.operands = append(s.operands, a)
		}
	}
	return r.files(args, s, false), r.few(len(s.operands))
}

func (r reader) few(n int) bool { return r.most == 0 || n <= max(0, r.most) }

// files are the arguments that may name files. Which operand is the pattern is
// certain only if all options are known.
func (r reader) files(args []Word, s scanned, known bool) []Word {
	switch {
	case r.operands == text:
		return nil
	case r.operands == files || !known || len(s.operands) == 0:
		return args
	}
	for _, o := range s.options {
		switch o.name {
		case "-e", "-f", "--regexp", "--file", "--from-file", "--files":
			return args // the pattern is its value
		}
	}
	out := append([]Word{}, s.operands[1:]...)
	for _, o := range s.options {
		if o.set {
			out = append(out, o.value)
		}
	}
	return out
}

// candidates adds what a word may name to list. An option may carry a name after
// "=" or directly.
func (p Place) candidates(list []Path, d dir, w Word) []Path {
	switch {
	case w.pipe:
		return list
	case !w.Exact && w.glob:
		return append(list, p.glob(d, w)...)
	case !w.Exact:
		return append(list, Path{Text: w.Source})
	}
	add := func(s string) {
		if s != "" && s != "-" && !isDevice(s) {
			list = append(list, p.Resolve(d, s))
		}
	}
	if !w.mayBeOption() {
		add(w.Text)
	} else if len(w.Text) > 2 && w.Text[1] != '-' {
		add(w.Text[2:])
	}
	for rest, ok := w.Text, true; ok; {
		if _, rest, ok = strings.Cut(rest, "="); ok {
			add(expandHome(rest, p.Home))
		}
	}
	return list
}

// expandHome is for programs that do themselves what the shell does with "~".
func expandHome(s, home string) string {
	if rest, ok := strings.CutPrefix(s, "~/"); ok && home != "" {
		return path.Join(home, rest)
	}
	return s
}

// isDevice reports whether a name is a device that reading and writing leave as
// it is.
func isDevice(name string) bool {
	switch name {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/urandom", "/dev/random":
		return true
	}
	n, ok := strings.CutPrefix(name, "/dev/fd/")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}

// maxNames is how many names are looked at for one pattern.
const maxNames = 5000

// glob gives the files that a pattern matches. Patterns that may match "..", or
// that shells and this program take differently, lead nowhere known.
func (p Place) glob(d dir, w Word) []Path {
	unknown := []Path{{Text: w.Source}}
	if Secret(w.Source) {
		return []Path{{Text: w.Source, Name: w.Source, Where: Inside}}
	}
	if strings.ContainsAny(w.Source, "~\\'\"$[") || strings.Contains(w.Source, "**") {
		if q := p.Resolve(d, w.Text); q.Where == Outside {
			return []Path{q} // so it begins
		}
		return unknown
	}
	fixed, rest := "./", w.Source
	if isAbs(rest) {
		fixed = ""
	}
	for {
		part, after, more := strings.Cut(rest, "/")
		if strings.ContainsAny(part, "*?") || !more {
			break
		}
		fixed += part + "/"
		rest = after
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." || len(part) > 1 && part[0] == '.' && strings.IndexAny(part, "*?") == 1 {
			return unknown
		}
	}
	folder := p.Resolve(d, fixed)
	if folder.Where != Inside || folder.Name == "" || p.Root == "" {
		folder.Text = w.Source
		return []Path{folder}
	}
	return p.matches(folder, path.Clean(rest), w.Source)
}

// matches gives the files of a folder that a pattern matches, as shells do; the
// folder if there are none.
func (p Place) matches(folder Path, pattern, source string) []Path {
	dir := folder.Name
	if !isAbs(dir) {
		dir = filepath.Join(p.Root, filepath.FromSlash(dir))
	}
	budget := maxNames
	names, ok := expand(dir, strings.Split(pattern, "/"), &budget)
	if !ok {
		return []Path{{Text: source}}
	}
	out := []Path{folder}
	for _, n := range names {
		out = append(out, p.File(path.Join(folder.Name, n)))
	}
	return out
}

// expand gives the names below a folder that match a pattern, part by part. It
// fails if it would have to look at too many.
func expand(dir string, parts []string, budget *int) (names []string, ok bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, true // nothing there
	}
	if *budget -= len(entries) + 1; *budget < 0 {
		return nil, false
	}
	for _, e := range entries {
		name := e.Name()
		if match, err := path.Match(parts[0], name); err != nil || !match || name[0] == '.' && parts[0][0] != '.' {
			continue // shells leave names with a dot out
		}
		if len(parts) == 1 {
			names = append(names, name)
			continue
		}
		below, ok := expand(filepath.Join(dir, name), parts[1:], budget)
		if !ok {
			return nil, false
		}
		for _, b := range below {
			names = append(names, name+"/"+b)
		}
	}
	return names, true
}
