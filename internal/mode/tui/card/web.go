package card

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

func (p *painter) fetch(c *Call, args fields) {
	d := read[struct {
		URL         string `json:"url"`
		FinalURL    string `json:"finalUrl"`
		Status      int    `json:"status"`
		ContentType string `json:"contentType"`
		Method      string `json:"method"`
		Truncated   bool   `json:"truncated"`
	}](c.Details)
	var facts []string
	if d.Status >= 400 {
		facts = append(facts, fmt.Sprintf("status %d", d.Status))
	}
	if d.Method != "" {
		facts = append(facts, d.Method)
	}
	_, text, headed := strings.Cut(c.text(), "\n---\n")
	if !headed {
		text = c.text()
	}
	if n := len(splitLines(text)); n > 0 && c.State == Done {
		facts = append(facts, prose.Count(n, "line"))
	}
	if d.Truncated {
		facts = append(facts, "cut")
	}
	p.title(c, subject{line: p.address(args.string("url"))}, facts...)
	switch {
	case c.State == Failed:
		p.text(text, theme.Error, collapsedLines, head)
	case p.Expanded:
		p.text(text, theme.ToolOutput, 0, head)
	}
}

// address is a URL, as a link if it is one.
func (p *painter) address(url string) styled.Line {
	span := styled.Span{Text: prose.Inline(url), Look: theme.Look{Fg: theme.MdLink, Mod: theme.Underline}}
	if href, ok := markdown.Href(url); ok && p.Links {
		span.Link = href
	}
	return styled.Line{span}
}

// shownSources is how many findings of a search a collapsed card names.
const shownSources = 4

func (p *painter) search(c *Call, args fields) {
	d := read[struct {
		Provider string `json:"provider"`
		Sources  []struct {
			Title string `json:"title"`
			URL   string `json:"url"`
			Date  string `json:"publishedDate"`
			Text  string `json:"snippet"`
		} `json:"sources"`
	}](c.Details)
	fact := ""
	if c.State == Done {
		fact = prose.Count(len(d.Sources), "result")
	}
	p.title(c, words(args.string("query"), theme.Text), fact, d.Provider)
	if p.failure(c) {
		return
	}
	limit := min(len(d.Sources), p.limit(shownSources))
	for _, s := range d.Sources[:limit] {
		link := p.address(s.URL)
		if !p.Expanded {
			if p.Links && s.Title != "" {
				link[0].Text = prose.Inline(s.Title)
			} else {
				link = append(styled.Of(prose.Inline(s.Title)+"  ", theme.ToolOutput), link...)
			}
			p.body(link)
			continue
		}
		title := styled.Of(prose.Inline(s.Title), theme.ToolTitle)
		if s.Date != "" {
			title = append(title, styled.Span{Text: "  " + prose.Inline(s.Date), Look: theme.Look{Fg: theme.Muted}})
		}
		p.prose(title)
		p.body(link)
		p.prose(styled.Of(prose.Inline(s.Text), theme.ToolOutput))
	}
	if n := len(d.Sources) - limit; n > 0 {
		p.note(fmt.Sprintf("%s %s", p.sign.Ellipsis, prose.Count(n, "more result")))
	}
}
