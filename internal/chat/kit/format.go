package kit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// formatter gives messages of the person the form of the project, in requests only. What it adds to a message follows from
// what came before it and from its answer, so that it is the same in every request and the provider's cache holds.
type formatter struct {
	*project.Format
	began time.Time // when the chat did
	zone  *time.Location
}

func newFormatter(f *project.Format, began time.Time) formatter {
	zone, err := time.LoadLocation(f.Zone)
	if err != nil {
		zone = time.UTC // another server of the database may not know it
	}
	return formatter{f, began, zone}
}

// change implements a [session.RequestInterceptor].
func (f formatter) change(_ context.Context, purpose string, r *llm.Request) error {
	if purpose != session.ForTurn && purpose != session.ForRetry {
		return nil
	}
	var used int
	var cost llm.USD
	all := slices.Clone(r.Messages)
	for i := range all {
		m := &all[i]
		switch {
		case m.Role == llm.RoleAssistant && m.Usage != nil:
			used = m.Usage.Context()
			if m.Usage.Cost != nil {
				cost += m.Usage.Cost.Total
			}
		case m.Role == llm.RoleUser:
			text, err := f.form(m, all[i+1:], r.Model, used, cost)
			if err != nil {
				return err
			}
			m.Content = text
		}
	}
	r.Messages = all
	return nil
}

// form is the content of a message as the model reads it.
func (f formatter) form(m *llm.Message, after []llm.Message, now *llm.Model, used int, cost llm.USD) ([]llm.Block, error) {
	var said []string
	var blocks []llm.Block
	for _, b := range m.Content {
		if t, ok := b.(llm.Text); ok {
			said = append(said, t.Text)
		} else {
			blocks = append(blocks, b)
		}
	}
	model := now.Provider + "/" + now.ID
	if i := slices.IndexFunc(after, func(a llm.Message) bool { return a.Role == llm.RoleAssistant && a.Model != "" }); i >= 0 {
		model = after[i].Provider + "/" + after[i].Model
	}
	const layout = "Mon, Jan 2, 2006, 3:04 PM MST"
	facts := map[string]string{
		"userMessage": strings.Join(said, "\n\n"), "modelName": model,
		"timestamp": m.Time.In(f.zone).Format(layout), "timestampUtc": m.Time.UTC().Format(layout),
		"timestampRelative":  fmt.Sprintf("%d seconds since chat start", max(0, int(m.Time.Sub(f.began)/time.Second))),
		"contextWindowUsage": "", "currentCost": "",
	}
	if used > 0 {
		facts["contextWindowUsage"] = fmt.Sprintf("%d tokens", used)
	}
	if cost > 0 {
		facts["currentCost"] = fmt.Sprintf("$%.3f", cost.Float())
	}
	maps.Copy(facts, map[string]string{"hasContextWindowUsage": facts["contextWindowUsage"], "hasCurrentCost": facts["currentCost"]})
	text, err := f.around(facts)
	if err != nil {
		return nil, err
	}
	return append(blocks, llm.Text{Text: text}), nil
}

// around is a message with what stands around it.
func (f formatter) around(facts map[string]string) (string, error) {
	if f.Mode == "template" {
		return project.Filled(f.Template, facts)
	}
	var b strings.Builder
	line := func(on bool, tag, fact string) {
		if on && fact != "" {
			fmt.Fprintf(&b, "<%s>%s</%s>\n", tag, fact, tag)
		}
	}
	line(f.Time != "", "timestamp", facts[map[string]string{"local": "timestamp", "utc": "timestampUtc", "relative": "timestampRelative"}[f.Time]])
	line(f.Model, "model", facts["modelName"])
	line(f.Context, "context_window_usage", facts["contextWindowUsage"])
	line(f.Cost, "current_cost", facts["currentCost"])
	if b.Len() == 0 {
		return facts["userMessage"], nil
	}
	return "<metadata>\n" + b.String() + "</metadata>\n\n" + facts["userMessage"], nil
}
