package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// ModelsDev is the public list of models that [Refresh] reads where no other is named.
const ModelsDev = "https://models.dev/api.json"

// devModel is a model of that list. Its prices are in dollars per million tokens.
type devModel struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Reasoning  bool   `json:"reasoning"`
	Released   string `json:"release_date"`
	Modalities struct {
		Input  []string `json:"input"`
		Output []string `json:"output"`
	} `json:"modalities"`
	Limit struct {
		Context int `json:"context"`
		Output  int `json:"output"`
	} `json:"limit"`
	Cost *struct {
		rates
		Over200k *rates `json:"context_over_200k"`
	} `json:"cost"`
}

type rates struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// listedAs are the providers that the list calls otherwise.
var listedAs = map[string]string{
	"azure-openai-responses": "azure", "vercel-ai-gateway": "vercel", "fireworks": "fireworks-ai", "together": "togetherai",
	"kimi-coding": "kimi-for-coding", "zai": "zai-coding-plan",
}

// fromModelsDev lays the list over a table: windows, limits, prices and dates of models that
// both know, and models that are new at providers of the table. How a provider is reached,
// and what the list doesn't say, stays.
func fromModelsDev(t table, text []byte, date string) (table, error) {
	var all map[string]struct {
		Models map[string]devModel `json:"models"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return table{}, fmt.Errorf("its JSON is not that of models.dev: %w", err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "# The models, brought up to date.\n# source: %s, over %s\n# date: %s\n", "models.dev", prose.Line(t.head("source")), date)
	taken := 0
	for _, provider := range t.providers() {
		models := all[cmp.Or(listedAs[provider], provider)].Models
		plan, rows := false, []string(nil)
		for line := range strings.Lines(t.text) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "@"+provider+"\t") {
				out.WriteString(line + "\n")
			}
			if !strings.HasPrefix(line, provider+"\t") {
				continue
			}
			c := strings.Split(line, "\t")
			plan = plan || strings.HasPrefix(c[7], "~")
			if m, ok := models[c[1]]; ok {
				m.update(c)
				taken++
			}
			rows = append(rows, strings.Join(c, "\t"))
		}
		have := func(id string) bool {
			return slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, provider+"\t"+id+"\t") })
		}
		for id, m := range models {
			if m.ID == id && !have(id) && m.usable() {
				rows = append(rows, m.row(provider, t.firstAPI(provider), plan))
				taken++
			}
		}
		slices.Sort(rows)
		out.WriteString(strings.Join(rows, "\n") + "\n")
	}
	if taken == 0 {
		return table{}, errors.New("it holds no model of a provider that burin knows")
	}
	return table{out.String()}, nil
}

// usable says whether a model that is new can be a line of the table and talks.
func (m devModel) usable() bool {
	return m.ID != "" && !strings.ContainsFunc(m.ID, func(r rune) bool { return r <= ' ' || r == 0x7f }) && m.Limit.Context > 0 &&
		(len(m.Modalities.Output) == 0 || slices.Contains(m.Modalities.Output, "text"))
}

// update lays the model over the columns of its line.
func (m devModel) update(c []string) {
	if m.Limit.Context > 0 {
		c[3] = strconv.Itoa(m.Limit.Context)
	}
	if m.Limit.Output > 0 {
		c[4] = strconv.Itoa(m.Limit.Output)
	}
	if p := m.price(strings.HasPrefix(c[7], "~")); p != "" {
		base, more, _ := strings.Cut(c[7], " ")
		old := strings.Split(base, "/")
		switch {
		case strings.Join(old[:min(len(old), 4)], "/") == firstField(p):
			// What is known beside it, steps and the price of an hour, still fits.
		case len(old) == 5 && m.Cost.CacheWrite > 0:
			first, steps, _ := strings.Cut(p, " ")
			c[7] = strings.TrimSpace(first + "/" + dollars(2*m.Cost.Input) + " " + steps + " " + webField(more))
		default:
			c[7] = strings.TrimSpace(p + " " + webField(more))
		}
	}
	if len(m.Released) == len("2006-01-02") {
		c[8] = prose.Inline(m.Released)
	}
	c[10] = strings.TrimSpace(c[10] + " from=models.dev")
}

func firstField(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return first
}

func webField(s string) string {
	for f := range strings.FieldsSeq(s) {
		if strings.HasPrefix(f, "web:") {
			return f
		}
	}
	return ""
}

// row is the line of a model that is new.
func (m devModel) row(provider string, api llm.API, plan bool) string {
	input := []string{"text"}
	if slices.Contains(m.Modalities.Input, "image") {
		input = append(input, "image")
		if slices.Contains(m.Modalities.Input, "pdf") && api != llm.APICompletions {
			input = append(input, "document")
		}
	}
	if slices.Contains(m.Modalities.Input, "audio") && (api == llm.APIGoogle || api == llm.APIVertex || api == llm.APICompletions) {
		input = append(input, "audio")
	}
	thinking := ""
	switch {
	case !m.Reasoning:
	case strings.Contains(m.ID, "claude") && (api == llm.APIAnthropic || api == llm.APIBedrock):
		thinking = string(llm.ThinkingAdaptive) + ":low,medium,high" // as all of them since 4.6
	default:
		thinking = string(modeFor(api))
	}
	released := ""
	if len(m.Released) == len("2006-01-02") {
		released = prose.Inline(m.Released)
	}
	return strings.Join([]string{
		provider, m.ID, prose.Inline(cmp.Or(m.Name, m.ID)), strconv.Itoa(m.Limit.Context), strconv.Itoa(max(m.Limit.Output, 0)),
		strings.Join(input, ","), thinking, m.price(plan), released, string(api), "from=models.dev",
	}, "\t")
}

// price is the price column; empty where the list doesn't say. Zero is what plans have
// there, and says nothing.
func (m devModel) price(plan bool) string {
	if m.Cost == nil || m.Cost.Input <= 0 || m.Cost.Output <= 0 {
		return ""
	}
	s := m.Cost.columns()
	if plan {
		s = "~" + s
	}
	if over := m.Cost.Over200k; over != nil && over.Input > 0 && over.Output > 0 {
		s += " >200000:" + over.columns()
	}
	return s
}

func (r rates) columns() string {
	return strings.Join([]string{dollars(r.Input), dollars(r.Output), dollars(r.CacheRead), dollars(r.CacheWrite)}, "/")
}

func dollars(d float64) string {
	if d <= 0 {
		return "?"
	}
	return strconv.FormatFloat(d, 'f', -1, 64)
}
