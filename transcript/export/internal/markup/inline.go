package markup

import (
	"html"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of inline text; what is beyond is plain text.
const (
	maxAddress = 2048 // bytes of a link's target
	maxTicks   = 64   // length of a run of backticks that opens a code span
	maxEntity  = 32
)

// piece is a part of a line: finished HTML, or a run of delimiters that may open
// or close emphasis.
type piece struct {
	html  string
	char  byte // '*', '_' or '~'; 0 for HTML
	count int  // delimiters not yet used
	size  int  // delimiters at first
	open  bool
	close bool
	pre   string // end tags, before the delimiters left
	post  string // start tags, after them
}

type inliner struct {
	s        string
	pos      int
	text     int // start of plain text not yet taken
	pieces   []piece
	brackets []bracket
	noTicks  [maxTicks + 1]bool // no closing run of this length follows
	breaks   bool
}

type bracket struct {
	piece int // index of the piece that holds it
	image bool
}

// inline appends s with emphasis, code, links and breaks.
func (r *renderer) inline(s string) {
	if !strings.ContainsAny(s, "*_`[]<&\\~\n:!") {
		r.dst = AppendText(r.dst, s)
		return
	}
	p := inliner{s: s, breaks: r.breaks}
	p.scan()
	p.emphasize(0)
	for i := range p.pieces {
		d := &p.pieces[i]
		r.put(d.pre)
		for range d.count {
			r.dst = append(r.dst, d.char)
		}
		r.put(d.html)
		r.put(d.post)
	}
}

func (p *inliner) scan() {
	for p.pos < len(p.s) {
		c := p.s[p.pos]
		switch c {
		case '\\':
			p.escape()
		case '`':
			p.code()
		case '*', '_', '~':
			p.delimiters(c)
		case '!':
			if strings.HasPrefix(p.s[p.pos:], "![") {
				p.bracket(2)
			} else {
				p.pos++
			}
		case '[':
			p.bracket(1)
		case ']':
			p.closeBracket()
		case '<':
			p.angle()
		case '&':
			p.entity()
		case '\n':
			p.newline()
		case ':':
			p.bareAddress()
		default:
			p.pos++
		}
	}
	p.flush(p.pos)
}

// flush takes the plain text up to at.
func (p *inliner) flush(at int) {
	if p.text < at {
		p.pieces = append(p.pieces, piece{html: string(AppendText(nil, p.s[p.text:at]))})
	}
	p.text = p.pos
}

// emit takes the plain text before the position, adds html and goes on n bytes later.
func (p *inliner) emit(n int, html string) {
	p.flush(p.pos)
	p.pieces = append(p.pieces, piece{html: html})
	p.pos += n
	p.text = p.pos
}

func (p *inliner) escape() {
	rest := p.s[p.pos+1:]
	switch {
	case rest == "":
		p.pos++
	case rest[0] == '\n':
		p.emit(2, "<br>")
	case rest[0] < utf8.RuneSelf && (unicode.IsPunct(rune(rest[0])) || unicode.IsSymbol(rune(rest[0]))):
		p.emit(2, string(AppendText(nil, rest[:1])))
	default:
		p.pos++
	}
}

func (p *inliner) code() {
	n := run(p.s[p.pos:])
	if n > maxTicks || p.noTicks[n] {
		p.pos += n
		return
	}
	for i := p.pos + n; ; {
		at := strings.IndexByte(p.s[i:], '`')
		if at < 0 {
			p.noTicks[n] = true
			p.pos += n
			return
		}
		i += at
		m := run(p.s[i:])
		if m == n {
			body := strings.ReplaceAll(p.s[p.pos+n:i], "\n", " ")
			if len(body) > 2 && body[0] == ' ' && body[len(body)-1] == ' ' && strings.TrimSpace(body) != "" {
				body = body[1 : len(body)-1]
			}
			p.emit(i+n-p.pos, "<code>"+string(AppendText(nil, body))+"</code>")
			return
		}
		i += m
	}
}

// run is how often the first byte of s is repeated.
func run(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

func (p *inliner) delimiters(c byte) {
	n := run(p.s[p.pos:])
	if c == '~' && n != 2 {
		p.pos += n
		return
	}
	before, _ := utf8.DecodeLastRuneInString(p.s[:p.pos])
	after, _ := utf8.DecodeRuneInString(p.s[p.pos+n:])
	space := func(r rune) bool { return r == utf8.RuneError || unicode.IsSpace(r) }
	punct := func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
	left := !space(after) && (!punct(after) || space(before) || punct(before))
	right := !space(before) && (!punct(before) || space(after) || punct(after))
	d := piece{char: c, count: n, size: n, open: left, close: right}
	if c == '_' {
		d.open = left && (!right || punct(before))
		d.close = right && (!left || punct(after))
	}
	p.flush(p.pos)
	p.pieces = append(p.pieces, d)
	p.pos += n
	p.text = p.pos
}

// emphasize pairs the delimiters of the pieces from index from on. For every kind
// of closer it remembers how far down there was no opener, which keeps the time
// linear.
func (p *inliner) emphasize(from int) {
	bottom := map[[3]int]int{}
	var stack []int // openers, in order
	for i := from; i < len(p.pieces); i++ {
		closer := &p.pieces[i]
		if closer.char == 0 {
			continue
		}
		if closer.close {
			stack = p.closeWith(i, stack, bottom)
			closer = &p.pieces[i]
		}
		if closer.open && closer.count > 0 {
			stack = append(stack, i)
		}
	}
	for i := from; i < len(p.pieces); i++ { // must not pair with anything outside a link
		p.pieces[i].open, p.pieces[i].close = false, false
	}
}

func (p *inliner) closeWith(i int, stack []int, bottom map[[3]int]int) []int {
	closer := &p.pieces[i]
	for closer.count > 0 {
		key := [3]int{int(closer.char), closer.size % 3, 0}
		if closer.open {
			key[2] = 1
		}
		at := len(stack) - 1
		for ; at >= 0 && stack[at] >= bottom[key]; at-- {
			o := &p.pieces[stack[at]]
			odd := (o.close || closer.open) && (o.size+closer.size)%3 == 0 && (o.size%3 != 0 || closer.size%3 != 0)
			if o.char == closer.char && !odd {
				break
			}
		}
		if at < 0 || stack[at] < bottom[key] {
			bottom[key] = i
			return stack
		}
		o := &p.pieces[stack[at]]
		n, tag := 1, "em>"
		switch {
		case closer.char == '~':
			n, tag = 2, "s>"
		case o.count >= 2 && closer.count >= 2:
			n, tag = 2, "strong>"
		}
		o.count -= n
		closer.count -= n
		o.post = "<" + tag + o.post
		closer.pre += "</" + tag
		stack = stack[:at+1]
		if o.count == 0 {
			stack = stack[:at]
		}
	}
	return stack
}

func (p *inliner) bracket(n int) {
	p.flush(p.pos)
	p.brackets = append(p.brackets, bracket{piece: len(p.pieces), image: n == 2})
	p.pieces = append(p.pieces, piece{html: p.s[p.pos : p.pos+n]})
	p.pos += n
	p.text = p.pos
}

func (p *inliner) closeBracket() {
	if len(p.brackets) == 0 {
		p.pos++
		return
	}
	b := p.brackets[len(p.brackets)-1]
	p.brackets = p.brackets[:len(p.brackets)-1]
	target, n := destination(p.s[p.pos+1:])
	if n == 0 {
		p.pos++
		return
	}
	p.flush(p.pos)
	p.pos += 1 + n
	p.text = p.pos
	p.emphasize(b.piece)
	p.brackets = p.brackets[:0] // a link holds no link
	link, ok := SafeURL(target)
	open := &p.pieces[b.piece]
	if !ok {
		open.html = ""
		p.pieces = append(p.pieces, piece{html: ` <small class="to">` + string(AppendText(nil, shorten(target, 80))) + "</small>"})
		return
	}
	open.html = link.open()
	if b.image {
		open.html += "image: "
	}
	p.pieces = append(p.pieces, piece{html: "</a>" + link.target(p.words(b.piece+1))})
}

// words is the text of the pieces from index from on, if it is one piece: enough to
// see that a link shows its own address.
func (p *inliner) words(from int) string {
	if len(p.pieces)-from != 1 {
		return ""
	}
	return html.UnescapeString(p.pieces[from].html)
}

// destination reads "(target "title")" and its length; 0 if s does not begin so.
func destination(s string) (target string, n int) {
	if s == "" || s[0] != '(' {
		return "", 0
	}
	s = s[:min(len(s), maxAddress)]
	i := 1
	for i < len(s) && (s[i] == ' ' || s[i] == '\n') {
		i++
	}
	start, depth := i, 0
	if i < len(s) && s[i] == '<' {
		end := strings.IndexAny(s[i:], ">\n")
		if end < 0 || s[i+end] == '\n' {
			return "", 0
		}
		target, i = s[i+1:i+end], i+end+1
	} else {
	scan:
		for ; i < len(s); i++ {
			switch c := s[i]; {
			case c == '\\' && i+1 < len(s):
				i++
			case c == '(':
				depth++
			case c == ')':
				if depth == 0 {
					break scan
				}
				depth--
			case c <= ' ':
				break scan
			}
		}
		target = s[start:min(i, len(s))]
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\n') {
		i++
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		end := strings.IndexByte(s[i+1:], s[i])
		if end < 0 {
			return "", 0
		}
		for i += end + 2; i < len(s) && s[i] == ' '; i++ {
			continue
		}
	}
	if i >= len(s) || s[i] != ')' {
		return "", 0
	}
	return target, i + 1
}

func (p *inliner) angle() {
	rest := p.s[p.pos:]
	for _, br := range [...]string{"<br>", "<br/>", "<br />"} {
		if strings.HasPrefix(rest, br) {
			p.emit(len(br), "<br>")
			return
		}
	}
	end := strings.IndexAny(rest[1:min(len(rest), maxAddress)], "> \n<")
	if end > 0 && rest[1+end] == '>' && len(p.brackets) == 0 {
		address := rest[1 : 1+end]
		if strings.Contains(address, "@") && !strings.Contains(address, ":") {
			address = "mailto:" + address
		}
		if link, ok := SafeURL(address); ok {
			p.emit(end+2, link.open()+string(AppendText(nil, rest[1:1+end]))+"</a>")
			return
		}
	}
	p.pos++
}

func (p *inliner) entity() {
	rest := p.s[p.pos:]
	end := strings.IndexByte(rest[:min(len(rest), maxEntity)], ';')
	if end > 1 {
		if text := html.UnescapeString(rest[:end+1]); text != rest[:end+1] {
			p.emit(end+1, string(AppendText(nil, text)))
			return
		}
	}
	p.pos++
}

func (p *inliner) newline() {
	hard := p.breaks || strings.HasSuffix(p.s[p.text:p.pos], "  ")
	if !hard {
		p.pos++
		return
	}
	p.emit(1, "<br>")
}

// bareAddress makes a link of http:// or https:// and what follows, except where
// a bracket is open: that may become a link, and links do not nest.
func (p *inliner) bareAddress() {
	rest := p.s[p.pos:]
	scheme := ""
	for _, s := range [...]string{"https", "http"} {
		if strings.HasPrefix(rest, "://") && strings.HasSuffix(p.s[p.text:p.pos], s) {
			scheme = s
			break
		}
	}
	start := p.pos - len(scheme)
	if scheme == "" || len(p.brackets) > 0 || start > 0 && wordByte(p.s[start-1]) {
		p.pos++
		return
	}
	rest = p.s[start:min(len(p.s), start+maxAddress)]
	if end := strings.IndexAny(rest, " \t\n<>\"`|"); end >= 0 {
		rest = rest[:end]
	}
	rest = trimAddress(rest)
	link, ok := SafeURL(rest)
	if !ok {
		p.pos++
		return
	}
	p.pos = start
	p.emit(len(rest), link.open()+string(AppendText(nil, rest))+"</a>")
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// trimAddress leaves out the punctuation of the sentence around an address.
func trimAddress(s string) string {
	opened, closed := strings.Count(s, "("), strings.Count(s, ")")
	for s != "" {
		switch c := s[len(s)-1]; {
		case strings.IndexByte(".,:;!?'*_~]}", c) >= 0:
		case c == ')' && closed > opened:
			closed--
		default:
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}

// Link is an address that may be followed.
type Link struct {
	href  string // percent-encoded
	shown string // for people: host in ASCII, so that look-alike letters are seen
}

// SafeURL reads an absolute address of http, https or mailto. Everything else is
// refused.
func SafeURL(address string) (Link, bool) {
	address = strings.TrimSpace(address)
	if len(address) > maxAddress {
		return Link{}, false
	}
	u, err := url.Parse(address)
	if err != nil {
		return Link{}, false
	}
	switch u.Scheme {
	case "http", "https":
		host, err := idna.Punycode.ToASCII(u.Hostname())
		if err != nil || host == "" {
			return Link{}, false
		}
		if port := u.Port(); port != "" {
			host += ":" + port
		}
		u.User = nil // "https://bank.example@evil.example" shows where it really goes
		u.Host = host
		return Link{href: u.String(), shown: host + strings.TrimSuffix(u.EscapedPath(), "/")}, true
	case "mailto":
		return Link{href: u.String(), shown: u.Opaque}, u.Opaque != ""
	}
	return Link{}, false
}

// Append appends the link with words for its text, and where it goes if the words do not say.
func (l Link) Append(dst []byte, words string) []byte {
	dst = append(dst, l.open()...)
	dst = AppendText(dst, words)
	return append(append(dst, "</a>"...), l.target(words)...)
}

func (l Link) open() string {
	return `<a rel="noopener noreferrer nofollow" target="_blank" href="` + string(AppendAttr(nil, l.href)) + `">`
}

func (l Link) target(words string) string {
	if strings.TrimSuffix(words, "/") == strings.TrimSuffix(l.href, "/") || words == l.shown {
		return ""
	}
	return ` <small class="to">` + string(AppendText(nil, shorten(l.shown, 60))) + "</small>"
}

// shorten cuts s to about n bytes at a rune.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
