package openai

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// GPT-5 models are trained to call tools in the Harmony format, whose routing
// header is "<|channel|>commentary to=functions.NAME <|message|>". Now and then
// they write that header as plain text, without its brackets, into the arguments
// of a call, followed by " code " and junk of other scripts. The call is valid
// JSON and would run.

// harmonyMarker is what every leak contains. OpenAI masks the bracketed control
// tokens inside arguments, so the words stand bare.
const harmonyMarker = "to=functions."

// Evidence around a marker, in points. The marker alone proves nothing: files
// and prose may talk about it. A leak needs harmonyEnough points, which no
// single weak sign gives.
const (
	harmonyEnough = 3

	harmonyChannel  = 2  // a channel word directly before the marker
	harmonyBody     = 2  // the body marker "code" directly after the name
	harmonyFormat   = 1  // the content type "json" in its place
	harmonyGlitch   = 3  // a barely trained token before the marker
	harmonyOdd      = 2  // a token of that kind that is also an ordinary word
	harmonyBrackets = 2  // 】 or 【 before the marker
	harmonyClosing  = 1  // } before the marker
	harmonyScript   = 1  // letters of another script directly before, or soon after
	harmonyOutput   = 2  // an invented tool result soon after
	harmonyAgain    = 1  // another marker soon after, with a body of its own
	harmonyQuoted   = -2 // quotation marks around it: someone writes about it
)

// How far the context reaches, in bytes.
const (
	harmonyBefore = 96
	harmonyAfter  = 256
)

var (
	harmonyWords = []string{"analysis", "assistant", "commentary", "user"}
	// Surface strings of tokens that trigger the collapse, longest first.
	harmonyTokens = map[string]int{"Jsii_commentary": harmonyGlitch, "Japgolly": harmonyGlitch, "Jsii": harmonyGlitch, "RTLU": harmonyGlitch, "changedFiles": harmonyOdd}
)

// leaksHarmony reports whether the model is of the family that leaks.
func leaksHarmony(id string) bool { return strings.Contains(strings.ToLower(id), "gpt-5") }

// spoilLeak marks an open call whose arguments hold leaked control text.
func spoilLeak(block int, b *llm.Builder) {
	if !b.IsOpen(block) {
		return
	}
	if args := b.Written(block); bytes.Contains(args, []byte(harmonyMarker)) {
		if _, found := DetectLeak(string(args)); found {
			b.Spoil(block, llm.DefectCorrupt)
		}
	}
}

// DetectLeak looks for Harmony control text that a GPT-5 model wrote into s, the
// arguments of a call as JSON or any other text. at is the offset in bytes from
// which on s cannot be trusted; what stands before it is the model's real work.
//
// It avoids false positives: the routing marker alone, as in a file about the
// format, is not a leak. A text without the marker costs one search.
func DetectLeak(s string) (at int, found bool) {
	for from := 0; ; {
		i := strings.Index(s[from:], harmonyMarker)
		if i < 0 {
			return 0, false
		}
		i += from
		from = i + len(harmonyMarker)
		end := harmonyName(s, from)
		if end == from {
			continue
		}
		before, start, opened := harmonyPrefix(s, i)
		if before+harmonySuffix(s, end, opened) >= harmonyEnough {
			return start, true
		}
	}
}

// harmonyName is where the name that begins at i ends.
func harmonyName(s string, i int) int {
	for i < len(s) && (s[i] == '_' || s[i] == '-' || '0' <= s[i] && s[i] <= '9' || 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z') {
		i++
	}
	return i
}

// harmonyPrefix weighs what stands before the marker at i and finds where the
// junk begins. opened says that a JSON string begins there.
func harmonyPrefix(s string, i int) (score, start int, opened bool) {
	low := max(0, i-harmonyBefore)
	start = i
	channel, script, brackets := false, false, false
scan:
	for p := harmonyTrim(s, low, i); p > low; p = harmonyTrim(s, low, p) {
		rest := s[low:p]
		r, size := harmonyLastRune(rest)
		token, points := harmonyToken(rest)
		word := harmonyWord(rest)
		switch {
		case token != "":
			score, p = score+points, p-len(token)
		case word != "" && !channel:
			channel = true
			score, p = score+harmonyChannel, p-len(word)
		case r == '【' || r == '】':
			brackets, p = true, p-size
		case harmonyForeign(r):
			script, p = true, p-size
		default:
			switch {
			case strings.HasSuffix(rest, "|>"): // control tokens in brackets are no leak
				return harmonyQuoted, i, false
			case r == '"' && s[0] == '{' && !strings.HasSuffix(rest, `\"`):
				opened = true
			case harmonyQuote(rest[len(rest)-1]):
				score += harmonyQuoted
			case r == '}':
				score += harmonyClosing
			}
			break scan
		}
		start = p
	}
	if script {
		score += harmonyScript
	}
	if brackets {
		score += harmonyBrackets
	}
	return score, start, opened
}

