package hypertext_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/burin-dev/burin/internal/platform/document/hypertext"
)

func parse(tb testing.TB, s string) *html.Node {
	tb.Helper()
	n, err := html.Parse(strings.NewReader(s))
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestMarkdown(t *testing.T) {
	base, err := url.Parse("https://e.org/docs/page.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, in, want string }{
		{"paragraphs", "<p>One\n two&nbsp; three</p><p>Four<br>five</p>six<div>seven</div>eight", "One two three\n\nFour\nfive\n\nsix\nseven\neight"},
		{"headings", "<h1> A <b>bold</b>\n<a href='#x'>one</a> </h1><p>x</p><h3><div>Sub</div> title</h3><h2></h2>y", "# A **bold** one\n\nx\n\n### Sub title\n\ny"},
		{"marks", "a <b> b </b>c<i>d</i>e <strong></strong><em> </em><b><b>f</b></b> <s>g</s>", "a **b** c*d*e **f** ~~g~~"},
		{"marks around lines", "<b>one<br>two<p>three</p></b>four", "**one**\n**two**\n\n**three**\n\nfour"},
		{
			"links", `<a href="/x?a=1#f">one</a>, <a href="other">two</a> <a href="#here">three</a> <a href="javascript:a()">four</a> <a>five</a> <a href="a b(c)">six</a> <a href="/e"></a>.`,
			"[one](https://e.org/x?a=1#f), [two](https://e.org/docs/other) three four five [six](https://e.org/docs/a%20b%28c%29) .",
		},
		{"a link that holds blocks", `<a href="/c"><div><h2>Card</h2><p>Some <b>text</b></p></div></a><p>after</p>`, "[Card Some **text**](https://e.org/c)\n\nafter"},
		{
			"pictures", `<img src="a.png" alt="A map"> <img src="b.png"> <img src="data:image/png;base64,AA" alt="inline"> <a href="/x"><img src="c.png" alt="logo"></a>`,
			"![A map](https://e.org/docs/a.png) ![inline] [![logo]](https://e.org/x)",
		},
		{
			"lists", "<p>x</p><ul><li>a</li><li><p>b</p><p>b2</p></li><li>c<ol start=3><li>d</li><li>e<ul><li>f</ul></li></ol></li><li></li></ul>y",
			"x\n\n- a\n- b\n\n  b2\n\n- c\n  3. d\n  4. e\n     - f\n\ny",
		},
		{
			"an item that begins with another element", "<ul><li><blockquote>q</blockquote></li><li><blockquote></blockquote>r</li><li><h3>H</h3>t</li><li><ul><li>deep</ul></ul>",
			"- > q\n\n- r\n- ### H\n\n  t\n- - deep",
		},
		{"quotes and terms", "<blockquote><p>one</p><p>two</p></blockquote><dl><dt>term<dd>meaning<dd>other</dl>", "> one\n>\n> two\n\nterm\n: meaning\n: other"},
		{
			"code", "<p>run <code>go  test `x`</code> <kbd>Ctrl</kbd></p><pre class='language-go'>\nfunc f() {\n\treturn\n\n}\n</pre><div class='highlight highlight-source-sh'><pre>ls<br>```</pre></div><pre><code class='lang-c'><span>a</span>;</code></pre><pre> </pre>",
			"run `` go test `x` `` `Ctrl`\n\n```go\nfunc f() {\n\treturn\n\n}\n```\n\n````sh\nls\n```\n````\n\n```c\na;\n```",
		},
		{"code in an item", "<ul><li>do<pre>a\nb</pre>then</ul>", "- do\n\n  ```\n  a\n  b\n  ```\n\n  then"},
		{
			"a table", "<table><caption>C</caption><thead><tr><th>h|1<th><b>h2</b></tr></thead><tr><td>a<br>b<td><ul><li>x<li>y</ul></tr><tr><td colspan=2>wide</td></tr><tr><td></td></tr></table>",
			"C\n\n| h\\|1 | **h2** |\n| --- | --- |\n| a b | x y |\n| wide |  |",
		},
		{"a table for looks", "<table><tr><td>left<table><tr><td>1<td>2</table></td><td>right</td></tr></table>", "left\n\n| 1 | 2 |\n| --- | --- |\n\nright"},
		{"what is not shown", "<script>a</script><style>b</style><noscript>c</noscript><p hidden>d</p><span aria-hidden=true>e</span><span style='DISPLAY : none'>f</span><svg><title>g</title></svg><button>h</button><!-- i -->j", "j"},
		{"characters that are not shown", "a\u200bb\U000e0041c\u202ed\u00ade\x01f", "abcdef"},
		{"powers and notes", "10<sup>3</sup> x<sup>n</sup> H<sub>2</sub>O word<sup>[1]</sup>", "10^3 x^n H2O word[1]"},
		{"formulas", `<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math> <math alttext="y"><mi>z</mi></math> <math><mi>q</mi></math>`, "$x^2$ $y$ q"},
		{"rules and signs", "a<hr>*b_c* [d] #e", "a\n\n---\n\n*b_c* [d] #e"},
		{"nothing", "<div><p> </p></div>", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := hypertext.Markdown(t.Context(), parse(t, tt.in), hypertext.Options{Base: base})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, strings.TrimSuffix(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, got)
			}
		})
	}
	got, err := hypertext.Markdown(t.Context(), parse(t, `<a href="c2.html">next</a> <img src=x alt=y>`), hypertext.Options{})
	if err != nil || got != "next ![y]\n" {
		t.Errorf("without a base: %q, %v", got, err)
	}
}

