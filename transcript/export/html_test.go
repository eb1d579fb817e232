package export

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// One browser opens all pages: starting it takes longer than what is tested.
func TestBrowser(t *testing.T) {
	b := startBrowser(t, 1360, 950, false)
	for _, tt := range []struct {
		name string
		test func(*testing.T, *browser)
	}{
		{"conversation", testConversation},
		{"branches", testBranches},
		{"search", testSearch},
		{"keys", testKeys},
		{"without script", testWithoutScript},
		{"looks", testLooks},
		{"hostile", testHostile},
		{"large", testLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			was := b.t
			b.t = t
			defer func() { b.t = was }()
			tt.test(t, b)
			b.quiet()
		})
	}
}

func testConversation(t *testing.T, b *browser) {
	b.page(render(t, branched()))
	var got struct {
		Title, Heading     string
		Users, Bots, Cards int
		Failed, Open       int
		Thinking           bool
		Images             []string
		Link, Rel          string
		Del, Ins           int
		Divider            string
		Cost, Unknown      string
		Tasks              int
		Notices            string
	}
	b.eval(`(() => {
		const $$ = (s) => [...document.querySelectorAll(s)];
		const link = document.querySelector('#log blockquote a');
		return {
			title: document.title, heading: document.querySelector('h1').textContent,
			users: $$('#log > .user').length, bots: $$('#log > .bot').length, cards: $$('#log .card').length,
			failed: $$('#log .card:has(.err)').length, open: $$('#log .card[open]').length,
			thinking: document.querySelector('.think').open,
			images: $$('#log img').map((i) => i.src.slice(0, 22) + ' ' + i.getAttribute('width') + 'x' + i.getAttribute('height')),
			link: link.href, rel: link.rel, del: $$('#log .diff del').length, ins: $$('#log .diff ins').length,
			divider: document.querySelector('.cut:not(.branch) summary').textContent,
			cost: document.querySelector('.totals div:last-child dd').firstChild.data.trim(),
			unknown: document.querySelector('#log .bot:last-child > footer').textContent,
			tasks: $$('#log .task input').length,
			notices: $$('#log > .warn, #log .msg > .warn').map((e) => e.textContent).join(),
		};
	})()`, &got)
	want := got
	want.Title, want.Heading = "Write each record with one call", "Write each record with one call"
	want.Users, want.Bots, want.Cards, want.Failed, want.Open = 3, 7, 5, 0, 2
	want.Thinking = false
	want.Images = []string{"data:image/png;base64, 640x240", "data:image/png;base64, 320x120"}
	want.Link, want.Rel = "https://man7.org/linux/man-pages/man2/write.2.html", "noopener noreferrer nofollow"
	want.Del, want.Ins, want.Tasks = 2, 2, 2
	want.Divider = "Earlier messages were compacted from 121k tokens"
	want.Cost = "≥ $0.0705"
	want.Unknown = "anthropic/claude-sonnet-4-619.2k in (18k cached)340 outunknown cost"
	want.Notices = "the server is overloaded (HTTP 529)"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var shift float64
	b.eval(`new Promise((done) => {
		let sum = 0;
		new PerformanceObserver((list) => { for (const e of list.getEntries()) sum += e.value; }).observe({type: 'layout-shift', buffered: true});
		setTimeout(() => done(sum), 100);
	})`, &shift)
	if shift > 0.01 {
		t.Errorf("the page jumps by %v while it opens", shift)
	}
	b.click("#log .user img")
	b.until(`document.querySelector('#zoom').open && document.querySelector('#zoom img').naturalWidth === 640`)
	b.press("Escape")
	b.eval(`document.querySelector('pre code[data-lang=go]').scrollIntoView()`, nil)
	b.until(`CSS.highlights.has('kw') && [...CSS.highlights.get('kw')].some((r) => r.startContainer.data.slice(r.startOffset, r.endOffset) === 'func')`)
}

// logText is the text of the conversation as it is now.
func logText(b *browser) string {
	var s string
	b.eval(`document.querySelector('#log').textContent`, &s)
	return s
}

