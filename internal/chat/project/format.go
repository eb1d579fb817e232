package project

import (
	"strings"
	"time"
)

// Format is what the model reads with each message of the person. The transcript and the page keep the message as it was
// written: what stands around it follows from the conversation.
type Format struct {
	// Mode is metadata, which puts a block of facts before the message, or template, which puts the message in a text.
	Mode string `json:"mode"`
	// Time is the time of the message in metadata: local, which is that of Zone, utc, or relative, in seconds since the chat began. "" is none.
	Time string `json:"time,omitempty"`
	// Zone is a time zone such as Europe/Zurich; "" is UTC.
	Zone    string `json:"zone,omitempty"`
	Model   bool   `json:"model,omitempty"`   // that answers
	Context bool   `json:"context,omitempty"` // tokens of the request and answer before
	Cost    bool   `json:"cost,omitempty"`    // of the answers before, in dollars
	// Template is a text with {{userMessage}} in it, and the names of [FormatNames]. {{#name}}…{{/name}} stands only if there is
	// such a fact, {{^name}}…{{/name}} only if there is none.
	Template string `json:"template,omitempty"`
}

// FormatNames are what templates may name.
func FormatNames() []string {
	return []string{"userMessage", "timestamp", "timestampUtc", "timestampRelative", "modelName", "contextWindowUsage", "currentCost", "hasContextWindowUsage", "hasCurrentCost"}
}

func (f *Format) check() error {
	switch {
	case f.Mode != "metadata" && f.Mode != "template":
		return invalid("format.mode: metadata or template, not %q", f.Mode)
	case f.Time != "" && f.Time != "local" && f.Time != "utc" && f.Time != "relative":
		return invalid("format.time: local, utc or relative, not %q", f.Time)
	case len(f.Template) > maxText:
		return invalid("format.template: at most %d bytes, not %d", maxText, len(f.Template))
	}
	if _, err := time.LoadLocation(f.Zone); err != nil {
		return invalid("format.zone: no time zone %q on this server", f.Zone)
	}
	if f.Mode == "metadata" {
		return nil
	}
	known := map[string]string{}
	for _, name := range FormatNames() {
		known[name] = name
	}
	text, err := Filled(f.Template, known)
	if err == nil && !strings.Contains(text, "userMessage") {
		return invalid("format.template: {{userMessage}} is missing")
	}
	return err
}

// Filled puts facts into a template. Nothing is escaped: models read text.
func Filled(template string, facts map[string]string) (string, error) {
	var b strings.Builder
	type section struct {
		name  string
		shown bool
	}
	open := []section{{"", true}}
	for {
		before, rest, found := strings.Cut(template, "{{")
		top := open[len(open)-1]
		if top.shown {
			b.WriteString(before)
		}
		if !found {
			if len(open) > 1 {
				return "", invalid("format.template: {{#%s}} has no end", top.name)
			}
			return b.String(), nil
		}
		name, after, found := strings.Cut(rest, "}}")
		if !found {
			return "", invalid("format.template: {{ has no }}")
		}
		if strings.HasPrefix(name, "{") { // {{{name}}} is the same here
			name, after = name[1:], strings.TrimPrefix(after, "}")
		}
		template = after
		kind := byte(0)
		if name = strings.TrimSpace(name); name != "" && strings.ContainsRune("#^/&", rune(name[0])) {
			kind, name = name[0], strings.TrimSpace(name[1:])
		}
		fact, known := facts[name]
		switch {
		case !known:
			return "", invalid("format.template: {{%s}} is not known; there are %s", name, strings.Join(FormatNames(), ", "))
		case kind == '/' && (len(open) == 1 || top.name != name):
			return "", invalid("format.template: {{/%s}} ends nothing", name)
		case kind == '/':
			open = open[:len(open)-1]
		case kind == '#' || kind == '^':
			open = append(open, section{name, top.shown && (fact != "") == (kind == '#')})
		case top.shown:
			b.WriteString(fact)
		}
	}
}
