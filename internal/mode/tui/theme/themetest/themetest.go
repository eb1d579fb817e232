// Package themetest makes styled lines readable for golden files: a theme in which
// every token has a colour of its own, and the way back from sequences to names.
package themetest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// Theme has a colour of its own for every token: 0x0000NN, NN being the token.
func Theme() *theme.Theme {
	colors := map[string]string{}
	for _, t := range theme.Tokens() {
		colors[t.String()] = fmt.Sprintf("#0000%02x", int(t))
	}
	data, err := json.Marshal(map[string]any{"name": "test", "colors": colors})
	if err != nil {
		panic(err)
	}
	t, err := theme.Parse(data)
	if err != nil {
		panic(err)
	}
	return t
}

// Styles are those of [Theme] for a terminal of all colours.
func Styles() *theme.Styles { return theme.NewStyles(Theme(), theme.TrueColor) }

// Dump writes a styled line with names for sequences: "‹bold accent›text‹›". A
// sequence that is neither SGR of [Styles] nor a hyperlink is written quoted.
func Dump(line string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(line, '\x1b')
		if at < 0 {
			return b.String() + line
		}
		b.WriteString(line[:at])
		line = line[at:]
		switch {
		case strings.HasPrefix(line, "\x1b["):
			end := strings.IndexFunc(line[2:], func(r rune) bool { return r >= '@' })
			if end < 0 || line[2+end] != 'm' {
				return b.String() + strconv.Quote(line)
			}
			b.WriteString("‹" + look(line[2:2+end]) + "›")
			line = line[3+end:]
		case strings.HasPrefix(line, "\x1b]8;;"):
			end := strings.Index(line, "\x1b\\")
			if end < 0 {
				return b.String() + strconv.Quote(line)
			}
			b.WriteString("‹link " + line[5:end] + "›")
			line = line[end+2:]
		default:
			return b.String() + strconv.Quote(line)
		}
	}
}

func look(params string) string {
	names := map[string]string{"0": "", "": "", "1": "bold", "2": "faint", "3": "italic", "4": "underline", "7": "reverse", "9": "strike", "39": "fg", "49": "bg"}
	var words []string
	all := strings.Split(params, ";")
	for i := 0; i < len(all); i++ {
		if (all[i] == "38" || all[i] == "48") && i+4 < len(all) && all[i+1] == "2" {
			n, err := strconv.ParseUint(all[i+4], 10, 8)
			if err != nil {
				return strconv.Quote(params)
			}
			words = append(words, theme.Token(n).String())
			i += 4
			continue
		}
		word, ok := names[all[i]]
		if !ok {
			return strconv.Quote(params)
		}
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}