func testBranches(t *testing.T, b *browser) {
	b.page(render(t, branched()))
	if s := logText(b); strings.Contains(s, "Use a bufio.Writer") || !strings.Contains(s, "Good, do that.") {
		t.Fatal("the page does not open at the active branch")
	}
	row := func(words string) string {
		var id string
		b.eval(fmt.Sprintf(`[...document.querySelectorAll('.row')].find((r) => r.textContent.includes(%q)).id`, words), &id)
		return "#" + id
	}
	b.click(row("Use a bufio.Writer"))
	s := logText(b)
	for _, want := range []string{"Use a bufio.Writer instead.", "A buffer delays the write.", "--- FAIL: TestKill", "worse", "I look at the store first."} {
		if !strings.Contains(s, want) {
			t.Errorf("the branch lacks %q", want)
		}
	}
	if strings.Contains(s, "Good, do that.") || strings.Contains(s, "chart") {
		t.Error("messages of the other branch are still there")
	}
	var inCard bool
	b.eval(`document.querySelector('#log .card[open] .slot > .res.err') !== null`, &inCard)
	if !inCard {
		t.Error("the failed result is not in its call's open card")
	}
	var current []string
	b.eval(`[...document.querySelectorAll('.row[aria-current]')].map((r) => r.textContent)`, &current)
	if len(current) != 1 || !strings.Contains(current[0], "label: buffered") {
		t.Errorf("the end of the branch is marked at %q", current)
	}
	var marked string
	b.eval(`document.querySelector('.row.here').textContent`, &marked)
	if !strings.Contains(marked, "Use a bufio.Writer") {
		t.Errorf("the tree marks %q as what is being read", marked)
	}
	b.screenshot("branch.png")
	b.click(row("Good, do that."))
	if s := logText(b); !strings.Contains(s, "What is the slow part?") || strings.Contains(s, "bufio") && !strings.Contains(s, "A buffered writer was tried") {
		t.Error("going back does not show the first branch")
	}
	b.click(".row[aria-expanded] .fold")
	var rows string
	b.eval(`document.querySelector('#tree').textContent`, &rows)
	if strings.Contains(rows, "Use a bufio.Writer") {
		t.Error("a folded branch is still in the tree")
	}
	for filter, want := range map[string]int{"user-only": 3, "labeled": 2} {
		b.eval(fmt.Sprintf(`{ const f = document.querySelector('#filter'); f.value = %q; f.dispatchEvent(new Event('change')); }`, filter), nil)
		b.eval(`document.querySelectorAll('.row[aria-expanded=false] .fold').forEach((f) => f.click())`, nil)
		var n int
		b.eval(`document.querySelectorAll('.row').length`, &n)
		if filter == "user-only" {
			want++ // the branch that was unfolded
		}
		if n != want {
			t.Errorf("filter %s shows %d rows, want %d", filter, n, want)
		}
	}
}

func testSearch(t *testing.T, b *browser) {
	b.page(render(t, branched()))
	b.press("/")
	b.write("TestKill")
	b.press("Enter")
	b.until(`document.querySelector('#find output').textContent === '1/1'`)
	b.until(`CSS.highlights.has('now')`)
	var at struct {
		Words   string
		Visible bool
	}
	b.settle()
	b.eval(`(() => { const r = [...CSS.highlights.get('now')][0]; const box = r.startContainer.parentElement.getBoundingClientRect();
		return {words: r.startContainer.data.slice(r.startOffset, r.endOffset), visible: box.height > 0 && box.top < innerHeight && box.bottom > 0}; })()`, &at)
	if at.Words != "TestKill" || !at.Visible {
		t.Errorf("the match in another branch is %+v", at)
	}
	b.press("Escape")
	b.press("/")
	b.write("write")
	b.press("Enter")
	b.press("Enter")
	var said string
	b.eval(`document.querySelector('#find output').textContent`, &said)
	var position, of int
	if _, err := fmt.Sscanf(said, "%d/%d", &position, &of); err != nil || of < 10 {
		t.Errorf("the search says %q", said)
	}
	b.eval(`document.activeElement.blur()`, nil)
	b.press("n")
	b.press("N")
	b.press("N")
	var after string
	b.eval(`document.querySelector('#find output').textContent`, &after)
	if want := fmt.Sprintf("%d/%d", (position-2+of)%of+1, of); after != want {
		t.Errorf("after n N N at %s it says %s, want %s", said, after, want)
	}
	b.screenshot("search.png")
}

