package secret

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// keyKind is the kind of private keys in any armor.
const keyKind = "private-key"

// finders is like [finder], for secrets of several pieces. Each piece is hidden by
// itself, so that what stands between them (line numbers, paths, marks of a diff)
// stays as it is, and an edit of one line changes nothing else.
type finders func(s string, at int, out []span) []span

const (
	// maxArmor is the longest armor with what its lines are prefixed with, in bytes.
	maxArmor = 2 * maxPEM
	// maxRule is the longest line that begins or ends an armor, in bytes.
	maxRule = 512
	// encodedBegin is "-----BEGIN " in base64.
	encodedBegin = "LS0tLS1CRUdJTi"
)

// findKeys finds the private key whose first or last line names it at at. A key that
// stands alone is one piece; one whose lines are prefixed has a piece for each line.
// Of a key that is cut what is there is found: its lines behind BEGIN, or before END.
func findKeys(s string, at int, out []span) []span {
	if lo, hi := findPEM(s, at); hi > lo {
		return append(out, span{lo: lo, hi: hi, kind: keyKind})
	}
	before := s[max(0, at-30):at]
	begin, end := strings.LastIndex(before, "-- BEGIN "), strings.LastIndex(before, "-- END ")
	if begin < 0 {
		begin = strings.LastIndex(before, "-----BEGIN ")
	}
	if end < 0 {
		end = strings.LastIndex(before, "-----END ")
	}
	switch {
	case begin > end:
		return armorBehind(s, at, out)
	case end >= 0:
		return armorBefore(s, at, out)
	}
	return out
}

// ruleFrame is the skeleton of what stands before the rule of an armor that names
// something at at, and whether a '+' of a diff ends it.
func ruleFrame(s string, at int) (frame string, diff bool) {
	from := max(0, at-maxRule)
	from += strings.LastIndexByte(s[from:at], '\n') + 1
	prefix := s[from:at]
	prefix = strings.TrimSuffix(prefix, "----") // at is within the rule
	for _, rule := range [...]string{"-----BEGIN ", "-----END ", "---- BEGIN ", "---- END "} {
		if i := strings.LastIndex(prefix, rule); i >= 0 {
			prefix = prefix[:i]
		}
	}
	return skeleton(prefix), strings.HasSuffix(prefix, "+")
}

// armorBehind takes the lines behind a BEGIN.
func armorBehind(s string, at int, out []span) []span {
	frame, diff := ruleFrame(s, at)
	i := nextLine(s, at, maxRule)
	if i < 0 {
		return out
	}
	first, keyed, others, ended := len(out), 0, 0, false
	for limit := min(len(s), i+maxArmor); i < limit && others <= 6; {
		eol := endOfLine(s, i, min(limit, i+maxRule))
		line := s[i:eol]
		if ended = endsArmor(line); ended || strings.Contains(line, "-BEGIN ") {
			break
		}
		lo, hi, ok := bodyOf(line, frame, diff)
		switch {
		case ok && !header(line[:lo], frame):
			out = append(out, span{lo: i + lo, hi: i + hi, kind: keyKind, piece: true})
			keyed += hi - lo
		case keyed > 0:
			others = 7
		default:
			others++ // headers, and the empty line behind them
		}
		i = eol + 1
	}
	if keyed < 32 || !ended && keyed < 64 {
		return out[:first]
	}
	return out
}

// armorBefore takes the lines before an END whose BEGIN is not in the text.
func armorBefore(s string, at int, out []span) []span {
	frame, diff := ruleFrame(s, at)
	i := strings.LastIndexByte(s[max(0, at-maxRule):at], '\n')
	if i < 0 {
		return out
	}
	i += max(0, at-maxRule)
	for least := max(0, i-maxArmor); i > least; {
		from := strings.LastIndexByte(s[least:i], '\n') + 1 + least
		line := s[from:i]
		lo, hi, ok := bodyOf(line, frame, diff)
		if !ok || header(line[:lo], frame) || strings.Contains(line, "-----") || i-from > maxRule {
			break
		}
		out = append(out, span{lo: from + lo, hi: from + hi, kind: keyKind, piece: true})
		i = from - 1
	}
	return out
}

// header reports whether what stands before a body is the name of a header.
func header(prefix, frame string) bool {
	return strings.HasSuffix(prefix, ": ") && skeleton(prefix) != frame
}

