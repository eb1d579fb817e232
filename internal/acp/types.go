package acp

import "encoding/json"

// Methods.
const (
	MethodInitialize        = "initialize"
	MethodAuthenticate      = "authenticate"
	MethodSessionNew        = "session/new"
	MethodSessionLoad       = "session/load"
	MethodSessionResume     = "session/resume"
	MethodSessionList       = "session/list"
	MethodSessionFork       = "session/fork"
	MethodSessionClose      = "session/close"
	MethodSessionDelete     = "session/delete"
	MethodSessionStatus     = "session/status"
	MethodSessionSetTitle   = "session/set_title"
	MethodSessionPrompt     = "session/prompt"
	MethodSessionCancel     = "session/cancel"
	MethodSessionSetMode    = "session/set_mode"
	MethodSessionSetModel   = "session/set_model" // from earlier drafts; clients still call it
	MethodSessionSetOption  = "session/set_config_option"
	MethodSessionUpdate     = "session/update"
	MethodRequestPermission = "session/request_permission"
	MethodReadTextFile      = "fs/read_text_file"
	MethodWriteTextFile     = "fs/write_text_file"
	MethodTerminalCreate    = "terminal/create"
	MethodTerminalOutput    = "terminal/output"
	MethodTerminalWait      = "terminal/wait_for_exit"
	MethodTerminalKill      = "terminal/kill"
	MethodTerminalRelease   = "terminal/release"
	MethodElicitation       = "elicitation/create"
	MethodCancelRequest     = "$/cancel_request"
)

// CancelRequest cancels a request.
type CancelRequest struct {
	RequestID json.RawMessage `json:"requestId"`
}

// Empty is a result without fields, or a capability whose presence is all there is to say.
type Empty struct{}

// Implementation names a client or an agent.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// InitializeRequest describes a client.
type InitializeRequest struct {
	ProtocolVersion    *int               `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         *Implementation    `json:"clientInfo"`
}

// ClientCapabilities are what a client can do.
type ClientCapabilities struct {
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Session  *struct {
		Compaction *json.RawMessage `json:"compaction"`
		Notices    *json.RawMessage `json:"notices"`
	} `json:"session"`
	Auth struct {
		Terminal bool `json:"terminal"`
	} `json:"auth"`
	Elicitation *struct {
		Form *Empty `json:"form"`
	} `json:"elicitation"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

// InitializeResponse describes an agent.
type InitializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
	AgentInfo         Implementation    `json:"agentInfo"`
}

// AgentCapabilities are what an agent can do.
type AgentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  PromptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     MCPCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities SessionCapabilities `json:"sessionCapabilities"`
	Meta                map[string]any      `json:"_meta,omitempty"`
}

// PromptCapabilities are what a prompt may contain besides text and links.
type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

// MCPCapabilities are the transports of MCP servers that an agent connects to.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// SessionCapabilities are the session methods that an agent has besides new and prompt.
type SessionCapabilities struct {
	List                  *Empty `json:"list,omitempty"`
	Delete                *Empty `json:"delete,omitempty"`
	AdditionalDirectories *Empty `json:"additionalDirectories,omitempty"`
	Fork                  *Empty `json:"fork,omitempty"`
	Status                *Empty `json:"status,omitempty"`
	Title                 *Empty `json:"title,omitempty"`
	Resume                *Empty `json:"resume,omitempty"`
	Close                 *Empty `json:"close,omitempty"`
}

// AuthMethod is a way to authenticate. Type "terminal" is for clients that can start the
// agent in a terminal; with "" the agent itself authenticates.
type AuthMethod struct {
	Type        string            `json:"type,omitempty"`
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
}

// AuthenticateRequest chooses an [AuthMethod].
type AuthenticateRequest struct {
	MethodID string `json:"methodId"`
}

// SessionRequest has the fields of all requests about sessions; each method uses some of them.
type SessionRequest struct {
	SessionID             string            `json:"sessionId"`
	CWD                   string            `json:"cwd"`
	AdditionalDirectories []string          `json:"additionalDirectories"`
	MCPServers            []json.RawMessage `json:"mcpServers"`
}

