package web_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/tools/web"
	"github.com/burin-dev/burin/tool"
)

// answer is a server that gives one body, of a type, at every path.
func answer(t *testing.T, contentType string, body []byte) (base string, o web.Options) {
	t.Helper()
	base, host := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	})
	return base, web.Options{Private: []string{host}}
}

// shown is what a fetch shows below the line.
func shown(t *testing.T, o web.Options, args map[string]any) string {
	t.Helper()
	got, _, err := call(t, o, "fetch", args)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(got, "\n---\n")
	return rest
}

func TestFetchPages(t *testing.T) {
	prose := strings.Repeat("Some words of the page. ", 30)
	for _, tt := range []struct{ name, media, body, want string }{
		{
			"the content without its frame", "text/html",
			"<title>T</title><nav>menu</nav><div><div class=side>ad</div><div><p>" + prose + "<p>end</div></div><footer>imprint</footer>",
			"# T\n\n" + strings.TrimSpace(prose) + "\n\nend\n",
		},
		{"a base", "text/html", `<base href="https://other.example/d/"><a href="x">y</a>`, "[y](https://other.example/d/x)\n"},
		{"a title that is there", "text/html", "<title>Same</title><h1>Same</h1>", "# Same\n"},
		{"beyond all measure", "text/html", strings.Repeat("<div>", 600) + "deep<script>x</script>", "deep\n"},
		{"Markdown", "text/markdown", "# As *it* is\n", "# As *it* is\n"},
		{"XML", "application/xml", "<a>\n<b/></a>", "<a>\n<b/></a>"},
		{"broken XML", "text/xml", "<rss", "<rss"},
		{"text in an old encoding", "text/plain; charset=shift_jis", "\x83\x65\x83\x58\x83\x67", "テスト"},
		{"text with a mark", "text/plain", "\xef\xbb\xbfmarked", "marked"},
		{"UTF-16", "text/plain; charset=utf-16le", "a\x00b\x00", "ab"},
		{
			"RSS", "application/rss+xml",
			`<rss><channel><title>News &amp; more</title><link>https://n.example</link><item><title>One</title><link>/1</link><pubDate>Mon</pubDate><description>&lt;p&gt;First &lt;b&gt;bold&lt;/b&gt;&lt;/p&gt;</description></item>` +
				`<item><title><![CDATA[Two]]></title><link>https://n.example/2</link><description>short</description><content:encoded><![CDATA[<p>long</p>]]></content:encoded><source><title>Else</title></source></item></channel></rss>`,
			"# News & more\n\n## One\nBASE/1\nMon\n\nFirst **bold**\n\n## Two\nhttps://n.example/2\n\nlong\n",
		},
		{
			"Atom", "application/atom+xml",
			`<feed xmlns="a"><title>A</title><entry><title>One</title><link rel="self" href="/s"/><link rel="alternate" href="/1"/><updated>2026</updated><author><name>X</name></author><summary type="html">text</summary></entry></feed>`,
			"# A\n\n## One\nBASE/1\n2026\n\ntext\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, o := answer(t, tt.media, []byte(tt.body))
			if diff := cmp.Diff(strings.ReplaceAll(tt.want, "BASE", base), shown(t, o, map[string]any{"url": base})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a body is counts for more than what the server says it is.
func TestFetchLooksAtTheBody(t *testing.T) {
	var doc, pic bytes.Buffer
	w := zip.NewWriter(&doc)
	f, err := w.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "<w:p><w:t>a report</w:t></w:p>")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	base, o := answer(t, "text/plain", doc.Bytes())
	if got := shown(t, o, map[string]any{"url": base + "/report.docx"}); got != "a report\n" {
		t.Errorf("got %q", got)
	}
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	base, o = answer(t, "text/html", pic.Bytes())
	if _, r, err := call(t, o, "fetch", map[string]any{"url": base}); err != nil || len(r.Content) != 2 {
		t.Errorf("a picture that is called a page: %v", err)
	}
	base, o = answer(t, "text/html", []byte("\x00\x01\x02binary"))
	if got, _, err := call(t, o, "fetch", map[string]any{"url": base}); err == nil || !strings.Contains(err.Error(), "binary file") {
		t.Errorf("binary data that is called a page: %q, %v", got, err)
	}
}

func TestFetchAlternate(t *testing.T) {
	var status atomic.Int32
	base, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/page":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<link rel="alternate" type="text/markdown" href="/page.md"><p>As a page`)
		case status.Load() != 0:
			w.WriteHeader(int(status.Load()))
		default:
			w.Header().Set("Content-Type", "text/markdown")
			fmt.Fprint(w, "As *Markdown*")
		}
	})
	o := web.Options{Private: []string{host}}
	if got := shown(t, o, map[string]any{"url": base + "/page"}); got != "As *Markdown*" {
		t.Errorf("got %q", got)
	}
	if got := shown(t, o, map[string]any{"url": base + "/page", "raw": true}); !strings.HasPrefix(got, "<link") {
		t.Errorf("raw: got %q", got)
	}
	status.Store(http.StatusNotFound)
	if got := shown(t, o, map[string]any{"url": base + "/page"}); got != "As a page\n" {
		t.Errorf("without the other: got %q", got)
	}
	other, o := answer(t, "text/html", []byte(`<link rel="alternate" type="text/markdown" href="http://169.254.169.254/x.md"><p>here`))
	if got := shown(t, o, map[string]any{"url": other}); got != "here\n" {
		t.Errorf("on another host: got %q", got)
	}
}