// endsArmor reports whether a line ends an armor.
func endsArmor(line string) bool {
	return strings.Contains(line, "-----END ") || strings.Contains(line, "---- END ")
}

// findPutty takes the private lines of a PuTTY key.
func findPutty(s string, at int, out []span) []span {
	const name = "Private-Lines: "
	end := digits.run(s, at+len(name)-1+1, 4)
	n, err := strconv.Atoi(s[min(at+len(name), end):end])
	if err != nil || n > 512 {
		return out
	}
	from := max(0, at-maxRule)
	from += strings.LastIndexByte(s[from:at], '\n') + 1
	frame, diff := skeleton(s[from:at]), strings.HasSuffix(s[from:at], "+")
	i := nextLine(s, end, maxRule)
	for ; n > 0 && i >= 0 && i < len(s); n-- {
		eol := endOfLine(s, i, len(s))
		lo, hi, ok := bodyOf(s[i:eol], frame, diff)
		if !ok {
			break
		}
		out = append(out, span{lo: i + lo, hi: i + hi, kind: keyKind, piece: true})
		i = eol + 1
	}
	return out
}

// findEncoded takes a private key that is in base64 as a whole, as in a kubeconfig,
// perhaps over several lines.
func findEncoded(s string, at int, out []span) []span {
	end := base64Any.run(s, at, maxArmor)
	head := s[at:min(end, at+64)]
	plain, err := base64.StdEncoding.DecodeString(head[:len(head)/4*4])
	if err != nil || !strings.Contains(string(plain), "PRIVATE") {
		return out
	}
	out = append(out, span{lo: at, hi: end, kind: keyKind, piece: true})
	from := max(0, at-maxRule)
	from += strings.LastIndexByte(s[from:at], '\n') + 1
	frame := skeleton(s[from:at])
	for i, width := end, end-at; width >= 40 && (i < len(s) && s[i] == '\n' || strings.HasPrefix(s[i:], "\r\n")); {
		i += 1 + strings.IndexByte(s[i:], '\n')
		eol := endOfLine(s, i, len(s))
		lo, hi, ok := bodyOf(s[i:eol], frame, false)
		if !ok || hi-lo > width {
			break
		}
		out = append(out, span{lo: i + lo, hi: i + hi, kind: keyKind, piece: true})
		if i += hi; hi-lo < width {
			break
		}
	}
	return out
}

// jwkMembers are the private members of a JSON Web Key.
var jwkMembers = []string{`d`, `p`, `q`, `dp`, `dq`, `qi`, `k`}

// findJWK takes the private members of the JSON Web Key that says its type at at.
func findJWK(s string, at int, out []span) []span {
	const kty = `"kty`
	lo, hi := max(0, at-maxRule*8), min(len(s), at+maxRule*8)
	if i := strings.LastIndex(s[lo:at], kty); i >= 0 {
		lo += i + len(kty)
	}
	if i := strings.Index(s[at+1:hi], kty); i >= 0 {
		hi = at + 1 + i
	}
	if i := strings.LastIndexAny(s[lo:at], "{}"); i >= 0 {
		lo += i
	}
	if i := strings.IndexByte(s[at:hi], '}'); i >= 0 {
		hi = at + i
	}
	for _, name := range jwkMembers {
		for i := lo; i < hi; {
			n := strings.Index(s[i:hi], name)
			if n < 0 {
				break
			}
			i += n + len(name)
			if i-len(name) == 0 || s[i-len(name)-1] != '"' || i >= hi || s[i] != '"' && s[i] != '\\' {
				continue
			}
			v := i
			for v < hi && strings.IndexByte("\"\\: \t\r\n", s[v]) >= 0 {
				v++
			}
			if end := urlWord.run(s, v, 2048); end-v >= 16 && strings.Contains(s[i:v], ":") {
				out = append(out, span{lo: v, hi: end, kind: keyKind})
			}
		}
	}
	return out
}

var hexPairs = newClass("0-9a-fA-F:")

// findHexKey takes the numbers of a private key as openssl prints them: pairs of hex
// digits with colons, over several lines.
func findHexKey(s string, at int, out []span) []span {
	for i := nextLine(s, at, 64); i >= 0 && i < len(s); {
		eol := endOfLine(s, i, min(len(s), i+maxRule))
		line := strings.TrimRight(s[i:eol], " \r")
		lo := len(line)
		for lo > 0 && hexPairs[line[lo-1]] {
			lo--
		}
		if lo == 0 || line[lo-1] != ' ' && line[lo-1] != '\t' || len(line)-lo < 2 || len(line)-lo > 2 && line[lo+2] != ':' {
			break
		}
		out = append(out, span{lo: i + lo, hi: i + len(line), kind: keyKind, piece: true})
		i = eol + 1
	}
	return out
}

