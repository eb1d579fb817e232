package viewer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/host/crew"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// How many bytes of one text are shown; what is beyond is counted only. An expanded
// item shows more, at the cost of a moment.
const (
	maxText     = 16 << 10
	maxExpanded = 1 << 20
)

// collapsedNote is how many lines of a program's words are shown.
const collapsedNote = 6

// rows are the lines of item i, none if it is not shown. A blank one stands behind
// all but the last item.
func (v *Viewer) rows(i int) []string {
	if rows, ok := v.cache.get(i); ok {
		return rows
	}
	r := renderer{
		log:    v.o.Log,
		labels: v.o.Labels,
		last:   i == len(v.branch.items)-1,
		view: card.View{
			Width: v.width, Styles: v.env.Styles, Links: v.env.Links,
			Expanded: v.expanded(i), Hint: "enter",
		},
	}
	r.busy = r.last && v.o.Busy != nil && v.o.Busy()
	r.item(v.branch.members(i))
	if n := len(r.lines); n > 0 && !r.last {
		r.lines = append(r.lines, "")
	}
	v.cache.put(i, r.lines)
	return r.lines
}

// expanded reports whether all of an item is shown.
func (v *Viewer) expanded(i int) bool { return v.all != v.turned[v.branch.first(i).id] }

// renderer draws one item.
type renderer struct {
	log    session.Transcript
	labels map[string]string // of tools
	view   card.View
	last   bool
	busy   bool
	lines  []string
}

func (r *renderer) item(members []entry) {
	e, err := r.log.Entry(members[0].id)
	if err != nil {
		r.part(card.Notice(card.Warning, "This entry cannot be read: "+err.Error(), r.view))
		return
	}
	switch kind := members[0].kind; {
	case kind == condensed:
		r.part(card.Compaction(e.TokensBefore, 0, e.Summary, r.view))
	case kind == back:
		r.words("From another branch", e.Summary)
	case kind == custom:
		if words, err := e.Words(); err == nil && e.Display {
			r.blocks(e.CustomType, words)
		}
	case e.Execution != nil:
		c := card.Execution(e.Execution)
		c.Content = clip(c.Content, r.limit())
		r.part(card.Tool(c, r.view))
	case e.Message == nil:
	case kind == user:
		r.part(card.User(clip(e.Message.Content, r.limit()), r.view))
	case kind == answer:
		r.answer(e.Message, members[1:])
	case kind == result:
		r.stray(e.Message)
	case e.Message.Role == llm.RoleCustom && e.Message.CustomType == crew.CustomResult && len(e.Message.Details) > 0:
		r.part(card.Tool(card.AgentResults(e.Message.Details), r.view))
	case e.Message.Role == llm.RoleCustom:
		r.blocks(e.Message.CustomType, e.Message.Content)
	default:
		r.blocks(string(e.Message.Role), e.Message.Content)
	}
}

// part adds lines, a blank one before them.
func (r *renderer) part(lines []string) {
	if len(lines) == 0 {
		return
	}
	if len(r.lines) > 0 {
		r.lines = append(r.lines, "")
	}
	r.lines = append(r.lines, lines...)
}

func (r *renderer) limit() int {
	if r.view.Expanded {
		return maxExpanded
	}
	return maxText
}

// answer draws what a model said, its calls with their results.
func (r *renderer) answer(m *llm.Message, members []entry) {
	results := map[string]*llm.Message{}
	var order []*llm.Message
	for _, member := range members {
		if e, err := r.log.Entry(member.id); err == nil && e.Message != nil {
			order = append(order, e.Message)
			results[e.Message.ToolCallID] = e.Message
		}
	}
	for _, b := range llm.Paragraphs(m.Content) {
		switch b := b.(type) {
		case llm.Text:
			r.part(r.markdown(b.Text, theme.Look{}))
		case llm.Thinking:
			text, _ := cut(b.Text, r.limit())
			r.part(card.Thinking(text, r.view))
		case llm.ToolCall:
			r.call(b, results[b.ID])
			delete(results, b.ID)
		case llm.Image:
			r.part(card.Image(b, r.view))
		}
	}
	for _, res := range order {
		if results[res.ToolCallID] == res { // no call asked for it
			r.stray(res)
		}
	}
	r.part(card.Sources(m, r.view))
	switch {
	case m.StopReason == llm.StopError && m.Error != nil:
		r.part(card.Notice(card.Failure, m.Error.Error(), r.view))
	case m.StopReason == llm.StopError:
		r.part(card.Notice(card.Failure, "The answer failed.", r.view))
	case m.StopReason == llm.StopAborted:
		r.part(card.Notice(card.Warning, "The answer was stopped.", r.view))
	case m.StopReason == llm.StopLength:
		r.part(card.Notice(card.Warning, "The answer was cut at the token limit.", r.view))
	}
	if m.Usage != nil && r.view.Expanded {
		r.part(card.Usage(*m.Usage, r.view))
	}
}

