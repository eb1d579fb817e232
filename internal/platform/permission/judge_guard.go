package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission/command"
)

// guard applies the rules that refuse or ask. They also hold where it is only
// possible that they are meant: then the part is a question.
func (j *judge) guard(f *finding, name string, p *command.Part) bool {
	var maybe *compiled
	for _, c := range j.rules {
		if order(c.Verdict) == 2 {
			break
		}
		if !c.is(name) {
			continue
		}
		switch may, sure := c.refuses(p); {
		case sure || c.bare():
			f.ruled(c)
			return true
		case may && maybe == nil:
			maybe = c
		}
	}
	if j.guardFiles(f, name, p) {
		return true
	}
	if p.Opaque != "" && j.names(f, name, p.Text, p.Opaque) {
		return true
	}
	if maybe != nil && (j.mode != Plan || order(maybe.Verdict) < 2) {
		f.ask("it may be what a rule is about" + source(&maybe.Rule))
		f.rule, f.final = &maybe.Rule, true
		return true
	}
	return false
}

// refuses compares a rule that refuses or asks with every call around a part.
// Unlike what allows, it also holds for the program under another path, and for
// the words of the rule with options between them and in another order.
func (c *compiled) refuses(p *command.Part) (may, sure bool) {
	if len(c.call.Words) == 0 {
		return false, false
	}
	for _, layer := range p.Layers {
		m, s := c.within(layer.Words)
		may, sure = may || m, sure || s
	}
	if !may && !sure && p.Kind == command.Run && (p.Opaque != "" || len(p.Hazards()) > 0) {
		for _, w := range p.Call().Words[1:] {
			may = may || c.named(w.Source) // python3 -c 'os.system("...")'
		}
		code := p.Code()
		may = may || code != "" && c.named(code) // make -f - <<EOF
	}
	return may, sure
}

// within compares the rule with one call.
func (c *compiled) within(words []command.Word) (may, sure bool) {
	want := c.call.Words
	if len(words) == 0 {
		return false, false
	}
	if !words[0].Exact {
		return words[0].MayBe(want[0].Text), false
	}
	if !sameProgram(words[0].Text, want[0].Text) || !c.first && len(words) < len(want) {
		return false, false
	}
	if !c.first {
		return c.alike(words)
	}
	sure = true
	var operands []command.Word
	for _, o := range want[1:] {
		if !strings.HasPrefix(o.Text, "-") {
			operands = append(operands, o)
			continue
		}
		m, s := given(words[1:], o.Text)
		if !m && !s {
			return false, false
		}
		sure = sure && s
	}
	m, s := inOrder(words[1:], operands)
	return m || s, sure && s
}

// alike compares a rule for exactly one call, word by word.
func (c *compiled) alike(words []command.Word) (may, sure bool) {
	want := c.call.Words
	m, s := inOrder(words[1:], want[1:])
	if s && len(words) > len(want) {
		for _, w := range words {
			m = m || !w.Exact
		}
		return m, false // more words than the rule has
	}
	return m, s
}

// sameProgram compares programs without their folders. File systems differ in
// whether capitals count.
func sameProgram(a, b string) bool {
	return strings.EqualFold(path.Base(a), path.Base(b))
}

// inOrder looks for words in a call in their order, with options between them.
func inOrder(words, want []command.Word) (may, sure bool) {
	i := 0
	after := false // the word before was an option, which may have a value
	for _, w := range words {
		switch {
		case i == len(want):
			return may, !may
		case w.Exact && w.Text == want[i].Text:
			i++
			after = false
		case !w.Exact && w.MayBe(want[i].Text):
			may = true
			i++
		case strings.HasPrefix(w.Text, "-"):
			after = true
		case after:
			after = false
		default:
			return may, false
		}
	}
	return may, i == len(want) && !may
}

