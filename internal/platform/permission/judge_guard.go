package permission

import (
	"path"
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
	if maybe != nil && (j.mode != Plan || order(maybe.Verdict) < 2) {
		f.ask("it may be what a rule is about" + source(&maybe.Rule))
		f.rule, f.final = &maybe.Rule, true
		return true
	}
	return false
}

// refuses compares a rule that refuses or asks with every call around a part.
// Unlike what allows, it also holds for the program under another path and with
// options between its words.
func (c *compiled) refuses(p *command.Part) (may, sure bool) {
	if len(c.call.Words) == 0 {
		return false, false
	}
	for _, layer := range p.Layers {
		m, s := c.within(layer.Words)
		may, sure = may || m, sure || s
	}
	return may, sure
}

func (c *compiled) within(words []command.Word) (may, sure bool) {
	want := c.call.Words
	if len(words) == 0 {
		return false, false
	}
	if !words[0].Exact {
		return words[0].MayBe(want[0].Text), false
	}
	if words[0].Text != want[0].Text && path.Base(words[0].Text) != path.Base(want[0].Text) {
		return false, false
	}
	if !c.first && len(words) < len(want) {
		return false, false
	}
	sure = true
	i := 1
	after := false // the word before was an option, which may have a value
	for _, w := range words[1:] {
		switch {
		case i == len(want):
			if !c.first {
				sure = false // more words than the rule has
				may = may || !w.Exact
			}
			return may, sure
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
	return may, sure && i == len(want) && !may
}

// guardFiles applies the rules that refuse files or ask about them to the files
// that a part names.
func (j *judge) guardFiles(f *finding, name string, p *command.Part) bool {
	if !j.guarded {
		return false
	}
	named, more := p.Mentions()
	_, reads := p.Reads()
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
			if p.Kind == command.Run && !reads && order(c.Verdict) == 0 {
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

// namesNothing reports whether a call surely only reads, and no files.
func namesNothing(p *command.Part) bool {
	paths, ok := p.Reads()
	return ok && len(paths) == 0
}