func testKeys(t *testing.T, b *browser) {
	b.page(render(t, branched()))
	focus := func() string {
		var s string
		b.eval(`(document.activeElement.querySelector('.md') || document.activeElement).textContent.slice(0, 20)`, &s)
		return s
	}
	b.press("j")
	if got := focus(); !strings.HasPrefix(got, "Make store.go") {
		t.Errorf("j goes to %q", got)
	}
	b.press("j")
	if got := focus(); !strings.HasPrefix(got, "The store calls") {
		t.Errorf("a second j goes to %q", got)
	}
	b.press("k")
	if got := focus(); !strings.HasPrefix(got, "Make store.go") {
		t.Errorf("k goes back to %q", got)
	}
	b.press("e")
	b.until(`document.querySelectorAll('#log .card:not([open])').length === 0`)
	b.press("?")
	b.until(`document.querySelector('#keys').open`)
	b.press("Escape")
	b.press("t")
	b.until(`document.activeElement.id === 'tree'`)
	b.press("End")
	b.press("Enter")
	if got := focus(); !strings.HasPrefix(got, "The slow part is the") {
		t.Errorf("Enter at the end of the tree goes to %q", got)
	}
	b.click("#theme")
	var scheme string
	b.eval(`getComputedStyle(document.documentElement).colorScheme`, &scheme)
	if scheme != "dark" {
		t.Errorf("the switch leaves the page %s", scheme)
	}
	b.click("#theme")
}

func testWithoutScript(t *testing.T, b *browser) {
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	defer b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
	b.page(render(t, branched()))
	var root struct {
		Root struct {
			NodeID int `json:"nodeId"`
		} `json:"root"`
	}
	b.call("DOM.getDocument", nil, &root)
	for selector, want := range map[string]bool{"#log > .user": true, "#log .slot > .res": true, "noscript p": true, ":root.js": false, "#log .fork": false} {
		var node struct {
			NodeID int `json:"nodeId"`
		}
		b.call("DOM.querySelector", map[string]any{"nodeId": root.Root.NodeID, "selector": selector}, &node)
		if (node.NodeID != 0) != want {
			t.Errorf("%s found: %v, want %v", selector, node.NodeID != 0, want)
		}
	}
	b.shot("no-script.png")
}

// contrasts lists the texts in sight whose contrast is below 4.5.
const contrasts = `(() => {
	const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
	const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
	const bad = new Set();
	for (const e of document.querySelectorAll('body *')) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
		if (!e.checkVisibility({visibilityProperty: true, opacityProperty: true}) || e.closest('dialog, script, .skip')) continue;
		const layers = [];
		for (let p = e; p; p = p.parentElement) { const c = parse(getComputedStyle(p).backgroundColor); layers.push(c); if (c[3] === 1) break; }
		let back = [255, 255, 255, 1];
		for (const c of layers.reverse()) back = over(c, back);
		const ink = over(parse(getComputedStyle(e).color), back);
		const [a, z] = [light(ink), light(back)].sort((x, y) => y - x);
		const ratio = (a + .05) / (z + .05);
		if (ratio < 4.5) bad.add(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2) + ' ' + e.textContent.slice(0, 20));
	}
	return [...bad];
})()`

func testLooks(t *testing.T, b *browser) {
	page := render(t, branched())
	for _, v := range []struct {
		name          string
		width, height int
		scheme        string
	}{{"wide-light", 1360, 950, "light"}, {"wide-dark", 1360, 950, "dark"}, {"phone-light", 390, 844, "light"}, {"phone-dark", 390, 844, "dark"}} {
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.width, "height": v.height, "deviceScaleFactor": 1, "mobile": v.width < 600}, nil)
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": v.scheme}}}, nil)
		b.page(page)
		b.eval(`{ localStorage.removeItem('burin-theme'); delete document.documentElement.dataset.theme; }`, nil)
		b.screenshot(v.name + "-top.png")
		b.eval(`document.querySelectorAll('#log details').forEach((d) => { d.open = true; })`, nil)
		b.eval(`document.querySelectorAll('#log > *').forEach((e) => { e.style.contentVisibility = 'visible'; })`, nil)
		b.settle()
		var wide int
		b.eval(`document.documentElement.scrollWidth - innerWidth`, &wide)
		if wide > 0 {
			t.Errorf("%s: the page is %d pixels too wide", v.name, wide)
		}
		var bad []string
		b.eval(contrasts, &bad)
		if len(bad) > 0 {
			t.Errorf("%s: too little contrast:\n%s", v.name, strings.Join(bad, "\n"))
		}
		for i, selector := range []string{"#log .bot", "#log code[data-lang]", "#log .diff", "#log .cut:not(.branch)", "#log .note"} {
			b.eval(fmt.Sprintf(`document.querySelector(%q).scrollIntoView()`, selector), nil)
			b.screenshot(fmt.Sprintf("%s-%d.png", v.name, i))
		}
		if v.width < 600 {
			b.click("#menu")
			b.screenshot(v.name + "-tree.png")
		}
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1360, "height": 950, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "light"}}}, nil)
}

