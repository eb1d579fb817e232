package key

// An Action is something a key can do, under the id that keybindings.json uses.
type Action string

// A Context is where keys are pressed. The same key may mean something else in
// each.
type Context string

const (
	// App holds what works wherever the editor has the keys.
	App Context = "app"
	// Editor holds the keys of the prompt; what it does not bind is looked for in App.
	Editor Context = "editor"
	// Select holds the keys of lists: selectors, completions, the tree.
	Select Context = "select"
	// Tree holds what the session tree adds to Select.
	Tree Context = "tree"
)

// The actions of the program, by what they do. Ids and defaults are those of the
// pi family's keybindings.json, so that its files keep working; ids without a
// counterpart there follow the same pattern.
const (
	Interrupt      Action = "app.interrupt"
	Clear          Action = "app.clear"
	Exit           Action = "app.exit"
	Suspend        Action = "app.suspend"
	CycleModel     Action = "app.model.cycleForward"
	CycleModelBack Action = "app.model.cycleBackward"
	TemporaryModel Action = "app.model.selectTemporary"
	SelectModel    Action = "app.model.select"
	TogglePlan     Action = "app.plan.toggle"
	CycleMode      Action = "app.mode.cycle"
	SearchHistory  Action = "app.history.search"
	ExpandTools    Action = "app.tools.expand"
	ToggleThinking Action = "app.thinking.toggle"
	CycleThinking  Action = "app.thinking.cycle"
	ExternalEditor Action = "app.editor.external"
	FollowUp       Action = "app.message.followUp"
	Dequeue        Action = "app.message.dequeue"
	CopyLine       Action = "app.clipboard.copyLine"
	CopyPrompt     Action = "app.clipboard.copyPrompt"
	PasteImage     Action = "app.clipboard.pasteImage"
	OpenTranscript Action = "app.transcript.open"
	OpenTree       Action = "app.session.tree"
	NewSession     Action = "app.session.new"
	ForkSession    Action = "app.session.fork"
	ResumeSession  Action = "app.session.resume"

	CursorUp           Action = "tui.editor.cursorUp"
	CursorDown         Action = "tui.editor.cursorDown"
	CursorLeft         Action = "tui.editor.cursorLeft"
	CursorRight        Action = "tui.editor.cursorRight"
	CursorWordLeft     Action = "tui.editor.cursorWordLeft"
	CursorWordRight    Action = "tui.editor.cursorWordRight"
	CursorLineStart    Action = "tui.editor.cursorLineStart"
	CursorLineEnd      Action = "tui.editor.cursorLineEnd"
	CursorTextStart    Action = "tui.editor.cursorTextStart"
	CursorTextEnd      Action = "tui.editor.cursorTextEnd"
	EditorPageUp       Action = "tui.editor.pageUp"
	EditorPageDown     Action = "tui.editor.pageDown"
	DeleteBackward     Action = "tui.editor.deleteCharBackward"
	DeleteForward      Action = "tui.editor.deleteCharForward"
	DeleteWordBackward Action = "tui.editor.deleteWordBackward"
	DeleteWordForward  Action = "tui.editor.deleteWordForward"
	DeleteToLineStart  Action = "tui.editor.deleteToLineStart"
	DeleteToLineEnd    Action = "tui.editor.deleteToLineEnd"
	Yank               Action = "tui.editor.yank"
	YankPop            Action = "tui.editor.yankPop"
	Undo               Action = "tui.editor.undo"
	Redo               Action = "tui.editor.redo"
	NewLine            Action = "tui.input.newLine"
	Submit             Action = "tui.input.submit"
	Complete           Action = "tui.input.tab"

	SelectUp       Action = "tui.select.up"
	SelectDown     Action = "tui.select.down"
	SelectPageUp   Action = "tui.select.pageUp"
	SelectPageDown Action = "tui.select.pageDown"
	SelectConfirm  Action = "tui.select.confirm"
	SelectCancel   Action = "tui.select.cancel"

	TreeLabel      Action = "app.tree.editLabel"
	TreeFilterNext Action = "app.tree.filter.cycleForward"
	TreeFilterPrev Action = "app.tree.filter.cycleBackward"
	TreeDefault    Action = "app.tree.filter.default"
	TreeNoTools    Action = "app.tree.filter.noTools"
	TreeUserOnly   Action = "app.tree.filter.userOnly"
	TreeLabeled    Action = "app.tree.filter.labeledOnly"
	TreeAll        Action = "app.tree.filter.all"
)

