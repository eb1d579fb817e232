package secret

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Values of Entry.Type and Entry.Mode.
const (
	Plain     = "plain"
	Regex     = "regex"
	Obfuscate = "obfuscate" // a placeholder, restored in tool calls
	Replace   = "replace"   // never restored
)

// Entry is one entry of secrets.yml.
type Entry struct {
	Type    string `yaml:"type"`    // plain (the default) or regex
	Content string `yaml:"content"` // the value, or an expression (RE2), perhaps written /expression/flags
	Mode    string `yaml:"mode"`    // obfuscate (the default) or replace
	// Replacement stands in place of the secret in replace mode. Without it, as
	// many x as the secret has bytes do.
	Replacement string `yaml:"replacement"`
	Flags       string `yaml:"flags"` // of an expression: i, m, s; g, u and y mean nothing here
	Name        string `yaml:"name"`  // shown in the placeholder
}

// minPlain is the least length of a plain content in bytes.
const minPlain = 4

// Validate checks the entry. An error is one line and holds no value.
func (e Entry) Validate() error {
	_, err := e.compile()
	return err
}

// compile is the expression of the entry, nil for a plain one.
func (e Entry) compile() (*regexp.Regexp, error) {
	if e.Mode != "" && e.Mode != Obfuscate && e.Mode != Replace {
		return nil, fmt.Errorf("mode is %q; it may be %s or %s", e.Mode, Obfuscate, Replace)
	}
	if e.Replacement != "" && e.Mode != Replace {
		return nil, fmt.Errorf("replacement needs mode: %s", Replace)
	}
	switch e.Type {
	case Plain, "":
		return nil, e.checkPlain()
	case Regex:
		return e.expression()
	}
	return nil, fmt.Errorf("type is %q; it may be %s or %s", e.Type, Plain, Regex)
}

func (e Entry) checkPlain() error {
	switch {
	case e.Flags != "":
		return fmt.Errorf("flags need type: %s", Regex)
	case len(e.Content) < minPlain:
		return fmt.Errorf("content is shorter than %d bytes and would match everywhere", minPlain)
	case strings.Contains(strings.ToLower(placeholderStart), strings.ToLower(e.Content)):
		return errors.New("content is part of every placeholder")
	case e.Replacement != "" && strings.Contains(e.Replacement, e.Content):
		return errors.New("replacement holds the content")
	}
	return nil
}

func (e Entry) expression() (*regexp.Regexp, error) {
	expr, flags := e.Content, e.Flags
	if end := strings.LastIndexByte(expr, '/'); end > 0 && expr[0] == '/' && lowers.all(expr[end+1:]) {
		flags += expr[end+1:]
		expr = expr[1:end]
	}
	expr = strings.ReplaceAll(expr, `\/`, "/")
	if expr == "" {
		return nil, errors.New("content is empty")
	}
	set := ""
	for _, f := range flags {
		switch f {
		case 'i', 'm', 's':
			set += string(f)
		case 'g', 'u', 'y':
		default:
			return nil, fmt.Errorf("unknown flag %q (want i, m or s)", f)
		}
	}
	if set != "" {
		expr = "(?" + set + ")" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		var bad *syntax.Error
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("content is not a valid RE2 expression: %s", bad.Code)
		}
		return nil, fmt.Errorf("content is not a valid RE2 expression: %w", err)
	}
	if re.MatchString("") {
		return nil, errors.New("content matches the empty text, and so everywhere")
	}
	return re, nil
}

// stand is what stands in place of text in replace mode.
func (e *Entry) stand(text string) string {
	if e.Replacement != "" {
		return e.Replacement
	}
	return strings.Repeat("x", len(text))
}

// pattern is a compiled regex entry.
type pattern struct {
	re     *regexp.Regexp
	prefix string // every match begins with it
	entry  Entry
	kind   string
}

// scan appends the matches in s.
func (p *pattern) scan(s string, out []span) []span {
	if p.prefix != "" && !strings.Contains(s, p.prefix) {
		return out
	}
	for _, m := range p.re.FindAllStringIndex(s, -1) {
		// What stands there already is left alone, so that hiding ends.
		if m[0] == m[1] || p.entry.Mode == Replace && s[m[0]:m[1]] == p.entry.stand(s[m[0]:m[1]]) {
			continue
		}
		sp := span{lo: m[0], hi: m[1], kind: p.kind, pattern: true}
		if p.entry.Mode == Replace {
			sp.replace = &p.entry
		}
		out = append(out, sp)
	}
	return out
}

// addEntry takes up an entry of secrets.yml.
func (v *Vault) addEntry(e Entry) error {
	re, err := e.compile()
	if err != nil {
		return err
	}
	name := v.safeName(e.Name)
	if re == nil {
		var replace *Entry
		if e.Mode == Replace {
			replace = &e
		}
		v.know(e.Content, "entry:"+name, name, replace)
		return nil
	}
	prefix, _ := re.LiteralPrefix()
	v.patterns = append(v.patterns, &pattern{re: re, prefix: prefix, entry: e, kind: "entry:" + name})
	if tree, err := syntax.Parse(re.String(), syntax.Perl); err != nil || crossesLines(tree) {
		v.whole = true
	}
	return nil
}

// crossesLines reports whether a match may hold a line break or depend on where the
// text begins or ends.
func crossesLines(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpBeginText, syntax.OpEndText:
		return true
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if crossesLines(sub) {
			return true
		}
	}
	return false
}

// checkReplacements refuses replacements that would be hidden themselves, since
// hiding a text again would change it again.
func (v *Vault) checkReplacements() error {
	check := func(e *Entry) error {
		if e != nil && e.Replacement != "" && v.apply(e.Replacement, v.spans(e.Replacement)) != e.Replacement {
			return fmt.Errorf("secrets.yml: the replacement of entry %q would be hidden itself", e.Name)
		}
		return nil
	}
	for _, val := range v.byText {
		if err := check(val.replace); err != nil {
			return err
		}
	}
	for _, p := range v.patterns {
		if p.entry.Mode == Replace {
			if err := check(&p.entry); err != nil {
				return err
			}
		}
	}
	return nil
}