// Pages that were made to do harm take time and give text in proportion.
func TestMarkdownIsBounded(t *testing.T) {
	const n = 1 << 17
	base := &url.URL{Scheme: "https", Host: "e.org", Path: "/" + strings.Repeat("long/", 300)}
	for name, s := range map[string]string{
		"items in deep lists": strings.Repeat("<ul><li>x", 200) + strings.Repeat("<li>y", n/5),
		"columns":             "<table><tr>" + strings.Repeat("<td>x", n/5) + "</tr><tr><td>y</table>",
		"rows":                "<table>" + strings.Repeat("<tr><td>x", n/9),
		"open marks":          strings.Repeat("<p><a href=x><b><i><u>", n/20),
		"links":               strings.Repeat("<a href=x>y</a> ", n/16),
		"links in a row":      "<table><tr>" + strings.Repeat("<td><a href=x>y</a>", n/19),
		"quotes":              strings.Repeat("<blockquote>", 400) + strings.Repeat("<p>x", n/4),
		"raised":              strings.Repeat("<sup>", 400) + strings.Repeat("<b></b>", n/7),
		"tables in tables":    strings.Repeat("<table><tr><td>", 120) + strings.Repeat("<p>x", n/4),
		"headers":             strings.Repeat("<header>", 400) + strings.Repeat("<b></b>", n/7) + strings.Repeat("abcdefg ", 100),
	} {
		start := time.Now()
		doc := parse(t, s)
		parsed := time.Since(start)
		got, err := hypertext.Markdown(t.Context(), doc, hypertext.Options{Base: base, Max: 1 << 20})
		if err != nil || len(got) > 1<<20+100 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		hypertext.Content(doc)
		if d := time.Since(start) - parsed; d > 20*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
	cut, err := hypertext.Markdown(t.Context(), parse(t, strings.Repeat("<p>äöü", 100)), hypertext.Options{Max: 50})
	if err != nil || !strings.HasSuffix(cut, "[the page was cut here, at 50 bytes]\n") || strings.Contains(cut, "\ufffd") {
		t.Errorf("got %q, %v", cut, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hypertext.Markdown(ctx, parse(t, strings.Repeat("<p>x", 5000)), hypertext.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}

func TestContent(t *testing.T) {
	long := "<p>" + strings.Repeat("content of the page ", 40) + "</p>"
	within := func(s string) string {
		return "<header>Site</header><nav>menu</nav><aside>ad</aside>" + s + "<footer>imprint</footer>"
	}
	for _, tt := range []struct{ name, in, element, not string }{
		{"main", within("<p>x</p><main>" + long + "</main>"), "main", "x"},
		{"role", within("<section role=main>" + long + "</section>"), "section", "menu"},
		{"main within its role", within("<section role=main><main>" + long + "</main></section>"), "section", "menu"},
		{"article", within("<article>" + long + "</article>"), "article", "menu"},
		{"many articles", within("<div>" + strings.Repeat("<article>"+long+"</article>", 3) + "</div>"), "div", "menu"},
		{"main with little", within("<main>loading</main><div>" + long + long + "</div>"), "div", "loading"},
		{"hidden main", within("<main hidden>" + long + "</main><div>" + long + "</div>"), "div", "menu"},
		{"the densest box", "<div><div class=side><ul><li><a href=x>" + long + "</a></ul></div><section><h1>T</h1>" + long + "<p>more</p></section></div>", "section", "side"},
		{"prose in two boxes", within("<div>" + long + "</div><div>" + long + "</div>"), "body", "menu"},
		{"a list of links", within(strings.Repeat("<a href=x>one two three four</a> ", 60)), "", "menu"},
		{"a header with the text", "<header>" + long + "</header><nav>menu</nav>", "header", "menu"},
	} {
		n := hypertext.Content(parse(t, tt.in))
		if n.Data != tt.element {
			t.Errorf("%s: got %q, want %q", tt.name, n.Data, tt.element)
		}
		got, err := hypertext.Markdown(t.Context(), n, hypertext.Options{})
		if err != nil || got == "" || strings.Contains(got, tt.not) {
			t.Errorf("%s: got %q, %v", tt.name, got, err)
		}
	}
}

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{
		"<title> A\n page </title><body><svg><title>icon</title></svg>":           "A page",
		"<head><meta property='og:title' content='Shared'><title></title><body>x": "Shared",
		"<meta property='og:title' content='Shared'><title>Own</title>":           "Own",
		"<body><p>no title</p><title>late</title>":                                "",
	} {
		if got := hypertext.Title(parse(t, in)); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("<ul><li><p>a<b>b</ul><table><tr><td><a href=x>y</table><pre>z")
	f.Add("<h1><blockquote><dl><dd><ol start=-5><li><hr><li></h1>")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := html.Parse(strings.NewReader(s))
		if err != nil {
			return
		}
		n = hypertext.Content(n)
		base := &url.URL{Scheme: "https", Host: "e.org"}
		got, err := hypertext.Markdown(t.Context(), n, hypertext.Options{Base: base, Max: 1000})
		if err != nil || len(got) > 1100 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

func BenchmarkMarkdown(b *testing.B) {
	page := strings.Repeat(`<h2>Part</h2><p>Some <b>words</b> and <a href="/x">a link</a>.</p><ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td>1<td>2</table>`, 500)
	doc := parse(b, page)
	base := &url.URL{Scheme: "https", Host: "e.org"}
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := hypertext.Markdown(b.Context(), doc, hypertext.Options{Base: base}); err != nil {
			b.Fatal(err)
		}
	}
}