// A Binding is an action, where it works, the keys that do it and a few words
// for people. Keys may be in any form [Parse] reads.
type Binding struct {
	Action  Action
	Context Context
	Keys    []Key
	Help    string
}

// defaults are the bindings of the program. Ctrl+D stands twice on purpose: in
// an empty editor there is nothing to delete, and the program's meaning counts.
var defaults = []Binding{
	{Interrupt, App, []Key{"esc"}, "stop what runs; twice, at rest: the tree"},
	{Clear, App, []Key{"ctrl+c"}, "clear the prompt, or stop what runs; twice: quit"},
	{Exit, App, []Key{"ctrl+d"}, "quit, when the prompt is empty"},
	{Suspend, App, []Key{"ctrl+z"}, "suspend to the shell"},
	{CycleModel, App, []Key{"ctrl+p"}, "next model"},
	{CycleModelBack, App, []Key{"ctrl+shift+p"}, "previous model"},
	{TemporaryModel, App, []Key{"alt+p"}, "choose a model for this session"},
	{SelectModel, App, []Key{"ctrl+l"}, "choose models and their roles"},
	{TogglePlan, App, []Key{"alt+shift+p"}, "plan mode on or off"},
	{SearchHistory, App, []Key{"ctrl+r"}, "search earlier prompts"},
	{ExpandTools, App, []Key{"ctrl+o"}, "show all or little of tools' output"},
	{ToggleThinking, App, []Key{"ctrl+t"}, "show or hide thinking"},
	{CycleThinking, App, []Key{"shift+tab"}, "next thinking level"},
	{ExternalEditor, App, []Key{"ctrl+g"}, "edit the prompt in $VISUAL or $EDITOR"},
	{FollowUp, App, []Key{"ctrl+enter", "alt+q"}, "send when the current work is done"},
	{Dequeue, App, []Key{"alt+up"}, "move queued messages back into the prompt"},
	{CopyLine, App, []Key{"alt+shift+l"}, "copy the current line"},
	{CopyPrompt, App, []Key{"alt+shift+c"}, "copy the whole prompt"},
	{PasteImage, App, []Key{"ctrl+v"}, "paste an image"},
	{OpenTranscript, App, []Key{"alt+o"}, "search and read the conversation"},
	{OpenTree, App, nil, "the tree of this session"},
	{NewSession, App, nil, "a new session"},
	{ForkSession, App, nil, "a copy of this session"},
	{ResumeSession, App, nil, "another session"},
	{CycleMode, App, nil, "next approval mode: ask, auto-edit, plan"},

	{CursorUp, Editor, []Key{"up"}, "up; from the first row, earlier prompts"},
	{CursorDown, Editor, []Key{"down"}, "down; from the last row, later prompts"},
	{CursorLeft, Editor, []Key{"left", "ctrl+b"}, "left"},
	{CursorRight, Editor, []Key{"right", "ctrl+f"}, "right"},
	{CursorWordLeft, Editor, []Key{"alt+left", "ctrl+left", "alt+b"}, "one word left"},
	{CursorWordRight, Editor, []Key{"alt+right", "ctrl+right", "alt+f"}, "one word right"},
	{CursorLineStart, Editor, []Key{"home", "ctrl+a"}, "start of the line"},
	{CursorLineEnd, Editor, []Key{"end", "ctrl+e"}, "end of the line"},
	{CursorTextStart, Editor, []Key{"ctrl+home", "alt+<"}, "start of the prompt"},
	{CursorTextEnd, Editor, []Key{"ctrl+end", "alt+>"}, "end of the prompt"},
	{EditorPageUp, Editor, []Key{"pageup"}, "one page up"},
	{EditorPageDown, Editor, []Key{"pagedown"}, "one page down"},
	{DeleteBackward, Editor, []Key{"backspace", "ctrl+h", "shift+backspace"}, "delete the character before"},
	{DeleteForward, Editor, []Key{"delete", "ctrl+d", "shift+delete"}, "delete the character after"},
	{DeleteWordBackward, Editor, []Key{"ctrl+w", "alt+backspace", "ctrl+backspace"}, "delete the word before"},
	{DeleteWordForward, Editor, []Key{"alt+d", "alt+delete", "ctrl+delete"}, "delete the word after"},
	{DeleteToLineStart, Editor, []Key{"ctrl+u"}, "delete to the start of the line"},
	{DeleteToLineEnd, Editor, []Key{"ctrl+k"}, "delete to the end of the line"},
	{Yank, Editor, []Key{"ctrl+y"}, "insert the last deleted text"},
	{YankPop, Editor, []Key{"alt+y"}, "insert an earlier deleted text instead"},
	{Undo, Editor, []Key{"ctrl+-", "ctrl+_"}, "undo"},
	{Redo, Editor, []Key{"alt+-", "alt+_", "ctrl+shift+z"}, "redo"},
	{NewLine, Editor, []Key{"shift+enter", "alt+enter", "ctrl+j"}, "new line"},
	{Submit, Editor, []Key{"enter"}, "send"},
	{Complete, Editor, []Key{"tab"}, "complete"},

	{SelectUp, Select, []Key{"up"}, "up"},
	{SelectDown, Select, []Key{"down"}, "down"},
	{SelectPageUp, Select, []Key{"pageup"}, "one page up"},
	{SelectPageDown, Select, []Key{"pagedown"}, "one page down"},
	{SelectConfirm, Select, []Key{"enter"}, "choose"},
	{SelectCancel, Select, []Key{"esc", "ctrl+c"}, "close"},

	{TreeLabel, Tree, []Key{"shift+l"}, "name this point"},
	{TreeFilterNext, Tree, []Key{"ctrl+o"}, "next filter"},
	{TreeFilterPrev, Tree, []Key{"ctrl+shift+o"}, "previous filter"},
	{TreeDefault, Tree, []Key{"alt+d"}, "show the conversation"},
	{TreeNoTools, Tree, []Key{"alt+t"}, "hide results of tools"},
	{TreeUserOnly, Tree, []Key{"alt+u"}, "show prompts only"},
	{TreeLabeled, Tree, []Key{"alt+l"}, "show named points only"},
	{TreeAll, Tree, []Key{"alt+a"}, "show everything"},
}

