package anthropic

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// protected are the keys of the body that a request's extra keys cannot touch.
var protected = []string{
	"anthropic_version", "anthropic_beta", "model", "stream", "messages", "system", "tools", "tool_choice",
}

const (
	// defaultMaxTokens is sent for models whose limit is unknown; the API wants
	// a figure, and every model since 2024 takes this one.
	defaultMaxTokens = 8192
	minBudget        = 1024 // tokens; the API refuses less
	minAnswer        = 500  // tokens left for the answer after the thinking budget
)

// encode turns a request into its body for this host, and says which beta
// features it uses.
func (c *Client) encode(r *llm.Request) (*request, []string, error) {
	m := r.Model
	e := encoder{host: c.o.Host, model: m, begun: r.Begun()}
	out := &request{Messages: e.messages(r.Messages)}
	if strings.TrimSpace(r.System) != "" {
		out.System = blocks{textBlock(r.System)}
	}
	var betas []string
	if c.o.LongContext {
		betas = append(betas, "context-1m-2025-08-07")
	}
	compile := new(compiler)
	if len(r.Output) > 0 {
		if _, err := parseObject(r.Output); err != nil {
			return nil, nil, invalid("the schema of the output is %v", err)
		}
		schema, _ := compile.strict(r.Output)
		out.OutputConfig = &outputConfig{Format: &outputFormat{Type: "json_schema", Schema: schema}}
	}
	out.Tools = e.serverTools(r)
	for _, t := range out.Tools {
		if t.Name == "web_fetch" && c.o.Host == "" {
			betas = append(betas, "web-fetch-2025-09-10")
		}
	}
	tools, err := clientTools(r.Tools, compile, !c.o.DisableStrictTools, c.o.NativeTools && hasMemory(m))
	if err != nil {
		return nil, nil, err
	}
	for _, t := range tools {
		if t.Type == memoryType {
			betas = append(betas, "context-management-2025-06-27")
		}
	}
	out.Tools = append(out.Tools, tools...)
	if len(out.Tools) == 0 {
		if out.Tools = e.calledTools(); len(out.Tools) > 0 {
			out.ToolChoice = &toolChoice{Type: "none"}
		}
	}

	out.MaxTokens = maxTokens(r)
	reasons := think(out, r)
	if reasons && out.Thinking != nil && out.Thinking.Type == "enabled" && len(out.Tools) > 0 {
		betas = append(betas, "interleaved-thinking-2025-05-14")
	}
	if out.ToolChoice == nil && len(out.Tools) > 0 {
		out.ToolChoice = choice(r, reasons)
	}
	if !reasons {
		out.Temperature, out.TopP, out.TopK = sampling(r)
	}
	for _, s := range r.Stop {
		if strings.TrimSpace(s) != "" { // the API refuses blank ones
			out.StopSequences = append(out.StopSequences, s)
		}
	}
	if r.User != "" {
		out.Metadata = &metadata{UserID: r.User}
	}
	setBreakpoints(out, r.Cache.Retention)
	return out, betas, nil
}

func maxTokens(r *llm.Request) int {
	limit := r.Model.MaxOutput
	switch {
	case r.MaxTokens > 0 && limit > 0:
		return min(r.MaxTokens, limit)
	case r.MaxTokens > 0:
		return r.MaxTokens
	case limit > 0:
		return limit
	}
	return defaultMaxTokens
}

// think asks for reasoning as the model takes it and reports whether the model
// will reason.
func think(out *request, r *llm.Request) bool {
	support := r.Model.Thinking
	level := support.Clamp(r.Thinking.Level)
	if support.Mode == llm.ThinkingNone {
		return false
	}
	if level == llm.LevelOff {
		// Sent, not just left out: several hosts and models reason by default.
		out.Thinking = &thinking{Type: "disabled"}
		return false
	}
	switch support.Mode {
	case llm.ThinkingAdaptive, llm.ThinkingEffort:
		effort := effortWord(support, level, r.Thinking.Effort)
		if effort == "" {
			return support.Always
		}
		if out.OutputConfig == nil {
			out.OutputConfig = new(outputConfig)
		}
		out.OutputConfig.Effort = effort
		if support.Mode == llm.ThinkingEffort {
			return true
		}
		// The default of newer models is to hide the reasoning.
		out.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		if r.Thinking.Hidden {
			out.Thinking.Display = "omitted"
		}
		return true
	}
	budget := r.Thinking.Budget
	if budget == 0 {
		budget = support.Budget(level)
	}
	if budget == 0 {
		return support.Always
	}
	return thinkWithin(out, r, budget)
}