// call draws a call. One without a result is still running, or was interrupted.
func (r *renderer) call(c llm.ToolCall, res *llm.Message) {
	out := card.Call{Name: c.Name, Label: r.labels[c.Name], Args: json.RawMessage(c.Arguments), State: card.Done}
	switch {
	case res != nil:
		out.Content, out.Details = clip(res.Content, r.limit()), res.Details
		if res.IsError {
			out.State = card.Failed
		}
	case r.busy:
		out.State = card.Running
	default:
		out.State = card.Failed
		out.Content = []llm.Block{llm.Text{Text: "No result: the call was interrupted."}}
	}
	r.part(card.Tool(out, r.view))
}

// stray draws a result without its call.
func (r *renderer) stray(m *llm.Message) {
	out := card.Call{Name: m.ToolName, Label: r.labels[m.ToolName], State: card.Done, Content: clip(m.Content, r.limit()), Details: m.Details}
	if m.IsError {
		out.State = card.Failed
	}
	r.part(card.Tool(out, r.view))
}

// blocks draws the words of a program.
func (r *renderer) blocks(label string, content []llm.Block) {
	var text strings.Builder
	var pictures []string
	for _, b := range content {
		switch b := b.(type) {
		case llm.Text:
			text.WriteString(b.Text)
		case llm.Image:
			pictures = append(pictures, card.Image(b, r.view)...)
		}
	}
	if label == "" {
		label = "note"
	}
	r.words(label, text.String())
	r.lines = append(r.lines, pictures...)
}

// words draws a text of a program below a label, folded to a few lines.
func (r *renderer) words(label, text string) {
	head := styled.Truncate(styled.Line{{Text: "[" + prose.Inline(label) + "]", Look: theme.Look{Fg: theme.CustomMessageLabel, Mod: theme.Bold}}}, r.view.Width, r.view.Styles.Symbols().Ellipsis)
	lines := append([]string{styled.Render(r.view.Styles, head)}, r.markdown(text, theme.Look{Fg: theme.CustomMessageText})...)
	if n := len(lines); !r.view.Expanded && n > collapsedNote+2 {
		lines = append(lines[:collapsedNote+1], r.more(fmt.Sprintf("%d more lines (enter)", n-collapsedNote-1)))
	}
	r.part(lines)
}

func (r *renderer) markdown(text string, base theme.Look) []string {
	text, left := cut(text, r.limit())
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lines := markdown.Render(text, r.view.Width, markdown.Options{Styles: r.view.Styles, Links: r.view.Links, Look: base})
	if left > 0 {
		hint := ""
		if !r.view.Expanded {
			hint = " (enter)"
		}
		lines = append(lines, r.more(fmt.Sprintf("%d more bytes%s", left, hint)))
	}
	return lines
}

func (r *renderer) more(words string) string {
	sign := r.view.Styles.Symbols().Ellipsis
	return styled.Render(r.view.Styles, styled.Truncate(styled.Of(sign+" "+words, theme.Muted), r.view.Width, sign))
}

// cut gives at most limit bytes of a text, and how many are left out.
func cut(text string, limit int) (string, int) {
	head := prose.Head(text, limit)
	return head, len(text) - len(head)
}

// clip is content with its texts cut.
func clip(content []llm.Block, limit int) []llm.Block {
	for i, b := range content {
		if t, ok := b.(llm.Text); ok && len(t.Text) > limit {
			if files, rest := card.Files(t.Text); len(files) > 0 && len(rest) <= limit {
				continue // a row is shown of each
			}
			text, left := cut(t.Text, limit)
			t.Text = fmt.Sprintf("%s\n… %d more bytes", text, left)
			content[i] = t // the entry was read for this drawing alone
		}
	}
	return content
}

func truncated(row string, width int) string { return ansi.Truncate(row, width, "") }
