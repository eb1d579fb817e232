package card

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // sizes of pictures
	_ "image/jpeg" // sizes of pictures
	_ "image/png"  // sizes of pictures
	"strconv"
	"strings"

	_ "golang.org/x/image/webp" // sizes of pictures

	"github.com/burin-dev/burin/internal/markdown/syntax"
	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// collapsedUser is how many lines of a message of the user are shown; people paste
// long texts.
const collapsedUser = 12

// User gives the lines of what the user said. It is shown as it was written; of files
// that were given with it, a row says which.
func User(content []llm.Block, v View) []string {
	p := newPainter(v)
	bar := styled.Line{{Text: p.sign.Quote + " ", Look: theme.Look{Fg: theme.Accent}}}
	look := theme.Look{Fg: theme.UserMessageText, Bg: theme.UserMessageBg}
	var lines []styled.Line
	for _, block := range content {
		switch b := block.(type) {
		case llm.Text:
			files, rest := Files(b.Text)
			for _, f := range files {
				lines = append(lines, styled.Truncate(fileLine(f.Name, f.Size), max(1, p.Width-bar.Width()-1), p.sign.Ellipsis))
			}
			if b.Text = rest; rest == "" && len(files) > 0 {
				continue
			}
			for _, text := range strings.Split(strings.Trim(prose.Clean(b.Text, p.Tab), "\n"), "\n") {
				lines = styled.Wrap(lines, styled.Line{{Text: text, Look: look}}, max(1, p.Width-bar.Width()-1), nil, nil)
			}
		case llm.Image:
			lines = append(lines, styled.Truncate(p.picture(b), max(1, p.Width-bar.Width()-1), p.sign.Ellipsis))
		case llm.Document:
			lines = append(lines, styled.Truncate(fileLine(b.Name, len(b.Data)), max(1, p.Width-bar.Width()-1), p.sign.Ellipsis))
		}
	}
	n := len(lines)
	if limit := p.limit(collapsedUser); n > limit+1 {
		lines = lines[:limit]
	}
	width := 0
	for _, l := range lines {
		width = max(width, l.Width())
	}
	for _, l := range lines {
		p.add(append(bar[:1:1], styled.Pad(l, width+1, look)...))
	}
	p.more(n - len(lines))
	return p.lines
}

// File is a file that was given with a prompt.
type File struct {
	Name string
	Size int // of what the model was given, in bytes
}

func fileLine(name string, n int) styled.Line {
	return styled.Of("[file "+prose.Inline(name)+", "+size(int64(n))+"]", theme.Muted)
}

// Files are the files that a text of a prompt begins with, each from <file path="…"> to
// </file>, and what stands behind them.
func Files(text string) (files []File, rest string) {
	const end = "\n</file>"
	for {
		quoted, ok := strings.CutPrefix(text, "<file path=")
		if !ok {
			return files, text
		}
		path, err := strconv.QuotedPrefix(quoted)
		body, ok := strings.CutPrefix(quoted[len(path):], ">\n")
		if err != nil || !ok {
			return files, text
		}
		i := strings.Index(body, end)
		if i < 0 {
			return files, text
		}
		behind := func(i int) string { return strings.TrimLeft(body[i+len(end):], "\n") }
		// The text of a file may hold the words that end it.
		if strings.HasSuffix(body, end) && !strings.HasPrefix(behind(i), "<file path=") {
			i = len(body) - len(end)
		}
		name, err := strconv.Unquote(path)
		if err != nil {
			return files, text
		}
		files = append(files, File{Name: name, Size: i})
		text = behind(i)
	}
}

// Thinking gives the lines of what the model thinks: how it begins, or all of it.
func Thinking(text string, v View) []string {
	p := newPainter(v)
	look := theme.Look{Fg: theme.ThinkingText, Mod: theme.Italic}
	if p.Expanded {
		return markdown.Render(text, p.Width, markdown.Options{Styles: v.Styles, Links: v.Links, Look: look})
	}
	lines := splitLines(text)
	if len(lines) == 0 {
		return nil
	}
	var words strings.Builder
	for _, span := range syntax.Inline(strings.TrimLeft(lines[0], "# "), false, nil) {
		words.WriteString(prose.Inline(span.Text))
	}
	label := "Thinking"
	if n := len(lines); n > 1 {
		label += ", " + prose.Count(n, "line")
	}
	p.add(styled.Line{{Text: p.sign.Running + " " + label + "  ", Look: theme.Look{Fg: theme.Dim}}, {Text: words.String(), Look: look}})
	return p.lines
}

