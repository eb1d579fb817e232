package command

import (
	"path"
	"strings"
)

// Code is the text of programs that a call is given in the line: scripts of
// interpreters, and what is fed to whatever takes orders from its input. It is
// empty where the words are data.
func (p *Part) Code() string {
	words := p.Call().Words
	if p.Kind != Run || len(words) == 0 {
		return ""
	}
	name := versionless(base(words[0].Text))
	var b strings.Builder
	scripted := p.Opaque != "" || interprets(name) || isAwk(name) || name == "sed" || name == "sqlite" || name == "make" || name == "gmake" || edits(name)
	if _, ok := interpreterOptions(name); ok || scripted {
		for _, w := range words[1:] {
			b.WriteString(w.Text + "\n")
			if w.Text != w.Source {
				b.WriteString(w.Source + "\n")
			}
		}
	}
	if p.obeysInput(name) {
		b.WriteString(p.input)
	}
	code := b.String()
	if strings.Contains(code, `\`) { // printf 'all:\n\trm x' | make -f -
		code += "\n" + strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\n", `\0`, "\n").Replace(code)
	}
	return code
}

// obeysInput reports whether a program takes from its input what it does, or which
// files it does it with.
func (p *Part) obeysInput(name string) bool {
	if p.Opaque != "" || interprets(name) || isAwk(name) || edits(name) || runsAnything(name) {
		return true
	}
	switch name {
	case "patch", "make", "gmake", "cpio", "rsync", "tar", "bsdtar", "pax", "sqlite", "bc", "gdb", "m4", "ftp", "sftp", "xargs":
		return true
	case "git":
		c := parseGit(p.Call().Words[1:])
		return c.sub == "apply" || c.sub == "am" || c.sub == "update-index" || c.sub == "checkout-index" || c.sub == "fast-import" || c.sub == "cat-file"
	}
	_, ok := interpreterOptions(name)
	for _, l := range p.Layers[:len(p.Layers)-1] {
		ok = ok || len(l.Words) > 0 && base(l.Words[0].Text) == "xargs"
	}
	return ok
}

func isAwk(name string) bool {
	return name == "awk" || name == "gawk" || name == "mawk" || name == "nawk"
}

// edits reports whether a program is an editor that takes commands.
func edits(name string) bool {
	switch name {
	case "ed", "red", "ex", "vi", "vim", "nvim", "view", "emacs", "kak", "hx", "nano":
		return true
	}
	return false
}

// maxTokens is how many names are looked for in a piece of code. Beyond them it may
// name anything.
const maxTokens = 20_000

// Named gives the names of files that code may mean, by the look of its words: with
// the folder that the part runs in, where that is known. More reports that there are
// too many to look at.
func (p *Part) Named(code string) (names []string, more bool) {
	seen := map[string]bool{}
	dirs := p.dir.names()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for token := range strings.FieldsFuncSeq(code, func(r rune) bool {
		return r < 0x80 && !strings.ContainsRune("_./~+@%-", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		if len(seen) > maxTokens {
			return names, true
		}
		token = expandHome(token, p.at.Home)
		for _, d := range dirs {
			for _, t := range []string{token, strings.TrimPrefix(strings.TrimPrefix(token, "a/"), "b/")} { // as patches name files
				full := path.Clean(t)
				if !isAbs(t) {
					full = path.Join(d, t)
				}
				if !isAbs(full) && strings.HasPrefix(full, "../") && p.at.Root != "" {
					full = path.Join(p.at.Root, full)
				}
				if rel, ok := within(p.at.Root, full); ok {
					full = rel
				}
				add(full)
			}
		}
	}
	return names, false
}