// keyWidths are the lengths of lines of PEM and of OpenSSH keys.
const (
	pemWidth = 64
	sshWidth = 70
)

// orphans takes lines that look like those of a key whose beginning and end are not
// in the text: 64 or 70 characters of base64 alone on a line, but for what tools put
// before lines, and a shorter line behind them. Lines of armors that are public, such
// as certificates, are none if the text or a file that was read says what they are.
func (v *Vault) orphans(s string, out []span) []span {
	const stride = 48 // a line of 64 cannot pass between two looks
	for i := stride - 1; i+15 < len(s); i += stride {
		if !pemByte[s[i]] || !pemByte[s[i+5]] || !pemByte[s[i+10]] || !pemByte[s[i+15]] {
			continue // the first look into such a line is at least 16 before its end
		}
		from, eol, lo, hi, ok := orphanAt(s, i)
		if !ok {
			continue
		}
		group := len(out)
		out = append(out, span{lo: lo, hi: hi, kind: keyKind, piece: true, guess: true})
		frame, diff := skeleton(s[from:lo]), strings.HasSuffix(s[from:lo], "+")
		before, width := from, hi-lo
		for eol < len(s) {
			next := endOfLine(s, eol+1, min(len(s), eol+1+maxRule))
			lo, hi, ok := bodyOf(s[eol+1:next], frame, diff)
			if !ok || skeleton(s[eol+1:eol+1+lo]) != frame {
				break
			}
			if hi-lo > width { // lines of other lengths: other data
				out = out[:group]
				break
			}
			out = append(out, span{lo: eol + 1 + lo, hi: eol + 1 + hi, kind: keyKind, piece: true, guess: true})
			if eol = next; hi-lo < width {
				break
			}
		}
		if group == len(out) || publicAround(s, before, eol) || otherData(s, before, width) || v.public.holds(s[out[group].lo:out[group].hi]) {
			out = out[:group]
		}
		i = max(i, eol-stride+1)
	}
	return out
}

// openOrphans is where lines begin at the end of text that may be those of a key, or
// -1: what follows says more about them. text ends with a line break.
func openOrphans(text string) int {
	open, full := -1, false
	for end := len(text) - 1; end > 0 && len(text)-end < maxArmor; {
		from := strings.LastIndexByte(text[:end], '\n') + 1
		line := text[from:end]
		lo, hi, ok := bodyOf(line, "", false)
		if n := hi - lo; ok && (n == pemWidth || n == sshWidth || n == pemWidth+1 || n == sshWidth+1) && end-from <= maxRule {
			open, full = from, true
		} else if full || open >= 0 || len(text)-end > 1 {
			break
		}
		end = from - 1
	}
	if !full {
		return -1
	}
	return open
}

// orphanAt is the line that holds i, if its body is as long as those of keys.
func orphanAt(s string, i int) (from, eol, lo, hi int, ok bool) {
	lo, hi = i, i
	for lo > 0 && i-lo <= sshWidth+2 && pemByte[s[lo-1]] {
		lo--
	}
	for hi < len(s) && hi-i <= sshWidth+2 && pemByte[s[hi]] {
		hi++
	}
	if n := hi - lo; (n == pemWidth+1 || n == sshWidth+1) && s[lo] == '+' {
		lo++
	}
	if n := hi - lo; n != pemWidth && n != sshWidth {
		return 0, 0, 0, 0, false
	}
	from = max(0, lo-maxRule)
	from += strings.LastIndexByte(s[from:lo], '\n') + 1
	eol = endOfLine(s, hi, min(len(s), hi+16))
	text := s[lo:hi]
	if !lineMark(s[from:lo]) || !afterBody(s[hi:eol]) || !lowers.any(text) || !uppers.any(text) || !random(text) {
		return 0, 0, 0, 0, false
	}
	return from, eol, lo, hi, true
}

