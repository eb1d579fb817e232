package llm

import (
	"fmt"
	"slices"
	"strings"
)

// API names a wire format. The values are those of models.yml.
type API string

const (
	APIAnthropic      API = "anthropic-messages"
	APICompletions    API = "openai-completions"
	APIResponses      API = "openai-responses"
	APICodexResponses API = "openai-codex-responses"
	APIAzureResponses API = "azure-openai-responses"
	APIGoogle         API = "google-generative-ai"
	APIVertex         API = "google-vertex"
	APIBedrock        API = "bedrock-converse-stream"
	// APIAgent is another agent in the place of a model, over the Agent Client Protocol.
	APIAgent API = "acp"
)

// Family returns the wire format that related APIs share; history passes unchanged between
// APIs of one family.
func (a API) Family() API {
	switch a {
	case APICodexResponses, APIAzureResponses:
		return APIResponses
	case APIVertex:
		return APIGoogle
	}
	return a
}

// Model is what the conversation needs to know about a model. How to reach it (base URL,
// headers, keys, dialect) is up to its client.
type Model struct {
	ID       string `json:"id"` // id at the provider, as the user selects it; may contain ':' and '/'
	Provider string `json:"provider"`
	Name     string `json:"name,omitempty"`
	API      API    `json:"api"`
	WireID   string `json:"wireId,omitempty"` // id in requests if it differs from ID

	ContextWindow int             `json:"contextWindow,omitempty"` // tokens; 0 = unknown
	MaxOutput     int             `json:"maxOutput,omitempty"`     // tokens; 0 = unknown
	Input         []Modality      `json:"input,omitempty"`
	Thinking      ThinkingSupport `json:"thinking,omitzero"`
	WebSearch     bool            `json:"webSearch,omitempty"` // accepts [ServerWebSearch] together with other tools
	Price         Price           `json:"price,omitzero"`
	Released      string          `json:"released,omitempty"` // YYYY-MM-DD, or "" when unknown
	// PromotionTarget is the larger model ("provider/id" or "id") to switch to when a
	// conversation outgrows this one.
	PromotionTarget string `json:"promotionTarget,omitempty"`
}

// Upstream returns the id in requests: WireID, or ID if that is empty.
func (m *Model) Upstream() string {
	if m.WireID != "" {
		return m.WireID
	}
	return m.ID
}

// Ref returns "provider/id".
func (m *Model) Ref() string { return m.Provider + "/" + m.ID }

// Accepts reports whether the model accepts that kind of input.
func (m *Model) Accepts(k Modality) bool { return slices.Contains(m.Input, k) }

// Modality is a kind of input.
type Modality string

const (
	ModalityText     Modality = "text"
	ModalityImage    Modality = "image"
	ModalityDocument Modality = "document" // PDF by value
	ModalityAudio    Modality = "audio"
	ModalityVideo    Modality = "video"
)

// Level says how hard a model thinks. The zero value leaves it to the model.
type Level string

const (
	LevelDefault Level = ""
	LevelOff     Level = "off"
	LevelMinimal Level = "minimal"
	LevelLow     Level = "low"
	LevelMedium  Level = "medium"
	LevelHigh    Level = "high"
	LevelXHigh   Level = "xhigh"
)

// Levels lists the levels from off to the highest.
func Levels() []Level {
	return []Level{LevelOff, LevelMinimal, LevelLow, LevelMedium, LevelHigh, LevelXHigh}
}

// ParseLevel parses the name of a level.
func ParseLevel(s string) (Level, error) {
	if l := Level(s); slices.Contains(Levels(), l) {
		return l, nil
	}
	return "", fmt.Errorf("unknown thinking level %q (want off, minimal, low, medium, high or xhigh)", s)
}

// ThinkingMode says how a provider is told how hard to think.
type ThinkingMode string

const (
	ThinkingNone     ThinkingMode = ""         // the model does not think
	ThinkingEffort   ThinkingMode = "effort"   // a word: OpenAI, Gemini 3
	ThinkingBudget   ThinkingMode = "budget"   // a number of tokens: Claude before 4.6, Gemini 2.5
	ThinkingAdaptive ThinkingMode = "adaptive" // the model decides, guided by an effort word: Claude 4.6 and later
)

// ThinkingSupport says which thinking levels a model has.
type ThinkingSupport struct {
	Mode    ThinkingMode     `json:"mode,omitempty"`
	Levels  []Level          `json:"levels,omitempty"`  // accepted levels in ascending order; empty means minimal to high
	Default Level            `json:"default,omitempty"` // the level that "default" means; empty means the provider's
	Always  bool             `json:"always,omitempty"`  // can't be turned off
	Words   map[Level]string `json:"words,omitempty"`   // the provider's words where they differ from the level's name
	Budgets map[Level]int    `json:"budgets,omitempty"` // tokens per level where they differ from DefaultBudget
}

// Clamp returns the supported level nearest to l: l itself, else the next lower one, else the
// lowest. Off stays off unless the model always thinks. For a model that does not think it
// returns off.
func (t ThinkingSupport) Clamp(l Level) Level {
	if t.Mode == ThinkingNone {
		return LevelOff
	}
	if l == LevelDefault {
		return t.Default
	}
	if l == LevelOff && !t.Always {
		return LevelOff
	}
	have := t.Levels
	if len(have) == 0 {
		have = Levels()[1:5]
	}
	order := Levels()
	want := slices.Index(order, l)
	best := Level("")
	for _, h := range have {
		if h == LevelOff {
			continue
		}
		if best == "" || slices.Index(order, h) <= want {
			best = h
		}
	}
	return best
}

// Word returns the provider's word for the level.
func (t ThinkingSupport) Word(l Level) string {
	if w, ok := t.Words[l]; ok {
		return w
	}
	return string(l)
}

// Budget returns the number of thinking tokens for the level.
func (t ThinkingSupport) Budget(l Level) int {
	if n, ok := t.Budgets[l]; ok {
		return n
	}
	return DefaultBudget(l)
}

// DefaultBudget returns the number of thinking tokens of a level for models without budgets of
// their own; 0 for off and default.
func DefaultBudget(l Level) int {
	switch l {
	case LevelMinimal:
		return 1024
	case LevelLow:
		return 4096
	case LevelMedium:
		return 10240
	case LevelHigh:
		return 24576
	case LevelXHigh:
		return 32768
	}
	return 0
}

// SplitRef splits "provider/id" at the first slash. The id may contain slashes.
func SplitRef(ref string) (provider, id string, ok bool) {
	provider, id, ok = strings.Cut(ref, "/")
	return provider, id, ok && provider != "" && id != ""
}