// SessionResponse describes an opened session.
type SessionResponse struct {
	SessionID     string         `json:"sessionId,omitempty"`
	Modes         *Modes         `json:"modes,omitempty"`
	Models        *Models        `json:"models,omitempty"` // from earlier drafts
	ConfigOptions []ConfigOption `json:"configOptions,omitempty"`
}

// Modes are the modes of a session.
type Modes struct {
	CurrentModeID  string `json:"currentModeId"`
	AvailableModes []Mode `json:"availableModes"`
}

// Mode is one of the [Modes].
type Mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Models are the models of a session.
type Models struct {
	CurrentModelID  string  `json:"currentModelId"`
	AvailableModels []Model `json:"availableModels"`
}

// Model is one of the [Models].
type Model struct {
	ModelID string `json:"modelId"`
	Name    string `json:"name"`
}

// ConfigOption is a setting of a session.
type ConfigOption struct {
	Type         string         `json:"type"` // "select"
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Description  string         `json:"description,omitempty"`
	Category     string         `json:"category,omitempty"`
	CurrentValue string         `json:"currentValue"`
	Options      []ConfigChoice `json:"options"`
}

// ConfigChoice is one value of a [ConfigOption].
type ConfigChoice struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// ConfigOptions answers a [SetOptionRequest] with all options.
type ConfigOptions struct {
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// SetModeRequest sets the mode of a session.
type SetModeRequest struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

// SetModelRequest sets the model of a session.
type SetModelRequest struct {
	SessionID string `json:"sessionId"`
	ModelID   string `json:"modelId"`
}

// SetOptionRequest sets a [ConfigOption].
type SetOptionRequest struct {
	SessionID string `json:"sessionId"`
	ConfigID  string `json:"configId"`
	Value     any    `json:"value"`
}

// SetTitleRequest names a session.
type SetTitleRequest struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
}

// SetTitleResponse has the new title.
type SetTitleResponse struct {
	Title string `json:"title"`
}

// StatusResponse says whether a session is open.
type StatusResponse struct {
	Status string `json:"status"` // open or saved
}

// ListRequest asks for sessions.
type ListRequest struct {
	CWD    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

// ListResponse is a page of sessions.
type ListResponse struct {
	Sessions   []SessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// SessionInfo is a session in a list.
type SessionInfo struct {
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// PromptRequest is a prompt.
type PromptRequest struct {
	SessionID string         `json:"sessionId"`
	Prompt    []ContentBlock `json:"prompt"`
}

// PromptResponse answers a prompt when all work on it has ended.
type PromptResponse struct {
	StopReason string `json:"stopReason"`
}

// Stop reasons.
const (
	StopEndTurn   = "end_turn"
	StopMaxTokens = "max_tokens"
	StopMaxTurns  = "max_turn_requests"
	StopRefusal   = "refusal"
	StopCancelled = "cancelled"
)

// ContentBlock is a piece of content: text, image, audio, resource_link or resource.
type ContentBlock struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *Resource `json:"resource,omitempty"`
}

// TextBlock is a [ContentBlock] of text. The schema requires "text", even an empty one.
type TextBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Text returns a block of text.
func Text(s string) TextBlock { return TextBlock{"text", s} }

// Resource is an embedded resource.
type Resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"` // base64
}

// Update is a session/update notification. Its Update is one of the types below.
type Update struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

// Chunk is a piece of a message: user_message_chunk, agent_message_chunk or
// agent_thought_chunk.
type Chunk struct {
	Kind      string `json:"sessionUpdate"`
	Content   any    `json:"content"`
	MessageID string `json:"messageId,omitempty"`
}

// ToolCall is a tool_call or a tool_call_update; an update leaves missing fields as they are.
type ToolCall struct {
	Kind       string         `json:"sessionUpdate,omitempty"`
	ToolCallID string         `json:"toolCallId"`
	Title      string         `json:"title,omitempty"`
	Name       string         `json:"name,omitempty"`
	ToolKind   string         `json:"kind,omitempty"`
	Status     string         `json:"status,omitempty"`
	Content    []any          `json:"content,omitempty"` // each a ToolContent or Diff
	Locations  []ToolLocation `json:"locations,omitempty"`
	RawInput   any            `json:"rawInput,omitempty"`
	RawOutput  any            `json:"rawOutput,omitempty"`
}

// Statuses of tool calls.
const (
	ToolPending   = "pending"
	ToolRunning   = "in_progress"
	ToolCompleted = "completed"
	ToolFailed    = "failed"
)

// ToolContent is output of a call.
type ToolContent struct {
	Type    string `json:"type"` // "content"
	Content any    `json:"content"`
}

// Terminal is what a terminal of the client shows.
type Terminal struct {
	Type       string `json:"type"` // "terminal"
	TerminalID string `json:"terminalId"`
}

// Diff is a change to a file.
type Diff struct {
	Type    string  `json:"type"` // "diff"
	Path    string  `json:"path"`
	OldText *string `json:"oldText,omitempty"` // nil: the file is new
	NewText string  `json:"newText"`
}

// ToolLocation is a place in a file that a call works on.
type ToolLocation struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// Plan is the list of tasks.
type Plan struct {
	Kind    string      `json:"sessionUpdate"` // "plan"
	Entries []PlanEntry `json:"entries"`
}

// PlanEntry is a task of a [Plan].
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// Commands are the available slash commands.
type Commands struct {
	Kind              string    `json:"sessionUpdate"` // "available_commands_update"
	AvailableCommands []Command `json:"availableCommands"`
}

// Command is a slash command.
type Command struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *CommandInput `json:"input,omitempty"`
}

