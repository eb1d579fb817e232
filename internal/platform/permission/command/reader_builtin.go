package command

import "strings"

// testReads judges test and [. Only -v and -R evaluate what they are given.
func testReads(args []Word) bool {
	for _, a := range args {
		if a.Exact && (a.Text == "-v" || a.Text == "-R") || !a.Exact && a.many {
			return false
		}
	}
	return true
}

// dateReads judges date: an operand that is no format sets the clock.
func dateReads(args []Word) bool {
	s := scan("-u --utc --universal -R --rfc-email -I --iso-8601 --rfc-3339 -d: --date: -r: --reference: -j -f: -v:", args, false)
	for _, o := range s.operands {
		if !strings.HasPrefix(o.Text, "+") && !s.has("-j") {
			return false
		}
	}
	return s.bad == ""
}

// settingReads judges set and shopt: only settings that make a script stricter, or
// its patterns match more, and that change nothing in how it is parsed.
func settingReads(name string, args []Word) bool {
	if len(args) == 0 {
		return true
	}
	for i, a := range args {
		if !a.Exact || a.Text == "" {
			return false
		}
		switch {
		case name == "shopt":
			switch a.Text {
			case "-s", "-u", "-q", "-p", "globstar", "nullglob", "failglob", "inherit_errexit", "pipefail":
			default:
				return false
			}
		case a.Text[0] == '-' || a.Text[0] == '+':
			if strings.Trim(a.Text[1:], "euxvo") != "" || len(a.Text) == 1 {
				return false
			}
		default:
			before := args[max(0, i-1)].Text
			if i == 0 || !strings.HasSuffix(before, "o") {
				return false
			}
			switch a.Text {
			case "pipefail", "errexit", "nounset", "xtrace", "verbose":
			default:
				return false
			}
		}
	}
	return true
}

// variableReads judges read and unset: the names must be names, as an array's
// subscript is evaluated, and nothing that other commands obey.
func (p Place) variableReads(name string, args []Word) bool {
	set := "-r -s -d: -p: -n: -N: -t: -u: -a:"
	if name == "unset" {
		set = "-v"
	}
	s := scan(set, args, false)
	if s.bad != "" {
		return false
	}
	for _, o := range s.options {
		if o.name == "-a" {
			s.operands = append(s.operands, o.value)
		}
	}
	for _, o := range s.operands {
		if !o.Exact || !p.harmlessVariable(o.Text) {
			return false
		}
	}
	return true
}

// cdReads judges cd: where it goes must be written out.
func cdReads(args []Word) ([]Word, bool) {
	s := scan("-P -L -e", args, false)
	if len(s.operands) == 0 || s.operands[0].Text == "-" {
		return []Word{unknown("cd")}, s.bad == ""
	}
	return s.operands, s.bad == "" && len(s.operands) == 1
}

// goReads judges the go command.
func goReads(args []Word) ([]Word, bool) {
	if len(args) == 0 || !args[0].Exact {
		return nil, false
	}
	rest := args[1:]
	switch args[0].Text {
	case "version":
		return rest, scan("-m -v -json", rest, false).bad == ""
	case "env":
		return nil, scan("-json -changed", rest, false).bad == ""
	case "doc":
		return rest, scan("-all -c -cmd -short -src -u", rest, false).bad == ""
	case "help":
		return nil, true
	case "list":
		s := scan("-m -json -f: -deps -test -e -u -versions -find -tags: -retracted", rest, false)
		return append([]Word{}, s.operands...), s.bad == ""
	}
	return nil, false
}

// findReads judges find. What it runs for each file is a part of its own.
func findReads(args []Word) ([]Word, bool) {
	named := []Word{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Exact && isFindExec(a.Text) {
			for i++; i < len(args) && args[i].Text != ";" && args[i].Text != "+"; i++ {
			}
			continue
		}
		if !a.mayBeOption() {
			named = append(named, a)
			continue
		}
		if !a.Exact {
			return nil, false
		}
		switch a.Text {
		case "-P", "-maxdepth", "-mindepth", "-depth", "-xdev", "-mount", "-daystart", "-noleaf", "-ignore_readdir_race", "-warn", "-nowarn", "-regextype",
			"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname",
			"-type", "-size", "-empty", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-newermt", "-newerct", "-used",
			"-perm", "-user", "-group", "-uid", "-gid", "-nouser", "-nogroup", "-links", "-inum", "-samefile", "-fstype", "-readable", "-writable", "-executable",
			"-true", "-false", "-not", "-a", "-and", "-o", "-or", "-prune", "-quit", "-print", "-print0", "-printf", "-ls":
		default:
			if strings.Trim(a.Text[1:], "0123456789") != "" { // -mtime -7
				return nil, false
			}
		}
	}
	return named, true
}
