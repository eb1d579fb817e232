//go:build linux

package attack

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// step is one call of the model.
type step struct {
	name string
	tool string // bash if empty
	args any    // of the tool; if nil, command in the workspace
	// command is what bash runs. {ws}, {out}, {home} and {pid} stand for the folders of
	// the box and for burin's process.
	command string
	// script lets bash run command from a file, so that no rule on commands sees what it
	// does: then the sandbox alone holds it.
	script  bool
	prepare func()
	// seen is asked when the call has ended, with what the model was told of it and
	// with the whole request that told it. It gives what must not be, empty if the
	// attack was held; of a control, what is missing.
	seen    func(result, request string) string
	control bool
	// unpromised is an attack that documentation says is not held: it is told, not counted.
	unpromised bool
}

func (s step) does() string {
	if s.command != "" {
		return s.command
	}
	args, _ := json.Marshal(s.args)
	return s.tool + " " + string(args)
}

func (b *box) fill(command string, pid int) string {
	return strings.NewReplacer("{ws}", b.ws, "{out}", b.out, "{home}", b.home, "{pid}", fmt.Sprint(pid)).Replace(command)
}

// conversation is what burin and the scripted model said.
type conversation struct {
	ended
	requests []string // as they came over the wire
	results  []string // of the steps
}

// play lets the model make one call after the other, in one run of burin. The
// verdicts are subtests.
func (b *box) play(t *testing.T, l limits, steps []step, args ...string) conversation {
	t.Helper()
	type verdict struct {
		ran  bool
		seen string
	}
	verdicts := make([]verdict, len(steps))
	c := conversation{results: make([]string, len(steps))}
	var mu sync.Mutex
	pid := make(chan int, 1)
	process := sync.OnceValue(func() int { return <-pid })
	var srv *llmtest.Server
	judge := func(i int, req *llm.Request) {
		result := lastResult(req)
		raws := srv.Raw()
		request := ""
		if len(raws) > i+1 {
			request = string(raws[i+1].Body)
		}
		mu.Lock()
		defer mu.Unlock()
		c.results[i] = result
		verdicts[i].ran = true
		if steps[i].seen != nil {
			verdicts[i].seen = steps[i].seen(result, request)
		}
	}
	script := llmtest.Script{}
	for i := range len(steps) + 1 {
		script.Turns = append(script.Turns, llmtest.Turn{Reply: func(req *llm.Request) []llm.Event {
			if i > 0 {
				judge(i-1, req)
			}
			if i == len(steps) {
				return llmtest.Say("done")
			}
			s := steps[i]
			if s.prepare != nil {
				s.prepare()
			}
			name, arguments := s.tool, s.args
			if name == "" {
				name = "bash"
			}
			if arguments == nil {
				command := b.fill(s.command, process())
				if s.script {
					// Each has a name of its own: a call that fails again and again ends the run.
					if i > 0 {
						_ = os.Remove(filepath.Join(b.ws, fmt.Sprintf("run-%d.sh", i-1)))
					}
					name := fmt.Sprintf("run-%d.sh", i)
					b.put(t, "ws/"+name, command+"\n")
					command = "bash " + name
				}
				arguments = map[string]any{"command": command, "cwd": b.ws, "timeout": 20}
			}
			text, _ := json.Marshal(arguments)
			return slices.Concat(llmtest.Call(fmt.Sprintf("call_%d", i), name, string(text)), llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 100, Output: 20}))
		}})
	}
	srv, err := llmtest.Serve(anthropic.Server{}, script)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	args = append([]string{"-p", "work", "--model", "x/y", "--api", "anthropic-messages", "--base-url", srv.URL}, args...)
	c.ended = b.start(t, l, func(id int) { pid <- id }, args...)
	for _, raw := range srv.Raw() {
		c.requests = append(c.requests, string(raw.Body))
	}
	for i, s := range steps {
		seen := verdicts[i].seen
		if !verdicts[i].ran {
			seen = fmt.Sprintf("the run ended before the call did: exit code %d, %s %s %v", c.code, c.killed, c.err, srv.Err())
		}
		switch {
		case s.seen == nil: // what others need
		case s.control:
			if seen != "" {
				seen += "\nresult: " + clip(c.results[i], 400)
			}
			control(t, s.name, s.does(), seen)
		case s.unpromised:
			if seen != "" {
				t.Logf("not promised, and comes through: %s (%s)", s.does(), seen)
			}
		default:
			hole(t, s.name, s.does(), seen)
		}
	}
	return c
}

// lastResult is the text of the newest result of a tool.
func lastResult(req *llm.Request) string {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == llm.RoleToolResult {
			return m.Text()
		}
	}
	return ""
}

// leaked says how a text got into what was sent: as it is, or in one of the simple
// codes that an attacker would use to get past a filter.
func leaked(text, sent string) string {
	reversed := []rune(text)
	slices.Reverse(reversed)
	for how, form := range map[string]string{
		"as it is":       text,
		"reversed":       string(reversed),
		"as hexadecimal": hex.EncodeToString([]byte(text)),
		"in upper case":  strings.ToUpper(text),
	} {
		if strings.Contains(sent, form) {
			return fmt.Sprintf("%s reached the model %s", text, how)
		}
	}
	for shift := range 3 { // base64 looks different at each of three places
		code := base64.StdEncoding.EncodeToString(append(bytes.Repeat([]byte("x"), shift), text...))
		if core := strings.TrimRight(code, "=")[shift+1:]; len(core) > 8 && strings.Contains(sent, core[:len(core)-2]) {
			return text + " reached the model as base64"
		}
	}
	return ""
}
