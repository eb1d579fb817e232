package transcript

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/burin-dev/burin/llm"
)

// Version is the version of the format that is written.
const Version = 3

// Header is the first record of a session.
type Header struct {
	Type      string `json:"type"` // "session"
	Version   int    `json:"version"`
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"` // creation, RFC 3339 in UTC with milliseconds
	CWD       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	// ParentSession names the session from which this one was forked, by id or path. It is
	// informational; it need not exist.
	ParentSession string `json:"parentSession,omitempty"`
}

// Types of entries.
const (
	TypeMessage       = "message"
	TypeModel         = "model_change"
	TypeThinking      = "thinking_level_change"
	TypeServiceTier   = "service_tier_change"
	TypeMode          = "mode_change"
	TypeCompaction    = "compaction"
	TypeBranchSummary = "branch_summary"
	TypeCustom        = "custom"         // a program's own state; never sent to a model
	TypeCustomMessage = "custom_message" // a program's message to the model
	TypeLabel         = "label"
	TypeTTSR          = "ttsr_injection"
	TypeInit          = "session_init"
	TypeMCPTools      = "mcp_tool_selection"
	TypeInfo          = "session_info" // the session's title
)

// Custom types that burin writes.
const (
	// CustomLeaf records that the user moved to its parent.
	CustomLeaf = "burin.leaf"
	// CustomPrune has a [Prune]: outputs that the model no longer gets completely.
	CustomPrune = "burin.prune"
	// CustomQueue stores a user message from when it is sent until the model reads it.
	CustomQueue = "burin.queue"
)

// Entry is any record except the header. Its type determines its fields; fields of newer
// versions and other programs are kept in Raw.
type Entry struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	ParentID  *string `json:"parentId"` // nil for a root
	Timestamp string  `json:"timestamp"`

	Message *llm.Message `json:"message,omitempty"` // of "message"
	// Execution is the command of a "message" about a command of the user's; Message describes
	// it in text.
	Execution *Execution `json:"-"`

	Model string `json:"model,omitempty"` // of "model_change": provider/id
	Role  string `json:"role,omitempty"`  // of "model_change"; "" means default

	ThinkingLevel string  `json:"thinkingLevel,omitempty"`
	ServiceTier   *string `json:"serviceTier,omitempty"`
	Mode          string  `json:"mode,omitempty"`

	// For "compaction" and "branch_summary".
	Summary       string          `json:"summary,omitempty"`
	ShortSummary  string          `json:"shortSummary,omitempty"`
	FirstKeptID   string          `json:"firstKeptEntryId,omitempty"`
	TokensBefore  int             `json:"tokensBefore,omitempty"`
	FromID        string          `json:"fromId,omitempty"` // "root" if nothing was left behind
	Details       json.RawMessage `json:"details,omitempty"`
	PreserveData  json.RawMessage `json:"preserveData,omitempty"`
	FromExtension bool            `json:"fromExtension,omitempty"`

	// For "custom" and "custom_message"; Data also for "mode_change".
	CustomType  string          `json:"customType,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	Content     json.RawMessage `json:"content,omitempty"` // a string, or a list of blocks
	Display     bool            `json:"display,omitempty"`
	Attribution string          `json:"attribution,omitempty"` // "user" or "agent"

	TargetID string `json:"targetId,omitempty"` // of "label"
	Label    string `json:"label,omitempty"`    // "" clears it

	InjectedRules []string        `json:"injectedRules,omitempty"`
	SelectedTools []string        `json:"selectedToolNames,omitempty"`
	SystemPrompt  string          `json:"systemPrompt,omitempty"` // of "session_init", like the next three
	Task          string          `json:"task,omitempty"`
	Tools         []string        `json:"tools,omitempty"`
	OutputSchema  json.RawMessage `json:"outputSchema,omitempty"`
	Name          string          `json:"name,omitempty"`        // of "session_info"
	TitleSource   string          `json:"titleSource,omitempty"` // of "session_info": who chose Name, "user" or "auto"

	// Lost has what is missing from blobs; notes are in its place.
	Lost []Lost `json:"-"`

	// Raw is the stored record; nil for an entry that was not written.
	Raw json.RawMessage `json:"-"`
}

// Time returns when the entry was written; zero if the record doesn't say.
func (e *Entry) Time() time.Time {
	t, err := time.Parse(time.RFC3339Nano, e.Timestamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Shown reports whether an entry belongs to the conversation as the user sees it: what was
// said, called and run, what programs have shown, and what replaces parts that were compacted
// or left. The rest is for models and programs.
func (e *Entry) Shown() bool {
	switch e.Type {
	case TypeCompaction, TypeBranchSummary:
		return true
	case TypeCustomMessage:
		return e.Display
	case TypeMessage:
	default:
		return false
	}
	switch m := e.Message; {
	case m == nil:
		return false
	case m.Role == llm.RoleCustom:
		// The programs that have these roles show them.
		switch m.CustomType {
		case string(RoleExecution), "pythonExecution", CustomExcluded, CustomSummary, CustomBranch:
			return true
		}
		return m.Display
	}
	return true
}

// Record returns the entry as it is written, with all large pieces.
func (e *Entry) Record() ([]byte, error) {
	stored := *e
	if e.Message != nil {
		stored.Message = quote(e.Message)
	}
	return encode(stored.record())
}

// Words returns the content of a "custom_message" as blocks.
func (e *Entry) Words() ([]llm.Block, error) {
	raw, err := json.Marshal(struct {
		Role    llm.Role        `json:"role"`
		Content json.RawMessage `json:"content"`
	}{llm.RoleCustom, e.Content})
	if err != nil {
		return nil, err
	}
	var m llm.Message
	err = json.Unmarshal(raw, &m)
	return m.Content, err
}

// Prune is the data of a [CustomPrune] entry: the messages that the model gets in a shorter
// form from then on. The originals stay where they are.
type Prune struct {
	Reason  string  `json:"reason"` // "superseded", "old", "shake" or "refused"
	Entries []Short `json:"entries"`
}

// Short replaces the content of one message.
type Short struct {
	EntryID string `json:"id"`
	Text    string `json:"text"`            // the new text, such as a note where the original is
	Block   *int   `json:"block,omitempty"` // replaces only this block; nil replaces all
}

// encode writes v as one record, without escaping of <, > and &.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
