package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/export/internal/markup"
)

// outputLines is how much of a tool's output Markdown shows, half from each end.
const outputLines = 40

// Markdown writes the active branch as a document that reads well on a code host,
// and the other branches as a list. Thinking is left out; outputs are shortened to
// their first and last lines; pictures are named. Text of the session cannot leave
// its place: its headings become smaller ones, its HTML and pictures are shown as
// text, and a code fence without an end stays inside a quote.
func Markdown(w io.Writer, p Page) error {
	t, err := newTree(&p)
	if err != nil {
		return err
	}
	d := document{tree: t, out: bufio.NewWriterSize(w, 1<<16)}
	d.head()
	for place, i := range t.path {
		d.entry(i, t.results(i, place))
	}
	d.sides()
	if err := d.out.Flush(); err != nil {
		return fmt.Errorf("export session %s: %w", p.Header.ID, err)
	}
	return nil
}

// document writes to out, whose errors stick to it and are seen at the end.
type document struct {
	*tree
	out *bufio.Writer
}

func (d *document) put(parts ...string) {
	for _, s := range parts {
		d.out.WriteString(s) //nolint:errcheck // sticks to the writer
	}
}

func (d *document) head() {
	title := visible(d.title)
	if title == "" {
		title = "Session " + d.page.Header.ID
	}
	d.put("# ", literal(title), "\n\n")
	a := d.all
	var facts []string
	if at := headerTime(d.page.Header.Timestamp); !at.IsZero() {
		facts = append(facts, at.Format("January 2, 2006, 15:04")+" UTC")
	}
	if d.page.Header.CWD != "" {
		facts = append(facts, codeSpan(d.page.Header.CWD))
	}
	if d.page.Version != "" {
		facts = append(facts, "burin "+literal(d.page.Version))
	}
	if len(facts) > 0 {
		d.put(strings.Join(facts, " · "), "\n\n")
	}
	d.put("| Prompts | Answers | Tool calls | Tokens in | Tokens out | Cost |\n|--:|--:|--:|--:|--:|--:|\n")
	d.put(fmt.Sprintf("| %d | %d | %d | %s | %s | %s |\n", a.Prompts, a.Answers, a.ToolCalls, prose.Tokens(a.Usage.Prompt()), prose.Tokens(a.Usage.Output), costWords(a.Usage.Cost, a.Unpriced)))
}

func (d *document) entry(i int, results map[int][]int) {
	n := &d.nodes[i]
	e := n.entry
	kind := kindOf(e)
	switch {
	case kind == kindQuiet:
	case e.Execution != nil:
		d.heading(i, executionWords(e.Execution))
		d.fence(e.Execution.Command, "sh")
		if strings.TrimSpace(e.Execution.Output) != "" {
			d.fence(shortened(markup.PlainTerminal(prose.Head(e.Execution.Output, maxText))), "")
		}
		if end := e.Execution.Ending(); end != "" {
			d.put("\n> ", end, "\n")
		}
	case e.Type == transcript.TypeMessage:
		d.message(i, results)
	case e.Type == transcript.TypeCustomMessage:
		d.heading(i, "Program: "+literal(visible(e.CustomType)))
		blocks, err := e.Words()
		if err != nil {
			d.fence(string(e.Content), "")
		}
		d.blocks(blocks)
	case kind == kindDivider, kind == kindBranch:
		words := "Summary of a branch that was left"
		if kind == kindDivider {
			words = "Earlier messages were compacted"
		}
		d.put("\n---\n\n<details><summary>", words, "</summary>\n\n", contained(e.Summary), "\n\n</details>\n")
	default:
		d.put("\n*", literal(visible(changeWords(e))), "*\n")
	}
}

// heading begins a message.
func (d *document) heading(i int, who string) {
	d.put("\n## ", who)
	if l := d.nodes[i].label; l != "" {
		d.put(" · ", codeSpan(visible(l)))
	}
	if at := timeOf(d.nodes[i].entry); !at.IsZero() {
		d.put(" · ", at.Format("Jan 2, 15:04"))
	}
	d.put("\n")
}

