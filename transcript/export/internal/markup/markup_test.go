package markup

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/burin-dev/burin/internal/pacetest"
)

const anchor = `<a rel="noopener noreferrer nofollow" target="_blank" href="`

func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"paragraphs", "one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"},
		{"headings", "# a\n###### b ##\n#c", "<h3>a</h3><h6>b</h6><p>#c</p>"},
		{"setext", "a\n===\nb\n---\n", "<h3>a</h3><h4>b</h4>"},
		{"emphasis", "*a* **b** ***c*** _d_ ~~e~~ a_b_c 2*3*4", "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <em>d</em> <s>e</s> a_b_c 2<em>3</em>4</p>"},
		{"open emphasis", "**a", "<p>**a</p>"},
		{"code", "a `b*c*` ``d`e`` `f", "<p>a <code>b*c*</code> <code>d`e</code> `f</p>"},
		{"fence", "```go\nfunc <T>\n\n  x\n```\nz", "<pre><code data-lang=\"go\">func &lt;T&gt;\n\n  x\n</code></pre><p>z</p>"},
		{"fence without end", "~~~\na", "<pre><code>a\n</code></pre>"},
		{"fence with a bad language", "```\"><script>\na\n```", "<pre><code>a\n</code></pre>"},
		{"diff", "```diff\n-a\n+b\n c\n```", "<pre><code data-lang=\"diff\"><del>-a\n</del><ins>+b\n</ins> c\n</code></pre>"},
		{"indented", "    a\n\n      b\n", "<pre><code>a\n\n  b\n</code></pre>"},
		{"list", "- a\n- b\n  - c\n- d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"},
		{"list with tab", "-\tabc\n-\td", "<ul><li>abc</li><li>d</li></ul>"},
		{"loose list", "1. a\n\n2. b", "<ol><li><p>a</p></li><li><p>b</p></li></ol>"},
		{"ordered from", "3) a\n4) b", "<ol start=\"3\"><li>a</li><li>b</li></ol>"},
		{"list with code", "1. a\n   ```\n   x\n\n   y\n   ```\n2. b", "<ol><li>a<pre><code>x\n\ny\n</code></pre></li><li>b</li></ol>"},
		{"nested by two", "1. a\n  - b", "<ol><li>a<ul><li>b</li></ul></li></ol>"},
		{"tasks", "- [ ] a\n- [x] b", `<ul><li class="task"><input type="checkbox" disabled> a</li><li class="task"><input type="checkbox" disabled checked> b</li></ul>`},
		{"quote", "> a\nb\n> - c\n\nd", "<blockquote><p>a\nb</p><ul><li>c</li></ul></blockquote><p>d</p>"},
		{"rule", "a\n\n***\nb", "<p>a</p><hr><p>b</p>"},
		{"table", "|a|b|\n|:-:|--:|\n|1|`x\\|y`|\n|2|", `<div class="wide" tabindex="0"><table><thead><tr><th class="mid">a</th><th class="end">b</th></tr></thead><tbody><tr><td class="mid">1</td><td class="end"><code>x|y</code></td></tr><tr><td class="mid">2</td></tr></tbody></table></div>`},
		{"table after text", "see\na|b\n-|-\n1|2", `<p>see</p><div class="wide" tabindex="0"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table></div>`},
		{"link", "[a *b*](https://x.example/p \"t\")", "<p>" + anchor + "https://x.example/p\">a <em>b</em></a> <small class=\"to\">x.example/p</small></p>"},
		{"link that shows itself", "[https://x.example](https://x.example)", "<p>" + anchor + "https://x.example\">https://x.example</a></p>"},
		{"bare address", "see https://x.example/a_b_c?q=1&r=(2). ok", "<p>see " + anchor + "https://x.example/a_b_c?q=1&amp;r=(2)\">https://x.example/a_b_c?q=1&amp;r=(2)</a>. ok</p>"},
		{"angle", "<https://x.example> <me@x.example>", "<p>" + anchor + "https://x.example\">https://x.example</a> " + anchor + "mailto:me@x.example\">me@x.example</a></p>"},
		{"image is a link", "![p](https://x.example/t.png)", "<p>" + anchor + "https://x.example/t.png\">image: p</a> <small class=\"to\">x.example/t.png</small></p>"},
		{"badge", "[![Build](https://x.example/b.svg)](https://x.example/ci)", "<p>" + anchor + "https://x.example/ci\">Build</a> <small class=\"to\">x.example/ci</small></p>"},
		{"badge without words", "[![](https://x.example/b.svg)](https://x.example/ci)", "<p>" + anchor + "https://x.example/ci\">x.example/ci</a></p>"},
		{"badge that leads nowhere", "[![b](https://x.example/b.svg)](javascript:x)", "<p>b <small class=\"to\">javascript:x</small></p>"},
		{"link in a picture", "![a [b](https://x.example/b) c](https://x.example/p)", "<p>" + anchor + "https://x.example/p\">image: a b c</a> <small class=\"to\">x.example/p</small></p>"},
		{"defined link", "[a *b*][r] ![p][R] [r] [s]\n\n[r]: https://x.example/r 'x'\n[s]: javascript:alert(1)", "<p>" + anchor + "https://x.example/r\">a <em>b</em></a> <small class=\"to\">x.example/r</small> " + anchor + "https://x.example/r\">image: p</a> <small class=\"to\">x.example/r</small> " + anchor + "https://x.example/r\">r</a> <small class=\"to\">x.example/r</small> s <small class=\"to\">javascript:alert(1)</small></p>"},
		{"scheme hidden by entities", "[a](javascript&colon;alert(1)) [b](&#106;avascript:x) [c]\n\n[c]: <java\\script:x>", `<p>a <small class="to">javascript:alert(1)</small> b <small class="to">javascript:x</small> c <small class="to">java\script:x</small></p>`},
		{"no address between angles", "a std::vector<std::string>, <javascript:x>", "<p>a std::vector&lt;std::string&gt;, &lt;javascript:x&gt;</p>"},
		{"loose by what it holds", "- a\n\n  > b\n- c\n  - d\n\n  - e", "<ul><li><p>a</p><blockquote><p>b</p></blockquote></li><li><p>c</p><ul><li><p>d</p></li><li><p>e</p></li></ul></li></ul>"},
		{"tight around a loose list", "- a\n  - b\n\n    c\n- d", "<ul><li>a<ul><li><p>b</p><p>c</p></li></ul></li><li>d</li></ul>"},
		{"two lists", "- a\n+ b\n\n+ c", "<ul><li>a</li></ul><ul><li><p>b</p></li><li><p>c</p></li></ul>"},
		{"lazy", "> 1. > a\nb\n===", "<blockquote><ol><li><blockquote><p>a\nb\n===</p></blockquote></li></ol></blockquote>"},
		{"bad schemes", "[a](javascript:alert(1)) [b](data:text/html,x) [c](//x.example) [d](/etc)", `<p>a <small class="to">javascript:alert(1)</small> b <small class="to">data:text/html,x</small> c <small class="to">//x.example</small> d <small class="to">/etc</small></p>`},
		{"emphasis does not cross a link", "*[a*](https://x.example)", "<p>*" + anchor + "https://x.example\">a*</a> <small class=\"to\">x.example</small></p>"},
		{"user part of an address", "[bank](https://bank.example@evil.example)", "<p>" + anchor + "https://evil.example\">bank</a> <small class=\"to\">evil.example</small></p>"},
		{"look-alike host", "[a](https://аpple.example)", "<p>" + anchor + "https://xn--pple-43d.example\">a</a> <small class=\"to\">xn--pple-43d.example</small></p>"},
		{"html", "<script>x</script> <b onclick=y>", "<p>&lt;script&gt;x&lt;/script&gt; &lt;b onclick=y&gt;</p>"},
		{"br", "a<br>b `c<br>`", "<p>a<br>b <code>c&lt;br&gt;</code></p>"},
		{"formulas", "$a_b<c$ costs $5\n$$\n\\alpha\n$$", "<p><code>a_b&lt;c</code> costs $5</p><pre><code data-lang=\"latex\">\\alpha\n</code></pre>"},
		{"emphasis within emphasis", "**a *b* c** *d **e***", "<p><strong>a <em>b</em> c</strong> <em>d <strong>e</strong></em></p>"},
		{"nested lists apart", "- a\n\n  b\n- c\n  - d\n\n1. e\n1. f", "<ul><li><p>a</p><p>b</p></li><li><p>c</p><ul><li>d</li></ul></li></ul><ol><li>e</li><li>f</li></ol>"},
		{"quote in an item", "- > a\n- b", "<ul><li><blockquote><p>a</p></blockquote></li><li>b</li></ul>"},
		{"escapes", `\*a\* &lt; &bogus; \`, `<p>*a* &lt; &amp;bogus; \</p>`},
		{"hard breaks", "a  \nb\\\nc", "<p>a<br>b<br>c</p>"},
		{"reordering", "a\u202eb\u0007", `<p>a<span class="u">U+202E</span>b␇</p>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(AppendMarkdown(nil, tt.in, false))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMarkdownBreaks(t *testing.T) {
	if got, want := string(AppendMarkdown(nil, "a\nb", true)), "<p>a<br>b</p>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTerminal(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "a<b\n", "a&lt;b\n"},
		{"colors", "\x1b[1;31mred\x1b[0m x \x1b[92mg\x1b[39m", `<span class="a f1 bo">red</span> x <span class="a f10">g</span>`},
		{"not closed", "\x1b[4ma\nb", "<span class=\"a un\">a\n</span><span class=\"a un\">b</span>"},
		{"256 and 24 bit", "\x1b[38;5;196ma\x1b[48;2;0;0;255mb", `<span class="a f9">a</span><span class="a f9 g12">b</span>`},
		{"cursor and title", "\x1b[2J\x1b[1;1Ha\x1b]0;evil\x07b\x1b]8;;https://x\x1b\\c\x1b(B", "abc"},
		{"title without end", "a\x1b]0;evil\nb", "a\nb"},
		{"progress", "10%\r50%\r100%\r\nok", "100%\nok"},
		{"overstrike", "a\bab", "ab"},
		{"escape at the end", "a\x1b", "a"},
		{"other controls", "a\x00\x7f\u202e", `a␀␡<span class="u">U+202E</span>`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var term Terminal
			if diff := cmp.Diff(tt.want, string(term.Append(nil, tt.in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The style of one part goes on in the next, as when a long output is folded.
func TestTerminalCarriesStyle(t *testing.T) {
	var term Terminal
	first := string(term.Append(nil, "\x1b[31ma\n"))
	second := string(term.Append(nil, "b"))
	if want := "<span class=\"a f1\">a\n</span>|<span class=\"a f1\">b</span>"; first+"|"+second != want {
		t.Errorf("got %s|%s, want %s", first, second, want)
	}
}

func TestAttr(t *testing.T) {
	if got, want := string(AppendAttr(nil, "\"><img\n\u2066x")), "&#34;&gt;&lt;img&#10;⟨U+2066⟩x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlain(t *testing.T) {
	if got, want := Plain("a\u202e\x1b[1m\r\nb\xff"), "a⟨U+202E⟩␛[1m\nb\ufffd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Input that makes naive renderers slow takes about as long as any other.
func TestMarkdownIsLinear(t *testing.T) {
	pacetest.Costly(t)
	const n = 200_000
	for _, part := range []string{
		"*", "_a ", "[", "![", "[a](", "[[a](x:)", "](x:)", "`", "`a``", "> ", "- ", "1. ", "a|", "<", "&", "~~a", "**a*", "https://", "\\", "# ", "|-|\n", " \n- a", "[a](https://x.example)",
		"a\n", "- a\n", "- a\n  - b\n", "> a\n", "1. a\n\n", "```\n", "|a|b|\n", "a|b\n-|-\n", "[a]: b\n\n", "[a]: b\n\n[a]\n\n", "![[a](b)", "[![a](b)](c)", "[[a]]", "    a\n", "a\n-\n", "<https://x.example>", "\u202e", `\(`, `\[`, "$$", "$a", "- \n\n",
	} {
		in := strings.Repeat(part, n/len(part))
		start := time.Now()
		out := AppendMarkdown(nil, in, true)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%q repeated: %v for %d bytes", part, took, len(in))
		}
		if len(out) > 60*len(in) {
			t.Errorf("%q repeated: %d bytes became %d", part, len(in), len(out))
		}
	}
}

var allowed = map[string][]string{
	"html": nil, "head": nil, "body": nil, "p": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "hr": nil, "br": nil, "em": nil, "strong": nil, "s": nil,
	"code": {"data-lang"}, "pre": nil, "ul": nil, "ol": {"start"}, "li": {"class"}, "input": {"type", "disabled", "checked"},
	"blockquote": nil, "div": {"class", "tabindex"}, "table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": {"class"}, "td": {"class"},
	"a": {"rel", "target", "href"}, "small": {"class"}, "span": {"class"}, "ins": nil, "del": nil, "b": {"class"},
}

// checkHTML parses out as a browser would and looks for anything that is not ours.
func checkHTML(t *testing.T, out string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		attrs, ok := allowed[n.Data]
		if !ok {
			t.Fatalf("element %s in %q", n.Data, out)
		}
		for _, a := range n.Attr {
			if !strings.Contains(" "+strings.Join(attrs, " ")+" ", " "+a.Key+" ") {
				t.Fatalf("attribute %s of %s in %q", a.Key, n.Data, out)
			}
			if a.Key == "href" && !strings.HasPrefix(a.Val, "http://") && !strings.HasPrefix(a.Val, "https://") && !strings.HasPrefix(a.Val, "mailto:") {
				t.Fatalf("address %s in %q", a.Val, out)
			}
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"# a\n- [x] b\n", "|a|\n|-|\n|b|", "[a](javascript:x)", "<a@b> **_x_** `y`", "> 1. ```\n> x", "[![a](x)][b] ![[c](d)][b]\n\n[b]: javascript:x", "[a]: https://x.example/'\"<b>\n[a]", "- a\n\n  b\n- ***c** d*", "https://a.example/<b>", "\x1b]8;;x\a\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = s[:min(len(s), 4096)]
		checkHTML(t, string(AppendMarkdown(nil, s, false)))
		checkHTML(t, "<pre>"+string(new(Terminal).Append(nil, s))+"</pre>")
		checkHTML(t, "<pre>"+string(AppendDiff(nil, s))+"</pre>")
	})
}

func BenchmarkMarkdown(b *testing.B) {
	in := strings.Repeat("## Plan\n\nWe change `store.go` so that **each** write is one call, see [docs](https://x.example/a).\n\n- first\n- second `code`\n\n```go\nfunc main() { println(\"<hi>\") }\n```\n\n", 50)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = AppendMarkdown(dst[:0], in, false)
	}
}
