package permission

import (
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission/command"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// judge decides requests by one set of rules.
type judge struct {
	at       command.Place
	mode     Mode
	rules    []*compiled
	refuses  bool // there are rules that refuse or ask, by kind of pattern
	guarded  bool
	walled   bool      // rules that refuse files are enforced below: only what they name is refused here
	findings []finding // of the last request
	lines    map[tool.Access]*command.Line
}

// finding is what became of one part of a request.
type finding struct {
	Part
	rule   *Rule
	line   string // the command line it is a part of
	danger string
	hidden bool // not worth showing
	final  bool // a rule asks: no grant would change it
	single bool // only a grant of exactly this text would change it
	// grants are the rules that would allow it, narrowest first.
	grants []Rule
}

func newJudge(at command.Place, mode Mode, walled bool, rules []*compiled) *judge {
	j := &judge{at: at, mode: mode, walled: walled, rules: rules, lines: map[tool.Access]*command.Line{}}
	for _, c := range rules {
		if order(c.Verdict) == 2 {
			break
		}
		j.refuses = j.refuses || c.whole != "" || c.first
		j.guarded = j.guarded || c.glob != ""
	}
	return j
}

// decide judges a request. The offers of a question are made by offers.
func (j *judge) decide(r Request) Decision {
	j.findings = j.findings[:0]
	if c := j.bareRule(r.Tool, Deny); c != nil {
		return Decision{Verdict: Deny, Reason: "a rule refuses the tool " + r.Tool + source(&c.Rule), Rule: &c.Rule}
	}
	for _, a := range accesses(r) {
		switch a.Kind {
		case tool.AccessExecute:
			j.findings = append(j.findings, j.command(r.Tool, a)...)
		case tool.AccessNetwork:
			j.findings = append(j.findings, j.request(r.Tool, a.Target))
		case tool.AccessServer:
			j.findings = append(j.findings, j.server(a.Target, !r.Effects.Has(tool.Writes)))
		case tool.AccessRead, tool.AccessWrite:
			j.findings = append(j.findings, j.access(r.Tool, a))
		default: // a kind that is not known here may be anything
			f := finding{Part: Part{Text: string(a.Kind) + " " + a.Target}}
			j.untargeted(&f, r.Tool, tool.AccessExecute)
			j.findings = append(j.findings, f)
		}
	}
	if len(j.findings) == 0 {
		if c := j.bareRule(r.Tool, Question); c != nil {
			return Decision{Verdict: Question, Reason: "a rule asks about the tool " + r.Tool + source(&c.Rule), Rule: &c.Rule}
		}
		return Decision{Verdict: Allow, Reason: "it touches nothing"}
	}
	return j.sum()
}

// accesses are those of a request, or what its effects stand for.
func accesses(r Request) []tool.Access {
	if len(r.Access) > 0 {
		return r.Access
	}
	var out []tool.Access
	for _, e := range []struct {
		effect tool.Effects
		kind   tool.AccessKind
	}{{tool.Reads, tool.AccessRead}, {tool.Writes, tool.AccessWrite}, {tool.Executes, tool.AccessExecute}, {tool.Network, tool.AccessNetwork}} {
		if r.Effects.Has(e.effect) {
			out = append(out, tool.Access{Kind: e.kind})
		}
	}
	return out
}

// sum is the decision that the findings give together: the strictest.
func (j *judge) sum() Decision {
	worst := &j.findings[0]
	d := Decision{}
	for i := range j.findings {
		f := &j.findings[i]
		if f.weight() > worst.weight() {
			worst = f
		}
		if f.danger != "" && d.Dangerous == "" {
			d.Dangerous = f.danger
		}
		if !f.hidden || f.Verdict != Allow {
			d.Parts = append(d.Parts, f.Part)
		}
	}
	d.Verdict, d.Reason, d.Rule = worst.Verdict, worst.Reason, worst.rule
	if d.Verdict == Allow {
		for i := range j.findings { // rather a rule than the mode
			if f := &j.findings[i]; f.rule != nil {
				d.Reason, d.Rule = f.Reason, f.rule
				break
			}
		}
		return d
	}
	if len(d.Parts) > 1 && worst.Text != "" {
		d.Reason = "`" + prose.Clip(worst.Text, 120) + "`: " + d.Reason
	}
	return d
}

// weight says which of several findings a decision is explained by: the strictest,
// of questions what is dangerous and what no wider grant answers, of what is
// allowed what is worth showing.
func (f *finding) weight() int {
	w := 100 * (2 - order(f.Verdict))
	for i, more := range []bool{!f.hidden, f.single, f.final, f.danger != ""} {
		if more {
			w += 1 << i
		}
	}
	return w
}

// bareRule is the first rule with that verdict for every call of a tool.
func (j *judge) bareRule(name string, v Verdict) *compiled {
	for _, c := range j.rules {
		if order(c.Verdict) == order(v) && c.bare() && c.is(name) {
			return c
		}
	}
	return nil
}

// is reports whether the rule is for a tool.
func (c *compiled) is(name string) bool {
	for _, t := range c.tools {
		if t == name {
			return true
		}
	}
	return false
}

// source says where a rule comes from, in parentheses.
func source(r *Rule) string {
	s := " (" + r.String()
	if r.Source != "" {
		s += " of " + r.Source
	}
	return s + ")"
}

func (f *finding) ruled(c *compiled) {
	f.Verdict, f.rule = c.Verdict, &c.Rule
	switch order(c.Verdict) {
	case 0:
		f.Verdict, f.Reason = Deny, "a rule refuses it"+source(&c.Rule)
	case 1:
		f.Reason, f.final = "a rule asks about it"+source(&c.Rule), true
	default:
		f.Verdict, f.Reason = Allow, "a rule allows it"+source(&c.Rule)
	}
}

// ask makes the finding a question with the rules that would answer it.
func (f *finding) ask(reason string, grants ...Rule) {
	f.Verdict, f.Reason, f.grants = Question, reason, grants
}

// access judges a file that a tool reads or writes.
func (j *judge) access(name string, a tool.Access) finding {
	f := finding{Part: Part{Text: string(a.Kind) + " " + a.Target}}
	if a.Target == "" {
		f.Text = string(a.Kind)
		j.untargeted(&f, name, a.Kind)
		return f
	}
	if addressed(a.Target) {
		j.address(&f, name, a.Kind, a.Target)
		return f
	}
	j.file(&f, name, a.Kind, j.at.File(a.Target))
	return f
}

// untargeted judges an access of which nothing is known but its kind.
func (j *judge) untargeted(f *finding, name string, k tool.AccessKind) {
	for _, c := range j.rules {
		if c.bare() && c.is(name) && (j.mode != Plan || k == tool.AccessRead || k == tool.AccessNetwork || order(c.Verdict) < 2) {
			f.ruled(c)
			return
		}
	}
	switch {
	case j.mode == Full, k == tool.AccessRead, j.mode == AutoEdit && k == tool.AccessWrite:
		f.Verdict, f.Reason = Allow, j.modeAllows()
	case j.mode == Plan && k != tool.AccessNetwork:
		f.Verdict, f.Reason = Deny, planRefuses
	default:
		f.ask("the tool "+name+" "+map[tool.AccessKind]string{
			tool.AccessWrite: "changes files", tool.AccessExecute: "runs programs", tool.AccessNetwork: "sends something off this machine",
		}[k], Rule{Tool: name})
	}
}

const planRefuses = "plan mode changes nothing"

func (j *judge) modeAllows() string { return "the mode " + string(j.mode) + " allows it" }

// host judges a request to another machine.
func (j *judge) host(name, to string) finding {
	f := finding{Part: Part{Text: to}}
	if to == "" {
		f.Text = "network"
		j.untargeted(&f, name, tool.AccessNetwork)
		return f
	}
	host, port, ok := target(to)
	for _, c := range j.rules {
		if c.is(name) && (c.bare() || ok && c.matchHost(host, port)) {
			f.ruled(c)
			return f
		}
	}
	if j.mode == Full {
		f.Verdict, f.Reason = Allow, j.modeAllows()
		return f
	}
	if !ok {
		f.ask("it goes to a place that cannot be told from its address")
		f.single = true
		return f
	}
	f.ask("it goes to "+host, hostGrants(name, host, port)...)
	return f
}

func hostGrants(name, host, port string) []Rule {
	if port != "" {
		port = ":" + port
	}
	grants := []Rule{{Tool: name, Pattern: host + port}}
	if strings.Contains(host, ":") { // IPv6
		grants[0].Pattern = "[" + host + "]" + port
		return grants
	}
	if _, parent, ok := strings.Cut(host, "."); ok && strings.Contains(parent, ".") && strings.Trim(host, "0123456789.") != "" {
		grants = append(grants, Rule{Tool: name, Pattern: "*." + parent + port})
	}
	return grants
}
