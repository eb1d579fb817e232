package permission

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/tool"
)

// offers are the grants that would answer the question that was just decided,
// narrowest first. Each has been tried: with its rules the call runs. There are
// none where a rule asks, as no grant wins over that.
func (j *judge) offers(r Request, seen []Request, lasting bool) []Offer {
	open, levels := j.open()
	if open == nil {
		return nil
	}
	scopes := []Scope{Once, Session}
	if lasting && !slices.ContainsFunc(open, func(f finding) bool { return f.danger != "" }) {
		if j.at.Root != "" {
			scopes = append(scopes, Project)
		}
		scopes = append(scopes, User)
	}
	var out []Offer
	for level := range levels {
		rules := grantsAt(open, level)
		if len(rules) == 0 || slices.ContainsFunc(out, func(o Offer) bool { return slices.EqualFunc(o.Rules, rules, same) }) {
			continue
		}
		granted := j.granted(rules)
		if granted == nil || granted.decide(r).Verdict != Allow {
			continue
		}
		o := Offer{Rules: rules, Scopes: scopes}
		o.Words = inBrief(rules)
		for i, g := range rules {
			rules[i] = InWords(g)
		}
		o.Examples = j.examples(granted, rules, r, seen)
		out = append(out, o)
	}
	return out
}

// same reports whether two rules are one, however they are put in words.
func same(a, b Rule) bool {
	a.Words, b.Words = "", ""
	return a == b
}

// open are the findings that are questions, and the number of widths of grants
// that may answer them.
func (j *judge) open() (open []finding, levels int) {
	levels = 1
	single := false
	for _, f := range j.findings {
		if f.Verdict != Question {
			continue
		}
		if f.final || f.line == "" && len(f.grants) == 0 {
			return nil, 0
		}
		open = append(open, f)
		single = single || f.single || f.line != "" && len(f.grants) == 0
		n := len(f.grants)
		if f.line != "" {
			n++
		}
		levels = max(levels, n)
	}
	if single || len(open) > maxGrants {
		levels = 1
	}
	return open, levels
}

// maxGrants is how many rules one offer may have: nobody reads more.
const maxGrants = 8

// grantsAt are the rules of one width: at first exactly the command line, then
// wider and wider for each of its parts.
func grantsAt(open []finding, level int) []Rule {
	var rules []Rule
	for _, f := range open {
		g := Rule{Tool: "bash", Pattern: exactCommand(f.line)}
		switch {
		case f.line == "":
			g = f.grants[min(level, len(f.grants)-1)]
		case level > 0:
			g = f.grants[min(level, len(f.grants))-1]
		}
		g.Verdict, g.Scope = Allow, Session
		if !slices.Contains(rules, g) {
			rules = append(rules, g)
		}
	}
	return rules
}

// granted is a judge with further rules; nil if one of them is not valid.
func (j *judge) granted(rules []Rule) *judge {
	all := j.rules
	for _, r := range rules {
		c, err := compile(r, j.at)
		if err != nil {
			return nil
		}
		all = withRule(all, c)
	}
	n := newJudge(j.at, j.mode, j.walled, all)
	for a, l := range j.lines {
		n.lines[a] = l
	}
	return n
}

// maxExamples is how many examples an offer has at most.
const maxExamples = 3

// examples are other calls that the rules would allow too and that would be
// questions without them: calls seen before, then likely ones.
func (j *judge) examples(granted *judge, rules []Rule, r Request, seen []Request) []string {
	var out []string
	without := newJudge(j.at, j.mode, j.walled, j.rules)
	add := func(q Request) {
		text := q.String()
		if len(out) >= maxExamples || text == r.String() || slices.Contains(out, text) {
			return
		}
		if granted.decide(q).Verdict == Allow && without.decide(q).Verdict == Question {
			out = append(out, text)
		}
	}
	for _, q := range slices.Backward(seen) {
		add(q)
	}
	for _, rule := range rules {
		for _, q := range j.likely(rule) {
			add(q)
		}
	}
	return out
}

// likely are calls that a rule may well be used for.
func (j *judge) likely(rule Rule) []Request {
	_, k := family(rule.Tool)
	switch {
	case k == commands && strings.HasSuffix(rule.Pattern, ":*"):
		prefix := strings.TrimSuffix(rule.Pattern, ":*")
		var out []Request
		for _, line := range append(usual(prefix), prefix) {
			out = append(out, Request{Tool: rule.Tool, Access: []tool.Access{{Kind: tool.AccessExecute, Target: line}}})
		}
		return out
	case k == paths && strings.HasSuffix(rule.Pattern, "/**"):
		return j.filesBelow(rule)
	}
	return nil
}

// usual are calls that often begin with these words.
func usual(prefix string) []string {
	switch prefix {
	case "go test":
		return []string{"go test ./...", "go test -run TestName ./pkg"}
	case "go build":
		return []string{"go build ./..."}
	case "go vet":
		return []string{"go vet ./..."}
	case "git add":
		return []string{"git add -A", "git add src"}
	case "git commit":
		return []string{"git commit -m 'message'", "git commit --amend"}
	case "git push":
		return []string{"git push", "git push origin main"}
	case "git checkout", "git switch":
		return []string{prefix + " main", prefix + " -b topic"}
	case "npm install":
		return []string{"npm install package"}
	case "cargo test", "cargo build", "pytest", "npm test":
		return []string{prefix, prefix + " -v"}
	}
	return nil
}

// filesBelow are a few files that are there, of the folder that a rule is for.
func (j *judge) filesBelow(rule Rule) []Request {
	folder := strings.ReplaceAll(strings.TrimSuffix(rule.Pattern, "/**"), `\`, "")
	dir := folder
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(j.at.Root, filepath.FromSlash(folder))
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(2 * maxExamples) // what was read is enough
	kind := tool.AccessRead
	if rule.Tool == "edit" {
		kind = tool.AccessWrite
	}
	var out []Request
	for _, e := range entries {
		if !e.IsDir() {
			out = append(out, Request{Tool: rule.Tool, Access: []tool.Access{{Kind: kind, Target: path.Join(folder, e.Name())}}})
		}
	}
	return out
}
