package secret

import "strings"

// findAssigned takes the value of an assignment in any syntax of configuration or
// code: name = "value", "name": "value", NAME=value, name: value. at is where
// the end of the name begins. Quoted values and those of NAME=value lines need
// less to be taken for a secret than bare words, which in code are expressions.
func findAssigned(s string, at int) (int, int) {
	i := at
	for i < len(s) && i-at < 20 && (alnum[s[i]] || s[i] == '_' || s[i] == '-') {
		i++ // the name was matched up to here; only digits may follow it
	}
	name := s[at:i]
	if !assignedName(name) {
		return 0, 0
	}
	i, tight := skipSeparator(s, i)
	if i == 0 || i >= len(s) {
		return 0, 0
	}
	quote := byte(0)
	if c := s[i]; c == '"' || c == '\'' || c == '`' {
		quote = c
		i++
	} else if c == '\\' && i+1 < len(s) && s[i+1] == '"' { // a string within a string
		quote = '\\'
		i += 2
	}
	end := valueEnd(s, i, quote)
	value := s[i:end]
	switch {
	case len(value) < 8 || len(value) >= maxAssigned || sample(value) || common(value) || reference(value):
		return 0, 0
	case quote != 0:
		if !strongValue(value) || code(value) {
			return 0, 0
		}
	case tight && shellName(s, at, len(name)):
		if !strongValue(value) || expression(value) {
			return 0, 0
		}
	case !bareSecret(value):
		return 0, 0
	}
	return i, end
}

const maxAssigned = 512

// assignedName says whether name is one of the anchors, perhaps with a number
// behind it: token, token2, TOKEN_2; not token_type.
func assignedName(name string) bool {
	name = strings.TrimRight(strings.TrimRight(name, "0123456789"), "_")
	for _, a := range assigned {
		if len(name) == len(a) && equalFold(name, a) {
			return true
		}
	}
	return false
}

// skipSeparator goes from the end of a name to the beginning of its value, on the
// same line. tight is a bare '=' without spaces. The result is 0 where nothing
// is assigned.
func skipSeparator(s string, i int) (at int, tight bool) {
	start := i
	for i < len(s) && i-start < 4 && strings.IndexByte("\"'`]\\)", s[i]) >= 0 {
		i++
	}
	i = skipSpaces(s, i)
	op := i
	for i < len(s) && i-op < 2 && strings.IndexByte("=:>", s[i]) >= 0 {
		i++
	}
	switch s[op:i] {
	case "=":
		tight = op == start
	case ":", ":=", "=>":
	default:
		return 0, false
	}
	next := skipSpaces(s, i)
	return next, tight && next == i
}

func skipSpaces(s string, i int) int {
	for end := min(len(s), i+40); i < end && (s[i] == ' ' || s[i] == '\t'); {
		i++
	}
	return i
}

// bareEnd has the characters that end an unquoted value, besides spaces.
var bareEnd = newClass("\"'`,;<>\\")

// valueEnd is where the value that begins at i ends. A value longer than
// maxAssigned is cut there and so refused.
func valueEnd(s string, i int, quote byte) int {
	limit := min(len(s), i+maxAssigned)
	for ; i < limit; i++ {
		c := s[i]
		switch {
		case c == '\n' || c == '\r' || c == quote:
			return i
		case quote != 0 && quote != '\\' && c == '\\' && i+1 < limit && s[i+1] != '\n':
			i++
		case quote == 0 && (c <= ' ' || bareEnd[c]):
			return i
		}
	}
	return min(i, limit)
}

// shellName says whether the name that ends at at+n is written in capitals, as
// in a file of NAME=value lines.
func shellName(s string, at, n int) bool {
	if lowers.any(s[at : at+n]) {
		return false
	}
	for at > 0 && wordByte[s[at-1]] {
		at--
		if lowers[s[at]] {
			return false
		}
	}
	return at == 0 || strings.IndexByte("\n \t\"'", s[at-1]) >= 0
}

