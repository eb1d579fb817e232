package key

// An Event is one thing that came from the terminal: [Press], [Paste],
// [Click], [Resize], [Focus] or [Reply].
type Event interface{ event() }

// A Press is a key that went down or repeats. Releases, locks and modifiers
// alone are not delivered.
type Press struct {
	Key Key
	// Text is what the key types: one grapheme cluster, empty for keys and
	// combinations that type nothing. It never holds control characters.
	Text string
}

// A Paste is text between the marks of bracketed paste. Line ends are "\n";
// escape sequences and control characters other than tabs and line ends are
// gone, and bytes that are no UTF-8 are U+FFFD.
type Paste struct {
	Text string
	// Dropped counts bytes beyond [MaxPaste], which were not kept. Whoever shows
	// the paste says so.
	Dropped int
}

// A Click is the left button of a mouse going down, alone, on a cell: column X of row Y,
// from 0. The terminal says where on its screen; what hands a click on to a pane counts from
// the pane's first cell ([Click.In]). Releases, drags and other buttons are not delivered,
// and the wheel is a key.
type Click struct{ X, Y int }

// In is the click as a part sees it that begins so many rows further down.
func (c Click) In(rows int) Click { return Click{X: c.X, Y: c.Y - rows} }

// A Hover is the mouse moving to a cell without a button; cells are as those of a [Click].
type Hover struct{ X, Y int }

// In is the hover as a part sees it that begins so many rows further down.
func (h Hover) In(rows int) Hover { return Hover{X: h.X, Y: h.Y - rows} }

// A Resize is the new size of the terminal in cells, as terminals report it in
// their stream. Most tell a changed size by a signal instead.
type Resize struct{ Width, Height int }

// A Focus says that the terminal got or lost the keyboard's focus.
type Focus struct{ In bool }

// A Reply answers a query to the terminal.
type Reply struct {
	Kind ReplyKind
	// Values are the numbers of the answer; what they are depends on Kind.
	Values []int
	// Text is the answer's text; for [ReplyOther] it is the whole sequence, its
	// control characters included: it is not for showing.
	Text string
}

// ReplyKind says which query a [Reply] answers.
type ReplyKind string

const (
	ReplyKeyboard   ReplyKind = "keyboard"   // Values: the flags of the kitty keyboard protocol in force
	ReplyModifyKeys ReplyKind = "modifykeys" // Values: xterm's modifyOtherKeys level
	ReplyDevice     ReplyKind = "device"     // Values: primary device attributes, as they came
	ReplyDevice2    ReplyKind = "device2"    // Values: secondary device attributes, as they came
	ReplyVersion    ReplyKind = "version"    // Text: name and version of the terminal (XTVERSION)
	ReplyCursor     ReplyKind = "cursor"     // Values: row and column, from 0
	ReplyMode       ReplyKind = "mode"       // Values: mode, setting (0 unknown, 1 set, 2 reset, 3 always set, 4 never set)
	ReplyColor      ReplyKind = "color"      // Values: 10 foreground, 11 background or 12 cursor; then red, green, blue in 0…255
	ReplyScheme     ReplyKind = "scheme"     // Values: 1 dark, 2 light
	ReplyPixels     ReplyKind = "pixels"     // Values: width and height of the window in pixels
	ReplyCell       ReplyKind = "cell"       // Values: width and height of a cell in pixels
	ReplyClipboard  ReplyKind = "clipboard"  // Text: the clipboard's text
	ReplyGraphics   ReplyKind = "graphics"   // Values: image id; Text: "OK" or an error (kitty graphics)
	ReplyCapability ReplyKind = "capability" // Text: name=value (XTGETTCAP)
	ReplyOther      ReplyKind = "other"      // a sequence this package does not know
)

func (Press) event()  {}
func (Paste) event()  {}
func (Click) event()  {}
func (Hover) event()  {}
func (Resize) event() {}
func (Focus) event()  {}
func (Reply) event()  {}
