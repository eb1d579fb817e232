package command

import "strings"

// testReads judges test and [. Only -v and -R evaluate what they are given. A
// word that is not known may be one of them, unless its place makes it an operand.
func testReads(args []Word) bool {
	for i, a := range args {
		switch {
		case a.Exact && (a.Text == "-v" || a.Text == "-R"), !a.Exact && a.many:
			return false
		case !a.Exact && a.MayBe("-v") && !isOperand(args, i):
			return false
		}
	}
	return true
}

// isOperand reports whether a word of test surely is no operator: it stands alone,
// behind an operator for one operand, or beside one for two.
func isOperand(args []Word, i int) bool {
	alone := len(args) == 1 || len(args) == 2 && i == 0 && args[1].Exact && args[1].Text == "]"
	return alone ||
		i > 0 && (isOperator(args[i-1], "-n -z -e -f -d -s -r -w -x -h -L -p -S -b -c -g -u -k -t -O -G -N") || isOperator(args[i-1], comparisons)) ||
		i+1 < len(args) && isOperator(args[i+1], comparisons)
}

// comparisons are the operators of test that have two operands, but for -a and -o.
const comparisons = "= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef"

func isOperator(w Word, set string) bool {
	return w.Exact && w.Text != "" && strings.Contains(" "+set+" ", " "+w.Text+" ")
}

// waitReads judges wait: -p sets a variable, whose subscript the shell evaluates.
func waitReads(args []Word) bool {
	for _, a := range args {
		if a.Exact && strings.HasPrefix(a.Text, "-") && a.Text != "-n" && a.Text != "-f" {
			return false
		}
		if !a.Exact && a.mayBeOption() && a.Source != "$!" && a.Source != `"$!"` {
			return false
		}
	}
	return true
}

// psReads judges ps: with e among the letters that have no dash, and with -E of
// some systems, it shows the environment of processes, and the keys in it.
func psReads(args []Word) bool {
	s := scan("-A -a -d -e -f -F -H -j -l -L -M -m -N -r -S -T -w -x -y -Z -c -h -X -v -g: -G: -n: -o: -O: -p: -q: -s: -t: -u: -U: -C: --pid: --ppid: --user: --User: --group: --Group: --sid: --tty: --sort: --format: --cols: --columns: --rows: --width: --forest --headers --no-headers --deselect --cumulative --quick-pid: --info --context", args, false)
	for _, o := range s.operands {
		if !o.Exact || strings.Contains(o.Text, "e") && strings.Trim(o.Text, "0123456789,") != "" {
			return false
		}
	}
	for _, o := range s.options {
		if o.set && (!o.value.Exact || strings.Contains(o.value.Text, "environ")) {
			return false
		}
	}
	return s.bad == ""
}

// dateReads judges date: an operand that is no format sets the clock. What it does
// not understand of a file of dates it prints.
func dateReads(args []Word) ([]Word, bool) {
	var named []Word
	s := scan("-u --utc --universal -R --rfc-email -I --iso-8601 --rfc-3339 -d: --date: -r: --reference: -j -f: --file: -v:", args, false)
	for _, o := range s.operands {
		if !strings.HasPrefix(o.Text, "+") && !s.has("-j") {
			return nil, false
		}
	}
	for _, o := range s.options {
		switch o.name {
		case "-f", "--file", "-r", "--reference":
			named = append(named, o.value)
		}
	}
	return named, s.bad == ""
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
			_, i = findRun(args, i)
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
