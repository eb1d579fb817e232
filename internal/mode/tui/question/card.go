package question

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/markdown/highlight"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
)

// Limits of what is shown of one call. A command that is longer is cut and says so.
const (
	maxCommand  = 64 << 10 // bytes
	maxTarget   = 4 << 10  // bytes of a path, a host, a rule
	maxAccesses = 50
	maxParts    = 6
	maxPreview  = 20_000 // rows
)

// scopeWords say how long a grant holds, and scopeUntil until when.
var (
	scopeWords = map[permit.Scope]string{
		permit.Session: "this session", permit.Project: "this project", permit.User: "everywhere",
	}
	scopeUntil = map[permit.Scope]string{
		permit.Session: "until burin ends", permit.Project: "until you take it back with burin permissions",
		permit.User: "until you take it back with burin permissions",
	}
)

func (a *Approval) drawTitle(s *sheet) {
	fg := theme.Warning
	if a.o.Decision.Dangerous != "" {
		fg = theme.Error
	}
	more := prose.Inline(prose.Clip(a.o.Request.Tool, 60))
	if a.waiting > 0 {
		more += fmt.Sprintf(" %s %d more %s", s.sign.Dot, a.waiting, prose.Noun(a.waiting, "question"))
	}
	s.heading(title(a.o.Request), more, fg)
	if d := a.o.Decision.Dangerous; d != "" {
		words := styled.Line{{Text: "Careful: it " + prose.Inline(prose.Clip(d, 400)), Look: theme.Look{Fg: theme.Error, Mod: theme.Bold}}}
		s.title = s.text(s.title, words)
	}
}

// title asks in a few words.
func title(r permit.Request) string {
	kinds := map[tool.AccessKind]int{}
	for _, a := range r.Access {
		kinds[a.Kind]++
	}
	if len(kinds) != 1 {
		return "Let this tool run?"
	}
	this := "this "
	if len(r.Access) > 1 {
		this = "these "
	}
	n := len(r.Access)
	switch r.Access[0].Kind {
	case tool.AccessExecute:
		return "Run " + this + prose.Noun(n, "command") + "?"
	case tool.AccessWrite:
		return "Change " + this + prose.Noun(n, "file") + "?"
	case tool.AccessRead:
		return "Read " + this + prose.Noun(n, "file") + "?"
	case tool.AccessNetwork:
		if n > 1 {
			return "Open these addresses?"
		}
		return "Open this address?"
	}
	return "Let this tool run?"
}

// about is what the call touches, why it is a question, and the caller's preview, which
// may be long. It
// is drawn once for each width and theme.
func (a *Approval) about(s *sheet) []string {
	if a.bodyStyles == a.env.Styles && a.bodyWidth == s.width {
		return a.body
	}
	var lines []styled.Line
	for i, x := range a.o.Request.Access {
		if i == maxAccesses {
			lines = append(lines, s.more(len(a.o.Request.Access)-i))
			break
		}
		lines = s.access(lines, x)
	}
	if len(a.o.Request.Access) == 0 {
		lines = s.text(lines, styled.Of("It does not say what it will touch. "+may(a.o.Request.Effects), theme.Text))
	}
	body := s.render(nil, append(lines, a.why(s)...))
	if a.o.Preview != nil {
		rows := a.o.Preview(s.width)
		for _, row := range rows[:min(len(rows), maxPreview)] {
			body = append(body, fit(row, s.width))
		}
		if n := len(rows) - maxPreview; n > 0 {
			body = s.render(body, []styled.Line{s.more(n)})
		}
	}
	a.body, a.bodyWidth, a.bodyStyles = body, s.width, a.env.Styles
	return a.body
}

