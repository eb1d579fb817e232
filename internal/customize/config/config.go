// Package config finds burin's files, and reads and changes the settings of
// config.yml.
//
// Reading is strict: an unknown key, a wrong type or a value out of range is an
// error of one line that names the file, the line and the column, and what is
// expected there. A missing file is an empty one.
//
// [Settings] describes every key for people: what it is for, its default, what it may
// be. [Config.Value] and [Config.Source] say what holds and why.
//
// [Set] and [Unset] change one key of the file and keep the rest as it is written,
// comments included. The file is replaced in one step by one that was read again
// before, or it stays as it was.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/llm"
)

const (
	name   = "config.yml"
	folder = ".burin" // of a project
)

var bom = []byte("\ufeff") // some editors put it in front

// OIDC is a provider of OpenID Connect, with whose accounts people sign in to a server.
type OIDC struct {
	Label           string   `yaml:"label,omitempty"`           // for people; empty = the name
	Issuer          string   `yaml:"issuer,omitempty"`          // its address
	ClientID        string   `yaml:"clientId,omitempty"`        // that it gave the server
	ClientSecretEnv string   `yaml:"clientSecretEnv,omitempty"` // name of the variable with the secret that it gave; empty = there is none
	Scopes          []string `yaml:"scopes,omitempty"`          // besides openid; empty = profile and email
	Domains         []string `yaml:"domains,omitempty"`         // of e-mail addresses that may sign in; empty = all
	Groups          []string `yaml:"groups,omitempty"`          // whose people may sign in; empty = all
	GroupsClaim     string   `yaml:"groupsClaim,omitempty"`     // empty = groups
	NameClaim       string   `yaml:"nameClaim,omitempty"`       // of new people; empty = preferred_username
	Admit           string   `yaml:"admit,omitempty"`           // the role of new people; empty = they aren't admitted
}

// Machine is another machine's server, whose sessions a server lists, too.
type Machine struct {
	Address  string `yaml:"address,omitempty"`  // such as https://desk.local:4647
	TokenEnv string `yaml:"tokenEnv,omitempty"` // name of the variable with a token of an admin there
}