// harmonyToken is the glitch token that s ends in.
func harmonyToken(s string) (token string, points int) {
	for t, n := range harmonyTokens {
		if len(t) > len(token) && strings.HasSuffix(s, t) {
			token, points = t, n
		}
	}
	return token, points
}

// harmonyWord is the channel word that s ends in, standing for itself. Letters
// of other scripts may touch it.
func harmonyWord(s string) string {
	for _, w := range harmonyWords {
		rest, ok := strings.CutSuffix(s, w)
		if !ok {
			continue
		}
		if rest == "" || harmonyTrim(rest, 0, len(rest)) < len(rest) {
			return w
		}
		r, _ := harmonyLastRune(rest)
		if strings.ContainsRune("_-./", r) || r <= unicode.MaxLatin1 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return ""
		}
		return w
	}
	return ""
}

// harmonySuffix weighs what follows the name that ends at i; opened is what
// harmonyPrefix said.
func harmonySuffix(s string, i int, opened bool) (score int) {
	tail := s[i:min(len(s), i+harmonyAfter)]
	body := harmonySkip(tail)
	word := tail[body:]
	if strings.HasPrefix(word, "<|") {
		return harmonyQuoted
	}
	switch {
	case body > 0 && harmonyIs(word, "code"):
		score, word = harmonyBody, word[len("code"):]
	case body > 0 && harmonyIs(word, "json"):
		score, word = harmonyFormat, word[len("json"):]
	}
	// A string that is nothing but the header is searched for, not executed.
	if opened && strings.HasPrefix(word, `"`) || strings.HasPrefix(word, "`") || strings.HasPrefix(word, `\"`) {
		return score + harmonyQuoted
	}
	if strings.Contains(tail, "code_output") {
		score += harmonyOutput
	}
	if again := strings.Index(tail, harmonyMarker); again >= 0 {
		next := tail[again+len(harmonyMarker):]
		next = next[harmonyName(next, 0):]
		if n := harmonySkip(next); n > 0 && harmonyIs(next[n:], "code") {
			score += harmonyAgain
		}
	}
	if harmonyRun(tail[:min(len(tail), harmonyBefore)]) {
		score += harmonyScript
	}
	return score
}

// harmonyIs says whether s begins with the word and nothing of ASCII continues it.
func harmonyIs(s, word string) bool {
	rest, ok := strings.CutPrefix(s, word)
	return ok && (rest == "" || harmonyName(rest[:1], 0) == 0)
}

// harmonyRun says whether s holds two letters of another script in a row.
func harmonyRun(s string) bool {
	n := 0
	for len(s) > 0 {
		r, size := harmonyFirstRune(s)
		s = s[size:]
		if !harmonyForeign(r) {
			n = 0
			continue
		}
		if n++; n == 2 {
			return true
		}
	}
	return false
}

// harmonyForeign says whether r is a letter of one of the scripts that junk
// comes in.
func harmonyForeign(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Cyrillic,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Thai, unicode.Georgian, unicode.Armenian, unicode.Arabic)
}

// The text may be JSON with its escapes: \n for a line end, \uXXXX for a letter.

// harmonyFirstRune is the first character of s, which is not empty.
func harmonyFirstRune(s string) (r rune, size int) {
	if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if r, ok := harmonyHex(s[2:6]); ok {
			return r, 6
		}
	}
	return utf8.DecodeRuneInString(s)
}

// harmonyLastRune is the last character of s, which is not empty.
func harmonyLastRune(s string) (r rune, size int) {
	if n := len(s) - 6; n >= 0 && s[n] == '\\' && s[n+1] == 'u' {
		if r, ok := harmonyHex(s[n+2:]); ok {
			return r, 6
		}
	}
	return utf8.DecodeLastRuneInString(s)
}

func harmonyHex(s string) (r rune, ok bool) {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func harmonyQuote(c byte) bool { return c == '`' || c == '"' || c == '\'' }

// harmonyTrim goes back from p over white space, escaped or not.
func harmonyTrim(s string, low, p int) int {
	for p > low {
		switch {
		case s[p-1] == ' ' || s[p-1] == '\n' || s[p-1] == '\t' || s[p-1] == '\r':
			p--
		case p-low >= 2 && s[p-2] == '\\' && (s[p-1] == 'n' || s[p-1] == 't' || s[p-1] == 'r'):
			p -= 2
		default:
			return p
		}
	}
	return p
}

// harmonySkip is the length of the white space s begins with.
func harmonySkip(s string) int {
	i := 0
	for i < len(s) {
		switch {
		case s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r':
			i++
		case i+1 < len(s) && s[i] == '\\' && (s[i+1] == 'n' || s[i+1] == 't' || s[i+1] == 'r'):
			i += 2
		default:
			return i
		}
	}
	return i
}