// access is one thing that is touched.
func (s *sheet) access(dst []styled.Line, x tool.Access) []styled.Line {
	if x.Kind != tool.AccessExecute {
		verb := map[tool.AccessKind]string{tool.AccessRead: "read ", tool.AccessWrite: "write ", tool.AccessNetwork: "open "}[x.Kind]
		first := styled.Line{{Text: "  "}, {Text: verb, Look: theme.Look{Fg: theme.Muted}}}
		rest := styled.Line{{Text: strings.Repeat(" ", first.Width())}}
		target := prose.Inline(prose.Clip(x.Target, maxTarget))
		if target == "" {
			target = "(not known before it runs)"
		}
		return styled.Break(dst, styled.Of(target, theme.Accent), s.width, first, rest)
	}
	command := x.Target
	if len(command) > maxCommand {
		command = prose.Clip(command, maxCommand) + fmt.Sprintf("\n… and %d more bytes", len(command)-maxCommand)
	}
	lexer := highlight.New("bash")
	sign := "  $ "
	for line := range strings.SplitSeq(strings.Trim(prose.Clean(command, 4), "\n"), "\n") {
		first := styled.Line{{Text: sign, Look: theme.Look{Fg: theme.BashMode}}}
		dst = styled.Break(dst, markdown.Code(&lexer, line, theme.Text), s.width, first, styled.Line{{Text: "    "}})
		sign = "    "
	}
	if x.Dir != "" {
		dst = s.text(dst, styled.Of("in the folder "+prose.Inline(prose.Clip(x.Dir, maxTarget)), theme.Muted))
	}
	return dst
}

// may says in words what a tool can do.
func may(e tool.Effects) string {
	var can []string
	for _, x := range []struct {
		effect tool.Effects
		words  string
	}{{tool.Reads, "read files"}, {tool.Writes, "change files"}, {tool.Executes, "run programs"}, {tool.Network, "use the network"}} {
		if e.Has(x.effect) {
			can = append(can, x.words)
		}
	}
	if len(can) == 0 {
		return "It may do anything."
	}
	return "It may " + strings.Join(can, ", ") + "."
}

// why are the reasons: that of the whole, and those of a command's parts.
func (a *Approval) why(s *sheet) []styled.Line {
	d := a.o.Decision
	var lines []styled.Line
	if d.Reason != "" && (d.Dangerous == "" || !strings.Contains(d.Reason, d.Dangerous)) {
		lines = s.text(lines, styled.Line{{Text: "Why: ", Look: theme.Look{Fg: theme.Dim}}, {Text: prose.Inline(prose.Clip(d.Reason, 400)), Look: theme.Look{Fg: theme.Muted}}})
	}
	if len(d.Parts) < 2 {
		return lines
	}
	shown := 0
	for _, part := range d.Parts {
		if part.Verdict == "allow" { // what may run anyway is no reason to ask
			continue
		}
		if shown++; shown > maxParts {
			continue
		}
		lines = append(lines, styled.Line{
			{Text: "  " + s.sign.Bullets[0] + " ", Look: theme.Look{Fg: theme.Warning}},
			{Text: prose.Inline(prose.Clip(part.Text, 200)), Look: theme.Look{Fg: theme.Text}},
			{Text: "  " + prose.Inline(prose.Clip(part.Reason, 200)), Look: theme.Look{Fg: theme.Muted}},
		})
	}
	if shown > maxParts {
		lines = append(lines, s.more(shown-maxParts))
	}
	return lines
}

func (a *Approval) drawChoices(s *sheet) {
	for i, o := range a.options {
		number, selected := i+1, i == a.at
		if number > 9 {
			number = 0
		}
		switch o.kind {
		case once:
			s.choice(number, "", "Yes, this once", "", selected)
		case refuse:
			s.choice(number, "", "No", "", selected)
		case explain:
			if a.noting {
				s.writing(number, "No:", a.note)
			} else {
				label := "No, and say what to do instead"
				if words := a.Unsent(); words != "" {
					label += ": " + prose.Inline(prose.Clip(words, 200))
				}
				s.choice(number, "", label, "", selected)
			}
		case grant:
			label := "Always allow " + prose.Inline(prose.Clip(o.offer.Words, 600)) + ": "
			s.choice(number, "", label+scopeWords[o.scopes[o.scope]], "", selected)
		}
	}
}

