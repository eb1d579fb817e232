package sqlview

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	defaultRows = 20
	maxRows     = 500
)

// params are what follows "?" behind a table.
type params struct {
	limit, offset int
	order, where  string
}

// nextParam is where another parameter begins. An "&" in a value that does not
// look like one is part of it.
var nextParam = regexp.MustCompile(`&[A-Za-z_]+=`)

func parseParams(s string) (params, error) {
	p := params{limit: defaultRows}
	for s != "" {
		one := s
		s = ""
		if m := nextParam.FindStringIndex(one); m != nil {
			one, s = one[:m[0]], one[m[0]+1:]
		}
		key, value, _ := strings.Cut(one, "=")
		value = unescape(value)
		var err error
		switch key {
		case "limit":
			if p.limit, err = strconv.Atoi(value); err != nil || p.limit < 1 {
				return p, fmt.Errorf("limit must be a number from 1 to %d, not %q", maxRows, value)
			}
			p.limit = min(p.limit, maxRows)
		case "offset":
			if p.offset, err = strconv.Atoi(value); err != nil || p.offset < 0 {
				return p, fmt.Errorf("offset must be a number from 0, not %q", value)
			}
		case "order":
			p.order = value
		case "where":
			if p.where = value; value != "" {
				err = checkWhere(value)
			}
		case "q":
			err = errors.New("q stands alone, behind the database: db?q=SELECT …")
		default:
			err = fmt.Errorf("unknown parameter %q; known are limit, offset, order and where", key)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// unescape undoes the escapes of a URL. Models write SQL as it is more often than
// escaped, so only a value without white space is taken as escaped.
func unescape(s string) string {
	if strings.ContainsAny(s, " \t\n") {
		return s
	}
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// controlWords would make more of a condition than a condition.
var controlWords = []string{
	"LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT", "ATTACH", "DETACH", "PRAGMA", "VACUUM", "INSERT", "UPDATE",
	"DELETE", "DROP", "CREATE", "ALTER", "ORDER", "GROUP", "HAVING", "RETURNING", "WINDOW",
}

// checkWhere refuses a condition that ends itself.
func checkWhere(where string) error {
	depth := 0
	for _, t := range tokens(where) {
		switch {
		case t.comment:
			return errors.New("where must not hold comments")
		case t.text == ";":
			return errors.New("where must not hold semicolons")
		case t.text == "(":
			depth++
		case t.text == ")":
			if depth--; depth < 0 {
				return errors.New("where closes a parenthesis that it does not open")
			}
		case t.word && slices.Contains(controlWords, strings.ToUpper(t.text)):
			return fmt.Errorf("where must be a plain condition, without %s; use ?q=SELECT … for more", strings.ToUpper(t.text))
		}
	}
	if depth != 0 {
		return errors.New("where does not close a parenthesis")
	}
	return nil
}

// checkQuery makes sure that a query is one statement that reads.
func checkQuery(q string) error {
	first, ended := "", false
	for _, t := range tokens(q) {
		switch {
		case t.comment:
		case t.text == ";":
			ended = true
		case ended:
			return errors.New("only one statement at a time")
		case t.text == "?" || len(t.text) > 1 && (t.text[0] == '?' || t.text[0] == ':' || t.text[0] == '@' || t.text[0] == '$'):
			return fmt.Errorf("the query has a parameter, %s; write the value", t.text)
		case first == "":
			first = strings.ToUpper(t.text)
		}
	}
	switch first {
	case "SELECT", "WITH", "EXPLAIN", "PRAGMA", "VALUES":
		return nil
	case "":
		return errors.New("the query is empty")
	}
	return fmt.Errorf("only SELECT, WITH, VALUES, EXPLAIN and PRAGMA are allowed here, not %s", first)
}

// token is a word, a sign, a text in quotes (whose content does not matter here),
// or a comment.
type token struct {
	text    string
	word    bool
	comment bool
}

// tokens splits SQL as far as is needed to tell words from what is quoted.
func tokens(s string) []token {
	var list []token
	for i := 0; i < len(s); {
		c := s[i]
		start := i
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			i++
			continue
		case c == '\'' || c == '"' || c == '`':
			i = endOfQuoted(s, i+1, c)
			list = append(list, token{text: s[start : start+1]})
		case c == '[':
			i = endOfQuoted(s, i+1, ']')
			list = append(list, token{text: "["})
		case strings.HasPrefix(s[i:], "--"):
			if end := strings.IndexByte(s[i:], '\n'); end >= 0 {
				i += end + 1
			} else {
				i = len(s)
			}
			list = append(list, token{comment: true})
		case strings.HasPrefix(s[i:], "/*"):
			if end := strings.Index(s[i+2:], "*/"); end >= 0 {
				i += end + 4
			} else {
				i = len(s)
			}
			list = append(list, token{comment: true})
		case isWord(c) || c == '?' || c == ':' || c == '@' || c == '$':
			for i++; i < len(s) && isWord(s[i]); i++ {
			}
			list = append(list, token{text: s[start:i], word: isWord(c)})
		default:
			i++
			list = append(list, token{text: s[start:i]})
		}
	}
	return list
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func endOfQuoted(s string, i int, quote byte) int {
	for ; i < len(s); i++ {
		if s[i] != quote {
			continue
		}
		if quote != ']' && i+1 < len(s) && s[i+1] == quote {
			i++
			continue
		}
		return i + 1
	}
	return len(s)
}
