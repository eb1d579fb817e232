package permission

import (
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission/command"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// line takes a command apart, once for each access.
func (j *judge) line(a tool.Access) *command.Line {
	if l := j.lines[a]; l != nil {
		return l
	}
	at := j.at
	at.Dir = a.Dir
	l := command.Parse(a.Target, at)
	j.lines[a] = l
	return l
}

// command judges a shell command: each part, then the line as a whole.
func (j *judge) command(name string, a tool.Access) []finding {
	text := strings.TrimSpace(a.Target)
	if text == "" {
		f := finding{Part: Part{Text: "command"}}
		j.untargeted(&f, name, tool.AccessExecute)
		return []finding{f}
	}
	l := j.line(a)
	var out []finding
	if l.Failure != "" {
		out = []finding{j.unreadable(name, text, l.Failure)}
	} else if l.Deceptive != "" && j.mode != Full { // which asks nobody who could be deceived
		out = []finding{j.unreadable(name, text, l.Deceptive)}
	}
	for i := range l.Parts {
		out = append(out, j.part(name, &l.Parts[i]))
	}
	if len(out) == 0 { // a comment
		out = []finding{{Part: Part{Text: text, Verdict: Allow, Reason: "it runs nothing"}}}
	}
	j.whole(out, name, text, a)
	for i := range out {
		out[i].line = text
	}
	return out
}

// unreadable judges a line that could not be taken apart, or that a person would take for
// another. What runs in it is not known, so neither the mode nor a rule that is not for exactly this text allows
// it, and a rule refuses it as soon as it names what the rule is about.
func (j *judge) unreadable(name, text, why string) finding {
	f := finding{Part: Part{Text: prose.Clip(text, 200)}, single: true}
	if j.names(&f, name, text, why) {
		return f
	}
	f.ask("the command cannot be judged: " + why)
	if j.mode == Plan {
		f.Verdict, f.Reason = Deny, planRefuses+", and the command cannot be judged: "+why
	}
	return f
}

// whole applies the rules for exactly this line. They win over everything but
// rules that refuse or ask, and plan mode.
func (j *judge) whole(out []finding, name, text string, a tool.Access) {
	for _, c := range j.rules {
		if c.whole != text || !c.is(name) || order(c.Verdict) == 2 && !j.constant(a) {
			continue
		}
		for i := range out {
			f := &out[i]
			settled := f.Verdict == Deny || f.final
			if order(c.Verdict) < 2 && f.Verdict != Deny || !settled && j.at.File(dirOf(a)).Where == command.Inside {
				danger, hidden := f.danger, f.hidden
				f.ruled(c)
				f.danger, f.hidden = danger, hidden
			}
		}
		return
	}
}

// constant reports whether a line surely does what it did when it was granted: it
// uses no variable that other commands set, and the programs that it calls by a
// relative path are those that the path leads to from the workspace's root.
func (j *judge) constant(a tool.Access) bool {
	l := j.line(a)
	if len(l.Free) > 0 {
		return false
	}
	if dirOf(a) == "." {
		return true
	}
	at := a
	at.Dir = ""
	root := j.line(at)
	if len(root.Parts) != len(l.Parts) {
		return false
	}
	for i := range l.Parts {
		here, there := l.Parts[i].Plain(), root.Parts[i].Plain()
		if len(here) != len(there) || len(here) > 0 && !here[0].Same(there[0]) {
			return false
		}
	}
	return true
}

func dirOf(a tool.Access) string {
	if a.Dir == "" {
		return "."
	}
	return a.Dir
}

// part judges one part of a command.
func (j *judge) part(name string, p *command.Part) finding {
	f := finding{Part: Part{Text: prose.Clip(p.Text, 200)}, danger: p.Danger, hidden: p.Hidden || p.Kind == command.Shell && p.Opaque == ""}
	if j.guard(&f, name, p) {
		return f
	}
	if p.Hidden {
		f.Verdict, f.Reason = Allow, "the part around it decides"
		if p.Danger != "" && j.mode != Plan && j.exactly(name, p) == nil {
			f.ask("it " + p.Danger)
			f.single = true
		}
		return f
	}
	if j.mode == Plan {
		return j.planned(f, name, p)
	}
	if c := j.exactly(name, p); c != nil {
		f.ruled(c)
		return f
	}
	switch {
	case p.Danger != "":
		f.ask("it " + p.Danger)
		f.single = true
	case p.Opaque != "" && (j.refuses || j.exposed()):
		f.ask(p.Opaque + ", and rules refuse some commands or files")
		f.single = true
	case p.Sways() != "" && (j.refuses || j.exposed()):
		f.ask(p.Sways() + ", and rules refuse some commands or files")
		f.single = true
	case j.mode == Full && (p.Kind == command.Run || p.Kind == command.Shell):
		f.Verdict, f.Reason = Allow, j.modeAllows()
	case j.everything(&f, name):
	case p.Opaque != "":
		f.ask(p.Opaque)
		f.single = true
	case p.Kind == command.Shell:
		f.Verdict, f.Reason = Allow, "it changes nothing outside of the shell"
	case p.Kind == command.Write:
		if _, device := p.Reads(); device {
			f.Verdict, f.Reason = Allow, "it changes nothing"
		} else {
			j.file(&f, "edit", tool.AccessWrite, p.Path)
		}
	case p.Kind == command.Read:
		j.file(&f, "read", tool.AccessRead, p.Path)
	default:
		j.run(&f, name, p)
	}
	return f
}

// planned judges a part in plan mode: it must surely only read.
func (j *judge) planned(f finding, name string, p *command.Part) finding {
	paths, ok := p.Reads()
	switch {
	case !ok:
		f.Verdict, f.Reason = Deny, planRefuses+", and this is not sure to change nothing"
	case p.Kind == command.Run:
		if (!j.readsFreely(&f, paths) || j.holdsSecrets(&f, p)) && j.byWords(&f, name, p) {
			return f
		}
	default:
		j.readsFreely(&f, paths)
	}
	return f
}

// everything applies a rule for every command.
func (j *judge) everything(f *finding, name string) bool {
	c := j.bareRule(name, Allow)
	if c != nil {
		f.ruled(c)
	}
	return c != nil
}

// run judges a call of a program.
func (j *judge) run(f *finding, name string, p *command.Part) {
	paths, reads := p.Reads()
	if reads && j.readsFreely(f, paths) && !j.holdsSecrets(f, p) {
		return
	}
	asked := *f
	if j.byWords(f, name, p) {
		return
	}
	if reads {
		*f = asked
	} else if f.Verdict != Question {
		f.ask(j.why(p))
	}
	if reads && len(f.grants) > 0 {
		return // the file is what it is about, not the program
	}
	if prefix, ok := p.Prefix(); ok && p.InWorkspace() && p.Call().Harmless() {
		f.grants = []Rule{{Tool: familyOf(name), Pattern: strings.Join(prefix, " ") + ":*"}}
	} else {
		f.single = true
	}
}

// why says why a call is not simply allowed.
func (j *judge) why(p *command.Part) string {
	for _, a := range p.Call().Env {
		if !a.Harmless() {
			return "it sets " + a.Name + ", which may change what runs"
		}
	}
	if !p.InWorkspace() {
		return "it may run in a folder outside of the workspace"
	}
	named, _ := p.Mentions()
	for _, n := range named {
		if j.at.Guarded(n) {
			return "it names " + n.Name + ", which usually holds secrets"
		}
	}
	for _, h := range p.Hazards() {
		words := p.Plain()
		if h.At > 0 && h.At < len(words) {
			return "`" + prose.Clip(words[h.At].Source, 60) + "` " + h.Why
		}
		if h.Why != "" {
			return "it " + h.Why
		}
	}
	return "it may change something"
}

// readsFreely judges the files that a command reads which changes nothing.
func (j *judge) readsFreely(f *finding, paths []command.Path) bool {
	f.Verdict, f.Reason = Allow, "it only reads"
	for _, path := range paths {
		if path.Where == command.Unknown && j.mode != Full && j.bareRule("read", Allow) == nil {
			f.ask("what it reads is not known before it runs: " + prose.Clip(path.Text, 80))
			return false
		}
		g := finding{}
		j.file(&g, "read", tool.AccessRead, path)
		if g.Verdict != Allow {
			f.Verdict, f.Reason, f.rule, f.final, f.grants = g.Verdict, g.Reason, g.rule, g.final, g.grants
			return false
		}
		if g.rule != nil {
			f.rule, f.Reason = g.rule, g.Reason
		}
	}
	return true
}

// holdsSecrets reports whether a call reads folders with files that the mode does
// not let be read, or with too many to look at, and makes that the question.
func (j *judge) holdsSecrets(f *finding, p *command.Part) bool {
	if j.mode == Full || j.bareRule("read", Allow) != nil || f.Verdict == Question {
		return false
	}
	for _, t := range p.Trees() {
		if !t.Secrets || t.Unlikely {
			continue
		}
		switch name, ok := j.at.Find(t, nil, j.allowsReading); {
		case !ok:
			f.ask("it reads all of " + t.Root.Name + ", which has too many files to see whether some hold secrets")
			f.single = true
			return true
		case name != "":
			f.ask("it reads all of "+t.Root.Name+", and "+name+" usually holds secrets", fileGrants("read", j.at.File(name))...)
			return true
		}
	}
	return false
}

// allowsReading reports whether a rule lets a file be read.
func (j *judge) allowsReading(name string) bool {
	g := finding{}
	j.file(&g, "read", tool.AccessRead, j.at.File(name))
	return g.Verdict == Allow
}

// byWords looks for a rule that allows the first words of a call.
func (j *judge) byWords(f *finding, name string, p *command.Part) bool {
	if p.Opaque != "" || p.Danger != "" || !p.InWorkspace() || f.final || f.Verdict == Deny {
		return false
	}
	named, more := p.Mentions()
	if more && j.guarded {
		return false // it may name a file that rules refuse
	}
	for _, n := range named {
		if j.at.Guarded(n) {
			return false // first words do not show it
		}
	}
	words := p.Plain()
	for _, c := range j.rules {
		if order(c.Verdict) != 2 || !c.first || !c.is(name) || !begins(words, c.call.Words) || !sameEnv(p.Call().Env, c.call.Env) {
			continue
		}
		if hazard(p, c.call.Words) {
			continue
		}
		if j.holdsSecrets(f, p) {
			return false
		}
		f.ruled(c)
		f.grants = nil
		return true
	}
	return false
}

// hazard reports whether a call does more than a rule for its first words shows.
func hazard(p *command.Part, first []command.Word) bool {
	shown := make([]string, len(first))
	for i, w := range first {
		shown[i] = w.Text
	}
	for _, h := range p.Hazards() {
		if !h.In(shown) {
			return true
		}
	}
	return false
}

func begins(words, first []command.Word) bool {
	if len(words) < len(first) {
		return false
	}
	for i, w := range first {
		if !words[i].Exact || words[i].Text != w.Text {
			return false
		}
	}
	return true
}

// sameEnv reports whether the assignments that matter are those of the rule.
func sameEnv(have, want []command.Assign) bool {
	var rest []command.Assign
	for _, a := range have {
		if !a.Harmless() {
			rest = append(rest, a)
		}
	}
	n := 0
	for _, a := range want {
		if a.Harmless() {
			continue
		}
		if n == len(rest) || rest[n].Name != a.Name || !rest[n].Value.Exact || rest[n].Value.Text != a.Value.Text {
			return false
		}
		n++
	}
	return n == len(rest)
}

// exactly looks for a rule that allows exactly this call, or one around it.
func (j *judge) exactly(name string, p *command.Part) *compiled {
	if p.Kind != command.Run || !p.InWorkspace() {
		return nil
	}
	if p.Fed() && (p.Opaque != "" || p.Danger != "" || len(p.Hazards()) > 0) {
		return nil // what it is fed matters, and the rule did not show it
	}
	for _, c := range j.rules {
		if order(c.Verdict) != 2 || c.whole == "" || len(c.call.Words) == 0 || !c.is(name) {
			continue
		}
		for i := range p.Layers {
			if words := p.Layer(i); len(words) == len(c.call.Words) && begins(words, c.call.Words) && sameEnv(p.Layers[i].Env, c.call.Env) {
				return c
			}
		}
	}
	return nil
}

// ReadOnly reports whether a shell command surely changes nothing: every part is
// known to only read, and nothing is written to but /dev/null.
func ReadOnly(line string) bool {
	l := command.Parse(line, command.Place{})
	if l.Failure != "" {
		return false
	}
	for i := range l.Parts {
		if _, ok := l.Parts[i].Reads(); !ok {
			return false
		}
	}
	return true
}