// CommandInput describes the argument of a [Command].
type CommandInput struct {
	Hint string `json:"hint"`
}

// CurrentMode reports a change of mode.
type CurrentMode struct {
	Kind          string `json:"sessionUpdate"` // "current_mode_update"
	CurrentModeID string `json:"currentModeId"`
}

// ConfigUpdate reports a change of options.
type ConfigUpdate struct {
	Kind          string         `json:"sessionUpdate"` // "config_option_update"
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// InfoUpdate reports a change of title.
type InfoUpdate struct {
	Kind      string `json:"sessionUpdate"` // "session_info_update"
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// UsageUpdate reports how full the context is and what the session has cost.
type UsageUpdate struct {
	Kind string `json:"sessionUpdate"` // "usage_update"
	Used int    `json:"used"`
	Size int    `json:"size"`
	Cost *Cost  `json:"cost,omitempty"`
}

// Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Notice is a message for the person.
type Notice struct {
	Kind     string `json:"sessionUpdate"` // "notice"
	Severity string `json:"severity"`      // info, warning or error
	Title    string `json:"title"`
}

// Compaction reports the progress of a compaction.
type Compaction struct {
	Kind         string `json:"sessionUpdate"` // "compaction_update"
	CompactionID string `json:"compactionId"`
	Status       string `json:"status"` // in_progress, completed, failed or cancelled
	Summary      []any  `json:"summary,omitempty"`
	Error        string `json:"error,omitempty"`
}

// PermissionRequest asks whether a call may run.
type PermissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  ToolCall           `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
}

// PermissionOption is an answer to a [PermissionRequest].
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// Kinds of a [PermissionOption].
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// PermissionResponse is what the person chose.
type PermissionResponse struct {
	Outcome struct {
		Outcome  string `json:"outcome"` // selected or cancelled
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

// ElicitationRequest asks a person to fill in a form.
type ElicitationRequest struct {
	Mode            string `json:"mode"` // "form"
	SessionID       string `json:"sessionId"`
	ToolCallID      string `json:"toolCallId,omitempty"`
	Message         string `json:"message"`
	RequestedSchema Form   `json:"requestedSchema"`
}

// Form is the schema of a form.
type Form struct {
	Type       string           `json:"type"` // "object"
	Properties map[string]Field `json:"properties"`
	Required   []string         `json:"required,omitempty"`
}

// Field is a field of a [Form].
type Field struct {
	Type        string      `json:"type"` // string, boolean or array
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	OneOf       []FieldEnum `json:"oneOf,omitempty"`
	Items       *FieldItems `json:"items,omitempty"`
	Default     any         `json:"default,omitempty"`
}

// FieldEnum is a value to choose.
type FieldEnum struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// FieldItems are the values of a field with several choices.
type FieldItems struct {
	AnyOf []FieldEnum `json:"anyOf"`
}

// ElicitationResponse is what the person did.
type ElicitationResponse struct {
	Action  string                     `json:"action"` // accept, decline or cancel
	Content map[string]json.RawMessage `json:"content"`
}

// ReadTextFileRequest asks for the text of a file as the client has it, saved or not.
type ReadTextFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
}

// ReadTextFileResponse has the text of a file.
type ReadTextFileResponse struct {
	Content string `json:"content"`
}

// WriteTextFileRequest asks the client to write a file.
type WriteTextFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

// OpenRequest is a [SessionRequest] as a client writes it.
type OpenRequest struct {
	SessionID             string            `json:"sessionId,omitempty"` // of load and resume
	CWD                   string            `json:"cwd"`
	AdditionalDirectories []string          `json:"additionalDirectories,omitempty"`
	MCPServers            []json.RawMessage `json:"mcpServers"`
}

// SessionID is all that a cancel and a close say.
type SessionID struct {
	SessionID string `json:"sessionId"`
}

// Received is an [Update] as a client reads it: the fields of all kinds. A field that was not
// there is nil or empty.
type Received struct {
	SessionID string `json:"sessionId"`
	Update    struct {
		Kind string `json:"sessionUpdate"`
		ReceivedCall
		Entries           []PlanEntry `json:"entries"`
		AvailableCommands []Command   `json:"availableCommands"`
		Used              int         `json:"used"`
		Size              int         `json:"size"`
		Cost              *Cost       `json:"cost"`
	} `json:"update"`
}

// ReceivedCall is a [ToolCall] as a client reads it. Content is one [ContentBlock] in a piece
// of a message, and a list of [ReceivedContent] in a call.
type ReceivedCall struct {
	ToolCallID string          `json:"toolCallId"`
	Title      *string         `json:"title"`
	ToolKind   string          `json:"kind"`
	Status     string          `json:"status"`
	Content    json.RawMessage `json:"content"`
	Locations  []ToolLocation  `json:"locations"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
}

// ReceivedContent is what a call produced: content, a diff, or the output of a terminal.
type ReceivedContent struct {
	Type       string       `json:"type"`
	Content    ContentBlock `json:"content"`
	Path       string       `json:"path"`
	OldText    *string      `json:"oldText"`
	NewText    string       `json:"newText"`
	TerminalID string       `json:"terminalId"`
}

// ReceivedPermission is a [PermissionRequest] as a client reads it.
type ReceivedPermission struct {
	SessionID string             `json:"sessionId"`
	ToolCall  ReceivedCall       `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
}

// ReadLinesRequest is a [ReadTextFileRequest] with the lines that are wanted.
type ReadLinesRequest struct {
	ReadTextFileRequest
	Line  *int `json:"line"` // the first, from 1
	Limit *int `json:"limit"`
}

// TerminalRequest starts a command in a terminal of the client.
type TerminalRequest struct {
	SessionID       string        `json:"sessionId"`
	Command         string        `json:"command"`
	Args            []string      `json:"args"`
	Env             []EnvVariable `json:"env"`
	CWD             string        `json:"cwd"`
	OutputByteLimit *int          `json:"outputByteLimit,omitempty"`
}

// EnvVariable is a variable of the environment.
type EnvVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TerminalID names a terminal.
type TerminalID struct {
	SessionID  string `json:"sessionId,omitempty"`
	TerminalID string `json:"terminalId"`
}

// TerminalOutput is what a terminal has shown.
type TerminalOutput struct {
	Output     string        `json:"output"`
	Truncated  bool          `json:"truncated"`
	ExitStatus *TerminalExit `json:"exitStatus,omitempty"`
}

// TerminalExit is how a command ended.
type TerminalExit struct {
	ExitCode *int    `json:"exitCode"`
	Signal   *string `json:"signal"`
}
