package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/gif"  // sizes of pictures
	_ "image/jpeg" // sizes of pictures
	_ "image/png"  // sizes of pictures
	"net/http"
	"strconv"
	"strings"

	_ "golang.org/x/image/webp" // sizes of pictures

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/export/internal/markup"
)

// entry appends entry i. results are the tool results to show inside its calls.
func (h *page) entry(i int, results map[int][]int) {
	e := h.nodes[i].entry
	kind := kindOf(e)
	switch {
	case e.Execution != nil:
		h.execution(i, e.Execution)
	case e.Type == transcript.TypeMessage && e.Message != nil:
		h.message(i, kind, results)
	case e.Type == transcript.TypeCustomMessage:
		h.custom(i, kind)
	case kind == kindDivider, kind == kindBranch:
		h.summary(i, kind)
	default:
		h.line(i, kind)
	}
}

// open begins an element for entry i with its id and label.
func (h *page) open(tag, class string, i int) {
	h.put("<", tag, ` class="`, class, `" id="e`, strconv.Itoa(i), `" tabindex="-1">`)
}

// by is the head of a message: who, how labeled, when.
func (h *page) by(i int, who string) {
	h.put("<header><b>")
	h.text(who)
	h.put("</b>")
	h.label(i)
	if at := timeOf(h.nodes[i].entry); !at.IsZero() {
		h.put(`<a href="#e`, strconv.Itoa(i), `">`)
		h.time(at, "Jan 2, 15:04")
		h.put("</a>")
	}
	h.put("</header>")
}

func (h *page) label(i int) {
	if l := h.nodes[i].label; l != "" {
		h.put(`<span class="label">`)
		h.text(visible(l))
		h.put("</span>")
	}
}

func (h *page) message(i int, kind byte, results map[int][]int) {
	m := h.nodes[i].entry.Message
	switch {
	case m.Role == llm.RoleUser:
		h.open("article", "msg user", i)
		h.by(i, "You")
		h.blocks(m.Content, true)
		h.put("</article>")
	case m.Role == llm.RoleAssistant:
		h.answer(i, m, results)
	case m.Role == llm.RoleToolResult:
		h.result(i, m)
	case kind == kindQuiet:
		h.open("article", "msg note quiet", i)
		h.by(i, "Program, hidden: "+m.CustomType)
		h.blocks(m.Content, false)
		h.put("</article>")
	default:
		who := "System"
		if m.Role == llm.RoleCustom {
			who = "Program: " + m.CustomType
		} else if m.Role != llm.RoleSystem {
			who = string(m.Role)
		}
		h.open("article", "msg note", i)
		h.by(i, who)
		h.blocks(m.Content, false)
		h.put("</article>")
	}
}

// execution is a command of the person's own.
func (h *page) execution(i int, x *transcript.Execution) {
	h.open("article", "msg note", i)
	h.by(i, executionWords(x))
	h.output(x.Command)
	if strings.TrimSpace(x.Output) != "" {
		h.output(x.Output)
	}
	if end := x.Ending(); end != "" {
		h.put(`<p class="warn">`, end, `</p>`)
	}
	h.put("</article>")
}

func (h *page) answer(i int, m *llm.Message, results map[int][]int) {
	h.open("article", "msg bot", i)
	h.by(i, "Assistant")
	for k, b := range m.Content {
		if c, ok := b.(llm.ToolCall); ok {
			h.call(k, c, results[k])
			continue
		}
		h.block(b, false)
	}
	switch m.StopReason {
	case llm.StopLength:
		h.put(`<p class="warn">The answer was cut at the token limit.</p>`)
	case llm.StopAborted:
		h.put(`<p class="warn">The answer was stopped.</p>`)
	case llm.StopError:
		h.put(`<p class="warn err" role="note">`)
		if m.Error != nil {
			h.limited(m.Error.Error())
		} else {
			h.put("The answer failed.")
		}
		h.put("</p>")
	}
	words := usageWords(m)
	if model := modelOf(m); model != "" {
		words = append([]string{model}, words...)
	}
	if len(words) > 0 {
		h.put(`<footer><span>`)
		for k, w := range words {
			if k > 0 {
				h.put("</span><span>")
			}
			h.text(w)
		}
		h.put("</span></footer>")
	}
	h.put("</article>")
}

func (h *page) blocks(blocks []llm.Block, breaks bool) {
	for _, b := range blocks {
		h.block(b, breaks)
	}
}

// block appends a piece of content that is not a tool call.
func (h *page) block(b llm.Block, breaks bool) {
	switch b := b.(type) {
	case llm.Text:
		if strings.TrimSpace(b.Text) != "" {
			h.markdown(b.Text, breaks)
		}
		h.citations(b.Citations)
	case llm.Thinking:
		h.thinking(b)
	case llm.ToolCall: // outside an answer, where no result belongs to it
		h.call(0, b, nil)
	case llm.Image:
		h.image(b)
	case llm.Document:
		h.document(b)
	case llm.Opaque:
		h.put(`<details class="fold"><summary>Vendor's own record <span class="soft">`)
		h.text(visible(b.Kind))
		h.put(`</span></summary><pre class="out">`)
		h.limited(string(b.Raw))
		h.put("</pre></details>")
	}
}

func (h *page) markdown(s string, breaks bool) {
	shown := prose.Head(s, maxText)
	h.put(`<div class="md">`)
	h.buf = markup.AppendMarkdown(h.buf, shown, breaks)
	h.put("</div>")
	h.left(len(s) - len(shown))
}

