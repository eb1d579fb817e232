package highlight

import "strings"

// language is what the lexer knows of one.
type language struct {
	line       []string  // what begins a comment to the line's end
	block      [2]string // a comment over lines
	long       []string  // quotes of strings over lines
	quotes     string    // quotes of strings in a line
	escapes    bool      // a backslash takes the next character along
	ticks      bool      // 'a may be a lifetime
	keywords   map[string]bool
	types      map[string]bool
	anyCase    bool   // keywords are written in any case
	capitals   bool   // what begins with a capital is a type
	keys       bool   // a name before a colon is a property
	bang       bool   // name!( is a call
	dollar     bool   // $name is a variable
	markup     bool   // text with tags
	css        bool   // # begins a colour
	inWords    string // what words hold beside letters, digits and _
	startWords string // what words may begin with, too
	byLine     func(string) Kind
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// languageOf is the language of a name or extension, nil if there is none.
func languageOf(name string) *language {
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	make, ok := languages[name]
	if !ok {
		return nil
	}
	return make()
}

var aliases = map[string]string{
	"golang": "go", "rs": "rust", "py": "python", "python3": "python", "js": "ts", "javascript": "ts", "jsx": "ts", "tsx": "ts",
	"typescript": "ts", "mjs": "ts", "cjs": "ts", "mts": "ts", "java": "c", "kotlin": "c", "cs": "c", "csharp": "c", "swift": "c",
	"jsonc": "json", "json5": "json", "jsonl": "json", "yml": "yaml", "toml": "yaml", "ini": "yaml",
	"sh": "bash", "shell": "bash", "zsh": "bash", "console": "bash", "dockerfile": "bash", "makefile": "bash",
	"htm": "html", "xml": "html", "svg": "html", "vue": "html", "svelte": "html", "scss": "css", "less": "css",
	"postgresql": "sql", "mysql": "sql", "sqlite": "sql", "plsql": "sql",
	"h": "c", "cpp": "c", "c++": "c", "cc": "c", "hpp": "c", "cxx": "c", "patch": "diff", "udiff": "diff",
}

// languages make their rows when they are asked for: no run needs them all.
var languages = map[string]func() *language{
	"go": func() *language {
		return &language{
			line: []string{"//"}, block: [2]string{"/*", "*/"}, long: []string{"`"}, quotes: `"'`, escapes: true,
			keywords: set("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var true false nil iota"),
			types:    set("any bool byte comparable complex128 complex64 error float32 float64 int int16 int32 int64 int8 rune string uint uint16 uint32 uint64 uint8 uintptr"),
		}
	},
	"rust": func() *language {
		return &language{
			line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`, escapes: true, ticks: true, bang: true, capitals: true,
			keywords: set("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"),
			types:    set("bool char f32 f64 i128 i16 i32 i64 i8 isize str u128 u16 u32 u64 u8 usize"),
		}
	},
	"python": func() *language {
		return &language{
			line: []string{"#"}, long: []string{`"""`, "'''"}, quotes: `"'`, escapes: true, capitals: true, startWords: "@",
			keywords: set("and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case True False None self"),
			types:    set("int str float bool list dict tuple set bytes object type"),
		}
	},
	"ts": func() *language {
		return &language{
			line: []string{"//"}, block: [2]string{"/*", "*/"}, long: []string{"`"}, quotes: `"'`, escapes: true, capitals: true, inWords: "$", startWords: "$",
			keywords: set("as async await break case catch class const continue debugger default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null of private protected public readonly return satisfies set static super switch this throw true try type typeof undefined var void while with yield"),
			types:    set("any bigint boolean never number object string symbol unknown"),
		}
	},
	"json": func() *language {
		return &language{line: []string{"//"}, quotes: `"`, escapes: true, keys: true, keywords: set("true false null")}
	},
	"yaml": func() *language {
		return &language{line: []string{"#"}, quotes: `"'`, escapes: true, keys: true, inWords: "-./", keywords: set("true false null yes no on off")}
	},
	"bash": func() *language {
		return &language{
			line: []string{"#"}, quotes: `"'`, escapes: true, dollar: true, inWords: "-",
			keywords: set("if then else elif fi for while until do done case esac in function return local export readonly declare set unset shift exit break continue source alias eval exec trap cd echo printf test sudo FROM RUN COPY ENV CMD ENTRYPOINT WORKDIR ARG EXPOSE"),
		}
	},
	"html": func() *language {
		return &language{markup: true, block: [2]string{"<!--", "-->"}, quotes: `"'`, inWords: "-:@"}
	},
	"css": func() *language {
		return &language{
			block: [2]string{"/*", "*/"}, quotes: `"'`, escapes: true, keys: true, css: true, inWords: "-", startWords: "-@.",
			keywords: set("@media @import @keyframes @supports @font-face important inherit initial unset none auto"),
		}
	},
	"sql": func() *language {
		return &language{
			line: []string{"--"}, block: [2]string{"/*", "*/"}, quotes: `'"`, anyCase: true,
			keywords: set("add all alter and as asc begin between by cascade case check column commit constraint create cross default delete desc distinct drop else end exists explain foreign from full group having if in index inner insert intersect into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then transaction trigger union unique update using values view when where with"),
			types:    set("bigint blob boolean bytea char date decimal double float int integer json jsonb numeric real serial smallint text time timestamp timestamptz uuid varchar"),
		}
	},
	"c": func() *language {
		return &language{
			line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`, escapes: true, startWords: "#",
			keywords: set("abstract alignas auto break case catch class const constexpr continue default delete do else enum explicit extends extern final finally for friend fun goto if implements import in inline interface internal is let namespace new noexcept nullptr null operator override package private protected public register return sealed sizeof static static_assert struct super switch template this throw throws true false try typedef typename union using val var virtual void volatile when while #include #define #if #ifdef #ifndef #endif #else #pragma func guard NULL"),
			types:    set("bool boolean byte char double float int int16_t int32_t int64_t int8_t long short signed size_t ssize_t string String uint16_t uint32_t uint64_t uint8_t unsigned wchar_t Int Bool Double"),
		}
	},
	"diff": func() *language { return &language{byLine: diffLine} },
}

func diffLine(line string) Kind {
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "):
		return Heading
	case strings.HasPrefix(line, "+"):
		return Added
	case strings.HasPrefix(line, "-"):
		return Removed
	}
	return Plain
}
