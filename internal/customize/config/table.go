package config

import "github.com/burin-dev/burin/internal/model/catalog"

// segments are what the status line can show. pi is what older files call burin.
var segments = []string{
	"burin", "model", "thinking", "mode", "path", "git", "pr", "subagents", "jobs", "token_in", "token_out",
	"token_total", "token_rate", "cost", "context_pct", "context_total", "time_spent", "time", "session", "hostname",
	"cache_read", "cache_write", "cache_hit", "session_name", "usage", "pi",
}

var (
	notify = []string{"desktop", "bell", "both", "off"}
	queues = []string{"one-at-a-time", "all"}
)

// at is a bound of a number.
func at(n float64) *float64 { return &n }

// table is every setting, by group. Tests hold it against Config, the defaults against
// those of the packages that use them, and against the handbook.
var table = []Setting{
	{Key: "theme.dark", Type: String, Group: Appearance, Label: "Dark theme", Default: "dark", Help: "The theme on terminals with a dark background."},
	{Key: "theme.light", Type: String, Group: Appearance, Label: "Light theme", Default: "light", Help: "The theme on terminals with a light background."},
	{Key: "symbolPreset", Type: Enum, Group: Appearance, Label: "Symbols", Default: "unicode", Choices: []string{"unicode", "nerd", "ascii"}, Help: "The signs to draw with: nerd needs a font with icons, ascii works everywhere."},
	{Key: "colorBlindMode", Type: Bool, Group: Appearance, Label: "Colour-blind mode", Default: false, Help: "Shows added lines in blue instead of green."},
	{Key: "screenReader", Type: Bool, Group: Appearance, Label: "Screen reader", Default: false, Help: "Writes plain lines one below the other, and never draws over them."},
	{Key: "hideThinkingBlock", Type: Bool, Group: Appearance, Label: "Hide thinking", Default: false, Help: "Hides what the model thinks before it answers."},
	{Key: "display.spinner", Type: Bool, Group: Appearance, Label: "Spinner", Default: true, Help: "Moves a sign while the model works."},
	{Key: "display.tabWidth", Type: Number, Group: Appearance, Label: "Tab width", Default: 3, Min: at(1), Max: at(16), Unit: "columns", Help: "How wide a tab is in shown files and outputs."},
	{Key: "tui.hyperlinks", Type: Enum, Group: Appearance, Label: "Links", Default: "auto", Choices: []string{"off", "auto", "always"}, Help: "Makes addresses and files clickable where the terminal can."},
	{Key: "tui.mouse", Type: Enum, Group: Appearance, Label: "Mouse", Default: "fullscreen", Choices: []string{"off", "fullscreen", "always"}, Help: "Click and wheel: in full-screen views, or always also in lists and questions. Hold Shift to select text there."},
	{Key: "terminal.showImages", Type: Bool, Group: Appearance, Label: "Images", Default: true, Help: "Shows images where the terminal can."},
	{Key: "tui.maxInlineImageColumns", Type: Number, Group: Appearance, Label: "Image width", Default: 100, Min: at(0), Unit: "columns", When: "terminal.showImages", Help: "The widest an image is shown; 0 is as wide as the terminal."},
	{Key: "tui.maxInlineImageRows", Type: Number, Group: Appearance, Label: "Image height", Default: 20, Min: at(0), Unit: "rows", When: "terminal.showImages", Help: "The highest an image is shown; 0 is as high as the terminal."},
	{Key: "statusLine.preset", Type: Enum, Group: Appearance, Label: "Status line", Default: "default", Choices: []string{"default", "minimal", "compact", "full", "nerd", "ascii", "custom"}, Help: "What the status line shows; custom shows the segments you choose."},
	{Key: "statusLine.separator", Type: Enum, Group: Appearance, Label: "Separators", Else: "the preset's", Choices: []string{"powerline", "powerline-thin", "slash", "pipe", "block", "none", "ascii"}, Help: "What stands between the segments of the status line."},
	{Key: "statusLine.transparent", Type: Bool, Group: Appearance, Label: "Transparent status line", Default: false, Help: "Leaves out the background of the status line."},
	{Key: "statusLine.leftSegments", Type: List, Group: Appearance, Label: "Segments on the left", Else: "the default's", Choices: segments, When: "statusLine.preset=custom", Help: "What the status line shows on its left side."},
	{Key: "statusLine.rightSegments", Type: List, Group: Appearance, Label: "Segments on the right", Else: "the default's", Choices: segments, When: "statusLine.preset=custom", Help: "What the status line shows on its right side."},

	{Key: "modelRoles", Type: Record, Group: Model, Label: "Models by role", Else: "chosen by the keys you have", Help: "Which model does what: default, smol, slow, plan and other roles."},
	{Key: "cycleOrder", Type: List, Group: Model, Label: "Roles to switch through", Default: []string{"smol", "default", "slow"}, Help: "The roles that the key for the next model goes through."},
	{Key: "defaultThinkingLevel", Type: Enum, Group: Model, Label: "Thinking", Else: "the model's own", Choices: []string{"off", "minimal", "low", "medium", "high", "xhigh"}, Help: "How much the model thinks where nothing else says it."},
	{Key: "temperature", Type: Number, Group: Model, Label: "Temperature", Else: "the provider's", Min: at(-1), Max: at(2), Fraction: true, Help: "How freely the model chooses its words, from 0 to 2; -1 is the provider's default."},
	{Key: "topP", Type: Number, Group: Model, Label: "Top-p", Else: "the provider's", Min: at(-1), Max: at(1), Fraction: true, Help: "The share of likely words that the model chooses from; -1 is the provider's default."},
	{Key: "serviceTier", Type: Enum, Group: Model, Label: "Service tier", Default: "none", Choices: catalog.ServiceTiers(), Help: "The tier to ask OpenAI or Anthropic for; costs of flex, scale and priority are estimates."},
	{Key: "thinkingBudgets.minimal", Type: Number, Group: Model, Label: "Thinking budget: minimal", Else: "1024", Min: at(1), Unit: "tokens", Help: "The thinking tokens of this level, for models that take a number."},
	{Key: "thinkingBudgets.low", Type: Number, Group: Model, Label: "Thinking budget: low", Else: "4096", Min: at(1), Unit: "tokens", Help: "The thinking tokens of this level, for models that take a number."},
	{Key: "thinkingBudgets.medium", Type: Number, Group: Model, Label: "Thinking budget: medium", Else: "10240", Min: at(1), Unit: "tokens", Help: "The thinking tokens of this level, for models that take a number."},
	{Key: "thinkingBudgets.high", Type: Number, Group: Model, Label: "Thinking budget: high", Else: "24576", Min: at(1), Unit: "tokens", Help: "The thinking tokens of this level, for models that take a number."},
	{Key: "thinkingBudgets.xhigh", Type: Number, Group: Model, Label: "Thinking budget: xhigh", Else: "32768", Min: at(1), Unit: "tokens", Help: "The thinking tokens of this level, for models that take a number."},
	{Key: "enabledModels", Type: List, Group: Model, Label: "Models to begin with", Else: "all", Help: "The first of these that can be used is taken where no model is asked for. The key for the next model goes through them unless two roles have models."},
	{Key: "modelProviderOrder", Type: List, Group: Model, Label: "Preferred providers", Else: "the usual order", Help: "Whose variant of a model is taken where several offer it."},
	{Key: "contextPromotion.enabled", Type: Bool, Group: Model, Label: "Larger model when full", Default: true, Help: "Goes on with a larger model of the same family before a long conversation is condensed."},
	{Key: "retry.enabled", Type: Bool, Group: Model, Label: "Retry", Default: true, Help: "Repeats requests that failed for a passing reason."},
	{Key: "retry.maxRetries", Type: Number, Group: Model, Label: "Retries", Default: 3, Min: at(0), When: "retry.enabled", Help: "How often a request is repeated."},
	{Key: "retry.baseDelayMs", Type: Number, Group: Model, Label: "First wait", Default: 2000, Min: at(1), Unit: "ms", When: "retry.enabled", Help: "The wait before the first repetition, doubled for each other."},
	{Key: "retry.maxDelayMs", Type: Number, Group: Model, Label: "Longest wait", Default: 300000, Min: at(1), Unit: "ms", When: "retry.enabled", Help: "The longest wait; a provider that asks for more is not waited for."},
	{Key: "retry.fallbackChains", Type: Record, Group: Model, Label: "Fallback models", Else: "none", When: "retry.enabled", Help: "The models to go on with when that of a role, or a model, keeps failing."},
	{Key: "retry.fallbackRevertPolicy", Type: Enum, Group: Model, Label: "Back from a fallback", Default: "cooldown-expiry", Choices: []string{"cooldown-expiry", "never"}, When: "retry.enabled", Help: "When the first model is asked again: after the wait that its provider asked for, else five minutes, or never."},
	{Key: "stream.firstEventTimeoutMs", Type: Number, Group: Model, Label: "Wait for an answer", Default: 0, Unit: "ms", Help: "The longest wait for an answer to begin; 0 is 100 seconds, less is no limit."},
	{Key: "stream.idleTimeoutMs", Type: Number, Group: Model, Label: "Silence in an answer", Default: 0, Unit: "ms", Help: "The longest silence within an answer; 0 is 120 seconds, less is no limit."},
	{Key: "stream.noContentTimeoutMs", Type: Number, Group: Model, Label: "Signs of life only", Default: 0, Unit: "ms", Help: "The longest time in which an answer brings only comments and pings; 0 is 30 minutes, less is no limit."},

	{Key: "steeringMode", Type: Enum, Group: Interaction, Label: "Messages while it works", Default: "one-at-a-time", Choices: queues, Help: "How many waiting messages the model gets between two steps."},
	{Key: "followUpMode", Type: Enum, Group: Interaction, Label: "Messages for afterwards", Default: "one-at-a-time", Choices: queues, Help: "How many waiting messages the model gets when its work is done."},
	{Key: "interruptMode", Type: Enum, Group: Interaction, Label: "Interrupting", Default: "immediate", Choices: []string{"immediate", "wait"}, Help: "Whether a message stops tools that run, or waits for them."},
	{Key: "doubleEscapeAction", Type: Enum, Group: Interaction, Label: "Esc twice", Default: "tree", Choices: []string{"tree", "branch", "none"}, Help: "What pressing Esc twice in an empty prompt opens."},
	{Key: "treeFilterMode", Type: Enum, Group: Interaction, Label: "Tree begins with", Default: "default", Choices: []string{"default", "no-tools", "user-only", "labeled-only", "all"}, Help: "What the session tree shows at first."},
	{Key: "autocompleteMaxVisible", Type: Number, Group: Interaction, Label: "Completions", Default: 5, Min: at(3), Max: at(20), Unit: "rows", Help: "How many completions are shown at once."},
	{Key: "completion.notify", Type: Enum, Group: Interaction, Label: "Notify when done", Default: "desktop", Choices: notify, Help: "Tells you when work is done; desktop is a bell where the terminal has no notifications."},
	{Key: "completion.afterSeconds", Type: Number, Group: Interaction, Label: "Notify after", Default: 10, Min: at(0), Unit: "seconds", Help: "Work that took less time is done without a notification."},
	{Key: "ask.notify", Type: Enum, Group: Interaction, Label: "Notify about questions", Default: "desktop", Choices: notify, Help: "Tells you when a question waits for you, in the same ways."},
	{Key: "ask.unattended", Type: Enum, Group: Interaction, Label: "Questions nobody sees", Default: "refuse", Choices: []string{"refuse", "wait"}, Help: "What becomes of a question of burin -p or --background while nobody is there: refused at once, or it waits until a terminal joins."},
	{Key: "ask.timeout", Type: Number, Group: Interaction, Label: "Waiting for an answer", Default: 0, Min: at(0), Unit: "seconds", Help: "How long a question waits. Then the model's own is answered with what it recommends, except in plan mode; one about a call is refused if nobody is there. 0 is as long as it takes."},
	{Key: "background.idle", Type: Number, Group: Interaction, Label: "End in the background", Default: 3600, Min: at(0), Unit: "seconds", Help: "How long a session of burin --background stays open without a face and without work; 0 is until it is stopped."},
	{Key: "loop.mode", Type: Enum, Group: Interaction, Label: "Between rounds", Default: "prompt", Choices: []string{"prompt", "compact", "reset"}, Help: "Before /loop sends its prompt again: nothing, condense the conversation, or begin a new session."},
	{Key: "startup.quiet", Type: Bool, Group: Interaction, Label: "Quiet start", Default: false, Help: "Starts without a welcome."},
	{Key: "startup.setupWizard", Type: Bool, Group: Interaction, Label: "Setup at the first start", Default: true, Help: "Mentions /setup at the first start; without a usable model, shows the ways to one."},
	{Key: "startup.checkUpdate", Type: Bool, Group: Interaction, Label: "Look for updates", Default: true, Help: "Asks once a day whether there is a newer burin, and says so in one line."},
	{Key: "setupVersion", Type: Number, Group: Interaction, Label: "Setup done", Default: 0, Min: at(0), Own: true, Help: "The newest setup that was gone through; burin writes it."},

	{Key: "compaction.enabled", Type: Bool, Group: Context, Label: "Condense long conversations", Default: true, Help: "Makes conversations smaller that outgrow the model."},
	{Key: "compaction.strategy", Type: Enum, Group: Context, Label: "How to condense", Default: "context-full", Choices: []string{"context-full", "handoff", "shake", "snapcompact", "off"}, When: "compaction.enabled", Help: "By a summary, by a document that the model itself writes, by moving bulky outputs to files, or as pictures."},
	{Key: "compaction.reserveTokens", Type: Number, Group: Context, Label: "Kept free", Default: 16384, Min: at(1), Unit: "tokens", When: "compaction.enabled", Help: "What is kept free for the answer."},
	{Key: "compaction.keepRecentTokens", Type: Number, Group: Context, Label: "Kept as it is", Default: 20000, Min: at(1), Unit: "tokens", When: "compaction.enabled", Help: "How much of the newest messages is never condensed."},
	{Key: "compaction.thresholdPercent", Type: Number, Group: Context, Label: "Condense at", Else: "when the reserve is reached", Unit: "%", When: "compaction.enabled", Help: "The share of the model's window from which on a conversation is condensed."},
	{Key: "compaction.thresholdTokens", Type: Number, Group: Context, Label: "Condense at size", Else: "when the reserve is reached", Unit: "tokens", When: "compaction.enabled", Help: "The size from which on a conversation is condensed; wins over the share."},
	{Key: "compaction.supersedeReads", Type: Bool, Group: Context, Label: "Shorten old reads", Default: true, When: "compaction.enabled", Help: "Shortens what was read of a file that was read or written again since."},
	{Key: "compaction.remoteEndpoint", Type: String, Group: Context, Label: "Server for summaries", Else: "none", When: "compaction.enabled", Help: "The address of a server that writes summaries."},
	{Key: "compaction.idleEnabled", Type: Bool, Group: Context, Label: "Condense while idle", Default: false, When: "compaction.enabled", Help: "Also condenses while nothing happens."},
	{Key: "compaction.idleThresholdTokens", Type: Number, Group: Context, Label: "Idle: from size", Default: 200000, Min: at(1), Unit: "tokens", When: "compaction.idleEnabled", Help: "The size from which on this is done."},
	{Key: "compaction.idleTimeoutSeconds", Type: Number, Group: Context, Label: "Idle: after", Default: 300, Min: at(1), Unit: "seconds", When: "compaction.idleEnabled", Help: "How long nothing must have happened."},
	{Key: "branchSummary.enabled", Type: Bool, Group: Context, Label: "Summaries of branches", Default: false, Help: "Offers to leave a summary of a branch that you move away from."},
	{Key: "branchSummary.reserveTokens", Type: Number, Group: Context, Label: "Branches: kept free", Default: 16384, Min: at(1), Unit: "tokens", When: "branchSummary.enabled", Help: "What is kept free when such a summary is written."},

	{Key: "edit.mode", Type: Enum, Group: Tools, Label: "Language of edits", Else: "the model's", Choices: []string{"replace", "patch", "hashline", "whole"}, Help: "How the model writes down changes of files."},
	{Key: "todo.reminders", Type: Bool, Group: Tools, Label: "Todo reminders", Default: true, Help: "Reminds the model of open todos when it stops in the middle of its own work."},
	{Key: "todo.remindersMax", Type: Number, Group: Tools, Label: "Most reminders", Default: 1, Min: at(0), When: "todo.reminders", Help: "How often the model is reminded for one prompt."},
	{Key: "shellPath", Type: String, Group: Tools, Label: "Shell", Else: "bash, else sh", Help: "The shell that runs commands, or builtin."},
	{Key: "userShellPath", Type: String, Group: Tools, Label: "Shell for !", Else: "$SHELL", Help: "The shell that runs your own commands (!): bash, zsh, fish, sh or builtin."},
	{Key: "searxng.endpoint", Type: String, Group: Tools, Label: "SearXNG server", Else: "none", Help: "The address of a server that web searches ask first."},

	{Key: "approval", Type: Enum, Group: Money, Label: "Runs without a question", Default: "ask", Choices: []string{"plan", "ask", "auto-edit", "full"}, Help: "With plan it only looks, ask asks before changes, auto-edit changes files by itself, full does all."},
	{Key: "permissions.allow", Type: List, Group: Money, Label: "Always allowed", Else: "none", Help: "Rules for calls that need no question, such as bash(go test:*)."},
	{Key: "permissions.deny", Type: List, Group: Money, Label: "Never allowed", Else: "none", Help: "Rules for calls that are refused."},
	{Key: "permissions.grantDays", Type: Number, Group: Money, Label: "Grants expire", Default: 0, Min: at(0), Unit: "days", Help: "How long grants for a project or for all projects hold; 0 is until you revoke them."},
	{Key: "sandbox.mode", Type: Enum, Group: Money, Label: "Sandbox", Else: "follows what runs without a question", Choices: []string{"read-only", "workspace-write", "full"}, Help: "What commands may do on this computer."},
	{Key: "sandbox.hosts", Type: List, Group: Money, Label: "Hosts for commands", Else: "none", Help: "The hosts that confined commands may reach."},
	{Key: "sandbox.writable", Type: List, Group: Money, Label: "Folders for commands", Else: "none", Help: "More folders that confined commands may write."},
	{Key: "secrets.enabled", Type: Bool, Group: Money, Label: "Hide secrets", Default: true, Help: "Hides tokens and passwords from models and files."},
	{Key: "limits.turn", Type: Number, Group: Money, Label: "Limit per prompt", Default: 0.0, Min: at(0), Unit: "$", Fraction: true, Help: "The most to spend on one prompt; 0 is no limit."},
	{Key: "limits.session", Type: Number, Group: Money, Label: "Limit per session", Default: 0.0, Min: at(0), Unit: "$", Fraction: true, Help: "The most to spend on one session; 0 is no limit."},
	{Key: "limits.project", Type: Number, Group: Money, Label: "Limit per folder", Default: 0.0, Min: at(0), Unit: "$", Fraction: true, Help: "The most to spend in a calendar month on one folder; 0 is no limit."},
	{Key: "limits.month", Type: Number, Group: Money, Label: "Limit per month", Default: 0.0, Min: at(0), Unit: "$", Fraction: true, Help: "The most to spend in a calendar month on everything; 0 is no limit."},
	{Key: "limits.allowUnknown", Type: Bool, Group: Money, Label: "Models without a known price", Default: false, Help: "Lets models through the limits whose price is not known."},

	{Key: "autoResume", Type: Bool, Group: Sessions, Label: "Resume at start", Default: false, Help: "Opens the newest session of the folder when burin starts."},
	{Key: "titles.model", Type: Bool, Group: Sessions, Label: "Titles by a model", Default: false, Help: "Lets a small model name sessions; else their first words do."},
	{Key: "sessions.encrypt", Type: Bool, Group: Sessions, Label: "Encrypt new sessions", Default: false, Help: "Keeps new sessions encrypted on disk."},
	{Key: "sessionDir", Type: String, Group: Sessions, Label: "Folder of sessions", Else: "sessions/ of the data folder", Help: "Where sessions are kept."},

	{Key: "providers.webSearch", Type: Enum, Group: Providers, Label: "Web search", Default: "auto", Choices: []string{"auto", "model"}, Help: "With model, models search the web by themselves where they can, without a question; auto is burin's own search."},
	{Key: "disabledProviders", Type: List, Group: Providers, Label: "Providers not to use", Else: "none", Help: "Providers that are never used."},
	{Key: "oauth", Type: Record, Group: Providers, Label: "Your own logins", Else: "none", Help: "Logins of vendors that gave you a client of your own."},
}
