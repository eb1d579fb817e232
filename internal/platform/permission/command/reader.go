package command

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/private"
)

// reader is a program that changes nothing as long as its options are among
// those given here.
type reader struct {
	// options are the options it may have: with any other it is not sure what it does.
	options  string
	operands operands
	most     int // operands; 0 is no limit, -1 is none
	// lenient says that no option of it does more than read and print: a word that is
	// not known may be one.
	lenient bool
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
	if !ok || namesInFile(c.Words) > 0 {
		return nil, false
	}
	for _, w := range fileWords(c.Words[0].Text, words) {
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
	name, args := words[0].Text, p.patterns(words[1:])
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

// patterns are the arguments in which a pattern of file names is no option, if no
// file in the folder has a name that looks like one.
func (p *Part) patterns(args []Word) []Word {
	wild := func(w Word) bool { return w.glob && !w.Exact && w.Text == "" && w.mayBeOption() }
	if !slices.ContainsFunc(args, wild) || p.dashes() {
		return args
	}
	args = slices.Clone(args)
	for i := range args {
		if wild(args[i]) {
			args[i].Text, args[i].many = "./", false
		}
	}
	return args
}

// dashes reports whether the folder it runs in has, or may have, a name that begins
// with a dash.
func (p *Part) dashes() bool {
	dirs := p.dir.names()
	for _, d := range dirs {
		if p.at.Root == "" {
			return true
		}
		entries, err := readNames(p.at.abs(d), maxNames)
		if len(entries) == maxNames || err != nil && !os.IsNotExist(err) && err != io.EOF {
			return true
		}
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name()[0] == '-' }) {
			return true
		}
	}
	return len(dirs) == 0
}

// fileWords leaves out what grep takes for patterns of names.
func fileWords(program string, words []Word) []Word {
	switch base(program) {
	case "grep", "egrep", "fgrep":
	default:
		return words
	}
	pattern := func(w Word) bool {
		return w.Exact && (strings.HasPrefix(w.Text, "--include=") || strings.HasPrefix(w.Text, "--exclude=") || strings.HasPrefix(w.Text, "--exclude-dir="))
	}
	if !slices.ContainsFunc(words, pattern) {
		return words
	}
	return slices.DeleteFunc(slices.Clone(words), pattern)
}

// namesInFile is the index of the argument by which a call is told its files, or more
// options, by a file: what it reads and does is then not written out. 0 without one.
func namesInFile(words []Word) int {
	name := versionless(base(words[0].Text))
	options, at := "", false
	switch name {
	case "strings", "nm", "size", "ar", "ranlib", "ld", "as", "objdump", "objcopy", "readelf", "strip", "addr2line", "c++filt", "elfedit", "windres", "dlltool", "gold", "lld",
		"gcc", "g++", "cc", "c++", "cpp", "clang", "clang++", "gfortran", "rustc", "swiftc", "ghc", "dmd", "kotlinc", "scalac",
		"java", "javac", "javadoc", "jar", "jlink", "jpackage", "jdeps", "csc", "vbc", "msbuild", "pytest", "7z", "7za", "7zr", "rar", "sphinx-build", "nasm", "protoc", "cl", "link":
		at = true
	case "wc", "du", "sort", "find":
		options = "--files0-from -files0-from"
	case "tar", "bsdtar":
		options = "--files-from -T"
	case "rsync", "ack":
		options = "--files-from --include-from --exclude-from"
	case "git":
		options = "--pathspec-from-file"
	case "tree":
		options = "--fromfile --fromtabfile --infofile"
	case "xargs":
		options = "--arg-file -a"
	case "curl":
		options = "--config -K"
	case "wget", "aria2c":
		options = "--input-file -i"
	case "zip":
		options = "-@"
	case "file":
		options = "--files-from -f"
	case "xzcat", "xz", "unxz", "lzcat", "lzma", "unlzma":
		options = "--files --files0"
	}
	if options == "" && !at {
		return 0
	}
	for i, w := range words[1:] {
		if !w.Exact || w.Text == "" {
			continue
		}
		if at && w.Text[0] == '@' && len(w.Text) > 1 {
			return i + 1
		}
		if w.Text[0] != '-' {
			continue
		}
		for o := range strings.FieldsSeq(options) {
			if given, _, _ := strings.Cut(w.Text, "="); given == o || optional(w, o) && len(given) > 4 || len(o) == 2 && optional(w, o) {
				return i + 1
			}
		}
	}
	return 0
}

func (r reader) reads(args []Word) ([]Word, bool) {
	known := args
	if r.lenient {
		known = slices.Clone(args)
		for i, a := range known {
			if !a.Exact && a.mayBeOption() {
				known[i].Exact, known[i].Text = true, "operand"
			}
		}
	}
	s := scan(r.options, known, false)
	if r.lenient {
		s.operands = args
	}
	if s.bad != "" || !r.few(len(s.operands)) {
		return nil, false
	}
	return r.files(args, s), true
}

func (r reader) few(n int) bool { return r.most == 0 || n <= max(0, r.most) }

// files are the arguments that may name files.
func (r reader) files(args []Word, s scanned) []Word {
	switch {
	case r.operands == text:
		return nil
	case r.operands == files || len(s.operands) == 0:
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
		if o.set && o.name != "--include" && o.name != "--exclude" && o.name != "--exclude-dir" {
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
	if _, file, ok := strings.Cut(w.Text, "file://"); ok {
		add(file)
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
	if private.Named(w.Source) {
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