// A server cannot flood the head of a result, nor keep us busy with a page.
func TestFetchIsBounded(t *testing.T) {
	base, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/"+strings.Repeat("long", 20_000), http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain; x="+strings.Repeat("y", 50_000))
		fmt.Fprint(w, "body")
	})
	got, _, err := call(t, web.Options{Private: []string{host}}, "fetch", map[string]any{"url": base})
	if err != nil || len(got) > 3000 || !strings.HasSuffix(got, "body") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	start := time.Now()
	base, o := answer(t, "text/html", []byte(strings.Repeat("<ul><li>x", 200)+strings.Repeat("<li>y", 50_000)))
	if got, _, err := call(t, o, "fetch", map[string]any{"url": base}); err != nil || len(got) > 60_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("a page took %v", d)
	}
	base, o = answer(t, "text/plain", bytes.Repeat([]byte("x"), 11<<20))
	if got, _, err := call(t, o, "fetch", map[string]any{"url": base, "from": 1400}); err != nil || !strings.Contains(got, "Only the first 10 MB were read") {
		t.Errorf("a page of 11 MB: %v", err)
	}
}

// What a page unpacks to has the same limit as what comes as it is.
func TestFetchPacked(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 200 {
		_, _ = z.Write(bytes.Repeat([]byte(strings.Repeat("words ", 100)+"\n"), 1700))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{200, 500} {
		base, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			_, _ = w.Write(bomb.Bytes())
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, _, err := call(t, web.Options{Private: []string{host}}, "fetch", map[string]any{"url": base})
		runtime.ReadMemStats(&after)
		if len(got) > 100_000 || status == 200 && (err != nil || !strings.Contains(got, "Only the first 10 MB were read")) {
			t.Errorf("%d: %d bytes, %v", status, len(got), err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 200<<20 {
			t.Errorf("%d: %d MB were allocated", status, n>>20)
		}
	}
}

// A long line is shown in parts, all of which can be reached.
func TestFetchLongLines(t *testing.T) {
	line := strings.Repeat("0123456789é", 20_000)
	base, o := answer(t, "application/javascript", []byte(line))
	var all strings.Builder
	for from := 1; from > 0; {
		part, rest, more := strings.Cut(shown(t, o, map[string]any{"url": base, "from": from}), "\n[Lines")
		all.WriteString(strings.ReplaceAll(part, "\n", ""))
		if from = 0; more {
			if _, err := fmt.Sscanf(rest[strings.Index(rest, "from="):], "from=%d", &from); err != nil {
				t.Fatal(err)
			}
		}
	}
	if all.String() != line {
		t.Errorf("%d of %d bytes came back", all.Len(), len(line))
	}
}

// artifacts keeps one artifact.
type artifacts struct {
	bytes.Buffer
	made int
}

func (a *artifacts) Create(string) (tool.Artifact, error) { a.made++; return a, nil }
func (a *artifacts) Open(string) (tool.ArtifactReader, error) {
	return nil, errors.New("not asked for")
}
func (a *artifacts) ID() string   { return "7" }
func (a *artifacts) Close() error { return nil }

func TestFetchKeepsTheWhole(t *testing.T) {
	text := strings.Repeat("a line of the page\n", 5000)
	base, o := answer(t, "text/plain", []byte(text))
	kept := &artifacts{}
	o.Artifacts, o.Transport = kept, &http.Transport{DisableKeepAlives: true}
	tools := web.New(o)
	for range 2 {
		got, r, err := with(t, tools, "fetch", map[string]any{"url": base})
		if err != nil || !strings.HasSuffix(got, "The whole is artifact://7.]") || !strings.Contains(string(r.Details), `"artifactId":"7"`) {
			t.Errorf("%v, %s: %q", err, r.Details, got[max(0, len(got)-200):])
		}
	}
	if kept.made != 1 || kept.String() != text {
		t.Errorf("made %d times, %d bytes", kept.made, kept.Len())
	}
	if _, _, err := call(t, o, "fetch", map[string]any{"url": base, "from": 4999}); err != nil || kept.made != 1 {
		t.Errorf("the end of a page was kept too: %d, %v", kept.made, err)
	}
}

func FuzzFeed(f *testing.F) {
	f.Add("<rss><channel><item><title>x</title><link>y</link></item>")
	f.Add("<feed><entry><link href='::'/><content>&lt;p&gt;</content></entry></feed>")
	f.Fuzz(func(t *testing.T, body string) {
		base, o := answer(t, "application/rss+xml", []byte(body))
		if got, _, err := call(t, o, "fetch", map[string]any{"url": base}); err != nil && !strings.Contains(err.Error(), "fetch ") {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
