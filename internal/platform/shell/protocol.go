package shell

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The protocol with a persistent shell. The shell has three pipes: commands come
// in on descriptor 0, output goes out on 8, reports go out on 9. Bash reads
// frames and evaluates each; other shells read the same text as a script. A frame
// evaluates one command with its own three descriptors (an empty input, the output
// for the other two) and with 8 and 9 closed, so that neither the command nor
// anything it starts holds an end of the shell's pipes. Before the command the frame
// prints a mark into the output, behind everything that background processes have
// written till then, and after the command another one, and a report. All contain a
// token that nobody knows before, and that no variable holds while the command runs.
//
// The interpreter in burin has frames of its own and makes the same reports.
//
// A report is a sequence of fields, each ended by NUL: the token, the exit code,
// the folder, and what "export -p" printed.
const (
	// loopBash reads frames: the number of characters on a line, the text, a NUL.
	// Bash reads a pipe byte by byte unless it is given a number, which is
	// characters of its locale, so the text is ASCII. Before 4.1 it could not be;
	// macOS has a 3.2. A NUL before a number is dropped.
	//
	// Bash counts the lines of a command from its eval, which therefore has to be
	// on the first line of a string that is evaluated. The variable is overwritten
	// by the frame before its command runs.
	loopBash = `case $BASH_VERSION in ` +
		`[123].*|4.0*) while IFS= read -r _burin && IFS= read -r -d '' _burin; do eval "$_burin"; done;; ` +
		`*) while IFS= read -r _burin && IFS= read -r -N "$_burin" _burin; do eval "$_burin"; done;; esac`

	// politeEnd lets a shell that is asked to end wait for the program it runs. It
	// would die at once, and its guard would then kill the program.
	politeEnd = `trap 'exit 143' TERM; `

	prologue = politeEnd + `exec 8>&1 9>&2 >/dev/null 2>&1` + "\n"

	maxField = 4 << 20 // of a report; more is no report
)

// wire is what is sent to the shell so that it runs text.
func (k kind) wire(text string) string {
	if k == bash {
		return strconv.Itoa(len(text)) + "\n" + text + "\x00"
	}
	return text
}

// quote makes one word of s that the shell takes literally. For bash it is ASCII.
func (k kind) quote(s string) string {
	if k != bash || isASCII(s) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	b := make([]byte, 0, 2*len(s)+3)
	b = append(b, "$'"...)
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x80:
			b = fmt.Appendf(b, `\%o`, c)
		case c == '\'' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '\''))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// frame is the text that runs r and reports.
func (k kind) frame(r request, token string) string {
	if k == builtin {
		return interpreterFrame(r, token)
	}
	var b strings.Builder
	b.Grow(len(r.line) + 512)
	b.WriteString("for _burin in 1; do ") // takes a stray "break"; ends a shell that cannot set it before the mark
	fmt.Fprintf(&b, `\command printf '%s' >&8; `, beginMark(token))
	if r.move != "" {
		b.WriteString(`\command cd -- ` + k.quote(r.move) + "; ")
	}
	if r.dir != "" {
		b.WriteString(`\command cd -- ` + k.quote(r.dir) + " 2>&8 && ")
	}
	for _, v := range r.env {
		name, value, _ := strings.Cut(v, "=")
		b.WriteString(name + "=" + k.quote(value) + " ")
	}
	b.WriteString(`\command eval ` + k.quote(r.line) + " </dev/null >&8 2>&8 8>&- 9>&-; done\n")
	// What follows stands each word against aliases, functions, errexit and a
	// DEBUG trap of the user.
	fmt.Fprintf(&b, `\command printf '%s\0%%s\0' "$?" >&9`+"\n", token)
	b.WriteString(`\set +e` + "\n")
	if r.dir != "" {
		b.WriteString(`\command cd -- ` + k.quote(r.back) + "\n")
	}
	fmt.Fprintf(&b, `\command printf '%s' >&8`+"\n", endMark(token))
	b.WriteString(`\command pwd ` + pwdFlag + ` >&9` + "\n")
	b.WriteString(`\command printf '\0' >&9` + "\n")
	b.WriteString(`\command export -p >&9` + "\n")
	b.WriteString(`\command printf '\0' >&9` + "\n")
	return b.String()
}

// hello is the text that reports the start of the shell.
func hello(token string) string {
	return fmt.Sprintf(`\command printf '%s\0%%s\0\0\0' 0 >&9`+"\n", token)
}

// beginMark and endMark are what is printed into the output.
func beginMark(token string) string { return "\x1e" + token + "\x1e" }
func endMark(token string) string   { return "\x1e\x1e" + token + "\x1e" }

func newToken() string { return rand.Text() }

// message is a report.
type message struct {
	token   string
	code    int
	dir     string // "" if the shell does not know
	exports string
}

var errReport = errors.New("not a report")

// readMessage reads a report. If it cannot, what it read is in place of the token:
// a shell that does not start complains there.
func readMessage(r *bufio.Reader) (message, error) {
	var f [4]string
	for i := range f {
		field, err := readField(r)
		if err != nil {
			return message{token: field}, err
		}
		f[i] = field
	}
	m := message{token: f[0], dir: strings.TrimSuffix(f[2], "\n"), exports: f[3]}
	m.token = m.token[max(len(m.token)-tokenLen, 0):]
	code, err := strconv.Atoi(f[1])
	if err != nil {
		return message{}, errReport
	}
	m.code = code
	return m, nil
}

const tokenLen = 26 // of rand.Text

func readField(r *bufio.Reader) (string, error) {
	var b []byte
	for {
		p, err := r.ReadSlice(0)
		b = append(b, p...)
		switch {
		case err == nil:
			return string(b[:len(b)-1]), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if errors.Is(err, io.EOF) && len(b) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return string(b), err
		case len(b) > maxField:
			return "", errReport
		}
	}
}

// splitter finds a mark in a stream.
type splitter struct {
	mark string
	held []byte // the end of what was seen, which may begin the mark
}

// split gives what of p, and of what it held back before, comes before the mark,
// and once the mark is found what follows it.
func (s *splitter) split(p []byte) (before, after []byte, found bool) {
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	if i := bytes.Index(p, []byte(s.mark)); i >= 0 {
		return p[:i], p[i+len(s.mark):], true
	}
	for from := max(len(p)-len(s.mark)+1, 0); from < len(p); from++ {
		i := bytes.IndexByte(p[from:], s.mark[0])
		if i < 0 {
			break
		}
		from += i
		if strings.HasPrefix(s.mark, string(p[from:])) {
			s.held = bytes.Clone(p[from:])
			return p[:from], nil, false
		}
	}
	return p, nil, false
}