// drawMeaning says what the selected choice does.
func (a *Approval) drawMeaning(s *sheet) {
	o := a.options[a.at]
	say := func(label, words string, fg theme.Token) {
		first := styled.Line{{Text: "  "}, {Text: label, Look: theme.Look{Fg: theme.Dim}}}
		rest := styled.Line{{Text: strings.Repeat(" ", first.Width())}}
		s.below = styled.Wrap(s.below, styled.Of(words, fg), s.width, first, rest)
	}
	switch {
	case a.noting:
		say("", "It does not run. The model reads your note and goes on.", theme.Muted)
	case o.kind == once:
		say("", "It runs now. The next time is a question again.", theme.Muted)
	case o.kind == refuse, o.kind == explain:
		say("", "It does not run. The model is told, and goes on.", theme.Muted)
	default:
		a.scopes(s, &o)
		until := scopeUntil[o.scopes[o.scope]]
		if rules := o.offer.In(o.scopes[o.scope]); !rules[0].Expires.IsZero() {
			until = "until " + rules[0].Expires.Format("2 January 2006") + " (permissions.grantDays), or you take it back with burin permissions"
		}
		say("Holds  ", until, theme.Text)
		for _, r := range o.offer.In(o.scopes[o.scope]) {
			s.rule(r)
			say("       ", prose.Inline(prose.Clip(r.Meaning(), maxTarget)), theme.Text)
		}
		for _, e := range o.offer.Examples {
			say("Also   ", prose.Inline(prose.Clip(e, 200)), theme.Muted)
		}
		a.past(&o, say)
	}
}

// rule is a rule as it will stand in the list of rules. All of it is shown: it is what
// the person agrees to.
func (s *sheet) rule(r permit.Rule) {
	first := styled.Line{{Text: "  "}, {Text: "Rule   ", Look: theme.Look{Fg: theme.Dim}}}
	rest := styled.Line{{Text: strings.Repeat(" ", first.Width())}}
	s.below = styled.Break(s.below, styled.Of(prose.Inline(prose.Clip(r.String(), maxTarget)), theme.Accent), s.width, first, rest)
}

// past names earlier calls that the offer would have allowed.
func (a *Approval) past(o *option, say func(label, words string, fg theme.Token)) {
	if len(o.past) == 0 {
		return
	}
	count := fmt.Sprintf("%d earlier %s", len(o.past), prose.Noun(len(o.past), "call"))
	if len(o.past) == maxPast {
		count = fmt.Sprintf("%d or more earlier calls", maxPast)
	}
	say("Also   ", count+", such as", theme.Muted)
	for _, c := range o.past[:min(3, len(o.past))] {
		say("         ", prose.Inline(prose.Clip(c, 200)), theme.Muted)
	}
}

// scopes is the row in which left and right choose how long a grant holds.
func (a *Approval) scopes(s *sheet, o *option) {
	if len(o.scopes) < 2 {
		return
	}
	first := styled.Line{{Text: "  "}, {Text: "For    ", Look: theme.Look{Fg: theme.Dim}}}
	var l styled.Line
	for i, scope := range o.scopes {
		if i == o.scope { // brackets, because there may be no colours
			l = append(l, styled.Span{Text: "[" + scopeWords[scope] + "] ", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}})
		} else {
			l = append(l, styled.Span{Text: scopeWords[scope] + " ", Look: theme.Look{Fg: theme.Muted}})
		}
	}
	l = append(l, styled.Span{Text: " (Left, Right)", Look: theme.Look{Fg: theme.Dim}})
	s.below = styled.Wrap(s.below, l, s.width, first, styled.Line{{Text: strings.Repeat(" ", first.Width())}})
}