// reference says whether v names a secret that is kept elsewhere.
func reference(v string) bool {
	if v[0] == '$' && len(v) > 1 && (v[1] == '{' || v[1] == '(' || wordByte[v[1]]) || v[0] == '<' || v[0] == '%' && v[len(v)-1] == '%' {
		return true
	}
	if _, ok := parsePlaceholder(v, 0); ok {
		return true
	}
	return containsAny(v, elsewhere)
}

// elsewhere are marks of places where secrets are kept.
var elsewhere = []string{
	"{{", "${", "env.", "getenv", "environ", "op://", "vault:", "secrets.", "secret:", "arn:aws:", "keychain:", "file:", "http://", "https://",
}

// strongValue says whether a quoted value is a password rather than a word, a
// name or a text: letters with digits or signs among them, no spaces, entropy.
func strongValue(v string) bool {
	if strings.ContainsAny(v, " \t") || pathLike(v) || entropy(v) < 2.6 {
		return false
	}
	letters := lowers.any(v) || uppers.any(v)
	if digits.any(v) {
		return letters && !kebab(v) || len(v) >= 12 && digits.all(v)
	}
	if !alnum.any(v) || !letters {
		return false
	}
	signs := strings.Trim(v, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	odd := strings.IndexFunc(v, func(r rune) bool { return r < 0x7f && strings.ContainsRune("!@#$%^&*+=?~|", r) }) >= 0
	return odd || signs == "" && lowers.any(v) && uppers.any(v) && len(v) >= 12 && !camel(v)
}

// kebab says whether v is words divided by dashes, dots, slashes or underscores of
// which at most the last is a number: my-service-v2, prod.token.1.
func kebab(v string) bool {
	const dividers = "-_./:"
	parts := 0
	for rest := v; rest != ""; {
		end := strings.IndexAny(rest, dividers)
		if end < 0 {
			end = len(rest)
		}
		p := rest[:end]
		rest = strings.TrimLeft(rest[end:], dividers)
		if p == "" {
			continue
		}
		parts++
		word := strings.TrimRight(p, "0123456789")
		if digits.any(word) || len(p)-len(word) > 2 {
			return false
		}
		if word != "" && lowers.any(word) && uppers.any(word[1:]) && !camel(word) {
			return false
		}
	}
	return parts > 1 || len(v) < 12 && len(v)-len(strings.TrimRight(v, "0123456789")) <= 1 && !uppers.any(v)
}

// camel says whether v is an identifier of several words: at least four letters
// between its capitals on average, and vowels as often as in words.
func camel(v string) bool {
	if !wordByte.all(v) {
		return false
	}
	humps, vowels := 1, 0
	for i := range len(v) {
		if strings.IndexByte("aeiouAEIOU", v[i]) >= 0 {
			vowels++
		}
	}
	if vowels*4 < len(v) {
		return false
	}
	for i := 1; i < len(v); i++ {
		if uppers[v[i]] && !uppers[v[i-1]] || v[i] == '_' {
			humps++
		}
	}
	return len(v)/humps >= 4
}

// code says whether what follows a quote is code, since the quote ended a string
// instead of beginning one, as in "the token: " + err.Error(), or a format.
func code(v string) bool {
	verb := strings.Contains(v, "%d") || strings.Contains(v, "%s") || strings.Contains(v, "%v")
	return verb && !digits.any(v) || strings.Contains(v, "()")
}

// expression says whether a bare value is code.
func expression(v string) bool { return strings.ContainsAny(v, "()[]{}") }

// bareSecret says whether a bare word is drawn by chance: long, letters and
// digits that alternate more often than in a name.
func bareSecret(v string) bool {
	if len(v) < 12 || expression(v) || pathLike(v) || !random(v) || !digits.any(v) || kebab(v) {
		return false
	}
	changes := 0
	for i := 1; i < len(v); i++ {
		if digits[v[i]] != digits[v[i-1]] {
			changes++
		}
	}
	return changes >= 3
}
