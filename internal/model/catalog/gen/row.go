package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is a line of the catalogue; the fields are its columns as text.
type row struct {
	provider, id, name, api string
	context, output         int
	input                   []string
	thinking, price         string
	released, promotion     string
	baseURL                 string
	compat                  map[string]any
}

// rowOf turns what the package states into a line.
func rowOf(m source, known map[string]bool) row {
	id := bare(m.ID)
	r := row{
		provider: m.Provider, id: m.ID, name: strings.TrimSuffix(m.Name, " (latest)"), api: m.API,
		context: m.ContextWindow, output: m.MaxTokens, input: m.Input, baseURL: m.BaseURL,
		compat: compatOf(m.Compat),
	}
	if s, ok := servedAPI[m.API]; ok {
		r.api, r.baseURL = s.api, s.baseURL
		maps.Copy(r.compat, s.compat)
	}
	if m.Provider == "openai-codex" {
		r.baseURL = strings.TrimSuffix(r.baseURL, "/codex") + "/codex" // the package's client adds it
	}
	if codecURL[m.Provider] {
		r.baseURL = ""
	}
	if slices.Contains(m.Input, "image") && documents(m.Provider, id) {
		r.input = append(slices.Clone(r.input), "document")
	}
	if hears(m.Provider, m.ID) {
		r.input = append(slices.Clone(r.input), "audio")
	}
	r.thinking = thinkingOf(m, id, r.api)
	r.price = priceOf(m, id)
	r.released = releasedOf(m.ID, id)
	if base, ok := strings.CutSuffix(m.ID, "-spark"); ok && known[m.Provider+"/"+base] {
		r.promotion = m.Provider + "/" + base
	}
	return r
}

// compatOf keeps the dialect facts that models.yml knows, under its names.
func compatOf(in map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range in {
		switch key {
		case "supportsStore", "supportsDeveloperRole", "supportsReasoningEffort", "supportsStrictMode", "maxTokensField":
			out[key] = value
		case "requiresReasoningContentOnAssistantMessages":
			out["requiresReasoningContentForToolCalls"] = value
		case "zaiToolStream":
			out["extraBody"] = map[string]any{"tool_stream": value}
		case "thinkingFormat":
			switch value {
			case "deepseek": // thinking: {type: enabled}, the shape Z.AI began
				out[key] = "zai"
			case "together": // an object of its own that nobody else reads
			default:
				out[key] = value
			}
		}
	}
	return out
}

var (
	regionPrefix = regexp.MustCompile(`^(us|eu|jp|au|apac|global)\.`)
	vendorPrefix = regexp.MustCompile(`^(anthropic|amazon|deepseek|meta|mistral|openai|qwen)\.`)
	bedrockTail  = regexp.MustCompile(`(-v\d+)?(:\d+)?$`)
	dotted       = regexp.MustCompile(`(\d)\.(\d)`)
)

// bare is the id its vendor uses, without what gateways put around it.
func bare(id string) string {
	id = strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	id = regionPrefix.ReplaceAllString(id, "")
	if short := vendorPrefix.ReplaceAllString(id, ""); short != id {
		id = bedrockTail.ReplaceAllString(short, "")
	}
	if strings.HasPrefix(id, "claude-") {
		id = dotted.ReplaceAllString(id, "$1-$2")
	}
	return id
}

var levelNames = []string{"minimal", "low", "medium", "high", "xhigh"}

// thinkingOf is the thinking column: the mode, "!" when it cannot be turned
// off, and after ":" the levels where they are not minimal to high, each with
// the vendor's word where it differs.
func thinkingOf(m source, id, api string) string {
	if !m.Reasoning {
		return ""
	}
	mode := "effort"
	switch {
	case (api == "anthropic-messages" || api == "bedrock-converse-stream") && claude.MatchString(id):
		mode = "budget"
		if adaptive.MatchString(id) || m.Compat["forceAdaptiveThinking"] == true {
			mode = "adaptive"
		}
	case api == "anthropic-messages":
		mode = "budget"
	case strings.HasPrefix(api, "google-") && thinkByBudget.MatchString(id):
		mode = "budget"
	}
	off, stated := m.ThinkingLevelMap["off"]
	always := stated && off == nil
	var allowed []string
	for _, f := range levelFacts {
		if f.id.MatchString(id) {
			allowed, always = f.levels, f.always
			break
		}
	}
	var levels []string
	for _, l := range levelNames {
		word, mapped := m.ThinkingLevelMap[l]
		if hardest := m.ThinkingLevelMap["max"]; l == "xhigh" && word == nil && hardest != nil {
			word, mapped = hardest, true // the hardest that there is
		}
		switch {
		case allowed != nil && !slices.Contains(allowed, l),
			allowed == nil && mapped && word == nil,
			allowed == nil && l == "xhigh" && !mapped,
			l == "minimal" && (mode == "adaptive" || noMinimal.MatchString(id)):
			continue
		case mapped && word != nil && strings.ToLower(*word) != l:
			l += "=" + *word
		}
		levels = append(levels, l)
	}
	if off != nil && *off != "off" && !always {
		levels = append(levels, "off="+*off)
	}
	text := mode
	if always {
		text += "!"
	}
	if !slices.Equal(levels, levelNames[:4]) {
		text += ":" + strings.Join(levels, ",")
	}
	return text
}

