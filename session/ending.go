package session

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// programs are the running commands of the model and of the user.
type programs struct {
	mu  sync.Mutex
	all []program // in the order in which they started
}

type program struct{ id, line string }

func (p *programs) begin(id, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, program{id, line})
}

func (p *programs) end(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = slices.DeleteFunc(p.all, func(o program) bool { return o.id == id })
}

// began records a call that may run, if it starts programs.
func (p *programs) began(t *tool.Tool, id string, args json.RawMessage) {
	if !t.Effects.Has(tool.Executes) {
		return
	}
	line := t.Name
	access, _ := t.Accesses(args) // permission has already seen them
	for _, a := range access {
		if a.Kind == tool.AccessExecute && a.Target != "" {
			line = a.Target
			break
		}
	}
	p.begin(id, line)
}

// stops names the commands, jobs and agents that end with the session; "" if there are none.
func (s *Session) stops() string {
	var names []string
	s.programs.mu.Lock()
	for _, p := range s.programs.all {
		names = append(names, prose.Short(p.line, 100))
	}
	s.programs.mu.Unlock()
	jobs, _ := background{s.o.Jobs, s.o.Crew, s.redactor.hide}.List(context.Background()) // if jobs can't be listed, they are left out
	for _, j := range jobs {
		if j.Running && j.Agent == "" { // agents come below
			names = append(names, prose.Short(j.Command, 100)+" (job "+j.ID+")")
		}
	}
	if s.o.Crew != nil {
		agents, _ := s.o.Crew.List(context.Background()) // it never fails in this process
		for _, a := range agents {
			if a.Active() {
				names = append(names, "agent "+a.ID+" ("+prose.Short(cmp.Or(a.Description, a.Task), 100)+")")
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return s.redactor.hide("stopped with the session: " + strings.Join(names, ", "))
}