func (h *page) thinking(b llm.Thinking) {
	switch {
	case b.Redacted:
		h.put(`<p class="line">Thinking that the vendor encrypted</p>`)
	case strings.TrimSpace(b.Text) != "":
		h.put(`<details class="fold think"><summary>Thinking <span class="soft">`)
		h.text(visible(b.Text))
		h.put("</span></summary>")
		h.markdown(b.Text, true)
		h.put("</details>")
	}
}

func (h *page) citations(sources []llm.Citation) {
	if len(sources) == 0 {
		return
	}
	h.put(`<ul class="cites">`)
	for _, c := range sources {
		h.put("<li>")
		words := visible(c.Title)
		if words == "" {
			words = c.URL
		}
		if link, ok := markup.SafeURL(c.URL); ok {
			h.buf = link.Append(h.buf, words)
		} else {
			h.text(words)
		}
		h.put("</li>")
	}
	h.put("</ul>")
}

// picture is the type of data by its own bytes, if a page may show it. What the
// session says about the type is not asked.
func picture(data []byte) (mime string, ok bool) {
	switch mime = http.DetectContentType(data); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return mime, true
	}
	return "", false
}

func (h *page) image(b llm.Image) {
	mime, ok := picture(b.Data)
	switch {
	case len(b.Data) == 0 && b.URL != "":
		h.put(`<p class="line">Picture: `)
		h.address(b.URL)
		h.put("</p>")
	case !ok:
		h.put(`<p class="line">A picture that this page cannot show: `)
		h.text(b.MIME)
		h.put(", ", bytesWords(len(b.Data)), "</p>")
	case len(b.Data) > maxImage:
		h.put(`<p class="line">A picture too large for this page: `, bytesWords(len(b.Data)), "</p>")
	default:
		h.put(`<img alt="Picture, `, mime[len("image/"):], ", ", bytesWords(len(b.Data)), `"`)
		if c, _, err := image.DecodeConfig(bytes.NewReader(b.Data)); err == nil { // room before it is decoded
			h.put(` width="`, strconv.Itoa(c.Width), `" height="`, strconv.Itoa(c.Height), `"`)
		}
		h.put(` loading="lazy" decoding="async" src="data:`, mime, ";base64,")
		h.buf = base64.StdEncoding.AppendEncode(h.buf, b.Data)
		h.put(`">`)
	}
}

// address appends a link, or the words of an address that must not be one.
func (h *page) address(s string) {
	if link, ok := markup.SafeURL(s); ok {
		h.buf = link.Append(h.buf, prose.Head(s, 200))
		return
	}
	h.text(prose.Head(s, 200))
}

func (h *page) document(b llm.Document) {
	h.put(`<details class="fold"><summary>`)
	name := b.Name
	if name == "" {
		name = "Document"
	}
	h.text(visible(name))
	h.put(` <span class="soft">`)
	h.text(b.MIME)
	if n := len(b.Data); n > 0 {
		h.put(", ", bytesWords(n))
	}
	h.put("</span></summary>")
	if b.URL != "" {
		h.put("<p>")
		h.address(b.URL)
		h.put("</p>")
	}
	if b.Text != "" {
		h.output(b.Text)
	} else {
		h.put(`<p class="line">Its text is not in the session.</p>`)
	}
	h.put("</details>")
}

func (h *page) custom(i int, kind byte) {
	e := h.nodes[i].entry
	class, who := "msg note", "Program: "
	if kind == kindQuiet {
		class, who = "msg note quiet", "Program, hidden: "
	}
	h.open("article", class, i)
	h.by(i, who+e.CustomType)
	blocks, err := e.Words()
	if err != nil {
		h.put(`<pre class="out">`)
		h.limited(string(e.Content))
		h.put("</pre>")
	}
	h.blocks(blocks, false)
	h.put("</article>")
}

// summary is a compaction, across the page, or what was left of a branch.
func (h *page) summary(i int, kind byte) {
	e := h.nodes[i].entry
	words := "Summary of a branch that was left"
	class := "cut branch"
	if kind == kindDivider {
		words, class = "Earlier messages were compacted", "cut"
		if e.TokensBefore > 0 {
			words += " from " + count(e.TokensBefore) + " tokens"
		}
	}
	h.open("section", class, i)
	h.put(`<details class="fold"><summary><span>`, words, "</span>")
	h.label(i)
	h.put("</summary>")
	h.markdown(e.Summary, false)
	h.put("</details></section>")
}

func (h *page) line(i int, kind byte) {
	e := h.nodes[i].entry
	class := "line"
	if kind == kindQuiet {
		class = "line quiet"
	}
	h.open("div", class, i)
	h.text(visible(changeWords(e)))
	h.label(i)
	data := e.Data
	if kind == kindQuiet && data == nil {
		data = rawOf(e)
	}
	if kind == kindQuiet && len(data) > 0 {
		h.put(`<details class="fold"><summary>record</summary><pre class="out">`)
		h.limited(string(data))
		h.put("</pre></details>")
	}
	h.put("</div>")
}

// rawOf is the record of an entry, as stored if that is known.
func rawOf(e *transcript.Entry) json.RawMessage {
	if raw := bytes.TrimSpace(e.Raw); json.Valid(raw) && bytes.IndexByte(raw, '\n') < 0 {
		return raw
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil { // a RawMessage in it is not JSON
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