func (d *document) message(i int, results map[int][]int) {
	m := d.nodes[i].entry.Message
	switch m.Role {
	case llm.RoleUser:
		d.heading(i, "You")
		d.blocks(m.Content)
	case llm.RoleAssistant:
		d.heading(i, "Assistant")
		d.answer(m, results)
	case llm.RoleToolResult:
		if d.nodes[i].caller < 0 {
			d.heading(i, "Result of "+codeSpan(visible(m.ToolName)))
			d.result(i)
		}
	case llm.RoleCustom:
		d.heading(i, "Program: "+literal(visible(m.CustomType)))
		d.blocks(m.Content)
	default:
		d.heading(i, literal(visible(string(m.Role))))
		d.blocks(m.Content)
	}
}

func (d *document) answer(m *llm.Message, results map[int][]int) {
	for k, b := range llm.AllParagraphs(m.Content) {
		c, ok := b.(llm.ToolCall)
		if !ok {
			d.blocks([]llm.Block{b})
			continue
		}
		mark := ""
		for _, r := range results[k] {
			if d.nodes[r].entry.Message.IsError {
				mark = " (failed)"
			}
		}
		d.put("\n<details><summary>", string(markup.AppendAttr(nil, visible(c.Name))), " <code>", string(markup.AppendAttr(nil, headline(c))), "</code>", mark, "</summary>\n")
		if fields, ok := arguments(c); ok {
			for _, f := range fields {
				if len(f.text) < 200 && strings.IndexByte(f.text, '\n') < 0 {
					d.put("\n", codeSpan(visible(f.name)), ": ", codeSpan(f.text), "\n")
					continue
				}
				d.put("\n", codeSpan(visible(f.name)), ":\n")
				d.fence(f.text, "")
			}
		} else {
			d.fence(c.Arguments, "")
		}
		for _, r := range results[k] {
			d.put("\nResult:\n")
			d.result(r)
		}
		d.put("\n</details>\n")
	}
	switch m.StopReason {
	case llm.StopLength:
		d.put("\n> The answer was cut at the token limit.\n")
	case llm.StopAborted:
		d.put("\n> The answer was stopped.\n")
	case llm.StopError:
		words := "The answer failed."
		if m.Error != nil {
			words = literal(prose.Line(markup.Plain(prose.Head(m.Error.Error(), 2000))))
		}
		d.put("\n> ", words, "\n")
	}
	var words []string
	if model := modelOf(m); model != "" {
		words = append(words, codeSpan(model))
	}
	if words = append(words, usageWords(m)...); len(words) > 0 {
		d.put("\n<sub>", strings.Join(words, " · "), "</sub>\n")
	}
}

func (d *document) result(i int) {
	m := d.nodes[i].entry.Message
	if diff := diffOf(m); diff != "" {
		d.fence(shortened(diff), "diff")
		return
	}
	for _, b := range m.Content {
		if t, ok := b.(llm.Text); ok {
			d.fence(shortened(markup.PlainTerminal(prose.Head(t.Text, maxText))), "")
			continue
		}
		d.blocks([]llm.Block{b})
	}
}

func (d *document) blocks(blocks []llm.Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				d.put("\n", contained(b.Text), "\n")
			}
			for _, c := range b.Citations {
				d.put("\n- ", literal(visible(c.Title)), " ", literal(visible(c.URL)), "\n")
			}
		case llm.Image:
			if mime, ok := picture(b.Data); ok {
				d.put("\n*Picture: ", mime, ", ", bytesWords(len(b.Data)), "*\n")
			} else {
				d.put("\n*Picture: ", literal(visible(b.MIME+" "+b.URL)), "*\n")
			}
		case llm.Document:
			d.put("\n*Document: ", literal(visible(b.Name+" "+b.MIME)), "*\n")
		}
	}
}

// fence appends s as code, in a fence longer than any in it.
func (d *document) fence(s, lang string) {
	s = strings.TrimRight(markup.Plain(prose.Head(s, maxText)), "\n")
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	d.put("\n", ticks, lang, "\n", s, "\n", ticks, "\n")
}

// shortened is s without the middle of a long output.
func shortened(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) <= outputLines+1 {
		return s
	}
	half := outputLines / 2
	gone := fmt.Sprintf("… %d lines …", len(lines)-2*half)
	return strings.Join(lines[:half], "\n") + "\n" + gone + "\n" + strings.Join(lines[len(lines)-half:], "\n")
}