// lineMark reports whether p is what tools put before the lines of a file: spaces, a
// number, a path with a number, the sign of a diff or of a quotation, a quote.
func lineMark(p string) bool {
	p = strings.TrimSpace(p)
	p = strings.TrimRight(p, "\"'`> \t")
	if strings.Trim(p, "0123456789+-><|#: \t") == "" {
		return true
	}
	// path:12: and path-12-, and a tag of read: 12:k3|
	sep := p[len(p)-1]
	if sep != ':' && sep != '-' && sep != '|' {
		return false
	}
	p = p[:len(p)-1]
	word := p[strings.LastIndexAny(p, ":-# ")+1:]
	return word != "" && digits.all(word) || sep == '|' || strings.Contains(word, ".")
}

// otherData says whether the line before lo is base64 too, of another length.
func otherData(s string, lo, width int) bool {
	if lo == 0 {
		return false
	}
	from := max(0, lo-1-maxRule)
	from += strings.LastIndexByte(s[from:lo-1], '\n') + 1
	first, last, ok := bodyOf(s[from:lo-1], "", false)
	return ok && last-first >= 40 && last-first != width
}

// publicAround says whether the lines from lo to hi are those of an armor that holds
// nothing private.
func publicAround(s string, lo, hi int) bool {
	before := s[max(0, lo-maxRule):lo]
	if i := strings.LastIndex(before, "BEGIN "); i > 0 && strings.IndexByte("- ", before[i-1]) >= 0 && !endsArmor(before[i:]) && !strings.Contains(before[i:], "PRIVATE") {
		return true
	}
	if strings.LastIndex(before, "Public-Lines: ") >= 0 {
		return true
	}
	behind := s[hi:min(len(s), hi+maxRule)]
	i := strings.Index(behind, "END ")
	return i >= 0 && endsArmor(behind) && strings.Count(behind[:i], "\n") <= 2 && !strings.Contains(behind[i:min(len(behind), i+40)], "PRIVATE")
}

// bodyOf is the piece of a line that is the body of an armor. The line is prefixed
// like others with that frame, or its body is long.
func bodyOf(line, frame string, diff bool) (lo, hi int, ok bool) {
	hi = len(strings.TrimRight(line, " \t\r"))
	for hi > 0 && !pemByte[line[hi-1]] {
		hi--
	}
	if hi > 1 && line[hi-1] == '+' && strings.IndexByte(" \"'", line[hi-2]) >= 0 { // "…" +
		hi = len(strings.TrimRight(line[:hi-1], " \"'"))
	}
	for strings.HasSuffix(line[:hi], `\n`) || strings.HasSuffix(line[:hi], `\r`) {
		hi -= 2
	}
	for lo = hi; lo > 0 && pemByte[line[lo-1]]; {
		lo--
	}
	if diff && lo < hi && line[lo] == '+' {
		lo++
	}
	if lo == hi || !afterBody(line[hi:]) {
		return 0, 0, false
	}
	return lo, hi, hi-lo >= 32 || skeleton(line[:lo]) == frame
}

// afterBody says whether t is what may follow the body of a line in code.
func afterBody(t string) bool {
	t = strings.TrimSpace(t)
	for strings.HasPrefix(t, `\n`) || strings.HasPrefix(t, `\r`) {
		t = t[2:]
	}
	return strings.Trim(t, "\"'`,;+\\ ") == ""
}

// skeleton is a prefix without what differs from line to line: numbers and names are
// one letter, spaces none, and grep's '-' for the lines around a match is its ':'.
func skeleton(p string) string {
	if p == "" {
		return ""
	}
	out := make([]byte, 0, 24)
	word := false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case alnum[c]:
			if !word {
				out = append(out, 'a')
			}
			word = true
			continue
		case c == ' ' || c == '\t' || c == '+' && i == len(p)-1:
		case c == '-' && (i == len(p)-1 || digits[p[i+1]]):
			out = append(out, ':')
		default:
			out = append(out, c)
		}
		word = false
	}
	return string(out)
}

// nextLine is where the line behind the one at i begins, or -1.
func nextLine(s string, i, most int) int {
	i = min(i, len(s))
	if n := strings.IndexByte(s[i:min(len(s), i+most)], '\n'); n >= 0 {
		return i + n + 1
	}
	return -1
}

// endOfLine is where the line at i ends, at most at limit.
func endOfLine(s string, i, limit int) int {
	if i >= limit {
		return limit
	}
	if n := strings.IndexByte(s[i:limit], '\n'); n >= 0 {
		return i + n
	}
	return limit
}
