package command

import "strings"

// writesOutside are the arguments of a call that name places outside of the workspace
// that it writes to, or places that aren't known. First words say what runs, not
// where it writes.
func (p *Part) writesOutside(words []Word) []Hazard {
	if !words[0].Exact {
		return nil
	}
	c := call{base(words[0].Text), words[1:], p}
	var out []Hazard
	for _, a := range append(c.targets(), c.outputs()...) {
		why := ""
		switch {
		case a.glob && !hasDotDot(a.Text) && !isAbs(a.Text):
			continue // names below the folder that it runs in
		case !a.Exact && !a.glob:
			why = "is written to, and isn't known before it runs"
		case a.glob || p.at.Resolve(p.dir, a.Text).Where == Outside && !isDevice(a.Text):
			why = "is written to, and is outside of the workspace"
		default:
			continue
		}
		out = append(out, Hazard{At: indexOf(words, a.Source), Why: why})
	}
	return out
}

// outputs are what programs write beside what targets knows.
func (c call) outputs() []Word {
	operands := c.operands()
	switch c.name {
	case "chmod", "chown", "chgrp", "setfacl", "chattr", "setfattr", "mknod":
		if c.name == "mknod" {
			return operands[:min(1, len(operands))]
		}
		return operands[min(1, len(operands)):]
	case "mkfifo", "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lz4", "dos2unix", "unix2dos", "fallocate", "link", "mktemp":
		return append(operands, c.values("-p", "--tmpdir")...)
	case "zip", "sqlite3", "sqlite":
		return operands[:min(1, len(operands))]
	case "7z", "7za", "ar":
		return operands[min(1, len(operands)):min(2, len(operands))]
	case "split", "csplit", "uniq":
		return append(operands[min(1, len(operands)):], c.values("-f", "--prefix")...)
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "rustc", "tsc", "pandoc", "dot", "protoc", "esbuild":
		return c.values("-o", "--output", "--outDir", "--outfile", "--outdir", "--out-dir", "-MF", "-dumpdir", "-aux-info", "-Wp,-MD,", "-Wp,-MMD,", "-Wl,-Map=", "-Wl,-Map,", "-Wl,-o,", "-fprofile-dir=", "-fprofile-generate=")
	case "openssl":
		return c.values("-out", "-keyout")
	case "ssh-keygen":
		return c.values("-f")
	case "script", "typescript":
		return operands
	case "rsync":
		return c.values("--backup-dir", "--log-file", "--partial-dir", "-T", "--temp-dir")
	case "install", "cp", "mv", "ln":
		if len(operands) > 0 && c.option("-d", "--directory") && c.name == "install" {
			return operands
		}
	case "tar", "bsdtar":
		if !c.option("-c", "-r", "-u", "--create", "--append", "--update") && !strings.ContainsAny(c.verb(0), "cru") {
			return nil
		}
		files := c.values("-f", "--file")
		for i, a := range c.args[:max(0, len(c.args)-1)] { // cf x, -czf x
			if a.Exact && !strings.HasPrefix(a.Text, "--") && (i == 0 || a.mayBeOption()) && strings.HasSuffix(a.Text, "f") {
				files = append(files, c.args[i+1])
			}
		}
		return files
	case "unzip":
		return c.values("-d")
	case "git":
		g := parseGit(c.args)
		switch g.sub {
		case "clone", "init", "worktree", "mv", "rm", "bundle", "submodule":
			var rest []Word
			for _, a := range g.args {
				if !a.Exact && !a.mayBeOption() {
					rest = append(rest, a) // those that are known are judged with all of git's
				}
			}
			return rest
		}
	}
	return nil
}