// attacks are texts that do something where they are not escaped. Each would set
// window.canary, ask a server or open a dialog.
var attacks = []string{
	`<script>window.canary=1</script>`,
	`</script><script>window.canary=2</script>`,
	`<!--<script>`, `-->`, `]]>`, `</template><img src=x onerror="window.canary=3">`,
	`</style><script>alert(4)</script>`, `</title><script>window.canary=5</script>`, `</textarea></pre></details></main><svg onload=window.canary=6>`,
	`"><img src=x onerror=window.canary=7>`, `' onfocus=window.canary=8 autofocus x='`, "`${window.canary=9}`",
	`[x](javascript:window.canary=10)`, `[x](java&#10;script:window.canary=11)`, `[x](JaVaScRiPt:alert(12))`, `<javascript:alert(13)>`,
	`[x](data:text/html,<script>alert(14)</script>)`, `[x](vbscript:x)`, `![x](https://evil.example/pixel.png)`, `[x](https://a.example/"onmouseover="window.canary=15)`,
	`[x](https://a.example 'x" onclick="window.canary=16')`, "```\"><script>window.canary=17</script>\nx\n```", "```x onload=alert(18)\n```",
	`<style>@import 'https://evil.example/x.css';body{background:url(https://evil.example/x)}</style>`, `<link rel=stylesheet href=https://evil.example/x.css>`,
	`<meta http-equiv=refresh content="0;url=https://evil.example">`, `<base href=https://evil.example>`, `<iframe srcdoc="<script>parent.canary=19</script>">`,
	`<form action=https://evil.example><button>`, `<a href=https://evil.example ping=https://evil.example>x</a>`, `<object data=https://evil.example>`, `<video src=https://evil.example autoplay>`,
	`<math><mtext></p><img src=x onerror=window.canary=20>`, `<noscript><p title="</noscript><img src=x onerror=window.canary=21>">`,
	"\x1b]8;;javascript:window.canary=22\x1b\\x\x1b]8;;\x1b\\", "\x1b[31m<img src=x onerror=window.canary=23>\x1b[0m", "\x1b[38;2;1;2;3;\"><img src=x onerror=window.canary=24>m",
	"\u202e txt.exe \u2066\u2069", "\u2028window.canary=25\u2029", "\x00<\x00script>", "\ufeff<script>", "\xff\xfe<script>alert(26)</script>",
	`{"__proto__":{"canary":27}}`, `__proto__`, `constructor`, `|a|b|` + "\n|-|-|\n|<img src=x onerror=window.canary=28>|`|`|",
	`- [x] <input onfocus=window.canary=29 autofocus>`, `expression(alert(30))`, `&lt;script&gt;window.canary=31&lt;/script&gt;`, `\<script>window.canary=32\</script>`,
}

