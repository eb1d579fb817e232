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

func (a *Approval) drawTitle(s *sheet) {
	fg := theme.Warning
	if a.o.Decision.Dangerous != "" {
		fg = theme.Error
	}
	more := asker(s, a.o.From, prose.Inline(prose.Clip(a.o.Request.Tool, 60)))
	if a.waiting > 0 {
		more += fmt.Sprintf(" %s %d more %s", s.sign.Dot, a.waiting, prose.Noun(a.waiting, "question"))
	}
	s.heading(title(a.o.Request), more, fg)
	if d := a.o.Decision.Dangerous; d != "" {
		words := styled.Line{{Text: "Careful: it " + prose.Inline(prose.Clip(d, 400)), Look: theme.Look{Fg: theme.Error, Mod: theme.Bold}}}
		s.title = s.text(s.title, words)
	}
}

// asker puts the sub-agent that asks before the facts of a heading.
func asker(s *sheet, from, facts string) string {
	if from == "" {
		return facts
	}
	from = "agent " + prose.Row(from, 60)
	if facts == "" {
		return from
	}
	return from + " " + s.sign.Dot + " " + facts
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
		lines = s.text(lines, styled.Of("It does not say what it will access. "+may(a.o.Request.Effects), theme.Text))
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
		return "It can do anything."
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
			s.choice(number, "", permit.Yes, "", selected)
		case refuse:
			s.choice(number, "", permit.No, "", selected)
		case explain:
			if a.noting {
				s.writing(number, "No:", a.note)
			} else {
				label := permit.Instead
				if words := a.Unsent(); words != "" {
					label += ": " + prose.Inline(prose.Clip(words, 200))
				}
				s.choice(number, "", label, "", selected)
			}
		case grant:
			s.choice(number, "", o.offer.Label(o.scopes[o.scope], a.env.Now()), "", selected)
		}
	}
}

// drawFine is the fine print of the selected choice.
func (a *Approval) drawFine(s *sheet) {
	if !a.fine {
		return
	}
	o, d := a.options[a.at], a.o.Decision
	if o.kind != grant {
		s.details((permit.Answer{Allow: o.kind == once}).Details(d))
		return
	}
	s.details(o.offer.Details(o.scopes[o.scope], d))
	if n := len(o.past); n > 0 {
		count := prose.Count(n, "earlier call")
		if n == maxPast {
			count = fmt.Sprintf("%d or more earlier calls", n)
		}
		past := []permit.Detail{{Name: "Also", Text: count + ", such as"}}
		for _, c := range o.past[:min(3, n)] {
			past = append(past, permit.Detail{Text: "  " + prose.Clip(c, 200)})
		}
		s.details(past)
	}
}

// details are lines of the fine print. All of a rule is shown: it is what the person
// agrees to.
func (s *sheet) details(list []permit.Detail) {
	fg := theme.Text
	for _, d := range list {
		first := styled.Line{{Text: fmt.Sprintf("  %-7s", d.Name), Look: theme.Look{Fg: theme.Dim}}}
		rest := styled.Line{{Text: strings.Repeat(" ", first.Width())}}
		text := prose.Inline(prose.Clip(d.Text, maxTarget))
		switch d.Name {
		case "Rule":
			s.below = styled.Break(s.below, styled.Of(text, theme.Accent), s.width, first, rest)
			fg = theme.Text // of its meaning
			continue
		case "Also":
			fg = theme.Muted
		case "Risk":
			fg = theme.Error
		}
		s.below = styled.Wrap(s.below, styled.Of(text, fg), s.width, first, rest)
	}
}
