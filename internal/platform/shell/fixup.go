package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// StripTail removes what makes the output of a command shorter before burin does:
// "| head" and "| tail" at the end of each part of the command that ";", "&&",
// "||" or "&" separate, and then a "2>&1" at its end, because both streams are one
// anyway. It returns the command and the removed pieces. What the model would have
// thrown away is then in the artifact, and the exit code is that of the program.
//
// A command is returned as it is if it has several lines or cannot be parsed.
//
// Decision: "| tail" goes, because it waits for the end of what it cuts; but not
// "tail -f", "tail -n +5" or one that reads a file. "| head" goes only if what it
// cuts will end without it: it stays behind loops, devices, "yes", and options
// that follow a file.
func StripTail(command string) (string, []string) {
	if strings.Contains(strings.TrimSpace(command), "\n") {
		return command, nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return command, nil
	}
	var cuts []cut
	for _, stmt := range file.Stmts {
		cuts = appendCuts(cuts, stmt)
	}
	slices.SortFunc(cuts, func(a, b cut) int { return int(a.from) - int(b.from) })
	var removed []string
	var b strings.Builder
	at := uint(0)
	for _, c := range cuts {
		b.WriteString(command[at:c.from])
		removed = append(removed, strings.TrimSpace(command[c.from:c.to]))
		at = c.to
	}
	b.WriteString(command[at:])
	return b.String(), removed
}

// cut is a piece of a command that goes, as offsets in bytes.
type cut struct{ from, to uint }

// appendCuts adds the cuts of a list of commands.
func appendCuts(cuts []cut, stmt *syntax.Stmt) []cut {
	if list, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && (list.Op == syntax.AndStmt || list.Op == syntax.OrStmt) {
		return appendCuts(appendCuts(cuts, list.X), list.Y)
	}
	if stmt.Negated {
		return cuts
	}
	for {
		p, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || (p.Op != syntax.Pipe && p.Op != syntax.PipeAll) || !limitsOutput(p) {
			break
		}
		cuts = append(cuts, cut{p.X.End().Offset(), p.Y.End().Offset()})
		stmt = p.X
	}
	return appendRedirect(cuts, stmt)
}

// appendRedirect adds the cut of a "2>&1" at the end of a pipeline, if output goes
// nowhere else.
func appendRedirect(cuts []cut, stmt *syntax.Stmt) []cut {
	for {
		p, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || (p.Op != syntax.Pipe && p.Op != syntax.PipeAll) {
			break
		}
		stmt = p.Y
	}
	if len(stmt.Redirs) != 1 || stmt.Cmd == nil {
		return cuts
	}
	r := stmt.Redirs[0]
	if r.Op != syntax.DplOut || r.N == nil || r.N.Value != "2" || r.Word.Lit() != "1" || r.Pos().Offset() < stmt.Cmd.End().Offset() {
		return cuts
	}
	return append(cuts, cut{stmt.Cmd.End().Offset(), r.End().Offset()})
}

// limitsOutput says whether the last command of a pipeline only shows less of what
// the others write, and nothing depends on it.
func limitsOutput(p *syntax.BinaryCmd) bool {
	if len(p.Y.Redirs) > 0 || p.Y.Negated {
		return false
	}
	call, ok := p.Y.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return false
	}
	var args []string
	for _, w := range call.Args {
		lit := w.Lit()
		if lit == "" {
			return false
		}
		args = append(args, lit)
	}
	switch args[0] {
	case "tail":
		return isLimit(args[1:])
	case "head":
		return isLimit(args[1:]) && !mayNotEnd(p.X)
	}
	return false
}

var (
	shortLimit = regexp.MustCompile(`^-(n|c)?[0-9]+[bkKMG]?$`)
	longLimit  = regexp.MustCompile(`^--(lines|bytes)=[0-9]+[bkKMG]?$`)
	number     = regexp.MustCompile(`^[0-9]+[bkKMG]?$`)
)

