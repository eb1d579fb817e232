package command

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// removal judges what deletes files.
func removal(c call) string {
	switch c.name {
	case "rm", "rmdir", "unlink":
		deep := c.option("-r", "-R", "--recursive", "--no-preserve-root")
		for _, a := range c.operands() {
			if why := c.removes(a, deep); why != "" {
				return why
			}
		}
	case "shred", "srm", "wipe":
		return "destroys files so that nothing brings them back"
	case "find":
		if !c.option("-delete") {
			return ""
		}
		filtered := c.option("-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-mtime", "-mmin", "-size", "-empty", "-newer", "-type")
		for _, a := range c.operands() {
			p := c.resolve(a)
			if p.Where == Outside && !temporary(p.Name) {
				return "removes files outside of the workspace"
			}
		}
		if !filtered {
			return "removes everything it finds"
		}
	case "truncate":
		for _, a := range c.operands() {
			if p := c.resolve(a); p.Where == Outside && !temporary(p.Name) {
				return "empties a file outside of the workspace"
			}
		}
	}
	return ""
}

// removes judges one operand of rm.
func (c call) removes(a Word, deep bool) string {
	if !a.Exact && !a.glob {
		if deep {
			return "removes folders whose names are not known before it runs"
		}
		return ""
	}
	text := a.Text
	whole := false // everything in a folder, by a pattern
	if a.glob {
		dir, last := path.Split(strings.Trim(a.Source, `"'`))
		if strings.Trim(last, "*.?{},") != "" {
			if !deep {
				return ""
			}
		} else {
			whole = true
		}
		if a.Text != "" {
			dir = a.Text
		}
		if text = dir; text == "" {
			text = "."
		}
	}
	p := c.part.at.Resolve(c.part.dir, text)
	switch {
	case p.Where == Inside && p.Name == "." && (whole || deep && !a.glob):
		return "removes everything in the workspace"
	case p.Where == Inside && (p.Name == ".git" || strings.HasPrefix(p.Name, ".git/")):
		return "removes the history of the project"
	case p.Where == Inside || !deep && !whole:
		return ""
	case p.Where == Unknown:
		return "removes folders that are not known before it runs"
	case p.Name == "/":
		return "removes everything on this machine"
	case p.Name == c.part.at.Home:
		return "removes everything in the home folder"
	case !temporary(p.Name):
		return "removes folders outside of the workspace"
	}
	return ""
}

func (c call) resolve(a Word) Path {
	if !a.Exact {
		return Path{Text: a.Source}
	}
	return c.part.at.Resolve(c.part.dir, a.Text)
}

// ownership judges what changes who may do what with files.
func ownership(c call) string {
	switch c.name {
	case "chmod", "chown", "chgrp", "setfacl", "chattr":
	default:
		return ""
	}
	deep := c.option("-R", "--recursive")
	for _, a := range c.operands() {
		if a.Exact && (strings.Contains(a.Text, "+s") || c.name == "chmod" && len(a.Text) == 4 && strings.Trim(a.Text, "01234567") == "" && a.Text[0] > '1') {
			return "lets a file run with the rights of its owner"
		}
		p := c.resolve(a)
		if p.Where == Outside && (deep && !temporary(p.Name) || c.part.at.Sensitive(p) != "") {
			return "changes who may use files outside of the workspace"
		}
		if deep && c.name == "chmod" && c.verb(0) == "777" && (p.Name == "." || p.Where == Unknown) {
			return "lets everyone change everything here"
		}
	}
	return ""
}

// written judges the files that copying programs write.
func written(c call) string {
	for _, a := range c.targets() {
		if !a.Exact || isDevice(a.Text) && c.name != "mv" {
			continue
		}
		if c.name == "mv" && a.Text == "/dev/null" {
			return "throws files away"
		}
		if p := c.resolve(a); p.Where != Unknown {
			if why := c.part.at.Sensitive(p); why != "" {
				return why
			}
		}
	}
	return ""
}

// Writes are the files that a call surely writes or removes, as far as they are
// written out: those of programs that copy, and of redirections.
func (p *Part) Writes() []Path {
	if p.Kind == Write {
		return []Path{p.Path}
	}
	words := p.Call().Words
	if len(words) == 0 || !words[0].Exact {
		return nil
	}
	c := call{base(words[0].Text), words[1:], p}
	var out []Path
	for _, a := range c.targets() {
		out = append(out, c.resolve(a))
	}
	for _, a := range c.landings() {
		out = append(out, c.resolve(a))
	}
	return out
}

