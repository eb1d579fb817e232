package shell

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// StripTail splits a "| tail" off the end of a command whose output is bounded
// anyway, so that all of it can be kept and the exit code is that of the program.
// Lines is how many it would have left. ok is false if the command has several
// lines, cannot be parsed, or is more than one pipeline behind calls of cd.
//
// Decision: only "tail" goes, because it waits for the end of what it cuts, and
// only with a number of lines; "tail -f", "tail -n +5" and one that reads a file
// do other things. "head" stays: it ends what it cuts, which may be long or
// endless, and that is work saved. So does "2>&1", which does no harm. A "cd DIR
// &&" at the beginning stays as well: the shell keeps its folder for the next
// command, and that is what was asked for.
func StripTail(command string) (rest string, lines int, ok bool) {
	if strings.Contains(strings.TrimSpace(command), "\n") {
		return "", 0, false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 {
		return "", 0, false
	}
	stmt := file.Stmts[0]
	for {
		if stmt.Negated || stmt.Background || stmt.Coprocess || len(stmt.Redirs) > 0 {
			return "", 0, false
		}
		list, isList := stmt.Cmd.(*syntax.BinaryCmd)
		if !isList {
			return "", 0, false
		}
		if list.Op == syntax.Pipe || list.Op == syntax.PipeAll {
			lines, ok = tailLines(list.Y)
			return command[:list.X.End().Offset()], lines, ok
		}
		if list.Op != syntax.AndStmt || !isCd(list.X) {
			return "", 0, false
		}
		stmt = list.Y
	}
}

// isCd says whether a command is made of calls of cd, which print nothing.
func isCd(stmt *syntax.Stmt) bool {
	if stmt.Negated || len(stmt.Redirs) > 0 {
		return false
	}
	switch c := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		return c.Op == syntax.AndStmt && isCd(c.X) && isCd(c.Y)
	case *syntax.CallExpr:
		return len(c.Args) == 2 && c.Args[0].Lit() == "cd" && c.Args[1].Lit() != "-"
	}
	return false
}

var (
	shortLines = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-n?([0-9]{1,6})$`) })
	longLines  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--lines=([0-9]{1,6})$`) })
	number     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,6})$`) })
)

// tailLines is how many lines the last command of a pipeline leaves; ok is false
// if it does anything but that.
func tailLines(stmt *syntax.Stmt) (lines int, ok bool) {
	call, isCall := stmt.Cmd.(*syntax.CallExpr)
	if !isCall || stmt.Negated || len(stmt.Redirs) > 0 || len(call.Assigns) > 0 || len(call.Args) == 0 || call.Args[0].Lit() != "tail" {
		return 0, false
	}
	var args []string
	for _, w := range call.Args[1:] {
		args = append(args, w.Lit())
	}
	var m []string
	switch {
	case len(args) == 0:
		return 10, true
	case len(args) == 1:
		if m = shortLines().FindStringSubmatch(args[0]); m == nil {
			m = longLines().FindStringSubmatch(args[0])
		}
	case len(args) == 2 && (args[0] == "-n" || args[0] == "--lines"):
		m = number().FindStringSubmatch(args[1])
	}
	if m == nil {
		return 0, false
	}
	lines, _ = strconv.Atoi(m[1]) // six digits
	return lines, lines > 0
}