// isLimit says whether the arguments of head or tail are none, or one number of
// lines or bytes.
func isLimit(args []string) bool {
	switch len(args) {
	case 0:
		return true
	case 1:
		return shortLimit.MatchString(args[0]) || longLimit.MatchString(args[0])
	case 2:
		return slices.Contains([]string{"-n", "-c", "--lines", "--bytes"}, args[0]) && number.MatchString(args[1])
	}
	return false
}

// endless are programs that write until somebody stops them.
var endless = []string{"yes", "ping", "watch", "top", "htop", "vmstat", "iostat", "tcpdump", "strace", "inotifywait", "nc", "socat", "openssl"}

// followers are programs whose -f, -F or -w means to wait for more.
var followers = []string{"tail", "journalctl", "dmesg", "kubectl", "oc", "docker", "podman", "nerdctl", "heroku", "fly", "stern"}

// mayNotEnd says whether a command may write forever. It errs to that side.
func mayNotEnd(stmt *syntax.Stmt) bool {
	found := false
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.WhileClause, *syntax.ForClause, *syntax.FuncDecl, *syntax.CoprocClause:
			found = true
		case *syntax.CallExpr:
			found = found || neverEnds(n.Args)
		case *syntax.Redirect:
			found = found || n.Op == syntax.RdrIn && strings.HasPrefix(n.Word.Lit(), "/dev/")
		}
		return !found
	})
	return found
}

// neverEnds says whether a program with its arguments may write forever.
func neverEnds(args []*syntax.Word) bool {
	if len(args) == 0 {
		return false
	}
	name := args[0].Lit()
	name = name[strings.LastIndexByte(name, '/')+1:]
	if name == "" || slices.Contains(endless, name) {
		return true
	}
	for _, w := range args[1:] {
		switch arg := w.Lit(); {
		case arg == "--follow", arg == "--watch", strings.HasPrefix(arg, "/dev/"):
			return true
		case arg == "-f", arg == "-F", arg == "-w":
			return slices.Contains(followers, name)
		}
	}
	return false
}

// LeadingCd splits "cd DIR && REST" of one line into the folder and the rest. ok
// is false for anything else: another folder than a constant one, options, "cd -",
// or an "||" that would run without the folder.
func LeadingCd(command string) (dir, rest string, ok bool) {
	command = strings.TrimSpace(command)
	if strings.Contains(command, "\n") {
		return "", "", false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) == 0 {
		return "", "", false
	}
	stmt := file.Stmts[0]
	var list *syntax.BinaryCmd
	for {
		b, isList := stmt.Cmd.(*syntax.BinaryCmd)
		if !isList {
			break
		}
		if b.Op != syntax.AndStmt || stmt.Negated || len(stmt.Redirs) > 0 {
			return "", "", false
		}
		list, stmt = b, b.X
	}
	if list == nil || stmt.Negated || len(stmt.Redirs) > 0 {
		return "", "", false
	}
	call, isCall := stmt.Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Assigns) > 0 || len(call.Args) != 2 || call.Args[0].Lit() != "cd" {
		return "", "", false
	}
	dir, ok = constantPath(command, call.Args[1])
	rest = strings.TrimSpace(command[list.Y.Pos().Offset():])
	return dir, rest, ok && rest != ""
}

// constantPath is the path that a word of command stands for, if that is the same in every
// shell. A "~" at its beginning is left to whoever resolves the path.
func constantPath(command string, w *syntax.Word) (string, bool) {
	if !isStatic(w.Parts) {
		return "", false
	}
	first, unquoted := w.Parts[0].(*syntax.Lit)
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, `*?[{`) {
			return "", false
		}
	}
	home := unquoted && strings.HasPrefix(first.Value, "~")
	if home && first.Value != "~" && !strings.HasPrefix(first.Value, "~/") {
		return "", false // somebody else's
	}
	from, to := w.Pos().Offset(), w.End().Offset()
	value := words{text: command[from:to]}
	path, err := value.word()
	if err != nil || !value.end() || path == "" || strings.HasPrefix(path, "-") {
		return "", false
	}
	if strings.HasPrefix(path, "~") && !home {
		path = "./" + path
	}
	return path, true
}

// isStatic says whether a word has the same value everywhere.
func isStatic(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if p.Dollar || !isStatic(p.Parts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