// Level is how much a notice matters.
type Level uint8

const (
	Info Level = iota
	Warning
	Failure
)

// Notice gives the lines of something the program has to say. It is kept nowhere, so no
// key leads to the rest of a long one.
func Notice(level Level, text string, v View) []string {
	v.Hint = ""
	p := newPainter(v)
	sign, look := p.sign.Dot, theme.Look{Fg: theme.Muted}
	switch level {
	case Warning:
		sign, look.Fg = "!", theme.Warning
	case Failure:
		sign, look.Fg = p.sign.Failed, theme.Error
	}
	lines := splitLines(text)
	limit := min(len(lines), p.limit(collapsedLines))
	for i, line := range lines[:limit] {
		first := styled.Line{{Text: sign + " ", Look: look}}
		rest := styled.Line{{Text: strings.Repeat(" ", first.Width())}}
		if i > 0 {
			first = rest
		}
		for _, l := range styled.Wrap(nil, styled.Line{{Text: line, Look: look}}, p.Width, first, rest) {
			p.add(l)
		}
	}
	p.more(len(lines) - limit)
	return p.lines
}

// dividerWidth is how long the line of a divider is at most.
const dividerWidth = 64

// Compaction gives the divider where a conversation was made smaller, from so many
// tokens to so many; 0 for what is not known. Expanded, the summary follows.
func Compaction(before, after int, summary string, v View) []string {
	p := newPainter(v)
	words := " condensed "
	switch {
	case before > 0 && after > 0:
		words = fmt.Sprintf(" condensed: %s %s %s tokens ", prose.Tokens(before), p.sign.Arrow, prose.Tokens(after))
	case before > 0:
		words = fmt.Sprintf(" condensed: %s tokens ", prose.Tokens(before))
	}
	rule := strings.Repeat(p.sign.Rule, 2)
	fill := strings.Repeat(p.sign.Rule, max(2, min(dividerWidth, p.Width)-2-styled.Width(words)))
	line := theme.Look{Fg: theme.BorderMuted}
	p.add(styled.Line{{Text: rule, Look: line}, {Text: words, Look: theme.Look{Fg: theme.Muted}}, {Text: fill, Look: line}})
	if p.Expanded && strings.TrimSpace(summary) != "" {
		o := markdown.Options{Styles: v.Styles, Links: v.Links, Look: theme.Look{Fg: theme.Muted}}
		p.lines = append(p.lines, markdown.Render(summary, p.Width, o)...)
	}
	return p.lines
}

// Image gives the line that stands for a picture where none can be shown.
func Image(img llm.Image, v View) []string {
	p := newPainter(v)
	p.add(p.picture(img))
	return p.lines
}

func (p *painter) picture(img llm.Image) styled.Line {
	facts := []string{strings.TrimPrefix(prose.Inline(img.MIME), "image/")}
	if c, _, err := image.DecodeConfig(bytes.NewReader(img.Data)); err == nil {
		facts = append(facts, fmt.Sprintf("%d×%d", c.Width, c.Height))
	}
	switch {
	case len(img.Data) > 0:
		facts = append(facts, size(int64(len(img.Data))))
	case img.URL != "":
		facts = append(facts, prose.Inline(img.URL[:min(len(img.URL), 200)]))
	}
	return styled.Of("[image "+strings.Join(facts, ", ")+"]", theme.Muted)
}

// Usage gives the line about what an answer consumed.
func Usage(u llm.Usage, v View) []string {
	p := newPainter(v)
	in := "in " + prose.Tokens(u.Prompt())
	if u.CacheRead > 0 {
		in += fmt.Sprintf(" (%s cached)", prose.Tokens(u.CacheRead))
	}
	facts := []string{in, "out " + prose.Tokens(u.Output)}
	if c := u.Cost; c != nil {
		switch {
		case c.Unknown && c.Total == 0:
			facts = append(facts, "cost unknown")
		case c.Unknown:
			facts = append(facts, "at least "+dollars(c.Total))
		default:
			facts = append(facts, dollars(c.Total))
		}
	}
	p.add(styled.Of(strings.Join(facts, " "+p.sign.Dot+" "), theme.Dim))
	return p.lines
}

// dollars is an amount for reading: small ones with the digits that matter.
func dollars(v llm.USD) string {
	if f := v.Float(); f >= 0.1 || f == 0 {
		return fmt.Sprintf("$%.2f", f)
	}
	if v < 100_000 {
		return v.String() // %g would write an exponent
	}
	return fmt.Sprintf("$%.2g", v.Float())
}
