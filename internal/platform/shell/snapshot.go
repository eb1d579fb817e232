package shell

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/burin-dev/burin/internal/platform/process"
)

// startup is what the user's bash start-up files define. It is taken once, by the
// first command: the files may do anything, and a session without commands has no
// reason to run them. It is not kept for the next session: functions and aliases
// may hold secrets, and what the files read in turn is not known, so nothing could
// tell when a copy is out of date.
type startup struct {
	path  string        // of bash
	limit time.Duration // of the start-up files
	once  sync.Once
	done  chan struct{}
	text  string // set before done is closed
}

const (
	startupTime = 5 * time.Second // that a command waits for the start-up files
	startupLast = 2 * time.Minute // that they may run on behind it
	startupMax  = 64 << 10        // bytes of text that is kept; more is too slow to read in each shell
	dumpMax     = 2 << 20         // bytes of what bash prints

	// startupGrace is how long start-up files that are not waited for any more may
	// take to end in their own way. Close waits for it too.
	startupGrace = time.Second
)

// startupText is what new shells of a kind evaluate first. It waits while the start-up files
// are being read, so that a command finds its aliases or never does. It is empty
// if they cannot be read, are not wanted, or take too long.
func (s *Shells) startupText(ctx context.Context, k kind) (string, error) {
	if !s.o.Snapshot || k != bash {
		return "", nil
	}
	s.rc.once.Do(func() {
		s.rc.done = make(chan struct{})
		s.wg.Go(func() {
			defer close(s.rc.done)
			s.rc.text = s.readStartup()
		})
	})
	select {
	case <-s.rc.done:
		return s.rc.text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-s.closing:
		return "", ErrClosed
	}
}

// readStartup runs an interactive bash, which reads the start-up files of the user,
// and lets it print what they defined.
func (s *Shells) readStartup() string {
	files, err := pipes(1)
	if err != nil {
		return ""
	}
	token := newToken()
	conf := s.confinement()
	dump := &limited{max: dumpMax}
	p, err := start(launch{
		path: s.rc.path, args: []string{"--noprofile", "-i", "-c", dumpScript(token)},
		options: process.Options{Dir: s.o.Dir, Env: s.shellEnv(state{}, conf), Sandbox: conf.policy},
		stdout:  files[0].w, out: files[0].r, to: dump,
	})
	if err != nil {
		return ""
	}
	timer := time.NewTimer(s.rc.limit)
	defer timer.Stop()
	select {
	case <-timer.C:
		// Whoever kills start-up files can leave a lock behind on which every shell of the
		// user waits from then on: on a busy machine they are merely slow.
		s.wg.Go(func() {
			timer := time.NewTimer(startupLast)
			defer timer.Stop()
			select {
			case <-p.ended:
			case <-timer.C:
			case <-s.closing:
			}
			p.leave(startupGrace)
		})
		return ""
	case <-p.ended:
	case <-s.closing:
	}
	p.leave(startupGrace)
	parts := strings.Split(dump.buf.String(), "\x1e"+token+"\x1e")
	if len(parts) != 5 { // what start-up files print, options, functions, aliases, nothing
		return ""
	}
	return startupOf(parts[1], parts[2], parts[3])
}

// leave ends a program that nobody waits for any more, and returns when it has
// ended: what it started is asked to end, so that it can put away its locks, and
// what is left after the grace is killed. An interactive bash itself does not heed
// that request, but goes on, and often reaches its end in that time.
func (p *program) leave(grace time.Duration) {
	if !p.over() {
		p.terminate()
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.ended:
		case <-timer.C:
		}
	}
	p.kill()
	<-p.ended
}

// dumpScript prints options, functions and aliases between marks.
func dumpScript(token string) string {
	mark := `\builtin printf '\036%s\036' ` + token + "\n"
	return mark + `\builtin shopt -p` + "\n" + mark + `\builtin declare -f` + "\n" + mark + `\builtin alias -p` + "\n" + mark
}

// startupOf makes the text that defines them again.
func startupOf(options, functions, aliases string) string {
	var b strings.Builder
	for line := range strings.Lines(options) {
		if f := strings.Fields(line); len(f) == 3 && meaningful[f[2]] {
			b.WriteString(line)
		}
	}
	b.WriteString(neededFunctions(functions, aliases))
	for line := range strings.Lines(aliases) {
		if !asksBack(line) {
			b.WriteString(line)
		}
	}
	if b.Len() > startupMax {
		return ""
	}
	return b.String()
}

// meaningful are the options that change what a command means; the others are
// about editing lines and completing words.
var meaningful = map[string]bool{
	"dotglob": true, "expand_aliases": true, "extglob": true, "failglob": true, "globstar": true, "lastpipe": true,
	"nocaseglob": true, "nocasematch": true, "nullglob": true, "sourcepath": true, "xpg_echo": true,
}

// asksBack says whether a line of "alias -p" makes one of the programs that change
// files ask before each. Nobody can answer, and they would change nothing.
func asksBack(line string) bool {
	name, value, _ := strings.Cut(strings.TrimPrefix(line, "alias "), "=")
	switch name {
	case "rm", "cp", "mv", "ln":
		return strings.Contains(value, " -i") || strings.Contains(value, " -I") || strings.Contains(value, "--interactive")
	}
	return false
}

// neededFunctions leaves out the functions that complete words, often hundreds:
// those whose name begins with "_", unless an alias or a function that stays
// mentions them.
func neededFunctions(text, aliases string) string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return text
	}
	bodies := map[string]string{}
	var order, queue []string
	for _, stmt := range file.Stmts {
		f, ok := stmt.Cmd.(*syntax.FuncDecl)
		if !ok || f.Name == nil {
			return text
		}
		name := f.Name.Value
		bodies[name] = text[stmt.Pos().Offset():stmt.End().Offset()]
		order = append(order, name)
		if !strings.HasPrefix(name, "_") {
			queue = append(queue, name)
		}
	}
	keep := map[string]bool{}
	mention := func(text string) {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !isWord(byte(r)) }) {
			if _, ok := bodies[word]; ok && !keep[word] {
				queue = append(queue, word)
			}
		}
	}
	mention(aliases)
	for len(queue) > 0 {
		name := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if !keep[name] {
			keep[name] = true
			mention(bodies[name])
		}
	}
	var b strings.Builder
	for _, name := range order {
		if keep[name] {
			b.WriteString(bodies[name] + "\n")
		}
	}
	return b.String()
}

// isWord says whether c may be in the name of a function.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-.:+@", c) >= 0
}

// limited keeps the first max bytes of what is written to it.
type limited struct {
	buf bytes.Buffer
	max int
}

func (l *limited) Write(p []byte) (int, error) {
	l.buf.Write(p[:min(len(p), max(l.max-l.buf.Len(), 0))])
	return len(p), nil
}
