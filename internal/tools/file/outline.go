package file

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// Limits of outlines.
const (
	minDeclarations = 5       // of fewer the file's beginning is shown instead
	maxDeclarations = 400     // of more the inner ones are left out first
	maxDeclaration  = 160     // bytes of a line
	maxOutlined     = 2 << 20 // bytes of a file; a larger one was hardly written by hand
	maxOutlineLines = 20_000
)

// language says which lines of a source file declare something.
type language struct {
	name    string
	declare *regexp.Regexp
	except  *regexp.Regexp // lines that only look like it; nil: none
}

// languages are the languages that are outlined, by the end of the file's name.
// The patterns look at single lines: they shall find what a reader wants to jump
// to, and may miss a declaration that is written over several lines.
var languages = sync.OnceValue(func() map[string]language {
	all := map[string]language{}
	for _, l := range []struct{ name, ends, declare, except string }{
		{"Go", ".go", `^(func|type|var|const)\b`, ""},
		{"Python", ".py .pyi", `^\s*(async\s+def|def|class)\s+\w`, ""},
		{
			"JavaScript/TypeScript", ".js .jsx .mjs .cjs .ts .tsx .mts .cts",
			`^\s*((export|default|declare|abstract|async)\s+)*(function\b|class\s|interface\s|enum\s|namespace\s)` +
				`|^(export\s+)?(default\s+)?(const|let|var|type)\s+[\w$]` +
				`|^\s+((public|private|protected|static|async|get|set|override)\s+)*[\w$#]+\([^;]*\)\s*(:[^;={]+)?\{\s*$`,
			`^\s*(if|for|while|switch|catch|with|return|function)\b\s*\(`,
		},
		{"Rust", ".rs", `^\s*(pub(\([^)]*\))?\s+)?((async|unsafe|const|extern|"C")\s+)*(fn|struct|enum|trait|impl|mod|union|type|static|macro_rules!)\b|^(pub\s+)?const\s`, ""},
		{"Java", ".java", `^\s*((public|private|protected|static|final|abstract|sealed)\s+)*(class|interface|enum|record|@interface)\s+\w` +
			`|^\s*((public|private|protected|static|final|abstract|synchronized|default|native)\s+)+[\w<>\[\],.? ]*\w\s*\(`, `=`},
		{"Kotlin", ".kt .kts", `^\s*([a-z]+\s+)*(class|interface|object|fun)\s+[\w<` + "`" + `]`, ""},
		{"C#", ".cs", `^\s*((public|private|protected|internal|static|sealed|abstract|partial|readonly)\s+)*(class|interface|enum|record|struct|namespace)\s+\w` +
			`|^\s*((public|private|protected|internal|static|virtual|override|abstract|async|sealed|extern|partial)\s+)+[\w<>\[\],.? ]*\w\s*\(`, `=\s*new\b`},
		{"Swift", ".swift", `^\s*((public|private|internal|fileprivate|open|static|final|override|mutating|class|@\w+)\s+)*(func|class|struct|enum|protocol|extension|actor|typealias)\s+\w|^\s*([a-z]+\s+)*init[?(]`, ""},
		{"C/C++", ".c .h .cc .cpp .cxx .hh .hpp .hxx", `^(typedef|struct|enum|union|class|namespace|template)\b|^#define\s+\w+\(|^[A-Za-z_][\w\s*&:<>,~]*\([^;]*$`, `^(if|for|while|switch|return|else)\b`},
		{"Ruby", ".rb", `^\s*(def|class|module)\s+\S`, ""},
		{"PHP", ".php", `^\s*((abstract|final|public|private|protected|static|readonly)\s+)*(function|class|interface|trait|enum)\s+&?\w`, ""},
		{"shell", ".sh .bash .zsh", `^\s*(function\s+[\w:.-]+|[\w:.-]+\s*\(\))`, ""},
	} {
		one := language{name: l.name, declare: regexp.MustCompile(l.declare)}
		if l.except != "" {
			one.except = regexp.MustCompile(l.except)
		}
		for end := range strings.FieldsSeq(l.ends) {
			all[end] = one
		}
	}
	return all
})

// declaration is a line of an outline.
type declaration struct {
	line   int
	text   string
	indent int // in columns, a tab for four
}

// outlined is the result for a source file that is too long to be shown at once and
// of which no lines were asked for: its declarations. It is nil if there is no
// outline.
func outlined(name, text string, sel selection) *tool.Result {
	l, ok := languages()[strings.ToLower(path.Ext(name))]
	if !ok || len(sel.spans) > 0 || sel.raw || len(text) > maxOutlined || show(text, sel).next == 0 {
		return nil
	}
	lines := splitLines(text)
	if len(lines) > maxOutlineLines {
		return nil
	}
	all := l.declarations(lines)
	if len(all) < minDeclarations {
		return nil
	}
	shown := outer(all)
	var b strings.Builder
	for _, d := range shown {
		b.WriteString(strconv.Itoa(d.line) + "|" + d.text + "\n")
	}
	fmt.Fprintf(&b, "[%s has %d lines. These are its %s declarations", name, len(lines), l.name)
	if n := len(all) - len(shown); n > 0 {
		fmt.Fprintf(&b, ", without %d that are further inside or below", n)
	}
	b.WriteString("; read what you need with :N-M, or all from the start with :1.]")
	return tool.Text(b.String()).WithDetails(readDetails{
		Path: name, Kind: string(document.Text), Lines: len(shown), Total: len(lines), Truncated: true,
	})
}

func (l language) declarations(lines []string) (all []declaration) {
	for i, line := range lines {
		line = strings.TrimRight(line, " \t\r\n")
		if len(line) > maxColumns || !l.declare.MatchString(line) || l.except != nil && l.except.MatchString(line) {
			continue
		}
		rest := strings.TrimLeft(line, " \t")
		space := line[:len(line)-len(rest)]
		all = append(all, declaration{line: i + 1, text: prose.Clip(line, maxDeclaration), indent: len(space) + 3*strings.Count(space, "\t")})
	}
	return all
}

// outer leaves out inner declarations until few enough are left, and then those at
// the end.
func outer(all []declaration) []declaration {
	for len(all) > maxDeclarations {
		deepest := 0
		for _, d := range all {
			deepest = max(deepest, d.indent)
		}
		if deepest == 0 {
			return all[:maxDeclarations]
		}
		var kept []declaration
		for _, d := range all {
			if d.indent < deepest {
				kept = append(kept, d)
			}
		}
		all = kept
	}
	return all
}
