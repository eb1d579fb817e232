package theme

// Token names a role that a theme gives a colour. The names are those of theme
// files; tokens that end in Bg are backgrounds.
type Token uint8

// The tokens. Plain is not in theme files: it is text without a colour of its own.
const (
	Plain Token = iota

	Accent
	Border
	BorderAccent
	BorderMuted
	Success
	Error
	Warning
	Muted
	Dim
	Text
	ThinkingText

	SelectedBg
	UserMessageBg
	CustomMessageBg
	ToolPendingBg
	ToolSuccessBg
	ToolErrorBg
	StatusLineBg

	UserMessageText
	CustomMessageText
	CustomMessageLabel
	ToolTitle
	ToolOutput

	MdHeading
	MdLink
	MdLinkURL
	MdCode
	MdCodeBlock
	MdCodeBlockBorder
	MdQuote
	MdQuoteBorder
	MdHr
	MdListBullet

	ToolDiffAdded
	ToolDiffRemoved
	ToolDiffContext
	SyntaxComment
	SyntaxKeyword
	SyntaxFunction
	SyntaxVariable
	SyntaxString
	SyntaxNumber
	SyntaxType
	SyntaxOperator
	SyntaxPunctuation

	ThinkingOff
	ThinkingMinimal
	ThinkingLow
	ThinkingMedium
	ThinkingHigh
	ThinkingXhigh
	BashMode
	PythonMode

	StatusLineSep
	StatusLineModel
	StatusLinePath
	StatusLineGitClean
	StatusLineGitDirty
	StatusLineContext
	StatusLineSpend
	StatusLineStaged
	StatusLineDirty
	StatusLineUntracked
	StatusLineOutput
	StatusLineCost
	StatusLineSubagents

	tokenCount
)

// Count is the number of tokens that a theme file gives a colour.
const Count = int(tokenCount) - 1

var tokenNames = [tokenCount]string{
	Plain:  "",
	Accent: "accent", Border: "border", BorderAccent: "borderAccent", BorderMuted: "borderMuted",
	Success: "success", Error: "error", Warning: "warning", Muted: "muted", Dim: "dim", Text: "text", ThinkingText: "thinkingText",
	SelectedBg: "selectedBg", UserMessageBg: "userMessageBg", CustomMessageBg: "customMessageBg", ToolPendingBg: "toolPendingBg",
	ToolSuccessBg: "toolSuccessBg", ToolErrorBg: "toolErrorBg", StatusLineBg: "statusLineBg",
	UserMessageText: "userMessageText", CustomMessageText: "customMessageText", CustomMessageLabel: "customMessageLabel",
	ToolTitle: "toolTitle", ToolOutput: "toolOutput",
	MdHeading: "mdHeading", MdLink: "mdLink", MdLinkURL: "mdLinkUrl", MdCode: "mdCode", MdCodeBlock: "mdCodeBlock",
	MdCodeBlockBorder: "mdCodeBlockBorder", MdQuote: "mdQuote", MdQuoteBorder: "mdQuoteBorder", MdHr: "mdHr", MdListBullet: "mdListBullet",
	ToolDiffAdded: "toolDiffAdded", ToolDiffRemoved: "toolDiffRemoved", ToolDiffContext: "toolDiffContext",
	SyntaxComment: "syntaxComment", SyntaxKeyword: "syntaxKeyword", SyntaxFunction: "syntaxFunction", SyntaxVariable: "syntaxVariable",
	SyntaxString: "syntaxString", SyntaxNumber: "syntaxNumber", SyntaxType: "syntaxType", SyntaxOperator: "syntaxOperator",
	SyntaxPunctuation: "syntaxPunctuation",
	ThinkingOff:       "thinkingOff", ThinkingMinimal: "thinkingMinimal", ThinkingLow: "thinkingLow", ThinkingMedium: "thinkingMedium",
	ThinkingHigh: "thinkingHigh", ThinkingXhigh: "thinkingXhigh", BashMode: "bashMode", PythonMode: "pythonMode",
	StatusLineSep: "statusLineSep", StatusLineModel: "statusLineModel", StatusLinePath: "statusLinePath",
	StatusLineGitClean: "statusLineGitClean", StatusLineGitDirty: "statusLineGitDirty", StatusLineContext: "statusLineContext",
	StatusLineSpend: "statusLineSpend", StatusLineStaged: "statusLineStaged", StatusLineDirty: "statusLineDirty",
	StatusLineUntracked: "statusLineUntracked", StatusLineOutput: "statusLineOutput", StatusLineCost: "statusLineCost",
	StatusLineSubagents: "statusLineSubagents",
}

// String is the token's name in theme files.
func (t Token) String() string {
	if t >= tokenCount {
		return ""
	}
	return tokenNames[t]
}

// Background reports whether the token colours what is behind the text.
func (t Token) Background() bool { return t >= SelectedBg && t <= StatusLineBg }

// Tokens gives all tokens of theme files, in their order.
func Tokens() []Token {
	all := make([]Token, Count)
	for i := range all {
		all[i] = Token(i + 1)
	}
	return all
}

// standIn is the token whose colour stands in for one that pi's own themes do not
// have: they know neither the segments of the status line nor a Python mode. Plain
// says that the token must be in the file.
func (t Token) standIn() Token {
	switch t {
	case PythonMode:
		return Warning
	case StatusLineBg:
		return ToolPendingBg
	case StatusLineSep:
		return BorderMuted
	case StatusLineModel, StatusLineSubagents:
		return Accent
	case StatusLinePath, StatusLineOutput:
		return Text
	case StatusLineGitClean, StatusLineStaged:
		return Success
	case StatusLineGitDirty, StatusLineDirty:
		return Warning
	case StatusLineUntracked:
		return Error
	case StatusLineContext, StatusLineSpend, StatusLineCost:
		return Muted
	}
	return Plain
}
