package anthropic

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/burin-dev/burin/llm/wire"
)

// FoundryFromEnv reads the variables of Foundry mode. on reports whether
// CLAUDE_CODE_USE_FOUNDRY (1, true, yes or on) asks for it; the other results
// are empty otherwise. The options hold FOUNDRY_BASE_URL (may be empty: the
// model's own), ANTHROPIC_FOUNDRY_API_KEY as a bearer token (Key is nil where it
// is not set) and the headers of ANTHROPIC_CUSTOM_HEADERS. Certificates are
// those of [wire.OptionsFromEnv].
func FoundryFromEnv(getenv func(string) string) (o Options, on bool, err error) {
	switch strings.ToLower(strings.TrimSpace(getenv("CLAUDE_CODE_USE_FOUNDRY"))) {
	case "1", "true", "yes", "on":
	default:
		return Options{}, false, nil
	}
	headers, err := ParseCustomHeaders(getenv("ANTHROPIC_CUSTOM_HEADERS"))
	if err != nil {
		return Options{}, true, fmt.Errorf("ANTHROPIC_CUSTOM_HEADERS: %w", err)
	}
	o = Options{BearerAuth: true, Endpoint: wire.Endpoint{
		BaseURL: strings.TrimSpace(getenv("FOUNDRY_BASE_URL")),
		Headers: headers,
	}}
	if key := strings.TrimSpace(getenv("ANTHROPIC_FOUNDRY_API_KEY")); key != "" {
		o.Key = func(context.Context) (string, error) { return key, nil }
	}
	return o, true, nil
}

// nextHeader finds where a comma separates two headers: what follows looks like
// a name and its colon. Other commas belong to the value before them, as in
// "anthropic-beta: a,b"; the colon of a URL begins no value.
var nextHeader = regexp.MustCompile(`,\s*[!#$%&'*+.^_|~0-9A-Za-z-]+:(?:[^/]|$)`)

var headerName = regexp.MustCompile(`^[!#$%&'*+.^_|~0-9A-Za-z-]+$`)

// ParseCustomHeaders reads the list of ANTHROPIC_CUSTOM_HEADERS: "name: value",
// separated by line ends or commas. An error names the position of the faulty
// entry, counted from 1, and never its text, which may be a secret.
func ParseCustomHeaders(list string) (map[string]string, error) {
	var out map[string]string
	n := 0
	for line := range strings.Lines(list) {
		for line = strings.TrimSpace(line); line != ""; {
			entry := line
			line = ""
			if at := nextHeader.FindStringIndex(entry); at != nil {
				entry, line = entry[:at[0]], strings.TrimSpace(entry[at[0]+1:])
			}
			entry = strings.Trim(entry, ", \t\r")
			if entry == "" {
				continue
			}
			n++
			name, value, found := strings.Cut(entry, ":")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			if !found || !headerName.MatchString(name) {
				return nil, fmt.Errorf("entry %d is not of the form \"name: value\"", n)
			}
			if out == nil {
				out = map[string]string{}
			}
			out[name] = value
		}
	}
	return out, nil
}