// given looks for an option of a rule anywhere in a call: as it stands, with a
// value, among other letters, or cut short.
func given(words []command.Word, option string) (may, sure bool) {
	letters := ""
	for _, w := range words {
		name, _, _ := strings.Cut(w.Text, "=")
		switch {
		case w.Exact && w.Text == "--" && option != "--":
			return may, false
		case w.Exact && (w.Text == option || name == option):
			return true, true
		case !w.Exact:
			may = may || w.MayBeOption()
		case strings.HasPrefix(name, "--"):
			may = may || len(name) > 4 && strings.HasPrefix(option, name)
		case strings.HasPrefix(name, "-"):
			letters += name[1:]
		}
	}
	if len(option) > 4 || strings.HasPrefix(option, "--") || option == "-" {
		return may, false
	}
	for _, l := range option[1:] {
		if !strings.ContainsRune(letters, l) {
			return may, false
		}
	}
	return true, true
}

// names refuses a text of which it is not known what it does if it names what a
// rule refuses.
func (j *judge) names(f *finding, name, text, why string) bool {
	for _, c := range j.rules {
		if order(c.Verdict) == 0 && len(c.call.Words) > 0 && c.is(name) && c.named(text) {
			f.ruled(c)
			f.Reason = why + ", and it names what " + f.Reason
			return true
		}
	}
	return false
}