// hostile has an attack in every field.
func hostile(attack string) Page {
	s := &script{}
	raw := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return b
	}
	svg := []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.canary=100"><script>window.canary=101</script></svg>`)
	call := llm.ToolCall{ID: attack, Name: attack, Arguments: string(raw(map[string]any{attack: attack, "command": attack, "oldText": attack, "list": []string{attack, strings.Repeat(attack, 3)}}))}
	all := []llm.Block{
		llm.Text{Text: attack, Citations: []llm.Citation{{URL: attack, Title: attack, Text: attack}, {URL: "javascript:window.canary=102", Title: "x"}}},
		llm.Text{Text: "# " + attack + "\n\n> " + attack + "\n\n- " + attack + "\n\n**" + attack + "** `" + attack + "`\n\n    " + attack},
		llm.Thinking{Text: attack},
		call,
		llm.ToolCall{ID: "2", Name: "x", Arguments: attack},
		llm.ToolCall{ID: "3", Name: "y", Arguments: attack, Defect: llm.Defect(attack)},
		llm.Image{MIME: "image/svg+xml", Data: svg},
		llm.Image{MIME: attack, Data: []byte(attack)},
		llm.Image{MIME: "image/png", URL: attack},
		llm.Image{URL: "https://evil.example/x.png"},
		llm.Document{Name: attack, MIME: attack, Text: attack, URL: attack, Data: []byte(attack)},
		llm.Opaque{API: "x", Kind: attack, Raw: raw(attack)},
	}
	s.say(llm.Message{Role: llm.RoleUser, Content: all})
	s.add(transcript.Entry{Type: transcript.TypeLabel, TargetID: s.leaf, Label: attack})
	s.say(llm.Message{Role: llm.RoleAssistant, Content: all, Provider: attack, Model: attack, StopReason: llm.StopError, Error: &llm.Error{Message: attack, Provider: attack}})
	s.say(llm.Message{Role: llm.RoleToolResult, ToolCallID: attack, ToolName: attack, IsError: true, Content: all, Details: raw(map[string]string{"diff": "+" + attack + "\n-" + attack})})
	fork := s.leaf
	s.user(attack + " in another branch")
	s.leaf = fork
	s.say(llm.Message{Role: llm.RoleToolResult, ToolCallID: "lost", ToolName: attack, Content: all})
	s.say(llm.Message{Role: llm.Role(attack), Content: all})
	s.say(llm.Message{Role: llm.RoleCustom, CustomType: attack, Display: true, Content: all})
	tier := attack
	for _, typ := range []string{
		transcript.TypeModel, transcript.TypeThinking, transcript.TypeServiceTier, transcript.TypeMode, transcript.TypeCompaction, transcript.TypeBranchSummary,
		transcript.TypeCustom, transcript.TypeCustomMessage, transcript.TypeTTSR, transcript.TypeInit, transcript.TypeMCPTools, transcript.TypeInfo, attack,
	} {
		s.add(transcript.Entry{
			Type: typ, Model: attack, Role: attack, ThinkingLevel: attack, ServiceTier: &tier, Mode: attack, Summary: attack, FirstKeptID: attack, FromID: attack,
			Details: raw(attack), CustomType: attack, Data: raw(attack), Content: raw(attack), Display: true, Attribution: attack, InjectedRules: []string{attack},
			SelectedTools: []string{attack}, SystemPrompt: attack, Task: attack, Name: attack,
		})
	}
	last := &s.entries[len(s.entries)-1]
	last.ID, last.Timestamp = attack, attack
	return Page{
		Header:  transcript.Header{ID: attack, Timestamp: attack, CWD: attack, Title: attack, ParentSession: attack},
		Entries: s.entries, System: attack, Tools: []llm.Tool{{Name: attack, Description: attack, Schema: raw(attack)}, {Name: "x", Schema: json.RawMessage(attack)}}, Version: attack,
	}
}

// One page holds the attacks one after the other, and one page each for those that
// could end an element that the whole page lives in.
func testHostile(t *testing.T, b *browser) {
	pages := []string{strings.Join(attacks, "\n\n"), strings.Join(attacks, " ")}
	pages = append(pages, attacks[:10]...)
	for i, attack := range pages {
		b.page(render(t, hostile(attack)))
		b.eval(`document.querySelectorAll('details').forEach((d) => { d.open = true; })`, nil)
		b.eval(`{ const f = document.querySelector('#filter'); f.value = 'all'; f.dispatchEvent(new Event('change')); }`, nil)
		b.press("/")
		b.write("in another branch")
		b.press("Enter")
		b.until(`document.querySelector('#find output').textContent.startsWith('1/')`)
		if i < 2 {
			b.screenshot(fmt.Sprintf("hostile-%d.png", i))
		}
		var got struct {
			Canary  string
			Strange []string
			Scripts int
			Links   []string
		}
		b.eval(`({
			canary: String(window.canary) + String({}.canary),
			strange: [...new Set([...document.querySelectorAll('body *')].flatMap((e) => [e.localName, ...e.getAttributeNames().filter((a) => a.startsWith('on'))]))]
				.filter((n) => /^on|iframe|object|embed|video|audio|form$|link|base|meta|style|math/.test(n)),
			scripts: document.scripts.length,
			links: [...document.querySelectorAll('#talk a')].map((a) => a.protocol).filter((p) => !['http:', 'https:', 'mailto:', 'file:'].includes(p)),
		})`, &got)
		if got.Canary != "undefinedundefined" {
			t.Errorf("page %d ran a script: %s", i, got.Canary)
		}
		if diff := cmp.Diff([]string{"form"}, got.Strange); diff != "" { // the search and the dialogs
			t.Errorf("page %d: elements or attributes that are not ours: %s", i, diff)
		}
		if got.Scripts != 3 || len(got.Links) > 0 {
			t.Errorf("page %d has %d scripts and links to %v", i, got.Scripts, got.Links)
		}
		b.quiet()
	}
}

