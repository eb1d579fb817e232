package review

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// Summary is the outcome in one line.
func (r *Report) Summary() string {
	if len(r.Findings) == 0 {
		return "No findings in " + r.scope() + r.dropped()
	}
	var counts []string
	for _, s := range Severities() {
		n := 0
		for i := range r.Findings {
			if r.Findings[i].Severity == s {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return fmt.Sprintf("%s in %s: %s%s", prose.Count(len(r.Findings), "finding"), r.scope(), strings.Join(counts, ", "), r.dropped())
}

func (r *Report) scope() string {
	return fmt.Sprintf("%s (%s, +%d -%d)", prose.Inline(r.Range), prose.Count(r.Files, "file"), r.Added, r.Removed)
}

func (r *Report) dropped() string {
	words := ""
	if n := len(r.Refuted); n > 0 {
		words = fmt.Sprintf("; %s refuted", prose.Count(n, "other"))
	}
	if r.Incomplete {
		words += "; incomplete"
	}
	return words
}

// marks are what a reader should know of a finding before they believe it.
func (f *Finding) marks() string {
	words := strings.Join(f.Concerns, ", ") + fmt.Sprintf(", %.0f %%", f.Confidence*100)
	if f.Verdict != Confirmed {
		words += ", " + f.Verdict
	}
	if !f.InDiff {
		words += ", outside of the changes"
	}
	return words
}

// Text shows the report in a terminal of that width.
func (r *Report) Text(width int) string {
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(&b, "%d. %s  %s\n", f.Number, f.Severity, prose.Inline(f.Title))
		fmt.Fprintf(&b, "   %s  (%s)\n\n", f.where(), f.marks())
		wrap(&b, f.Explanation, width)
		if f.Suggestion != "" {
			b.WriteByte('\n')
			wrap(&b, "Suggestion: "+f.Suggestion, width)
		}
		if f.Verdict == Unclear && f.Reason != "" {
			b.WriteByte('\n')
			wrap(&b, "Unclear: "+f.Reason, width)
		}
		b.WriteByte('\n')
	}
	b.WriteString(r.Summary() + "\n")
	return b.String()
}

// indent is what stands before the lines of a finding.
const indent = "   "

// wrap writes a text in lines of that width. Lines that are indented, such as those of code, stay as
// they are.
func wrap(b *strings.Builder, text string, width int) {
	width = max(width-len(indent), 20)
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if code || strings.HasPrefix(line, "  ") || prose.Width(line) <= width {
			b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
			continue
		}
		at := 0
		for word := range strings.FieldsSeq(line) {
			w := prose.Width(word)
			switch {
			case at == 0:
				b.WriteString(indent)
			case at+1+w > width:
				b.WriteString("\n" + indent)
				at = 0
			default:
				b.WriteByte(' ')
				at++
			}
			b.WriteString(word)
			at += w
		}
		b.WriteByte('\n')
	}
}

// Markdown shows the report in a conversation: people and models then name findings by their
// numbers.
func (r *Report) Markdown() string {
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", inline(n))
	}
	if len(r.Notes) > 0 {
		b.WriteByte('\n')
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(&b, "%d. **%s** %s  \n   %s (%s)\n\n", f.Number, f.Severity, inline(f.Title), code(f.where()), f.marks())
		paragraph(&b, f.Explanation)
		if f.Suggestion != "" {
			paragraph(&b, "Suggestion: "+f.Suggestion)
		}
		if f.Verdict == Unclear && f.Reason != "" {
			paragraph(&b, "Unclear: "+f.Reason)
		}
	}
	b.WriteString(inline(r.Summary()) + ".\n")
	return b.String()
}

// inline is a text on one line.
func inline(s string) string { return prose.Inline(s) }

// code is a text between backquotes, whatever is in it.
func code(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// paragraph writes a text as part of an item of a list. A model's fences are closed.
func paragraph(b *strings.Builder, text string) {
	fences := 0
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fences++
		}
		b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
	if fences%2 == 1 {
		b.WriteString(indent + "```\n")
	}
	b.WriteByte('\n')
}
