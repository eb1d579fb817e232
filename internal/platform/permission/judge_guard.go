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
// that a part names.
func (j *judge) guardFiles(f *finding, name string, p *command.Part) bool {
	if !j.guarded {
		return false
	}
	named, more := p.Mentions()
	_, reads := p.Reads()
	named = append(named, p.Writes()...)
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
			if !c.matchPath(n) {
				continue
			}
			if p.Kind == command.Run && !reads && order(c.Verdict) == 0 && !c.is("read") && !written(c, p) {
				f.ask("it names " + n.Name + ", and a rule refuses that file" + source(&c.Rule))
				f.rule, f.final = &c.Rule, true
				return true
			}
			f.ruled(c)
			f.Reason = "it names " + n.Name + ": " + f.Reason
			return true
		}
	}
	if more && p.Kind == command.Run && (j.mode == Full || j.bareRule(name, Allow) != nil) && !namesNothing(p) {
		f.ask("it may name a file that rules refuse")
		f.single = true
		return true
	}
	return false
}

// written reports whether a part surely writes a file that the rule is for.
func written(c *compiled, p *command.Part) bool {
	return slices.ContainsFunc(p.Writes(), c.matchPath)
}

// namesNothing reports whether a call surely only reads, and no files.
func namesNothing(p *command.Part) bool {
	paths, ok := p.Reads()
	return ok && len(paths) == 0
}