// FuzzPage puts one text everywhere and reads the page as a browser would.
func FuzzPage(f *testing.F) {
	for _, a := range attacks {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := hostile(s[:min(len(s), 200)])
		doc, err := html.Parse(strings.NewReader(render(t, p)))
		if err != nil {
			t.Fatal(err)
		}
		scripts := 0
		for n := range doc.Descendants() {
			switch n.Data {
			case "script":
				scripts++
			case "iframe", "object", "embed", "video", "audio", "base", "math":
				if n.Type == html.ElementNode {
					t.Errorf("element %s out of %q", n.Data, s)
				}
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "href" && strings.HasPrefix(a.Val, "javascript:") {
					t.Errorf("attribute %s of %s out of %q", a.Key, n.Data, s)
				}
			}
		}
		if scripts != 3 {
			t.Errorf("%d scripts out of %q", scripts, s)
		}
		if !json.Valid([]byte(jsonOf(t, p))) {
			t.Errorf("no JSON out of %q", s)
		}
		markdownOf(t, p)
	})
}

// long is a session of n entries.
func long(n int) Page {
	s := &script{}
	paid := &llm.Cost{Total: llm.Dollars(0.01)}
	words := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 6)
	for i := 0; len(s.entries) < n; i++ {
		if i%50 == 49 {
			at := s.leaf
			s.user("a branch that is left")
			s.answer(paid, llm.Text{Text: words})
			s.leaf = at
		}
		s.user(fmt.Sprintf("Question %d: %s", i, words))
		call := tool(fmt.Sprint("c", i), "bash", fmt.Sprintf(`{"command":"go test ./pkg%d"}`, i))
		said := words
		if i%4 == 0 {
			said = plan
		}
		s.answer(paid, llm.Thinking{Text: words}, llm.Text{Text: said}, call)
		s.result(call, strings.Repeat("ok  \tgithub.com/example/module/package\t0.4s\n", 40), false, "")
		s.answer(paid, llm.Text{Text: "**Done.** " + words})
	}
	return Page{Header: transcript.Header{ID: "long"}, Entries: s.entries[:n], Title: "A long session"}
}

// A session of 10,000 entries opens at once and is not much larger than what it holds.
func testLarge(t *testing.T, b *browser) {
	p := long(10_000)
	content := 0
	for i := range p.Entries {
		content += len(rawOf(&p.Entries[i]))
	}
	page := render(t, p)
	if len(page) > 2*content {
		t.Errorf("%d bytes of HTML for %d bytes of content", len(page), content)
	}
	path := filepath.Join(t.TempDir(), "session.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	b.call("Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil)
	defer b.call("Performance.disable", nil, nil)
	start, before := time.Now(), b.busy()
	b.open(path)
	b.settle()
	took, cpu := time.Since(start), b.busy()-before
	var n, rows int
	b.eval(`document.querySelector('#log').children.length`, &n)
	b.eval(`document.querySelectorAll('.row').length`, &rows)
	if n < 5000 || rows == 0 || rows > 200 {
		t.Errorf("%d messages and %d rows of the tree", n, rows)
	}
	t.Logf("%d entries, %.1f MB of content, %.1f MB of HTML: open in %v, of which the page worked %v", len(p.Entries), float64(content)/1e6, float64(len(page))/1e6, took, cpu)
	if cpu > 6*time.Second { // not the time on the clock: other programs run beside the test
		t.Errorf("the page works %v until it is there", cpu)
	}
	start = time.Now()
	b.press("/")
	b.write("Question 77:")
	b.press("Enter")
	b.until(`document.querySelector('#find output').textContent === '1/1'`)
	t.Logf("first search in %v", time.Since(start))
}

func BenchmarkHTML(b *testing.B) {
	p := long(10_000)
	size := 0
	for i := range p.Entries {
		size += len(rawOf(&p.Entries[i]))
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if err := HTML(io.Discard, p); err != nil {
			b.Fatal(err)
		}
	}
}