// legacy are unqualified ids that older files use.
var legacy = map[string]Action{
	"interrupt": Interrupt, "clear": Clear, "exit": Exit, "suspend": Suspend,
	"cycleThinkingLevel": CycleThinking, "toggleThinking": ToggleThinking,
	"cycleModelForward": CycleModel, "cycleModelBackward": CycleModelBack,
	"selectModel": SelectModel, "selectModelTemporary": TemporaryModel,
	"togglePlanMode": TogglePlan, "historySearch": SearchHistory, "expandTools": ExpandTools,
	"externalEditor": ExternalEditor, "followUp": FollowUp, "dequeue": Dequeue,
	"copyLine": CopyLine, "copyPrompt": CopyPrompt, "pasteImage": PasteImage,
	"newSession": NewSession, "tree": OpenTree, "fork": ForkSession, "resume": ResumeSession,
	"cursorUp": CursorUp, "cursorDown": CursorDown, "cursorLeft": CursorLeft, "cursorRight": CursorRight,
	"cursorWordLeft": CursorWordLeft, "cursorWordRight": CursorWordRight,
	"cursorLineStart": CursorLineStart, "cursorLineEnd": CursorLineEnd,
	"pageUp": EditorPageUp, "pageDown": EditorPageDown,
	"deleteCharBackward": DeleteBackward, "deleteCharForward": DeleteForward,
	"deleteWordBackward": DeleteWordBackward, "deleteWordForward": DeleteWordForward,
	"deleteToLineStart": DeleteToLineStart, "deleteToLineEnd": DeleteToLineEnd,
	"yank": Yank, "yankPop": YankPop, "undo": Undo,
	"newLine": NewLine, "submit": Submit, "tab": Complete,
	"selectUp": SelectUp, "selectDown": SelectDown, "selectPageUp": SelectPageUp,
	"selectPageDown": SelectPageDown, "selectConfirm": SelectConfirm, "selectCancel": SelectCancel,
}

// elsewhere are actions of the family that burin has nothing for. A file that names them
// is not wrong: they are passed over.
var elsewhere = map[string]bool{"app.stt.toggle": true, "toggleSTT": true}
