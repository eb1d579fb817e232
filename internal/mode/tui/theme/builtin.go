package theme

// palette is what a built-in theme is made of; roles turn it into tokens. It is
// written for a background of colour bg, on which every text has a contrast of
// 4.5 at least, as on the backgrounds the theme itself gives.
type palette struct {
	name                                                            string
	light                                                           bool
	bg, text, muted, dim, border, faint                             uint32
	accent, second, red, green, yellow, blue, cyan, magenta, orange uint32
	user, custom, pending, succeeded, failed, selected, status      uint32
}

// Names of the themes that are used where none is chosen.
const (
	DefaultDark  = "dark"
	DefaultLight = "light"
)

// Names gives the names of the built-in themes: the two defaults, then dark and
// light ones.
func Names() []string {
	names := make([]string, len(palettes))
	for i := range palettes {
		names[i] = palettes[i].name
	}
	return names
}

// Builtin gives a built-in theme.
func Builtin(name string) (*Theme, bool) {
	for i := range palettes {
		if palettes[i].name == name {
			return palettes[i].theme(), true
		}
	}
	return nil, false
}

func (p *palette) theme() *Theme {
	t := &Theme{Name: p.name, Light: p.light, Symbols: SymbolsOf(Unicode, nil)}
	for token, v := range p.roles() {
		t.colors[token] = RGB(v)
	}
	if p.name == DefaultDark || p.name == DefaultLight {
		// The defaults meet backgrounds nobody has chosen for them: their plain text
		// is the terminal's.
		for _, token := range [...]Token{Text, UserMessageText, CustomMessageText, ToolTitle} {
			t.colors[token] = Color{}
		}
	}
	t.Export = Export{PageBg: RGB(p.bg), CardBg: RGB(p.pending), InfoBg: RGB(p.custom)}
	return t
}

func (p *palette) roles() map[Token]uint32 {
	return map[Token]uint32{
		Accent: p.accent, Border: p.border, BorderAccent: p.accent, BorderMuted: p.faint,
		Success: p.green, Error: p.red, Warning: p.yellow, Muted: p.muted, Dim: p.dim, Text: p.text, ThinkingText: p.muted,
		SelectedBg: p.selected, UserMessageBg: p.user, CustomMessageBg: p.custom, ToolPendingBg: p.pending,
		ToolSuccessBg: p.succeeded, ToolErrorBg: p.failed, StatusLineBg: p.status,
		UserMessageText: p.text, CustomMessageText: p.text, CustomMessageLabel: p.second, ToolTitle: p.text, ToolOutput: p.muted,
		MdHeading: p.accent, MdLink: p.blue, MdLinkURL: p.dim, MdCode: p.second, MdCodeBlock: p.text, MdCodeBlockBorder: p.dim,
		MdQuote: p.muted, MdQuoteBorder: p.border, MdHr: p.faint, MdListBullet: p.accent,
		ToolDiffAdded: p.green, ToolDiffRemoved: p.red, ToolDiffContext: p.dim,
		SyntaxComment: p.dim, SyntaxKeyword: p.magenta, SyntaxFunction: p.blue, SyntaxVariable: p.text, SyntaxString: p.green,
		SyntaxNumber: p.orange, SyntaxType: p.cyan, SyntaxOperator: p.muted, SyntaxPunctuation: p.muted,
		ThinkingOff: p.faint, ThinkingMinimal: p.border, ThinkingLow: p.blue, ThinkingMedium: p.cyan, ThinkingHigh: p.magenta,
		ThinkingXhigh: p.red, BashMode: p.green, PythonMode: p.yellow,
		StatusLineSep: p.faint, StatusLineModel: p.accent, StatusLinePath: p.blue, StatusLineGitClean: p.green,
		StatusLineGitDirty: p.yellow, StatusLineContext: p.cyan, StatusLineSpend: p.cyan, StatusLineStaged: p.green,
		StatusLineDirty: p.yellow, StatusLineUntracked: p.red, StatusLineOutput: p.text, StatusLineCost: p.orange,
		StatusLineSubagents: p.magenta,
	}
}