// contained is Markdown of the session that keeps its place in the document. Where
// its code fences do not end for sure, it becomes a quote, at whose end they do.
func contained(s string) string {
	var lines []string
	fence, inner := "", 0 // the open fence, and how far its lines are indented at least
	torn, unsure := false, false
	for line := range strings.Lines(markup.Plain(prose.Head(s, maxText))) {
		line = strings.TrimSuffix(line, "\n")
		text := strings.TrimLeft(line, " \t>")
		if fence != "" {
			unsure = unsure || text != "" && len(line)-len(text) < inner
			mark := fenceOf(text)
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(text[len(mark):]) == "" {
				fence = ""
			}
			lines = append(lines, line)
			continue
		}
		text = strings.TrimLeft(text, "-*+ \t>0123456789.)")
		if mark := fenceOf(text); mark != "" && (mark[0] == '~' || !strings.Contains(text[len(mark):], "`")) {
			fence, inner = mark, len(line)-len(text)
			lines = append(lines, line)
			continue
		}
		line, torn = harmless(line, torn && text != "")
		lines = append(lines, line)
	}
	out := strings.TrimRight(strings.Join(lines, "\n"), "\n")
	if unsure || fence != "" {
		out = "> " + strings.ReplaceAll(out, "\n", "\n> ")
	}
	return out
}

// fenceOf is the run of at least three backticks or tildes that text begins with.
func fenceOf(text string) string {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	n := len(text) - len(strings.TrimLeft(text, text[:1]))
	if n < 3 {
		return ""
	}
	return text[:n]
}

// harmless escapes in a line outside code what would load something, be HTML, or
// be a heading as large as the document's own. torn says that a code span of a line
// before may be open; then nothing of this line counts as code.
func harmless(line string, torn bool) (out string, stillTorn bool) {
	text := strings.TrimLeft(line, " \t>-*+0123456789.)")
	if rest := strings.TrimLeft(text, "#"); len(rest) < len(text) && strings.TrimLeft(rest, " \t") != rest || text != "" && rest == "" {
		n := len(text) - len(rest)
		line = line[:len(line)-len(text)] + strings.Repeat("#", min(n+2, max(n, 6))) + rest
	}
	switch bar := strings.TrimSpace(line); { // bars that could make a heading of the line before
	case len(bar) > 2 && strings.Trim(bar, "-") == "":
		return "***", torn
	case bar != "" && (strings.Trim(bar, "=") == "" || strings.Trim(bar, "-") == ""):
		return `\` + bar, torn
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '`':
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			end := -1
			if !torn {
				end = closing(line[i+n:], n)
			}
			if end < 0 {
				torn = true
				b.WriteString(line[i : i+n])
				i += n - 1
				continue
			}
			b.WriteString(line[i : i+n+end+n])
			i += n + end + n - 1
			continue
		case c == '<' && startsTag(line[i+1:]):
			b.WriteString("&lt;")
			continue
		case c == '!' && strings.HasPrefix(line[i:], "!["):
			b.WriteString(`\!`)
			continue
		case c == '\\' && i+1 < len(line) && line[i+1] != '<' && line[i+1] != '!':
			b.WriteByte(c)
			i++
		}
		b.WriteByte(line[i])
	}
	return b.String(), torn
}

// closing is where in s a run of exactly n backticks begins, or -1.
func closing(s string, n int) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		m := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		if m == n {
			return at
		}
		at += m
	}
}

// startsTag reports whether what follows a < could make it HTML.
func startsTag(s string) bool {
	if s == "" || strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "https:") {
		return false
	}
	c := s[0] | 0x20
	return s[0] == '/' || s[0] == '!' || s[0] == '?' || 'a' <= c && c <= 'z'
}

// literal is a line of text that means nothing in Markdown.
func literal(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// codeSpan is a line of text as code.
func codeSpan(s string) string {
	s = markup.Plain(strings.ReplaceAll(s, "\n", " "))
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if len(ticks) > 1 {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

func (d *document) sides() {
	sides := d.tree.sides()
	if len(sides) == 0 {
		return
	}
	d.put("\n---\n\n## Other branches\n\n")
	for _, s := range sides {
		d.put("- ", codeSpan(d.nodes[s.tip].entry.ID), " ")
		if s.label != "" {
			d.put("**", literal(visible(s.label)), "** ")
		}
		d.put(literal(s.words), " (", prose.Count(s.messages, "message"))
		if at := timeOf(d.nodes[s.tip].entry); !at.IsZero() {
			d.put(", ", at.Format(time.DateOnly))
		}
		d.put(")\n")
	}
}