// landings are the names that a copying program gives its sources if its target is
// a folder.
func (c call) landings() []Word {
	switch c.name {
	case "cp", "mv", "install", "ln", "rsync", "scp", "ditto":
	default:
		return nil
	}
	operands := c.operands()
	into := c.values("-t", "--target-directory")
	if len(operands) > 1 {
		into = append(into, operands[len(operands)-1])
	}
	var out []Word
	for _, to := range into {
		for _, a := range operands {
			if to.Exact && a.Exact && a.Text != to.Text {
				out = append(out, Word{Text: path.Join(to.Text, path.Base(a.Text)), Exact: true, Source: a.Source})
			}
		}
	}
	return out
}

// targets are the arguments that name what a program writes.
func (c call) targets() []Word {
	operands := c.operands()
	switch c.name {
	case "cp", "install", "ln", "rsync", "scp", "ditto":
		return append(operands[max(0, len(operands)-1):], c.values("-t", "--target-directory")...)
	case "mv", "tee", "touch", "sponge", "mkdir", "patch", "rm", "rmdir", "unlink", "shred", "truncate":
		return append(operands, c.values("-t", "--target-directory")...)
	case "sed", "perl":
		if c.option("-i", "--in-place") {
			return operands
		}
	case "dd":
		return c.values("of=")
	case "curl":
		return c.values("-o", "--output", "--output-dir")
	case "wget":
		return c.values("-O", "--output-document", "-P", "--directory-prefix")
	case "tar", "bsdtar":
		if c.option("-x", "--extract", "--get") || strings.Contains(c.verb(0), "x") {
			return c.values("-C", "--directory")
		}
	case "unzip":
		return c.values("-d")
	case "sort":
		return c.values("-o", "--output")
	}
	return nil
}

// values are what is given to options: behind them, after "=", or directly
// behind a letter.
func (c call) values(names ...string) []Word {
	var out []Word
	for i, a := range c.args {
		for _, n := range names {
			rest, ok := strings.CutPrefix(a.Text, n)
			switch {
			case !ok || !a.Exact:
			case rest == "":
				if i+1 < len(c.args) {
					out = append(out, c.args[i+1])
				}
			case strings.HasSuffix(n, "="):
				out = append(out, Word{Text: rest, Exact: true, Source: a.Source})
			case strings.HasPrefix(n, "--"):
				if rest[0] == '=' {
					out = append(out, Word{Text: rest[1:], Exact: true, Source: a.Source})
				}
			default:
				out = append(out, Word{Text: rest, Exact: true, Source: a.Source})
			}
		}
	}
	return out
}

// sent judges what leaves the machine: files that hold keys, and control.
func (w *walker) sent(c call) string {
	var out []Word
	switch c.name {
	case "nc", "ncat", "netcat", "socat", "telnet":
		if c.option("-e", "-c", "--exec", "--sh-exec") || strings.Contains(strings.ToLower(joined(c.args)), "exec:") {
			return "lets another machine run commands here"
		}
	case "curl", "wget", "http", "https", "xh":
		out = c.values("-T", "--upload-file", "--post-file", "--body-file")
		for _, a := range c.args {
			if i := strings.IndexByte(a.Text, '@'); i >= 0 && !strings.Contains(a.Text, "://") {
				out = append(out, Word{Text: expandHome(a.Text[i+1:], w.at.Home), Exact: true})
			}
		}
	case "scp", "rsync", "sftp", "aws", "gsutil", "rclone", "gh":
		out = c.operands()
	default:
		return ""
	}
	keys := false
	for _, a := range out {
		p := c.resolve(a)
		keys = keys || a.Exact && w.at.Guarded(p)
	}
	for from := w.from; from != nil; from = from.up {
		n := from.text
		if from.stmt != nil {
			n = from.stmt
		}
		syntax.Walk(n, func(n syntax.Node) bool {
			if word, ok := n.(*syntax.Word); ok {
				a := evaluate(word, w.src, w.at, c.part.dir)
				keys = keys || a.Exact && w.at.Guarded(c.resolve(a))
			}
			return true
		})
	}
	if keys {
		return "sends a file that holds keys to another machine"
	}
	return ""
}