var palettes = []palette{
	{
		name: "dark", light: false,
		bg: 0x1e1e1e, text: 0xdedede, muted: 0xa19f9c, dim: 0x93918e, border: 0x775e3b, faint: 0x3d3d3d,
		accent: 0xdca657, second: 0x5fbdf0, red: 0xf19390, green: 0x7cc587, yellow: 0xe3c067, blue: 0x7db6f1, cyan: 0x61c3c8, magenta: 0xcf9cda, orange: 0xe89e64,
		user: 0x2a2927, custom: 0x232a2e, pending: 0x262525, succeeded: 0x1e2a20, failed: 0x342120, selected: 0x3a3329, status: 0x232323,
	},
	{
		name: "light", light: true,
		bg: 0xffffff, text: 0x292929, muted: 0x5d5a58, dim: 0x716e6c, border: 0xb0896f, faint: 0xd1d1d1,
		accent: 0x9e5106, second: 0x2769b7, red: 0xab4043, green: 0x187e36, yellow: 0x886905, blue: 0x236cae, cyan: 0x09787d, magenta: 0x884e95, orange: 0x9b540b,
		user: 0xf6f3f1, custom: 0xeef4fc, pending: 0xf8f6f7, succeeded: 0xecfcee, failed: 0xfff1f1, selected: 0xf3e5dc, status: 0xf5f5f5,
	},
	{
		name: "anvil", light: false,
		bg: 0x14161a, text: 0xd9dee6, muted: 0x989fa9, dim: 0x838993, border: 0x7f5944, faint: 0x393d44,
		accent: 0xe0a07d, second: 0x85b6e9, red: 0xe59a97, green: 0x8ac191, yellow: 0xdcc17f, blue: 0x8ab5e3, cyan: 0x78bfc3, magenta: 0xc8a1d1, orange: 0xdda377,
		user: 0x1d2127, custom: 0x19212a, pending: 0x1a1d22, succeeded: 0x162118, failed: 0x2b1818, selected: 0x37271f, status: 0x181b1e,
	},
	{
		name: "bog", light: false,
		bg: 0x161d15, text: 0xd7e1d5, muted: 0x97a294, dim: 0x849082, border: 0x586a46, faint: 0x384036,
		accent: 0x9dbe7d, second: 0xd1ab69, red: 0xe7989c, green: 0x87c28f, yellow: 0xe0c07b, blue: 0x87b6e6, cyan: 0x74c0c4, magenta: 0xcaa0d3, orange: 0xe0a176,
		user: 0x1f281d, custom: 0x2d2414, pending: 0x1d241b, succeeded: 0x1a261c, failed: 0x301d1d, selected: 0x2a3420, status: 0x1b2119,
	},
	{
		name: "cinder", light: false,
		bg: 0x1c1412, text: 0xeadad7, muted: 0xac9996, dim: 0x968480, border: 0x82574c, faint: 0x463a38,
		accent: 0xf89177, second: 0xe1a447, red: 0xf8907c, green: 0x73c881, yellow: 0xe1c257, blue: 0x75b6f9, cyan: 0x50c5cb, magenta: 0xd298df, orange: 0xeb9d52,
		user: 0x2a1d1a, custom: 0x281f12, pending: 0x241a18, succeeded: 0x162118, failed: 0x2b1818, selected: 0x3b251f, status: 0x211816,
	},
	{
		name: "copperplate", light: false,
		bg: 0x241b14, text: 0xecdacf, muted: 0xae9a8d, dim: 0xa08d80, border: 0x7e5a42, faint: 0x483a31,
		accent: 0xe3a072, second: 0x5fc6b3, red: 0xea998b, green: 0x84c38d, yellow: 0xdbc276, blue: 0x85b6e9, cyan: 0x6fc1c5, magenta: 0xcb9fd5, orange: 0xdfa36d,
		user: 0x33241a, custom: 0x142d28, pending: 0x2d211a, succeeded: 0x1d291f, failed: 0x321f1f, selected: 0x432d1f, status: 0x291f18,
	},
	{
		name: "deepwater", light: false,
		bg: 0x0b1c2a, text: 0xd4e0eb, muted: 0x92a0ad, dim: 0x818f9c, border: 0x356d76, faint: 0x353e47,
		accent: 0x49c4d8, second: 0x6dc799, red: 0xef9491, green: 0x7fc489, yellow: 0xe2c06d, blue: 0x80b6ee, cyan: 0x66c2c7, magenta: 0xcd9dd8, orange: 0xe69f68,
		user: 0x10273a, custom: 0x0c2c1d, pending: 0x112332, succeeded: 0x1a261c, failed: 0x301d1d, selected: 0x02373f, status: 0x10212f,
	},
	{
		name: "dusk", light: false,
		bg: 0x241e2e, text: 0xe0dbea, muted: 0xa5a0b1, dim: 0x9791a2, border: 0x775774, faint: 0x3f3b46,
		accent: 0xdc95d5, second: 0xa2a8fc, red: 0xf49289, green: 0x79c685, yellow: 0xe2c162, blue: 0x7bb6f3, cyan: 0x5cc4c9, magenta: 0xd09bdc, orange: 0xe99e5e,
		user: 0x30283e, custom: 0x282a41, pending: 0x2b2536, succeeded: 0x212e24, failed: 0x382424, selected: 0x472e44, status: 0x292333,
	},
	{
		name: "ember", light: false,
		bg: 0x161010, text: 0xebd9d8, muted: 0xae9998, dim: 0x947f7f, border: 0x805846, faint: 0x473939,
		accent: 0xfe8f5b, second: 0xff898b, red: 0xfe8c7a, green: 0x66cb79, yellow: 0xe7c03a, blue: 0x72b6fb, cyan: 0x30c8cf, magenta: 0xd794e6, orange: 0xf4993c,
		user: 0x231919, custom: 0x251817, pending: 0x1e1616, succeeded: 0x111d13, failed: 0x261414, selected: 0x33221a, status: 0x1a1414,
	},
	{
		name: "fjord", light: false,
		bg: 0x19262d, text: 0xd5e0e6, muted: 0x9cabb3, dim: 0x8c9ba2, border: 0x386b7b, faint: 0x353f44,
		accent: 0x6fbed6, second: 0x6bc3bd, red: 0xe59a97, green: 0x8cc093, yellow: 0xdbc184, blue: 0x8cb5e0, cyan: 0x7cbfc2, magenta: 0xc7a2d0, orange: 0xdaa47b,
		user: 0x1f323c, custom: 0x193533, pending: 0x1f2e35, succeeded: 0x243026, failed: 0x3a2726, selected: 0x1f404a, status: 0x1e2b32,
	},
	{
		name: "graphite", light: false,
		bg: 0x1b1b1b, text: 0xdedede, muted: 0x9c9fa1, dim: 0x8b8e90, border: 0x4d667f, faint: 0x3d3d3d,
		accent: 0x9ab4d0, second: 0x9ab4d0, red: 0xe59a97, green: 0x8fc095, yellow: 0xdac288, blue: 0x9ab4d0, cyan: 0x90babc, magenta: 0xc0a7c5, orange: 0xd4a785,
		user: 0x242527, custom: 0x21262b, pending: 0x222121, succeeded: 0x1a261c, failed: 0x301d1d, selected: 0x29313a, status: 0x1f1f1f,
	},
	{
		name: "heather", light: false,
		bg: 0x251b27, text: 0xe4dae6, muted: 0xa89daa, dim: 0x9a8f9c, border: 0x6e5a7d, faint: 0x413a43,
		accent: 0xc59fe1, second: 0x56c4ca, red: 0xea9794, green: 0x84c38d, yellow: 0xdfc176, blue: 0x85b6e9, cyan: 0x6fc1c5, magenta: 0xcb9fd5, orange: 0xe1a170,
		user: 0x322535, custom: 0x103031, pending: 0x2c222f, succeeded: 0x1f2b21, failed: 0x352221, selected: 0x3c2f47, status: 0x2a202c,
	},
	{
		name: "lichen", light: false,
		bg: 0x171f1c, text: 0xd2e3dc, muted: 0x90a49c, dim: 0x80948c, border: 0x406e5b, faint: 0x33413b,
		accent: 0x6fc5a1, second: 0xb5b76a, red: 0xea9794, green: 0x84c38d, yellow: 0xdfc176, blue: 0x85b6e9, cyan: 0x6fc1c5, magenta: 0xcb9fd5, orange: 0xe1a170,
		user: 0x1f2b26, custom: 0x28291b, pending: 0x1d2623, succeeded: 0x1d291f, failed: 0x321f1f, selected: 0x23382f, status: 0x1c2421,
	},
	{
		name: "nightshift", light: false,
		bg: 0x0a0b0d, text: 0xdbdee5, muted: 0x9b9ea8, dim: 0x7d808a, border: 0x526386, faint: 0x3b3d43,
		accent: 0x8caffe, second: 0x21cac3, red: 0xfe8a88, green: 0x6dc97d, yellow: 0xeabe4a, blue: 0x6fb6fe, cyan: 0x42c6cd, magenta: 0xd496e3, orange: 0xf2994e,
		user: 0x13151a, custom: 0x0c1717, pending: 0x101115, succeeded: 0x0a160d, failed: 0x1e0d0d, selected: 0x191f2b, status: 0x0e0f12,
	},
	{
		name: "plum", light: false,
		bg: 0x24111e, text: 0xe8d9e2, muted: 0xaa99a3, dim: 0x968590, border: 0x7c556b, faint: 0x453940,
		accent: 0xeb8ec4, second: 0xed9c55, red: 0xf98f85, green: 0x73c881, yellow: 0xe5c057, blue: 0x75b6f9, cyan: 0x50c5cb, magenta: 0xd298df, orange: 0xed9c55,
		user: 0x33182b, custom: 0x351c05, pending: 0x2c1725, succeeded: 0x18241a, failed: 0x2d1b1a, selected: 0x432135, status: 0x291523,
	},
	{
		name: "signal", light: false,
		bg: 0x060606, text: 0xdedede, muted: 0x9f9e9b, dim: 0x81807d, border: 0x6e633a, faint: 0x3d3d3d,
		accent: 0xd0af09, second: 0x52cf5e, red: 0xfd8b88, green: 0x43d066, yellow: 0xf0bc1b, blue: 0x70b6fe, cyan: 0x23c8d0, magenta: 0xe08af4, orange: 0xfc9333,
		user: 0x0f0e0c, custom: 0x0b100b, pending: 0x0c0b0b, succeeded: 0x050f07, failed: 0x170707, selected: 0x1b180e, status: 0x090909,
	},
	{
		name: "almond", light: true,
		bg: 0xf8f3e8, text: 0x2d281e, muted: 0x615a4b, dim: 0x6e6758, border: 0xb28774, faint: 0xd7d0c3,
		accent: 0x98481f, second: 0x1f743b, red: 0xa34a40, green: 0x277539, yellow: 0x7d6407, blue: 0x306aa2, cyan: 0x0f7277, magenta: 0x84538f, orange: 0x995602,
		user: 0xefe7d8, custom: 0xdceddf, pending: 0xf0ebdf, succeeded: 0xe0f0e3, failed: 0xfde2e1, selected: 0xf1d6ca, status: 0xeee9df,
	},
	{
		name: "chalk", light: true,
		bg: 0xf9fafc, text: 0x25292e, muted: 0x555c63, dim: 0x656c74, border: 0x7a94b7, faint: 0xccd2d7,
		accent: 0x2863ab, second: 0x07767b, red: 0xa74546, green: 0x217a38, yellow: 0x856708, blue: 0x2b6ca9, cyan: 0x0e767b, magenta: 0x865092, orange: 0x9c5302,
		user: 0xebeff3, custom: 0xe4f2f2, pending: 0xeff2f5, succeeded: 0xe7f7e9, failed: 0xffebea, selected: 0xd9e4f2, status: 0xeff0f2,
	},
	{
		name: "glacier", light: true,
		bg: 0xedf7fa, text: 0x212b2d, muted: 0x4f5e62, dim: 0x5c6c70, border: 0x699aae, faint: 0xc7d4d7,
		accent: 0x006a87, second: 0x0e736f, red: 0xa34949, green: 0x28763a, yellow: 0x816409, blue: 0x316ba3, cyan: 0x007479, magenta: 0x84538f, orange: 0x9b540c,
		user: 0xddedf1, custom: 0xd8efed, pending: 0xe3eff3, succeeded: 0xe2f2e4, failed: 0xffe4e3, selected: 0xc9e3ee, status: 0xe3edf0,
	},
	{
		name: "inkwell", light: true,
		bg: 0xfcfcfc, text: 0x292929, muted: 0x595b5e, dim: 0x6b6c6f, border: 0x8493ab, faint: 0xd1d1d1,
		accent: 0x57657c, second: 0x5c6a80, red: 0x965351, green: 0x47764e, yellow: 0x7f6931, blue: 0x536b85, cyan: 0x497173, magenta: 0x76607b, orange: 0x875f3f,
		user: 0xeef0f3, custom: 0xebf0f8, pending: 0xf5f3f3, succeeded: 0xe8f9eb, failed: 0xfeedec, selected: 0xdde5f2, status: 0xf2f2f2,
	},
	{
		name: "meadow", light: true,
		bg: 0xf2f7ed, text: 0x262b21, muted: 0x565e4f, dim: 0x636b5c, border: 0x7f9c79, faint: 0xcdd4c6,
		accent: 0x356e28, second: 0x7a6609, red: 0xa34949, green: 0x28763a, yellow: 0x816409, blue: 0x316ba3, cyan: 0x007479, magenta: 0x84538f, orange: 0x9b540c,
		user: 0xe5edde, custom: 0xefead6, pending: 0xe9efe4, succeeded: 0xe2f2e4, failed: 0xffe4e3, selected: 0xd2e4ce, status: 0xe8ede3,
	},
	{
		name: "rosehip", light: true,
		bg: 0xfdf2f3, text: 0x322527, muted: 0x685557, dim: 0x776366, border: 0xb4838a, faint: 0xdeccce,
		accent: 0xa43a52, second: 0x94468f, red: 0xab413c, green: 0x09762f, yellow: 0x7e6406, blue: 0x2069ab, cyan: 0x0f7277, magenta: 0x884e95, orange: 0x9a5505,
		user: 0xf5e5e7, custom: 0xf3e4f1, pending: 0xf6e9eb, succeeded: 0xe2f2e4, failed: 0xffe4e3, selected: 0xf2d6d9, status: 0xf3e8e9,
	},
}
