package config

import (
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/model/catalog"
)

// segments are the segments of the status line. pi is the name of burin in older files.
var segments = []string{
	"burin", "model", "thinking", "mode", "path", "git", "pr", "subagents", "jobs", "token_in", "token_out",
	"token_total", "token_rate", "cost", "context_pct", "context_total", "time_spent", "time", "session", "hostname",
	"cache_read", "cache_write", "cache_hit", "session_name", "usage", "pi",
}

var (
	notify = []string{"desktop", "bell", "both", "off"}
	queues = []string{"one-at-a-time", "all"}
)

// at returns a bound of a number.
func at(n float64) *float64 { return &n }

// table lists every setting, by group. Tests compare it with Config, with the defaults of
// the packages that use them, and with docs/configuration.md.
var table = []Setting{
	{Key: "theme.dark", Type: String, Group: Appearance, Project: Free, Label: "Dark theme", Default: "dark", Help: "The theme for terminals with a dark background."},
	{Key: "theme.light", Type: String, Group: Appearance, Project: Free, Label: "Light theme", Default: "light", Help: "The theme for terminals with a light background."},
	{Key: "symbolPreset", Type: Enum, Group: Appearance, Project: Free, Label: "Symbols", Default: "unicode", Choices: []string{"unicode", "nerd", "ascii"}, Help: "Which symbols to draw with: unicode, nerd (needs a Nerd Font) or ascii (works everywhere)."},
	{Key: "colorBlindMode", Type: Bool, Group: Appearance, Project: Never, Label: "Color-blind mode", Default: false, Help: "Shows added lines in blue instead of green."},
	{Key: "screenReader", Type: Bool, Group: Appearance, Project: Never, Label: "Screen reader", Default: false, Help: "Writes plain lines in order, without boxes or motion, and never redraws them."},
	{Key: "hideThinkingBlock", Type: Bool, Group: Appearance, Project: Free, Label: "Hide thinking", Default: false, Help: "Hides the model's thinking."},
	{Key: "display.spinner", Type: Bool, Group: Appearance, Project: Free, Label: "Spinner", Default: true, Help: "Shows a spinner while the model works."},
	{Key: "display.tabWidth", Type: Number, Group: Appearance, Project: Free, Label: "Tab width", Default: 3, Min: at(1), Max: at(16), Unit: "columns", Help: "The width of a tab in files and output, 1 to 16."},
	{Key: "tui.mouse", Type: Enum, Group: Appearance, Project: Free, Label: "Mouse", Default: "fullscreen", Choices: []string{"off", "fullscreen", "always"}, Help: "Click and wheel: in full-screen views, or always also in lists and questions. Hold Shift to select text there."},
	{Key: "tui.hyperlinks", Type: Enum, Group: Appearance, Project: Free, Label: "Links", Default: "auto", Choices: []string{"off", "auto", "always"}, Help: "Makes addresses and files clickable: auto does so where the terminal supports it."},
	{Key: "terminal.showImages", Type: Bool, Group: Appearance, Project: Free, Label: "Images", Default: true, Help: "Shows images where the terminal can."},
	{Key: "tui.maxInlineImageColumns", Type: Number, Group: Appearance, Project: Free, Label: "Image width", Default: 100, Min: at(0), Unit: "columns", When: "terminal.showImages", Help: "The maximum width of an image; 0 is the width of the terminal."},
	{Key: "tui.maxInlineImageRows", Type: Number, Group: Appearance, Project: Free, Label: "Image height", Default: 20, Min: at(0), Unit: "rows", When: "terminal.showImages", Help: "The maximum height of an image; 0 is the height of the terminal."},
	{Key: "statusLine.preset", Type: Enum, Group: Appearance, Project: Free, Label: "Status line", Default: "default", Choices: []string{"default", "minimal", "compact", "full", "nerd", "ascii", "custom"}, Help: "What the status line shows; custom shows the segments you choose."},
	{Key: "statusLine.separator", Type: Enum, Group: Appearance, Project: Free, Label: "Separators", Else: "the preset's", Choices: []string{"powerline", "powerline-thin", "slash", "pipe", "block", "none", "ascii"}, Help: "What separates the segments of the status line."},
	{Key: "statusLine.transparent", Type: Bool, Group: Appearance, Project: Free, Label: "Transparent status line", Default: false, Help: "Draws the status line without a background."},
	{Key: "statusLine.leftSegments", Type: List, Group: Appearance, Project: Free, Label: "Segments on the left", Else: "the default preset's", Choices: segments, When: "statusLine.preset=custom", Help: "The segments on the left of the status line, in order."},
	{Key: "statusLine.rightSegments", Type: List, Group: Appearance, Project: Free, Label: "Segments on the right", Else: "the default preset's", Choices: segments, When: "statusLine.preset=custom", Help: "The segments on the right of the status line, in order."},

	{Key: "modelRoles", Type: Record, Group: Model, Project: IfTrusted, Label: "Models by role", Else: "chosen by your keys", Help: "Which model has which role: default, smol, slow, plan and others."},
	{Key: "cycleOrder", Type: List, Group: Model, Project: Free, Label: "Roles to cycle through", Default: []string{"smol", "default", "slow"}, Help: "The roles that the next-model key (Ctrl+P) cycles through."},
	{Key: "defaultThinkingLevel", Type: Enum, Group: Model, Project: IfTrusted, Label: "Thinking", Else: "the model's own", Choices: []string{"off", "minimal", "low", "medium", "high", "xhigh"}, Help: "How hard the model thinks unless --thinking or the selector says otherwise."},
	{Key: "temperature", Type: Number, Group: Model, Project: Free, Label: "Temperature", Else: "the provider's", Min: at(-1), Max: at(2), Fraction: true, Help: "How freely the model chooses its words, 0 to 2; -1 is the provider's default."},
	{Key: "topP", Type: Number, Group: Model, Project: Free, Label: "Top-p", Else: "the provider's", Min: at(-1), Max: at(1), Fraction: true, Help: "The share of likely words the model chooses from, 0 to 1; -1 is the provider's default."},
	{Key: "serviceTier", Type: Enum, Group: Model, Project: IfTrusted, Label: "Service tier", Default: "none", Choices: catalog.ServiceTiers(), Help: "The tier to request from OpenAI or Anthropic; costs of flex, scale and priority are estimates."},
	{Key: "thinkingBudgets.minimal", Type: Number, Group: Model, Project: IfTrusted, Label: "Thinking budget: minimal", Else: "1024", Min: at(1), Unit: "tokens", Help: "Thinking tokens at this level, for models that take a number."},
	{Key: "thinkingBudgets.low", Type: Number, Group: Model, Project: IfTrusted, Label: "Thinking budget: low", Else: "4096", Min: at(1), Unit: "tokens", Help: "Thinking tokens at this level, for models that take a number."},
	{Key: "thinkingBudgets.medium", Type: Number, Group: Model, Project: IfTrusted, Label: "Thinking budget: medium", Else: "10240", Min: at(1), Unit: "tokens", Help: "Thinking tokens at this level, for models that take a number."},
	{Key: "thinkingBudgets.high", Type: Number, Group: Model, Project: IfTrusted, Label: "Thinking budget: high", Else: "24576", Min: at(1), Unit: "tokens", Help: "Thinking tokens at this level, for models that take a number."},
	{Key: "thinkingBudgets.xhigh", Type: Number, Group: Model, Project: IfTrusted, Label: "Thinking budget: xhigh", Else: "32768", Min: at(1), Unit: "tokens", Help: "Thinking tokens at this level, for models that take a number."},
	{Key: "enabledModels", Type: List, Group: Model, Project: IfTrusted, Label: "Preferred models", Else: "all", Help: "Models to start with when none is asked for; the first usable one wins. The key for the next model goes through them unless two roles have models."},
	{Key: "modelProviderOrder", Type: List, Group: Model, Project: IfTrusted, Label: "Preferred providers", Else: "the usual order", Help: "Which provider to prefer when several offer the same model."},
	{Key: "contextPromotion.enabled", Type: Bool, Group: Model, Project: IfTrusted, Label: "Larger model when full", Default: true, Help: "Switches to a larger model of the same family before compacting a conversation."},
	{Key: "retry.enabled", Type: Bool, Group: Model, Project: IfTrusted, Label: "Retry", Default: true, Help: "Retries requests that fail for a temporary reason."},
	{Key: "retry.maxRetries", Type: Number, Group: Model, Project: IfTrusted, Label: "Retries", Default: 3, Min: at(0), When: "retry.enabled", Help: "How many times a request is retried."},
	{Key: "retry.baseDelayMs", Type: Number, Group: Model, Project: IfTrusted, Label: "First wait", Default: 2000, Min: at(1), Unit: "ms", When: "retry.enabled", Help: "The wait before the first retry; it doubles with each further one."},
	{Key: "retry.maxDelayMs", Type: Number, Group: Model, Project: IfTrusted, Label: "Longest wait", Default: 300000, Min: at(1), Unit: "ms", When: "retry.enabled", Help: "The longest wait before a retry; if the provider asks for more, burin stops."},
	{Key: "retry.modelFallback", Type: Bool, Group: Model, Project: Stricter, Label: "Fallback", Default: true, When: "retry.enabled", Help: "Lets fallback models take over."},
	{Key: "retry.fallbackChains", Type: Record, Group: Model, Project: IfTrusted, Label: "Fallback models", Else: "none", When: "retry.enabled", Help: "The models that take over when a role's model, or a named model, keeps failing."},
	{Key: "retry.fallbackRevertPolicy", Type: Enum, Group: Model, Project: IfTrusted, Label: "Return from a fallback", Default: "cooldown-expiry", Choices: []string{"cooldown-expiry", "never"}, When: "retry.enabled", Help: "When to return to the first model: when the provider's wait is over (else after 5 minutes), or never."},
	{Key: "stream.firstEventTimeoutMs", Type: Number, Group: Model, Project: IfTrusted, Label: "Timeout: first event", Default: 0, Unit: "ms", Help: "How long to wait for an answer to start; 0 is 100 seconds, a negative value is no limit."},
	{Key: "stream.idleTimeoutMs", Type: Number, Group: Model, Project: IfTrusted, Label: "Timeout: silence", Default: 0, Unit: "ms", Help: "How long an answer may be silent; 0 is 120 seconds, a negative value is no limit."},
	{Key: "stream.noContentTimeoutMs", Type: Number, Group: Model, Project: IfTrusted, Label: "Timeout: no content", Default: 0, Unit: "ms", Help: "How long an answer may send only comments and pings; 0 is 30 minutes, a negative value is no limit."},

	{Key: "steeringMode", Type: Enum, Group: Interaction, Project: Free, Label: "Messages during work", Default: "one-at-a-time", Choices: queues, Help: "How many queued messages the model gets between two steps."},
	{Key: "followUpMode", Type: Enum, Group: Interaction, Project: Free, Label: "Messages after work", Default: "one-at-a-time", Choices: queues, Help: "How many queued messages the model gets when its work is done."},
	{Key: "interruptMode", Type: Enum, Group: Interaction, Project: Free, Label: "Interrupting", Default: "immediate", Choices: []string{"immediate", "wait"}, Help: "Whether a message stops running tools (immediate) or waits for them."},
	{Key: "doubleEscapeAction", Type: Enum, Group: Interaction, Project: Free, Label: "Esc twice", Default: "tree", Choices: []string{"tree", "branch", "none"}, Help: "What pressing Esc twice in an empty prompt opens."},
	{Key: "treeFilterMode", Type: Enum, Group: Interaction, Project: Free, Label: "Tree filter", Default: "default", Choices: []string{"default", "no-tools", "user-only", "labeled-only", "all"}, Help: "What the session tree shows at first."},
	{Key: "autocompleteMaxVisible", Type: Number, Group: Interaction, Project: Free, Label: "Completions", Default: 5, Min: at(3), Max: at(20), Unit: "rows", Help: "How many completions are shown at once, 3 to 20."},
	{Key: "completion.notify", Type: Enum, Group: Interaction, Project: Free, Label: "Notify when done", Default: "desktop", Choices: notify, Help: "Notifies you when work is done; desktop is a bell where the terminal has no notifications."},
	{Key: "completion.afterSeconds", Type: Number, Group: Interaction, Project: Free, Label: "Notify after", Default: 10, Min: at(0), Unit: "seconds", Help: "Work shorter than this ends without a notification."},
	{Key: "ask.notify", Type: Enum, Group: Interaction, Project: Free, Label: "Notify about questions", Default: "desktop", Choices: notify, Help: "Notifies you when a question waits for you; desktop is a bell where the terminal has no notifications."},
	{Key: "ask.unattended", Type: Enum, Group: Interaction, Project: IfTrusted, Label: "Unattended questions", Default: "refuse", Choices: []string{"refuse", "wait"}, Help: "What happens to a question of burin -p or --background while nobody is there: refuse at once, or wait for a terminal to join."},
	{Key: "ask.timeout", Type: Number, Group: Interaction, Project: IfTrusted, Label: "Question timeout", Default: 0, Min: at(0), Unit: "seconds", Help: "How long a question waits before the model's recommended answer is taken (not in plan mode); a call is refused if nobody is there. 0 is no limit."},
	{Key: "background.idle", Type: Number, Group: Interaction, Project: IfTrusted, Label: "Background timeout", Default: 3600, Min: at(0), Unit: "seconds", Help: "How long a background session stays open without a terminal and without work; 0 is until you stop it."},
	{Key: "loop.mode", Type: Enum, Group: Interaction, Project: Free, Label: "Between rounds of /loop", Default: "prompt", Choices: []string{"prompt", "compact", "reset"}, Help: "What /loop does before it sends its prompt again: nothing (prompt), compact, or start a new session (reset)."},
	{Key: "startup.quiet", Type: Bool, Group: Interaction, Project: Free, Label: "Quiet start", Default: false, Help: "Starts without a welcome."},
	{Key: "startup.setupWizard", Type: Bool, Group: Interaction, Project: Never, Label: "Setup at first start", Default: true, Help: "Mentions /setup at the first start; without a usable model, shows how to get one."},
	{Key: "startup.checkUpdate", Type: Bool, Group: Interaction, Project: Never, Label: "Check for updates", Default: true, Help: "Checks once a day for a newer burin, and mentions it in one line."},
	{Key: "setupVersion", Type: Number, Group: Interaction, Project: Never, Label: "Setup done", Default: 0, Min: at(0), Own: true, Help: "The latest version of the setup you completed; written by burin."},

	{Key: "compaction.enabled", Type: Bool, Group: Context, Project: Free, Label: "Compact long conversations", Default: true, Help: "Compacts a conversation before it outgrows the model's window."},
	{Key: "compaction.strategy", Type: Enum, Group: Context, Project: Free, Label: "Compaction strategy", Default: "context-full", Choices: []string{"context-full", "handoff", "shake", "snapcompact", "off"}, When: "compaction.enabled", Help: "How to compact: a summary (context-full), a document by the session's model (handoff), old output to files (shake), or pictures (snapcompact)."},
	{Key: "compaction.reserveTokens", Type: Number, Group: Context, Project: Free, Label: "Reserve for the answer", Default: 16384, Min: at(1), Unit: "tokens", When: "compaction.enabled", Help: "Tokens kept free for the answer."},
	{Key: "compaction.keepRecentTokens", Type: Number, Group: Context, Project: Free, Label: "Recent messages to keep", Default: 20000, Min: at(1), Unit: "tokens", When: "compaction.enabled", Help: "How much of the newest messages is never compacted."},
	{Key: "compaction.thresholdPercent", Type: Number, Group: Context, Project: Free, Label: "Compact at percent", Else: "when the reserve is reached", Unit: "%", When: "compaction.enabled", Help: "The share of the model's window at which a conversation is compacted."},
	{Key: "compaction.thresholdTokens", Type: Number, Group: Context, Project: Free, Label: "Compact at size", Else: "when the reserve is reached", Unit: "tokens", When: "compaction.enabled", Help: "The size at which a conversation is compacted; wins over the percentage."},
	{Key: "compaction.supersedeReads", Type: Bool, Group: Context, Project: Free, Label: "Shorten superseded reads", Default: true, When: "compaction.enabled", Help: "Shortens old reads of files that were read again or written since, where that saves more than it costs."},
	{Key: "compaction.remoteEndpoint", Type: String, Group: Context, Project: IfTrusted, Label: "Summary server", Else: "none", When: "compaction.enabled", Help: "The address of a server that writes the summaries."},
	{Key: "compaction.idleEnabled", Type: Bool, Group: Context, Project: IfTrusted, Label: "Compact while idle", Default: false, When: "compaction.enabled", Help: "Also compacts while nothing happens."},
	{Key: "compaction.idleThresholdTokens", Type: Number, Group: Context, Project: IfTrusted, Label: "Idle: size", Default: 200000, Min: at(1), Unit: "tokens", When: "compaction.idleEnabled", Help: "The size at which an idle conversation is compacted."},
	{Key: "compaction.idleTimeoutSeconds", Type: Number, Group: Context, Project: IfTrusted, Label: "Idle: wait", Default: 300, Min: at(1), Unit: "seconds", When: "compaction.idleEnabled", Help: "How long a session must be idle first."},
	{Key: "branchSummary.enabled", Type: Bool, Group: Context, Project: Free, Label: "Branch summaries", Default: false, Help: "Offers to summarize a branch when you leave it in the tree."},
	{Key: "branchSummary.reserveTokens", Type: Number, Group: Context, Project: Free, Label: "Branch summaries: reserve", Default: 16384, Min: at(1), Unit: "tokens", When: "branchSummary.enabled", Help: "Tokens kept free when a branch is summarized."},

	{Key: "edit.mode", Type: Enum, Group: Tools, Project: Free, Label: "Edit format", Else: "the model's", Choices: []string{"replace", "patch", "hashline", "whole"}, Help: "The format in which the model writes edits."},
	{Key: "edit.modelVariants", Type: Record, Group: Tools, Project: Free, Label: "Edit formats of models", Else: "none", Help: "The edit format for models whose id contains a text; the longest text wins."},
	{Key: "bash.enabled", Type: Bool, Group: Tools, Project: Stricter, Label: "Commands", Default: true, Help: "Offers bash and the tools for background jobs."},
	{Key: "find.enabled", Type: Bool, Group: Tools, Project: Stricter, Label: "Finding files", Default: true, Help: "Offers find."},
	{Key: "search.enabled", Type: Bool, Group: Tools, Project: Stricter, Label: "Searching files", Default: true, Help: "Offers grep."},
	{Key: "fetch.enabled", Type: Bool, Group: Tools, Project: Stricter, Label: "Web pages", Default: true, Help: "Offers fetch."},
	{Key: "web_search.enabled", Type: Bool, Group: Tools, Project: Stricter, Label: "Searching the web", Default: true, Help: "Offers web_search."},
	{Key: "tools.maxTimeout", Type: Number, Group: Tools, Project: Stricter, Label: "Longest command", Default: 0, Min: at(0), Max: at(3600), Unit: "seconds", When: "bash.enabled", Help: "The longest time limit of a command, whatever the model asks for; 0 is an hour."},
	{Key: "todo.enabled", Type: Bool, Group: Tools, Project: Stricter, Label: "Todos", Default: true, Help: "Offers the list of work, todo."},
	{Key: "todo.reminders", Type: Bool, Group: Tools, Project: Free, Label: "Todo reminders", Default: true, Help: "Reminds the model of open todos when it stops in the middle of its own work."},
	{Key: "todo.remindersMax", Type: Number, Group: Tools, Project: IfTrusted, Label: "Most reminders", Default: 1, Min: at(0), When: "todo.reminders", Help: "How many times the model is reminded per prompt."},
	{Key: "hooks.enabled", Type: Bool, Group: Tools, Project: Never, Label: "Hooks", Default: true, Help: "Runs your hooks, and those of programs and folders that you trust."},
	{Key: "hooks.confined", Type: Bool, Group: Tools, Project: Stricter, Strict: true, Label: "Confined hooks", Default: true, When: "hooks.enabled", Help: "Runs hooks under the sandbox of the model's commands."},
	{Key: "shellPath", Type: String, Group: Tools, Project: IfTrusted, Label: "Shell", Else: "bash, else sh", Help: "The path of the shell that runs commands, or builtin."},
	{Key: "userShellPath", Type: String, Group: Tools, Project: IfTrusted, Label: "Shell for !", Else: "$SHELL", Help: "The shell that runs your own commands (!): bash, zsh, fish, sh or builtin."},
	{Key: "searxng.endpoint", Type: String, Group: Tools, Project: IfTrusted, Label: "SearXNG server", Else: "none", Help: "The address of a SearXNG server that web_search asks first."},

	{Key: "approval", Type: Enum, Group: Money, Project: Stricter, Label: "Approval mode", Default: "ask", Choices: []string{"plan", "ask", "auto-edit", "full"}, Help: "What runs without asking: reading (plan refuses the rest, ask asks), file edits too (auto-edit), or everything (full)."},
	{Key: "permissions.allow", Type: List, Group: Money, Project: IfTrusted, Adds: true, Label: "Allow rules", Else: "none", Help: "Calls that run without asking, such as bash(go test:*)."},
	{Key: "permissions.deny", Type: List, Group: Money, Project: Stricter, Adds: true, Label: "Deny rules", Else: "none", Help: "Calls that are refused; they win over allow rules."},
	{Key: "permissions.grantDays", Type: Number, Group: Money, Project: Stricter, Label: "Grants expire after", Default: 0, Min: at(0), Unit: "days", Help: "How long a grant for a project or for all projects lasts; 0 is until you revoke it."},
	{Key: "sandbox.mode", Type: Enum, Group: Money, Project: Stricter, Label: "Sandbox", Else: "follows the approval mode", Choices: []string{"read-only", "workspace-write", "full"}, Help: "How commands are confined: read-only, workspace-write, or full for not at all."},
	{Key: "sandbox.hosts", Type: List, Group: Money, Project: IfTrusted, Adds: true, Label: "Hosts for commands", Else: "none", Help: "The hosts that confined commands may reach."},
	{Key: "sandbox.writable", Type: List, Group: Money, Project: IfTrusted, Adds: true, Label: "Folders for commands", Else: "none", Help: "Folders outside the workspace that confined commands may write."},
	{Key: "secrets.enabled", Type: Bool, Group: Money, Project: Stricter, Strict: true, Label: "Hide secrets", Default: true, Help: "Hides tokens and passwords from models and session files."},
	{Key: "limits.turn", Type: Number, Group: Money, Project: Stricter, Label: "Limit per prompt", Default: 0.0, Min: at(0), Unit: "$", Fraction: true, Help: "The most to spend on one prompt; 0 is no limit."},
	{Key: "limits.session", Type: Number, Group: Money, Project: Stricter, Label: "Limit per session", Default: 0.0, Min: at(0), Unit: "$", Fraction: true, Help: "The most to spend on one session; 0 is no limit."},
	{Key: "limits.project", Type: Number, Group: Money, Project: Stricter, Label: "Limit per folder", Default: 0.0, Min: at(0), Unit: "$", Fraction: true, Help: "The most to spend per calendar month in one folder; 0 is no limit."},
	{Key: "limits.month", Type: Number, Group: Money, Project: Stricter, Label: "Limit per month", Default: 0.0, Min: at(0), Unit: "$", Fraction: true, Help: "The most to spend per calendar month in all; 0 is no limit."},
	{Key: "limits.allowUnknown", Type: Bool, Group: Money, Project: Stricter, Label: "Allow unknown prices", Default: false, Help: "Lets models without a known price run under these limits."},

	{Key: "autoResume", Type: Bool, Group: Sessions, Project: IfTrusted, Label: "Resume at start", Default: false, Help: "Resumes the newest session of the folder when burin starts."},
	{Key: "titles.model", Type: Bool, Group: Sessions, Project: IfTrusted, Label: "Titles by a model", Default: false, Help: "Lets the model of the role smol name sessions; otherwise their first words do."},
	{Key: "sessions.encrypt", Type: Bool, Group: Sessions, Project: Stricter, Strict: true, Label: "Encrypt new sessions", Default: false, Help: "Encrypts new sessions on disk."},
	{Key: "sessionDir", Type: String, Group: Sessions, Project: IfTrusted, Label: "Session folder", Else: "sessions/ of the data folder", Help: "Where sessions are kept; a relative path is in your home folder."},

	{Key: "providers.webSearch", Type: Enum, Group: Providers, Project: IfTrusted, Label: "Web search", Default: "auto", Choices: []string{"auto", "model"}, Help: "Who searches the web: auto is burin's web_search; model is the model itself where it can, without asking."},
	{Key: "disabledProviders", Type: List, Group: Providers, Project: Stricter, Adds: true, Label: "Disabled providers", Else: "none", Help: "Providers that are never used."},
	{Key: "disabledSources", Type: List, Group: Providers, Project: Stricter, Adds: true, Label: "Disabled sources", Else: "none", Choices: source.IDs(), Help: "Programs whose commands, skills and rules are not read."},
	{Key: "oauth", Type: Record, Group: Providers, Project: IfTrusted, Label: "Your own logins", Else: "none", Help: "Logins of providers that gave you an OAuth client."},
}