// effortWord is the provider's word for the effort, "" to leave it to the provider.
func effortWord(s llm.ThinkingSupport, l llm.Level, override string) string {
	if override != "" {
		return override
	}
	word := s.Word(l)
	if word == string(llm.LevelMinimal) {
		return "low" // the provider's lowest
	}
	return word
}

// thinkWithin asks for reasoning with a budget. The budget is part of
// max_tokens, which is raised so that the answer keeps the room that was asked
// for it, up to the model's limit; there the budget gives way.
func thinkWithin(out *request, r *llm.Request, budget int) bool {
	if startsUnthought(out.Messages) {
		// The provider refuses to begin reasoning in the middle of a turn that
		// began without, as after a change of model between call and result.
		return false
	}
	budget = max(budget, minBudget)
	if out.MaxTokens <= budget {
		out.MaxTokens = budget + max(out.MaxTokens, minAnswer)
	}
	if limit := r.Model.MaxOutput; limit > 0 && out.MaxTokens > limit {
		out.MaxTokens = limit
		budget = min(budget, limit-minAnswer)
	}
	if budget < minBudget {
		return false
	}
	out.Thinking = &thinking{Type: "enabled", BudgetTokens: budget}
	if r.Thinking.Hidden {
		out.Thinking.Display = "omitted"
	}
	return true
}

// startsUnthought reports whether the conversation waits for the answer to tool
// results in a turn whose first answer holds no reasoning at its head.
func startsUnthought(messages []message) bool {
	first := -1
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role == "assistant" {
			first = i
		} else if len(m.Content) == 0 || m.Content[0].Type != "tool_result" {
			break
		}
	}
	if first < 0 {
		return false
	}
	switch messages[first].Content[0].Type {
	case "thinking", "redacted_thinking":
		return false
	}
	return true
}

// choice is the tool choice; nil where it is the API's default.
func choice(r *llm.Request, reasons bool) *toolChoice {
	var t toolChoice
	switch r.ToolChoice.Mode {
	case llm.ToolNone:
		return &toolChoice{Type: "none"}
	case llm.ToolAny:
		t.Type = "any"
	case llm.ToolNamed:
		t.Type, t.Name = "tool", r.ToolChoice.Name
	default:
		t.Type = "auto"
	}
	if reasons && r.ToolChoice.Forced() {
		t = toolChoice{Type: "auto"}
	}
	t.DisableParallel = r.SequentialTools
	if t == (toolChoice{Type: "auto"}) {
		return nil
	}
	return &t
}

// lastSampled is the release date of the last Claude models (4.6) that take
// sampling parameters; later ones refuse them.
const lastSampled = "2026-02-17"

// sampling is temperature, top_p and top_k as the API takes them: the first two between 0 and 1,
// and one of the two.
func sampling(r *llm.Request) (temperature, topP *float64, topK *int) {
	if strings.Contains(r.Model.Upstream(), "claude") && r.Model.Released > lastSampled {
		return nil, nil, nil
	}
	clamp := func(v *float64) *float64 {
		x := min(max(*v, 0), 1)
		return &x
	}
	switch {
	case r.Temperature != nil:
		return clamp(r.Temperature), nil, r.TopK
	case r.TopP != nil:
		return nil, clamp(r.TopP), r.TopK
	}
	return nil, nil, r.TopK
}