// named reports whether a text holds all words of the rule but options, as words.
func (c *compiled) named(text string) bool {
	quotes := strings.NewReplacer("'", "", `"`, "", `\`, "")
	// A line that is continued may be one or, in a comment, two.
	text = quotes.Replace(strings.ReplaceAll(text, "\\\n", "")) + "\n" + quotes.Replace(text)
	tokens := map[string]bool{}
	for t := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r > 0x7e || !strings.ContainsRune("_.-+@%:,$", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		tokens[strings.ToLower(strings.Trim(t, ".,:"))] = true
	}
	for i, w := range c.call.Words {
		word := strings.ToLower(w.Text)
		if i == 0 {
			word = path.Base(word)
		}
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "/") && !tokens[word] {
			return false
		}
	}
	return true
}

// guardFiles applies the rules that refuse files or ask about them to the files
// that a part names, or may name.
func (j *judge) guardFiles(f *finding, name string, p *command.Part) bool {
	if !j.guarded {
		return false
	}
	named, more := p.Mentions()
	_, reads := p.Reads()
	writes := p.Writes()
	named = append(named, writes...)
	var inCode []string
	if !reads {
		var tooMany bool
		inCode, tooMany = p.Named(p.Code())
		more = more || tooMany
	}
	var maybe, open *compiled
	var reading []*compiled // rules about reading that are not enforced below
	for _, c := range j.rules {
		if order(c.Verdict) == 2 {
			break
		}
		if c.glob == "" || !c.is("read") && !c.is("edit") || p.Kind == command.Read && !c.is("read") || p.Kind == command.Write && !c.is("edit") {
			continue
		}
		if p.Kind == command.Run && reads && !c.is("read") {
			continue // nothing is edited
		}
		for _, n := range named {
			if !c.meant(n) {
				if maybe == nil && slices.ContainsFunc(n.May, c.matchPath) && !j.holds(c) {
					maybe = c
				}
				continue
			}
			j.refuseFile(f, c, n.Name, p.Kind == command.Run && !reads && !slices.ContainsFunc(writes, c.meant))
			return true
		}
		if p.Kind == command.Run && c.is("read") {
			if j.showsFile(f, c, p) {
				return true
			}
			if !j.holds(c) {
				reading = append(reading, c)
			}
		}
		for _, n := range inCode {
			if c.matchName(n, false) {
				j.refuseFile(f, c, n, true)
				return true
			}
		}
		if open == nil && !j.holds(c) {
			open = c
		}
		if maybe == nil && p.Kind == command.Run && !reads && !j.holds(c) && slices.ContainsFunc(p.Dirs(), func(dir string) bool { return c.matchName(dir, false) }) {
			maybe = c // it runs among the files: unzip a.zip
		}
	}
	if j.readsTree(f, reading, p) {
		return true
	}
	switch wide := j.mode == Full || j.bareRule(name, Allow) != nil; {
	case maybe != nil && wide:
		f.ask("it may be about a file that a rule refuses" + source(&maybe.Rule))
	case open == nil || !wide:
		return false
	case more && (p.Kind != command.Run || !namesNothing(p)), p.Kind != command.Run && p.Opaque != "":
		f.ask("it may name a file that rules refuse")
	default:
		return false
	}
	f.single = true
	return true
}

// showsFile applies a rule about reading to what git prints of its history, which
// nothing below refuses.
func (j *judge) showsFile(f *finding, c *compiled, p *command.Part) bool {
	named, anything, within := p.Shows()
	for _, n := range named {
		if c.meant(n) || slices.ContainsFunc(n.May, c.matchPath) {
			j.refuseFile(f, c, n.Name, false)
			return true
		}
		anything = anything || !n.Known()
	}
	if anything && c.mayLieIn(within) {
		f.ask("it may print a file from git's history that a rule refuses" + source(&c.Rule))
		f.rule, f.final = &c.Rule, true
		return true
	}
	return false
}

// readsTree applies rules about reading to folders that are read with all below.
func (j *judge) readsTree(f *finding, rules []*compiled, p *command.Part) bool {
	if len(rules) == 0 {
		return false
	}
	for _, t := range p.Trees() {
		t.Secrets = false
		c := rules[0]
		name, ok := j.at.Find(t, func(name string) bool {
			i := slices.IndexFunc(rules, func(c *compiled) bool { return c.matchName(name, false) })
			if i >= 0 {
				c = rules[i]
			}
			return i >= 0
		}, nil)
		if name == "" && ok {
			continue
		}
		if f.ask("it reads all of " + t.Root.Name + ", which has too many files to find those that a rule refuses" + source(&c.Rule)); ok {
			f.ask("it reads all of " + t.Root.Name + ", and a rule refuses " + name + source(&c.Rule))
		}
		f.rule, f.final = &c.Rule, true
		return true
	}
	return false
}

// mayLieIn reports whether files that the rule is for may lie in one of some paths of
// the workspace, or anywhere in it if there are none.
func (c *compiled) mayLieIn(paths []command.Path) bool {
	if len(paths) == 0 {
		return c.reaches(".")
	}
	return slices.ContainsFunc(paths, func(p command.Path) bool {
		return p.Name == "" || c.reaches(p.Name) || p.Real != "" && c.reaches(p.Real)
	})
}

// exposed reports whether there is a rule about files that only the analysis of
// commands enforces.
func (j *judge) exposed() bool {
	return slices.ContainsFunc(j.rules, func(c *compiled) bool {
		return order(c.Verdict) < 2 && c.glob != "" && (c.is("read") || c.is("edit")) && !j.holds(c)
	})
}

// holds reports whether what a rule refuses is refused below as well.
func (j *judge) holds(c *compiled) bool { return j.walled && c.isWall() }

// meant reports whether a file is what the rule is for, if all commands before do
// what they seem to.
func (c *compiled) meant(p command.Path) bool {
	if p.Name == "" && len(p.May) > 0 {
		p = p.May[0]
	}
	return c.matchPath(p)
}

// refuseFile applies a rule to a part that names a file. What a call does with the
// file may not be known: then a rule about editing is a question.
func (j *judge) refuseFile(f *finding, c *compiled, name string, unsure bool) {
	if unsure && order(c.Verdict) == 0 && !c.is("read") {
		f.ask("it names " + name + ", and a rule refuses that file" + source(&c.Rule))
		f.rule, f.final = &c.Rule, true
		return
	}
	f.ruled(c)
	f.Reason = "it names " + name + ": " + f.Reason
}

// namesNothing reports whether a call surely only reads, and no files.
func namesNothing(p *command.Part) bool {
	paths, ok := p.Reads()
	return ok && len(paths) == 0
}