// priceOf is the price column: input/output/cacheRead/cacheWrite[/one hour],
// "?" for what is unknown, then steps ">tokens:…" and "web:…"; a leading "~"
// marks a price that stands in for the real one. Empty is unknown.
func priceOf(m source, id string) string {
	c := m.Cost
	if fix := priceFacts[m.Provider+"/"+m.ID]; fix != nil {
		fix(&c)
	}
	if c.Input <= 0 || c.Output <= 0 {
		if isFree(m.ID) && c.CacheRead == 0 && c.CacheWrite == 0 && c.Input == 0 && c.Output == 0 {
			return "0/0/0/0"
		}
		return ""
	}
	parts := []string{dollars(c.Input), dollars(c.Output), dollars(c.CacheRead), dollars(c.CacheWrite)}
	if claude.MatchString(id) && c.CacheWrite > 0 {
		parts = append(parts, dollars(2*c.Input)) // platform.claude.com/docs: one hour costs twice the input
	}
	fields := []string{strings.Join(parts, "/")}
	if subscription[m.Provider] {
		fields[0] = "~" + fields[0]
	}
	for _, t := range c.Tiers {
		fields = append(fields, fmt.Sprintf(">%d:%s/%s/%s/%s", t.Above, dollars(t.Input), dollars(t.Output), dollars(t.CacheRead), dollars(t.CacheWrite)))
	}
	if len(c.Tiers) == 0 && stepProviders[m.Provider] {
		for _, f := range stepFacts {
			if f.id.MatchString(id) {
				fields = append(fields, f.step)
			}
		}
	}
	if web := webSearch(m.Provider, id, m.Reasoning); web != "" {
		fields = append(fields, web)
	}
	return strings.Join(fields, " ")
}

// isFree says whether a price of zero is meant: gateways mark such models.
func isFree(id string) bool { return strings.HasSuffix(id, ":free") || strings.HasSuffix(id, "-free") }

// dollars writes a rate. The source has no way to say unknown but zero.
func dollars(d float64) string {
	if d <= 0 {
		return "?"
	}
	return strconv.FormatFloat(d, 'f', -1, 64)
}

var dateInID = regexp.MustCompile(`(?:^|[-@])(20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?:-|:|$)`)

// releasedOf is the date the id holds, or the known one of the bare id.
func releasedOf(full, id string) string {
	if d := dateInID.FindStringSubmatch(full); d != nil {
		return d[1] + "-" + d[2] + "-" + d[3]
	}
	return released[id]
}

// line writes the columns. Names hold no tabs; anything else is a bug of the source.
func (r row) line(common map[string]any, baseURL string) string {
	extra := []string{}
	if r.promotion != "" {
		extra = append(extra, "promote="+r.promotion)
	}
	if r.baseURL != baseURL {
		extra = append(extra, "base="+r.baseURL)
	}
	own := map[string]any{}
	for key, value := range r.compat {
		if !sameJSON(common[key], value) {
			own[key] = value
		}
	}
	if len(own) > 0 {
		extra = append(extra, "compat="+compact(own))
	}
	return strings.Join([]string{
		r.provider, r.id, r.name, strconv.Itoa(r.context), strconv.Itoa(r.output), strings.Join(r.input, ","),
		r.thinking, r.price, r.released, r.api, strings.Join(extra, " "),
	}, "\t")
}

// compact is v as JSON with sorted keys and no blanks; "" for an empty object.
func compact(v map[string]any) string {
	if len(v) == 0 {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came from JSON
	}
	return string(b)
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