// Config is what config.yml may say.
type Config struct {
	// ModelRoles maps a role (default, smol, slow, vision, transcribe, plan, designer,
	// commit, task, or any other) to a model selector.
	ModelRoles map[string]string `yaml:"modelRoles"`
	// EnabledModels are the models to begin with, the first usable one first, when
	// none is asked for; empty = all.
	EnabledModels catalog.ScopedList `yaml:"enabledModels"`
	// DisabledProviders are never used.
	DisabledProviders catalog.ScopedList `yaml:"disabledProviders"`
	// DisabledSources are programs whose files are not read: ids of package source.
	DisabledSources []string `yaml:"disabledSources"`
	// Skills says which skills there are, and who may call them.
	Skills struct {
		Enabled             *bool    `yaml:"enabled"`
		EnableSkillCommands *bool    `yaml:"enableSkillCommands"`
		Bundled             *bool    `yaml:"bundled"`
		CustomDirectories   []string `yaml:"customDirectories"`
		IgnoredSkills       []string `yaml:"ignoredSkills"`
		IncludeSkills       []string `yaml:"includeSkills"`
	} `yaml:"skills"`
	// Memory says where burin remembers what sessions teach, and Memories how.
	Memory struct {
		Backend string `yaml:"backend"` // off, local
	} `yaml:"memory"`
	Memories struct {
		MaxRolloutAgeDays          *int `yaml:"maxRolloutAgeDays"`
		MinRolloutIdleHours        *int `yaml:"minRolloutIdleHours"`
		MaxRolloutsPerStartup      *int `yaml:"maxRolloutsPerStartup"`
		SummaryInjectionTokenLimit *int `yaml:"summaryInjectionTokenLimit"`
	} `yaml:"memories"`
	// ModelProviderOrder says whose variant of a model is preferred.
	ModelProviderOrder []string `yaml:"modelProviderOrder"`
	// DefaultThinkingLevel is used where neither flag nor selector says one.
	DefaultThinkingLevel llm.Level `yaml:"defaultThinkingLevel"`
	// Temperature and TopP are how freely models choose their words; below 0 is the
	// provider's default.
	Temperature *float64 `yaml:"temperature"`
	TopP        *float64 `yaml:"topP"`
	// TopK and what follows are known to some providers only; below 0 is the provider's default.
	TopK              *int     `yaml:"topK"`
	MinP              *float64 `yaml:"minP"`
	PresencePenalty   *float64 `yaml:"presencePenalty"`
	RepetitionPenalty *float64 `yaml:"repetitionPenalty"`
	// ServiceTier is one of catalog.ServiceTiers.
	ServiceTier string `yaml:"serviceTier"`
	// ThinkingBudgets are the tokens of levels, for models that take a number.
	ThinkingBudgets struct {
		Minimal *int `yaml:"minimal"`
		Low     *int `yaml:"low"`
		Medium  *int `yaml:"medium"`
		High    *int `yaml:"high"`
		XHigh   *int `yaml:"xhigh"`
	} `yaml:"thinkingBudgets"`
	// Providers says what is left to those who serve models.
	Providers struct {
		WebSearch string `yaml:"webSearch"` // auto, model
	} `yaml:"providers"`
	// Stream sets the time-outs of answers, in milliseconds; 0 = the default,
	// negative = no limit.
	Stream struct {
		FirstEventTimeoutMS int `yaml:"firstEventTimeoutMs"`
		IdleTimeoutMS       int `yaml:"idleTimeoutMs"`
		NoContentTimeoutMS  int `yaml:"noContentTimeoutMs"`
	} `yaml:"stream"`
	// Approval is what runs without a question: plan, ask, auto-edit or full.
	Approval string `yaml:"approval"`
	// Permissions are rules for calls, such as bash(go test:*).
	Permissions struct {
		Allow []string `yaml:"allow"`
		Deny  []string `yaml:"deny"`
		// GrantDays is how many days lasting grants hold; 0 is until they are taken back.
		GrantDays *int `yaml:"grantDays"`
	} `yaml:"permissions"`
	// Hooks are programs that run at certain moments.
	Hooks struct {
		Enabled  *bool `yaml:"enabled"`
		Confined *bool `yaml:"confined"` // by the sandbox of the model's commands
	} `yaml:"hooks"`
	// MCP is about servers of the Model Context Protocol.
	MCP struct {
		Enabled                 *bool    `yaml:"enabled"`
		EnableProjectConfig     *bool    `yaml:"enableProjectConfig"`
		DiscoveryDefaultServers []string `yaml:"discoveryDefaultServers"` // whose tools are never searched for
		Sampling                *bool    `yaml:"sampling"`                // they may ask the session's model, if the user allows it each time
	} `yaml:"mcp"`
	// LSP is about language servers.
	LSP struct {
		Enabled                *bool `yaml:"enabled"`
		DiagnosticsOnWrite     *bool `yaml:"diagnosticsOnWrite"`
		DiagnosticsOnEdit      *bool `yaml:"diagnosticsOnEdit"`
		DiagnosticsDeduplicate *bool `yaml:"diagnosticsDeduplicate"`
		FormatOnWrite          *bool `yaml:"formatOnWrite"`
	} `yaml:"lsp"`
	// Sandbox confines commands.
	Sandbox struct {
		Mode     string   `yaml:"mode"`     // read-only, workspace-write, full
		Hosts    []string `yaml:"hosts"`    // that commands may reach
		Writable []string `yaml:"writable"` // more folders that they may write
	} `yaml:"sandbox"`
	// Edit chooses the language of edits: replace, patch, hashline or whole; of some models by
	// a part of their ids.
	Edit struct {
		FuzzyMatch         *bool `yaml:"fuzzyMatch"`         // other whitespace, quotes and indentation are tolerated
		BlockAutoGenerated *bool `yaml:"blockAutoGenerated"` // generated files are refused

		Mode          string            `yaml:"mode"`
		ModelVariants map[string]string `yaml:"modelVariants"`
	} `yaml:"edit"`
	// Bash and what follows are switches of tools.
	Bash struct {
		Enabled *bool `yaml:"enabled"`
		// StripTrailingHeadTail takes a head or tail off the end of a command.
		StripTrailingHeadTail *bool `yaml:"stripTrailingHeadTail"`

		AutoBackground struct {
			Enabled     bool `yaml:"enabled"`
			ThresholdMS *int `yaml:"thresholdMs"` // after which a command becomes a job
		} `yaml:"autoBackground"`
	} `yaml:"bash"`
	// Async is about commands in the background.
	Async struct {
		Enabled *bool `yaml:"enabled"`
		MaxJobs *int  `yaml:"maxJobs"` // at a time
	} `yaml:"async"`
	Search struct {
		Enabled       *bool `yaml:"enabled"`
		ContextBefore *int  `yaml:"contextBefore"` // lines, where the model does not say
		ContextAfter  *int  `yaml:"contextAfter"`
	} `yaml:"search"`
	Read struct {
		DefaultLimit *int `yaml:"defaultLimit"` // lines
	} `yaml:"read"`
	Fetch     Switch `yaml:"fetch"`
	Find      Switch `yaml:"find"`
	WebSearch Switch `yaml:"web_search"`
	Tools     struct {
		DiscoveryMode string `yaml:"discoveryMode"` // auto, off, mcp-only
		MaxTimeout    *int   `yaml:"maxTimeout"`    // seconds that a command may run; 0 is burin's own limit
		// Of the output of commands; the first two in KB.
		ArtifactHeadBytes *int `yaml:"artifactHeadBytes"`
		ArtifactTailBytes *int `yaml:"artifactTailBytes"`
		OutputMaxColumns  *int `yaml:"outputMaxColumns"`
	} `yaml:"tools"`
	IRC struct {
		TimeoutMs *int `yaml:"timeoutMs"`
	} `yaml:"irc"`
	Task struct {
		Batch             *bool `yaml:"batch"`
		MaxConcurrency    *int  `yaml:"maxConcurrency"`    // 0: all
		MaxRecursionDepth *int  `yaml:"maxRecursionDepth"` // below 0: any
		MaxRuntimeMs      *int  `yaml:"maxRuntimeMs"`      // 0: any
		SoftRequestBudget *int  `yaml:"softRequestBudget"` // 0: any
		AgentIdleTTLMs    *int  `yaml:"agentIdleTtlMs"`    // 0: they are never parked
		Isolation         struct {
			Mode  string `yaml:"mode"`
			Merge string `yaml:"merge"`
		} `yaml:"isolation"`
		EnableLSP           *bool             `yaml:"enableLsp"` // language servers for agents
		DisabledAgents      []string          `yaml:"disabledAgents"`
		AgentModelOverrides map[string]string `yaml:"agentModelOverrides"` // by the agent's name
	} `yaml:"task"`
	// ShellPath is the shell that runs commands, or "builtin".
	ShellPath string `yaml:"shellPath"`
	// UserShellPath is the shell that runs a person's own commands.
	UserShellPath string `yaml:"userShellPath"`
	// SearXNG is a server that web_search may ask.
	SearXNG struct {
		Endpoint      string `yaml:"endpoint"`
		Token         string `yaml:"token"`
		BasicUsername string `yaml:"basicUsername"`
		BasicPassword string `yaml:"basicPassword"`
		Categories    string `yaml:"categories"`
		Language      string `yaml:"language"`
	} `yaml:"searxng"`
	// Compaction makes long conversations fit; what is not set has the default.
	Compaction Compaction `yaml:"compaction"`
	// TTSR is about rules, and about those that watch answers.
	TTSR struct {
		Enabled       *bool    `yaml:"enabled"`
		ContextMode   string   `yaml:"contextMode"`   // discard, keep
		InterruptMode string   `yaml:"interruptMode"` // always, prose-only, tool-only, never
		RepeatMode    string   `yaml:"repeatMode"`    // once, after-gap
		RepeatGap     *int     `yaml:"repeatGap"`
		BuiltinRules  *bool    `yaml:"builtinRules"`
		DisabledRules []string `yaml:"disabledRules"`
	} `yaml:"ttsr"`
	// BranchSummary is left behind when one moves to another branch.
	BranchSummary struct {
		Enabled       bool `yaml:"enabled"`
		ReserveTokens *int `yaml:"reserveTokens"`
	} `yaml:"branchSummary"`
	// ContextPromotion goes to a larger model when the conversation outgrows its own.
	ContextPromotion struct {
		Enabled *bool `yaml:"enabled"`
	} `yaml:"contextPromotion"`
	// Images says how pictures reach models.
	Images struct {
		AutoResize  *bool `yaml:"autoResize"`
		BlockImages bool  `yaml:"blockImages"`
	} `yaml:"images"`
	// Retry says what happens to requests that fail for a passing reason.
	Retry struct {
		Enabled        *bool               `yaml:"enabled"`
		MaxRetries     *int                `yaml:"maxRetries"`
		BaseDelayMS    *int                `yaml:"baseDelayMs"`
		MaxDelayMS     *int                `yaml:"maxDelayMs"`
		ModelFallback  *bool               `yaml:"modelFallback"`
		FallbackChains map[string][]string `yaml:"fallbackChains"`       // role or model → selectors
		FallbackRevert string              `yaml:"fallbackRevertPolicy"` // cooldown-expiry, never
	} `yaml:"retry"`
	// Limits are ceilings in US dollars; 0 is none.
	Limits struct {
		Turn         float64 `yaml:"turn"`
		Session      float64 `yaml:"session"`
		Project      float64 `yaml:"project"` // a calendar month of one folder
		Month        float64 `yaml:"month"`
		AllowUnknown bool    `yaml:"allowUnknown"` // also models without a known price
	} `yaml:"limits"`
	// Secrets hides values from models and files.
	Secrets struct {
		Enabled *bool `yaml:"enabled"`
	} `yaml:"secrets"`
	// SessionDir is where sessions are kept, in place of sessions/ of the data folder.
	SessionDir string `yaml:"sessionDir"`
	// Advisor is about the second model that reads what is done.
	Advisor struct {
		Enabled *bool   `yaml:"enabled"`
		Quiet   *bool   `yaml:"quiet"`
		Budget  float64 `yaml:"budget"` // dollars per session
	} `yaml:"advisor"`
	// Goal is about work toward a goal.
	Goal struct {
		Enabled *bool `yaml:"enabled"`
		Checker *bool `yaml:"checker"` // verifies it
	} `yaml:"goal"`
	// Checkpoint is about the tools that rewind explorations.
	Checkpoint struct {
		Enabled *bool `yaml:"enabled"`
	} `yaml:"checkpoint"`
	// Todo is about the model's list of work.
	Todo struct {
		Enabled      *bool `yaml:"enabled"`
		Reminders    *bool `yaml:"reminders"`
		RemindersMax *int  `yaml:"remindersMax"` // for one prompt
	} `yaml:"todo"`
	// Titles says that a model of the role smol names sessions.
	Titles struct {
		Model bool `yaml:"model"`
	} `yaml:"titles"`
	// OAuth adds logins, by provider id, for vendors that gave the user a client
	// of their own.
	OAuth map[string]oauth.Provider `yaml:"oauth"`
	// Sessions says how conversations are kept.
	Sessions struct {
		Encrypt bool `yaml:"encrypt"` // new ones
	} `yaml:"sessions"`

	// What follows is the terminal face's. Where a value has a default other than
	// nothing it is read by Bool, Int, Text or List.

	// Theme names the themes of dark and of light terminals.
	Theme Theme `yaml:"theme"`
	// SymbolPreset is the signs to draw with: unicode, nerd or ascii.
	SymbolPreset   string `yaml:"symbolPreset"`
	ColorBlindMode bool   `yaml:"colorBlindMode"`
	// StatusLine is the line below the prompt.
	StatusLine StatusLine `yaml:"statusLine"`
	Terminal   struct {
		ShowImages *bool `yaml:"showImages"`
	} `yaml:"terminal"`
	TUI struct {
		MaxInlineImageColumns *int   `yaml:"maxInlineImageColumns"` // 0 is no limit but the terminal's
		MaxInlineImageRows    *int   `yaml:"maxInlineImageRows"`
		Hyperlinks            string `yaml:"hyperlinks"` // off, auto, always
		Mouse                 string `yaml:"mouse"`      // off, fullscreen, always
	} `yaml:"tui"`
	Display struct {
		TabWidth *int  `yaml:"tabWidth"`
		Spinner  *bool `yaml:"spinner"`
	} `yaml:"display"`
	ScreenReader           bool     `yaml:"screenReader"`
	HideThinkingBlock      bool     `yaml:"hideThinkingBlock"`
	DoubleEscapeAction     string   `yaml:"doubleEscapeAction"` // tree, branch, none
	TreeFilterMode         string   `yaml:"treeFilterMode"`
	SteeringMode           string   `yaml:"steeringMode"` // one-at-a-time, all
	FollowUpMode           string   `yaml:"followUpMode"`
	InterruptMode          string   `yaml:"interruptMode"` // immediate, wait
	CycleOrder             []string `yaml:"cycleOrder"`
	AutocompleteMaxVisible *int     `yaml:"autocompleteMaxVisible"`
	Completion             struct {
		Notify       Notify `yaml:"notify"`
		AfterSeconds *int   `yaml:"afterSeconds"`
	} `yaml:"completion"`
	Ask struct {
		Notify     Notify `yaml:"notify"`
		Unattended string `yaml:"unattended"`
		Timeout    int    `yaml:"timeout"`
	} `yaml:"ask"`
	// Server is about burin serve.
	Server struct {
		Database       string   `yaml:"database"`
		Proxies        []string `yaml:"proxies"`
		Address        string   `yaml:"address"`
		Storage        bool     `yaml:"storage"`
		StorageOrigins []string `yaml:"storageOrigins"`
		Key            string   `yaml:"key"` // file, keyring, passphrase
		Attachments    string   `yaml:"attachments"`
		Push           string   `yaml:"push"` // off, or who runs the server
		PushHosts      []string `yaml:"pushHosts"`
		Folders        []string `yaml:"folders"` // in which browsers begin sessions
		// OIDC are the providers with whose accounts people sign in, by the name that they have in addresses.
		OIDC map[string]OIDC `yaml:"oidc"`
		// Machines are servers of other machines, by what they are called.
		Machines map[string]Machine `yaml:"machines"`
	} `yaml:"server"`
	// Background is about owners without a face.
	Background struct {
		Idle *int `yaml:"idle"` // seconds; 0 is never
	} `yaml:"background"`
	AutoResume bool `yaml:"autoResume"`
	Loop       struct {
		Mode string `yaml:"mode"`
	} `yaml:"loop"`
	Startup struct {
		Quiet       bool  `yaml:"quiet"`
		SetupWizard *bool `yaml:"setupWizard"`
		CheckUpdate *bool `yaml:"checkUpdate"`
	} `yaml:"startup"`
	// SetupVersion is the newest first-run wizard that was gone through.
	SetupVersion int `yaml:"setupVersion"`

	file     *file             // the user's
	held     map[string]held   // over the files
	places   map[string]Source // of values that are not of the user's file
	parts    []part            // the files it was read from; nil: the user's alone
	warnings []string
	older    []string // what of the user's file, or an overlay, was taken in other words
}

