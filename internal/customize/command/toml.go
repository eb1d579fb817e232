package command

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// tomlStrings reads the texts that stand before the first table of a TOML file, which
// is all that Gemini's commands have. Values of other types are passed over.
func tomlStrings(text string) map[string]string {
	values := map[string]string{}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for text != "" {
		l, rest, _ := strings.Cut(text, "\n")
		trimmed := strings.TrimSpace(l)
		if strings.HasPrefix(trimmed, "[") {
			break
		}
		key, value, ok := strings.Cut(l, "=")
		if trimmed == "" || trimmed[0] == '#' || !ok {
			text = rest
			continue
		}
		from := text[len(key)+1:]
		from = from[len(value)-len(strings.TrimLeft(value, " \t")):]
		s, n, ok := tomlString(from)
		if !ok {
			text = rest
			continue
		}
		key = strings.Trim(strings.TrimSpace(key), `"'`)
		if _, twice := values[key]; !twice {
			values[key] = s
		}
		_, text, _ = strings.Cut(from[n:], "\n")
	}
	return values
}

// tomlString reads one string of any of the four forms, and says how long it is. A text
// of several lines that was cut goes on to the end.
func tomlString(s string) (value string, n int, ok bool) {
	for _, quote := range []string{`"""`, "'''"} {
		body, found := strings.CutPrefix(s, quote)
		if !found {
			continue
		}
		end := tomlEnd(body, quote)
		n = min(len(s), 2*len(quote)+end)
		body = strings.TrimPrefix(body[:end], "\n")
		if quote == `"""` {
			body = tomlEscapes(body)
		}
		return body, n, true
	}
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return "", 0, false
	}
	l, _, _ := strings.Cut(s[1:], "\n")
	end := tomlEnd(l, s[:1])
	if end == len(l) {
		return "", 0, false
	}
	if value = l[:end]; s[0] == '"' {
		value = tomlEscapes(value)
	}
	return value, end + 2, true
}

// tomlEnd is where a quote ends a text, or the text's end.
func tomlEnd(s, quote string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && quote[0] == '"' {
			i++
			continue
		}
		if strings.HasPrefix(s[i:], quote) {
			return i
		}
	}
	return len(s)
}

// tomlEscapes resolves the escapes of a basic string; wrong ones stay as they are.
func tomlEscapes(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		at := strings.IndexByte(`btnfr"\`, s[i])
		switch {
		case at >= 0:
			b.WriteByte("\b\t\n\f\r\"\\"[at])
		case s[i] == '\n': // the line goes on
			for i+1 < len(s) && strings.IndexByte(" \t\n", s[i+1]) >= 0 {
				i++
			}
		case s[i] == 'u' || s[i] == 'U':
			digits := 4
			if s[i] == 'U' {
				digits = 8
			}
			code, err := strconv.ParseUint(s[i+1:min(len(s), i+1+digits)], 16, 32)
			if err != nil || i+digits >= len(s) || !utf8.ValidRune(rune(code)) {
				b.WriteString(`\` + s[i:i+1])
				continue
			}
			b.WriteRune(rune(code))
			i += digits
		default:
			b.WriteString(`\` + s[i:i+1])
		}
	}
	return b.String()
}
