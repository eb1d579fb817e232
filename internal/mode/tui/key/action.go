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
	AgentHub       Action = "app.agents.hub"
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

	// Of [Bindings.Help]: the keys that it has of its own accord, and where a person's file
	// gives it others; "" is nowhere.
	Default []Key
	File    string
	Line    int
}

// defaults are the bindings of the program. Ctrl+D stands twice on purpose: in
// an empty editor there is nothing to delete, and the program's meaning counts.
var defaults = []Binding{
	{Action: Interrupt, Context: App, Keys: []Key{"esc"}, Help: "stop what runs; twice, at rest: the tree"},
	{Action: Clear, Context: App, Keys: []Key{"ctrl+c"}, Help: "clear the prompt, or stop what runs; twice: quit"},
	{Action: Exit, Context: App, Keys: []Key{"ctrl+d"}, Help: "quit, when the prompt is empty"},
	{Action: Suspend, Context: App, Keys: []Key{"ctrl+z"}, Help: "suspend to the shell"},
	{Action: CycleModel, Context: App, Keys: []Key{"ctrl+p"}, Help: "next model"},
	{Action: CycleModelBack, Context: App, Keys: []Key{"ctrl+shift+p"}, Help: "previous model"},
	{Action: TemporaryModel, Context: App, Keys: []Key{"alt+p"}, Help: "choose a model for this session"},
	{Action: SelectModel, Context: App, Keys: []Key{"ctrl+l"}, Help: "choose models and their roles"},
	{Action: TogglePlan, Context: App, Keys: []Key{"alt+shift+p"}, Help: "plan mode on or off"},
	{Action: SearchHistory, Context: App, Keys: []Key{"ctrl+r"}, Help: "search earlier prompts"},
	{Action: ExpandTools, Context: App, Keys: []Key{"ctrl+o"}, Help: "show all or little of tools' output"},
	{Action: ToggleThinking, Context: App, Keys: []Key{"ctrl+t"}, Help: "show or hide thinking"},
	{Action: CycleThinking, Context: App, Keys: []Key{"shift+tab"}, Help: "next thinking level"},
	{Action: ExternalEditor, Context: App, Keys: []Key{"ctrl+g"}, Help: "edit the prompt in $VISUAL or $EDITOR"},
	{Action: FollowUp, Context: App, Keys: []Key{"ctrl+enter", "alt+q"}, Help: "send when the current work is done"},
	{Action: Dequeue, Context: App, Keys: []Key{"alt+up"}, Help: "move queued messages back into the prompt"},
	{Action: CopyLine, Context: App, Keys: []Key{"alt+shift+l"}, Help: "copy the current line"},
	{Action: CopyPrompt, Context: App, Keys: []Key{"alt+shift+c"}, Help: "copy the whole prompt"},
	{Action: PasteImage, Context: App, Keys: []Key{"ctrl+v"}, Help: "paste an image"},
	{Action: OpenTranscript, Context: App, Keys: []Key{"alt+o"}, Help: "search and read the conversation"},
	{Action: AgentHub, Context: App, Keys: []Key{"alt+a"}, Help: "watch sub-agents, talk to them, stop them"},
	{Action: OpenTree, Context: App, Help: "the tree of this session"},
	{Action: NewSession, Context: App, Help: "a new session"},
	{Action: ForkSession, Context: App, Help: "a copy of this session"},
	{Action: ResumeSession, Context: App, Help: "another session"},
	{Action: CycleMode, Context: App, Help: "next approval mode: ask, auto-edit, plan"},

	{Action: CursorUp, Context: Editor, Keys: []Key{"up"}, Help: "up; from the first row, earlier prompts"},
	{Action: CursorDown, Context: Editor, Keys: []Key{"down"}, Help: "down; from the last row, later prompts"},
	{Action: CursorLeft, Context: Editor, Keys: []Key{"left", "ctrl+b"}, Help: "left"},
	{Action: CursorRight, Context: Editor, Keys: []Key{"right", "ctrl+f"}, Help: "right"},
	{Action: CursorWordLeft, Context: Editor, Keys: []Key{"alt+left", "ctrl+left", "alt+b"}, Help: "one word left"},
	{Action: CursorWordRight, Context: Editor, Keys: []Key{"alt+right", "ctrl+right", "alt+f"}, Help: "one word right"},
	{Action: CursorLineStart, Context: Editor, Keys: []Key{"home", "ctrl+a"}, Help: "start of the line"},
	{Action: CursorLineEnd, Context: Editor, Keys: []Key{"end", "ctrl+e"}, Help: "end of the line"},
	{Action: CursorTextStart, Context: Editor, Keys: []Key{"ctrl+home", "alt+<"}, Help: "start of the prompt"},
	{Action: CursorTextEnd, Context: Editor, Keys: []Key{"ctrl+end", "alt+>"}, Help: "end of the prompt"},
	{Action: EditorPageUp, Context: Editor, Keys: []Key{"pageup"}, Help: "one page up"},
	{Action: EditorPageDown, Context: Editor, Keys: []Key{"pagedown"}, Help: "one page down"},
	{Action: DeleteBackward, Context: Editor, Keys: []Key{"backspace", "ctrl+h", "shift+backspace"}, Help: "delete the character before"},
	{Action: DeleteForward, Context: Editor, Keys: []Key{"delete", "ctrl+d", "shift+delete"}, Help: "delete the character after"},
	{Action: DeleteWordBackward, Context: Editor, Keys: []Key{"ctrl+w", "alt+backspace", "ctrl+backspace"}, Help: "delete the word before"},
	{Action: DeleteWordForward, Context: Editor, Keys: []Key{"alt+d", "alt+delete", "ctrl+delete"}, Help: "delete the word after"},
	{Action: DeleteToLineStart, Context: Editor, Keys: []Key{"ctrl+u"}, Help: "delete to the start of the line"},
	{Action: DeleteToLineEnd, Context: Editor, Keys: []Key{"ctrl+k"}, Help: "delete to the end of the line"},
	{Action: Yank, Context: Editor, Keys: []Key{"ctrl+y"}, Help: "insert the last deleted text"},
	{Action: YankPop, Context: Editor, Keys: []Key{"alt+y"}, Help: "insert an earlier deleted text instead"},
	{Action: Undo, Context: Editor, Keys: []Key{"ctrl+-", "ctrl+_"}, Help: "undo"},
	{Action: Redo, Context: Editor, Keys: []Key{"alt+-", "alt+_", "ctrl+shift+z"}, Help: "redo"},
	{Action: NewLine, Context: Editor, Keys: []Key{"shift+enter", "alt+enter", "ctrl+j"}, Help: "new line"},
	{Action: Submit, Context: Editor, Keys: []Key{"enter"}, Help: "send"},
	{Action: Complete, Context: Editor, Keys: []Key{"tab"}, Help: "complete"},

	{Action: SelectUp, Context: Select, Keys: []Key{"up"}, Help: "up"},
	{Action: SelectDown, Context: Select, Keys: []Key{"down"}, Help: "down"},
	{Action: SelectPageUp, Context: Select, Keys: []Key{"pageup"}, Help: "one page up"},
	{Action: SelectPageDown, Context: Select, Keys: []Key{"pagedown"}, Help: "one page down"},
	{Action: SelectConfirm, Context: Select, Keys: []Key{"enter"}, Help: "choose"},
	{Action: SelectCancel, Context: Select, Keys: []Key{"esc", "ctrl+c"}, Help: "close"},

	{Action: TreeLabel, Context: Tree, Keys: []Key{"shift+l"}, Help: "name this point"},
	{Action: TreeFilterNext, Context: Tree, Keys: []Key{"ctrl+o"}, Help: "next filter"},
	{Action: TreeFilterPrev, Context: Tree, Keys: []Key{"ctrl+shift+o"}, Help: "previous filter"},
	{Action: TreeDefault, Context: Tree, Keys: []Key{"alt+d"}, Help: "show the conversation"},
	{Action: TreeNoTools, Context: Tree, Keys: []Key{"alt+t"}, Help: "hide results of tools"},
	{Action: TreeUserOnly, Context: Tree, Keys: []Key{"alt+u"}, Help: "show prompts only"},
	{Action: TreeLabeled, Context: Tree, Keys: []Key{"alt+l"}, Help: "show named points only"},
	{Action: TreeAll, Context: Tree, Keys: []Key{"alt+a"}, Help: "show everything"},
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