// serverTools are the provider's tools of the request that this host has.
func (e *encoder) serverTools(r *llm.Request) []tool {
	var out []tool
	for _, s := range r.ServerTools {
		t := tool{MaxUses: s.MaxUses, AllowedDomains: s.AllowedDomains}
		if len(s.AllowedDomains) == 0 { // the API takes one list only
			t.BlockedDomains = s.BlockedDomains
		}
		switch {
		case s.Kind == llm.ServerWebSearch && e.host != HostBedrock:
			t.Type, t.Name = "web_search_20250305", "web_search"
		case s.Kind == llm.ServerWebFetch && e.host == "":
			t.Type, t.Name = "web_fetch_20250910", "web_fetch"
			if len(r.Output) == 0 { // citations and structured output exclude each other
				t.Citations = &enabled{true}
			}
		default:
			continue
		}
		out = append(out, t)
	}
	return out
}

// memoryType is Anthropic's memory tool.
const memoryType = "memory_20250818"

// hasMemory reports whether a model was trained on the memory tool: Claude 4 and later.
func hasMemory(m *llm.Model) bool {
	return strings.Contains(m.Upstream(), "claude") && m.Released >= "2025-05-22"
}

// clientTools are the caller's tools. A tool is strict if that was asked for,
// its schema can be enforced and the limits of one request allow it.
func clientTools(tools []llm.Tool, compile *compiler, strict, memory bool) ([]tool, error) {
	var out []tool
	enforced := 0
	for _, t := range tools {
		if t.Native == llm.NativeMemory && memory {
			out = append(out, tool{Type: memoryType, Name: t.Name})
			continue
		}
		schema, err := inputSchema(t.Schema)
		if err != nil {
			return nil, invalid("the schema of the tool %s is %v", t.Name, err)
		}
		w := tool{Name: t.Name, Description: t.Description, InputSchema: schema}
		if t.Strict && strict && enforced < maxStrictTools {
			before := *compile
			schema, ok := compile.strict(w.InputSchema)
			if ok && compile.within() {
				w.InputSchema, w.Strict = schema, true
				enforced++
			} else {
				*compile = before
			}
		}
		out = append(out, w)
	}
	return out, nil
}

// calledTools declares the tools that the history calls, for a request that
// offers none: some hosts refuse calls of tools that are not declared.
func (e *encoder) calledTools() []tool {
	var out []tool
	for _, name := range e.called {
		out = append(out, tool{Name: name, InputSchema: noArguments})
	}
	return out
}

// setBreakpoints marks what the provider shall cache: the tools, the system
// prompt, and the conversation up to the last two user-side messages. The mark
// before the last stands where the last one stood a turn ago, so that the
// longer prefix finds the shorter one. The API takes four marks.
func setBreakpoints(r *request, keep llm.CacheRetention) {
	if keep == llm.CacheOff {
		return
	}
	mark := &cacheControl{Type: "ephemeral"}
	if keep == llm.CacheLong {
		mark.TTL = "1h"
	}
	if n := len(r.Tools); n > 0 {
		r.Tools[n-1].CacheControl = mark
	}
	if n := len(r.System); n > 0 {
		r.System[n-1].CacheControl = mark
	}
	left := 2
	for i := len(r.Messages) - 1; i >= 0 && left > 0; i-- {
		m := r.Messages[i]
		if m.Role != "user" {
			continue
		}
		for j := len(m.Content) - 1; j >= 0; j-- {
			if b := &m.Content[j]; cacheable(b) {
				b.CacheControl = mark
				left--
				break
			}
		}
	}
}

func cacheable(b *block) bool {
	switch b.Type {
	case "text":
		return b.Text != nil && strings.TrimSpace(*b.Text) != ""
	case "image", "document", "tool_result":
		return true
	}
	return false
}

// body writes the request for the host.
func (c *Client) body(r *request, model string, betas []string) ([]byte, error) {
	switch c.o.Host {
	case HostBedrock:
		r.Version, r.Beta = "bedrock-2023-05-31", betas
	case HostVertex:
		r.Version, r.Stream = "vertex-2023-10-16", true
	default:
		r.Model, r.Stream = model, true
	}
	body, err := wire.Marshal(r)
	if err != nil {
		return nil, invalid("the request cannot be written as JSON: %v", err)
	}
	return body, nil
}

// invalid is the error of a request that is not worth sending.
func invalid(format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.ErrInvalidRequest, Message: fmt.Sprintf(format, args...)}
}