// Switch is something that can be switched off. nil is on.
type Switch struct {
	Enabled *bool `yaml:"enabled"`
}

// Compaction is the settings of that name. nil is the default.
type Compaction struct {
	Enabled             *bool  `yaml:"enabled"`
	Strategy            string `yaml:"strategy"` // context-full, handoff, shake, snapcompact, off
	ReserveTokens       *int   `yaml:"reserveTokens"`
	KeepRecentTokens    *int   `yaml:"keepRecentTokens"`
	ThresholdPercent    *int   `yaml:"thresholdPercent"`
	ThresholdTokens     *int   `yaml:"thresholdTokens"`
	SupersedeReads      *bool  `yaml:"supersedeReads"`
	RemoteEndpoint      string `yaml:"remoteEndpoint"`
	IdleEnabled         bool   `yaml:"idleEnabled"`
	IdleThresholdTokens *int   `yaml:"idleThresholdTokens"`
	IdleTimeoutSeconds  *int   `yaml:"idleTimeoutSeconds"`
}

// File is where config.yml of a folder is.
func File(dir string) string { return filepath.Join(dir, name) }

// Load reads config.yml in dir.
func Load(dir string) (*Config, error) { return load(dir, nil) }

// load is Load. It gives last, as it gave it, where the file has not changed since;
// nil was never loaded.
func load(dir string, last *Config) (*Config, error) {
	path := File(dir)
	data, err := smallfile.Read(path, smallfile.Settings)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if last != nil && last.file == nil && last.parts == nil {
			return last, nil
		}
		return &Config{}, nil
	case err != nil:
		return nil, fmt.Errorf("read the settings: %w", err)
	case last != nil && last.file != nil && bytes.Equal(plain(data), last.file.data):
		return last, nil
	}
	return parse(path, data)
}

