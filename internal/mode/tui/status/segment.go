package status

import (
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/panel"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// segment is one kind of fact. Draw adds nothing where there is nothing to say.
type segment struct {
	name string
	draw func(p *pen, f *Facts)
}

// segments in the order in which they go when there is too little room, first to last.
var segments = [...]segment{
	{"time", drawTime},
	{"hostname", func(p *pen, f *Facts) { p.foreign(f.Hostname, 40, theme.Muted) }},
	{"session", func(p *pen, f *Facts) { p.foreign(f.SessionID, 8, theme.Muted) }},
	{"session_name", func(p *pen, f *Facts) { p.foreign(f.Title, 40, theme.Muted) }},
	{"token_rate", drawRate},
	{"cache_write", func(p *pen, f *Facts) { p.tokens("cached ", f.Usage.CacheWrite, "", theme.Muted) }},
	{"cache_read", func(p *pen, f *Facts) { p.tokens("from cache ", f.Usage.CacheRead, "", theme.Muted) }},
	{"cache_hit", drawCacheHit},
	{"token_in", func(p *pen, f *Facts) { p.tokens("in ", f.Usage.Prompt(), "", theme.StatusLineSpend) }},
	{"token_out", func(p *pen, f *Facts) { p.tokens("out ", f.Usage.Output, "", theme.StatusLineOutput) }},
	{"token_total", func(p *pen, f *Facts) { p.tokens("", f.Usage.Context(), " tokens", theme.StatusLineSpend) }},
	{"time_spent", drawTimeSpent},
	{"usage", drawUsage},
	{"pr", drawPR},
	{"burin", func(p *pen, _ *Facts) { p.icon("\uf040 "); p.put("burin", theme.Accent) }},
	{"context_total", drawContextTotal},
	{"subagents", func(p *pen, f *Facts) { p.number(f.Subagents, " agent", theme.StatusLineSubagents) }},
	{"goal", drawGoal},
	{"jobs", func(p *pen, f *Facts) { p.number(f.Jobs, " job", theme.StatusLineSubagents) }},
	{"thinking", drawThinking},
	{"command", func(p *pen, f *Facts) { p.foreign(f.Command, 80, theme.Muted) }},
	{"git", drawGit},
	{"path", drawPath},
	{"cost", drawCost},
	{"model", drawModel},
	{"context_pct", drawContext},
	{"mode", drawMode},
}

// pen writes the spans of one line.
type pen struct {
	line  styled.Line
	ascii bool
	icons bool
	bg    theme.Token
	num   [24]byte // for numbers
}

func (p *pen) put(text string, fg theme.Token) { p.putMod(text, fg, 0) }

func (p *pen) putMod(text string, fg theme.Token, mod theme.Mod) {
	if text != "" {
		p.line = append(p.line, styled.Span{Text: text, Look: theme.Look{Fg: fg, Bg: p.bg, Mod: mod}})
	}
}

// icon is drawn where the font has it.
func (p *pen) icon(sign string) {
	if p.icons && !p.ascii {
		p.put(sign, theme.Accent)
	}
}

// foreign is text of others, cut to so many cells.
func (p *pen) foreign(text string, cells int, fg theme.Token) {
	if text == "" {
		return
	}
	p.put(cut(prose.Inline(text[:min(len(text), 4*cells+40)]), cells, p.ellipsis()), fg)
}

func (p *pen) ellipsis() string {
	if p.ascii {
		return "..."
	}
	return "…"
}

func cut(text string, cells int, tail string) string {
	if len(text) <= cells {
		return text
	}
	return styled.Truncate(styled.Line{{Text: text}}, cells, tail).Text()
}

func (p *pen) sign(unicode, ascii string) string {
	if p.ascii {
		return ascii
	}
	return unicode
}

func (p *pen) tokens(before string, n int, after string, fg theme.Token) {
	if n > 0 {
		p.put(before+prose.Tokens(n)+after, fg)
	}
}

func (p *pen) number(n int, word string, fg theme.Token) {
	if n <= 0 {
		return
	}
	p.put(strconv.Itoa(n)+prose.Noun(n, word), fg)
}

func drawTime(p *pen, f *Facts) {
	if !f.Now.IsZero() {
		p.put(string(f.Now.AppendFormat(p.num[:0], "15:04")), theme.Muted)
	}
}

func drawTimeSpent(p *pen, f *Facts) {
	if !f.Started.IsZero() && f.Now.After(f.Started) {
		d := f.Now.Sub(f.Started)
		if d >= time.Minute {
			d = d.Truncate(time.Minute) // seconds would be wrong as long as nothing is drawn
			p.put(strings.TrimSuffix(panel.Elapsed(d), " 00s"), theme.Muted)
			return
		}
		p.put("<1m", theme.Muted)
	}
}

func drawRate(p *pen, f *Facts) {
	if f.Rate > 0 {
		p.put(strconv.Itoa(int(f.Rate+0.5))+" tokens/s", theme.StatusLineOutput)
	}
}

func drawCacheHit(p *pen, f *Facts) {
	if n := f.Usage.Prompt(); n > 0 {
		p.put(strconv.Itoa(int(int64(f.Usage.CacheRead)*100/int64(n)))+"% cached", theme.Muted)
	}
}

func drawUsage(p *pen, f *Facts) {
	for i, l := range f.Limits {
		if i == 3 {
			return
		}
		if i > 0 {
			p.put(" ", theme.Muted)
		}
		p.foreign(l.Name, 12, theme.Muted)
		p.put(" "+strconv.Itoa(l.Percent)+"%", fill(l.Percent, theme.Muted))
	}
}

// fill is the colour of how full something is.
func fill(percent int, calm theme.Token) theme.Token {
	switch {
	case percent >= 90:
		return theme.Error
	case percent >= 70:
		return theme.Warning
	}
	return calm
}

func drawPR(p *pen, f *Facts) {
	if f.PR > 0 {
		p.put("PR #"+strconv.Itoa(f.PR), theme.StatusLineGitClean)
	}
}

func drawContext(p *pen, f *Facts) {
	switch {
	case f.Window > 0:
		percent := int(int64(f.Context) * 100 / int64(f.Window))
		p.put(strconv.Itoa(percent)+"% context", fill(percent, theme.StatusLineContext))
	case f.Context > 0: // of an unknown window
		p.put(prose.Tokens(f.Context)+" context", theme.StatusLineContext)
	}
}

func drawContextTotal(p *pen, f *Facts) {
	if f.Window > 0 {
		p.put(prose.Tokens(f.Context)+"/"+prose.Tokens(f.Window), theme.StatusLineContext)
	}
}

// drawCost never says that something cost nothing because its price is not known.
func drawCost(p *pen, f *Facts) {
	switch {
	case f.Known:
		p.put(dollars(f.Cost), theme.StatusLineCost)
	case f.Cost > 0:
		p.put(p.sign("≥ ", ">= ")+dollars(f.Cost), theme.StatusLineCost)
	case f.Requests > 0:
		p.put("cost unknown", theme.StatusLineCost)
	}
}

// dollars is an amount for reading; small ones have the digits that matter.
func dollars(v llm.USD) string {
	f := v.Float()
	switch {
	case f > 0 && f < 0.0001:
		return "<$0.0001"
	case f > 0 && f < 0.1:
		return "$" + strconv.FormatFloat(f, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(f, 'f', 2, 64)
}

// drawModel leaves the provider out.
func drawModel(p *pen, f *Facts) {
	p.icon("\uf0e7 ")
	p.foreign(f.Model[strings.IndexByte(f.Model, '/')+1:], 48, theme.StatusLineModel)
}

func drawThinking(p *pen, f *Facts) {
	if f.Thinking != llm.LevelDefault && f.Thinking != llm.LevelOff {
		p.foreign(string(f.Thinking), 12, Border(Prompt{Level: f.Thinking}))
	}
}

// drawGoal says what a goal that isn't done has shown, and spent if it has a budget.
func drawGoal(p *pen, f *Facts) {
	g := &f.Goal
	switch g.State {
	case session.GoalPaused:
		p.put("goal paused", theme.Muted)
	case session.GoalActive:
		p.put("goal "+strconv.Itoa(g.Shown())+"/"+strconv.Itoa(len(g.Criteria)), theme.Accent)
		if g.Budget > 0 {
			p.put(" "+dollars(g.Spent+max(0, f.Cost-f.GoalFrom))+" of "+dollars(g.Budget), theme.StatusLineCost)
		}
	case session.GoalDone:
	}
}

func drawMode(p *pen, f *Facts) {
	switch f.Mode {
	case "":
	case "plan":
		p.putMod("plan", theme.Accent, theme.Bold)
	case "full": // the only one in which commands run unasked
		p.putMod("full access", theme.Warning, theme.Bold)
	default:
		p.foreign(f.Mode, 16, theme.Muted)
	}
}

func drawGit(p *pen, f *Facts) {
	g := &f.Git
	if g.Branch == "" && g.Commit == "" {
		return
	}
	fg := theme.StatusLineGitClean
	if g.Staged+g.Modified+g.Untracked+g.Conflicts > 0 {
		fg = theme.StatusLineGitDirty
	}
	p.icon("\ue0a0 ")
	if g.Branch != "" {
		p.foreign(g.Branch, 32, fg)
	} else {
		p.foreign(g.Commit, 10, fg)
	}
	for _, c := range [...]struct {
		sign string
		n    int
		fg   theme.Token
	}{
		{p.sign(" ↑", " ^"), g.Ahead, fg},
		{p.sign(" ↓", " v"), g.Behind, fg},
		{" !", g.Conflicts, theme.Error},
		{" +", g.Staged, theme.StatusLineStaged},
		{" ~", g.Modified, theme.StatusLineDirty},
		{" ?", g.Untracked, theme.StatusLineUntracked},
	} {
		if c.n > 0 {
			p.put(c.sign+strconv.Itoa(c.n), c.fg)
		}
	}
}
