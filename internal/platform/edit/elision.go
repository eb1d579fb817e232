package edit

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// elision finds a line of new text that stands for text it leaves out ("// ... rest
// of the code unchanged ..."): written to a file, it would delete what it stands
// for. A line that the replaced text has too is no elision. "" means there is none.
//
// Only whole lines count that are a comment, in brackets, or begin with an
// ellipsis, and only with words that say so; a lone "..." is left alone. The mark
// of a line that [Tagged] has cut counts anywhere.
func elision(name, fresh, old string) string {
	if !mayElide(fresh) {
		return ""
	}
	for line := range strings.Lines(fresh) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, cutMark) && !strings.Contains(old, cutMark) {
			return cutMark
		}
		if len(line) < 160 && mayElide(line) && isElision(line, isProse(name)) && !hasLine(old, line) {
			return line
		}
	}
	return ""
}

// refuseElision is the refusal of text with such a line.
func refuseElision(path, line string) *Refusal {
	return refuse(path, "the new text has %q in the place of text that would be lost", clip(line, 120)).
		hint("Write all of the new text, or edit only the lines that change.")
}

// mayElide is a quick look for words without which nothing is an elision.
func mayElide(s string) bool {
	for _, word := range [...]string{"...", "…", "nchanged", "est of", "mainder of", "xisting", "he same", "as before"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// isProse says that a file is text for people, in which code is quoted with such
// comments.
func isProse(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt", ".org":
		return true
	}
	return false
}

func hasLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}

const elidedThing = `(?:code|file|contents?|implementation|functions?|methods?|class|classes|lines?|imports?|logic|body|` +
	`sections?|props|styles?|fields?|tests?|cases|config|configuration|text|document|component|module|script|page|` +
	`handlers?|routes?|definitions?|declarations?|properties|items|entries|rules|here|unchanged|same|omitted)`

// With an ellipsis or in brackets few words are enough.
var elisionWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z']+ ){0,3}(?:rest|remainder|remaining|existing|previous|original|other|unchanged|same|keep)` +
		`(?: [a-z'-]+){0,4}? ` + elidedThing + `(?: [a-z'-]+){0,5}$` +
		`|^(?:[a-z]+ )?(?:unchanged|omitted|snip|snipped|truncated|same as before|as before|no changes?|(?:remains? )?the same)` +
		`(?: (?:for brevity|code|here|below|above|from here))?$`)
})

// Without, the whole sentence must say it.
var elisionSentence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:the |all )?(?:(?:rest|remainder) of (?:the |this |your )?(?:[a-z]+ )?|` +
		`(?:existing|remaining|previous|original|other) (?:[a-z]+ )?)` + elidedThing +
		` (?:(?:is |are |remains? |stays? )?(?:unchanged|the same|same|as before|as is|omitted)|(?:goes |stays |remains )?here)` +
		`(?: as before| for brevity)?$`)
})

// isElision judges one trimmed line.
func isElision(line string, prose bool) bool {
	body, comment := uncomment(line, prose)
	bracketed := false
	for _, pair := range [...]string{"()", "[]", "<>", "{}"} {
		if len(body) > 2 && body[0] == pair[0] && body[len(body)-1] == pair[1] {
			body, bracketed = strings.TrimSpace(body[1:len(body)-1]), true
			break
		}
	}
	words := strings.TrimSpace(strings.ReplaceAll(body, "…", "..."))
	dotted := strings.HasPrefix(words, "...") || (comment || bracketed) && strings.HasSuffix(words, "...")
	words = strings.ToLower(strings.Trim(words, "()[]<>{}. :;,!-*=#"))
	switch {
	case dotted, bracketed && comment:
		return elisionWords().MatchString(words)
	case bracketed, comment:
		return elisionSentence().MatchString(words)
	}
	return false
}

// uncomment takes the signs of a comment off a line. In prose only those count that
// make a comment there, too.
func uncomment(line string, prose bool) (body string, comment bool) {
	line = strings.TrimSuffix(strings.TrimPrefix(line, "{"), "}") // JSX: {/* … */}
	signs := [...][2]string{
		{"<!--", "-->"}, {"/*", "*/"}, {"//", ""}, {"#", ""}, {"--", ""}, {";", ""}, {"%", ""}, {"*", ""}, {"(*", "*)"},
	}
	for i, s := range signs {
		if prose && i > 0 {
			break
		}
		if rest, ok := strings.CutPrefix(line, s[0]); ok {
			rest = strings.TrimLeft(rest, "/*#-;%")
			return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), s[1])), true
		}
	}
	return strings.TrimSpace(line), false
}