// plain is the text of a file without what editors put around it. The parser counts lines
// wrongly where comments end with \r\n.
func plain(data []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(data, bom), []byte("\r\n"), []byte("\n"))
}

func parse(path string, data []byte) (*Config, error) {
	data = plain(data)
	text := &file{path: path, data: data, text: data}
	c := &Config{file: text}
	if len(bytes.TrimSpace(data)) == 0 {
		return c, nil
	}
	if err := smallfile.CheckNesting(data); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	data, c.older = modernize(data, true)
	text.text = data
	if err := yaml.UnmarshalWithOptions(data, c, yaml.Strict()); err != nil {
		if wrong := misplaced(data, err); wrong != "" {
			return nil, fmt.Errorf("%s:%s", path, wrong)
		}
		return nil, fmt.Errorf("%s:%s", path, OneLine(err))
	}
	c.file = text // which decoding nothing but comments has cleared
	if c.DefaultThinkingLevel != "" {
		if _, err := llm.ParseLevel(string(c.DefaultThinkingLevel)); err != nil {
			return nil, fmt.Errorf("%s:%s %w", path, place(data, "$.defaultThinkingLevel"), err)
		}
	}
	for _, s := range Settings() {
		if err := s.Check(c.Value(s.Key)); err != nil {
			return nil, fmt.Errorf("%s:%s %w", path, place(data, "$."+s.Key), err)
		}
	}
	for part, mode := range c.Edit.ModelVariants {
		if s, _ := Find("edit.mode"); s.Check(mode) != nil {
			return nil, fmt.Errorf("%s:%s edit.modelVariants: %s: %w", path, place(data, "$.edit.modelVariants.'"+part+"'"), part, s.Check(mode))
		}
	}
	if wrong := text.fraction(); wrong != "" {
		return nil, fmt.Errorf("%s:%s", path, wrong)
	}
	for id, p := range c.OAuth {
		p.ID = id
		if err := p.Validate(); err != nil {
			return nil, fmt.Errorf("%s:%s oauth: %s: %w", path, place(data, "$.oauth.'"+id+"'"), id, err)
		}
		c.OAuth[id] = p
	}
	return c, nil
}

// place is where the value at a YAML path stands, as "line:column:".
func place(data []byte, path string) string {
	p, err := yaml.PathString(path)
	if err != nil {
		return ""
	}
	node, err := p.ReadNode(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	at := node.GetToken().Position
	return fmt.Sprintf("%d:%d:", at.Line, at.Column)
}

var position = regexp.MustCompile(`^\[(\d+):(\d+)\] `)

// OneLine makes the YAML library's error, which quotes the source over several
// lines, one of the form "line:column: what".
func OneLine(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok && wrong.SrcType.Kind() == reflect.Map && wrong.DstType.Kind() == reflect.String {
		first = position.FindString(first) + "this must be text, and its colon makes it a mapping: put it in quotes"
	}
	return position.ReplaceAllString(first, "$1:$2: ")
}
